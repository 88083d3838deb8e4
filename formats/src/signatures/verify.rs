//! Verification: open the envelope, find the key, check signature and key, and only then read the
//! statement.

use jiff::{SignedDuration, Timestamp};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{Signature, SignatureType, SubpacketData};
use towpath_core::signatures::{PayloadDigest, Refusal, Signer};

use super::key::{Certificate, KeyRevocation, Purpose, VerifyingKey, seconds, time};
use super::keyring::Keyring;
use super::{message, statement};

/// How many signatures of one payload are looked at, and how many of one message. Clusters look at as many.
pub const MAX_SIGNATURES: usize = 10;
/// How far another's clock may be ahead of ours.
const MAX_AHEAD: SignedDuration = SignedDuration::from_hours(1);

/// Who signed this payload, or why these bytes do not say so. They come from anywhere.
pub fn verify(
    bytes: &[u8],
    keyring: &Keyring,
    payload: PayloadDigest,
    now: Timestamp,
) -> Result<Signer, Refusal> {
    maker(bytes, keyring, payload, now).map(|made| made.signer)
}

/// Who made a signature, and with which of the signer's keys.
pub(super) struct SignatureMaker {
    pub(super) signer: Signer,
    /// The fingerprint of the key that made it.
    pub(super) key: String,
}

/// The same, with the key that made the signature.
pub(super) fn maker(
    bytes: &[u8],
    keyring: &Keyring,
    payload: PayloadDigest,
    now: Timestamp,
) -> Result<SignatureMaker, Refusal> {
    let message = message::open(bytes)?;
    // All signatures of a message are of the same body, so the first that counts settles it.
    let made = first_that_counts(&message.signatures, &message.body, keyring, now)?;
    statement::check(&message.body, payload).map(|()| made)
}

/// Of several signatures of the same data, the first that counts; else what is wrong with the one that came nearest.
pub(super) fn first_that_counts(
    signatures: &[Signature],
    body: &[u8],
    keyring: &Keyring,
    now: Timestamp,
) -> Result<SignatureMaker, Refusal> {
    let mut refusals = Vec::new();
    for signature in signatures.iter().take(MAX_SIGNATURES) {
        match judge(signature, body, keyring, now) {
            Ok(made) => return Ok(made),
            Err(refusal) => refusals.push(refusal),
        }
    }
    let unsigned = || Refusal::NotOpenPgp {
        problem: "it is not signed".to_owned(),
    };
    Err(nearest(refusals).unwrap_or_else(unsigned))
}

/// Whether a signature that was found to be right once still counts: by these keys, at this time.
pub(super) fn judge_again(
    made: (&Signer, &str),
    keyring: &Keyring,
    now: Timestamp,
) -> Result<(), Refusal> {
    let (signer, made_with) = made;
    let is_it = |(certificate, key): &(&Certificate, &VerifyingKey)| {
        certificate.fingerprint == signer.fingerprint && key.fingerprint == made_with
    };
    let Some((certificate, key)) = keyring.each().find(is_it) else {
        return Err(Refusal::UnknownKey {
            issuer: format!("key {made_with}"),
        });
    };
    check_key(certificate, key, signer.signed_at)?;
    match signer.until.filter(|at| *at <= now) {
        Some(at) => Err(Refusal::Expired { at }),
        None => Ok(()),
    }
}

/// Of several refusals, the one that tells most: of the signature that came nearest.
pub fn nearest(refusals: impl IntoIterator<Item = Refusal>) -> Option<Refusal> {
    refusals.into_iter().max()
}

/// Who made a signature, and whether that counts.
fn judge(
    signature: &Signature,
    body: &[u8],
    keyring: &Keyring,
    now: Timestamp,
) -> Result<SignatureMaker, Refusal> {
    check_form(signature)?;
    let named: Vec<_> = keyring
        .each()
        .filter(|(_, key)| key.material.is_named_by(signature))
        .collect();
    let Some((_, first)) = named.first() else {
        return Err(Refusal::UnknownKey {
            issuer: issuer(signature),
        });
    };
    check_strength(signature)?;
    let bad = || Refusal::BadSignature {
        key: first.fingerprint.clone(),
    };
    let maker = named
        .iter()
        .find(|(_, key)| key.material.made(signature, body));
    let (certificate, key) = maker.ok_or_else(bad)?;
    let signed_at = signature.created().map(time).ok_or_else(bad)?;
    check_key(certificate, key, signed_at)?;
    if signed_at > now.saturating_add(MAX_AHEAD).unwrap_or(Timestamp::MAX) {
        return Err(Refusal::FromTheFuture { at: signed_at });
    }
    let until = until(signature, signed_at);
    match until.filter(|at| *at <= now) {
        Some(at) => Err(Refusal::Expired { at }),
        None => Ok(SignatureMaker {
            signer: Signer {
                fingerprint: certificate.fingerprint.clone(),
                user_id: statement::shown(&certificate.user_id),
                signed_at,
                until,
            },
            key: key.fingerprint.clone(),
        }),
    }
}

fn check_form(signature: &Signature) -> Result<(), Refusal> {
    let Some(config) = signature.config() else {
        return Err(Refusal::NotUnderstood {
            what: "a version of signatures that we do not know".to_owned(),
        });
    };
    if config.typ() != SignatureType::Binary {
        return Err(Refusal::NotOfData);
    }
    // What is critical and not understood makes a signature void (RFC 9580, 5.2.3.7).
    let strange = config
        .hashed_subpackets()
        .filter(|one| one.is_critical)
        .find_map(|one| match &one.data {
            SubpacketData::Other(kind, _) | SubpacketData::Experimental(kind, _) => {
                Some(format!("subpacket {kind}"))
            }
            SubpacketData::Notation(notation) => Some(format!(
                "notation {}",
                statement::shown(&String::from_utf8_lossy(&notation.name))
            )),
            _ => None,
        });
    strange.map_or(Ok(()), |what| Err(Refusal::NotUnderstood { what }))
}

fn check_strength(signature: &Signature) -> Result<(), Refusal> {
    match signature.hash_alg() {
        Some(
            HashAlgorithm::Sha256
            | HashAlgorithm::Sha384
            | HashAlgorithm::Sha512
            | HashAlgorithm::Sha224
            | HashAlgorithm::Sha3_256
            | HashAlgorithm::Sha3_512,
        ) => Ok(()),
        hash => Err(Refusal::WeakHash {
            hash: hash.map_or_else(String::new, |hash| hash.to_string()),
        }),
    }
}

/// Whether the key counted when it signed. A subkey counts no longer than its primary key.
fn check_key(
    certificate: &Certificate,
    key: &VerifyingKey,
    signed_at: Timestamp,
) -> Result<(), Refusal> {
    if key.purpose != Purpose::Signing {
        return Err(Refusal::MayNotSign {
            key: key.fingerprint.clone(),
        });
    }
    for one in certificate.keys.first().into_iter().chain([key]) {
        let key = one.fingerprint.clone();
        let is_revoked = match one.revoked {
            KeyRevocation::Never => false,
            KeyRevocation::Since(at) => signed_at >= at,
            KeyRevocation::Altogether => true,
        };
        match one.expires_at {
            _ if is_revoked => return Err(Refusal::KeyRevoked { key }),
            _ if signed_at < one.created_at => {
                return Err(Refusal::KeyNotYetValid {
                    key,
                    since: one.created_at,
                });
            }
            Some(at) if signed_at >= at => return Err(Refusal::KeyExpired { key, at }),
            _ => {}
        }
    }
    Ok(())
}

/// Until when a signature counts, if it says so.
fn until(signature: &Signature, signed_at: Timestamp) -> Option<Timestamp> {
    let span = signature
        .signature_expiration_time()
        .filter(|span| span.as_secs() > 0)?;
    Some(seconds(signed_at.as_second() + i64::from(span.as_secs())))
}

fn issuer(signature: &Signature) -> String {
    let fingerprint = signature
        .issuer_fingerprint()
        .first()
        .map(|one| format!("key {one:X}"));
    let id = || {
        signature
            .issuer_key_id()
            .first()
            .map(|one| format!("key {}", one.to_string().to_uppercase()))
    };
    fingerprint
        .or_else(id)
        .unwrap_or_else(|| "a key that it does not name".to_owned())
}

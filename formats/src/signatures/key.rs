//! One key of a keyring: what it may be used for, since when, until when, and whether it was
//! revoked.
//!
//! A key says all this about itself, in self-signatures. The newest genuine one counts. Their hash
//! may be an old one: the operator who configured the file vouches for its keys, not the
//! self-signatures.

use jiff::Timestamp;
use pgp::composed::{SignedPublicKey, SignedPublicSubKey};
use pgp::packet::{
    KeyFlags, PublicKey, PublicSubkey, RevocationCode, Signature, SignatureType, SubpacketData,
};
use pgp::ser::Serialize;
use pgp::types::{KeyDetails, KeyVersion, PublicParams, Tag};

/// The fewest bytes of an RSA modulus: 2048 bits.
const MIN_RSA_BYTES: usize = 256;

/// A primary key with its subkeys.
#[derive(Debug, Clone)]
pub(super) struct Certificate {
    pub(super) fingerprint: String,
    /// Whose it is, in its own words.
    pub(super) user_id: String,
    /// The primary key first.
    pub(super) keys: Vec<VerifyingKey>,
}

/// A key that can be asked whether it made a signature.
#[derive(Debug, Clone)]
pub(super) struct VerifyingKey {
    pub(super) material: Material,
    pub(super) fingerprint: String,
    pub(super) created_at: Timestamp,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) revoked: KeyRevocation,
    pub(super) purpose: Purpose,
}

#[derive(Debug, Clone)]
pub(super) enum Material {
    Primary(Box<PublicKey>),
    Sub(Box<PublicSubkey>),
}

/// Whether a key was revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyRevocation {
    Never,
    /// It went out of use then; what it signed before still counts.
    Since(Timestamp),
    /// It cannot be trusted, whatever it says about when.
    Altogether,
}

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Signing,
    /// Something else, or it is not strong enough for signing.
    Other,
}

/// Reads a key, if it says anything of itself.
pub(super) fn certificate(read: &SignedPublicKey) -> Option<Certificate> {
    let primary = primary(read)?;
    let subkeys = read
        .public_subkeys
        .iter()
        .filter_map(|subkey| self::subkey(read, subkey));
    let users = read.details.users.iter();
    let user = users
        .clone()
        .find(|user| user.is_primary())
        .or_else(|| users.clone().next());
    Some(Certificate {
        fingerprint: primary.fingerprint.clone(),
        user_id: user.map_or_else(String::new, |user| {
            String::from_utf8_lossy(user.id.id()).into_owned()
        }),
        keys: std::iter::once(primary).chain(subkeys).collect(),
    })
}

fn primary(read: &SignedPublicKey) -> Option<VerifyingKey> {
    let key = &read.primary_key;
    let of_users = read.details.users.iter().flat_map(|user| {
        let own = user
            .signatures
            .iter()
            .filter(|s| s.verify_certification(key, Tag::UserId, &user.id).is_ok());
        let own: Vec<&Signature> = own.collect();
        let given_up = own
            .iter()
            .any(|s| s.typ() == Some(SignatureType::CertRevocation));
        if given_up { Vec::new() } else { own }
    });
    let direct = read
        .details
        .direct_signatures
        .iter()
        .filter(|signature| signature.verify_key(key).is_ok());
    let word = newest(of_users.chain(direct))?;
    // A revocation that we cannot check (by somebody whom the key allows to) counts: too much caution can be undone.
    let revoked = strictest(read.details.revocation_signatures.iter().map(revocation));
    let purpose = match flags(word) {
        Some(flags) if flags.sign() => strength(key),
        Some(_) => Purpose::Other,
        // Keys from before there were flags are for everything.
        None => strength(key),
    };
    Some(VerifyingKey {
        fingerprint: fingerprint(key),
        created_at: time(key.created_at()),
        expires_at: expiry(key, word),
        material: Material::Primary(Box::new(key.clone())),
        revoked,
        purpose,
    })
}

fn subkey(read: &SignedPublicKey, subkey: &SignedPublicSubKey) -> Option<VerifyingKey> {
    let (primary, key) = (&read.primary_key, &subkey.key);
    let own = subkey
        .signatures
        .iter()
        .filter(|s| s.verify_subkey_binding(primary, key).is_ok());
    let word = newest(own.filter(|s| s.typ() == Some(SignatureType::SubkeyBinding)))?;
    let is_revocation = |s: &&Signature| s.typ() == Some(SignatureType::SubkeyRevocation);
    let revoked = strictest(
        subkey
            .signatures
            .iter()
            .filter(is_revocation)
            .map(revocation),
    );
    // A signing subkey agrees to its primary key, or somebody could adopt another's.
    let agrees = word
        .embedded_signature()
        .is_some_and(|back| back.verify_primary_key_binding(key, primary).is_ok());
    let purpose = match (flags(word).is_some_and(|flags| flags.sign()), agrees) {
        (true, true) => strength(key),
        _ => Purpose::Other,
    };
    Some(VerifyingKey {
        fingerprint: fingerprint(key),
        created_at: time(key.created_at()),
        expires_at: expiry(key, word),
        material: Material::Sub(Box::new(key.clone())),
        revoked,
        purpose,
    })
}

impl Material {
    /// Whether this key made this signature of this data.
    pub(super) fn made(&self, signature: &Signature, data: &[u8]) -> bool {
        match self {
            Self::Primary(key) => signature.verify(&**key, data).is_ok(),
            Self::Sub(key) => signature.verify(&**key, data).is_ok(),
        }
    }

    /// Whether the signature names this key, or none. (It may lie; then it was not made by this key.)
    pub(super) fn is_named_by(&self, signature: &Signature) -> bool {
        let (id, fingerprint) = match self {
            Self::Primary(key) => (key.legacy_key_id(), key.fingerprint()),
            Self::Sub(key) => (key.legacy_key_id(), key.fingerprint()),
        };
        let (ids, fingerprints) = (signature.issuer_key_id(), signature.issuer_fingerprint());
        let names_nobody = ids.is_empty() && fingerprints.is_empty();
        names_nobody || ids.contains(&&id) || fingerprints.contains(&&fingerprint)
    }
}

/// The word that counts: the newest; of two at once, the one that grants less.
fn newest<'a>(words: impl Iterator<Item = &'a Signature>) -> Option<&'a Signature> {
    let lasts = |word: &Signature| {
        word.key_expiration_time()
            .map(|span| span.as_secs())
            .filter(|span| *span > 0)
    };
    let lasts = |word: &Signature| std::cmp::Reverse(lasts(word).unwrap_or(u32::MAX));
    words
        .filter(|word| word.created().is_some())
        .max_by_key(|word| (word.created(), lasts(word)))
}

fn flags(word: &Signature) -> Option<KeyFlags> {
    let flags = |data: &SubpacketData| match data {
        SubpacketData::KeyFlags(flags) => Some(flags.clone()),
        _ => None,
    };
    word.config()?
        .hashed_subpackets()
        .find_map(|subpacket| flags(&subpacket.data))
}

/// Until when the key counts: as long as it says, and as long as the word by which it says so.
fn expiry(key: &impl KeyDetails, word: &Signature) -> Option<Timestamp> {
    let after = |at: Option<pgp::types::Timestamp>, span: Option<pgp::types::Duration>| {
        let span = span.filter(|span| span.as_secs() > 0)?;
        Some(seconds(
            i64::from(at?.as_secs()) + i64::from(span.as_secs()),
        ))
    };
    let of_key = after(Some(key.created_at()), word.key_expiration_time());
    let of_word = after(word.created(), word.signature_expiration_time());
    [of_key, of_word].into_iter().flatten().min()
}

fn revocation(signature: &Signature) -> KeyRevocation {
    match (signature.revocation_reason_code(), signature.created()) {
        (Some(RevocationCode::KeySuperseded | RevocationCode::KeyRetired), Some(at)) => {
            KeyRevocation::Since(time(at))
        }
        _ => KeyRevocation::Altogether,
    }
}

/// Of several revocations, the one that leaves least: of two that leave what was signed before, the earlier.
fn strictest(revocations: impl Iterator<Item = KeyRevocation>) -> KeyRevocation {
    revocations.fold(KeyRevocation::Never, |one, other| match (one, other) {
        (KeyRevocation::Altogether, _) | (_, KeyRevocation::Altogether) => {
            KeyRevocation::Altogether
        }
        (KeyRevocation::Since(one), KeyRevocation::Since(other)) => {
            KeyRevocation::Since(one.min(other))
        }
        (KeyRevocation::Since(at), KeyRevocation::Never)
        | (KeyRevocation::Never, KeyRevocation::Since(at)) => KeyRevocation::Since(at),
        (KeyRevocation::Never, KeyRevocation::Never) => KeyRevocation::Never,
    })
}

/// Whether the key is strong enough to sign with.
fn strength(key: &impl KeyDetails) -> Purpose {
    let is_new = matches!(key.version(), KeyVersion::V4 | KeyVersion::V6);
    let is_strong = match key.public_params() {
        // Two numbers with two bytes of length each; the second, the exponent, is the small one.
        PublicParams::RSA(numbers) => numbers.write_len() > MIN_RSA_BYTES + 4,
        PublicParams::DSA(_) => false,
        _ => key.algorithm().can_sign(),
    };
    if is_new && is_strong {
        Purpose::Signing
    } else {
        Purpose::Other
    }
}

fn fingerprint(key: &impl KeyDetails) -> String {
    format!("{:X}", key.fingerprint())
}

pub(super) fn time(at: pgp::types::Timestamp) -> Timestamp {
    seconds(i64::from(at.as_secs()))
}

pub(super) fn seconds(at: i64) -> Timestamp {
    // Twice 32 bits of seconds end in the year 2242.
    Timestamp::from_second(at).unwrap_or(Timestamp::MAX)
}

//! Gathers everything that is said about each key, wherever it is in the files.
//!
//! Certificates of one primary key become one certificate, and a revocation finds its key. A key
//! may be exported again, with a revocation, a new expiry, a new subkey. Nothing is lost here, and
//! `key` decides what counts. A packet that belongs to no key is an error, because it may be a
//! revocation.

use std::collections::BTreeMap;

use pgp::composed::{SignedKeyDetails, SignedPublicKey, SignedPublicSubKey};
use pgp::packet::{Packet, PacketTrait, Signature, SignatureType};
use pgp::types::{KeyDetails, SignedUser, SignedUserAttribute};
use towpath_core::finding::{Finding, Place};

use super::blocks::Block;

const TAKE_OUT: &str =
    "take it out, or export the key it belongs to: gpg --armor --export <fingerprint>";

/// A key, and where it was first seen.
#[derive(Debug)]
pub(super) struct GatheredKey {
    pub(super) place: Place,
    pub(super) key: SignedPublicKey,
}

#[derive(Debug, Default)]
pub(super) struct Gathering {
    keys: Vec<GatheredKey>,
    numbers: BTreeMap<Vec<u8>, usize>,
    revocations: Vec<Revocation>,
}

/// The revocation of a primary key. It names its issuer, but not the key that it revokes.
#[derive(Debug)]
struct Revocation {
    place: Place,
    /// The key behind whose packets it stands.
    behind: Option<usize>,
    signature: Signature,
}

/// What the packet before was about: whose signatures come next.
#[derive(Debug, Clone, Copy)]
enum About {
    Nothing,
    Primary(usize),
    User(usize, usize),
    Attribute(usize, usize),
    Subkey(usize, usize),
}

impl Gathering {
    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Takes in a block of a file.
    pub(super) fn add(&mut self, file: &Place, block: Block) -> Result<(), Finding> {
        let place = if block.line == 0 {
            file.clone()
        } else {
            file.at(block.line, 0)
        };
        let mut about = About::Nothing;
        for packet in block.packets {
            let misplaced = |what: &str| {
                Finding::error(
                    "bad-keyring",
                    place.clone(),
                    format!("{what} in it belongs to no key"),
                    TAKE_OUT,
                )
            };
            about = match (packet, about) {
                (Packet::PublicKey(key), _) => About::Primary(self.primary(&place, key)),
                (Packet::Signature(signature), about) => {
                    self.signature(&place, signature, about)
                        .map_err(|what| misplaced(&what))?;
                    about
                }
                (other, About::Nothing) => return Err(misplaced(&kind(&other))),
                (
                    packet,
                    About::Primary(number)
                    | About::User(number, _)
                    | About::Attribute(number, _)
                    | About::Subkey(number, _),
                ) => self.part(number, packet).map_err(|what| misplaced(&what))?,
            };
        }
        Ok(())
    }

    /// All keys, each with everything that was said of it.
    pub(super) fn finish(mut self) -> Result<Vec<GatheredKey>, Vec<Finding>> {
        let mut findings = Vec::new();
        for Revocation {
            place,
            behind,
            signature,
        } in std::mem::take(&mut self.revocations)
        {
            let revoked = self
                .keys
                .iter()
                .position(|one| signature.verify_key(&one.key.primary_key).is_ok());
            // One behind a key, by somebody whom that key allows to, cannot be checked; it counts all the same.
            match revoked
                .or(behind.filter(|number| is_by_another(&self.keys[*number].key, &signature)))
            {
                Some(number) => self.keys[number]
                    .key
                    .details
                    .revocation_signatures
                    .push(signature),
                None => findings.push(lost(&place, &signature)),
            }
        }
        for GatheredKey { place, key } in &self.keys {
            let unbound = key
                .public_subkeys
                .iter()
                .filter(|subkey| subkey.signatures.is_empty());
            findings.extend(unbound.map(|subkey| {
                let problem = format!(
                    "nothing binds the subkey {:X} to a key",
                    subkey.key.fingerprint()
                );
                Finding::error("bad-keyring", place.clone(), problem, TAKE_OUT)
            }));
        }
        if findings.is_empty() {
            Ok(self.keys)
        } else {
            Err(findings)
        }
    }

    fn primary(&mut self, place: &Place, key: pgp::packet::PublicKey) -> usize {
        let next = self.keys.len();
        let number = *self
            .numbers
            .entry(key.fingerprint().as_bytes().to_vec())
            .or_insert(next);
        if number == next {
            let details = SignedKeyDetails::new(Vec::new(), Vec::new(), Vec::new(), Vec::new());
            let key = SignedPublicKey {
                primary_key: key,
                details,
                public_subkeys: Vec::new(),
            };
            self.keys.push(GatheredKey {
                place: place.clone(),
                key,
            });
        }
        number
    }

    /// A part of a key that has signatures of its own: a name, a picture, a subkey.
    fn part(&mut self, number: usize, packet: Packet) -> Result<About, String> {
        let key = &mut self.keys[number].key;
        Ok(match packet {
            Packet::UserId(id) => {
                let users = &mut key.details.users;
                let is_it = |user: &SignedUser| user.id.id() == id.id();
                let at = at_or_pushed(
                    users,
                    is_it,
                    SignedUser {
                        id: id.clone(),
                        signatures: Vec::new(),
                    },
                );
                About::User(number, at)
            }
            Packet::UserAttribute(attr) => {
                let attributes = &mut key.details.user_attributes;
                attributes.push(SignedUserAttribute {
                    attr,
                    signatures: Vec::new(),
                });
                About::Attribute(number, attributes.len() - 1)
            }
            Packet::PublicSubkey(subkey) => {
                let is_it =
                    |one: &SignedPublicSubKey| one.key.fingerprint() == subkey.fingerprint();
                let new = SignedPublicSubKey {
                    key: subkey.clone(),
                    signatures: Vec::new(),
                };
                About::Subkey(number, at_or_pushed(&mut key.public_subkeys, is_it, new))
            }
            other => return Err(kind(&other)),
        })
    }

    fn signature(
        &mut self,
        place: &Place,
        signature: Signature,
        about: About,
    ) -> Result<(), String> {
        use SignatureType as Of;
        let Some(typ) = signature.typ() else {
            return Err("a signature of a version that we do not know".to_owned());
        };
        let behind = match about {
            About::Primary(number) => Some(number),
            _ => None,
        };
        let place_of_its_own = match (typ, about) {
            // It may be that of any key: GnuPG writes it by itself, and files get joined.
            (Of::KeyRevocation, _) => {
                self.revocations.push(Revocation {
                    place: place.clone(),
                    behind,
                    signature,
                });
                return Ok(());
            }
            (Of::Key, About::Primary(number)) => {
                &mut self.keys[number].key.details.direct_signatures
            }
            (
                Of::CertGeneric
                | Of::CertPersona
                | Of::CertCasual
                | Of::CertPositive
                | Of::CertRevocation,
                About::User(number, user),
            ) => &mut self.keys[number].key.details.users[user].signatures,
            // A picture says nothing of use, and nor do its signatures.
            (_, About::Attribute(number, attribute)) => {
                &mut self.keys[number].key.details.user_attributes[attribute].signatures
            }
            (Of::SubkeyBinding | Of::SubkeyRevocation, About::Subkey(number, subkey)) => {
                &mut self.keys[number].key.public_subkeys[subkey].signatures
            }
            (typ, _) => return Err(format!("a signature ({typ:?})")),
        };
        place_of_its_own.push(signature);
        Ok(())
    }
}

fn at_or_pushed<T>(list: &mut Vec<T>, is_it: impl Fn(&T) -> bool, new: T) -> usize {
    let at = list.iter().position(is_it);
    at.unwrap_or_else(|| {
        list.push(new);
        list.len() - 1
    })
}

/// Whether the signature says that somebody else made it than this key.
fn is_by_another(key: &SignedPublicKey, signature: &Signature) -> bool {
    let (id, fingerprint) = (
        key.primary_key.legacy_key_id(),
        key.primary_key.fingerprint(),
    );
    !signature.issuer_key_id().contains(&&id)
        && !signature.issuer_fingerprint().contains(&&fingerprint)
}

fn lost(place: &Place, signature: &Signature) -> Finding {
    let fingerprint = signature
        .issuer_fingerprint()
        .first()
        .map(|one| format!("{one:X}"));
    let id = || {
        signature
            .issuer_key_id()
            .first()
            .map(|one| one.to_string().to_uppercase())
    };
    let issuer = fingerprint
        .or_else(id)
        .unwrap_or_else(|| "a key that it does not name".to_owned());
    let problem = format!("a revocation by {issuer} in it matches no key in the keyring");
    let remedy = "add the key that it revokes, or take the revocation out";
    Finding::error("bad-keyring", place.clone(), problem, remedy)
}

fn kind(packet: &Packet) -> String {
    format!("a packet ({:?})", packet.tag())
}

//! A keyring: the OpenPGP keys whose signatures count, from one or more files, armored or binary.

use std::io::Read;
use std::sync::Arc;

use pgp::armor::{BlockType, Dearmor};
use pgp::composed::{Deserializable, SignedPublicKey};
use pgp::errors::Error;
use pgp::packet::{Packet, PacketParser};
use sha2::{Digest, Sha256};
use towpath_core::finding::{Finding, Place};

use super::key::{Certificate, Key, Purpose, certificate};
use super::statement::shown;
use crate::SourceFile;

/// The largest file of keys that is read.
pub const MAX_KEYRING_BYTES: u64 = 4 << 20;
/// The most keys, in all files together.
pub const MAX_KEYS: usize = 256;

const BEGIN: &str = "-----BEGIN PGP PUBLIC KEY BLOCK-----";
const END: &str = "-----END PGP PUBLIC KEY BLOCK-----";
const EXPORT: &str = "export the keys anew: gpg --armor --export <fingerprint>";

/// Keys whose signatures count.
#[derive(Debug, Clone)]
pub struct Keyring {
    certificates: Arc<[Certificate]>,
    digest: [u8; 32],
}

impl Keyring {
    /// Reads keys, with warnings about those that can sign nothing; or says what is wrong with the files.
    pub fn read(files: &[SourceFile]) -> Result<(Self, Vec<Finding>), Vec<Finding>> {
        let (mut certificates, mut findings, mut hash) = (Vec::<Certificate>::new(), Vec::new(), Sha256::new());
        for file in files {
            hash.update((file.bytes.len() as u64).to_be_bytes());
            hash.update(&file.bytes);
            let place = Place::file(file.path.as_str());
            match read_file(&place, &file.bytes) {
                Ok((keys, warnings)) => {
                    certificates.extend(keys);
                    findings.extend(warnings);
                }
                Err(finding) => findings.push(finding),
            }
        }
        let place = || match files {
            [one] => Place::file(one.path.as_str()),
            _ => Place::file("keyring"),
        };
        let has_error = findings.iter().any(Finding::is_error);
        if certificates.len() > MAX_KEYS {
            let problem = format!("there are {} keys; at most {MAX_KEYS} are taken", certificates.len());
            findings.push(Finding::error("too-many-keys", place(), problem, "keep only the keys that sign releases"));
        } else if certificates.is_empty() && !has_error {
            let problem = "there is no key that could sign a release";
            findings.push(Finding::error("no-keys", place(), problem, "add the public key of who signs releases"));
        }
        findings.sort();
        match findings.iter().any(Finding::is_error) {
            true => Err(findings),
            false => Ok((Self { certificates: certificates.into(), digest: hash.finalize().into() }, findings)),
        }
    }

    /// The fingerprint and the user id of each key.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &str)> {
        self.certificates.iter().map(|one| (one.fingerprint.as_str(), one.user_id.as_str()))
    }

    /// A name for these very files.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Every key, each with the certificate it belongs to.
    pub(super) fn each(&self) -> impl Iterator<Item = (&Certificate, &Key)> {
        self.certificates.iter().flat_map(|one| one.keys.iter().map(move |key| (one, key)))
    }
}

/// The keys of one file that can sign, with warnings about the others.
fn read_file(place: &Place, bytes: &[u8]) -> Result<(Vec<Certificate>, Vec<Finding>), Finding> {
    let wrong = |problem: &str| Finding::error("bad-keyring", place.clone(), problem, EXPORT);
    if bytes.len() as u64 > MAX_KEYRING_BYTES {
        return Err(wrong(&format!("it is larger than {MAX_KEYRING_BYTES} bytes")));
    }
    let blocks = match bytes.first() {
        None => return Err(wrong("it is empty")),
        Some(first) if first & 0x80 != 0 => vec![bytes.to_vec()],
        Some(_) => armored(bytes).map_err(|problem| wrong(&problem))?,
    };
    let (mut keys, mut findings) = (Vec::new(), Vec::new());
    for block in blocks {
        let packets = packets(&block).map_err(|problem| wrong(&problem))?;
        for read in SignedPublicKey::from_packets(packets.into_iter().map(Ok).peekable()) {
            let read = read.map_err(|error| wrong(&format!("a key cannot be read: {}", shown(&error.to_string()))))?;
            let can_sign = |one: &Certificate| one.keys.iter().any(|key| key.purpose == Purpose::Signing);
            match certificate(&read) {
                Some(one) if can_sign(&one) => keys.push(one),
                one => findings.push(cannot_sign(place, &read, one)),
            }
        }
    }
    match (keys.len(), findings.len()) {
        (0, 0) => Err(wrong("there is no public key in it")),
        _ => Ok((keys, findings)),
    }
}

fn cannot_sign(place: &Place, read: &SignedPublicKey, one: Option<Certificate>) -> Finding {
    let fingerprint = format!("{:X}", pgp::types::KeyDetails::fingerprint(read));
    let problem = match one {
        Some(one) => {
            format!("key {fingerprint} ({}) has no key that is for signing, and strong enough", shown(&one.user_id))
        }
        None => format!("key {fingerprint} has no signature of its own, so that nothing is known of it"),
    };
    Finding::warning("key-cannot-sign", place.clone(), problem, "take it out, or add the key that signs releases")
}

/// Each armored block of a text; what stands around them is for people.
fn armored(bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let text = str::from_utf8(bytes).map_err(|_| "it is neither binary nor armored")?;
    let mut blocks = Vec::new();
    for part in text.split(BEGIN).skip(1) {
        let Some((inside, _)) = part.split_once(END) else {
            return Err("an armored block has no end: the file is cut short".to_owned());
        };
        let whole = format!("{BEGIN}{inside}{END}\n");
        let mut armor = Dearmor::new(whole.as_bytes());
        armor.read_header().map_err(|_| "the head of an armored block is broken")?;
        if armor.typ != Some(BlockType::PublicKey) {
            return Err("an armored block is not of public keys".to_owned());
        }
        let mut block = Vec::new();
        armor.read_to_end(&mut block).map_err(|_| "an armored block is broken")?;
        blocks.push(block);
    }
    match blocks.is_empty() {
        true => Err("there is no armored block of public keys in it".to_owned()),
        false => Ok(blocks),
    }
}

/// The packets of a block. One that is cut short is an error: it could have been a revocation.
fn packets(block: &[u8]) -> Result<Vec<Packet>, String> {
    let mut packets = Vec::new();
    for packet in PacketParser::new(block) {
        match packet {
            Ok(Packet::Marker(_) | Packet::Padding(_)) => {}
            Ok(Packet::SecretKey(_) | Packet::SecretSubkey(_)) => {
                return Err(
                    "there is a secret key in it; take it away from here, and only export public keys".to_owned()
                );
            }
            Ok(packet) => packets.push(packet),
            // Packets of versions and algorithms that are not ours, which say nothing about those that are.
            Err(Error::Unsupported { .. }) => {}
            Err(Error::InvalidPacketContent { source }) if matches!(*source, Error::Unsupported { .. }) => {}
            Err(_) => return Err("a packet is broken, or cut short".to_owned()),
        }
    }
    Ok(packets)
}

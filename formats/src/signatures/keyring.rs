//! A keyring: the OpenPGP keys whose signatures count, from one or more files, armored or binary.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use towpath_core::finding::{Finding, Place};

use super::blocks::{FileProblem, blocks};
use super::gathering::{GatheredKey, Gathering};
use super::key::{Certificate, Purpose, VerifyingKey, certificate};
use super::statement::shown;
use crate::SourceFile;

/// The largest file of keys that is read.
pub const MAX_KEYRING_BYTES: u64 = 4 << 20;
/// The most keys, in all files together.
pub const MAX_KEYS: usize = 256;

const EXPORT: &str = "export the keys again: gpg --armor --export <fingerprint>";

#[derive(Debug, Clone)]
pub struct Keyring {
    certificates: Arc<[Certificate]>,
    digest: [u8; 32],
}

impl Keyring {
    /// Reads keys, with warnings about those that can sign nothing; or says what is wrong with the files. What several
    /// files, or several blocks of one, say of a key counts together.
    pub fn read(files: &[SourceFile]) -> Result<(Self, Vec<Finding>), Vec<Finding>> {
        let (mut gathering, mut findings, mut hash) =
            (Gathering::default(), Vec::new(), Sha256::new());
        for file in files {
            hash.update((file.bytes.len() as u64).to_be_bytes());
            hash.update(&file.bytes);
            findings.extend(gather(&mut gathering, file).err());
        }
        let place = || match files {
            [one] => Place::file(one.path.as_str()),
            _ => Place::file("keyring"),
        };
        if gathering.len() > MAX_KEYS {
            let problem = format!(
                "there are {} keys; at most {MAX_KEYS} are allowed",
                gathering.len()
            );
            findings.push(Finding::error(
                "too-many-keys",
                place(),
                problem,
                "keep only the keys that sign releases",
            ));
        }
        // Of half a keyring nobody can say what belongs together.
        if !findings.is_empty() {
            findings.sort();
            return Err(findings);
        }
        let (certificates, mut findings) = signing(&gathering.finish()?);
        if certificates.is_empty() {
            let problem = "there is no key that could sign a release";
            findings.push(Finding::error(
                "no-keys",
                place(),
                problem,
                "add the public key that signs releases",
            ));
        }
        findings.sort();
        match certificates.is_empty() {
            true => Err(findings),
            false => Ok((
                Self {
                    certificates: certificates.into(),
                    digest: hash.finalize().into(),
                },
                findings,
            )),
        }
    }

    /// The fingerprint and the user id of each key.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &str)> {
        self.certificates
            .iter()
            .map(|one| (one.fingerprint.as_str(), one.user_id.as_str()))
    }

    /// A name for these very files.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Every key, each with the certificate it belongs to.
    pub(super) fn each(&self) -> impl Iterator<Item = (&Certificate, &VerifyingKey)> {
        self.certificates
            .iter()
            .flat_map(|one| one.keys.iter().map(move |key| (one, key)))
    }
}

/// Takes in the keys of one file.
fn gather(gathering: &mut Gathering, file: &SourceFile) -> Result<(), Finding> {
    let place = Place::file(file.path.as_str());
    let wrong = |wrong: FileProblem| {
        let place = if wrong.line == 0 {
            place.clone()
        } else {
            place.at(wrong.line, 0)
        };
        Finding::error("bad-keyring", place, wrong.problem, EXPORT)
    };
    if file.bytes.len() as u64 > MAX_KEYRING_BYTES {
        let problem = format!("it is larger than {MAX_KEYRING_BYTES} bytes");
        return Err(wrong(FileProblem { line: 0, problem }));
    }
    let blocks = blocks(&file.bytes).map_err(wrong)?;
    blocks
        .into_iter()
        .try_for_each(|block| gathering.add(&place, block))
}

/// The keys that can sign, with warnings about the others.
fn signing(gathered: &[GatheredKey]) -> (Vec<Certificate>, Vec<Finding>) {
    let (mut certificates, mut findings) = (Vec::new(), Vec::new());
    for one in gathered {
        let can_sign =
            |one: &Certificate| one.keys.iter().any(|key| key.purpose == Purpose::Signing);
        match certificate(&one.key) {
            Some(certificate) if can_sign(&certificate) => certificates.push(certificate),
            certificate => findings.push(cannot_sign(one, certificate)),
        }
    }
    (certificates, findings)
}

fn cannot_sign(gathered: &GatheredKey, one: Option<Certificate>) -> Finding {
    let fingerprint = format!(
        "{:X}",
        pgp::types::KeyDetails::fingerprint(&gathered.key.primary_key)
    );
    let problem = match one {
        Some(one) => {
            format!(
                "key {fingerprint} ({}) has no key that may sign and is strong enough",
                shown(&one.user_id)
            )
        }
        None => {
            format!("key {fingerprint} has no self-signature, so nothing is known about it")
        }
    };
    let place = gathered.place.clone();
    Finding::warning(
        "key-cannot-sign",
        place,
        problem,
        "take it out, or add the key that signs releases",
    )
}

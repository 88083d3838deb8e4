//! Seals of graph data: what was signed and its signatures in, a seal or a refusal out.
//!
//! A git commit or tag carries its signature in itself. An archive has a detached signature beside it. An image has the
//! statements that release images have. A commit's signature covers the id of its tree, and with it every file.
//!
//! What git would pass over is refused here: a second signature, headers that git does not sign, a tag of another name.

use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::hex;
use towpath_core::signatures::{GraphSeal, PayloadDigest, Refusal, SealRefusal};

use super::keyring::Keyring;
use super::verify::{SignatureMaker, first_that_counts, judge_again, maker, nearest};
use super::{message, statement};

/// The largest commit or tag that is looked at. Real ones have less than 10 KiB.
const MAX_OBJECT_BYTES: usize = 1 << 20;
const BEGIN_OPENPGP: &str = "-----BEGIN PGP SIGNATURE-----";
const END_OPENPGP: &str = "-----END PGP SIGNATURE-----";
const BEGIN_SSH: &str = "-----BEGIN SSH SIGNATURE-----";
const BEGIN_X509: &str = "-----BEGIN SIGNED MESSAGE-----";

/// A copy of graph data, as somebody may have signed it. These bytes come from anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignedCopy {
    Commit {
        id: String,
        object: Arc<[u8]>,
    },
    /// An annotated tag that leads to this commit.
    Tag {
        /// The name by which it was asked for; none if it was asked for by its id.
        wanted: Option<String>,
        object: Arc<[u8]>,
        commit: String,
    },
    Archive {
        bytes: Arc<[u8]>,
        /// The file beside it; none if there is none.
        signature: Option<Vec<u8>>,
    },
    Image {
        digest: PayloadDigest,
        /// What the signature stores have of it.
        signatures: Vec<Vec<u8>>,
    },
}

/// Who signed this copy, or why that does not count.
pub fn seal(
    copy: &SignedCopy,
    keyring: &Keyring,
    now: Timestamp,
) -> Result<GraphSeal, SealRefusal> {
    match copy {
        SignedCopy::Commit { id, object } => {
            let what = format!("commit {id}");
            let signed = commit(object).map_err(|wrong| wrong.of(&what))?;
            by_a_detached_one(what, &signed.body, &signed.signature, keyring, now)
        }
        SignedCopy::Tag {
            wanted,
            object,
            commit,
        } => {
            let name = header(object, "tag").unwrap_or_default();
            let what = format!("tag {} (commit {commit})", statement::shown(&name));
            let signed = tag(object, commit).map_err(|wrong| wrong.of(&what))?;
            if let Some(wanted) = wanted.as_ref().filter(|wanted| **wanted != name) {
                return Err(SealRefusal::OtherTag {
                    is: statement::shown(&name),
                    wanted: wanted.clone(),
                });
            }
            by_a_detached_one(what, &signed.body, &signed.signature, keyring, now)
        }
        SignedCopy::Archive { bytes, signature } => {
            let what = format!("archive sha256:{}", digest(bytes));
            match signature {
                None => Err(SealRefusal::Unsigned { what }),
                Some(signature) => by_a_detached_one(what, bytes, signature, keyring, now),
            }
        }
        SignedCopy::Image { digest, signatures } => {
            let what = format!("image {digest}");
            let mut refusals = Vec::new();
            for signature in signatures {
                match maker(signature, keyring, *digest, now) {
                    Ok(made) => return Ok(sealed(what, made)),
                    Err(refusal) => refusals.push(refusal),
                }
            }
            Err(match nearest(refusals) {
                Some(refusal) => SealRefusal::Signature { what, refusal },
                None => SealRefusal::Unsigned { what },
            })
        }
    }
}

/// Whether a seal that was found to be right once still counts by these keys. The bytes are not needed again: a key that
/// made a signature has made it for ever, and what can end is whether the key counts.
pub fn still_counts(seal: &GraphSeal, keyring: &Keyring, now: Timestamp) -> Result<(), Refusal> {
    judge_again((&seal.signer, &seal.key), keyring, now)
}

impl SignedCopy {
    /// Whether what was signed says itself when it was made. The time of an archive's or an image's signature is the only
    /// one that nobody else can write.
    pub fn is_dated_by_its_signature(&self) -> bool {
        matches!(self, Self::Archive { .. } | Self::Image { .. })
    }
}

fn by_a_detached_one(
    what: String,
    body: &[u8],
    signature: &[u8],
    keyring: &Keyring,
    now: Timestamp,
) -> Result<GraphSeal, SealRefusal> {
    if let Some(scheme) = other_scheme(signature) {
        return Err(SealRefusal::OtherScheme { what, scheme });
    }
    let made = message::detached(signature)
        .and_then(|signatures| first_that_counts(&signatures, body, keyring, now));
    match made {
        Ok(made) => Ok(sealed(what, made)),
        Err(refusal) => Err(SealRefusal::Signature { what, refusal }),
    }
}

fn sealed(what: String, made: SignatureMaker) -> GraphSeal {
    GraphSeal {
        what,
        key: made.key,
        signer: made.signer,
    }
}

/// What git signs besides with OpenPGP.
fn other_scheme(signature: &[u8]) -> Option<&'static str> {
    if signature.starts_with(BEGIN_SSH.as_bytes()) {
        Some("SSH")
    } else if signature.starts_with(BEGIN_X509.as_bytes()) {
        Some("X.509")
    } else {
        None
    }
}

/// The two parts of a signed object of git.
struct SignedObject {
    body: Vec<u8>,
    signature: Vec<u8>,
}

/// What is wrong with an object of git, before its signature is looked at.
enum NotSigned {
    Unsigned,
    Malformed(&'static str),
}

impl NotSigned {
    fn of(self, what: &str) -> SealRefusal {
        let what = what.to_owned();
        match self {
            Self::Unsigned => SealRefusal::Unsigned { what },
            Self::Malformed(problem) => SealRefusal::Malformed { what, problem },
        }
    }
}

/// A commit has its signature in a header, whose lines behind the first begin with a space. The rest is what was signed.
fn commit(object: &[u8]) -> Result<SignedObject, NotSigned> {
    check_size(object)?;
    if !object.starts_with(b"tree ") {
        return Err(NotSigned::Malformed("it does not begin with its tree"));
    }
    let (mut body, mut signature) = (Vec::new(), Vec::new());
    let (mut is_signature, mut rest) = (false, object);
    while !rest.is_empty() {
        let end = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        if line == b"\n" {
            // Headers end here.
            body.extend_from_slice(line);
            body.extend_from_slice(rest);
            break;
        }
        match line.strip_prefix(b" ") {
            Some(more) if is_signature => signature.extend_from_slice(more),
            Some(_) => body.extend_from_slice(line),
            None => {
                let first = line
                    .strip_prefix(b"gpgsig ")
                    .or_else(|| line.strip_prefix(b"gpgsig-sha256 "));
                is_signature = first.is_some();
                match first {
                    // git would join them, or sign one and pass over the other.
                    Some(_) if !signature.is_empty() => {
                        return Err(NotSigned::Malformed("it has more than one signature"));
                    }
                    Some(first) => signature.extend_from_slice(first),
                    None if line.starts_with(b"gpgsig") => {
                        return Err(NotSigned::Malformed(
                            "it has a signature of a kind that we do not know",
                        ));
                    }
                    None => body.extend_from_slice(line),
                }
            }
        }
    }
    match signature.is_empty() {
        true => Err(NotSigned::Unsigned),
        false => Ok(SignedObject { body, signature }),
    }
}

/// A tag has its signature behind its message. It has to lead to the commit itself.
fn tag(object: &[u8], commit: &str) -> Result<SignedObject, NotSigned> {
    check_size(object)?;
    if header(object, "object").as_deref() != Some(commit)
        || header(object, "type").as_deref() != Some("commit")
    {
        return Err(NotSigned::Malformed("it does not lead to a commit itself"));
    }
    if headers(object).any(|line| line.starts_with(b"gpgsig")) {
        return Err(NotSigned::Malformed("it has a signature in a header"));
    }
    // As git finds it: the last line with which a signature begins.
    let mut at = None;
    let mut begin = 0;
    for line in object.split_inclusive(|byte| *byte == b'\n') {
        let is_signature = [BEGIN_OPENPGP, BEGIN_SSH, BEGIN_X509]
            .iter()
            .any(|first| line.starts_with(first.as_bytes()));
        if is_signature {
            at = Some(begin);
        }
        begin += line.len();
    }
    let Some(at) = at else {
        return Err(NotSigned::Unsigned);
    };
    let (body, signature) = object.split_at(at);
    let text = String::from_utf8_lossy(signature);
    let behind = text.split_once(END_OPENPGP).map(|(_, behind)| behind);
    if text.starts_with(BEGIN_OPENPGP) && behind.is_none_or(|behind| !behind.trim().is_empty()) {
        return Err(NotSigned::Malformed(
            "there is something behind its signature",
        ));
    }
    Ok(SignedObject {
        body: body.to_vec(),
        signature: signature.to_vec(),
    })
}

fn check_size(object: &[u8]) -> Result<(), NotSigned> {
    match object.len() > MAX_OBJECT_BYTES {
        true => Err(NotSigned::Malformed("it is larger than 1 MiB")),
        false => Ok(()),
    }
}

fn headers(object: &[u8]) -> impl Iterator<Item = &[u8]> {
    object
        .split(|byte| *byte == b'\n')
        .take_while(|line| !line.is_empty())
}

/// The value of the first header of that name.
fn header(object: &[u8], name: &str) -> Option<String> {
    let value = |line: &[u8]| {
        let (key, value) = line.split_at_checked(name.len())?;
        let value = value
            .strip_prefix(b" ")
            .filter(|_| key == name.as_bytes())?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    headers(object).find_map(value)
}

fn digest(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    hex::encode(&Sha256::digest(bytes))
}

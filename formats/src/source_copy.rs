//! Copies of sources as they are kept on disk: the files of one source, and the list of what belongs together.
//!
//! Lengths before texts, so that nothing needs to be escaped. A list ends with the digest of all that is before it; the files of a source are named by their digest.

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::SourceFile;

/// How a list begins.
const LIST: &[u8] = b"towpath copies 1\n";
/// How the files of a source begin.
const FILES: &[u8] = b"towpath files 1\n";
const DIGEST_BYTES: usize = 32;

/// One source's copy, as the list has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptCopy {
    /// The source's name.
    pub source: String,
    /// Where the source was, so that a copy of another place is not taken for it.
    pub location: String,
    /// The digest of its files, in hexadecimal.
    pub digest: String,
    /// When it was last found to be good.
    pub last_good: Timestamp,
    /// When it was made, as far as the source tells.
    pub made_at: Option<Timestamp>,
}

/// Writes the list.
pub fn write_list(copies: &[KeptCopy]) -> Vec<u8> {
    let mut bytes = LIST.to_vec();
    put(&mut bytes, &(copies.len() as u64).to_be_bytes());
    for copy in copies {
        let made_at = copy.made_at.map(|at| at.to_string()).unwrap_or_default();
        let last_good = copy.last_good.to_string();
        for field in [&copy.source, &copy.location, &copy.digest, &last_good, &made_at] {
            put(&mut bytes, field.as_bytes());
        }
    }
    let digest = Sha256::digest(&bytes);
    bytes.extend_from_slice(&digest);
    bytes
}

/// Reads the list; none if it is not whole.
pub fn read_list(bytes: &[u8]) -> Option<Vec<KeptCopy>> {
    let (bytes, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST_BYTES)?)?;
    let mut rest = (Sha256::digest(bytes).as_slice() == digest).then(|| bytes.strip_prefix(LIST))??;
    let count = u64::from_be_bytes(take(&mut rest)?.try_into().ok()?);
    (0..count).map(|_| read_copy(&mut rest)).collect()
}

fn read_copy(rest: &mut &[u8]) -> Option<KeptCopy> {
    let mut text = || String::from_utf8(take(rest)?.to_vec()).ok();
    let (source, location, digest, last_good, made_at) = (text()?, text()?, text()?, text()?, text()?);
    let made_at = if made_at.is_empty() { None } else { Some(made_at.parse().ok()?) };
    Some(KeptCopy { source, location, digest, last_good: last_good.parse().ok()?, made_at })
}

/// Writes the files of a source.
pub fn write_files(files: &[SourceFile]) -> Vec<u8> {
    let mut bytes = FILES.to_vec();
    for file in files {
        put(&mut bytes, file.path.as_bytes());
        put(&mut bytes, &file.bytes);
    }
    bytes
}

/// Reads the files of a source; none if these bytes are not those of that digest.
pub fn read_files(bytes: &[u8], digest: &str) -> Option<Vec<SourceFile>> {
    let mut rest = (digest_of(bytes) == digest).then(|| bytes.strip_prefix(FILES))??;
    let mut files = Vec::new();
    while !rest.is_empty() {
        let path = String::from_utf8(take(&mut rest)?.to_vec()).ok()?;
        files.push(SourceFile { path, bytes: take(&mut rest)?.into() });
    }
    Some(files)
}

/// The name that the files of a source have, without writing them.
pub fn digest_of_files(files: &[SourceFile]) -> String {
    let mut hash = Sha256::new();
    hash.update(FILES);
    for field in files.iter().flat_map(|file| [file.path.as_bytes(), &file.bytes]) {
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of these bytes, in hexadecimal.
pub fn digest_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn put(bytes: &mut Vec<u8>, field: &[u8]) {
    bytes.extend_from_slice(&(field.len() as u64).to_be_bytes());
    bytes.extend_from_slice(field);
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_at_checked(8)?;
    let length = u64::from_be_bytes(length.try_into().ok()?);
    let (field, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Vec<KeptCopy> {
        let copy = |made_at| KeptCopy {
            source: "graph-data".into(),
            location: "/srv/a b".into(),
            digest: digest_of(b"x"),
            last_good: Timestamp::UNIX_EPOCH,
            made_at,
        };
        vec![copy(None), copy(Some(Timestamp::UNIX_EPOCH))]
    }

    #[test]
    fn what_was_written_is_read_and_nothing_that_was_damaged() {
        let bytes = write_list(&list());
        assert_eq!(read_list(&bytes), Some(list()));
        let file = |path: &str, text: &str| SourceFile { path: path.into(), bytes: text.as_bytes().into() };
        let files = vec![file("version", "1.0.0"), file("channels/x.yaml", "")];
        let written = write_files(&files);
        let digest = digest_of(&written);
        assert_eq!(digest_of_files(&files), digest);
        assert_eq!(read_files(&written, &digest), Some(files));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!((read_list(&damaged), read_list(&bytes[..at])), (None, None), "{at}");
        }
        for at in 0..written.len() {
            assert_eq!(read_files(&written[..at], &digest), None, "{at}");
        }
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        let mut bytes = LIST.to_vec();
        put(&mut bytes, &u64::MAX.to_be_bytes());
        bytes.extend_from_slice(&u64::MAX.to_be_bytes());
        let digest = Sha256::digest(&bytes);
        bytes.extend_from_slice(&digest);
        assert_eq!(read_list(&bytes), None);
    }
}

//! The chained log: the hash of an entry, and its head: the newest entry at an instant, and that with a signature.
//!
//! Hashes and signatures are over a fixed sequence of bytes, so nothing needs a canonical form. Numbers are big-endian.
//! An entry's hash is the SHA-256 of
//!
//! ```text
//! "towpath decision 1" · hash of the entry before (32 zero bytes for the first) · seq (i64) · at in nanoseconds (i64)
//! · number of inputs (u64) · per input: length of its name (u64), name, digest · length of the body (u64) · body
//! ```
//!
//! and the signature of a head is over
//!
//! ```text
//! "towpath log head 1" · number of the newest entry (i64) · its hash (32 bytes) · last pruned entry (i64) · at in nanoseconds (i64)
//! ```

use jiff::Timestamp;
use sha2::{Digest, Sha256};

const ENTRY_TAG: &[u8] = b"towpath decision 1";
const TAG: &[u8] = b"towpath log head 1";

/// What the first entry names as the hash of the one before.
pub const NO_HASH: [u8; 32] = [0; 32];

/// The hash of an entry, whose inputs have a name and a digest.
pub fn entry_hash(
    prev: &[u8; 32],
    seq: i64,
    at_nanoseconds: i64,
    input: &[(String, [u8; 32])],
    body: &[u8],
) -> [u8; 32] {
    let mut hash = Sha256::new();
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX).to_be_bytes();
    hash.update(ENTRY_TAG);
    hash.update(prev);
    hash.update(seq.to_be_bytes());
    hash.update(at_nanoseconds.to_be_bytes());
    hash.update(count(input.len()));
    for (name, digest) in input {
        hash.update(count(name.len()));
        hash.update(name.as_bytes());
        hash.update(digest);
    }
    hash.update(count(body.len()));
    hash.update(body);
    hash.finalize().into()
}

/// The newest entry of the log at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogHead {
    /// Its number; 0 while the log is empty.
    pub sequence: i64,
    pub hash: [u8; 32],
    /// The entries up to this number were pruned before; 0: none.
    pub pruned: i64,
    pub at: Timestamp,
}

/// A head, and who vouches for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedHead {
    pub head: LogHead,
    /// The short name of the key.
    pub key: String,
    pub signature: Vec<u8>,
}

impl LogHead {
    /// What is signed.
    pub fn message(&self) -> Vec<u8> {
        let at = i64::try_from(self.at.as_nanosecond()).unwrap_or(i64::MAX);
        [
            TAG,
            &self.sequence.to_be_bytes(),
            &self.hash,
            &self.pruned.to_be_bytes(),
            &at.to_be_bytes(),
        ]
        .concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed once, outside this program: an entry's hash never changes.
    #[test]
    fn the_hash_of_an_entry_is_what_the_page_says() {
        let input = vec![("policy".to_owned(), [7; 32])];
        let hash = entry_hash(&NO_HASH, 1, 1_000_000_000, &input, b"start");
        assert_eq!(
            crate::hex::encode(&hash),
            "b84554999c3c4d5bdba7583a20364a1c1c780220f1ae7d96154eef4facd94d7c"
        );
    }

    #[test]
    fn what_is_signed_never_changes() {
        let head = LogHead {
            sequence: 7,
            hash: [9; 32],
            pruned: 2,
            at: Timestamp::from_second(1).expect("a time"),
        };
        let mut expected = b"towpath log head 1\0\0\0\0\0\0\0\x07".to_vec();
        expected.extend([9; 32]);
        expected.extend(b"\0\0\0\0\0\0\0\x02\0\0\0\0\x3b\x9a\xca\x00");
        assert_eq!(head.message(), expected);
    }
}

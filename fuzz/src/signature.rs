//! Signatures: any bytes as a signature, and as a keyring. Nobody's bytes verify, and nothing panics.

use jiff::Timestamp;
use towpath_core::signatures::PayloadDigest;
use towpath_formats::SourceFile;
use towpath_formats::signatures::{Keyring, verify};

pub fn fuzz(data: (&[u8], &[u8])) {
    let (signature, keys) = data;
    let digest = PayloadDigest::parse(&format!("sha256:{}", "ab".repeat(32))).expect("a digest");
    let file = SourceFile {
        path: "keys".to_owned(),
        bytes: keys.into(),
    };
    // Whatever the keys are: who could sign with them would have broken more than this.
    let ring = Keyring::read(&[file])
        .map(|(ring, _)| ring)
        .or_else(|findings| {
            assert!(
                findings
                    .iter()
                    .any(towpath_core::finding::Finding::is_error),
                "a refusal has a reason"
            );
            let real = SourceFile {
                path: "real".to_owned(),
                bytes: include_bytes!("../keys/fuzz.asc")[..].into(),
            };
            Keyring::read(&[real]).map(|(ring, _)| ring)
        });
    let ring = ring.expect("the key of the fuzz target is one");
    let now = Timestamp::from_second(1_800_000_000).expect("a time");
    if let Err(refusal) = verify(signature, &ring, digest, now) {
        assert!(!refusal.to_string().is_empty());
    }
}

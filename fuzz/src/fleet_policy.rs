//! A fleet's policy: files with a zero byte between them, each a path, a line break, and its bytes.

use towpath_core::fleet::{FleetInput, dispatch};
use towpath_formats::SourceFile;
use towpath_formats::fleet::policy;

pub fn fuzz(data: &[u8]) {
    let file = |part: &[u8]| {
        let at = part
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(part.len());
        let path = String::from_utf8_lossy(&part[..at]).into_owned();
        SourceFile {
            path,
            bytes: part.get(at + 1..).unwrap_or_default().into(),
        }
    };
    let files: Vec<SourceFile> = data.split(|byte| *byte == 0).take(8).map(file).collect();
    let mut turned = files.clone();
    turned.reverse();
    let read = policy::read(&files);
    assert_eq!(
        read.findings,
        policy::read(&turned).findings,
        "the order of files does not matter"
    );
    // Whatever it says, a fleet of nobody starts nothing.
    let input = FleetInput {
        policy: read.policy,
        ..FleetInput::default()
    };
    let (_, decision) = dispatch(input, jiff::Timestamp::UNIX_EPOCH);
    assert!(decision.starts.is_empty());
}

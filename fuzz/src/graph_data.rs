//! Graph data: files one after the other, with a zero byte between them; each is its path, a line break, and its bytes.

use towpath_core::finding::Finding;
use towpath_core::graph::{Graph, Releases};
use towpath_formats::SourceFile;
use towpath_formats::graph::data;

pub fn fuzz(data: &[u8]) {
    let files: Vec<SourceFile> = data.split(|byte| *byte == 0).map(file).collect();
    match data::read(&files) {
        Err(findings) => assert!(
            findings.iter().any(Finding::is_error),
            "a refusal has a reason"
        ),
        Ok((data, findings)) => {
            assert!(
                !findings.iter().any(Finding::is_error),
                "what is taken has no error"
            );
            Graph::build(data, Releases::default());
        }
    }
}

fn file(bytes: &[u8]) -> SourceFile {
    let end = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(bytes.len());
    let path = String::from_utf8_lossy(&bytes[..end]).into_owned();
    SourceFile {
        path,
        bytes: bytes.get(end + 1..).unwrap_or_default().into(),
    }
}

//! The list of what to mirror: one item per line, with comments above. Scripts read the first word
//! of each line.
//!
//! ```text
//! release 4.14.70 amd64 registry/repository@sha256:…
//! signature sha256=…/signature-1
//! graph-data registry/graph-data:2026-08-21
//! ```

use std::fmt::Write;

use super::{MirrorReport, NoDigest, comments};
use crate::words::plain;

pub fn list(told: &MirrorReport<'_>) -> Result<String, NoDigest> {
    let (mut text, items) = (comments(told), told.items()?);
    for item in &items {
        let release = item.release;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "release {} {} {}",
            release.version,
            release.arch,
            plain(&release.payload)
        );
        let _ = writeln!(text, "signature {}", item.signature());
    }
    match (items.is_empty(), told.graph_data) {
        (true, _) => {}
        (false, Some(image)) => drop(writeln!(text, "graph-data {}", plain(image))),
        (false, None) => text.push_str(
            "# And the graph data of today, as a directory or an image: name it with --graph-data-image to have it listed.\n",
        ),
    }
    Ok(text)
}

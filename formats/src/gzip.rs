//! Gzip of a whole text: without a name and a time, so that equal texts give equal bytes.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// The text, compressed.
pub fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 4), Compression::default());
    let written = encoder.write_all(text).and_then(|()| encoder.finish());
    written.expect("a vector takes everything")
}

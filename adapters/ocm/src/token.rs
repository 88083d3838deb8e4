//! The bearer token: from a file that somebody else keeps fresh.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use reqwest::header::HeaderValue;

use crate::OcmError;

/// The longest token; real ones have about 2 KiB.
const MAX_BYTES: u64 = 64 << 10;

/// The token as it was last read. Its value is in no message: `HeaderValue` is marked sensitive.
#[derive(Debug)]
pub(crate) struct Token {
    file: PathBuf,
    header: Mutex<HeaderValue>,
}

impl Token {
    /// Reads the file for the first time.
    pub(crate) fn new(file: PathBuf) -> Result<Self, OcmError> {
        let header = Mutex::new(read(&file)?);
        Ok(Self { file, header })
    }

    pub(crate) fn header(&self) -> HeaderValue {
        self.lock().clone()
    }

    /// Reads the file again after `refused` was not taken. None if there is nothing new to try.
    pub(crate) fn renewed(&self, refused: &HeaderValue) -> Result<Option<HeaderValue>, OcmError> {
        let fresh = read(&self.file)?;
        *self.lock() = fresh.clone();
        Ok((fresh != *refused).then_some(fresh))
    }

    fn lock(&self) -> MutexGuard<'_, HeaderValue> {
        self.header.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(file: &PathBuf) -> Result<HeaderValue, OcmError> {
    let wrong = |problem: String| OcmError::TokenFile {
        file: file.display().to_string(),
        problem,
    };
    let mut text = String::new();
    File::open(file)
        .and_then(|opened| opened.take(MAX_BYTES + 1).read_to_string(&mut text))
        .map_err(|e| wrong(format!("cannot be read: {e}")))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(wrong(format!("is longer than {MAX_BYTES} bytes")));
    }
    let token = text.trim();
    if token.is_empty() {
        return Err(wrong("is empty".to_owned()));
    }
    // What a bearer token may be made of (RFC 6750), so that nothing else of the request can be written in it.
    let well_formed = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
    if !token.bytes().all(well_formed) {
        return Err(wrong("has characters that no token has".to_owned()));
    }
    let mut header =
        HeaderValue::from_str(&format!("Bearer {token}")).map_err(|e| wrong(e.to_string()))?;
    header.set_sensitive(true);
    Ok(header)
}

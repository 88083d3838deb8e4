//! A token that lives in a file: read again whenever the file has changed.
//!
//! Kubernetes puts a new token into the file long before the old one expires, and the next request has it. If the file is gone, the last token is used: some take the file
//! away once programs have started.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use http::HeaderValue;

use crate::error::KubeError;

const MAX_TOKEN_BYTES: u64 = 64 << 10;

/// A token file and what was last read from it. Copies read together.
#[derive(Clone)]
pub(crate) struct TokenFile {
    path: PathBuf,
    last: Arc<Mutex<Read>>,
}

struct Read {
    /// When the file was written, and how long it was.
    stamp: Option<(SystemTime, u64)>,
    header: HeaderValue,
}

impl TokenFile {
    pub(crate) fn open(path: PathBuf) -> Result<Self, KubeError> {
        let read = read(&path).map_err(|problem| KubeError::Configuration {
            place: path.display().to_string(),
            problem,
            remedy: "put the token there, or correct the path",
        })?;
        Ok(Self {
            path,
            last: Arc::new(Mutex::new(read)),
        })
    }

    /// The value of the `Authorization` header.
    pub(crate) fn header(&self) -> HeaderValue {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = std::fs::metadata(&self.path).is_ok_and(|data| last.stamp == stamp(&data));
        if !is_same && let Ok(new) = read(&self.path) {
            *last = new;
        }
        last.header.clone()
    }
}

fn read(path: &std::path::Path) -> Result<Read, String> {
    let data =
        std::fs::metadata(path).map_err(|error| format!("the token cannot be read: {error}"))?;
    let is_too_large = data.len() > MAX_TOKEN_BYTES;
    let text = match is_too_large {
        true => {
            return Err(format!(
                "a token has at most {MAX_TOKEN_BYTES} bytes, and this file has {}",
                data.len()
            ));
        }
        false => std::fs::read_to_string(path)
            .map_err(|error| format!("the token cannot be read: {error}"))?,
    };
    let token = match text.trim() {
        "" => return Err("the file is empty".to_owned()),
        token => token,
    };
    let mut header = HeaderValue::from_str(&format!("Bearer {token}"))
        .map_err(|_| "this is no token".to_owned())?;
    header.set_sensitive(true);
    Ok(Read {
        stamp: stamp(&data),
        header,
    })
}

fn stamp(data: &std::fs::Metadata) -> Option<(SystemTime, u64)> {
    data.modified().ok().map(|modified| (modified, data.len()))
}

impl std::fmt::Debug for TokenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_token_is_read_again_when_its_file_changes_and_kept_when_it_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "first\n").unwrap();
        let token = TokenFile::open(path.clone()).unwrap();
        assert_eq!(token.header(), "Bearer first");
        std::fs::write(&path, "the second").unwrap();
        assert_eq!(token.header(), "Bearer the second");
        std::fs::write(&path, "").unwrap();
        assert_eq!(token.header(), "Bearer the second");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(token.header(), "Bearer the second");
    }

    #[test]
    fn a_missing_or_senseless_token_is_a_finding() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        for content in [
            None,
            Some("".to_owned()),
            Some("x".repeat(70_000)),
            Some("two\nlines".to_owned()),
        ] {
            if let Some(content) = &content {
                std::fs::write(&path, content).unwrap();
            }
            let error = TokenFile::open(path.clone()).unwrap_err();
            assert_eq!(error.kind(), "configuration", "{content:?}");
            assert!(
                error.to_string().starts_with(&path.display().to_string()),
                "{error}"
            );
        }
    }
}

//! Bearer tokens, read from a file that others renew.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::header::HeaderValue;
use towpath_formats::fleet::token;

use crate::file;

/// A token that is valid in a header (RFC 6750). It is secret: nothing prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken(String);

/// A file with nothing but a token. It is read for each request, so a new token is used at once. Clones share the last token.
#[derive(Debug, Clone)]
pub struct TokenFile {
    path: PathBuf,
    max_bytes: u64,
    last: Arc<Mutex<Option<BearerToken>>>,
}

impl TokenFile {
    pub fn new(path: impl Into<PathBuf>, max_bytes: u64) -> Self {
        Self {
            path: path.into(),
            max_bytes,
            last: Arc::default(),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the token. The error text follows the file's name.
    pub fn read(&self) -> Result<BearerToken, String> {
        let bytes = file::read(&self.path, self.max_bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let token = BearerToken::parse(&text)?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(token.clone());
        Ok(token)
    }

    /// Reads the token, or returns the last one if the file is missing or wrong. Some systems remove the file after start.
    pub fn read_or_last(&self) -> Result<BearerToken, String> {
        self.read().or_else(|problem| {
            let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            last.clone().ok_or(problem)
        })
    }
}

impl BearerToken {
    /// The token in a text, with nothing around it but white space.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(Self(token::bearer(text)?.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value of the `Authorization` header.
    pub fn header(&self) -> HeaderValue {
        let header = HeaderValue::from_str(&format!("Bearer {}", self.0));
        let mut header = header.unwrap_or_else(|_| unreachable!("its characters were looked at"));
        header.set_sensitive(true);
        header
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_each_time_and_the_last_one_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let file = TokenFile::new(&path, 100);
        let problem = file.read_or_last().unwrap_err();
        assert!(problem.starts_with("cannot be read: "), "{problem}");
        for text in ["first", "second"] {
            std::fs::write(&path, format!("{text}\n")).unwrap();
            assert_eq!(file.read().unwrap().header(), format!("Bearer {text}"));
        }
        for (text, problem) in [
            ("", "is empty"),
            (
                "two words",
                "has characters that are not allowed in a token",
            ),
            (
                "two\nlines",
                "has characters that are not allowed in a token",
            ),
            (&"x".repeat(101), "is longer than 100 bytes"),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(file.read(), Err(problem.to_owned()));
            assert_eq!(file.read_or_last().unwrap().as_str(), "second");
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.clone().read_or_last().unwrap().as_str(), "second");
        std::fs::create_dir(&path).unwrap();
        let problem = file.read().unwrap_err();
        assert_eq!(problem, "cannot be read: it is not a file");
    }

    #[test]
    fn nothing_shows_a_token() {
        let token = BearerToken("s3cret".to_owned());
        let file = TokenFile::new("/token", 9);
        *file.last.lock().unwrap() = Some(token.clone());
        let shown = format!("{token:?} {:?} {file:?}", token.header());
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}

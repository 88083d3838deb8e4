//! The cluster's token: from a file that somebody else keeps fresh.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use reqwest::header::HeaderValue;

use crate::ServiceError;

/// The longest token file; ours have 47 characters.
const MAX_BYTES: u64 = 4 << 10;

/// A token. It is a secret: nothing shows it.
pub(crate) struct Token(String);

impl Token {
    /// The token that is in the file now.
    pub(crate) fn read(file: &Path) -> Result<Self, ServiceError> {
        let wrong = |problem: String| ServiceError::BadConfig {
            place: format!("the token file {}", file.display()),
            problem,
            remedy: "put the token that `towpath fleet token --cluster ID` makes there".to_owned(),
        };
        let mut text = String::new();
        File::open(file)
            .and_then(|opened| opened.take(MAX_BYTES + 1).read_to_string(&mut text))
            .map_err(|e| wrong(format!("cannot be read: {e}")))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(wrong(format!("is longer than {MAX_BYTES} bytes")));
        }
        let token = text.trim();
        // What a bearer token may be made of (RFC 6750), so that nothing else of the request can be written in it.
        let well_formed = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
        match (token.is_empty(), token.bytes().all(well_formed)) {
            (true, _) => Err(wrong("is empty".to_owned())),
            (false, false) => Err(wrong("has characters that no token has".to_owned())),
            (false, true) => Ok(Self(token.to_owned())),
        }
    }

    /// As the key of a stamp.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// As it is sent.
    pub(crate) fn header(&self) -> HeaderValue {
        let header = HeaderValue::from_str(&format!("Bearer {}", self.0));
        let mut header = header.unwrap_or_else(|_| unreachable!("its characters were looked at"));
        header.set_sensitive(true);
        header
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

//! What a page brings back from the issuer: a code, and the proof that this page began the login.

use std::ops::RangeInclusive;

use serde::Deserialize;

/// The longest code. Real ones have up to 2 KiB.
const MAX_CODE_BYTES: usize = 4 << 10;
const MAX_ADDRESS_BYTES: usize = 2 << 10;
/// RFC 7636.
const VERIFIER_BYTES: RangeInclusive<usize> = 43..=128;
const NONCE_BYTES: RangeInclusive<usize> = 16..=128;

/// A code, and what belongs to it. It is secret: nothing prints it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CodeExchange {
    pub code: String,
    /// Proves that this page began the login.
    pub verifier: String,
    /// Where the issuer sent the page back to.
    pub redirect_uri: String,
    /// Must stand in the token.
    pub nonce: String,
}

impl CodeExchange {
    /// Reads the body of a page's request.
    pub fn read(text: &str) -> Result<Self, String> {
        let read: Self = serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!(
                "the body cannot be understood (line {line}, column {column}); send code, verifier, redirectUri and nonce"
            )
        })?;
        let wrong = |problem: &str| Err(format!("{problem}; log in again"));
        if !(1..=MAX_CODE_BYTES).contains(&read.code.len()) {
            return wrong("the code is empty or too long");
        }
        if !VERIFIER_BYTES.contains(&read.verifier.len()) || !is_unreserved(&read.verifier) {
            return wrong("the verifier does not have 43 to 128 letters, digits, -, ., _ or ~");
        }
        if !NONCE_BYTES.contains(&read.nonce.len()) || !is_unreserved(&read.nonce) {
            return wrong("the nonce does not have 16 to 128 letters, digits, -, ., _ or ~");
        }
        let is_bare = !read.redirect_uri.contains(['?', '#', '@']);
        if read.redirect_uri.len() > MAX_ADDRESS_BYTES || !is_bare {
            return wrong("the redirect URI is not the page's own");
        }
        Ok(read)
    }
}

fn is_unreserved(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_can_be_a_login_is_passed_on() {
        let usual = json!({
            "code": "abc", "verifier": "v".repeat(43), "nonce": "n".repeat(16),
            "redirectUri": "https://towpath.example/login",
        });
        let read = |value: &serde_json::Value| CodeExchange::read(&value.to_string()).err();
        assert_eq!(read(&usual), None);
        for (name, value, expected) in [
            ("code", json!(""), "the code is empty"),
            (
                "code",
                json!("c".repeat(5_000)),
                "the code is empty or too long",
            ),
            ("code", json!(1), "cannot be understood"),
            ("verifier", json!("short"), "the verifier"),
            ("verifier", json!("v v".repeat(20)), "the verifier"),
            ("nonce", json!("n"), "the nonce"),
            (
                "redirectUri",
                json!("https://a.example/login?x"),
                "the redirect URI",
            ),
            (
                "redirectUri",
                json!("https://me@a.example/login"),
                "the redirect URI",
            ),
            ("clientSecret", json!("x"), "cannot be understood"),
        ] {
            let mut changed = usual.clone();
            changed[name] = value;
            let told = read(&changed).unwrap_or_default();
            assert!(
                told.contains(expected) && told.contains(';'),
                "{name}: {told}"
            );
        }
    }
}

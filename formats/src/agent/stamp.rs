//! Stamps: how old a graph is. The service makes one for each request of a cluster, and seals it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use towpath_core::agent::Stamp;
use towpath_core::cluster::ClusterId;

use super::seal::{Sealed, check_nonce};
use crate::graph::data::parse_time;

const PURPOSE: &str = "stamp";

/// The largest stamp, as it is sent.
pub const MAX_BYTES: usize = 4 << 10;
/// How many characters a nonce has.
const NONCE_CHARACTERS: std::ops::RangeInclusive<usize> = 16..=64;

/// What a cluster made up to know the answer to its own question by: 16 to 64 characters of base64url.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nonce(String);

impl Nonce {
    /// The nonce, if it can be one.
    pub fn new(text: &str) -> Option<Self> {
        let is_of_base64url =
            |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (NONCE_CHARACTERS.contains(&text.len()) && text.bytes().all(is_of_base64url))
            .then(|| Self(text.to_owned()))
    }

    /// One of these bytes, which nobody could have guessed.
    pub fn of(random: [u8; 32]) -> Self {
        Self(URL_SAFE_NO_PAD.encode(random))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A stamp as it is sent.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a stamp: an object")]
struct StampBody {
    good_at: String,
    stamped_at: String,
    nonce: String,
    code: String,
}

/// The stamp for the cluster that asked with this token, as it is sent.
pub fn write(token: &str, cluster: &ClusterId, nonce: &Nonce, stamp: &Stamp) -> String {
    let (good_at, stamped_at) = (stamp.good_at.to_string(), stamp.stamped_at.to_string());
    let code = Sealed::new(PURPOSE, cluster, nonce, &[&good_at, &stamped_at]).code(token);
    let sent = StampBody {
        good_at,
        stamped_at,
        nonce: nonce.0.clone(),
        code,
    };
    serde_json::to_string(&sent).unwrap_or_else(|_| unreachable!("texts can be written"))
}

/// The stamp that this cluster asked for with this token and this nonce; else what is wrong, in a sentence.
pub fn read(
    bytes: &[u8],
    token: &str,
    cluster: &ClusterId,
    nonce: &Nonce,
) -> Result<Stamp, String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!(
            "the stamp is larger than {MAX_BYTES} bytes; check the address of the service"
        ));
    }
    let sent: StampBody = serde_json::from_slice(bytes).map_err(|error| {
        format!("the stamp is not valid: {error}; check the address of the service")
    })?;
    check_nonce(PURPOSE, &sent.nonce, nonce)?;
    Sealed::new(PURPOSE, cluster, nonce, &[&sent.good_at, &sent.stamped_at])
        .check(token, &sent.code)?;
    let time = |text: &str| -> Result<Timestamp, String> { parse_time(text) };
    Ok(Stamp {
        good_at: time(&sent.good_at)?,
        stamped_at: time(&sent.stamped_at)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "tpc_xLqZEoMr6ozXZmZ9yGQrqH36zDnH_CKzejYJSYPzCNw";
    const NONCE: &str = "AAAAAAAAAAAAAAAA";

    fn id(text: &str) -> ClusterId {
        ClusterId::new(text).unwrap()
    }

    fn nonce(text: &str) -> Nonce {
        Nonce::new(text).unwrap()
    }

    fn stamp() -> Stamp {
        let time = |text: &str| text.parse().unwrap();
        Stamp {
            good_at: time("2026-05-12T10:29:00Z"),
            stamped_at: time("2026-05-12T10:30:00.5Z"),
        }
    }

    fn written() -> String {
        write(TOKEN, &id("0f3a"), &nonce(NONCE), &stamp())
    }

    #[test]
    fn a_stamp_comes_back_and_is_the_same_everywhere() {
        assert_eq!(
            read(written().as_bytes(), TOKEN, &id("0f3a"), &nonce(NONCE)),
            Ok(stamp())
        );
        // From Python: base64.urlsafe_b64encode(hmac.new(token, text, "sha256").digest()).rstrip(b"=")
        let expected = concat!(
            r#"{"goodAt":"2026-05-12T10:29:00Z","stampedAt":"2026-05-12T10:30:00.5Z","#,
            r#""nonce":"AAAAAAAAAAAAAAAA","code":"rBP181gZFs7r1qiu3qN91xjwUHFhXu6MjQgjvwcjzIM"}"#
        );
        assert_eq!(written(), expected);
    }

    #[test]
    fn a_stamp_is_for_one_question_of_one_cluster() {
        let read = |text: &str, token: &str, cluster: &str, nonce_text: &str| {
            super::read(text.as_bytes(), token, &id(cluster), &nonce(nonce_text)).unwrap_err()
        };
        let changed = |before: &str, after: &str| {
            assert!(written().contains(before));
            written().replacen(before, after, 1)
        };
        let other = "BBBBBBBBBBBBBBBB";
        let not_ours = "not made for this cluster and its token, or was changed";
        for (what, error, expected) in [
            (
                "another token",
                read(&written(), "tpc_x", "0f3a", NONCE),
                not_ours,
            ),
            (
                "another cluster",
                read(&written(), TOKEN, "0f3b", NONCE),
                not_ours,
            ),
            (
                "another nonce",
                read(&written(), TOKEN, "0f3a", other),
                "another question",
            ),
            (
                "a nonce that was changed",
                read(&changed(NONCE, other), TOKEN, "0f3a", other),
                not_ours,
            ),
            (
                "a younger graph",
                read(&changed("10:29:00Z", "10:29:01Z"), TOKEN, "0f3a", NONCE),
                not_ours,
            ),
            (
                "a younger stamp",
                read(&changed("10:30:00.5Z", "10:30:00.6Z"), TOKEN, "0f3a", NONCE),
                not_ours,
            ),
            (
                "the same time in other words",
                read(&changed("00.5Z", "00.50Z"), TOKEN, "0f3a", NONCE),
                not_ours,
            ),
            (
                "no code",
                read(
                    &changed("\"code\":\"", "\"code\":\"?"),
                    TOKEN,
                    "0f3a",
                    NONCE,
                ),
                not_ours,
            ),
            (
                "no stamp",
                read("<html>", TOKEN, "0f3a", NONCE),
                "the stamp is not valid",
            ),
            (
                "a field less",
                read(&changed("goodAt", "bestAt"), TOKEN, "0f3a", NONCE),
                "missing field `goodAt`",
            ),
            (
                "too much",
                read(&" ".repeat(MAX_BYTES + 1), TOKEN, "0f3a", NONCE),
                "larger than 4096 bytes",
            ),
        ] {
            assert!(error.contains(expected), "{what}: {error}");
        }
    }

    #[test]
    fn nonces() {
        assert_eq!(
            Nonce::of([255; 32]).as_str(),
            "__________________________________________8"
        );
        for text in [
            "",
            &"a".repeat(15),
            &"a".repeat(65),
            "AAAAAAAAAAAAAAA=",
            "AAAAAAAA+AAAAAAA",
            "AAAAAAAA\nAAAAAAA",
        ] {
            assert_eq!(Nonce::new(text), None, "{text}");
        }
        assert!(Nonce::new(&"a".repeat(16)).is_some() && Nonce::new(&"_".repeat(64)).is_some());
    }
}

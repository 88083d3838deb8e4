//! When an image was made, according to its configuration.

use jiff::Timestamp;
use serde::Deserialize;

/// Builders that want the same bytes each time write a fixed date, of 1970 or 1980: it tells nothing. This is the end of 1980.
const LAST_FIXED_DATE: i64 = 347_155_200;

#[derive(Deserialize)]
struct CreatedConfig {
    created: Option<String>,
}

/// The time; none if it is not told, or cannot be read.
pub fn read_config_created(bytes: &[u8]) -> Option<Timestamp> {
    let config: CreatedConfig = serde_json::from_slice(bytes).ok()?;
    config
        .created?
        .parse()
        .ok()
        .filter(|at: &Timestamp| at.as_second() > LAST_FIXED_DATE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_tells_when_it_was_made() {
        let made = read_config_created(
            br#"{"architecture":"amd64","created":"2026-01-02T03:04:05.678Z"}"#,
        );
        assert_eq!(
            made.map(|at| at.to_string()).as_deref(),
            Some("2026-01-02T03:04:05.678Z")
        );
        for untold in [
            "{}",
            "[",
            r#"{"created":null}"#,
            r#"{"created":"1970-01-01T00:00:00Z"}"#,
            r#"{"created":"x"}"#,
        ] {
            assert_eq!(read_config_created(untold.as_bytes()), None, "{untold}");
        }
    }
}

//! Cursors: where the next page of a large answer begins. The names that the last page ended with,
//! as one query parameter.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use towpath_core::fleet::Cursor;

/// The longest one, in characters.
const MAX_CHARACTERS: usize = 4_096;
/// The most names.
const MAX_NAMES: usize = 8;

pub fn write(cursor: &Cursor) -> String {
    URL_SAFE_NO_PAD.encode(json!(cursor.0).to_string())
}

/// Reads what [`write`] wrote; none if it is nothing that we wrote.
pub fn read(text: &str) -> Option<Cursor> {
    let bytes = URL_SAFE_NO_PAD
        .decode(Some(text).filter(|text| text.len() <= MAX_CHARACTERS)?)
        .ok()?;
    let names: Vec<String> = serde_json::from_slice(&bytes).ok()?;
    (1..=MAX_NAMES)
        .contains(&names.len())
        .then_some(Cursor(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_a_word_whatever_the_names_are() {
        let cursor = Cursor(["a b/&=\n", "", "é"].map(str::to_owned).into());
        let word = write(&cursor);
        assert!(
            word.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'),
            "{word}"
        );
        assert_eq!(read(&word), Some(cursor));
        for text in ["", "W10", "!", &word[1..], &"A".repeat(MAX_CHARACTERS + 1)] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}

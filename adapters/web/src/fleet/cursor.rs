//! Where a large answer goes on: the names that its last page ended with, as one word for a query.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The longest one, in characters.
pub(super) const MAX_CHARACTERS: usize = 4_096;
/// The most names.
const MAX_NAMES: usize = 8;

/// The names that a page ended with. What they mean is known to whoever made the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(Vec<String>);

impl Cursor {
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self(names.into_iter().collect())
    }

    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Reads what [`Display`](fmt::Display) wrote; none if it is nothing that we wrote.
    pub fn read(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD
            .decode(Some(text).filter(|text| text.len() <= MAX_CHARACTERS)?)
            .ok()?;
        let names: Vec<String> = serde_json::from_slice(&bytes).ok()?;
        (1..=MAX_NAMES)
            .contains(&names.len())
            .then_some(Self(names))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(serde_json::json!(self.0).to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_a_word_whatever_the_names_are() {
        let cursor = Cursor::new(["a b/&=\n".to_owned(), String::new(), "é".to_owned()]);
        let word = cursor.to_string();
        assert!(
            word.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'),
            "{word}"
        );
        assert_eq!(Cursor::read(&word), Some(cursor));
        for text in ["", "W10", "!", &word[1..], &"A".repeat(MAX_CHARACTERS + 1)] {
            assert_eq!(Cursor::read(text), None, "{text}");
        }
    }
}

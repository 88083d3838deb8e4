//! Findings: what is wrong in a file that a person wrote, where, and what to do about it.
//!
//! Parsers and checks return findings instead of logging, and the caller shows them. An error
//! means that the input must not be used. A warning means that it can be used, but somebody should
//! look.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// One problem, with its place and its remedy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Whether the input can be used all the same. First, so that errors come first in any list.
    pub severity: Severity,
    pub place: Place,
    /// A stable name for this kind of problem, for filters and machines.
    pub code: &'static str,
    /// What is wrong, for people.
    pub problem: String,
    /// What to do next, for people.
    pub remedy: String,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The input must not be used.
    Error,
    /// The input can be used; somebody should look.
    Warning,
}

/// A place in a file that a person can open. Lines and columns count from 1; 0 means the file as a whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The path, relative to the data it belongs to.
    pub file: Arc<str>,
    /// The line, from 1; 0 for the whole file.
    pub line: u32,
    /// The column, from 1; 0 for the whole line.
    pub column: u32,
}

impl Place {
    /// A file as a whole.
    pub fn file(file: impl Into<Arc<str>>) -> Self {
        Self {
            file: file.into(),
            line: 0,
            column: 0,
        }
    }

    /// A line and column of this place's file.
    pub fn at(&self, line: u32, column: u32) -> Self {
        Self {
            file: self.file.clone(),
            line,
            column,
        }
    }
}

impl From<&Path> for Place {
    fn from(path: &Path) -> Self {
        Self::file(path.display().to_string())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = escaped(&self.file);
        match (self.line, self.column) {
            (0, _) => write!(f, "{file}"),
            (line, 0) => write!(f, "{file}:{line}"),
            (line, column) => write!(f, "{file}:{line}:{column}"),
        }
    }
}

/// A text of others, fit for one line of a terminal: characters that would move the cursor, change colours or turn the order of what is read are written as
/// `\u{1b}`.
pub fn escaped(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    match text.chars().any(is_harmful) {
        false => Cow::Borrowed(text),
        true => {
            let written = |c: char| {
                if is_harmful(c) {
                    c.escape_unicode().to_string()
                } else {
                    c.to_string()
                }
            };
            Cow::Owned(text.chars().map(written).collect())
        }
    }
}

impl Finding {
    /// A problem that makes the input unusable.
    pub fn error(
        code: &'static str,
        place: impl Into<Place>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            place: place.into(),
            severity: Severity::Error,
            code,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    /// A problem that somebody should look at.
    pub fn warning(
        code: &'static str,
        place: impl Into<Place>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, place, problem, remedy)
        }
    }

    /// Whether the input must not be used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl std::error::Error for Finding {}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}; {}",
            self.place,
            escaped(&self.problem),
            escaped(&self.remedy)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_does_not_command_a_terminal() {
        let place = Place::file("a\u{1b}[31m.yaml").at(1, 2);
        let finding = Finding::error("x", place, "\"\u{9b}2J\r\n\u{202e}ü\"", "\u{7}do");
        let expected = r#"a\u{1b}[31m.yaml:1:2: "\u{9b}2J\u{d}\u{a}\u{202e}ü"; \u{7}do"#;
        assert_eq!(finding.to_string(), expected);
        assert!(matches!(escaped("plain ü\u{1f600}"), Cow::Borrowed(_)));
    }
}

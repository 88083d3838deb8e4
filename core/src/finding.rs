//! Findings: what is wrong with what a person wrote, where, and what to do about it.
//!
//! Parsers and checks return findings instead of logging; the caller shows them. An error means that the input
//! must not be used; a warning means that it can be, and that somebody should look.

use std::fmt;
use std::sync::Arc;

/// One problem, with its place and its remedy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Whether the input can be used all the same. First, so that errors come first in any list.
    pub severity: Severity,
    /// Where it is.
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
        Self { file: file.into(), line: 0, column: 0 }
    }

    /// A line and column of this place's file.
    pub fn at(&self, line: u32, column: u32) -> Self {
        Self { file: self.file.clone(), line, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => write!(f, "{}", self.file),
            (line, 0) => write!(f, "{}:{line}", self.file),
            (line, column) => write!(f, "{}:{line}:{column}", self.file),
        }
    }
}

impl Finding {
    /// A problem that makes the input unusable.
    pub fn error(code: &'static str, place: Place, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place, severity: Severity::Error, code, problem: problem.into(), remedy: remedy.into() }
    }

    /// A problem that somebody should look at.
    pub fn warning(code: &'static str, place: Place, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, place, problem, remedy) }
    }

    /// Whether the input must not be used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.problem, self.remedy)
    }
}

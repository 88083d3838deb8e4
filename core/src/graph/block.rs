//! Blocks: what release administrators have declared about edges into a release.
//!
//! One file of graph data is one block. It may stop the edge for everybody, stop it for some clusters, carry a
//! risk that clients weigh themselves, or both of the latter.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::DeclaredHalt;
use crate::cluster::Platform;
use crate::finding::Place;
use crate::version::ReleaseName;

/// A declared block of edges into one release.
#[derive(Debug, Clone)]
pub struct Block {
    /// The release whose incoming edges it is about.
    pub to: ReleaseName,
    /// The versions, with their architecture, that it is about.
    pub from: Pattern,
    /// The clusters that the service itself keeps from the edge.
    pub stops: Option<Audience>,
    /// What clients have to weigh.
    pub risk: Option<Risk>,
    /// What it says about itself, if it is a halt. A halt always stops somebody.
    pub halt: Option<Arc<DeclaredHalt>>,
    pub origin: Place,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Audience {
    Everybody,
    /// Clusters on these platforms, and those whose platform is unknown.
    Platforms(BTreeSet<Platform>),
    /// Described in a way we do not understand, so everybody: the sentence says what.
    NotUnderstood(String),
    /// Everybody, because sources disagree about the release's payload: the sentence says which.
    Disputed(String),
}

/// A known risk of taking an edge, weighed by the client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Risk {
    /// CamelCase, fit for a condition's reason.
    pub name: String,
    pub url: String,
    pub message: String,
    /// How a client finds out whether it is exposed, in order.
    pub matching_rules: Vec<MatchingRule>,
}

/// How a client finds out whether a risk concerns it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchingRule {
    Always,
    /// If this query gives 1.
    PromQl(String),
    /// A query that is not PromQL, so that no cluster can evaluate it.
    Unparsable(String),
    /// A type we do not know, carried to clients as it was written (JSON text).
    Other(String),
}

impl Risk {
    /// Whether clients find, without looking, that it applies: the first rule that they know says so, or they know none.
    pub fn is_for_everybody(&self) -> bool {
        let known = self
            .matching_rules
            .iter()
            .find(|rule| !matches!(rule, MatchingRule::Other(_) | MatchingRule::Unparsable(_)));
        matches!(known, None | Some(MatchingRule::Always))
    }
}

/// The number of a block in its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// The number of a risk in its graph. Equal risks of several files have one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RiskId(pub u32);

/// A regular expression over a version with its architecture, such as `4.8.3+amd64`. Unanchored.
#[derive(Clone)]
pub struct Pattern {
    text: Arc<str>,
    /// Shared, so that copies share what matching needs.
    regex: Arc<regex::bytes::Regex>,
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotAPattern(String);

impl Pattern {
    /// The longest pattern we take in.
    pub const MAX_BYTES: usize = 8 * 1024;
    /// The largest program a pattern may compile to. Matching is linear in it and in the version's length.
    pub const MAX_COMPILED_BYTES: usize = 64 << 10;

    /// Compiles a pattern within its limits.
    pub fn new(text: &str) -> Result<Self, NotAPattern> {
        if text.len() > Self::MAX_BYTES {
            return Err(NotAPattern(format!(
                "it is longer than {} bytes",
                Self::MAX_BYTES
            )));
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            let problem = "a version has no spaces or line breaks, so it would match nothing; write it in quotes, on one line";
            return Err(NotAPattern(problem.into()));
        }
        regex::bytes::RegexBuilder::new(text)
            // Versions are ASCII.
            .unicode(false)
            .size_limit(Self::MAX_COMPILED_BYTES)
            .dfa_size_limit(Self::MAX_COMPILED_BYTES)
            .nest_limit(64)
            .build()
            .map(|regex| Self {
                text: text.into(),
                regex: Arc::new(regex),
            })
            .map_err(|error| NotAPattern(last_line(&error.to_string())))
    }

    /// Whether the pattern is found anywhere in a version with its architecture.
    pub fn finds(&self, version_and_arch: &str) -> bool {
        self.regex.is_match(version_and_arch.as_bytes())
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// As it was written, to keep without the compiled form.
    pub fn text(&self) -> Arc<str> {
        self.text.clone()
    }
}

/// Equal texts are equal patterns.
impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl PartialOrd for Pattern {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pattern {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// The regex crate draws the pattern with a caret and puts the sentence last; we have our own places.
fn last_line(message: &str) -> String {
    let sentence = message
        .lines()
        .last()
        .unwrap_or_default()
        .trim_start_matches("error: ");
    match sentence.starts_with("Compiled regex exceeds size limit") {
        true => "it is too large when compiled; use smaller repetitions".to_owned(),
        false => sentence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_unanchored_and_see_the_architecture() {
        assert!(Pattern::new(r"4\.8\.3").unwrap().finds("4.8.31+amd64"));
        assert!(Pattern::new(r"amd64$").unwrap().finds("4.8.3+amd64"));
        assert!(!Pattern::new(r"^4\.8\.3$").unwrap().finds("4.8.3+amd64"));
    }

    #[test]
    fn patterns_are_bounded() {
        assert_eq!(Pattern::new("(").unwrap_err().to_string(), "unclosed group");
        assert!(Pattern::new(&"a".repeat(Pattern::MAX_BYTES + 1)).is_err());
        assert!(Pattern::new(r"(\w{100}){100}").is_err());
        assert!(Pattern::new(&"(".repeat(100)).is_err());
    }

    #[test]
    fn a_pattern_that_could_match_nothing_is_refused() {
        for text in ["4[.]9\n", " 4[.]9", "4[.]9 ", "4 9", "\t"] {
            assert!(Pattern::new(text).is_err(), "{text:?}");
        }
    }
}

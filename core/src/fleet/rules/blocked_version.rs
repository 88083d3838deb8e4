//! Blocked versions: patterns of the organisation and of the cluster, searched for anywhere in the version.
//!
//! `4.12.1` therefore blocks 4.12.19 too; `^4\.12\.1$` does not.

use super::StartRule;
use crate::fleet::roster::{PatternEntry, StartQuestion};
use crate::verdict::{Code, Verdict};

static BLOCKED_VERSION: Code = Code::new(
    "BlockedVersion",
    "blocked by the {by}'s pattern {pattern}",
    "remove the pattern when the version is good",
)
.with(&[("pattern", "-rc"), ("by", "organisation")]);

pub(super) static RULE: StartRule =
    StartRule::new(&[&BLOCKED_VERSION], judge).holding(|q| blocking(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let refuse = |entry: &PatternEntry| {
        let by = match entry.of_organisation {
            true => "organisation",
            false => "cluster",
        };
        let facts = [("pattern", entry.pattern.text().into()), ("by", by.into())];
        Verdict::refuse(BLOCKED_VERSION.because(facts))
    };
    blocking(q).map(refuse).into_iter().collect()
}

fn blocking<'a>(q: &StartQuestion<'a>) -> Option<&'a PatternEntry> {
    let version = q.candidate?.version;
    let patterns = q.class.patterns.iter();
    patterns
        .map(|pattern| &q.roster.patterns[*pattern])
        .find(|entry| entry.blocks[version])
}

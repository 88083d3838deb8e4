//! Source stale: a source has not been read for so long that nothing is recommended by it any more.
//!
//! What is missing from an old copy may be a block. Releases stay to be seen; every edge waits, for everybody, until a good copy arrives.

use super::Rule;
use crate::domain::{Edge, Reason, Situation, Verdict};

/// Makes everybody wait while a source is too old.
pub struct SourceStale;

impl Rule for SourceStale {
    fn judge(&self, _: Edge, at: &Situation<'_>) -> Verdict {
        let reason = |stale: &crate::domain::StaleSource| Reason::SourceStale {
            source: stale.source.clone(),
            last_good: stale.last_good,
        };
        at.graph
            .stale()
            .iter()
            .map(|stale| Verdict::wait(reason(stale)))
            .collect()
    }
}

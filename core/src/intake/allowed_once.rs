//! A person's one-time permission: it expires, and covers exactly the copy that was refused, if
//! there was one.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::CopyObjection;

/// However often a source is read, what is allowed holds for this long.
const AT_LEAST: SignedDuration = SignedDuration::from_mins(10);

/// Allowed once, for one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedOnce {
    allowed: BTreeSet<CopyObjection>,
    /// The digest of the copy that was refused; none: any copy.
    refused: Option<String>,
    until: Timestamp,
}

impl AllowedOnce {
    /// Allowed now, for a source that is read so often, whose copy of that digest was refused.
    pub fn new(
        allowed: &[CopyObjection],
        refused: Option<&str>,
        every: SignedDuration,
        now: Timestamp,
    ) -> Self {
        let until = now
            .saturating_add(every.max(AT_LEAST))
            .unwrap_or(Timestamp::MAX);
        Self {
            allowed: allowed.iter().copied().collect(),
            refused: refused.map(str::to_owned),
            until,
        }
    }

    /// What a copy of that digest is allowed now.
    pub fn of(&self, digest: &str, now: Timestamp) -> BTreeSet<CopyObjection> {
        let is_meant = self
            .refused
            .as_deref()
            .is_none_or(|refused| refused == digest);
        match (is_meant, now < self.until) {
            (true, true) => self.allowed.clone(),
            _ => BTreeSet::new(),
        }
    }
}

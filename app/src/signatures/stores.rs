//! A configured signature store, and its health.

use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::finding::Finding;
use towpath_sources::{SignatureStore, StoreAccess};
use towpath_web::{SourceProblem, StoreHealth};

/// A store, and what was heard of it last.
#[derive(Debug)]
pub(super) struct ConfiguredStore {
    name: Arc<str>,
    place: SignatureStore,
    last_success: Option<Timestamp>,
    problem: Option<SourceProblem>,
}

/// What was heard of a store in a round.
#[derive(Debug)]
pub(super) enum StoreReport {
    /// It answered whatever it was asked.
    All,
    /// Nobody had anything to ask.
    Unasked,
    /// It answered, but not always.
    Some(Finding),
    /// It never answered.
    Nothing(Finding),
}

impl ConfiguredStore {
    /// The store of that number, from 0.
    pub(super) fn open(
        number: usize,
        location: &str,
        access: &StoreAccess,
    ) -> Result<Self, Finding> {
        let name = if number == 0 {
            "signatures".to_owned()
        } else {
            format!("signatures-{}", number + 1)
        };
        let place = SignatureStore::open(location, access)?;
        Ok(Self {
            name: name.into(),
            place,
            last_success: None,
            problem: None,
        })
    }

    pub(super) fn place(&self) -> &SignatureStore {
        &self.place
    }

    /// Takes in what was heard of it.
    pub(super) fn heard(&mut self, heard: StoreReport, now: Timestamp) {
        let since = self.problem.as_ref().map_or(now, |before| before.since);
        let problem = |finding: Finding| {
            Some(SourceProblem {
                since,
                findings: vec![finding],
            })
        };
        (self.last_success, self.problem) = match heard {
            StoreReport::Unasked => return,
            StoreReport::All => (Some(now), None),
            StoreReport::Some(finding) => (Some(now), problem(finding)),
            StoreReport::Nothing(finding) => (self.last_success, problem(finding)),
        };
    }

    pub(super) fn health(&self) -> StoreHealth {
        StoreHealth {
            name: self.name.clone(),
            location: self.place.name(),
            last_success: self.last_success,
            problem: self.problem.clone(),
        }
    }
}

//! The question that a fleet rule answers.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{Candidate, Class, ClusterEntry, ClusterIdx, Roster};
use crate::fleet::Name;
use crate::fleet::accepted_risk::{in_force, is_fixed_among};
use crate::version::Version;

/// May this cluster start, and go to this version, now?
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartQuestion<'a> {
    pub(crate) roster: &'a Roster,
    pub(crate) number: ClusterIdx,
    pub(crate) member: &'a ClusterEntry,
    pub(crate) class: &'a Class,
    /// The version; none where only the cluster is asked about.
    pub(crate) candidate: Option<&'a Candidate>,
    pub(crate) now: Timestamp,
}

impl<'a> StartQuestion<'a> {
    pub(crate) fn new(roster: &'a Roster, number: ClusterIdx, now: Timestamp) -> Self {
        Self {
            roster,
            number,
            member: roster.member(number),
            class: roster.class_of(number),
            candidate: None,
            now,
        }
    }

    /// The names of the risks that the policy accepts on the way to a version, now.
    pub(crate) fn accepted_risks(&self, to: &Version) -> BTreeSet<Name> {
        let is_fixed = |risk: &str| is_fixed_among(&self.member.state.offers, to, risk);
        in_force(&self.class.policy.accepted_risks, is_fixed, self.now)
    }

    /// The same about a version.
    pub(crate) fn about(&self, candidate: &'a Candidate) -> Self {
        Self {
            candidate: Some(candidate),
            ..*self
        }
    }
}

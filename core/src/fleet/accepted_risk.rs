//! Accepted risks: known risks of updates that somebody takes all the same, with a reason and an
//! end.
//!
//! `until: fixed` is judged by the data. The acceptance counts for a release while no higher
//! release of the same minor version, without the risk, is offered to the cluster.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{Name, Offer};
use crate::version::{Minor, Version};

/// A risk that somebody has accepted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AcceptedRisk {
    /// The risk's name in the graph.
    pub name: Name,
    /// For people. None in the short form, which is a name alone.
    pub reason: Option<Name>,
    pub owner: Option<Name>,
    pub until: RiskEnd,
}

/// When an acceptance ends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RiskEnd {
    /// Nobody has said when.
    Open,
    /// It counts before this time.
    At(Timestamp),
    /// Once the cluster is offered a release without the risk.
    Fixed,
}

impl AcceptedRisk {
    /// The short form: a name, without an end.
    pub fn named(name: Name) -> Self {
        Self {
            name,
            reason: None,
            owner: None,
            until: RiskEnd::Open,
        }
    }

    /// When it ends by itself, if it has a date.
    pub fn ends(&self) -> Option<Timestamp> {
        match self.until {
            RiskEnd::At(end) => Some(end),
            RiskEnd::Open | RiskEnd::Fixed => None,
        }
    }
}

/// The names that count now. `is_fixed` says whether the cluster could take a release without the risk instead.
pub fn in_force<'a>(
    accepted: impl IntoIterator<Item = &'a AcceptedRisk>,
    is_fixed: impl Fn(&str) -> bool,
    now: Timestamp,
) -> BTreeSet<Name> {
    let counts = |risk: &&AcceptedRisk| match risk.until {
        RiskEnd::Open => true,
        RiskEnd::At(end) => now < end,
        RiskEnd::Fixed => !is_fixed(&risk.name),
    };
    let names = accepted.into_iter().filter(counts);
    names.map(|risk| risk.name.clone()).collect()
}

/// Whether a release is what `until: fixed` waits for: higher than the affected one, and of its minor version.
pub fn may_fix(affected: &Version, other: &Version) -> bool {
    other > affected && Minor::of(other) == Minor::of(affected)
}

/// Whether these offers of the graph have a release that fixes the risk of `affected`. What is held for another reason than risks
/// fixes nothing: the cluster cannot take it.
pub(crate) fn is_fixed_among(offers: &[Offer], affected: &Version, risk: &str) -> bool {
    let is_free = |offer: &Offer| match &offer.objection {
        None => true,
        Some(objection) => !objection.risks.is_empty() && !objection.risks.contains(risk),
    };
    let mut offers = offers.iter();
    offers.any(|offer| may_fix(affected, &offer.version) && is_free(offer))
}

//! May a new copy of a source take the place of the last good one?
//!
//! An emptied registry must not empty the graph, and a branch that was pushed back must not bring back what was blocked since. What is refused here can
//! be right all the same: then a person allows it by name.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::{Measure, Summary, payload_changed};
use crate::finding::{Finding, Place};

/// Fewer of something than this may go at once, whatever share of all they are: small data changes by leaps.
const FEW: usize = 5;

/// What can be against a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Objection {
    /// Nothing is left of what there was.
    Empty,
    /// Much less is left.
    Shrink,
    /// It is older than the copy before.
    Back,
    /// A release that both know has another payload.
    Payload,
}

/// What a person has allowed for one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowances {
    /// The share that may go at once, in percent.
    pub max_shrink_percent: u8,
    /// What is not objected to.
    pub allowed: BTreeSet<Objection>,
}

impl Objection {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Empty, Self::Shrink, Self::Back, Self::Payload];

    /// The word by which it is allowed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Shrink => "shrink",
            Self::Back => "back",
            Self::Payload => "payload",
        }
    }

    /// The objection of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|objection| objection.name() == name)
    }

    fn code(self) -> &'static str {
        match self {
            Self::Empty => "turned-empty",
            Self::Shrink => "shrinks",
            Self::Back => "back-in-time",
            Self::Payload => "payload-changed",
        }
    }
}

/// Everything that is against taking `next` after `previous`, and has not been allowed.
pub fn objections(source: &str, previous: &Summary, next: &Summary, allow: &Allowances) -> Vec<Finding> {
    let of_counts = previous.counts.iter().filter_map(|(measure, before)| {
        let after = next.counts.get(measure).copied().unwrap_or(0);
        lost(*measure, *before, after, allow.max_shrink_percent)
    });
    let changed = payload_changed(&previous.payloads, &next.payloads).map(|problem| (Objection::Payload, problem));
    let all = of_counts.chain(older(previous, next)).chain(changed);
    let held = all.filter(|(objection, _)| !allow.allowed.contains(objection));
    held.map(|(objection, problem)| finding(source, objection, problem)).collect()
}

fn lost(measure: Measure, before: usize, after: usize, max_shrink_percent: u8) -> Option<(Objection, String)> {
    let (gone, noun) = (before.saturating_sub(after), measure.noun());
    let too_many = gone > FEW && gone * 100 > before * usize::from(max_shrink_percent);
    match (gone > 0 && after == 0 && measure.is_needed(), too_many) {
        (true, _) => Some((Objection::Empty, format!("there are no {noun} any more; there were {before}"))),
        (false, true) => {
            let problem = format!("{gone} of {before} {noun} are gone; at most {max_shrink_percent} % may go at once");
            Some((Objection::Shrink, problem))
        }
        (false, false) => None,
    }
}

/// Clocks of people who commit differ; a copy that seems to be older by less is not taken for a step back.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_hours(6);

fn older(previous: &Summary, next: &Summary) -> Option<(Objection, String)> {
    let is_older = |(before, after): &(Timestamp, Timestamp)| before.duration_since(*after) > CLOCK_SKEW;
    let made = previous.made_at.zip(next.made_at).filter(is_older);
    let newest = previous.newest.as_ref().zip(next.newest.as_ref()).filter(|(before, after)| after < before);
    let problem = match (made, newest) {
        (Some((before, after)), _) => format!("it was made at {after}, and the copy before at {before}"),
        (None, Some((before, after))) => format!("its newest release is {after}, and was {before}"),
        (None, None) => return None,
    };
    Some((Objection::Back, problem))
}

fn finding(source: &str, objection: Objection, problem: String) -> Finding {
    let name = objection.name();
    let remedy = format!(
        "the copy before stays in use; if this is meant, allow it once with POST /api/v1/reload \
         {{\"source\":\"{source}\",\"allow\":[\"{name}\"]}}, or always with --allow {name}:{source}"
    );
    Finding::error(objection.code(), Place::file(source), problem, remedy)
}

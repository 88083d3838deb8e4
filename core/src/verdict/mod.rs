//! Verdicts: an answer, and every reason for it.
//!
//! `and` joins two verdicts: the stricter answer wins, the reasons unite. It is commutative,
//! associative and idempotent, so the order of rules can never change an answer.

mod catalogue;
mod code;
mod reason;
mod value;

use std::collections::BTreeSet;

use jiff::Timestamp;

pub use catalogue::{Chapter, catalogue, code_named};
pub use code::Code;
pub use reason::Reason;
pub use value::{Days, Value};

use crate::graph::RiskId;

/// What is said about an edge, from least to most strict.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    Recommend,
    /// Take it unless one of these risks applies.
    RecommendUnless(BTreeSet<RiskId>),
    Wait {
        /// Until then, if nothing else changes; `None` if nobody can say.
        until: Option<Timestamp>,
    },
    Refuse,
}

/// An answer and its reasons.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Verdict {
    pub answer: Answer,
    /// Why, from every rule that had something to say.
    pub reasons: BTreeSet<Reason>,
}

impl Answer {
    /// The stricter of two answers; of two that are alike, what holds for both.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::RecommendUnless(mut a), Self::RecommendUnless(b)) => {
                a.extend(b);
                Self::RecommendUnless(a)
            }
            (Self::Wait { until: a }, Self::Wait { until: b }) => Self::Wait {
                until: a.zip(b).map(|(a, b)| a.max(b)),
            },
            (a, b) if a.strictness() >= b.strictness() => a,
            (_, b) => b,
        }
    }

    /// The answer in one word, the same everywhere.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Recommend => "yes",
            Self::RecommendUnless(_) => "unless",
            Self::Wait { .. } => "wait",
            Self::Refuse => "no",
        }
    }

    /// When it becomes another by itself, if that is known.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Wait { until } => *until,
            Self::Recommend | Self::RecommendUnless(_) | Self::Refuse => None,
        }
    }

    /// The earliest instant at which it is a yes while nothing else changes: now, later, or never.
    pub fn offered_from(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Recommend | Self::RecommendUnless(_) => Some(now),
            Self::Wait { until } => *until,
            Self::Refuse => None,
        }
    }

    fn strictness(&self) -> u8 {
        match self {
            Self::Recommend => 0,
            Self::RecommendUnless(_) => 1,
            Self::Wait { .. } => 2,
            Self::Refuse => 3,
        }
    }
}

impl Verdict {
    /// Nothing stands in the way.
    pub fn recommend() -> Self {
        Self {
            answer: Answer::Recommend,
            reasons: BTreeSet::new(),
        }
    }

    /// The client has a risk to weigh.
    pub fn recommend_unless(risk: RiskId, reason: Reason) -> Self {
        Self {
            answer: Answer::RecommendUnless([risk].into()),
            reasons: [reason].into(),
        }
    }

    /// Not now; until the reason ends, if anybody can say when that is.
    pub fn wait(reason: Reason) -> Self {
        Self {
            answer: Answer::Wait {
                until: reason.ends(),
            },
            reasons: [reason].into(),
        }
    }

    /// Take it, and know this.
    pub fn inform(reason: Reason) -> Self {
        debug_assert!(reason.code().is_note, "{reason} objects to something");
        Self {
            answer: Answer::Recommend,
            reasons: [reason].into(),
        }
    }

    pub fn refuse(reason: Reason) -> Self {
        Self {
            answer: Answer::Refuse,
            reasons: [reason].into(),
        }
    }

    pub fn and(mut self, other: Self) -> Self {
        self.answer = self.answer.and(other.answer);
        self.reasons.extend(other.reasons);
        self
    }

    /// The reasons that object to it. Notes only inform.
    pub fn objections(&self) -> impl Iterator<Item = &Reason> {
        self.reasons.iter().filter(|reason| !reason.code().is_note)
    }

    /// Whether a client is shown the edge at all, maybe with risks to weigh.
    pub fn is_offered(&self) -> bool {
        matches!(self.answer, Answer::Recommend | Answer::RecommendUnless(_))
    }
}

impl FromIterator<Verdict> for Verdict {
    fn from_iter<I: IntoIterator<Item = Verdict>>(verdicts: I) -> Self {
        verdicts.into_iter().fold(Self::recommend(), Self::and)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Place;
    use proptest::prelude::*;

    static STOPPED: Code = Code::new("Stopped", "stopped", "start it");

    fn any_verdict() -> impl Strategy<Value = Verdict> {
        let answer = prop_oneof![
            Just(Answer::Recommend),
            proptest::collection::btree_set((0u32..5).prop_map(RiskId), 0..4)
                .prop_map(Answer::RecommendUnless),
            proptest::option::of((0i64..5).prop_map(|s| Timestamp::from_second(s).unwrap()))
                .prop_map(|until| Answer::Wait { until }),
            Just(Answer::Refuse),
        ];
        let reasons = proptest::collection::btree_set(
            "[ab]".prop_map(|file| STOPPED.alone().at(&Place::file(file))),
            0..3,
        );
        (answer, reasons).prop_map(|(answer, reasons)| Verdict { answer, reasons })
    }

    proptest! {
        #[test]
        fn and_is_commutative_associative_idempotent(a in any_verdict(), b in any_verdict(), c in any_verdict()) {
            prop_assert_eq!(a.clone().and(b.clone()), b.clone().and(a.clone()));
            prop_assert_eq!(a.clone().and(b.clone()).and(c.clone()), a.clone().and(b.clone().and(c)));
            prop_assert_eq!(a.clone().and(a.clone()), a.clone());
            prop_assert_eq!(Verdict::recommend().and(a.clone()), a);
        }

        #[test]
        fn and_never_loosens(a in any_verdict(), b in any_verdict()) {
            let both = a.clone().and(b.clone());
            prop_assert!(both.answer.strictness() >= a.answer.strictness().max(b.answer.strictness()));
            prop_assert!(both.reasons.is_superset(&a.reasons) && both.reasons.is_superset(&b.reasons));
        }
    }
}

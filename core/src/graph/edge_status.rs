//! What an edge is for one client, in one word: how it is drawn, and what the legend says.
//!
//! A kind is read off the verdict that the rules gave. Nothing is judged here. A wait or a refusal
//! that no row names is [`Held`](EdgeStatus::Held) or [`Blocked`](EdgeStatus::Blocked).

use super::rules::{
    CHANNEL_ENTRY, EDGE_SKIPS_MINOR, HALTS, HARD_BLOCKS, HELD_ROLLOUT, NO_EDGE, NOT_IN_CHANNEL,
    OLDER, PHASED_ROLLOUT, RISKS_NOT_SERVABLE, SKIPS_MINOR, SOURCE_STALE, TARGETED_BLOCKS,
    UNKNOWN_RELEASE,
};
use crate::rules::Rule;
use crate::verdict::{Answer, Code, Verdict};

/// In the order of the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeStatus {
    Offered,
    Conditional,
    /// The graph offers it, and clusters refuse it.
    Skipped,
    Phasing,
    Entering,
    Held,
    Stale,
    NotForPlatform,
    Blocked,
    NotInChannel,
    NoEdge,
}

impl EdgeStatus {
    pub const ALL: [Self; 11] = [
        Self::Offered,
        Self::Conditional,
        Self::Skipped,
        Self::Phasing,
        Self::Entering,
        Self::Held,
        Self::Stale,
        Self::NotForPlatform,
        Self::Blocked,
        Self::NotInChannel,
        Self::NoEdge,
    ];

    pub fn of(verdict: &Verdict) -> Self {
        let says = |codes: &[&'static Code]| {
            let mut reasons = verdict.reasons.iter();
            reasons.any(|reason| codes.iter().any(|code| reason.is(code)))
        };
        match &verdict.answer {
            Answer::Recommend | Answer::RecommendUnless(_) if says(&[&EDGE_SKIPS_MINOR]) => {
                Self::Skipped
            }
            Answer::Recommend => Self::Offered,
            Answer::RecommendUnless(_) => Self::Conditional,
            Answer::Wait { .. } => waiting(&says),
            Answer::Refuse => refused(&says),
        }
    }

    /// The stable name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Conditional => "conditional",
            Self::Skipped => "skipped",
            Self::Phasing => "phasing",
            Self::Entering => "entering",
            Self::Held => "held",
            Self::Stale => "stale",
            Self::NotForPlatform => "notForPlatform",
            Self::Blocked => "blocked",
            Self::NotInChannel => "notInChannel",
            Self::NoEdge => "noEdge",
        }
    }

    /// The words of the legend.
    pub fn text(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Conditional => "offered, with risks that the cluster weighs",
            Self::Skipped => "offered, but clusters refuse to leave out a minor version",
            Self::Phasing => "phasing in: the rollout has not reached this cluster",
            Self::Entering => "a release enters the channel later",
            Self::Held => "held, by the fleet's policy or by graph data",
            Self::Stale => "nothing is offered while a source is too old",
            Self::NotForPlatform => "blocked for this cluster's platform",
            Self::Blocked => "blocked for every cluster",
            Self::NotInChannel => "not in the channel",
            Self::NoEdge => "no such update",
        }
    }
}

type Says<'a> = dyn Fn(&[&'static Code]) -> bool + 'a;

/// Of several reasons to wait, the one that nobody knows the end of comes first.
fn waiting(says: &Says<'_>) -> EdgeStatus {
    let kinds = [
        (SOURCE_STALE.codes(), EdgeStatus::Stale),
        (super::rules::Managed::CODES.to_vec(), EdgeStatus::Held),
        (super::rules::Enrolled::CODES.to_vec(), EdgeStatus::Held),
        (HELD_ROLLOUT.codes(), EdgeStatus::Held),
        (CHANNEL_ENTRY.codes(), EdgeStatus::Entering),
        (PHASED_ROLLOUT.codes(), EdgeStatus::Phasing),
    ];
    first(says, kinds).unwrap_or(EdgeStatus::Held)
}

/// Of several reasons to refuse, the one that holds for most clusters comes first.
fn refused(says: &Says<'_>) -> EdgeStatus {
    let kinds = [
        (vec![&NO_EDGE, &OLDER, &UNKNOWN_RELEASE], EdgeStatus::NoEdge),
        (vec![&SKIPS_MINOR], EdgeStatus::Skipped),
        (vec![&NOT_IN_CHANNEL], EdgeStatus::NotInChannel),
        (HARD_BLOCKS.codes(), EdgeStatus::Blocked),
        (HALTS.codes(), EdgeStatus::Blocked),
        (RISKS_NOT_SERVABLE.codes(), EdgeStatus::Blocked),
        (TARGETED_BLOCKS.codes(), EdgeStatus::NotForPlatform),
    ];
    first(says, kinds).unwrap_or(EdgeStatus::Blocked)
}

fn first<const N: usize>(
    says: &Says<'_>,
    kinds: [(Vec<&'static Code>, EdgeStatus); N],
) -> Option<EdgeStatus> {
    let mut kinds = kinds.into_iter();
    kinds.find(|(codes, _)| says(codes)).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::RiskId;
    use crate::graph::rules::{FLEET_HOLDS, KNOWN_RISK};

    #[test]
    fn a_kind_is_that_of_the_strictest_answer() {
        let alone = |code: &'static Code| code.because([]);
        let wait = |code| Verdict::wait(alone(code));
        let refuse = |code| Verdict::refuse(alone(code));
        let risk = || Verdict::recommend_unless(RiskId(0), alone(&KNOWN_RISK));
        let skips = || Verdict::inform(alone(&EDGE_SKIPS_MINOR));
        let [rollout, ..] = PHASED_ROLLOUT.codes()[..] else {
            panic!("its codes");
        };
        let [stale, ..] = SOURCE_STALE.codes()[..] else {
            panic!("its codes");
        };
        let (hard, platform) = (HARD_BLOCKS.codes()[0], TARGETED_BLOCKS.codes()[0]);
        for (verdict, kind) in [
            (Verdict::recommend(), EdgeStatus::Offered),
            (risk(), EdgeStatus::Conditional),
            (risk().and(skips()), EdgeStatus::Skipped),
            (risk().and(wait(rollout)), EdgeStatus::Phasing),
            (wait(rollout).and(wait(stale)), EdgeStatus::Stale),
            (wait(rollout).and(wait(&FLEET_HOLDS)), EdgeStatus::Held),
            (
                refuse(platform).and(wait(stale)),
                EdgeStatus::NotForPlatform,
            ),
            (refuse(platform).and(refuse(hard)), EdgeStatus::Blocked),
            (
                refuse(hard).and(refuse(&NOT_IN_CHANNEL)),
                EdgeStatus::NotInChannel,
            ),
            (
                refuse(&NO_EDGE).and(refuse(&NOT_IN_CHANNEL)),
                EdgeStatus::NoEdge,
            ),
            (refuse(&SKIPS_MINOR), EdgeStatus::Skipped),
        ] {
            assert_eq!(EdgeStatus::of(&verdict), kind, "{verdict:?}");
        }
    }

    #[test]
    fn names_and_words_are_all_different() {
        let all = |word: fn(EdgeStatus) -> &'static str| {
            let words: std::collections::BTreeSet<_> = EdgeStatus::ALL.map(word).into();
            words.len()
        };
        assert_eq!((all(EdgeStatus::name), all(EdgeStatus::text)), (11, 11));
        assert!(EdgeStatus::ALL.is_sorted());
    }
}

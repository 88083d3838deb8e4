//! The part of the fleet that a rollout has reached, as an arc of the circle of positions.
//!
//! A release rotates the circle, so the same share of two releases is not the same clusters.
//! Whether any cluster loses an edge is a question about two arcs. Integers answer it.

use jiff::Timestamp;

use crate::graph::{Share, Window};

/// The clusters that a window has let through: those whose own number lies on this arc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RolloutArc {
    /// The first number on it.
    begin: u64,
    pub(super) share: Share,
}

impl RolloutArc {
    pub(super) const NOBODY: Self = Self {
        begin: 0,
        share: Share::NONE,
    };

    /// The clusters that a window has let through to a release of that rotation.
    pub(super) fn of(window: &Window, rotation: u64, now: Timestamp) -> Self {
        Self {
            begin: rotation.wrapping_neg(),
            share: window.share(now),
        }
    }

    /// All of it, or nobody.
    pub(super) fn only_if(self, open: bool) -> Self {
        if open { self } else { Self::NOBODY }
    }

    /// The share that is in this one and not in the other.
    pub(super) fn without(self, other: Self) -> Share {
        Share(self.share.0 - self.overlap(other))
    }

    /// How much both have in common. The other arc is looked at from the beginning of this one; it may come round.
    fn overlap(self, other: Self) -> u128 {
        let own = self.share.0;
        let begin = u128::from(other.begin.wrapping_sub(self.begin));
        let end = begin + other.share.0;
        let ahead = end.min(own).saturating_sub(begin);
        let come_round = end.saturating_sub(Share::WHOLE.0).min(own);
        ahead + come_round
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn on(arc: RolloutArc, number: u64) -> bool {
        u128::from(number.wrapping_sub(arc.begin)) < arc.share.0
    }

    /// The ends of arcs, and numbers beside them: nothing can differ elsewhere only.
    fn telling(arcs: [RolloutArc; 2]) -> impl Iterator<Item = u64> {
        let end = |arc: RolloutArc| arc.begin.wrapping_add(arc.share.0 as u64);
        let ends = arcs.into_iter().flat_map(move |arc| [arc.begin, end(arc)]);
        ends.flat_map(|number| [number.wrapping_sub(1), number, number.wrapping_add(1)])
    }

    fn any_arc() -> impl Strategy<Value = RolloutArc> {
        let begin = prop_oneof![any::<u64>(), 0u64..4, Just(u64::MAX)];
        let share = prop_oneof![
            0..=Share::WHOLE.0,
            0u128..4,
            Just(Share::WHOLE.0),
            Just(Share::WHOLE.0 - 1)
        ];
        (begin, share).prop_map(|(begin, share)| RolloutArc {
            begin,
            share: Share(share),
        })
    }

    proptest! {
        #[test]
        fn somebody_is_left_out_exactly_if_some_number_is(a in any_arc(), b in any_arc()) {
            let left_out = telling([a, b]).any(|number| on(a, number) && !on(b, number));
            prop_assert_eq!(a.without(b) > Share::NONE, left_out);
        }

        #[test]
        fn what_two_arcs_share_is_the_same_from_both(a in any_arc(), b in any_arc()) {
            prop_assert_eq!(a.overlap(b), b.overlap(a));
            prop_assert_eq!(a.overlap(a), a.share.0);
        }
    }

    #[test]
    fn an_arc_may_come_round() {
        let quarter = 1u64 << 62;
        let a = RolloutArc {
            begin: 0,
            share: Share(1 << 63),
        };
        let b = RolloutArc {
            begin: quarter.wrapping_mul(3),
            share: Share(1 << 63),
        };
        assert_eq!(a.without(b), Share(1 << 62));
        assert_eq!(a.without(RolloutArc::NOBODY), a.share);
        assert_eq!(
            a.without(RolloutArc {
                begin: 7,
                share: Share::WHOLE
            }),
            Share::NONE
        );
    }
}

//! Which scopes pass, and which of those a halt is for.
//!
//! Scopes pass by e-BH with weights: where k pass together, each needs only a kth of the evidence. Wide and narrow scopes hold the
//! same failures, so several usually pass at once. A narrower one is chosen if it explains the failures much better than all
//! clusters do: the good endings elsewhere speak for it.

use super::Bits;

/// A narrower scope must have so much more evidence than a wider one.
const CLEARLY: Bits = Bits::of_units(3 << 32);

/// The scopes that pass, by their weighted evidence; `needed` is for one alone.
pub(super) fn passing(weighted: &[Bits], needed: Bits) -> Vec<usize> {
    let mut order: Vec<(Bits, usize)> = weighted.iter().copied().zip(0..).collect();
    order.sort_by(|a, b| b.cmp(a));
    let is_enough = |(rank, (evidence, _)): &(usize, &(Bits, usize))| {
        *evidence >= needed - Bits::of_ratio(*rank as u64 + 1, 1)
    };
    let mut ranks = order.iter().enumerate();
    let count = ranks.rfind(is_enough).map_or(0, |(rank, _)| rank + 1);
    let mut passing: Vec<usize> = order[..count].iter().map(|(_, scope)| *scope).collect();
    passing.sort_unstable();
    passing
}

/// The scope that explains best what was seen; the first is all clusters.
pub(super) fn best(passing: &[(usize, Bits)]) -> Option<(usize, Bits)> {
    let rank = |(scope, evidence): &(usize, Bits)| match scope {
        0 => *evidence,
        _ => *evidence - CLEARLY,
    };
    // Of equals, the first.
    passing.iter().rev().max_by_key(|one| rank(one)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(all: &[i64]) -> Vec<Bits> {
        all.iter().map(|n| Bits::ONE.times(*n as u64)).collect()
    }

    #[test]
    fn several_together_need_less_than_one_alone() {
        let needed = Bits::ONE.times(10);
        assert_eq!(passing(&bits(&[9, 3, 2]), needed), [0; 0]);
        assert_eq!(passing(&bits(&[9, 3, 9]), needed), [0, 2]);
        assert_eq!(passing(&bits(&[8, 8, 8, 8, 7]), needed), [0, 1, 2, 3]);
        assert_eq!(passing(&bits(&[1, 10]), needed), [1]);
    }

    #[test]
    fn all_clusters_unless_a_part_of_them_explains_it_much_better() {
        let with =
            |all: &[i64]| best(&(0..).zip(bits(all)).collect::<Vec<_>>()).map(|(scope, _)| scope);
        assert_eq!(with(&[20, 22]), Some(0));
        assert_eq!(with(&[20, 23]), Some(0));
        assert_eq!(with(&[20, 24]), Some(1));
        assert_eq!(with(&[20, 24, 24]), Some(1));
        assert_eq!(with(&[]), None);
    }
}

//! The best paths, one after the other (Yen's search). No path visits a release twice.
//!
//! The next best path leaves a known one somewhere. For each place where it could, the search
//! looks for the best way on that no known path takes.

use std::collections::BTreeSet;

use super::search::{BarredSteps, Cost, Search};

/// At most this many paths, the best first.
pub(super) fn best_ways(search: &Search<'_>, start: u32, count: usize) -> Vec<Vec<u32>> {
    let mut found: Vec<Vec<u32>> = search
        .best(&[start], &BarredSteps::default())
        .into_iter()
        .collect();
    let mut candidates: BTreeSet<(Cost, Vec<u32>)> = BTreeSet::new();
    while let Some(last) = found.last().filter(|_| found.len() < count) {
        for end in 1..last.len() {
            let begun = &last[..end];
            let same = found
                .iter()
                .filter(|way| way.len() > end && way[..end] == *begun);
            let next = same.map(|way| way[end]).collect();
            let barred = BarredSteps {
                releases: begun[..end - 1].iter().copied().collect(),
                next,
            };
            candidates.extend(
                search
                    .best(begun, &barred)
                    .map(|way| (search.cost(&way), way)),
            );
        }
        match candidates.pop_first() {
            Some((_, way)) => found.push(way),
            None => break,
        }
    }
    found
}

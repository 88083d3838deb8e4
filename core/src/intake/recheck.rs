//! Which tags of a repository to resolve again, and which to trust from the last round.
//!
//! By custom, a tag that names a version does not move. Resolving thousands of them takes longer
//! than the rest of a scrape. So each round resolves the quarter that has waited longest, and
//! every tag has its turn within four rounds. Other tags (`latest`) move, and are resolved every
//! time.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::version::Version;

/// Every tag is resolved at least once in this many rounds.
pub const RECHECK_ROUNDS: u32 = 4;

/// How much of what is known is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recheck {
    /// Tags that name versions in turn, others always.
    #[default]
    InTurn,
    All,
}

/// The tags that are to be asked in this round. `rounds_unasked` says for how many rounds a tag has not been asked; none: nothing is known of it.
pub fn due<'a>(
    tags: impl IntoIterator<Item = &'a str>,
    rounds_unasked: impl Fn(&str) -> Option<u32>,
    recheck: Recheck,
) -> BTreeSet<&'a str> {
    let (mut due, mut in_turn) = (BTreeSet::new(), Vec::new());
    for tag in tags {
        match (
            recheck,
            rounds_unasked(tag).filter(|_| names_a_version(tag)),
        ) {
            (Recheck::InTurn, Some(rounds)) => in_turn.push((Reverse(rounds), tag)),
            (Recheck::All, _) | (_, None) => _ = due.insert(tag),
        }
    }
    in_turn.sort_unstable();
    // However many come and go, nobody waits longer than that.
    let is_last_chance =
        |(Reverse(rounds), _): &&(Reverse<u32>, &str)| *rounds >= RECHECK_ROUNDS - 1;
    let quarter = in_turn.len().div_ceil(RECHECK_ROUNDS as usize);
    let asked = quarter.max(in_turn.iter().take_while(is_last_chance).count());
    due.extend(in_turn.into_iter().take(asked).map(|(_, tag)| tag));
    due
}

/// `4.20.3`, `4.20.0-rc.1-x86_64`: a version, as far as the letters that tags may have allow it to be written.
fn names_a_version(tag: &str) -> bool {
    tag.replace('_', "-").parse::<Version>().is_ok()
}

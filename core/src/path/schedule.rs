//! From a path to a plan: which channel to be in at each hop.

use jiff::{SignedDuration, Timestamp};

use super::search::Lasts;
use super::search_space::SearchSpace;
use super::{Hop, Plan};

/// The plan for a way.
///
/// At each hop, those channels count in which it can be taken first. The cluster stays in its channel as long as that is one of
/// them; else it goes to the one in which it can stay longest, then to one that holds the goal, then to the first in order.
pub(super) fn plan(space: &SearchSpace<'_>, way: &[u32], lasts: &Lasts<'_>) -> Plan {
    let mut arrived = space.now;
    let mut choices: Vec<Vec<(usize, Timestamp)>> = Vec::new();
    for pair in way.windows(2) {
        let mut openings: Vec<(usize, Timestamp)> = space.openings(pair[0], pair[1]).collect();
        let taken = openings
            .iter()
            .map(|(_, opens)| arrived.max(*opens))
            .min()
            .unwrap_or(arrived);
        openings.retain(|(_, opens)| *opens <= taken);
        let lasting = lasts(space.id(pair[0]), space.id(pair[1]));
        arrived = later(taken, lasting.max(SignedDuration::ZERO));
        choices.push(openings);
    }
    let goal = way.last().copied().unwrap_or_default();
    let mut channel: Option<usize> = None;
    let mut hops = Vec::new();
    for (number, pair) in way.windows(2).enumerate() {
        let is_open =
            |channel: usize, hop: usize| choices[hop].iter().any(|(open, _)| *open == channel);
        let stays = channel.filter(|channel| is_open(*channel, number));
        let run = |channel: usize| {
            (number..choices.len())
                .take_while(|hop| is_open(channel, *hop))
                .count()
        };
        let worth = |channel: usize| {
            (
                run(channel),
                space.holds(channel, goal),
                std::cmp::Reverse(channel),
            )
        };
        let best = || {
            choices[number]
                .iter()
                .map(|(open, _)| *open)
                .max_by_key(|open| worth(*open))
        };
        channel = stays.or_else(best);
        let chosen = choices[number]
            .iter()
            .find(|(open, _)| Some(*open) == channel);
        hops.extend(
            chosen.map(|(channel, opens)| hop_in(space, pair[0], pair[1], *channel, *opens)),
        );
    }
    assert_eq!(
        hops.len() + 1,
        way.len(),
        "each step of a way is in a channel that holds both its ends"
    );
    Plan {
        from: space.id(way[0]),
        hops,
    }
}

fn hop_in(space: &SearchSpace<'_>, from: u32, to: u32, channel: usize, opens: Timestamp) -> Hop {
    let risks = space.risks_between(from, to);
    Hop {
        channel: space.channel(channel).name.clone(),
        from: space.id(from),
        to: space.id(to),
        risks,
        opens,
    }
}

/// A time after another, as far as there is one.
pub(super) fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

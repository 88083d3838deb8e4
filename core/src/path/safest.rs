//! The safest path: the fewest different risks, then the fewest hops.
//!
//! A risk that is already on the path costs nothing more, so risks do not add up like lengths. The
//! search keeps, for each release, every set of risks with which a path reaches it. It drops a set
//! if another one is a subset and needs no more hops. In general that can be a great many sets. In
//! update graphs it is a handful. Beyond [`MAX_LABELS`], the search counts risks at each hop
//! separately, takes the fewest, and says that there may be a safer path.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::search::{Certainty, FAR, Search, Until};
use super::search_space::SearchSpace;
use crate::graph::GraphStep;

/// How many sets are looked at.
pub(super) const MAX_LABELS: usize = 100_000;

/// Risks, told apart by their names as clients do, each by the lowest number that has its name.
pub(super) type Names = BTreeSet<u32>;

/// The best way from a release.
pub(super) fn safest(search: &Search<'_>, start: u32) -> Option<Vec<u32>> {
    let Some(sets) = fewest_risks(search, start) else {
        search.certainty.set(Certainty::SearchLimit);
        return fewest_risky_steps(search, start);
    };
    // Each of the best sets has a best way: the shortest that meets nothing else.
    let ways = sets.iter().filter_map(|set| {
        search.fewest_over(start, |_, step| {
            of(search.space, step).all(|name| set.contains(&name))
        })
    });
    ways.min_by_key(|way| search.cost(way))
}

/// The names of all risks on a way.
pub(super) fn names(space: &SearchSpace<'_>, way: &[u32]) -> Names {
    let steps = way
        .windows(2)
        .filter_map(|pair| space.step(pair[0], pair[1]));
    steps.flat_map(|step| of(space, step)).collect()
}

fn of<'g>(space: &'g SearchSpace<'_>, step: GraphStep) -> impl Iterator<Item = u32> + 'g {
    let graph = space.graph;
    // Risks are numbered by name, so those of one name stand together.
    let first = move |id: u32| {
        let same = |earlier: &u32| {
            graph.risk(crate::graph::RiskId(*earlier)).name
                == graph.risk(crate::graph::RiskId(id)).name
        };
        (0..id).rev().take_while(same).last().unwrap_or(id)
    };
    space.risks(step).iter().map(move |risk| first(risk.0))
}

/// All sets of risks with which one reaches the goal, of those that are the fewest over the fewest hops.
/// None: there are too many to look at.
fn fewest_risks(search: &Search<'_>, start: u32) -> Option<Vec<Names>> {
    let space = search.space;
    // Nobody goes where the goal cannot be reached from; and who is nearer to it is looked at first.
    let left = search.hops_to_goal(start, Until::Everywhere, |_, _| true);
    if left[start as usize] == FAR {
        return Some(Vec::new());
    }
    // By release, what is kept: risks, and the hops they take.
    let mut kept: Vec<Vec<(Names, u32)>> = vec![Vec::new(); space.count as usize];
    let mut waiting = BinaryHeap::from([Reverse((
        0,
        left[start as usize],
        0u32,
        start,
        Names::new(),
    ))]);
    kept[start as usize].push((Names::new(), 0));
    let (mut found, mut best): (Vec<Names>, Option<(usize, u32)>) = (Vec::new(), None);
    let mut labels = 0;
    while let Some(Reverse((count, in_all, hops, at, risks))) = waiting.pop() {
        if best.is_some_and(|best| best < (count, in_all)) {
            break;
        }
        if at == search.goal {
            best = Some((count, hops));
            found.push(risks);
            continue;
        }
        let stays = kept[at as usize]
            .iter()
            .any(|(set, over)| *over == hops && *set == risks);
        if !stays {
            continue;
        }
        let leads_on = |step: &&GraphStep| left[step.release as usize] != FAR;
        for step in space.out(at).iter().filter(leads_on) {
            space.budget.take(space.risks(*step).len());
            let mut more = risks.clone();
            more.extend(of(space, *step));
            let here = &mut kept[step.release as usize];
            // Each set that is kept there is compared with this one.
            search.space.budget.take(here.len());
            let better = |(set, over): &(Names, u32)| *over <= hops + 1 && set.is_subset(&more);
            if here.iter().any(better) {
                continue;
            }
            if labels == search.max_labels {
                return None;
            }
            here.retain(|(set, over)| !(hops < *over && more.is_subset(set)));
            here.push((more.clone(), hops + 1));
            labels += 1;
            let in_all = hops + 1 + left[step.release as usize];
            waiting.push(Reverse((more.len(), in_all, hops + 1, step.release, more)));
        }
    }
    Some(found)
}

/// The way on which risks, counted at each hop, are the fewest; then over the fewest hops, then the newest releases.
fn fewest_risky_steps(search: &Search<'_>, start: u32) -> Option<Vec<u32>> {
    let space = search.space;
    // For each release: risks and hops from here to the goal, and the next release.
    let mut best: Vec<Option<(usize, u32, Reverse<u32>)>> = vec![None; space.count as usize];
    let mut waiting = BinaryHeap::from([Reverse((0usize, 0u32, search.goal))]);
    best[search.goal as usize] = Some((0, 0, Reverse(search.goal)));
    while let Some(Reverse((risks, hops, to))) = waiting.pop() {
        if best[to as usize].is_some_and(|(fewer, shorter, _)| (fewer, shorter) < (risks, hops)) {
            continue;
        }
        for step in space.into(to) {
            let cost = (risks + space.risks(*step).len(), hops + 1, Reverse(to));
            let known = &mut best[step.release as usize];
            if known.is_none_or(|known| cost < known) {
                *known = Some(cost);
                waiting.push(Reverse((cost.0, cost.1, step.release)));
            }
        }
    }
    let mut way = vec![start];
    while *way.last()? != search.goal {
        let (_, _, Reverse(next)) = best[*way.last()? as usize]?;
        way.push(next);
    }
    Some(way)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::cluster::Fact;
    use crate::finding::Place;
    use crate::graph::{
        Block, ChannelName, ChannelSpec, DeclaredEdge, DeclaredRelease, Graph, GraphData,
        MatchingRule, Member, Pattern, Releases, Risk, Trust,
    };
    use crate::path::{Asker, Budget, Goal, Preference, Request, RiskPolicy, UncachedStepGraphs};
    use crate::version::{Arch, Minors, ReleaseName};

    /// From 4.9.0 to 4.9.3 through 4.9.1, with a risk at each of two hops; or through 4.9.2, with one.
    fn graph() -> Graph {
        let (place, name) = (Place::file("f"), |patch: u32| {
            ReleaseName::parse(&format!("4.9.{patch}")).unwrap()
        });
        let member = |patch| Member {
            name: name(patch),
            start: None,
            locked: false,
            held: false,
            replaces: None,
            origin: place.clone(),
        };
        let channel = ChannelSpec {
            name: ChannelName::new("stable-4.9").unwrap(),
            rings: Vec::new(),
            rollouts: Vec::new(),
            members: (0..4).map(member).collect(),
            origin: place.clone(),
        };
        let risk = |to, from: &str, risk: &str| Block {
            to: name(to),
            from: Pattern::new(from).unwrap(),
            stops: None,
            risk: Some(Risk {
                name: risk.into(),
                url: "https://example.com".into(),
                message: "m".into(),
                matching_rules: vec![MatchingRule::PromQl("x".into())],
            }),
            halt: None,
            origin: Place::file(risk),
        };
        let blocks = vec![
            risk(1, ".*", "A"),
            risk(3, "4[.]9[.]1", "B"),
            risk(3, "4[.]9[.]2", "C"),
        ];
        let release = |patch| DeclaredRelease {
            version: name(patch).version,
            arch: Arch::default(),
            payload: "p".into(),
            metadata: [].into(),
            declares: None,
            trust: Trust::Unverified,
        };
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3)].map(|(from, to)| DeclaredEdge {
            from,
            to,
            risks: None,
        });
        let releases = Releases {
            releases: (0..4).map(release).collect(),
            edges: edges.to_vec(),
        };
        Graph::build(
            GraphData {
                channels: vec![channel],
                blocks,
                metadata: Vec::new(),
            },
            releases,
        )
        .0
    }

    #[test]
    fn at_its_limit_the_search_finds_a_way_and_says_so() {
        let graph = graph();
        let request = Request {
            from: "4.9.0".parse().unwrap(),
            goal: Goal::Newest,
            via: vec![ChannelName::new("stable").unwrap()],
            risks: RiskPolicy::Unknown,
            prefer: Preference::Safest,
            ways: 1,
            asker: Asker {
                id: Fact::Unknown,
                platform: Fact::Unknown,
                groups: Fact::Unknown,
                arch: Arch::default(),
            },
            minors: Minors::default(),
            now: Timestamp::UNIX_EPOCH,
        };
        let channels: Vec<_> = graph.channels().values().collect();
        let budget = Budget::unlimited();
        let space = SearchSpace::new(
            &graph,
            &UncachedStepGraphs,
            &channels,
            &request.terms(),
            &budget,
        );
        let mut search = Search::new(&space, 3, Preference::Safest, &|_, _| {
            jiff::SignedDuration::from_mins(90)
        });
        for (limit, certainty) in [(MAX_LABELS, Certainty::Best), (1, Certainty::SearchLimit)] {
            search.max_labels = limit;
            assert_eq!(search.best(0), Some(vec![0, 2, 3]));
            assert_eq!(search.certainty.get(), certainty);
        }
    }
}

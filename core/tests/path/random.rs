//! Plans equal brute force, and every hop of a plan is offered when it is taken.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use towpath_core::graph::{
    ChannelName, Edge, Graph, ReleaseId, Risk, RiskId, Situation, recommend,
};
use towpath_core::path::*;
use towpath_core::rules::{Policy, Rule};
use towpath_core::verdict::Answer;
use towpath_core::version::{Minor, Version};

use towpath_testing_graphs::minors;
use towpath_testing_graphs::random::{CHANNELS, HOURS, any_cluster, any_graph, at};

/// What a way costs, told without the planner; and the way.
type Costed = (
    (i128, usize, usize, Vec<Reverse<ReleaseId>>),
    Vec<ReleaseId>,
);

/// Hops of different kinds take differently long, and some no time at all.
fn lasts(from: ReleaseId, to: ReleaseId) -> SignedDuration {
    SignedDuration::from_hours(i64::from((from.0 + 2 * to.0) % 4) * 7)
}

struct Brute<'a> {
    graph: &'a Graph,
    request: &'a Request,
    goal: ReleaseId,
}

impl Brute<'_> {
    /// When an edge opens first, and with which risks, if it may be taken at all.
    fn opening(&self, edge: &Edge) -> Option<(Timestamp, BTreeSet<&str>)> {
        let Request {
            asker,
            now,
            via,
            risks: policy,
            minors,
            ..
        } = self.request;
        let in_channel = |channel: &ChannelName| {
            let cluster = asker.in_channel(channel);
            let at = Situation {
                graph: self.graph,
                cluster: &cluster,
                now: *now,
            };
            let opens = match Policy::anywhere().judge(&at.about(*edge)).answer {
                Answer::Recommend | Answer::RecommendUnless(_) => *now,
                Answer::Wait { until } => until?,
                Answer::Refuse => return None,
            };
            let risks: BTreeSet<RiskId> = self
                .graph
                .blocks_on(*edge)
                .filter_map(|block| block.risk)
                .collect();
            let risks: Vec<&Risk> = risks.iter().map(|risk| self.graph.risk(*risk)).collect();
            let minor = |id: ReleaseId| Minor::of(&self.graph.release(id).version);
            let taken = risks.iter().all(|risk| policy.takes(risk))
                && minors.may_follow(minor(edge.from), minor(edge.to));
            taken.then(|| (opens, risks.iter().map(|risk| risk.name.as_str()).collect()))
        };
        via.iter().filter_map(in_channel).min()
    }

    /// Whether both have entered one of the channels.
    fn are_there(&self, ends: &[ReleaseId]) -> bool {
        let Request { via, now, .. } = self.request;
        let mut channels = via
            .iter()
            .filter_map(|name| self.graph.channel(name.as_str()));
        channels.any(|channel| {
            ends.iter().all(|end| {
                channel
                    .membership(*end)
                    .is_some_and(|place| place.start <= *now)
            })
        })
    }

    /// Every way that passes no release twice, from the best to the worst.
    fn ways(&self, from: ReleaseId) -> Vec<Costed> {
        let mut found = Vec::new();
        self.walk(
            &mut vec![from],
            self.request.now,
            &BTreeSet::new(),
            &mut found,
        );
        found.sort();
        found
    }

    fn walk(
        &self,
        way: &mut Vec<ReleaseId>,
        time: Timestamp,
        met: &BTreeSet<&str>,
        found: &mut Vec<Costed>,
    ) {
        let here = *way.last().unwrap();
        if here == self.goal {
            let first = match self.request.prefer {
                Preference::FewestHops => 0,
                Preference::Safest => met.len() as i128,
                Preference::Soonest => time.as_nanosecond(),
                // From 4.8 to 4.9 nobody waits for the next EUS version, so workers reboot with each hop.
                Preference::FewestReboots => way.len() as i128,
            };
            let waits = match self.request.prefer {
                Preference::FewestHops => {
                    usize::from(!way.windows(2).all(|ends| self.are_there(ends)))
                }
                Preference::Safest | Preference::Soonest | Preference::FewestReboots => 0,
            };
            found.push((
                (
                    first,
                    way.len(),
                    waits,
                    way.iter().copied().map(Reverse).collect(),
                ),
                way.clone(),
            ));
            return;
        }
        for edge in self.graph.edges_from(here) {
            let Some((opens, risks)) = self.opening(edge).filter(|_| !way.contains(&edge.to))
            else {
                continue;
            };
            way.push(edge.to);
            self.walk(
                way,
                time.max(opens) + lasts(here, edge.to),
                &met.union(&risks).copied().collect(),
                found,
            );
            way.pop();
        }
    }
}

fn any_policy() -> impl Strategy<Value = RiskPolicy> {
    let accepted = |names: &[&str]| {
        RiskPolicy::Accepted(names.iter().map(|name| (*name).to_owned()).collect())
    };
    prop_oneof![
        1 => Just(RiskPolicy::Never),
        1 => Just(RiskPolicy::Unknown),
        1 => Just(accepted(&["A"])),
        1 => Just(accepted(&["B", "C"])),
        3 => Just(RiskPolicy::Any)
    ]
}

fn any_preference() -> impl Strategy<Value = Preference> {
    prop_oneof![
        Just(Preference::FewestHops),
        Just(Preference::Safest),
        Just(Preference::Soonest),
        Just(Preference::FewestReboots)
    ]
}

/// A request about nothing yet: from and goal are filled in.
fn any_request() -> impl Strategy<Value = Request> {
    let via = proptest::sample::subsequence(CHANNELS.to_vec(), 1..=2);
    (
        via,
        any_cluster(),
        any_policy(),
        any_preference(),
        0..HOURS * 90,
    )
        .prop_map(|(via, cluster, risks, prefer, now)| Request {
            from: "4.8.0".parse().unwrap(),
            goal: Goal::Newest,
            via: via.into_iter().filter_map(ChannelName::new).collect(),
            risks,
            prefer,
            ways: 4,
            asker: Asker {
                id: cluster.id,
                platform: cluster.platform,
                groups: cluster.groups,
                arch: cluster.arch,
            },
            minors: minors(),
            now: at(now),
        })
}

/// The same request from one release to another, for each pair.
fn pairs(graph: &Graph, request: &Request) -> Vec<(ReleaseId, ReleaseId, Request)> {
    let numbered = (0..)
        .map(ReleaseId)
        .zip(graph.releases())
        .filter(|(_, release)| release.arch == request.asker.arch);
    let all: Vec<(ReleaseId, &Version)> = numbered
        .map(|(id, release)| (id, &release.version))
        .collect();
    let pair = |(from, to): (&(ReleaseId, &Version), &(ReleaseId, &Version))| {
        let asked = Request {
            from: from.1.clone(),
            goal: Goal::Version(to.1.clone()),
            ..request.clone()
        };
        (from.0, to.0, asked)
    };
    all.iter()
        .flat_map(|from| all.iter().map(move |to| (from, to)))
        .map(pair)
        .collect()
}

fn releases(plan: &Plan) -> Vec<ReleaseId> {
    std::iter::once(plan.from)
        .chain(plan.hops.iter().map(|hop| hop.to))
        .collect()
}

/// How people tell paths apart: hops, risks, channels one after the other, and minor versions between.
fn look(
    graph: &Graph,
    plan: &Plan,
) -> (usize, BTreeSet<String>, Vec<ChannelName>, BTreeSet<Minor>) {
    let risks = plan.hops.iter().flat_map(|hop| &hop.risks);
    let mut channels: Vec<ChannelName> = plan.hops.iter().map(|hop| hop.channel.clone()).collect();
    channels.dedup();
    let minors = plan
        .hops
        .iter()
        .map(|hop| Minor::of(&graph.release(hop.to).version));
    let risks = risks.map(|risk| graph.risk(*risk).name.clone());
    (plan.hops.len(), risks.collect(), channels, minors.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// The first path is the best that brute force finds. The others are among all that it finds, in order, and none differs from another in a patch only.
    #[test]
    fn the_planner_equals_brute_force(graph in any_graph(), request in any_request()) {
        for (from, goal, request) in pairs(&graph, &request) {
            let all = Brute { graph: &graph, request: &request, goal }.ways(from);
            match paths(&graph, &request, &lasts) {
                Ok(found) => {
                    let told: Vec<Vec<ReleaseId>> = found.plans.iter().map(releases).collect();
                    prop_assert_eq!(told.first(), all.first().map(|(_, way)| way), "{:?}", request);
                    prop_assert_eq!(found.certainty, Certainty::Best);
                    prop_assert!(told.iter().all(|way| all.iter().any(|(_, other)| other == way)), "{:?}", told);
                    let looks: BTreeSet<_> = found.plans.iter().map(|plan| look(&graph, plan)).collect();
                    prop_assert_eq!(looks.len(), found.plans.len(), "{:?}", told);
                    // Where nothing but releases tells ways apart, hops do.
                    let is_plain = request.risks == RiskPolicy::Never && request.via.len() == 1;
                    let lengths: BTreeSet<usize> = all.iter().map(|(_, way)| way.len()).collect();
                    let next = lengths.iter().zip(lengths.iter().skip(1)).all(|(fewer, more)| more - fewer == 1);
                    prop_assert!(!is_plain || !next || told.len() >= lengths.len().min(request.ways), "{:?}", told);
                }
                // A release that is in none of the channels has a way to itself, and nobody asks for it.
                Err(NoPath::FromElsewhere(_) | NoPath::NoGoal { .. }) => prop_assert!(all.is_empty() || from == goal),
                Err(_) => prop_assert!(all.is_empty(), "{:?}", all),
            }
        }
    }

    #[test]
    fn a_budget_changes_no_answer_and_ends_what_it_does_not_pay_for(graph in any_graph(), request in any_request(), share in 0u64..100) {
        for (_, _, request) in pairs(&graph, &request) {
            let within = |budget: &Budget<'_>| paths_within(&graph, &UncachedStepGraphs, &request, &lasts, budget);
            let enough = Budget::new(u64::MAX, &|| false);
            prop_assert_eq!(within(&enough), Ok(paths(&graph, &request, &lasts)));
            let most = enough.taken() * share / 100;
            let (first, again) = (Budget::new(most, &|| false), Budget::new(most, &|| false));
            if enough.taken() > 0 {
                prop_assert_eq!(within(&first), Err(Unfinished::NoStepsLeft { most }));
                prop_assert_eq!(within(&again), Err(Unfinished::NoStepsLeft { most }));
                prop_assert_eq!(first.taken(), again.taken(), "the same question takes the same steps");
            }
        }
    }

    #[test]
    fn a_mirror_has_the_releases_of_the_path_wherever_they_are_there(graph in any_graph(), request in any_request()) {
        let request = Request { prefer: Preference::FewestHops, ways: 1, ..request };
        for (_, goal, request) in pairs(&graph, &request) {
            let cluster = request.asker.in_channel(&request.via[0]);
            let ways = towpath_core::mirror::reachable_graph::ReachableGraph::of(&graph, &request.via, &cluster, &request.risks, &request.minors, request.now);
            let from = graph.find(&request.from, &request.asker.arch).unwrap();
            let listed = ways.best(from, goal, towpath_core::mirror::reachable_graph::Limits::default()).filter(|_| ways.holds(from) && ways.holds(goal));
            match (paths(&graph, &request, &lasts), listed) {
                (Ok(found), Some(listed)) if listed.hops.len() == found.plans[0].hops.len() => {
                    prop_assert_eq!(releases(&found.plans[0]), releases(&listed));
                }
                // Only over releases that enter later is it shorter, or possible.
                (Ok(found), Some(listed)) => prop_assert!(found.plans[0].hops.len() < listed.hops.len()),
                (Err(_), listed) => prop_assert_eq!(listed, None),
                (Ok(_), None) => {}
            }
        }
    }

    #[test]
    fn each_hop_is_offered_when_it_is_taken_and_not_before_it_opens(graph in any_graph(), request in any_request()) {
        for (_, goal, request) in pairs(&graph, &request) {
            let pace = Pace::usual();
            let Ok(found) = paths(&graph, &request, &pace.lasts(&graph)) else { continue };
            for plan in &found.plans {
                prop_assert_eq!(plan.hops.last().map_or(plan.from, |hop| hop.to), goal);
                let mut arrived = request.now;
                for (hop, times) in plan.hops.iter().zip(plan.timed(&graph, &request, &pace).hops) {
                    let cluster = request.asker.in_channel(&hop.channel);
                    let verdict = |now| {
                        let view = recommend(Policy::graph(), &Situation { graph: &graph, cluster: &cluster, now });
                        let found = view.offered().find(|(edge, _)| (edge.from, edge.to) == (hop.from, hop.to));
                        found.map(|(_, verdict)| verdict.answer.clone())
                    };
                    prop_assert!(times.taken >= arrived && times.arrives >= times.taken && times.settled >= times.arrives);
                    let risks = match verdict(times.taken) {
                        Some(Answer::RecommendUnless(risks)) => risks,
                        Some(Answer::Recommend) => BTreeSet::new(),
                        other => panic!("{hop:?} at {}: {other:?}", times.taken),
                    };
                    prop_assert_eq!(&risks, &hop.risks);
                    prop_assert!(verdict(hop.opens).is_some());
                    if hop.opens > request.now {
                        prop_assert_eq!(verdict(hop.opens - SignedDuration::from_nanos(1)), None);
                    }
                    arrived = times.arrives;
                }
            }
        }
    }

    #[test]
    fn who_is_stranded_gets_as_far_as_is_said(graph in any_graph(), request in any_request()) {
        for (from, goal, request) in pairs(&graph, &request) {
            let Err(NoPath::Stranded(stranded)) = paths(&graph, &request, &lasts) else { continue };
            let is_reached = |to: ReleaseId| to == from || {
                let goal = Goal::Version(graph.release(to).version.clone());
                paths(&graph, &Request { goal, ..request.clone() }, &lasts).is_ok()
            };
            let nearest = stranded.nearest.as_ref().and_then(|plan| plan.hops.last()).map(|hop| hop.to);
            let between = (from.0 + 1..goal.0).rev().map(ReleaseId).find(|release| is_reached(*release));
            prop_assert_eq!(nearest, between);
            for barrier in &stranded.barriers {
                prop_assert!(is_reached(barrier.from) && !is_reached(barrier.to));
            }
            let accepting = paths(&graph, &Request { risks: RiskPolicy::Any, prefer: Preference::Safest, ways: 1, ..request.clone() }, &lasts);
            prop_assert_eq!(stranded.with_risks, accepting.ok().map(|found| found.plans[0].clone()));
        }
    }
}

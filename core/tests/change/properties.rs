//! Properties of changes, on random pairs of data.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use towpath_core::change::{Only, PresubmitOptions, diff, presubmit};
use towpath_core::cluster::{Cluster, ClusterId, Fact, Platform};
use towpath_core::finding::Finding;
use towpath_core::graph::rules::Edges;
use towpath_core::graph::{
    ChannelName, Edge, Graph, Membership, Position, Situation, Window, recommend,
};
use towpath_core::rules::{Policy, Rule};
use towpath_core::version::{Arch, Version};

use towpath_testing_graphs::{day, graph, groups};

const VERSIONS: [&str; 5] = ["4.8.9", "4.9.0", "4.9.1", "4.9.2", "4.10.0"];

/// A channel of a few releases in random windows, as a text.
fn any_data() -> impl Strategy<Value = String> {
    let rule = prop_oneof![
        Just(String::new()),
        (
            prop_oneof![Just("patch"), Just("minor"), Just("any")],
            0u8..12,
            any::<bool>()
        )
            .prop_map(|(which, days, exponential)| {
                format!(
                    "rule {which} P{days}D {}\n",
                    if exponential { "exponential" } else { "" }
                )
            }),
    ];
    let release = (
        prop::bool::weighted(0.9),
        8u8..14,
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.1),
    );
    let special = (
        prop_oneof![
            Just("held".to_owned()),
            (0u8..9).prop_map(|days| format!("P{days}D"))
        ],
        prop::option::of(0..VERSIONS.len()),
        0..VERSIONS.len(),
        prop::option::of(8u8..16),
    );
    let special = special.prop_map(|(duration, from, to, start)| {
        let from = from.map_or(String::new(), |from| format!("from {}", VERSIONS[from]));
        let start = start.filter(|_| duration != "held");
        let start = start.map_or(String::new(), |start| format!("day {start}"));
        format!("rule any {duration} {from} to {} {start}\n", VERSIONS[to])
    });
    let special = proptest::option::of(special);
    let releases = proptest::collection::vec(release, VERSIONS.len());
    let by_ring = proptest::option::weighted(0.5, any_rule_with_rings());
    let rules = (rule.clone(), rule, by_ring);
    (rules, releases, special).prop_map(|((a, b, by_ring), releases, special)| {
        let (rings, a) = by_ring.unwrap_or_else(|| (String::new(), a));
        let mut text = format!(
            "channel stable\n{rings}{a}{}{}",
            if a.get(..10) == b.get(..10) { "" } else { &b },
            special.unwrap_or_default()
        );
        for (at, (is_in, start, locked, replaces, held)) in
            releases.into_iter().enumerate().filter(|(_, r)| r.0)
        {
            assert!(is_in);
            let locked = match (locked, held) {
                (true, _) => "locked",
                (false, true) => "held",
                (false, false) => "",
            };
            let replaces = if replaces && at > 0 {
                format!("replaces {}", VERSIONS[at - 1])
            } else {
                String::new()
            };
            text += &format!("release {} day {start} {locked} {replaces}\n", VERSIONS[at]);
        }
        for (at, from) in VERSIONS.iter().enumerate() {
            text.extend(
                VERSIONS[at + 1..]
                    .iter()
                    .map(|to| format!("edges {from} -> {to}\n")),
            );
        }
        text
    })
}

const RINGS: [&str; 3] = ["a sector a", "b sector b", "c label tier dev"];
/// Every way in which a cluster can be sorted that some ring tells apart.
const GROUPS: [Option<&str>; 7] = [
    None,
    Some("-"),
    Some("a"),
    Some("b"),
    Some("tier=dev"),
    Some("a,tier=dev"),
    Some("b,tier=dev"),
];

/// Some rings in some order, and a rule by which those that come first begin and end first.
fn any_rule_with_rings() -> impl Strategy<Value = (String, String)> {
    let days = || proptest::collection::vec(0u8..4, 4);
    let chosen = Just(RINGS.to_vec()).prop_shuffle();
    let which = prop_oneof![Just("patch"), Just("minor"), Just("any")];
    let facts = (chosen, 1usize..4, days(), days(), which, any::<bool>());
    facts.prop_map(
        |(chosen, number, mut after, mut lasts, which, exponential)| {
            after.sort_unstable();
            lasts.sort_unstable();
            let ramp = if exponential { "exponential" } else { "" };
            let rings = chosen.iter().take(number);
            let rings: String = rings.clone().map(|ring| format!("ring {ring}\n")).collect();
            let turn = |(at, ring): (usize, &&str)| {
                format!(
                    "turn {} P{}D after P{}D {ramp}\n",
                    &ring[..1],
                    lasts[at],
                    after[at]
                )
            };
            let turns: String = chosen.iter().take(number).enumerate().map(turn).collect();
            let (after, lasts) = (after[number], lasts[number]);
            (
                rings,
                format!("rule {which} P{lasts}D after P{after}D {ramp}\n{turns}"),
            )
        },
    )
}

/// The edges of the channel, with how each phases in for a cluster that is sorted like that.
fn phases(
    graph: &Graph,
    sorted: Option<&str>,
) -> BTreeMap<(Version, Version), (Window, Membership)> {
    let channel = graph.channel("stable").unwrap();
    let groups = groups(sorted);
    let ring = channel.ring_of(groups.known().map(|groups| &**groups));
    let mut phases = BTreeMap::new();
    for edge in graph.edges() {
        let (Some(from), Some(to)) = (channel.membership(edge.from), channel.membership(edge.to))
        else {
            continue;
        };
        let versions = [edge.from, edge.to].map(|id| graph.release(id).version.clone());
        let window = channel.window(ring, (&versions[0], from), (&versions[1], to));
        let [from, into] = versions;
        phases.insert((from, into), (window, *to));
    }
    phases
}

/// Whether a cluster of that own number sees an edge.
fn sees(phase: Option<&(Window, Membership)>, number: u64, now: Timestamp) -> bool {
    phase.is_some_and(|(window, to)| window.admits(Position(number).rotated(to.rotation), now))
}

/// Numbers at the ends of what a window has let through, and some in between.
fn telling(phase: &(Window, Membership), now: Timestamp) -> Vec<u64> {
    let (window, to) = phase;
    let mut first_not = (0u64, u64::MAX);
    while first_not.0 < first_not.1 {
        let middle = first_not.0 + (first_not.1 - first_not.0) / 2;
        match window.admits(Position(middle), now) {
            true => first_not.0 = middle + 1,
            false => first_not.1 = middle,
        }
    }
    let ends = [0, first_not.0, u64::MAX / 2];
    let beside = ends
        .into_iter()
        .flat_map(|end| [end.wrapping_sub(1), end, end.wrapping_add(1)]);
    beside
        .map(|position| position.wrapping_sub(to.rotation))
        .collect()
}

/// Whether somebody no longer finds a release, or an edge that no block takes away.
fn somebody_loses(base: &Graph, new: &Graph, now: Timestamp) -> bool {
    let blocked = [base, new].map(blocked);
    let [entered_before, entered_after] = [base, new].map(|graph| entered(graph, now));
    if entered_before
        .iter()
        .any(|version| !entered_after.contains(version))
    {
        return true;
    }
    GROUPS.into_iter().any(|sorted| {
        let (before, after) = (phases(base, sorted), phases(new, sorted));
        let mut open = before.iter().filter(|(edge, _)| {
            let by_block = blocked[1].contains(edge) && after.contains_key(edge);
            !blocked[0].contains(edge) && !by_block
        });
        open.any(|(edge, phase)| {
            let other = after.get(edge);
            let others = other.into_iter().flat_map(|other| telling(other, now));
            let mut numbers = telling(phase, now).into_iter().chain(others);
            numbers.any(|number| sees(Some(phase), number, now) && !sees(other, number, now))
        })
    })
}

/// The edges that a block keeps everybody from.
fn blocked(graph: &Graph) -> BTreeSet<(Version, Version)> {
    let is_blocked = |edge: &&Edge| graph.blocks_on(**edge).next().is_some();
    let version = |id| graph.release(id).version.clone();
    let edges = graph.edges().iter().filter(is_blocked);
    edges
        .map(|edge| (version(edge.from), version(edge.to)))
        .collect()
}

/// The releases that clusters find in the channel.
fn entered(graph: &Graph, now: Timestamp) -> BTreeSet<Version> {
    let members = &graph.channel("stable").unwrap().members;
    let entered = members.iter().filter(|(_, place)| place.start <= now);
    entered
        .map(|(id, _)| graph.release(*id).version.clone())
        .collect()
}

/// Whether presubmit says that a change takes something back.
fn refuses_loss(findings: &[Finding]) -> bool {
    let losing = ["rollout-loses", "release-leaves"];
    findings
        .iter()
        .any(|finding| losing.contains(&finding.code))
}

fn offered(
    graph: &Graph,
    policy: &dyn Rule<Edges>,
    cluster: &Cluster,
    now: Timestamp,
) -> Vec<(Version, Version)> {
    let view = recommend(
        policy,
        &Situation {
            graph,
            cluster,
            now,
        },
    );
    let version = |id| graph.release(id).version.clone();
    view.offered()
        .map(|(edge, _)| (version(edge.from), version(edge.to)))
        .collect()
}

fn cluster(id: Option<u32>, platform: Option<&str>, sorted: Option<&str>) -> Cluster {
    let id = id.map(|n| ClusterId::new(&format!("00000000-0000-4000-8000-{n:012x}")).unwrap());
    Cluster {
        id: id.into(),
        platform: platform
            .and_then(Platform::new)
            .map_or(Fact::Unknown, Fact::Known),
        groups: groups(sorted),
        ..Cluster::anonymous(ChannelName::new("stable").unwrap(), Arch::default())
    }
}

fn hours_after_day_8(hours: i64) -> Timestamp {
    day("8") + SignedDuration::from_hours(hours)
}

proptest! {
    #[test]
    fn presubmit_refuses_losing_exactly_if_somebody_loses(
        base in any_data(), new in any_data(), hours in 0i64..240, blocks in [any_hard_block(), any_hard_block()],
    ) {
        let [old_block, new_block] = blocks;
        let (base, new) = (graph(&(base + &old_block)), graph(&(new + &new_block)));
        let now = hours_after_day_8(hours);
        let findings = presubmit(&base, &new, now, &PresubmitOptions::default());
        prop_assert_eq!(refuses_loss(&findings), somebody_loses(&base, &new, now), "{:#?}", findings);
    }

    /// The same where a rollout gets rings, loses them, or has others: no cluster gains more than allowed, however many are in its ring.
    #[test]
    fn no_ring_gains_more_at_once_than_a_fleet_may(
        base in any_rule_with_rings(), new in any_rule_with_rings(), hours in 0i64..240,
    ) {
        let data = |(rings, rule): (String, String)| {
            graph(&format!("channel stable\n{rings}{rule}release 4.9.1 day 8\nrelease 4.9.2 day 9\nedges 4.9.1 -> 4.9.2\n"))
        };
        let (base, new, now) = (data(base), data(new), hours_after_day_8(hours));
        let findings = presubmit(&base, &new, now, &PresubmitOptions::default());
        let gains = GROUPS.into_iter().map(|sorted| {
            let phases = [&base, &new].map(|graph| phases(graph, sorted).into_values().next());
            let numbers = (0..1000u64).map(|n| n * (u64::MAX / 1000));
            numbers.filter(|number| sees(phases[1].as_ref(), *number, now) && !sees(phases[0].as_ref(), *number, now)).count()
        });
        let most = gains.max().unwrap_or(0);
        let refused = findings.iter().any(|finding| finding.is_error());
        prop_assert!(refused || most <= 11, "{} of 1000", most);
    }

    /// A thousand clusters: what nobody overrode shows no phased edge to more of them at once than may gain it.
    #[test]
    fn what_presubmit_lets_through_reaches_few_at_once(
        base in any_data(), new in any_data(), hours in 0i64..240, blocks in [any_hard_block(), any_hard_block()],
    ) {
        let [old_block, new_block] = blocks;
        let rule = |text: &str| -> String {
            let lines = text.lines().filter(|line| !line.starts_with("rule") && !line.starts_with("turn"));
            let lines: Vec<&str> = lines.collect();
            lines.join("\n").replacen('\n', "\nrule any P5D\n", 1) + "\n"
        };
        let (base, new) = (graph(&(rule(&base) + &old_block)), graph(&(rule(&new) + &new_block)));
        let now = hours_after_day_8(hours);
        let findings = presubmit(&base, &new, now, &PresubmitOptions::default());
        let phases = [&base, &new].map(|graph| phases(graph, None));
        let blocked = [&base, &new].map(blocked);
        let most = phases[1].keys().map(|edge| {
            let sees = |side: usize, number| !blocked[side].contains(edge) && sees(phases[side].get(edge), number, now);
            let numbers = (0..1000u64).map(|n| n * (u64::MAX / 1000));
            numbers.filter(|number| sees(1, *number) && !sees(0, *number)).count()
        });
        let most = most.max().unwrap_or(0);
        prop_assert!(!findings.is_empty() || most <= 11, "{} of 1000", most);
    }

    #[test]
    fn what_presubmit_lets_through_takes_nothing_from_any_id_nor_from_those_without(
        base in any_data(), new in any_data(), hours in 0i64..240, ids in proptest::collection::vec(any::<u32>(), 8),
        sorted in proptest::sample::select(GROUPS.to_vec()),
    ) {
        let (base, new, now) = (graph(&base), graph(&new), hours_after_day_8(hours));
        let findings = presubmit(&base, &new, now, &PresubmitOptions::default());
        let refuses = refuses_loss(&findings);
        for id in ids.into_iter().map(Some).chain([None]) {
            let cluster = cluster(id, None, sorted);
            let after = offered(&new, Policy::timing(), &cluster, now);
            let lost = offered(&base, Policy::timing(), &cluster, now).into_iter().any(|edge| !after.contains(&edge));
            prop_assert!(refuses || !lost, "{:?} loses", cluster.id);
        }
    }

    #[test]
    fn a_graph_does_not_differ_from_itself(data in any_data(), hours in 0i64..240) {
        let (graph, now) = (graph(&data), hours_after_day_8(hours));
        prop_assert!(diff(&graph, &graph, now, &Only::default()).is_empty());
    }

    /// With all windows over, what a client sees more or less is what the diff says appears or disappears for its class.
    #[test]
    fn a_diff_tells_what_clients_see_in_the_end(
        base in any_data(), new in any_data(), blocks in proptest::collection::vec(any_block(), 0..4), split in 0usize..4,
        platform in prop_oneof![Just(None), Just(Some("AWS")), Just(Some("GCP")), Just(Some("Nutanix")), Just(Some("Elsewhere"))],
    ) {
        let split = split.min(blocks.len());
        let base = graph(&format!("{base}{}", blocks[..split].concat()));
        let new = graph(&format!("{new}{}", blocks[split..].concat()));
        let (now, client) = (day("30"), cluster(None, platform, None));
        let [before, after] = [&base, &new].map(|graph| offered(graph, Policy::graph(), &client, now));
        let diff = diff(&base, &new, now, &Only::default());
        let mut told: Vec<(&str, Version, Version)> = Vec::new();
        for change in diff.channels.iter().flat_map(|channel| &channel.edges) {
            if is_for(&change.whom, platform) {
                told.extend(change.from.iter().map(|from| (change.kind.code(), from.clone(), change.to.clone())));
            }
        }
        told.retain(|(kind, _, _)| ["appears", "disappears"].contains(kind));
        let appear = after.iter().filter(|edge| !before.contains(edge)).map(|edge| ("appears", edge));
        let disappear = before.iter().filter(|edge| !after.contains(edge)).map(|edge| ("disappears", edge));
        let mut seen: Vec<(&str, Version, Version)> =
            appear.chain(disappear).map(|(kind, (from, to))| (kind, from.clone(), to.clone())).collect();
        told.sort();
        seen.sort();
        prop_assert_eq!(told, seen);
    }
}

/// A block that holds everybody, or none.
fn any_hard_block() -> impl Strategy<Value = String> {
    let block = (0..VERSIONS.len(), prop_oneof![Just(".*"), Just("4[.]9")])
        .prop_map(|(to, from)| format!("block {} from {from}\n", VERSIONS[to]));
    prop_oneof![Just(String::new()), block]
}

fn any_block() -> impl Strategy<Value = String> {
    let whom = prop_oneof![Just(""), Just(" on AWS"), Just(" on AWS,GCP")];
    let from = prop_oneof![Just(".*"), Just("4[.]9"), Just("4[.]8")];
    let hard = (0..VERSIONS.len(), from.clone(), whom)
        .prop_map(|(to, from, whom)| format!("block {} from {from}{whom}\n", VERSIONS[to]));
    let risk = (0..VERSIONS.len(), from)
        .prop_map(|(to, from)| format!("risk Slow {} from {from}\n", VERSIONS[to]));
    prop_oneof![hard, risk]
}

fn is_for(whom: &towpath_core::change::Whom, platform: Option<&str>) -> bool {
    use towpath_core::change::Whom;
    use towpath_core::graph::ClientClass;
    let named = |class: &ClientClass| matches!((class, platform), (ClientClass::On(p), Some(name)) if p.is_named(name));
    match whom {
        Whom::Everybody => true,
        Whom::Some { on, not_on } => match platform {
            // A name that OpenShift does not have says nothing.
            None | Some("Elsewhere") => on.contains(&ClientClass::Unknown),
            Some(_) if on.iter().any(named) => true,
            Some(_) => on.contains(&ClientClass::OnAnother) && !not_on.iter().any(named),
        },
    }
}

//! The language of these tests: that of `testing/graphs`, and
//!
//! ```text
//! cluster NAME VERSION            (who has to get there)
//! to VERSION                      (where to)
//! over CHANNEL …                  (else over all channels)
//! risks never                     (else those that a cluster weighs are taken)
//! accept RISK …
//! have VERSION …                  (what is in the mirror already)
//! best                            (each cluster's best way; else the smallest set)
//! around                          (also the ways around risks)
//! start                           (also what clusters run)
//! ```

use std::fmt::Write;

use jiff::Timestamp;
use towpath_core::cluster::Fact;
use towpath_core::graph::{ChannelName, Graph, ReleaseId};
use towpath_core::mirror::entries::documents;
use towpath_core::mirror::*;
use towpath_core::path::{NoPath, Plan, RiskPolicy};
use towpath_core::version::{Arch, ReleaseName, Version};
use towpath_testing_graphs::{minors, read_with};

pub(crate) fn now() -> Timestamp {
    "2026-01-05T00:00Z".parse().unwrap()
}

/// Finds what has to be mirrored, and tells it.
pub(crate) fn check(text: &str, expected: expect_test::Expect) {
    let (graph, wish) = read(text);
    let found = mirror(&graph, &wish, now()).unwrap();
    let version = |id: ReleaseId| graph.release(id).version.to_string();
    let mut told = String::new();
    for plan in &found.plans {
        writeln!(told, "way {}", way(&graph, plan)).unwrap();
    }
    for (who, why) in &found.stuck {
        let why = match why {
            NoPath::Stranded(stranded) => {
                let with_risks = stranded
                    .with_risks
                    .as_ref()
                    .map_or("none".to_owned(), |plan| way(&graph, plan));
                let nearest = stranded.nearest.as_ref().and_then(|plan| plan.hops.last());
                let newest = nearest.map_or(who.version.to_string(), |hop| version(hop.to));
                format!("stuck at {newest}, with risks {with_risks}")
            }
            other => other.code().to_owned(),
        };
        writeln!(told, "no way for {} on {}: {why}", who.name, who.version).unwrap();
    }
    for branch in &found.branches {
        let risks: Vec<&str> = branch
            .applying
            .iter()
            .map(|risk| graph.risk(*risk).name.as_str())
            .collect();
        let around = branch.way.as_ref().map_or_else(
            || format!("{} stays", version(branch.from)),
            |plan| way(&graph, plan),
        );
        writeln!(told, "if {}: {around}", risks.join(" and ")).unwrap();
    }
    for need in &found.needs {
        let purpose = match need.purpose {
            Purpose::Way => "",
            Purpose::WayAround => " for a way around",
            Purpose::Start => " to begin with",
        };
        let place = if need.place == Presence::There {
            " (there)"
        } else {
            ""
        };
        writeln!(
            told,
            "need {} in {}{purpose}{place}",
            version(need.release),
            need.channel
        )
        .unwrap();
    }
    expected.assert_eq(&told);
}

/// Tells the entries that oc-mirror gets, document by document.
pub(crate) fn check_documents(text: &str, expected: expect_test::Expect) {
    let (graph, wish) = read(text);
    let found = mirror(&graph, &wish, now()).unwrap();
    let mut told = String::new();
    for entries in documents(&graph, found.missing(), now(), usize::MAX).unwrap() {
        let entries: Vec<String> = entries
            .iter()
            .map(|one| format!("{} in {}", one.version, one.channel))
            .collect();
        writeln!(told, "{}", entries.join(", ")).unwrap();
    }
    expected.assert_eq(&told);
}

fn way(graph: &Graph, plan: &Plan) -> String {
    let mut text = graph.release(plan.from).version.to_string();
    for hop in &plan.hops {
        let risks: String = hop
            .risks
            .iter()
            .map(|risk| format!(" unless {}", graph.risk(*risk).name))
            .collect();
        let opens = if hop.opens > now() {
            format!(" from {}", hop.opens)
        } else {
            String::new()
        };
        write!(
            text,
            " -> {} ({}{opens}{risks})",
            graph.release(hop.to).version,
            hop.channel
        )
        .unwrap();
    }
    text
}

fn read(text: &str) -> (Graph, Wish) {
    let mut wish = Wish {
        travellers: Vec::new(),
        target: version("0.0.0"),
        channels: Vec::new(),
        platform: Fact::Unknown,
        taken: RiskPolicy::Unknown,
        minors: minors(),
        choice: MirrorChoice::Smallest,
        branching: Branching::Ways,
        start: MirrorStart::LeftOut,
        have: Have::default(),
    };
    let (data, releases) = read_with(text, |words| match *words {
        ["cluster", name, text] => wish.travellers.push(Traveller {
            arch: Arch::default(),
            version: version(text),
            name: name.into(),
        }),
        ["to", text] => wish.target = version(text),
        ["over", ref names @ ..] => {
            wish.channels = names
                .iter()
                .filter_map(|name| ChannelName::new(name))
                .collect()
        }
        ["risks", "never"] => wish.taken = RiskPolicy::Never,
        ["accept", ref names @ ..] => {
            wish.taken =
                RiskPolicy::Accepted(names.iter().map(|name| (*name).to_owned()).collect());
        }
        ["have", ref names @ ..] => {
            wish.have.names = names
                .iter()
                .map(|name| ReleaseName::parse(name).unwrap())
                .collect();
        }
        ["best"] => wish.choice = MirrorChoice::Best,
        ["start"] => wish.start = MirrorStart::Included,
        ["around"] => wish.branching = Branching::WaysAround,
        _ => panic!("{words:?} says nothing"),
    });
    if wish.channels.is_empty() {
        wish.channels = data
            .channels
            .iter()
            .map(|channel| channel.name.clone())
            .collect();
    }
    (Graph::build(data, releases).0, wish)
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

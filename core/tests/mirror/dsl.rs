//! The language of these tests: that of the audit's graphs, and
//!
//! ```text
//! cluster NAME VERSION            (who has to get there)
//! to VERSION                      (where to)
//! over CHANNEL …                  (else over all channels)
//! risks never                     (else those that a cluster weighs are taken)
//! accept RISK …
//! have VERSION …                  (what is in the mirror already)
//! around                          (also the ways around risks)
//! start                           (also what clusters run)
//! ```

use std::collections::BTreeSet;
use std::fmt::Write;

use jiff::Timestamp;
use towpath_core::cluster::Fact;
use towpath_core::finding::Place;
use towpath_core::graph::{
    Block, ChannelName, ChannelSpec, DeclaredEdge, DeclaredRelease, Graph, GraphData, MatchingRule,
    Member, Pattern, Ramp, ReleaseId, Releases, Risk, RolloutRule, Trust,
};
use towpath_core::mirror::entries::documents;
use towpath_core::mirror::*;
use towpath_core::path::RiskPolicy;
use towpath_core::path::{NoPath, Plan};
use towpath_core::version::{Arch, ReleaseName, Version};

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
    for entries in documents(&graph, found.missing(), now()).unwrap() {
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
    let (mut data, mut versions, mut edges) = (GraphData::default(), BTreeSet::new(), Vec::new());
    let mut wish = Wish {
        travellers: Vec::new(),
        target: version("0.0.0"),
        channels: Vec::new(),
        platform: Fact::Unknown,
        taken: RiskPolicy::Unknown,
        choice: MirrorChoice::Smallest,
        branching: Branching::Ways,
        start: MirrorStart::LeftOut,
        have: Have::default(),
    };
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["channel", name, ref members @ ..] => {
                let members: Vec<Member> = members.iter().map(|text| member(text)).collect();
                versions.extend(members.iter().map(|member| member.name.version.clone()));
                let name = ChannelName::new(name).unwrap();
                data.channels.push(ChannelSpec {
                    name,
                    rollouts: vec![],
                    members,
                    origin: Place::file("c"),
                });
            }
            ["phased", duration] => {
                let (duration, origin) = (duration.parse().unwrap(), Place::file("c"));
                let rule = RolloutRule {
                    from_version: None,
                    duration,
                    ramp: Ramp::Linear,
                    origin,
                };
                data.channels.last_mut().unwrap().rollouts.push(rule);
            }
            ["edges", from, "->", ref to @ ..] => {
                edges.extend(to.iter().map(|to| (version(from), version(to))))
            }
            ["risk", name, file, to, ref rest @ ..] => data.blocks.push(risk(name, file, to, rest)),
            ["cluster", name, text] => {
                wish.travellers.push(Traveller {
                    arch: Arch::default(),
                    version: version(text),
                    name: name.into(),
                });
            }
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
            ["start"] => wish.start = MirrorStart::Included,
            ["around"] => wish.branching = Branching::WaysAround,
            _ => panic!("{line:?} says nothing"),
        }
    }
    if wish.channels.is_empty() {
        wish.channels = data
            .channels
            .iter()
            .map(|channel| channel.name.clone())
            .collect();
    }
    let versions: Vec<Version> = versions.into_iter().collect();
    let index = |wanted: &Version| {
        versions
            .iter()
            .position(|version| version == wanted)
            .unwrap() as u32
    };
    let edges = edges
        .iter()
        .map(|(from, to)| DeclaredEdge {
            from: index(from),
            to: index(to),
            risks: None,
        })
        .collect();
    (
        Graph::build(
            data,
            Releases {
                releases: versions.iter().map(release).collect(),
                edges,
            },
        )
        .0,
        wish,
    )
}

pub(crate) fn release(version: &Version) -> DeclaredRelease {
    let payload = format!("registry/{version}");
    DeclaredRelease {
        version: version.clone(),
        arch: Arch::default(),
        payload,
        metadata: [].into(),
        declares: None,
        trust: Trust::Unverified,
    }
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn member(text: &str) -> Member {
    let (name, start) = text
        .split_once('@')
        .map_or((text, None), |(name, start)| (name, Some(start)));
    let start = start.map(|date| format!("{date}T00:00Z").parse().unwrap());
    let name = ReleaseName::parse(name).unwrap();
    Member {
        name,
        start,
        locked: false,
        replaces: None,
        origin: Place::file("c"),
    }
}

fn risk(name: &str, file: &str, to: &str, rest: &[&str]) -> Block {
    let after = |word: &str| {
        rest.iter()
            .position(|one| *one == word)
            .map(|at| rest[at + 1])
    };
    let rule = match after("rules") {
        Some("always") => MatchingRule::Always,
        Some("other") => MatchingRule::PromQl("y".into()),
        _ => MatchingRule::PromQl("x".into()),
    };
    let risk = Risk {
        name: name.into(),
        url: "https://example.com".into(),
        message: "m".into(),
        matching_rules: vec![rule],
    };
    let from = Pattern::new(after("from").unwrap_or(".*")).unwrap();
    Block {
        to: ReleaseName::parse(to).unwrap(),
        from,
        stops: None,
        risk: Some(risk),
        origin: Place::file(file),
    }
}

//! The language of these tests. One line is one fact:
//!
//! ```text
//! channel stable-4.9 4.9.0 4.9.1 4.9.2         (a member that enters later: 4.9.3@2026-02-01)
//! phased P30D                                  (the last channel's edges)
//! edges 4.9.0 -> 4.9.1 4.9.2
//! block a.yaml 4.9.2                           (from everywhere, for everybody)
//! block b.yaml 4.9.2 from 4[.]9[.]0 on AWS,GCP
//! risk Slow c.yaml 4.9.2 from 4[.]9[.]0 rules query|always|later
//! ```

use std::collections::BTreeSet;
use std::fmt::Write;

use jiff::Timestamp;
use towpath_core::audit::{
    Audit, Barrier, Baseline, GoalOutcome, Reachability, Scope, Stranding, StrandingCause, audit,
    strandings,
};
use towpath_core::cluster::Platform;
use towpath_core::finding::Place;
use towpath_core::graph::ClientClass;
use towpath_core::graph::{
    Audience, Block, ChannelName, ChannelSpec, DeclaredEdge, DeclaredRelease, Graph, GraphData,
    MatchingRule, Member, Pattern, Ramp, ReleaseId, Releases, Risk, RolloutRule, Trust,
};
use towpath_core::version::{Arch, ReleaseName, Version};

use crate::checker::Checker;

pub(crate) fn now() -> Timestamp {
    "2026-01-05T00:00Z".parse().unwrap()
}

/// Audits what a text says, checks every certificate, and tells how each release stands.
pub(crate) fn check(text: &str, expected: expect_test::Expect) {
    let (graph, audit) = audited(text);
    let mut told = String::new();
    for section in &audit.sections {
        let clients: Vec<String> = section.clients.iter().map(ToString::to_string).collect();
        writeln!(told, "{} for {}", section.channel, clients.join(", ")).unwrap();
        for standing in &section.releases {
            let [minor, head] =
                [&standing.minor, &standing.head].map(|outlook| outlook_text(&graph, outlook));
            let version = &graph.release(standing.release).version;
            match standing.minor.goal == standing.head.goal {
                true => writeln!(told, "  {version}: {head}").unwrap(),
                false => writeln!(told, "  {version}: {minor}; {head}").unwrap(),
            }
        }
    }
    expected.assert_eq(&told);
}

/// Tells who is stranded after a change and was not before.
pub(crate) fn check_change(before: &str, after: &str, expected: expect_test::Expect) {
    let (base_graph, base) = audited(before);
    let (graph, audit) = audited(after);
    let base = Baseline::of(&base_graph, &base);
    let told: String = strandings(&graph, &audit, Some(&base))
        .iter()
        .map(|one| stranding_text(&graph, one))
        .collect();
    expected.assert_eq(&told);
}

/// The graph and its audit, with every certificate checked.
pub(crate) fn audited(text: &str) -> (Graph, Audit) {
    let (data, releases) = read(text);
    let graph = Graph::build(data.clone(), releases.clone()).0;
    let audit = audit(&graph, &Scope::default(), now());
    let checker = Checker::new(data, releases, now());
    for section in &audit.sections {
        section
            .clients
            .iter()
            .for_each(|class| checker.check(section, class));
    }
    (graph, audit)
}

pub(crate) fn stranding_text(graph: &Graph, stranding: &Stranding) -> String {
    let barrier = match &stranding.barrier {
        Barrier::Blocks(blocks) => {
            let files: Vec<&str> = blocks
                .iter()
                .map(|id| &*graph.block(*id).origin.file)
                .collect();
            files.join(" + ")
        }
        other => other.code().to_owned(),
    };
    let mut text = format!("{barrier}\n");
    for spot in &stranding.spots {
        let clients: Vec<&str> = spot.clients.iter().map(ClientClass::code).collect();
        let releases = way(graph, &spot.releases, " ");
        let goal = &graph.release(spot.goal).version;
        writeln!(
            text,
            "  {} not to {goal} in {} for {}",
            releases,
            spot.channel,
            clients.join(" ")
        )
        .unwrap();
    }
    text
}

fn outlook_text(graph: &Graph, outlook: &Reachability) -> String {
    let goal = &graph.release(outlook.goal).version;
    match &outlook.outcome {
        GoalOutcome::Way(found) if found.releases.len() == 1 => "is there".to_owned(),
        GoalOutcome::Way(found) => {
            let risks: String = found
                .risks
                .iter()
                .map(|risk| format!(" unless {}", graph.risk(*risk).name))
                .collect();
            way(graph, &found.releases, " -> ") + &risks
        }
        GoalOutcome::Stranded(StrandingCause::Blocks { blocks, way: opens }) => {
            let files: Vec<&str> = blocks
                .iter()
                .map(|id| &*graph.block(*id).origin.file)
                .collect();
            format!(
                "not to {goal}: {} ({})",
                files.join(" + "),
                way(graph, opens, " -> ")
            )
        }
        GoalOutcome::Stranded(StrandingCause::NoEdgeLeaves) => {
            format!("not to {goal}: no edge leaves")
        }
        GoalOutcome::Stranded(StrandingCause::NoEdgeReaches) => {
            format!("not to {goal}: no edge reaches")
        }
    }
}

fn way(graph: &Graph, releases: &[ReleaseId], between: &str) -> String {
    let versions: Vec<String> = releases
        .iter()
        .map(|id| graph.release(*id).version.to_string())
        .collect();
    versions.join(between)
}

pub(crate) fn read(text: &str) -> (GraphData, Releases) {
    let (mut data, mut versions, mut edges) = (GraphData::default(), BTreeSet::new(), Vec::new());
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
                edges.extend(to.iter().map(|to| (version(from), version(to))));
            }
            ["block", file, to, ref rest @ ..] => data.blocks.push(block(file, to, rest, None)),
            ["risk", name, file, to, ref rest @ ..] => {
                data.blocks.push(block(file, to, rest, Some(name)))
            }
            _ => panic!("{line:?} says nothing"),
        }
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
        data,
        Releases {
            releases: versions.iter().map(release).collect(),
            edges,
        },
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

fn block(file: &str, to: &str, rest: &[&str], risk: Option<&str>) -> Block {
    let after = |word: &str| {
        rest.iter()
            .position(|one| *one == word)
            .map(|at| rest[at + 1])
    };
    let platforms =
        |names: &str| Audience::Platforms(names.split(',').filter_map(Platform::new).collect());
    let stops = match (after("on"), risk) {
        (Some(names), _) => Some(platforms(names)),
        (None, None) => Some(Audience::Everybody),
        (None, Some(_)) => None,
    };
    let rule = |name: &str| match name {
        "always" => MatchingRule::Always,
        "query" => MatchingRule::PromQl("x".into()),
        _ => MatchingRule::Other("{}".into()),
    };
    let risk = risk.map(|name| Risk {
        name: name.into(),
        url: "https://example.com".into(),
        message: "m".into(),
        matching_rules: after("rules")
            .unwrap_or("query")
            .split('|')
            .map(rule)
            .collect(),
    });
    let from = Pattern::new(after("from").unwrap_or(".*")).unwrap();
    Block {
        to: ReleaseName::parse(to).unwrap(),
        from,
        stops,
        risk,
        origin: Place::file(file),
    }
}

//! The language of these tests. One line is one fact, and days are those of November 2026:
//!
//! ```text
//! channel stable                                  (what follows is about it)
//! rule patch P4D | rule minor P14D exponential | rule any P1D
//! release 4.9.2 day 3                             (enters at the beginning of that day; also: locked, replaces 4.9.1, only amd64)
//! edge 4.9.1 -> 4.9.2                             (for each architecture)
//! block 4.9.2 from .* | block 4.9.2 from .* on AWS,Azure | risk Slow 4.9.2 from 4[.]8
//! arches amd64 arm64                              (else amd64)
//! ```

use jiff::Timestamp;
use towpath_core::change::{
    Diff, EdgeChange, Only, PresubmitOptions, ReleaseKind, RiskNames, When, diff, presubmit,
};
use towpath_core::cluster::Platform;
use towpath_core::finding::Place;
use towpath_core::graph::{
    Audience, Block, ChannelName, ChannelSpec, DeclaredEdge, DeclaredRelease, FromVersion, Graph,
    GraphData, MatchingRule, Member, Pattern, Ramp, Releases, Risk, RolloutRule, Trust, Window,
};
use towpath_core::version::{Arch, ReleaseName};

/// Compares two texts at the beginning of a day, or at an hour of it: `5` or `5T12`.
pub(crate) fn check_presubmit(now: &str, [base, new]: [&str; 2], expected: expect_test::Expect) {
    check_presubmit_with(&PresubmitOptions::default(), now, [base, new], expected);
}

pub(crate) fn check_presubmit_with(
    options: &PresubmitOptions,
    now: &str,
    [base, new]: [&str; 2],
    expected: expect_test::Expect,
) {
    let findings = presubmit(&graph(base), &graph(new), day(now), options);
    let line = |finding: &towpath_core::finding::Finding| {
        let severity = if finding.is_error() {
            "error"
        } else {
            "warning"
        };
        format!(
            "{severity} {}\n  at {}\n  {}\n  {}\n",
            finding.code, finding.place, finding.problem, finding.remedy
        )
    };
    expected.assert_eq(&findings.iter().map(line).collect::<String>());
}

/// Says every difference of two texts.
pub(crate) fn check_diff(now: &str, [base, new]: [&str; 2], expected: expect_test::Expect) {
    expected.assert_eq(&told(&diff(
        &graph(base),
        &graph(new),
        day(now),
        &Only::default(),
    )));
}

fn told(diff: &Diff) -> String {
    let mut text = String::new();
    for channel in &diff.channels {
        text += &format!("{} {}\n", channel.channel, channel.arch);
        for release in &channel.releases {
            let kind = match &release.kind {
                ReleaseKind::Appears(at) => format!("appears {}", when(at)),
                ReleaseKind::Disappears => "disappears".to_owned(),
                ReleaseKind::Moves { before, after } => {
                    format!("appeared {}, now {}", when(before), when(after))
                }
            };
            text += &format!("  {} {kind}\n", release.version);
        }
        for edge in &channel.edges {
            text += &format!("  {}\n", edge_told(edge));
        }
    }
    text
}

fn edge_told(change: &EdgeChange) -> String {
    let from: Vec<String> = change.from.iter().map(ToString::to_string).collect();
    let RiskNames {
        added,
        removed,
        reworded,
    } = &change.risks;
    let risks: String = [
        ("now", added),
        ("no longer", removed),
        ("in other words", reworded),
    ]
    .into_iter()
    .filter(|(_, names)| !names.is_empty())
    .map(|(how, names)| format!(" {how} unless {}", names.join(", ")))
    .collect();
    let times: Vec<String> = [("before", &change.before), ("after", &change.after)]
        .into_iter()
        .filter_map(|(side, at)| Some(format!("{side} {}", when(at.as_ref()?))))
        .collect();
    let (kind, whom) = (change.kind.code(), &change.whom);
    format!(
        "{} -> {} {kind} {whom}{risks} ({})",
        from.join(","),
        change.to,
        times.join(", ")
    )
}

fn when(when: &When) -> String {
    let short = |at: Timestamp| {
        at.to_string()[8..16]
            .trim_end_matches(":00")
            .trim_end_matches("T00")
            .to_owned()
    };
    match when {
        When::Now => "now".to_owned(),
        When::Over(Window { start, end, .. }) if start == end => format!("day {}", short(*start)),
        When::Over(Window { start, end, .. }) => {
            format!("days {} to {}", short(*start), short(*end))
        }
    }
}

/// A day of November 2026, or an hour of one.
pub(crate) fn day(text: &str) -> Timestamp {
    let (day, hour) = text.split_once('T').unwrap_or((text, "00"));
    format!("2026-11-{:0>2}T{hour}:00Z", day).parse().unwrap()
}

/// The graph that a text describes.
pub(crate) fn graph(text: &str) -> Graph {
    let mut data = GraphData::default();
    let (mut names, mut edges, mut arches) =
        (std::collections::BTreeSet::new(), Vec::new(), vec!["amd64"]);
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let place = Place::file("data").at(number, 1);
        match words.as_slice() {
            [] => {}
            ["channel", name] => data.channels.push(ChannelSpec {
                name: ChannelName::new(name).unwrap(),
                rollouts: Vec::new(),
                members: Vec::new(),
                origin: place,
            }),
            ["rule", which, duration, ramp @ ..] => data
                .channels
                .last_mut()
                .unwrap()
                .rollouts
                .push(RolloutRule {
                    from_version: match *which {
                        "patch" => Some(FromVersion::Patch),
                        "minor" => Some(FromVersion::Minor),
                        "any" => None,
                        other => Some(FromVersion::Other(other.to_owned())),
                    },
                    duration: duration.parse().unwrap(),
                    ramp: if ramp == ["exponential"] {
                        Ramp::Exponential
                    } else {
                        Ramp::Linear
                    },
                    origin: place,
                }),
            ["release", name, more @ ..] => {
                let member = member(name, more, place);
                names.insert(member.name.version.to_string());
                data.channels.last_mut().unwrap().members.push(member);
            }
            ["edge", from, "->", to] => {
                names.extend([from.to_string(), to.to_string()]);
                edges.push((from.to_string(), to.to_string()));
            }
            ["block", to, "from", from] => {
                data.blocks
                    .push(block(to, from, Some(Audience::Everybody), None, place))
            }
            ["block", to, "from", from, "on", platforms] => {
                let platforms = platforms
                    .split(',')
                    .map(|name| Platform::new(name).unwrap())
                    .collect();
                data.blocks.push(block(
                    to,
                    from,
                    Some(Audience::Platforms(platforms)),
                    None,
                    place,
                ));
            }
            ["risk", name, to, "from", from] => {
                data.blocks
                    .push(block(to, from, None, Some(risk(name)), place))
            }
            ["arches", all @ ..] => arches = all.to_vec(),
            _ => panic!("line {number} is not understood: {line}"),
        }
    }
    Graph::build(data, releases(&names, &edges, &arches)).0
}

fn member(name: &str, more: &[&str], origin: Place) -> Member {
    let after = |word: &str| Some(more[more.iter().position(|w| *w == word)? + 1]);
    let name = after("only").map_or_else(|| name.to_owned(), |arch| format!("{name}+{arch}"));
    Member {
        name: ReleaseName::parse(&name).unwrap(),
        start: after("day").map(day),
        locked: more.contains(&"locked"),
        replaces: after("replaces").map(|version| version.parse().unwrap()),
        origin,
    }
}

fn block(
    to: &str,
    from: &str,
    stops: Option<Audience>,
    risk: Option<Risk>,
    origin: Place,
) -> Block {
    Block {
        to: ReleaseName::parse(to).unwrap(),
        from: Pattern::new(from).unwrap(),
        stops,
        risk,
        origin,
    }
}

fn risk(name: &str) -> Risk {
    let (url, message) = ("https://example.com".to_owned(), "Slow.".to_owned());
    Risk {
        name: name.to_owned(),
        url,
        message,
        matching_rules: vec![MatchingRule::Always],
    }
}

fn releases(
    names: &std::collections::BTreeSet<String>,
    edges: &[(String, String)],
    arches: &[&str],
) -> Releases {
    let mut declared = Releases::default();
    for arch in arches {
        let first = declared.releases.len();
        declared
            .releases
            .extend(names.iter().map(|name| DeclaredRelease {
                version: name.parse().unwrap(),
                arch: Arch::new(*arch),
                payload: format!("registry.example/{name}"),
                metadata: std::collections::BTreeMap::new(),
                declares: None,
                trust: Trust::Unverified,
            }));
        let index = |name: &String| (first + names.iter().position(|n| n == name).unwrap()) as u32;
        let edge = |(from, to): &(String, String)| DeclaredEdge {
            from: index(from),
            to: index(to),
            risks: None,
        };
        declared.edges.extend(edges.iter().map(edge));
    }
    declared
}

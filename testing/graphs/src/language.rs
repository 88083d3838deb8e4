//! The language of graphs in tests. One line is one fact:
//!
//! ```text
//! channel stable-4.9 4.9.0 4.9.1 4.9.2         (a member that enters later: 4.9.3@2026-02-01)
//! release 4.9.4 day 3                          (in the last channel, from that day of November 2026 on; also: locked, held, replaces 4.9.1, only amd64)
//! rule any P30D                                (the last channel's edges are phased; also: patch, minor)
//! rule minor P14D exponential                  (or in stages, in hundredths of a percent: stages 50,500)
//! rule patch P3D to 4.9.4 day 5                (those to a release, from that day on; an edge: rule any P3D from 4.9.1 to 4.9.4)
//! rule any held to 4.9.4                       (nobody gets them)
//! ring canaries sector canary                  (goes before everybody else in the last channel; also: ring early label tier dev)
//! rule any P2D after P1D                       (everybody else waits so long for the rings that follow)
//! turn canaries PT6H                           (when a ring goes by the last rule; also: after PT6H, exponential)
//! edges 4.9.0 -> 4.9.1 4.9.2                   (for each architecture)
//! block 4.9.2                                  (from everywhere, for everybody)
//! block b.yaml 4.9.2 from 4[.]9[.]0 on AWS,GCP (a file may come first)
//! risk Slow c.yaml 4.9.2 from 4[.]9[.]0 rules query|other|always|later
//! arches amd64 arm64                           (else amd64)
//! ```
//!
//! Facts are in the file `data`, at the text's own line. A block that names a file is in that file, without a line.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::cluster::{Fact, Group, Groups, Platform};
use towpath_core::finding::Place;
use towpath_core::graph::{
    Audience, Block, ChannelSpec, DeclaredRelease, EdgeMatch, FromVersion, Graph, GraphData,
    MatchingRule, Member, Pattern, Ramp, Releases, Ring, RingId, RingName, RingTurn, RolloutRule,
    RuleRings, Stages,
};
use towpath_core::version::{Arch, ReleaseName, Version};

use crate::pieces;

/// The graph that a text describes.
pub fn graph(text: &str) -> Graph {
    let (data, releases) = read(text);
    Graph::build(data, releases).0
}

/// The facts of a text about a graph.
pub fn read(text: &str) -> (GraphData, Releases) {
    read_with(text, |words| panic!("{words:?} says nothing"))
}

/// The facts of a text about a graph. The caller gets all other lines.
pub fn read_with(text: &str, mut other: impl FnMut(&[&str])) -> (GraphData, Releases) {
    let mut facts = Facts {
        arches: vec![Arch::default()],
        ..Facts::default()
    };
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if !words.is_empty() && !facts.hear(&words, number) {
            other(&words);
        }
    }
    let releases = facts.releases();
    (facts.data, releases)
}

/// A day of November 2026, or an hour of one: `5` or `5T12`.
pub fn day(text: &str) -> Timestamp {
    let (day, hour) = text.split_once('T').unwrap_or((text, "00"));
    format!("2026-11-{day:0>2}T{hour}:00Z").parse().unwrap()
}

/// How a cluster is sorted, as in `canary,tier=dev`: its sector, and its labels. `-` is in nothing; none is unknown.
pub fn groups(text: Option<&str>) -> Fact<Arc<Groups>> {
    let Some(text) = text else {
        return Fact::Unknown;
    };
    let mut groups = Groups::default();
    for word in text.split(',').filter(|word| *word != "-") {
        match word.split_once('=') {
            Some((name, value)) => drop(groups.labels.insert(name.into(), value.into())),
            None => groups.sector = Some(word.into()),
        }
    }
    Fact::Known(Arc::new(groups))
}

#[derive(Default)]
struct Facts {
    data: GraphData,
    versions: BTreeSet<Version>,
    edges: Vec<(Version, Version)>,
    arches: Vec<Arch>,
}

impl Facts {
    /// Takes a line, if it is about the graph.
    fn hear(&mut self, words: &[&str], number: u32) -> bool {
        let place = |file: &str| match file {
            "data" => Place::file(file).at(number, 1),
            _ => Place::file(file),
        };
        match *words {
            ["channel", name, ref members @ ..] => {
                self.data.channels.push(ChannelSpec {
                    origin: place("data"),
                    ..pieces::channel(name, Vec::new())
                });
                let member = |text: &&str| {
                    let (name, date) = text.split_once('@').unwrap_or((text, ""));
                    let start = format!("{date}T00:00Z");
                    (name.to_owned(), (!date.is_empty()).then_some(start))
                };
                for (name, start) in members.iter().map(member) {
                    let start = start.map(|time| time.parse().unwrap());
                    self.enter(&name, |member| Member { start, ..member }, place("data"));
                }
            }
            ["release", name, ref more @ ..] => {
                let name = after(more, "only").map_or(name.into(), |arch| format!("{name}+{arch}"));
                let details = |member| Member {
                    start: after(more, "day").map(day),
                    locked: more.contains(&"locked"),
                    held: more.contains(&"held"),
                    replaces: after(more, "replaces").map(version),
                    ..member
                };
                self.enter(&name, details, place("data"));
            }
            ["rule", which, duration, ref ramp @ ..] => self.channel().rollouts.push(RolloutRule {
                edges: edges_of(which, ramp),
                start: after(ramp, "day").map(day),
                duration: match duration {
                    "held" => jiff::Span::new(),
                    text => text.parse().unwrap(),
                },
                ramp: match duration {
                    "held" => Ramp::Held,
                    _ => ramp_of(ramp),
                },
                rings: RuleRings {
                    after: span_after(ramp),
                    turns: Vec::new(),
                },
                origin: place("data"),
            }),
            ["ring", name, "sector", sector] => {
                self.ring(name, Group::Sector(sector.into()), place("data"));
            }
            ["ring", name, "label", key, value] => {
                let (name_of, value) = (key.into(), value.into());
                let group = Group::Label {
                    name: name_of,
                    value,
                };
                self.ring(name, group, place("data"));
            }
            ["turn", name, duration, ref more @ ..] => {
                let mut rings = self.channel().rings.iter();
                let at = rings.position(|ring| ring.name.as_str() == name);
                let turn = RingTurn {
                    ring: RingId::at(at.expect("a ring of the channel")),
                    after: span_after(more),
                    duration: duration.parse().unwrap(),
                    ramp: ramp_of(more),
                    origin: place("data"),
                };
                let rule = self.channel().rollouts.last_mut();
                rule.expect("a rule stands before its turns")
                    .rings
                    .turns
                    .push(turn);
            }
            ["edges", from, "->", ref to @ ..] => {
                let edges = to.iter().map(|to| (version(from), version(to)));
                self.edges.extend(edges);
            }
            ["block", ref rest @ ..] => {
                let (file, rest) = file(rest);
                self.data.blocks.push(block(rest, None, place(file)));
            }
            ["risk", name, ref rest @ ..] => {
                let (file, rest) = file(rest);
                self.data.blocks.push(block(rest, Some(name), place(file)));
            }
            ["arches", ref all @ ..] => {
                self.arches = all.iter().map(|name| Arch::new(*name)).collect();
            }
            _ => return false,
        }
        true
    }

    fn channel(&mut self) -> &mut ChannelSpec {
        let last = self.data.channels.last_mut();
        last.expect("a channel stands before what is in it")
    }

    fn ring(&mut self, name: &str, of: Group, origin: Place) {
        let name = RingName::new(name).expect("a ring's name");
        self.channel().rings.push(Ring { name, of, origin });
    }

    fn enter(&mut self, name: &str, details: impl FnOnce(Member) -> Member, origin: Place) {
        let name = ReleaseName::parse(name).unwrap();
        self.versions.insert(name.version.clone());
        let member = details(pieces::member(name));
        self.channel().members.push(Member { origin, ..member });
    }

    /// Every version that is named, and every edge, once for each architecture.
    fn releases(&mut self) -> Releases {
        let ends = self.edges.iter().flat_map(|(from, to)| [from, to]);
        self.versions.extend(ends.cloned());
        let mut all = Releases::default();
        for arch in &self.arches {
            let first = all.releases.len();
            all.releases
                .extend(self.versions.iter().map(|version| DeclaredRelease {
                    arch: arch.clone(),
                    ..pieces::release(version)
                }));
            let index = |wanted: &Version| {
                let at = self.versions.iter().position(|version| version == wanted);
                (first + at.unwrap()) as u32
            };
            let edges = self.edges.iter();
            all.edges
                .extend(edges.map(|(from, to)| pieces::edge(index(from), index(to))));
        }
        all
    }
}

/// Which edges a rule is about, by its first word and those that follow the duration.
fn edges_of(which: &str, more: &[&str]) -> EdgeMatch {
    let kind = match which {
        "any" => None,
        "patch" => Some(FromVersion::Patch),
        "minor" => Some(FromVersion::Minor),
        other => Some(FromVersion::Other(other.to_owned())),
    };
    match (after(more, "from"), after(more, "to"), kind) {
        (Some(from), Some(to), _) => EdgeMatch::Edge {
            from: version(from),
            to: version(to),
        },
        (_, Some(to), kind) => EdgeMatch::To(version(to), kind),
        (_, None, Some(kind)) => EdgeMatch::Kind(kind),
        (_, None, None) => EdgeMatch::Any,
    }
}

/// The file of a block, and the words after it.
fn file<'a>(words: &'a [&'a str]) -> (&'a str, &'a [&'a str]) {
    match words {
        [file, rest @ ..] if file.ends_with(".yaml") => (file, rest),
        _ => ("data", words),
    }
}

fn block(words: &[&str], risk: Option<&str>, origin: Place) -> Block {
    let platforms =
        |names: &str| Audience::Platforms(names.split(',').filter_map(Platform::new).collect());
    let stops = match (after(words, "on"), risk) {
        (Some(names), _) => Some(platforms(names)),
        (None, None) => Some(Audience::Everybody),
        (None, Some(_)) => None,
    };
    let rules = after(words, "rules").unwrap_or("query").split('|');
    Block {
        to: ReleaseName::parse(words[0]).unwrap(),
        from: Pattern::new(after(words, "from").unwrap_or(".*")).unwrap(),
        stops,
        risk: risk.map(|name| pieces::risk(name, rules.map(matching_rule).collect())),
        halt: after(words, "halted").map(|by| pieces::halt(by).into()),
        origin,
    }
}

fn matching_rule(name: &str) -> MatchingRule {
    match name {
        "always" => MatchingRule::Always,
        "query" => MatchingRule::PromQl("x".into()),
        "other" => MatchingRule::PromQl("y".into()),
        "later" => MatchingRule::Other("{}".into()),
        _ => panic!("{name:?} is no matching rule"),
    }
}

fn after<'a>(words: &[&'a str], word: &str) -> Option<&'a str> {
    let at = words.iter().position(|one| *one == word)?;
    Some(words[at + 1])
}

/// The ramp that is named among the words; else the usual one.
fn ramp_of(words: &[&str]) -> Ramp {
    if let Some(shares) = after(words, "stages") {
        let shares: Vec<u16> = shares
            .split(',')
            .map(|share| share.parse().unwrap())
            .collect();
        return Ramp::Stages(Stages::new(&shares).unwrap());
    }
    match words.contains(&"exponential") {
        true => Ramp::Exponential,
        false => Ramp::Linear,
    }
}

fn span_after(words: &[&str]) -> jiff::Span {
    after(words, "after").map_or_else(jiff::Span::new, |text| text.parse().unwrap())
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

//! Sheets: a small graph, compiled, answers one client; both encodings give what `recommend` gives, in valid JSON.

use std::collections::BTreeSet;
use std::io::Read;

use flate2::read::GzDecoder;
use jiff::{Span, Timestamp};
#[cfg(feature = "libfuzzer")]
use libfuzzer_sys::{arbitrary, arbitrary::Arbitrary};
use serde_json::{Value, json};
use towpath_core::cluster::{Cluster, ClusterId, Fact, Platform};
use towpath_core::finding::Place;
use towpath_core::graph::{
    Audience, Block, ChannelName, ChannelSpec, EdgeMatch, FromVersion, Graph, GraphData,
    MatchingRule, Member, Pattern, Ramp, Risk, RolloutRule, RuleRings, Situation, recommend,
};
use towpath_core::rules::Policy;
use towpath_core::version::{Arch, ReleaseName, Version};
use towpath_formats::graph::sheet::{Client, Encoding, compile};
use towpath_formats::graph::{cincinnati, releases};

#[derive(Debug)]
#[cfg_attr(feature = "libfuzzer", derive(Arbitrary))]
pub struct Input {
    /// Hours, of each release: when it enters, and whether it is locked.
    releases: [(u8, bool); 6],
    edges: Vec<(u8, u8)>,
    blocks: Vec<(u8, u8, Kind)>,
    /// Hours, for patches and for the rest.
    durations: Option<(u8, u8)>,
    exponential: bool,
    text: String,
    now: (u8, u16),
    id: Option<u16>,
    platform: Option<u8>,
}

#[derive(Debug)]
#[cfg_attr(feature = "libfuzzer", derive(Arbitrary))]
pub enum Kind {
    Hard,
    Targeted(Vec<u8>),
    Risk(u8),
    Both(u8, Vec<u8>),
    NotUnderstood,
}

pub fn fuzz(input: Input) {
    let graph = graph(&input);
    let now = hours(input.now.0) + Span::new().seconds(input.now.1 % 3600);
    let id = input.id.and_then(|id| ClusterId::new(&id.to_string()));
    let platform = input.platform.map(platform);
    let client = Client {
        id: id.as_ref(),
        platform: platform.as_ref(),
        groups: None,
        now,
    };
    let (channel, arch) = (ChannelName::new("stable").unwrap(), Arch::default());
    let [identity, gzip] = [Encoding::Identity, Encoding::Gzip].map(|encoding| {
        let sheet = compile(&graph, "stable", &arch, now, encoding);
        let body = sheet.body(&sheet.answers(client));
        let bytes = body.chunks.concat();
        assert_eq!(bytes.len() as u64, body.length);
        bytes
    });
    let mut unzipped = Vec::new();
    GzDecoder::new(gzip.as_slice())
        .read_to_end(&mut unzipped)
        .expect("a gzip body, with the right checksum");
    assert_eq!(unzipped, identity);
    let cluster = Cluster {
        id: id.into(),
        platform: platform.into(),
        channel,
        groups: Fact::Unknown,
        arch,
    };
    let view = recommend(
        Policy::graph(),
        &Situation {
            graph: &graph,
            cluster: &cluster,
            now,
        },
    );
    assert_eq!(
        parts(&identity),
        parts(cincinnati::write(&graph, &view, now).as_bytes())
    );
}

/// The nodes, and the edges and groups in an order of their own, for those are free.
fn parts(body: &[u8]) -> (Value, BTreeSet<String>, BTreeSet<String>) {
    let body: Value = serde_json::from_slice(body).expect("valid JSON");
    let texts = |list: &Value| {
        list.as_array()
            .unwrap()
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
    };
    let conditional = body["conditionalEdges"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|group| {
            texts(&group["edges"])
                .into_iter()
                .map(|edge| format!("{edge} {}", group["risks"]))
        });
    let conditional: Vec<String> = conditional.collect();
    let sets = [texts(&body["edges"]), conditional].map(|list| {
        let set: BTreeSet<String> = list.iter().cloned().collect();
        assert_eq!(set.len(), list.len(), "each edge stands there once");
        set
    });
    let [edges, conditional] = sets;
    (body["nodes"].clone(), edges, conditional)
}

fn graph(input: &Input) -> Graph {
    let version = |n: usize| format!("4.{}.{n}", 8 + n / 3).parse::<Version>().unwrap();
    let name = |n: usize| ReleaseName {
        version: version(n),
        arch: None,
    };
    let node = |n: usize| json!({"version": version(n).to_string(), "payload": "p", "metadata": {"text": input.text}});
    let index = |n: u8| usize::from(n) % input.releases.len();
    let edge = |(from, to): &(u8, u8)| json!([index(*from), index(*to)]);
    let members = input
        .releases
        .iter()
        .enumerate()
        .map(|(n, (start, locked))| Member {
            name: name(n),
            start: Some(hours(*start)),
            locked: *locked,
            held: false,
            replaces: None,
            origin: Place::file("channels"),
        });
    let ramp = if input.exponential {
        Ramp::Exponential
    } else {
        Ramp::Linear
    };
    let rule = |edges, hours: u8| {
        let (duration, origin) = (Span::new().hours(hours), Place::file("channels"));
        RolloutRule {
            edges,
            start: None,
            duration,
            ramp,
            rings: RuleRings::default(),
            origin,
        }
    };
    let rollouts = input.durations.map(|(patch, rest)| {
        vec![
            rule(EdgeMatch::Kind(FromVersion::Patch), patch),
            rule(EdgeMatch::Any, rest),
        ]
    });
    let channel = ChannelSpec {
        name: ChannelName::new("stable").unwrap(),
        rings: Vec::new(),
        rollouts: rollouts.unwrap_or_default(),
        members: members.collect(),
        origin: Place::file("channels"),
    };
    let block = |(n, (to, from, kind)): (usize, &(u8, u8, Kind))| {
        let (stops, risk) = match kind {
            Kind::Hard => (Some(Audience::Everybody), None),
            Kind::NotUnderstood => (Some(Audience::NotUnderstood("?".into())), None),
            Kind::Targeted(on) => (Some(platforms(on)), None),
            Kind::Risk(risk) => (None, Some(self::risk(*risk))),
            Kind::Both(risk, on) => (Some(platforms(on)), Some(self::risk(*risk))),
        };
        let from = Pattern::new(&format!("[{}]\\+", from % 6)).unwrap();
        Block {
            to: name(index(*to)),
            from,
            stops,
            risk,
            halt: None,
            origin: Place::file(format!("blocked-edges/{n:04}")),
        }
    };
    let blocks = input
        .blocks
        .iter()
        .take(100)
        .enumerate()
        .map(block)
        .collect();
    let data = GraphData {
        channels: vec![channel],
        blocks,
        metadata: vec![],
    };
    let nodes: Vec<Value> = (0..input.releases.len()).map(node).collect();
    let edges: Vec<Value> = input.edges.iter().map(edge).collect();
    let file = json!({"nodes": nodes, "edges": edges}).to_string();
    let (releases, _) =
        releases::read(&Place::file("releases.json"), file.as_bytes()).expect("good releases");
    Graph::build(data, releases).0
}

fn hours(hours: u8) -> Timestamp {
    Timestamp::UNIX_EPOCH + Span::new().hours(hours)
}

fn platform(number: u8) -> Platform {
    Platform::new(Platform::KNOWN[usize::from(number % 8)]).unwrap()
}

fn platforms(numbers: &[u8]) -> Audience {
    Audience::Platforms(
        numbers
            .iter()
            .map(|n| platform(*n))
            .chain([platform(0)])
            .collect(),
    )
}

fn risk(number: u8) -> Risk {
    let name = format!("R{}", number % 8);
    Risk {
        name,
        url: "https://u".into(),
        message: "m".into(),
        matching_rules: vec![MatchingRule::Always],
    }
}

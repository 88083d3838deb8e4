//! A picture is not a second truth: what it says of an update is what `explain` says.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use expect_test::expect;
use jiff::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use towpath_core::cluster::{Cluster, Fact};
use towpath_core::graph::rules::{Edges, Managed};
use towpath_core::graph::{ChannelName, Graph, Situation, StaleCause, StaleSource, explain};
use towpath_core::path::Asker;
use towpath_core::picture::{ChannelChoice, PictureRequest, Undrawn, picture};
use towpath_core::rules::Rule;
use towpath_core::version::{Arch, Minors, Version};
use towpath_formats::graph::explain::{self as told_explain, ExplainReport};
use towpath_formats::minors::built_in;
use towpath_formats::picture::{ChannelsReport, PictureReport, json, text};
use towpath_formats::room::Room;
use towpath_testing_graphs::graph;
use towpath_testing_graphs::random::{CHANNELS, HOURS, any_cluster, any_graph, at};

/// Each case is one update, as both tell it.
const CASES: usize = 10_000;

static MINORS: LazyLock<Minors> = LazyLock::new(built_in);

/// Who asks about which channels, and when.
struct Question<'a> {
    graph: &'a Graph,
    channels: &'a [ChannelName],
    asker: Asker,
    more: &'a [&'a dyn Rule<Edges>],
    now: Timestamp,
}

impl Question<'_> {
    fn picture(&self) -> Value {
        let request = PictureRequest {
            channels: ChannelChoice::Named(self.channels),
            asker: &self.asker,
            minors: &MINORS,
            more: self.more,
            now: self.now,
        };
        let picture = picture(self.graph, &request).unwrap();
        let told = PictureReport {
            graph: self.graph,
            asker: &self.asker,
            now: self.now,
            picture: &picture,
        };
        assert!(!text(&told, Room::default()).is_empty());
        json(&told)
    }

    /// What `explain` says of each update, by channel.
    fn all_explained(&self) -> BTreeMap<(String, String), BTreeMap<&str, Value>> {
        let mut all: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for channel in self.channels {
            let members = self.graph.channel(channel.as_str()).unwrap().members.iter();
            let releases = members.map(|(id, _)| self.graph.release(*id));
            for release in releases.filter(|release| release.arch == self.asker.arch) {
                for candidate in self.explained(channel, &release.version) {
                    let to = candidate["to"].as_str().unwrap().to_owned();
                    let ends = (release.version.to_string(), to);
                    all.entry(ends)
                        .or_default()
                        .insert(channel.as_str(), candidate);
                }
            }
        }
        all
    }

    fn explained(&self, channel: &ChannelName, from: &Version) -> Vec<Value> {
        let cluster = self.asker.in_channel(channel);
        let at = Situation {
            graph: self.graph,
            cluster: &cluster,
            now: self.now,
        };
        let explanation = explain(&at, from, None, &MINORS, self.more);
        let told = ExplainReport {
            at: &at,
            from,
            explanation: &explanation,
        };
        let mut json = told_explain::json(&told);
        match json["candidates"].take() {
            Value::Array(candidates) => candidates,
            other => panic!("{other}"),
        }
    }
}

/// What a candidate of an explanation is, in the fields that a picture has.
fn fields(candidate: &Value, channel: &str) -> Value {
    let reasons = candidate["reasons"].as_array().unwrap().iter();
    let codes: BTreeSet<&str> = reasons
        .map(|reason| reason["code"].as_str().unwrap())
        .collect();
    serde_json::json!({
        "kind": candidate["kind"],
        "answer": candidate["answer"],
        "channel": channel,
        "share": candidate["share"],
        "offeredFrom": candidate["offeredFrom"],
        "risks": candidate["risks"],
        "codes": codes,
    })
}

/// When it is offered; of what is never offered, and of what nobody knows, as late as can be.
fn opens(candidate: &Value) -> Timestamp {
    let from = candidate["offeredFrom"].as_str();
    from.map_or(Timestamp::MAX, |from| from.parse().unwrap())
}

fn asker(cluster: Cluster) -> Asker {
    let Cluster {
        id,
        platform,
        groups,
        arch,
        ..
    } = cluster;
    Asker {
        id,
        platform,
        groups,
        arch,
    }
}

#[test]
fn every_update_is_what_explain_says_it_is() {
    let compared = Cell::new(0);
    let names = CHANNELS.map(|name| ChannelName::new(name).unwrap());
    let channels = proptest::sample::subsequence(names.to_vec(), 1..=2);
    let managed = proptest::option::of((
        "4[.][89][.][0-4]",
        proptest::collection::btree_set("4[.][89][.][0-4]", 0..4),
    ));
    let cases = (
        any_graph(),
        any_cluster(),
        0..HOURS * 90,
        channels,
        managed,
        proptest::bool::weighted(0.05),
    );
    while compared.get() < CASES {
        // A runner counts what it has run, so each round has its own.
        let mut runner = TestRunner::new(Config {
            failure_persistence: None,
            ..Config::with_cases(200)
        });
        let run = runner.run(
            &cases,
            |(graph, cluster, now, channels, managed, is_stale)| {
                let stale = StaleSource {
                    source: "data".into(),
                    last_good: at(0),
                    cause: StaleCause::NotSigned,
                };
                let graph = graph.with_stale(Vec::from_iter(is_stale.then_some(stale)));
                let rule = managed.map(|(from, to)| Managed {
                    from: from.parse().unwrap(),
                    to: to.iter().map(|to| to.parse().unwrap()).collect(),
                });
                let more: Vec<&dyn Rule<Edges>> =
                    rule.iter().map(|rule| rule as &dyn Rule<Edges>).collect();
                if !graph.arches().any(|arch| *arch == cluster.arch) {
                    return Ok(());
                }
                let question = Question {
                    graph: &graph,
                    channels: &channels,
                    asker: asker(cluster),
                    more: &more,
                    now: at(now),
                };
                compared.set(compared.get() + agree(&question)?);
                Ok(())
            },
        );
        run.unwrap();
    }
}

/// Compares, and returns how many updates there were.
fn agree(question: &Question<'_>) -> Result<usize, TestCaseError> {
    let told = question.picture();
    let explained = question.all_explained();
    let releases = told["releases"].as_array().unwrap();
    let version = |index: &Value| {
        let release = &releases[index.as_u64().unwrap() as usize];
        release["version"].as_str().unwrap().to_owned()
    };
    let answers = told["answers"].as_array().unwrap();
    let mut drawn = BTreeSet::new();
    for edge in told["edges"].as_array().unwrap() {
        let ends = (version(&edge[0]), version(&edge[1]));
        let answer = &answers[edge[2].as_u64().unwrap() as usize];
        let said = &explained[&ends];
        let channel = answer["channel"].as_str().unwrap();
        prop_assert_eq!(
            &fields(&said[channel], channel),
            answer,
            "{} {:?}",
            channel,
            ends
        );
        let best = said.values().map(opens).min();
        prop_assert_eq!(best, Some(opens(&said[channel])), "{:?}", ends);
        prop_assert!(drawn.insert(ends), "each stands once");
    }
    // Nothing is left out that `explain` lists, and nothing else is drawn.
    prop_assert_eq!(&drawn, &explained.into_keys().collect());
    Ok(drawn.len())
}

const EXAMPLE: &str = "
    channel fast-4.10 4.9.0 4.9.1 4.10.0-rc.1 4.10.0
    release 4.10.1 day 5
    release 4.10.2 day 20
    rule any P4D
    channel stable-4.10 4.9.0 4.9.1 4.10.0
    edges 4.9.0 -> 4.9.1 4.10.0 4.10.0-rc.1
    edges 4.9.1 -> 4.10.0 4.10.1
    edges 4.10.0-rc.1 -> 4.10.0
    edges 4.10.0 -> 4.10.1 4.10.2
    block 4.10.0 from 4[.]9[.]0 on AWS
    risk Slow 4.9.1
";

fn drawn(channels: &[&str], now: &str) -> (Value, String) {
    let graph = graph(EXAMPLE);
    let names: Vec<ChannelName> = channels
        .iter()
        .map(|name| ChannelName::new(name).unwrap())
        .collect();
    let asker = Asker {
        id: Fact::Unknown,
        platform: Fact::Unknown,
        groups: Fact::Unknown,
        arch: Arch::default(),
    };
    let request = PictureRequest {
        channels: ChannelChoice::Named(&names),
        asker: &asker,
        minors: &MINORS,
        more: &[],
        now: now.parse().unwrap(),
    };
    let picture = picture(&graph, &request).unwrap();
    let told = PictureReport {
        graph: &graph,
        asker: &asker,
        now: request.now,
        picture: &picture,
    };
    (json(&told), text(&told, Room::default()))
}

#[test]
fn a_picture_reads_as_a_table() {
    let (_, text) = drawn(&["fast-4.10"], "2026-11-06T00:00Z");
    expect![[r#"
        fast-4.10 (amd64), a cluster that does not tell its id, on an unknown platform, at 2026-11-06 00:00Z
        6 releases, 8 updates
          3  offered
          1  offered, with risks that the cluster weighs
          2  phasing in: the rollout has not reached this cluster
          1  a release enters the channel later
          1  blocked for this cluster's platform

         RELEASE                            OFFERED FROM  NOT OFFERED FROM  WHY               NEXT OPENS
         4.10.2 (enters 2026-11-20 00:00Z)             0                 1  entering 1        2026-11-24 00:00Z
         4.10.1                                        0                 2  phasing 2         2026-11-09 00:00Z
         4.10.0                                        2                 1  notForPlatform 1  -
         4.10.0-rc.1                                   1                 0  -                 -
         4.9.1                                         1                 0  -                 -
         4.9.0                                         0                 0  -                 -
    "#]].assert_eq(&text);
}

#[test]
fn the_order_in_which_channels_are_named_changes_nothing() {
    let now = "2026-11-06T00:00Z";
    let (one, _) = drawn(&["stable-4.10", "fast-4.10", "stable-4.10"], now);
    assert_eq!(one, drawn(&["fast-4.10", "stable-4.10"], now).0);
    assert_eq!(
        one["channels"],
        serde_json::json!(["fast-4.10", "stable-4.10"])
    );
}

#[test]
fn what_is_not_there_is_not_drawn() {
    let graph = graph(EXAMPLE);
    let names = [ChannelName::new("slow-4.10").unwrap()];
    let draw = |channels, arch: &str| {
        let asker = Asker {
            id: Fact::Unknown,
            platform: Fact::Unknown,
            groups: Fact::Unknown,
            arch: Arch::new(arch),
        };
        let request = PictureRequest {
            channels,
            asker: &asker,
            minors: &MINORS,
            more: &[],
            now: at(0),
        };
        picture(&graph, &request).map(|picture| picture.edges.len())
    };
    assert_eq!(
        draw(ChannelChoice::Named(&names), "amd64"),
        Err(Undrawn::NoChannel(names[0].clone()))
    );
    assert_eq!(
        draw(ChannelChoice::All, "s390x"),
        Err(Undrawn::NoArch(Arch::new("s390x")))
    );
    assert_eq!(draw(ChannelChoice::Named(&[]), "amd64"), Ok(0));
}

#[test]
fn channels_are_listed_with_what_has_entered() {
    let graph = graph(EXAMPLE);
    let report = ChannelsReport::of(&graph, None, "2026-11-06T00:00Z".parse().unwrap()).unwrap();
    expect![[r#"
        2 channels (amd64), at 2026-11-06 00:00Z

         CHANNEL      RELEASES  NEWEST  MINOR VERSIONS
         fast-4.10           5  4.10.1  4.9, 4.10
         stable-4.10         3  4.10.0  4.9, 4.10
        {"arch":null,"architectures":["amd64"],"at":"2026-11-06T00:00:00Z","channels":[{"architectures":["amd64"],"minors":["4.9","4.10"],"name":"fast-4.10","newest":"4.10.1","releases":5},{"architectures":["amd64"],"minors":["4.9","4.10"],"name":"stable-4.10","newest":"4.10.0","releases":3}]}
    "#]].assert_eq(&format!(
        "{}{}\n",
        report.text(Room::default()),
        report.json()
    ));
    let other = Arch::new("s390x");
    assert!(ChannelsReport::of(&graph, Some(&other), at(0)).is_none());
}

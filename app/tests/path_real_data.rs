//! Ways over the real data: those that were measured on the public service's graphs, and every hop offered when it is taken.
//!
//! The data is not part of this repository. Where `TOWPATH_REAL_DATA` names it these tests run; elsewhere each
//! is listed as ignored.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "in a test, a panic is the finding"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use towpath_core::cluster::Fact;
use towpath_core::finding::Place;
use towpath_core::graph::{ChannelName, Graph, ReleaseId, Situation, recommend};
use towpath_core::path::{
    Asker, Budget, Goal, Pace, Plan, Preference, Request, RiskPolicy, UncachedStepGraphs, paths,
    paths_within,
};
use towpath_core::rules::Policy;
use towpath_core::version::Arch;
use towpath_formats::graph::{data, releases};
use towpath_formats::minors::built_in;
use towpath_formats::path;

const NOW: &str = "2026-08-21T12:00Z";

/// What is asked, of which files, and the ways that were measured (docs of the public service's graphs).
const MEASURED: [(&str, &str, &str); 6] = [
    (
        "4.8.2 4.10.67 --graph production/eus-4.10.json",
        "eus-4.10",
        "4.8.57 4.9.59 4.10.67",
    ),
    (
        "4.14.0 4.16.68 --graph production/eus-4.16.json",
        "eus-4.16",
        "4.14.70 4.15.67 4.16.68",
    ),
    (
        "4.8.2 newest --graph production/eus-4.10.json",
        "eus-4.10",
        "4.8.57 4.9.59 4.10.67",
    ),
    (
        "4.4.3 4.5 --graph history/stable-4.5@2021-01-12.json",
        "stable-4.5",
        "4.4.29 4.5.24",
    ),
    (
        "4.8.2 4.10.67 --channel eus-4.10 GRAPH-DATA",
        "eus-4.10",
        "4.8.57 4.9.59 4.10.67",
    ),
    (
        "4.14.0 4.16 --channel eus-4.16 GRAPH-DATA",
        "eus-4.16",
        "4.14.70 4.15.67 4.16.68",
    ),
];

/// What is tried, given the data.
type Test = Box<dyn Fn(&Path) -> Result<(), Failed> + Send>;

fn main() {
    let data = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    let trial = |name: String, test: Test| {
        let path = data.clone().unwrap_or_default();
        Trial::test(name, move || test(&path)).with_ignored_flag(data.is_none())
    };
    let mut trials: Vec<Trial> = Vec::new();
    for (asked, channel, expected) in MEASURED {
        let test = move |data: &Path| measured(data, asked, channel, expected);
        trials.push(trial(
            format!("measured::{}", asked.replace(' ', "_")),
            Box::new(test),
        ));
    }
    for (asked, hops) in [
        ("4.6.1 4.10.67 --via eus GRAPH-DATA", 5),
        ("4.1.0 4.22.9 --via stable GRAPH-DATA", 22),
    ] {
        let test = move |data: &Path| counted(data, asked, hops);
        trials.push(trial(
            format!("hops::{}", asked.replace(' ', "_")),
            Box::new(test),
        ));
    }
    trials.push(trial(
        "not_in_the_channel".to_owned(),
        Box::new(not_in_the_channel),
    ));
    trials.push(trial("replayed".to_owned(), Box::new(replayed)));
    trials.push(trial("steps".to_owned(), Box::new(steps)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn ask(data: &Path, asked: &str, more: &[&str]) -> Result<(Option<i32>, String), Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
    command.current_dir(data).arg("path");
    for word in asked.split(' ') {
        match word {
            "GRAPH-DATA" => command.args([
                "--graph-data",
                "graph-data",
                "--releases",
                "releases-amd64.json",
            ]),
            word => command.arg(word),
        };
    }
    let done = command.args(["--now", NOW]).args(more).output()?;
    Ok((
        done.status.code(),
        String::from_utf8([done.stdout, done.stderr].concat())?,
    ))
}

fn hops(data: &Path, asked: &str) -> Result<Vec<Value>, Failed> {
    let (code, told) = ask(data, asked, &["--output", "json"])?;
    let told: Value = serde_json::from_str(&told).map_err(|error| format!("{error}: {told}"))?;
    assert_eq!(
        (code, &told["found"]),
        (Some(0), &Value::Bool(true)),
        "{told:#}"
    );
    Ok(told["paths"][0]["hops"].as_array().ok_or("hops")?.clone())
}

fn measured(data: &Path, asked: &str, channel: &str, expected: &str) -> Result<(), Failed> {
    let hops = hops(data, asked)?;
    let to: Vec<&str> = hops.iter().filter_map(|hop| hop["to"].as_str()).collect();
    assert_eq!(to.join(" "), expected);
    for hop in &hops {
        assert_eq!(hop["channel"], channel);
        assert!(
            hop["payload"]
                .as_str()
                .is_some_and(|payload| payload.contains("@sha256:")),
            "{hop}"
        );
        assert!(
            hop["url"]
                .as_str()
                .is_some_and(|url| url.starts_with("https://")),
            "{hop}"
        );
        assert_eq!(hop["risks"], serde_json::json!([]));
    }
    Ok(())
}

fn counted(data: &Path, asked: &str, expected: usize) -> Result<(), Failed> {
    assert_eq!(hops(data, asked)?.len(), expected);
    Ok(())
}

fn not_in_the_channel(data: &Path) -> Result<(), Failed> {
    let (code, told) = ask(
        data,
        "4.4.3 4.6 --graph history/stable-4.6@2021-01-12.json",
        &[],
    )?;
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains("4.4.3 is not in stable-4.6: there is no such release for amd64"),
        "{told}"
    );
    // The file for stable-4.5 knows it, and says where it is.
    let both = "4.4.3 4.6 --graph history/stable-4.5@2021-01-12.json --graph history/stable-4.6@2021-01-12.json";
    let (code, told) = ask(data, &format!("{both} --channel stable-4.6"), &[])?;
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains("4.4.3 is not in stable-4.6, but in stable-4.5."),
        "{told}"
    );
    Ok(())
}

/// What a service gives a question is far more than any takes: a hundred times the dearest that asks for one way, ten times that for five, and
/// more than twice that for as many as can be asked for. docs/path.md has the numbers.
fn steps(data: &Path) -> Result<(), Failed> {
    let (graph, pace) = (real_graph(data)?, Pace::usual());
    // Twenty paths take long: every 212th release is asked.
    for (ways, times, every) in [(1, 100, 53), (5, 8, 53), (Request::MAX_WAYS, 1, 212)] {
        let mut most = (0, String::new());
        for via in ["eus", "stable", "fast,candidate"] {
            for prefer in [
                Preference::FewestHops,
                Preference::Safest,
                Preference::Soonest,
            ] {
                for release in graph.releases().iter().step_by(every) {
                    let request = Request {
                        from: release.version.clone(),
                        goal: Goal::Newest,
                        via: path::via(via).ok_or("channels")?,
                        risks: RiskPolicy::Unknown,
                        prefer,
                        ways,
                        asker: Asker {
                            id: Fact::Unknown,
                            platform: Fact::Unknown,
                            groups: Fact::Unknown,
                            arch: Arch::default(),
                        },
                        minors: built_in(),
                        now: NOW.parse::<Timestamp>()?,
                    };
                    let budget = Budget::new(Budget::OF_A_QUESTION, &|| false);
                    let answer = paths_within(
                        &graph,
                        &UncachedStepGraphs,
                        &request,
                        &pace.lasts(&graph),
                        &budget,
                    );
                    assert!(answer.is_ok(), "{answer:?}");
                    most = most.max((
                        budget.taken(),
                        format!("{} through {via}, {prefer:?}", release.version),
                    ));
                }
            }
        }
        assert!(
            most.0 * times <= Budget::OF_A_QUESTION,
            "{} takes {} steps",
            most.1,
            most.0
        );
    }
    Ok(())
}

fn real_graph(data: &Path) -> Result<Graph, Failed> {
    let files = towpath_sources::read_directory(&data.join("graph-data"), data::is_part)
        .map_err(|f| f.to_string())?;
    let (graph_data, _) = data::read(&files).map_err(|findings| format!("{findings:#?}"))?;
    let bytes = std::fs::read(data.join("releases-amd64.json"))?;
    let (releases, _) =
        releases::read(&Place::file("r"), &bytes).map_err(|findings| format!("{findings:#?}"))?;
    Ok(Graph::build(graph_data, releases).0)
}

/// Ways between many releases, replayed hop by hop against what a client is shown.
fn replayed(data: &Path) -> Result<(), Failed> {
    let graph = real_graph(data)?;
    let (mut replayed, mut shown, pace) = (0, Shown::default(), Pace::usual());
    for via in ["eus", "stable", "fast,candidate"] {
        for prefer in [
            Preference::FewestHops,
            Preference::Safest,
            Preference::Soonest,
        ] {
            for release in graph.releases().iter().step_by(41) {
                let request = Request {
                    from: release.version.clone(),
                    goal: Goal::Newest,
                    via: path::via(via).ok_or("channels")?,
                    risks: RiskPolicy::Unknown,
                    prefer,
                    ways: 2,
                    asker: Asker {
                        id: Fact::Unknown,
                        platform: Fact::Unknown,
                        groups: Fact::Unknown,
                        arch: Arch::default(),
                    },
                    minors: built_in(),
                    now: NOW.parse::<Timestamp>()?,
                };
                for plan in paths(&graph, &request, &pace.lasts(&graph))
                    .into_iter()
                    .flat_map(|found| found.plans)
                {
                    replayed += shown.replay(&graph, &request, &plan);
                }
            }
        }
    }
    assert!(replayed > 1000, "only {replayed} hops were replayed");
    Ok(())
}

/// What clients of each channel are shown. This data has no rollouts, so it is the same at all later times.
#[derive(Default)]
struct Shown(BTreeMap<ChannelName, BTreeSet<(ReleaseId, ReleaseId)>>);

impl Shown {
    fn replay(&mut self, graph: &Graph, request: &Request, plan: &Plan) -> usize {
        for hop in &plan.hops {
            assert_eq!(hop.opens, request.now, "{hop:?}");
            let edges = self.0.entry(hop.channel.clone()).or_insert_with(|| {
                let cluster = request.asker.in_channel(&hop.channel);
                let view = recommend(
                    Policy::graph(),
                    &Situation {
                        graph,
                        cluster: &cluster,
                        now: request.now,
                    },
                );
                view.offered()
                    .map(|(edge, _)| (edge.from, edge.to))
                    .collect()
            });
            assert!(edges.contains(&(hop.from, hop.to)), "{hop:?}");
        }
        plan.hops.len()
    }
}

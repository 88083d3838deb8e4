//! Views: what a page asks of a fleet of 100,000 clusters, over HTTP, one question after the other.
//!
//! Passes go on beside them. The first question after each pass also pays for what is found out once for all clusters.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::bars::Bars;
use super::fleet_files;
use super::http::{self, Encoding};
use super::scratch::Scratch;
use super::synthetic::Synthetic;
use super::table::{Table, shown_micros};
use super::towpath::{Inputs, Towpath};
use crate::say::say;

const CLUSTERS: usize = 100_000;
const RELEASES: usize = 1_000;
/// How often each question is asked.
const ROUNDS: usize = 40;
/// How long the first pass may take: it also records the list.
const PATIENCE: Duration = Duration::from_secs(600);

/// Each question: what it is, the target, and the bar in milliseconds.
const QUESTIONS: [(&str, &str, Option<f64>); 9] = [
    ("first view of the table", "clusters?limit=200", Some(300.0)),
    (
        "search",
        "clusters?search=cluster-4711&limit=200",
        Some(100.0),
    ),
    (
        "search, nobody",
        "clusters?search=nobody&limit=200",
        Some(100.0),
    ),
    ("held by soak", "clusters?held-by=soak&limit=200", None),
    ("longest silent", "clusters?sort=seen&limit=200", None),
    ("sectors", "sectors", None),
    ("matrix of sectors", "matrix", None),
    ("matrix of clusters", "matrix?by=cluster&limit=50", None),
    ("calendar", "calendar", None),
];

/// Serves the fleet of a list, and asks.
pub(super) fn measure(binary: &Path, scratch: &Scratch, bars: &mut Bars) -> anyhow::Result<()> {
    let graph = Synthetic::write(scratch.folder(), RELEASES)?;
    scratch.write("views/organisation.yaml", fleet_files::organisation())?;
    let list = scratch.write("views.json", fleet_files::cluster_list(CLUSTERS))?;
    let store = format!("sqlite:{}", scratch.folder().join("views.db").display());
    let policy = scratch.folder().join("views");
    let arguments: Vec<OsString> = [
        "--pass-every".into(),
        "5s".into(),
        "--store".into(),
        store.into(),
        "--fleet".into(),
        policy.into(),
        "--clusters".into(),
        list.into(),
        "--open-reads".into(),
    ]
    .into();
    let inputs = Inputs::new(&graph.graph_data, &graph.releases).with_fleet(arguments);
    let towpath = Towpath::start(binary, &inputs, scratch)?;
    let begun = Instant::now();
    while ask(&towpath, "clusters?limit=1").is_err() {
        ensure!(begun.elapsed() < PATIENCE, "no pass within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(500));
    }
    let mut table = Table::new(["question", "bytes", "p50", "slowest", "bar"]);
    for (name, target, bar) in QUESTIONS {
        let (mut micros, mut bytes) = (Vec::new(), 0);
        for _ in 0..ROUNDS {
            let (took, size) = ask(&towpath, target)?;
            micros.push(took);
            bytes = size;
        }
        micros.sort_by(f64::total_cmp);
        let (middle, slowest) = (micros[ROUNDS / 2], micros[ROUNDS - 1]);
        let verdict = bar.map(|bar| {
            let what = format!("{name} of {CLUSTERS} clusters, slowest, in ms");
            bars.at_most(&what, slowest / 1e3, bar)
        });
        table.row([
            name.to_owned(),
            bytes.to_string(),
            shown_micros(middle),
            shown_micros(slowest),
            verdict.unwrap_or_default(),
        ]);
    }
    say(format!(
        "\nviews of {CLUSTERS} clusters, {ROUNDS} times each, one after the other, with a pass every 5 s\n{table}"
    ))
}

/// How long an answer took, in microseconds, and how many bytes it has.
fn ask(towpath: &Towpath, target: &str) -> anyhow::Result<(f64, usize)> {
    let asked = Instant::now();
    let target = format!("/api/v1/fleet/{target}");
    let answer = http::get(towpath.port, &target, Encoding::Identity)?;
    let micros = asked.elapsed().as_secs_f64() * 1e6;
    ensure!(
        answer.status == 200,
        "{target} is answered with {}",
        answer.status
    );
    Ok((micros, answer.body.len()))
}

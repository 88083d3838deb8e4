//! `cargo xtask bench path`: paths between random releases of the real data, through many channels at once.
//!
//! The service answers one question after the other over HTTP; the times include the connection. A question is about one
//! of five architectures, each with all edges of the real data.
//!
//! Then it asks graphs of growing size: the processor time per question must not grow faster than the edges.

use std::fs;
use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::bars::Bars;
use super::http::{self, Encoding};
use super::scratch::Scratch;
use super::synthetic::Synthetic;
use super::table::{Table, shown_micros};
use super::towpath::{Inputs, Towpath};
use super::{Options, real_data, tools};
use crate::Outcome;
use crate::say::say;

/// The slowest hundredth, in milliseconds.
const P99_MILLISECONDS: f64 = 10.0;
/// How many questions of each kind are asked.
const QUESTIONS: usize = 2000;

/// Asks, prints, and says whether the bar was missed.
pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let source = real_data::find()?;
    let binary = tools::build_towpath(&options.profile)?;
    let scratch = Scratch::new("path")?;
    let mut bars = Bars::default();
    let mut table = Table::new([
        "releases", "question", "asked", "found", "p50", "p99", "slowest", "bar",
    ]);
    for file in ["releases-amd64.json", "releases-five-archs.json"] {
        let releases = source.join(file);
        let versions = versions(&releases)?;
        let towpath = Towpath::start(
            &binary,
            &Inputs::new(&source.join("graph-data"), &releases),
            &scratch,
        )?;
        for more in [
            "via=stable",
            "via=eus",
            "via=stable,fast,eus",
            "via=stable,fast,eus,candidate&risks=unknown",
        ] {
            table.row(measured(file, more, &versions, &towpath, &mut bars)?);
        }
        let all = "via=stable,fast,eus,candidate&risks=unknown";
        let preferring = ["safest", "soonest"].map(|prefer| {
            [
                format!("via=stable&prefer={prefer}"),
                format!("{all}&prefer={prefer}"),
            ]
        });
        for more in preferring
            .iter()
            .flatten()
            .map(String::as_str)
            .chain(["via=stable&to=newest"])
        {
            table.row(measured(file, more, &versions, &towpath, &mut bars)?);
        }
    }
    say(format!("\nways between random releases of amd64\n{table}"))?;
    say(format!(
        "\nways in graphs of growing size, via=stable\n{}",
        growth(&binary, &mut bars)?
    ))?;
    match bars.missed() {
        [] => say("every bar is met")?,
        missed => missed
            .iter()
            .try_for_each(|sentence| say(format!("missed: {sentence}")))?,
    }
    Ok(bars.outcome())
}

/// How many releases each row has.
const SIZES: [usize; 3] = [1_000, 3_000, 10_000];
/// How many questions each graph is asked.
const GROWTH_QUESTIONS: usize = 500;
/// By so much the processor time per question and edge may grow from the first row on: noise, not another order.
const GROWTH: f64 = 1.5;

/// What a question costs the processor as edges become more.
fn growth(binary: &std::path::Path, bars: &mut Bars) -> anyhow::Result<Table> {
    let mut table = Table::new([
        "releases",
        "edges",
        "CPU per question",
        "per edge",
        "ratio",
        "bar",
    ]);
    let mut first = None;
    for releases in SIZES {
        let scratch = Scratch::new("path-growth")?;
        let graph = Synthetic::write(scratch.folder(), releases)?;
        let towpath = Towpath::start(
            binary,
            &Inputs::new(&graph.graph_data, &graph.releases),
            &scratch,
        )?;
        let versions = versions(&graph.releases)?;
        let ask = |numbers: std::ops::Range<usize>| {
            numbers
                .into_iter()
                .try_for_each(|number| ask(&towpath, "via=stable", &versions, number).map(drop))
        };
        // Once, so that what is kept for all questions is there.
        ask(0..1)?;
        let before = towpath.processor_seconds()?;
        ask(1..1 + GROWTH_QUESTIONS)?;
        let micros = (towpath.processor_seconds()? - before) / GROWTH_QUESTIONS as f64 * 1e6;
        let per_edge = micros / graph.edges as f64;
        let ratio = per_edge / *first.get_or_insert(per_edge);
        let bar = bars.at_most(
            &format!("processor time per question and edge with {releases} releases, to the first"),
            ratio,
            GROWTH,
        );
        table.row([
            releases.to_string(),
            graph.edges.to_string(),
            shown_micros(micros),
            format!("{:.1} ns", per_edge * 1e3),
            format!("{ratio:.2}"),
            bar,
        ]);
    }
    Ok(table)
}

/// The versions of amd64 that a file has.
fn versions(releases: &std::path::Path) -> anyhow::Result<Vec<String>> {
    let text =
        fs::read(releases).with_context(|| format!("{}: cannot be read", releases.display()))?;
    let graph: Value = serde_json::from_slice(&text)?;
    let nodes = graph["nodes"].as_array().context("a graph has nodes")?;
    let names = nodes
        .iter()
        .filter_map(|node| node["version"].as_str()?.strip_suffix("+amd64"));
    Ok(names.map(str::to_owned).collect())
}

fn measured(
    file: &str,
    more: &str,
    versions: &[String],
    towpath: &Towpath,
    bars: &mut Bars,
) -> anyhow::Result<[String; 8]> {
    let mut micros = Vec::new();
    let mut found = 0;
    for number in 0..QUESTIONS {
        let (took, told) = ask(towpath, more, versions, number)?;
        micros.push(took);
        found += usize::from(told["found"] == true);
    }
    micros.sort_by(f64::total_cmp);
    let at = |share: f64| micros[((micros.len() - 1) as f64 * share) as usize];
    let bar = bars.at_most(
        &format!("p99 of {more} on {file}, in ms"),
        at(0.99) / 1e3,
        P99_MILLISECONDS,
    );
    let figures = [at(0.5), at(0.99), at(1.0)].map(shown_micros);
    let [p50, p99, slowest] = figures;
    Ok([
        file.to_owned(),
        more.to_owned(),
        QUESTIONS.to_string(),
        found.to_string(),
        p50,
        p99,
        slowest,
        bar.to_string(),
    ])
}

/// Asks one question: how long the answer took, in microseconds, and the answer.
fn ask(
    towpath: &Towpath,
    more: &str,
    versions: &[String],
    number: usize,
) -> anyhow::Result<(f64, Value)> {
    let (from, to) = (
        &versions[scattered(2 * number) % versions.len()],
        &versions[scattered(2 * number + 1) % versions.len()],
    );
    let target = match more.contains("to=") {
        true => format!("/api/v1/path?from={from}&{more}"),
        false => format!("/api/v1/path?from={from}&to={to}&{more}"),
    };
    let asked = Instant::now();
    let answer = http::get(towpath.port, &target, Encoding::Identity)?;
    let micros = asked.elapsed().as_secs_f64() * 1e6;
    ensure!(
        answer.status == 200,
        "{target} is answered with {}",
        answer.status
    );
    Ok((micros, serde_json::from_slice(&answer.body)?))
}

/// The same numbers in each run, all over the place.
fn scattered(number: usize) -> usize {
    (number as u64 + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9) as usize
        >> 8
}

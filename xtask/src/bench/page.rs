//! `cargo xtask bench page`: what the page asks for first, over the real data: pictures of channels.
//!
//! The service answers one question after the other over HTTP; the times include the connection. Clients that tell an id are
//! answered one by one. A plain graph request for the same channel says how fast the machine is: compare ratios.

use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::bars::Bars;
use super::http::{self, Encoding};
use super::scratch::Scratch;
use super::table::{Table, shown_micros};
use super::towpath::{Inputs, Towpath};
use super::{Options, median, page_browser, real_data, tools};
use crate::Outcome;
use crate::page as page_chores;
use crate::say::say;

/// The biggest real channel.
const BIGGEST: &str = "candidate-4.14";
/// How often each question is asked.
const QUESTIONS: usize = 30;

/// A question, how slow its answer may be in milliseconds, and how large compressed.
struct Case {
    channels: &'static str,
    slowest_milliseconds: f64,
    largest_kib: f64,
}

const CASES: [Case; 3] = [
    Case {
        channels: BIGGEST,
        slowest_milliseconds: 100.0,
        largest_kib: 120.0,
    },
    Case {
        channels: "stable-4.20,fast-4.20,eus-4.20,candidate-4.20",
        slowest_milliseconds: 100.0,
        largest_kib: 120.0,
    },
    Case {
        channels: "*",
        slowest_milliseconds: 1_000.0,
        largest_kib: 1_000.0,
    },
];

/// Asks, prints, and says whether a bar was missed.
pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let source = real_data::find()?;
    page_chores::install_for_browser()?;
    let binary = tools::build_towpath(&options.profile)?;
    let scratch = Scratch::new("page")?;
    let mut bars = Bars::default();
    let mut table = Table::new([
        "releases", "channels", "drawn", "updates", "answers", "gzip", "p50", "slowest", "kept",
        "graph", "ratio", "bars",
    ]);
    let mut in_browser = String::new();
    for file in ["releases-amd64.json", "releases-five-archs.json"] {
        let inputs = Inputs::new(&source.join("graph-data"), &source.join(file));
        let towpath = Towpath::start(&binary, &inputs, &scratch)?;
        for case in &CASES {
            table.row(measured(file, case, &towpath, &mut bars)?);
        }
        let browser = page_browser::measured(&towpath, &mut bars)?;
        in_browser += &format!("\nthe page in Chromium, {file}\n{browser}");
    }
    say(format!("\npictures of channels, for amd64\n{table}"))?;
    say(in_browser)?;
    match bars.missed() {
        [] => say("every bar is met")?,
        missed => missed
            .iter()
            .try_for_each(|sentence| say(format!("missed: {sentence}")))?,
    }
    Ok(bars.outcome())
}

fn measured(
    file: &str,
    case: &Case,
    towpath: &Towpath,
    bars: &mut Bars,
) -> anyhow::Result<[String; 12]> {
    let target = format!("/api/v1/graph?channel={}", case.channels);
    let whole: Value = serde_json::from_slice(&ask(towpath, &target, Encoding::Identity)?.1)?;
    let count = |list: &str| -> anyhow::Result<String> {
        let list = whole[list].as_array().context("a picture has lists")?;
        Ok(list.len().to_string())
    };
    let mut micros = Vec::new();
    let mut bytes = 0;
    for number in 0..QUESTIONS {
        let (took, body) = ask(
            towpath,
            &format!("{target}&id=cluster-{number}"),
            Encoding::Gzip,
        )?;
        micros.push(took);
        bytes = bytes.max(body.len());
    }
    let many = |target: &str| -> anyhow::Result<f64> {
        let times: anyhow::Result<Vec<f64>> = (0..QUESTIONS)
            .map(|_| Ok(ask(towpath, target, Encoding::Gzip)?.0))
            .collect();
        Ok(median(times?))
    };
    let kept = many(&target)?;
    let plain = many(&format!("/api/upgrades_info/graph?channel={BIGGEST}"))?;
    let slowest = micros.iter().copied().fold(0.0, f64::max);
    let kib = bytes as f64 / 1024.0;
    let what = format!("{} on {file}", case.channels);
    let fast = bars.at_most(
        &format!("slowest answer to {what}, in ms"),
        slowest / 1e3,
        case.slowest_milliseconds,
    );
    let small = bars.at_most(
        &format!("compressed answer to {what}, in KiB"),
        kib,
        case.largest_kib,
    );
    let middle = median(micros);
    Ok([
        file.to_owned(),
        case.channels.to_owned(),
        count("releases")?,
        count("edges")?,
        count("answers")?,
        format!("{kib:.1} KiB"),
        shown_micros(middle),
        shown_micros(slowest),
        shown_micros(kept),
        shown_micros(plain),
        format!("{:.0}", middle / plain),
        format!("{fast}, {small}"),
    ])
}

/// Asks one question: how long the answer took, in microseconds, and its body.
fn ask(towpath: &Towpath, target: &str, encoding: Encoding) -> anyhow::Result<(f64, Vec<u8>)> {
    let asked = Instant::now();
    let answer = http::get(towpath.port, target, encoding)?;
    let micros = asked.elapsed().as_secs_f64() * 1e6;
    ensure!(
        answer.status == 200,
        "{target} is answered with {}",
        answer.status
    );
    Ok((micros, answer.body))
}

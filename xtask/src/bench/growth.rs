//! `cargo xtask bench growth`: what a request costs as releases, channels and clusters become more.
//!
//! There is no bar here, only a curve: each row's ratio to the first. The processor time per request is the figure
//! to look at where the machine does other things too.

use super::http::Encoding;
use super::scratch::Scratch;
use super::synthetic::{self, Synthetic};
use super::table::{Table, shown_micros};
use super::towpath::{Inputs, Memory, Towpath, graph_target};
use super::wrk::{self, Report};
use super::{Options, clients, median, tools};
use crate::Outcome;
use crate::say::say;

/// How many releases, and clusters, each row has.
const SIZES: [usize; 5] = [1_000, 3_000, 10_000, 30_000, 100_000];

/// Measures each size.
pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    tools::install_missing()?;
    let binary = tools::build_towpath(&options.profile)?;
    let mut rows: Vec<Row> = Vec::new();
    for releases in SIZES {
        let scratch = Scratch::new("growth")?;
        let graph = Synthetic::write(scratch.folder(), releases)?;
        let inputs =
            Inputs::new(&graph.graph_data, &graph.releases).with_platforms(&graph.platforms);
        let towpath = Towpath::start(&binary, &inputs, &scratch)?;
        say(format!(
            "{releases} releases: ready after {:.3} s",
            towpath.ready_after.as_secs_f64()
        ))?;
        rows.push(measure(
            options,
            &scratch,
            &towpath,
            releases,
            graph.channels,
        )?);
    }
    say(format!(
        "\ngrowth: one channel of {}, a random known cluster per request, gzip",
        synthetic::CHANNEL_RELEASES
    ))?;
    say(table(&rows).to_string())?;
    Ok(Outcome::Good)
}

/// What was measured at one size.
struct Row {
    releases: usize,
    channels: usize,
    ready_seconds: f64,
    memory: Memory,
    requests_per_second: f64,
    p50_micros: f64,
    p99_micros: f64,
    processor_micros: f64,
}

fn measure(
    options: &Options,
    scratch: &Scratch,
    towpath: &Towpath,
    releases: usize,
    channels: usize,
) -> anyhow::Result<Row> {
    let target = graph_target(&format!(
        "channel={}",
        synthetic::channel_name(channels / 2)
    ));
    let script = scratch.write(
        "clients.lua",
        clients::known_clients(&target, Encoding::Gzip, releases),
    )?;
    // Once to warm up.
    wrk::run(towpath.port, &script, 1)?;
    let before = towpath.processor_seconds()?;
    let mut reports: Vec<Report> = Vec::new();
    for _ in 0..options.rounds {
        let report = wrk::run(towpath.port, &script, options.seconds)?;
        anyhow::ensure!(
            report.failures.is_empty(),
            "requests fail: {}",
            report.failures.join(", ")
        );
        reports.push(report);
    }
    let processor_seconds = towpath.processor_seconds()? - before;
    let requests: f64 = reports.iter().map(|report| report.requests).sum();
    let middle = |figure: fn(&Report) -> f64| median(reports.iter().map(figure));
    Ok(Row {
        releases,
        channels,
        ready_seconds: towpath.ready_after.as_secs_f64(),
        memory: towpath.memory()?,
        requests_per_second: middle(|report| report.requests_per_second),
        p50_micros: middle(|report| report.p50_micros),
        p99_micros: middle(|report| report.p99_micros),
        processor_micros: processor_seconds / requests * 1e6,
    })
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new([
        "releases",
        "channels",
        "clusters",
        "ready",
        "RSS",
        "req/s",
        "ratio",
        "p50",
        "p99",
        "CPU per request",
        "ratio",
    ]);
    for row in rows {
        table.row([
            row.releases.to_string(),
            row.channels.to_string(),
            row.releases.to_string(),
            format!("{:.3} s", row.ready_seconds),
            format!("{:.0} MiB", row.memory.now_mib),
            format!("{:.0}", row.requests_per_second),
            format!(
                "{:.2}",
                row.requests_per_second / rows[0].requests_per_second
            ),
            shown_micros(row.p50_micros),
            shown_micros(row.p99_micros),
            format!("{:.1} us", row.processor_micros),
            format!("{:.2}", row.processor_micros / rows[0].processor_micros),
        ]);
    }
    table
}

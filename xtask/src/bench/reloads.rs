//! Reloads: the graph data changes five times a second while clients ask, and none of them may notice.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;

use super::bars::Bars;
use super::http::Encoding;
use super::real_data::RealData;
use super::scratch::{self, Scratch};
use super::table::{Table, shown_micros};
use super::towpath::{Towpath, graph_target};
use super::wrk::{self, Report};
use super::{Options, clients, median};
use crate::say::say;

/// Between two changes.
const PAUSE: Duration = Duration::from_millis(200);
/// Of the 99th percentile without reloads.
const P99: f64 = 2.0;

/// Measures the biggest channel with and without reloads, in turns.
pub(super) fn measure(
    options: &Options,
    data: &RealData,
    towpath: &Towpath,
    scratch: &Scratch,
    bars: &mut Bars,
) -> anyhow::Result<()> {
    let target = graph_target(&format!("channel={}", data.biggest));
    let script = scratch.write(
        "reloads.lua",
        clients::random_clients(&target, Encoding::Gzip),
    )?;
    let (mut quiet, mut busy, mut reloads) = (Vec::new(), Vec::new(), 0);
    for _ in 0..options.rounds {
        quiet.push(wrk::run(towpath.port, &script, options.seconds)?);
        let before = towpath.reloads()?;
        busy.push(while_changing(&data.phased, || {
            wrk::run(towpath.port, &script, options.seconds)
        })?);
        reloads += towpath.reloads()? - before;
    }
    let [without, with] =
        [&quiet, &busy].map(|reports| median(reports.iter().map(|report| report.p99_micros)));
    let mut table = Table::new(["", "reloads", "req/s", "p50", "p99"]);
    table.row(row("without reloads", 0, &quiet));
    table.row(row("during reloads", reloads, &busy));
    say(format!(
        "\nreloads: a change every {PAUSE:?}, {}, gzip\n{table}",
        data.biggest
    ))?;
    let ratio = with / without;
    say(format!(
        "p99 ratio {ratio:.2}; bar: {}",
        bars.at_most("p99 during reloads", ratio, P99)
    ))?;
    let failed: Vec<String> = busy
        .iter()
        .flat_map(|report| report.failures.clone())
        .collect();
    let verdict = bars.no_failures("requests during reloads", &failed);
    say(format!(
        "requests that failed: {}; bar: {verdict}",
        failed.len()
    ))?;
    let happened = bars.at_least("reloads that happened", reloads as f64, 1.0);
    say(format!("reloads that happened: {reloads}; bar: {happened}"))
}

fn row(name: &str, reloads: u64, reports: &[Report]) -> [String; 5] {
    let middle = |figure: fn(&Report) -> f64| median(reports.iter().map(figure));
    [
        name.to_owned(),
        reloads.to_string(),
        format!("{:.0}", middle(|report| report.requests_per_second)),
        shown_micros(middle(|report| report.p50_micros)),
        shown_micros(middle(|report| report.p99_micros)),
    ]
}

/// Does something while one file of the graph data changes again and again.
fn while_changing<T>(
    graph_data: &Path,
    act: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (file, text) = some_block(graph_data)?;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let changing = scope.spawn(|| {
            for number in 0u64.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                scratch::replace(&file, format!("{text}\n# changed {number} times\n"))?;
                std::thread::sleep(PAUSE);
            }
            scratch::replace(&file, &text)
        });
        let result = act();
        done.store(true, Ordering::Relaxed);
        changing
            .join()
            .expect("the changing thread does not panic")?;
        result
    })
}

/// Any file of a block, and what is in it.
pub(super) fn some_block(graph_data: &Path) -> anyhow::Result<(PathBuf, String)> {
    let folder = graph_data.join("blocked-edges");
    let files =
        fs::read_dir(&folder).with_context(|| format!("{}: cannot be read", folder.display()))?;
    let files = files.filter_map(|entry| Some(entry.ok()?.path()));
    let file = files
        .filter(|file| {
            file.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .min();
    let file = file.with_context(|| format!("{}: there are no blocks", folder.display()))?;
    let text = fs::read_to_string(&file)?;
    Ok((file, text))
}

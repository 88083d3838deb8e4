//! `cargo xtask bench reload`: how long a block takes from being committed to the first answer that has it.
//!
//! Two services read one git repository with the real graph data: a webhook wakes one, the other polls every second. Each
//! round commits a block or removes it, and asks until the answer changes. A graph is swapped as a whole, so all later
//! answers have the change too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::bars::Bars;
use super::http::{self, Encoding};
use super::real_data::{self, RealData};
use super::scratch::Scratch;
use super::table::{Table, shown_micros};
use super::towpath::{Inputs, Towpath};
use super::{Options, median, tools};
use crate::Outcome;
use crate::say::say;

/// How many blocks are committed and removed again.
const ROUNDS: usize = 20;
/// How often the service without a webhook looks.
const INTERVAL_SECONDS: f64 = 1.0;
/// With the webhook; and without, beyond the interval.
const P99_SECONDS: f64 = 1.0;
/// How long an answer may stay as it was before the bench gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Measures both services in turns, prints, and says whether a bar was missed.
pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let source = real_data::find()?;
    let binary = tools::build_towpath(&options.profile)?;
    let scratch = Scratch::new("reload")?;
    let data = RealData::prepare(&source, &binary, &scratch)?;
    let repository = Repository::new(&data.original)?;
    let keys = scratch.write("keys", "0123456789abcdef0123456789abcdef\n")?;
    let token = reload_token(&binary, &keys)?;
    let start = |every: &str| {
        let graph_data = format!("git+file://{}#main&every={every}", data.original.display());
        let inputs = Inputs::new(Path::new(&graph_data), &data.releases);
        Towpath::start(
            &binary,
            &inputs.with_fleet(vec!["--token-keys".into(), keys.clone().into()]),
            &scratch,
        )
    };
    let query = format!("channel={}", data.biggest);
    let woken = start("1h")?;
    let blocked = target_of_some_edge(&woken.graph(&query, Encoding::Identity)?)?;
    let by_webhook = measured(&woken, &query, &repository, &blocked, || {
        let answer = http::post(woken.port, "/api/v1/reload", &token)?;
        ensure!(
            answer.status == 202,
            "the webhook is answered with {}",
            answer.status
        );
        Ok(())
    })?;
    drop(woken);
    let looking = start("1s")?;
    let by_interval = measured(&looking, &query, &repository, &blocked, || Ok(()))?;

    let mut bars = Bars::default();
    let mut table = Table::new(["", "rounds", "median", "p99", "bar"]);
    table.row(row("webhook", &by_webhook, P99_SECONDS, &mut bars));
    table.row(row(
        "interval of 1 s",
        &by_interval,
        INTERVAL_SECONDS + P99_SECONDS,
        &mut bars,
    ));
    say(format!(
        "\nfrom a commit to the first answer with it, {}, all amd64 releases\n{table}",
        data.biggest
    ))?;
    bars.missed()
        .iter()
        .try_for_each(|sentence| say(format!("missed: {sentence}")))?;
    Ok(bars.outcome())
}

/// The seconds of each round, from the end of the commit to the first answer that is another.
fn measured(
    towpath: &Towpath,
    query: &str,
    repository: &Repository,
    blocked: &str,
    wake: impl Fn() -> anyhow::Result<()>,
) -> anyhow::Result<Vec<f64>> {
    let mut seconds = Vec::new();
    for round in 0..2 * ROUNDS {
        let before = towpath.graph(query, Encoding::Identity)?;
        let is_block = round % 2 == 0;
        repository.commit(if is_block { Some(blocked) } else { None })?;
        let committed = Instant::now();
        wake()?;
        while towpath.graph(query, Encoding::Identity)? == before {
            ensure!(
                committed.elapsed() < PATIENCE,
                "the answer is as it was after {PATIENCE:?}"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        if is_block {
            seconds.push(committed.elapsed().as_secs_f64());
        }
    }
    Ok(seconds)
}

fn row(name: &str, seconds: &[f64], bar: f64, bars: &mut Bars) -> [String; 5] {
    let p99 = slowest_hundredth(seconds);
    let shown = |seconds: f64| shown_micros(seconds * 1e6);
    [
        name.to_owned(),
        seconds.len().to_string(),
        shown(median(seconds.iter().copied())),
        shown(p99),
        bars.at_most(&format!("{name}, p99 in seconds"), p99, bar),
    ]
}

/// Of fewer than a hundred, the slowest.
fn slowest_hundredth(figures: &[f64]) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    let at = (figures.len() * 99).div_ceil(100).saturating_sub(1);
    figures.get(at).copied().unwrap_or_default()
}

/// The version that some edge leads to.
fn target_of_some_edge(body: &[u8]) -> anyhow::Result<String> {
    let graph: Value = serde_json::from_slice(body).context("a graph is JSON")?;
    let to = graph["edges"][0][1]
        .as_u64()
        .context("the channel has no edge to block")?;
    let version = graph["nodes"][usize::try_from(to)?]["version"].as_str();
    version.map(str::to_owned).context("a node has a version")
}

fn reload_token(binary: &Path, keys: &Path) -> anyhow::Result<String> {
    let made = Command::new(binary)
        .args(["fleet", "token", "--reload", "--keys"])
        .arg(keys)
        .output()?;
    ensure!(
        made.status.success(),
        "there is no token: {}",
        String::from_utf8_lossy(&made.stderr)
    );
    Ok(String::from_utf8_lossy(&made.stdout).trim().to_owned())
}

/// Graph data under git.
struct Repository {
    folder: PathBuf,
}

impl Repository {
    fn new(folder: &Path) -> anyhow::Result<Self> {
        let repository = Self {
            folder: folder.to_owned(),
        };
        repository.git(&["init", "--quiet", "--initial-branch=main"])?;
        repository.commit(None)?;
        Ok(repository)
    }

    /// Commits a block of all updates to a version, or that there is none.
    fn commit(&self, blocked: Option<&str>) -> anyhow::Result<()> {
        let file = self.folder.join("blocked-edges/towpath-bench.yaml");
        match blocked {
            Some(version) => fs::write(&file, format!("to: {version}\nfrom: .*\n"))?,
            None if file.exists() => fs::remove_file(&file)?,
            None => {}
        }
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "bench"])
    }

    fn git(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let mut git = Command::new("git");
        git.arg("-C").arg(&self.folder).args([
            "-c",
            "user.name=bench",
            "-c",
            "user.email=bench@localhost",
        ]);
        let done = git
            .args(["-c", "commit.gpgSign=false"])
            .args(arguments)
            .output()
            .context("git cannot be run")?;
        ensure!(
            done.status.success(),
            "git {}: {}",
            arguments[0],
            String::from_utf8_lossy(&done.stderr)
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_twenty_rounds_the_slowest_counts() {
        let twenty: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(slowest_hundredth(&twenty), 20.0);
        let two_hundred: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(slowest_hundredth(&two_hundred), 198.0);
    }

    #[test]
    fn an_edge_leads_to_a_version() {
        let body = br#"{"nodes":[{"version":"4.1.0"},{"version":"4.1.1"}],"edges":[[0,1]]}"#;
        assert_eq!(target_of_some_edge(body).unwrap(), "4.1.1");
        assert!(target_of_some_edge(br#"{"nodes":[],"edges":[]}"#).is_err());
    }
}

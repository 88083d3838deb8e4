//! `cargo xtask bench halt`: from the report that decides to the first answer without the edge, in two replicas.
//!
//! Two services share a store, and their policy enforces. Clusters report that an update fails, one after the other, until the
//! watch halts. The time counts from before the last of these reports is sent until a replica's answer lacks the edge. Then the same for
//! two services without a store: they share an overlay, into which the service that watches writes its halts (`--halts-to`).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail, ensure};
use clap::Args;
use serde_json::{Value, json};

use super::bars::Bars;
use super::http::{self, Encoding};
use super::scratch::Scratch;
use super::table::{Table, shown_micros};
use super::towpath::{Inputs, Towpath};
use super::{median, tools};
use crate::Outcome;
use crate::say::say;
use towpath_testing_postgres::{Postgres, Sync};

#[derive(Debug, Args)]
pub(crate) struct HaltOptions {
    /// Build towpath with this profile.
    #[arg(long, default_value = "dist")]
    profile: String,
    /// Measure this towpath instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// How many halts are measured in each case.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=999))]
    rounds: u64,
}

/// With a store, …
const WITH_STORE_SECONDS: f64 = 1.0;
/// … and without one.
const WITHOUT_STORE_SECONDS: f64 = 60.0;
/// A release of the example that is offered to everybody, and one before it.
const RELEASE: &str = "4.20.1";
const BEFORE: &str = "4.20.0";
/// The most reports until the watch must have halted.
const MOST_REPORTS: usize = 40;
/// After a report, this long an edge may still go because of it. Then the next report is sent.
const DECIDES_WITHIN: Duration = Duration::from_secs(3);
/// How long anything may take before the bench gives up.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long a pair has to settle before reports come.
const SETTLE: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Two services, and when the edge was gone from each one's answers.
type Pair = [Towpath; 2];
type Seconds = [f64; 2];

pub(super) fn run(options: &HaltOptions) -> anyhow::Result<Outcome> {
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => tools::build_towpath(&options.profile)?,
    };
    let scratch = Scratch::new("halt")?;
    let ground = Ground::new(&binary, scratch)?;
    let mut bars = Bars::default();
    let mut table = Table::new(["", "halts", "median", "longest", "bar"]);
    let postgres = Postgres::boot(Sync::On);
    for (name, is_file) in [("SQLite", true), ("PostgreSQL", false)] {
        let mut seconds = Vec::new();
        for round in 0..options.rounds {
            let store = match is_file {
                true => format!("sqlite:{}", ground.path(&format!("{round}.db")).display()),
                false => postgres.database(),
            };
            seconds.extend(ground.by_reports(&store, round as usize)?);
        }
        table.row(row(name, &seconds, WITH_STORE_SECONDS, &mut bars));
    }
    let mut seconds = Vec::new();
    for round in 0..options.rounds {
        seconds.extend(ground.by_overlay(round as usize)?);
    }
    let name = "an overlay, no store";
    table.row(row(name, &seconds, WITHOUT_STORE_SECONDS, &mut bars));
    say(format!(
        "\nfrom the report that decides to a replica's first answer without the edge; two replicas\n{table}"
    ))?;
    bars.missed()
        .iter()
        .try_for_each(|sentence| say(format!("missed: {sentence}")))?;
    Ok(bars.outcome())
}

fn row(name: &str, seconds: &[f64], bar: f64, bars: &mut Bars) -> [String; 5] {
    let longest = seconds.iter().copied().fold(0.0, f64::max);
    [
        name.to_owned(),
        (seconds.len() / 2).to_string(),
        shown_micros(median(seconds.iter().copied()) * 1e6),
        shown_micros(longest * 1e6),
        bars.at_most(&format!("{name}: the longest"), longest, bar),
    ]
}

/// The example's data, a policy that enforces, and tokens of clusters of three organisations.
struct Ground {
    binary: PathBuf,
    scratch: Scratch,
    tokens: Vec<String>,
}

impl Ground {
    fn new(binary: &Path, scratch: Scratch) -> anyhow::Result<Self> {
        let data = scratch.folder().join("data");
        printed(Command::new(binary).arg("example").arg(&data))?;
        let key = "0123456789abcdef0123456789abcdef0123456789abcdef\n";
        let keys = scratch.write("keys", key)?;
        scratch.write("feedback.yaml", "default: {mode: enforce}\n")?;
        let token = |number: usize| {
            let mut command = Command::new(binary);
            command.args(["fleet", "token", "--keys"]).arg(&keys);
            command.args(["--cluster", &format!("c{number}")]);
            command.args(["--org", &format!("org{}", number % 3)]);
            printed(command.args(["--name", &format!("n{number}")]))
        };
        let tokens: anyhow::Result<_> = (0..MOST_REPORTS).map(token).collect();
        Ok(Self {
            binary: binary.to_owned(),
            tokens: tokens?,
            scratch,
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.folder().join(name)
    }

    /// So many services that offer the release, and have settled.
    fn services<const N: usize>(&self, more: &[OsString]) -> anyhow::Result<[Towpath; N]> {
        let (data, releases) = (
            self.path("data/graph-data"),
            self.path("data/releases.json"),
        );
        let inputs = Inputs::new(&data, &releases).with_fleet(more.to_vec());
        let mut started = Vec::new();
        for _ in 0..N {
            started.push(Towpath::start(&self.binary, &inputs, &self.scratch)?);
        }
        let asked = Instant::now();
        for towpath in &started {
            while !offers(towpath)? {
                ensure!(asked.elapsed() < PATIENCE, "{RELEASE} is not offered");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        std::thread::sleep(SETTLE);
        let started = started.try_into();
        started.map_err(|_| anyhow::anyhow!("as many services as were started"))
    }

    /// What a service with a fleet is started with.
    fn with_fleet(&self, store: &str) -> Vec<OsString> {
        let mut options: Vec<OsString> =
            vec!["--open-reads".into(), "--store".into(), store.into()];
        for (flag, name) in [
            ("--fleet", "data/fleet"),
            ("--token-keys", "keys"),
            ("--feedback", "feedback.yaml"),
        ] {
            options.extend([flag.into(), self.path(name).into_os_string()]);
        }
        options
    }

    /// Clusters report to the two in turn until the watch halts.
    fn by_reports(&self, store: &str, round: usize) -> anyhow::Result<Seconds> {
        let pair: Pair = self.services(&self.with_fleet(store))?;
        for number in 0..self.tokens.len() {
            let sent = self.report(&pair[(number + round) % 2], number)?;
            if let Some(seconds) = gone_within(&pair, sent, DECIDES_WITHIN)? {
                return Ok(seconds);
            }
        }
        bail!("the watch has not halted after {MOST_REPORTS} failures")
    }

    /// Clusters report to a third service, which has a store and writes its halts into the overlay that both read.
    fn by_overlay(&self, round: usize) -> anyhow::Result<Seconds> {
        let folder = format!("overlay-{round}");
        self.scratch
            .write(&format!("{folder}/version"), "1.1.0\n")?;
        let folder = self.path(&folder).into_os_string();
        let store = format!(
            "sqlite:{}",
            self.path(&format!("overlay-{round}.db")).display()
        );
        let mut options = self.with_fleet(&store);
        options.extend(["--halts-to".into(), folder.clone()]);
        let [watching] = self.services(&options)?;
        let pair: Pair = self.services(&["--overlay".into(), folder])?;
        for number in 0..self.tokens.len() {
            let sent = self.report(&watching, number)?;
            // Whether this is the report that decides, whatever the two say.
            let mut decides = false;
            while !decides && sent.elapsed() < DECIDES_WITHIN {
                decides = !(offers(&watching)? && offers(&pair[0])? && offers(&pair[1])?);
                std::thread::sleep(Duration::from_millis(2));
            }
            if decides {
                let gone = gone_within(&pair, sent, PATIENCE)?;
                return gone.context("the overlay is not read");
            }
        }
        bail!("the watch has not halted after {MOST_REPORTS} failures")
    }

    /// One cluster reports that its update fails; since when.
    fn report(&self, towpath: &Towpath, number: usize) -> anyhow::Result<Instant> {
        let target = format!("/api/v1/clusters/c{number}/report");
        let (token, body) = (&self.tokens[number], failing(number));
        let sent = Instant::now();
        let answer = http::post_json(towpath.port, &target, token, &body)?;
        ensure!(
            answer.status == 202,
            "a report is answered with {}: {}",
            answer.status,
            String::from_utf8_lossy(&answer.body)
        );
        Ok(sent)
    }
}

/// When each replica's answer lacked the edge. None: not both within that time.
fn gone_within(pair: &Pair, since: Instant, most: Duration) -> anyhow::Result<Option<Seconds>> {
    let mut gone = [None; 2];
    while since.elapsed() < most {
        for (towpath, gone) in pair.iter().zip(&mut gone) {
            if gone.is_none() && !offers(towpath)? {
                *gone = Some(since.elapsed().as_secs_f64());
            }
        }
        if let [Some(one), Some(other)] = gone {
            return Ok(Some([one, other]));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    ensure!(
        gone == [None; 2],
        "only one of two replicas has halted within {most:?}: {gone:?}"
    );
    Ok(None)
}

/// Whether a graph has an edge into the release.
fn offers(towpath: &Towpath) -> anyhow::Result<bool> {
    let graph = towpath.graph("channel=stable-4.20", Encoding::Identity)?;
    let graph: Value = serde_json::from_slice(&graph)?;
    let nodes = graph["nodes"].as_array().context("a graph has nodes")?;
    let release = nodes.iter().position(|node| node["version"] == RELEASE);
    let release = release.context("the release is in the channel")?;
    let edges = graph["edges"].as_array().context("a graph has edges")?;
    Ok(edges.iter().any(|edge| edge[1] == release))
}

/// What a cluster tells whose update fails.
fn failing(number: usize) -> String {
    let ago = |hours: u32| seconds_to_time(SystemTime::now() - HOUR * hours);
    json!({
        "id": format!("r{number}"), "at": ago(0), "name": format!("n{number}"),
        "organisation": format!("org{}", number % 3), "version": BEFORE, "desired": RELEASE,
        "channel": "stable-4.20", "platform": "AWS", "arch": "amd64",
        "history": [
            {"version": RELEASE, "state": "Partial", "startedTime": ago(1)},
            {"version": BEFORE, "state": "Completed", "startedTime": ago(200), "completionTime": ago(199)},
        ],
        "conditions": [
            {"type": "Available", "status": "True"},
            {"type": "Progressing", "status": "True"},
            {"type": "Failing", "status": "True"},
        ],
    })
    .to_string()
}

/// RFC 3339, in UTC. Days are counted from a year that begins in March (Howard Hinnant's `civil_from_days`).
fn seconds_to_time(at: SystemTime) -> String {
    let since = at.duration_since(SystemTime::UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs());
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn printed(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().context("towpath cannot be run")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "towpath failed: {said}");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_clusters_write_them() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_794_830_399, "2026-11-16T11:59:59Z"),
        ] {
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(seconds_to_time(at), expected);
        }
    }
}

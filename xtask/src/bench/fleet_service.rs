//! The service with a fleet: its own PostgreSQL, a graph, keys and reporting clusters.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::bars::Bars;
use super::http::Encoding;
use super::scratch::Scratch;
use super::synthetic::{self, Synthetic};
use super::table::{Table, shown_micros};
use super::towpath::{Inputs, Towpath, graph_target};
use super::wrk::{self, Report};
use super::{Options, clients, fleet_files, median};
use crate::say::say;
use towpath_testing_postgres::{Postgres, Sync};

/// Of the requests per second without a fleet.
const SPEED: f64 = 0.9;
const RELEASES: usize = 1_000;
/// More often than by default, so that a bench sees several.
const PASS_EVERY: &str = "5s";
/// How long a pass may keep us waiting.
const PATIENCE: Duration = Duration::from_secs(120);
/// When the last pass ended.
const LAST_PASS: &str = "towpath_fleet_last_pass_timestamp_seconds ";
/// Of no other use than this.
const KEY: &str = "the-key-of-a-bench-that-runs-for-a-minute";

/// The service, and what it needs.
pub(super) struct Service {
    pub(super) towpath: Towpath,
    postgres: Postgres,
    database: String,
    graph: Inputs,
}

impl Service {
    /// Starts a database and the service; no cluster has reported.
    pub(super) fn start(binary: &Path, scratch: &Scratch) -> anyhow::Result<Self> {
        let postgres = Postgres::boot(Sync::On);
        let database = postgres.database();
        let graph = Synthetic::write(scratch.folder(), RELEASES)?;
        let graph = Inputs::new(&graph.graph_data, &graph.releases);
        scratch.write("policy/organisation.yaml", fleet_files::organisation())?;
        let keys = scratch.write("keys", format!("{KEY}\n"))?;
        let policy = scratch.folder().join("policy");
        let mut arguments: Vec<OsString> = ["--pass-every", PASS_EVERY, "--store"]
            .map(OsString::from)
            .into();
        arguments.extend([
            database.clone().into(),
            "--fleet".into(),
            policy.into(),
            "--token-keys".into(),
            keys.into(),
            "--open-reads".into(),
        ]);
        let towpath = Towpath::start(binary, &graph.clone().with_fleet(arguments), scratch)?;
        Ok(Self {
            towpath,
            postgres,
            database,
            graph,
        })
    }

    /// The answer of a query in the service's database.
    pub(super) fn sql(&self, text: &str) -> anyhow::Result<usize> {
        Ok(self.postgres.sql(&self.database, text).parse()?)
    }

    /// Waits until a pass has seen this many clusters. Returns how long the last pass took, in seconds.
    pub(super) fn await_clusters(&self, clusters: usize) -> anyhow::Result<f64> {
        let asked = Instant::now();
        loop {
            let metrics = self.towpath.metrics()?;
            let seen = sum_of(&metrics, "towpath_fleet_clusters{");
            if seen >= clusters as f64 {
                return Ok(sum_of(&metrics, "towpath_fleet_pass_duration_seconds "));
            }
            ensure!(
                asked.elapsed() < PATIENCE,
                "after {PATIENCE:?} a pass saw {seen} of {clusters} clusters"
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Waits for this many more passes.
    fn await_passes(&self, passes: u32) -> anyhow::Result<()> {
        let asked = Instant::now();
        for _ in 0..passes {
            let last = || Ok::<f64, anyhow::Error>(sum_of(&self.towpath.metrics()?, LAST_PASS));
            let before = last()?;
            while last()? <= before {
                ensure!(
                    asked.elapsed() < PATIENCE,
                    "no {passes} passes within {PATIENCE:?}"
                );
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        Ok(())
    }

    /// Measures graphs for clusters that are not managed, in turns with a service that has no fleet.
    pub(super) fn compare_graphs(
        &self,
        options: &Options,
        binary: &Path,
        scratch: &Scratch,
        bars: &mut Bars,
    ) -> anyhow::Result<()> {
        let clusters = self.sql("SELECT count(*) FROM clusters")?;
        // What the reports before us have changed is looked at by the next pass: a fleet at rest is compared, with its passes.
        self.await_passes(2)?;
        let alone = Towpath::start(binary, &self.graph, scratch)?;
        let script = scratch.write(
            "unmanaged.lua",
            clients::random_clients(&target(), Encoding::Gzip),
        )?;
        let servers = [&alone, &self.towpath];
        for server in servers {
            wrk::run(server.port, &script, 1)?;
        }
        let mut turns: [Vec<Turn>; 2] = Default::default();
        for _ in 0..options.rounds {
            for (server, turns) in servers.into_iter().zip(&mut turns) {
                let before = server.processor_seconds()?;
                let report = wrk::run(server.port, &script, options.seconds)?;
                let processor_micros =
                    (server.processor_seconds()? - before) / report.requests * 1e6;
                turns.push(Turn {
                    report,
                    processor_micros,
                });
            }
        }
        let failed: Vec<String> = turns
            .iter()
            .flatten()
            .flat_map(|turn| turn.report.failures.clone())
            .collect();
        let middle = |figure: fn(&Turn) -> f64| {
            turns
                .each_ref()
                .map(|turns| median(turns.iter().map(figure)))
        };
        let (speed, p99) = (
            middle(|turn| turn.report.requests_per_second),
            middle(|turn| turn.report.p99_micros),
        );
        let processor = middle(|turn| turn.processor_micros);
        let ratio = speed[1] / speed[0];
        let verdict = bars.at_least(
            "graphs per second with a fleet, against without",
            ratio,
            SPEED,
        );
        let mut table = Table::new([
            "graphs",
            "req/s",
            "ratio",
            "bar",
            "p99",
            "CPU per request",
            "ratio",
        ]);
        for (at, name, bar) in [(0, "no fleet", String::new()), (1, "a fleet", verdict)] {
            table.row([
                name.to_owned(),
                format!("{:.0}", speed[at]),
                format!("{:.2}", speed[at] / speed[0]),
                bar,
                shown_micros(p99[at]),
                format!("{:.1} us", processor[at]),
                format!("{:.2}", processor[at] / processor[0]),
            ]);
        }
        say(format!(
            "\ngraphs for clusters that are not managed, beside {clusters} that are: 64 connections, gzip\n{table}"
        ))?;
        say(format!(
            "requests that failed: {}; bar: {}",
            failed.len(),
            bars.no_failures("graphs", &failed)
        ))
    }
}

/// One turn of a server. Its processor time counts where the machine does other things too; passes are in it.
struct Turn {
    report: Report,
    processor_micros: f64,
}

/// What is asked for a graph.
pub(super) fn target() -> String {
    graph_target(&format!("channel={}", channel()))
}

/// The channel that all clusters follow.
pub(super) fn channel() -> String {
    synthetic::channel_name(RELEASES / synthetic::CHANNEL_RELEASES / 2)
}

/// The token that a cluster reports with, as `towpath fleet token` makes it.
pub(super) fn token(cluster: &str, name: &str) -> String {
    token_by(
        KEY,
        fleet_files::ORGANISATION,
        name,
        cluster,
        "2099-01-01T00:00:00Z",
    )
}

/// The token of a cluster by any key.
pub(crate) fn token_by(
    key: &str,
    organisation: &str,
    name: &str,
    cluster: &str,
    end: &str,
) -> String {
    let mac =
        Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("HMAC takes keys of any length");
    let key = URL_SAFE_NO_PAD.encode(
        mac.clone()
            .chain_update(b"towpath/key-id/2")
            .finalize()
            .into_bytes(),
    );
    let payload = format!(
        r#"{{"role":"cluster","key":"{}","organisation":"{organisation}","name":"{name}","id":"{cluster}","end":"{end}","serial":"AAAAAAAAAAAAAAAA"}}"#,
        &key[..8]
    );
    let code = mac
        .chain_update(b"towpath/token/2\0")
        .chain_update(&payload)
        .finalize()
        .into_bytes();
    format!(
        "tp2_{}.{}",
        URL_SAFE_NO_PAD.encode(&payload),
        URL_SAFE_NO_PAD.encode(code)
    )
}

/// The sum over the series of a metric.
fn sum_of(metrics: &str, prefix: &str) -> f64 {
    let series = metrics.lines().filter(|line| line.starts_with(prefix));
    series
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_as_the_service_makes_it() {
        let key = "0123456789abcdef0123456789abcdef";
        let made = token_by(key, "acme", "shop", "0f3a", "2027-01-01T00:00:00Z");
        let (payload, code) = made.split_once('.').unwrap();
        assert!(
            payload.starts_with("tp2_eyJyb2xlIjoiY2x1c3RlciIsImtleSI6ImZXYUd5N0hSIiwi"),
            "{payload}"
        );
        assert_eq!(code, "Mx7tM2FHZTyoYfrc0lUDdXmaEUvQe1hdJ7-mNf3Jrb4");
    }

    #[test]
    fn series_add_up() {
        let metrics = "# HELP a_b x\na_b{s=\"1\"} 2\na_b{s=\"2\"} 3\na_bc 7\n";
        assert_eq!(
            [
                sum_of(metrics, "a_b{"),
                sum_of(metrics, "a_bc "),
                sum_of(metrics, "d")
            ],
            [5.0, 7.0, 0.0]
        );
    }
}

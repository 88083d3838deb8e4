//! `cargo xtask prove rolling-update`: three replicas behind HAProxy are replaced one after the other, and no request fails.
//!
//! The proxy asks `/readyz` and never tries a request twice, so whatever goes wrong is seen by a client. Each replica is stopped with
//! SIGTERM and started again on its port, as an update does it, while clients ask for graphs, report, and read the fleet.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use clap::Args;
use towpath_testing_postgres::{Postgres, Sync};

use super::callers::{AnswerCount, Caller};
use super::fleet_of_clusters::{self, Clusters};
use super::ground::{self, Ground, Replica};
use super::haproxy;
use crate::Outcome;
use crate::bars::Bars;
use crate::bench::http::{self, Encoding};
use crate::packages;
use crate::say::say;

const REPLICAS: usize = 3;
const CLUSTERS: usize = 60;
const CLIENTS: usize = 8;
/// Longer than the proxy takes to notice: two checks, half a second apart.
const DRAIN_FOR: &str = "5s";
/// How long a replica may take to stop.
const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Debug, Args)]
pub(crate) struct RollingOptions {
    /// Update to this towpath instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Replace all replicas this often.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    rounds: u64,
}

pub(super) fn run(options: &RollingOptions) -> anyhow::Result<Outcome> {
    packages::install_missing(&[haproxy::PACKAGE])?;
    let ground = Ground::new("rolling", options.binary.as_deref())?;
    let postgres = Postgres::boot(Sync::On);
    let clusters = Clusters::write(&ground, CLUSTERS)?;
    let mut arguments = clusters.arguments(&ground, &postgres.database());
    arguments.extend(["--drain-for", DRAIN_FOR].map(Into::into));
    let serve = |number: usize, port: u16| -> anyhow::Result<Replica> {
        let replica = ground.serve(fleet_of_clusters::NAMES[number], port, &arguments)?;
        replica.await_fleet()?;
        Ok(replica)
    };
    let mut replicas: Vec<Replica> = Vec::new();
    for number in 0..REPLICAS {
        replicas.push(serve(number, http::free_port()?)?);
    }
    let ports: Vec<u16> = replicas.iter().map(|replica| replica.port).collect();
    let port = http::free_port()?;
    let configuration = haproxy::replicas(port, &ports);
    let proxy = haproxy::start(ground.scratch.folder(), "haproxy", &configuration)?;
    await_all(port, &ports)?;
    let (stop, began) = (AtomicBool::new(false), Instant::now());
    let mut took: Vec<f64> = Vec::new();
    let tally = std::thread::scope(|scope| -> anyhow::Result<AnswerCount> {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (stop, clusters) = (&stop, &clusters);
                scope.spawn(move || ask(client, port, clusters, stop))
            })
            .collect();
        let updated = (0..options.rounds).try_for_each(|round| {
            for (number, port) in ports.iter().enumerate() {
                let asked = Instant::now();
                let old = replicas.remove(number);
                old.running.signal("TERM")?;
                while old.running.ensure_alive().is_ok() {
                    ensure!(asked.elapsed() < PATIENCE, "a replica does not stop");
                    std::thread::sleep(Duration::from_millis(20));
                }
                drop(old);
                took.push(asked.elapsed().as_secs_f64());
                replicas.insert(number, serve(number, *port)?);
                // As an orchestrator does it: the next one goes when this one is in use.
                std::thread::sleep(Duration::from_secs(2));
                proxy.ensure_alive()?;
            }
            say(format!("round {} of {}", round + 1, options.rounds))
        });
        stop.store(true, Ordering::Relaxed);
        let mut tally = AnswerCount::default();
        for client in clients {
            tally.add(client.join().expect("a client does not panic"));
        }
        updated.map(|()| tally)
    })?;
    let mut bars = Bars::default();
    let good = |what: &str| what == "200" || what == "202";
    let failures: Vec<String> = tally
        .0
        .iter()
        .filter(|(what, _)| !good(what))
        .map(|(what, times)| format!("{what} ({times} times)"))
        .collect();
    let longest = took.iter().copied().fold(0.0, f64::max);
    say(format!(
        "\n{} at {}: {} replicas were replaced in {:.0} s, {} requests by {CLIENTS} clients ({}); stopping took at most {longest:.1} s",
        haproxy::version()?,
        ground::commit(),
        took.len(),
        began.elapsed().as_secs_f64(),
        tally.total(),
        tally.words(),
    ))?;
    let verdict = bars.no_failures("requests", &failures);
    say(format!("failed: {}; bar: {verdict}", failures.len()))?;
    bars.at_least("requests", tally.total() as f64, 1_000.0);
    bars.missed()
        .iter()
        .try_for_each(|sentence| say(format!("missed: {sentence}")))?;
    Ok(bars.outcome())
}

/// Waits until the proxy uses all replicas.
fn await_all(port: u16, replicas: &[u16]) -> anyhow::Result<()> {
    let began = Instant::now();
    // A proxy that begins takes its servers for good, and a request before its first check would count.
    std::thread::sleep(Duration::from_secs(2));
    while replicas
        .iter()
        .any(|_| !http::get(port, "/readyz", Encoding::Identity).is_ok_and(|one| one.status == 200))
    {
        ensure!(began.elapsed() < PATIENCE, "the proxy finds no replica");
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Asks in turns for a graph, reports, and reads the fleet, until told to stop.
fn ask(client: usize, port: u16, clusters: &Clusters, stop: &AtomicBool) -> AnswerCount {
    let (mut caller, mut tally, mut number) = (Caller::new(port), AnswerCount::default(), client);
    while !stop.load(Ordering::Relaxed) {
        number += CLIENTS;
        let cluster = number % CLUSTERS;
        let answered = match number / CLIENTS % 3 {
            0 => caller.get(&clusters.graph(cluster), ""),
            1 => {
                let (target, token, body) = clusters.report(cluster, number as u64);
                caller.post(&target, &token, &body)
            }
            _ => caller.get("/api/v1/fleet/status", &clusters.reader),
        };
        match answered {
            Ok(answer) if answer.status < 400 => tally.count(answer.status.to_string()),
            // Of the service it is JSON with a sentence, and of the proxy it is not.
            Ok(answer) => {
                let said = String::from_utf8_lossy(&answer.body);
                tally.count(format!("{}: {}", answer.status, said.replace('\n', " ")));
            }
            Err(error) => tally.count(error.kind().to_string()),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    tally
}

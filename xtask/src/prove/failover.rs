//! `cargo xtask prove failover`: leaders of a PostgreSQL under Patroni die while three replicas of the service work, and nothing that
//! was acknowledged is lost.
//!
//! Clusters report, people approve, clusters take the updates that they are given. All the while somebody looks how many are under way,
//! by what the policy says and not by what the store says of its locks. In the end every acknowledged report and every acknowledged
//! act is looked for, the store is checked, and every decision is made again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::{Value, json};

use super::callers::{AnswerCount, Caller};
use super::fleet_of_clusters::{self as fleet, Clusters, EPOCH, LIMITS, NAMES};
use super::ground::{self, Ground, Replica};
use super::patroni::{Fault, Patroni};
use crate::Outcome;
use crate::bars::Bars;
use crate::bench::http;
use crate::say::say;
use crate::table::Table;

const CLUSTERS: usize = 240;
const REPORTERS: usize = 6;
/// After the term of a lease and one try to renew it, another scheduler has it (app/src/fleet/lease.rs).
const LEASE_SECONDS: f64 = 12.0;
/// How long an answer may stay away before something is wrong with the proof itself.
const PATIENCE: Duration = Duration::from_secs(240);
const FAULTS: [Fault; 3] = [Fault::Frozen, Fault::Machine, Fault::Server];

#[derive(Debug, Args)]
pub(crate) struct FailoverOptions {
    /// Use this towpath instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// How often a leader is struck: in turns it stands still, its machine dies, its server dies.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u64).range(1..=100))]
    rounds: u64,
    /// How long everything runs before the first, and after each.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
}

/// What everybody does and sees.
struct World {
    clusters: Clusters,
    ports: Vec<u16>,
    stop: AtomicBool,
    next: AtomicU64,
    /// What each cluster runs.
    patches: Mutex<Vec<u32>>,
    /// Acknowledged reports, by cluster.
    reports: Mutex<BTreeMap<usize, BTreeSet<u64>>>,
    /// Acknowledged approvals, by their reason.
    acts: Mutex<BTreeSet<String>>,
    /// When a report was acknowledged last, and the longest time without one since somebody asked.
    heard: Mutex<(Instant, f64)>,
    /// Answers to reports and approvals, and to requests for graphs.
    answers: Mutex<AnswerCount>,
    graphs: Mutex<AnswerCount>,
    /// How often somebody looked, the most upgrades under way, and what was over a limit.
    looks: AtomicU64,
    finished: AtomicU64,
    over: Mutex<BTreeSet<String>>,
}

pub(super) fn run(options: &FailoverOptions) -> anyhow::Result<Outcome> {
    let ground = Ground::new("failover", options.binary.as_deref())?;
    let mut patroni = Patroni::start(&ground)?;
    say("PostgreSQL is up: three nodes under Patroni")?;
    let clusters = Clusters::write(&ground, CLUSTERS)?;
    let (store, password) = patroni.store();
    let mut arguments = clusters.arguments(&ground, &store);
    arguments.extend(["--store-password-file".into(), password.into_os_string()]);
    let serve = |number: usize, port: u16| ground.serve(NAMES[number], port, &arguments);
    let mut replicas: Vec<Option<Replica>> = Vec::new();
    for number in 0..NAMES.len() {
        replicas.push(Some(serve(number, http::free_port()?)?));
    }
    for replica in replicas.iter().flatten() {
        replica.await_ready()?;
    }
    let ports = replicas.iter().flatten().map(|one| one.port).collect();
    let world = World::new(clusters, ports);
    let mut bars = Bars::default();
    let mut table = Table::new([
        "round",
        "what happened",
        "reports again",
        "a scheduler again",
    ]);
    let moved = std::thread::scope(|scope| -> anyhow::Result<f64> {
        for reporter in 0..REPORTERS {
            let world = &world;
            scope.spawn(move || world.report(reporter));
        }
        for port in &world.ports {
            let world = &world;
            scope.spawn(move || world.ask_for_graphs(*port));
        }
        scope.spawn(|| world.upgrade());
        let played = (|| {
            let first = world.until_scheduled(&patroni, Instant::now(), None)?;
            say(format!("a scheduler acts after {first:.1} s"))?;
            pause(options.seconds);
            for round in 0..options.rounds {
                let fault = FAULTS[round as usize % FAULTS.len()];
                let row = world.strike(&mut patroni, fault, options.seconds)?;
                table.row([
                    (round + 1).to_string(),
                    row.0.to_owned(),
                    format!("{:.1} s", row.1),
                    format!("{:.1} s", row.2),
                ]);
                say(format!(
                    "round {} of {}: {} {:.1} s {:.1} s",
                    round + 1,
                    options.rounds,
                    row.0,
                    row.1,
                    row.2
                ))?;
            }
            // The scheduler dies, while the database is well.
            let owner = world.owner(&patroni)?.context("nobody has the lease")?;
            let id = owner.split('-').next().unwrap_or_default().to_owned();
            let holder = replicas.iter_mut().find(|replica| {
                let running = replica.as_ref().map(|one| one.running.id().to_string());
                running.as_deref() == Some(&id)
            });
            let holder = holder.context("the holder of the lease is a replica of ours")?;
            let killed = holder.take().context("it runs")?;
            killed.running.signal("KILL")?;
            let moved = world.until_scheduled(&patroni, Instant::now(), Some(&owner))?;
            drop(killed);
            pause(options.seconds);
            Ok(moved)
        })();
        world.stop.store(true, Ordering::Relaxed);
        played
    })?;
    say(format!(
        "\n{} at {}, {} replicas, {CLUSTERS} clusters, limits for each mutex: {}\n{table}",
        version("patroni")?,
        ground::commit(),
        NAMES.len(),
        LIMITS
            .map(|(sector, most)| format!("{sector} {most}"))
            .join(" and "),
    ))?;
    say(format!(
        "the scheduler was killed: another had the lease after {moved:.1} s; bar: {}",
        bars.at_most(
            "until another scheduler has the lease",
            moved,
            LEASE_SECONDS
        )
    ))?;
    world.judge(&ground, &patroni, &mut bars)?;
    bars.missed()
        .iter()
        .try_for_each(|sentence| say(format!("missed: {sentence}")))?;
    Ok(bars.outcome())
}

fn pause(seconds: u64) {
    std::thread::sleep(Duration::from_secs(seconds));
}

fn version(program: &str) -> anyhow::Result<String> {
    ground::printed(Command::new(program).arg("--version"))
}

impl World {
    fn new(clusters: Clusters, ports: Vec<u16>) -> Self {
        Self {
            patches: Mutex::new(vec![0; clusters.len()]),
            clusters,
            ports,
            stop: AtomicBool::new(false),
            next: AtomicU64::new(0),
            reports: Mutex::default(),
            acts: Mutex::default(),
            heard: Mutex::new((Instant::now(), 0.0)),
            answers: Mutex::default(),
            graphs: Mutex::default(),
            looks: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            over: Mutex::default(),
        }
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Reports for one cluster after the other, and approves something now and then. What is not acknowledged is not sent again.
    fn report(&self, reporter: usize) {
        let port = self.ports[reporter % self.ports.len()];
        let mut caller = Caller::new(port);
        while self.goes_on() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let cluster = number as usize % CLUSTERS;
            let patch = locked(&self.patches)[cluster];
            let answered = match number % 25 {
                0 => {
                    let why = format!("approval {number}");
                    let body = json!({"organisation": fleet::ORGANISATION, "version": fleet::version(1), "why": why});
                    let token = &self.clusters.administrator;
                    let answered = caller.post("/api/v1/fleet/approve", token, &body.to_string());
                    if answered.as_ref().is_ok_and(|answer| answer.status == 200) {
                        locked(&self.acts).insert(why);
                    }
                    answered
                }
                _ => {
                    let (target, token, body) = self.clusters.report_of(cluster, number, patch);
                    let answered = caller.post(&target, &token, &body);
                    if answered.as_ref().is_ok_and(|answer| answer.status == 202) {
                        locked(&self.reports)
                            .entry(cluster)
                            .or_default()
                            .insert(number);
                        let mut heard = locked(&self.heard);
                        heard.1 = heard.1.max(heard.0.elapsed().as_secs_f64());
                        heard.0 = Instant::now();
                    }
                    answered
                }
            };
            count(&self.answers, answered.map(|answer| answer.status));
            std::thread::sleep(Duration::from_millis(60));
        }
    }

    fn ask_for_graphs(&self, port: u16) {
        let (mut caller, mut number) = (Caller::new(port), 0);
        while self.goes_on() {
            number += 1;
            let answered = caller.get(&self.clusters.graph(number % CLUSTERS), "");
            count(&self.graphs, answered.map(|answer| answer.status));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Looks what is under way, holds it against the policy, and lets clusters take what they are given.
    fn upgrade(&self) {
        let mut callers: Vec<Caller> = self.ports.iter().map(|port| Caller::new(*port)).collect();
        let mut turn = 0;
        while self.goes_on() {
            turn += 1;
            let caller = &mut callers[turn % self.ports.len()];
            let target = "/api/v1/fleet/upgrades?limit=1000";
            let answered = caller.get(target, &self.clusters.reader);
            if let Ok(answer) = answered
                && answer.status == 200
            {
                let told: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
                self.look(&told, turn);
            }
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    fn look(&self, told: &Value, turn: usize) {
        let entries = told["entries"].as_array().cloned().unwrap_or_default();
        let is_active = |entry: &&Value| entry["state"] == "planned" || entry["state"] == "started";
        let active: Vec<(usize, u32)> = entries
            .iter()
            .filter(is_active)
            .filter_map(|entry| {
                let cluster = fleet::number_of(entry["cluster"].as_str()?)
                    .or_else(|| fleet::number_of(entry["name"].as_str()?))?;
                Some((cluster, fleet::patch_of(entry["to"].as_str()?)?))
            })
            .collect();
        self.looks.fetch_add(1, Ordering::Relaxed);
        for problem in over_limits(
            &active
                .iter()
                .map(|(cluster, _)| *cluster)
                .collect::<Vec<_>>(),
        ) {
            locked(&self.over).insert(problem);
        }
        let mut patches = locked(&self.patches);
        for (cluster, to) in active {
            // Some take longer than others.
            if (cluster + turn).is_multiple_of(5) && patches[cluster] < to {
                patches[cluster] = to;
                self.finished.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Something happens to the leader. How long no report was acknowledged, and nobody had the lease.
    fn strike(
        &self,
        patroni: &mut Patroni,
        fault: Fault,
        seconds: u64,
    ) -> anyhow::Result<(&'static str, f64, f64)> {
        let leader = patroni.leader().context("there is a leader")?;
        *locked(&self.heard) = (Instant::now(), 0.0);
        let began = Instant::now();
        patroni.strike(leader, fault)?;
        // A report that was under way may still be acknowledged by the one that was struck.
        std::thread::sleep(Duration::from_secs(1));
        let after = Instant::now();
        while locked(&self.heard).0 <= after || patroni.leader().is_none() {
            ensure!(
                began.elapsed() < PATIENCE,
                "no report was acknowledged within {PATIENCE:?} of {fault:?}"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        let scheduled = self.until_scheduled(patroni, began, None)?;
        pause(seconds);
        patroni.heal(leader, fault)?;
        let name = match fault {
            Fault::Machine => "the leader's machine died",
            Fault::Server => "the leader's PostgreSQL died",
            Fault::Frozen => "the leader stood still",
        };
        let silent = locked(&self.heard).1;
        pause(seconds);
        Ok((name, silent, scheduled))
    }

    /// Waits until somebody has the lease, and another than that. Seconds since then.
    fn until_scheduled(
        &self,
        patroni: &Patroni,
        since: Instant,
        not: Option<&str>,
    ) -> anyhow::Result<f64> {
        loop {
            if let Ok(Some(owner)) = self.owner(patroni)
                && not != Some(&owner)
            {
                return Ok(since.elapsed().as_secs_f64());
            }
            ensure!(since.elapsed() < PATIENCE, "nobody takes the lease");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Who has the scheduler's lease, by the database's clock.
    fn owner(&self, patroni: &Patroni) -> anyhow::Result<Option<String>> {
        let text = "SELECT owner FROM leases WHERE name = 'scheduler' AND owner <> '' \
                    AND expires_ms > EXTRACT(EPOCH FROM clock_timestamp()) * 1000";
        let owner = patroni.sql("towpath", text)?;
        Ok(Some(owner).filter(|owner| !owner.is_empty()))
    }

    fn judge(&self, ground: &Ground, patroni: &Patroni, bars: &mut Bars) -> anyhow::Result<()> {
        let acknowledged = locked(&self.reports);
        let mut kept: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
        let text = format!(
            "SELECT cluster || ' ' || (started_at / 1000000000 - {EPOCH}) FROM agent_updates"
        );
        for line in patroni.sql("towpath", &text)?.lines() {
            let (id, number) = line.split_once(' ').context("two words")?;
            let cluster = fleet::number_of(id).context("a cluster of ours")?;
            kept.entry(cluster).or_default().insert(number.parse()?);
        }
        let nothing = BTreeSet::new();
        let lost: usize = acknowledged
            .iter()
            .map(|(cluster, numbers)| {
                let kept = kept.get(cluster).unwrap_or(&nothing);
                numbers.difference(kept).count()
            })
            .sum();
        let all: usize = acknowledged.values().map(BTreeSet::len).sum();
        say(format!(
            "reports: {all} were acknowledged, {lost} of them are not in the store; bar: {}",
            bars.at_most("reports that were lost", lost as f64, 0.0)
        ))?;
        bars.at_least("reports", all as f64, 500.0);
        let acts: BTreeSet<String> = patroni
            .sql("towpath", "SELECT why FROM acts")?
            .lines()
            .map(str::to_owned)
            .collect();
        let (told, missing) = {
            let told = locked(&self.acts);
            (told.len(), told.difference(&acts).count())
        };
        say(format!(
            "approvals: {told} were acknowledged, {missing} of them are not in the store; bar: {}",
            bars.at_most("approvals that were lost", missing as f64, 0.0)
        ))?;
        say(format!(
            "answers to both: {}",
            locked(&self.answers).words()
        ))?;
        let graphs = locked(&self.graphs);
        let failed = graphs.total() - graphs.0.get("200").copied().unwrap_or(0);
        // The replica that was killed answers nobody any more.
        let refused = graphs
            .0
            .iter()
            .filter(|(what, _)| what.parse::<u16>().is_err());
        let refused: u64 = refused.map(|(_, times)| times).sum();
        say(format!(
            "graphs: {} were asked for, {} failed, apart from {refused} at the replica that was killed; bar: {}",
            graphs.total(),
            failed - refused,
            bars.at_most("graphs that failed", (failed - refused) as f64, 0.0)
        ))?;
        let over = locked(&self.over);
        let shown: Vec<String> = over.iter().take(5).cloned().collect();
        say(format!(
            "upgrades: {} were finished; looked {} times, over a limit: {}; bar: {}",
            self.finished.load(Ordering::Relaxed),
            self.looks.load(Ordering::Relaxed),
            over.len(),
            bars.no_failures("limits", &shown)
        ))?;
        bars.at_least(
            "upgrades",
            self.finished.load(Ordering::Relaxed) as f64,
            10.0,
        );
        let (store, password) = patroni.store();
        for (command, good) in [
            ("check", "The store is in order."),
            ("replay", " 0 different; "),
        ] {
            let mut towpath = ground.towpath(&["fleet", command, "--store", &store]);
            let said = ground::printed(towpath.arg("--store-password-file").arg(&password));
            let said = said.unwrap_or_else(|error| format!("{error:#}"));
            let told = said.lines().rev().find(|line| line.contains(good));
            let problems = match told {
                Some(_) => Vec::new(),
                None => vec![said.clone()],
            };
            let verdict = bars.no_failures(&format!("towpath fleet {command}"), &problems);
            let words = told.map_or("it found something", str::trim);
            say(format!("towpath fleet {command}: {words}; bar: {verdict}"))?;
        }
        Ok(())
    }
}

/// What the policy forbids, of clusters that are all under way at once: a mutex is held in a sector by as many as may go in parallel there.
fn over_limits(active: &[usize]) -> Vec<String> {
    let mut holders: BTreeMap<(usize, usize), BTreeSet<usize>> = BTreeMap::new();
    for cluster in active {
        let place = (fleet::mutex_of(*cluster), fleet::sector_of(*cluster));
        holders.entry(place).or_default().insert(*cluster);
    }
    let mut problems = Vec::new();
    for ((mutex, sector), holders) in holders {
        let (name, most) = LIMITS[sector];
        if holders.len() > most {
            problems.push(format!("m{mutex} is held in {name} by {holders:?}"));
        }
    }
    problems
}

fn count(tally: &Mutex<AnswerCount>, answered: std::io::Result<u16>) {
    let what = match answered {
        Ok(status) => status.to_string(),
        Err(error) => error.kind().to_string(),
    };
    locked(tally).count(what);
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_policy() {
        // Clusters 0, 40 and 80 share a mutex of stage, and 1 and 41 one of production.
        assert!(over_limits(&[0, 40, 1, 2, 3]).is_empty());
        assert_eq!(
            over_limits(&[0, 40, 80, 1]),
            ["m0 is held in stage by {0, 40, 80}"]
        );
        assert_eq!(
            over_limits(&[1, 41]),
            ["m0 is held in production by {1, 41}"]
        );
    }
}

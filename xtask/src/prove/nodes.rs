//! `cargo xtask prove nodes`: a rolling reboot moves pods, and some of them more than once. How many, on the real scheduler?
//!
//! The bench `reboots` of testing/kube runs it: real API server, scheduler and controllers; nodes and pods as objects. The bench
//! `rolling` of testing/nodes simulates the same cluster from the same start.

use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::bars::Bars;
use crate::say::say;
use crate::scratch::Scratch;
use crate::table::Table;
use crate::{Outcome, kube_api, workspace};

#[derive(Debug, Args)]
pub(crate) struct NodesOptions {
    /// Only this part; may be given more than once. [default: all]
    #[arg(long, value_enum)]
    part: Vec<NodesPart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NodesPart {
    /// Clusters of 6, 12, 30 and 100 nodes at 60 % and 80 % of their CPU, beside the closed form.
    Excess,
    /// 20 random clusters, each rebooted five times: the simulator against the real scheduler.
    Random,
}

const PARTS: [NodesPart; 2] = [NodesPart::Excess, NodesPart::Random];
const SEEDS: u64 = 5;
const RANDOM_CLUSTERS: u64 = 20;
/// How far the simulator's mean may be from the real one.
const NEAR: f64 = 0.03;

/// Runs of one kind: the same size and fill.
#[derive(Debug, Clone, Copy)]
struct Kind {
    nodes: u64,
    fill: u64,
    taint: &'static str,
}

/// One run, and the same in the simulator.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Measured {
    pods: f64,
    moves: f64,
    pending: f64,
    /// Moves in the simulator, on average.
    simulated: f64,
}

impl Measured {
    /// From a line of each bench.
    fn read(real: &Value, simulated: &Value) -> anyhow::Result<Self> {
        Ok(Self {
            pods: number(real, "pods")?,
            moves: number(real, "moves")?,
            pending: number(real, "pending")?,
            simulated: number(simulated, "moves")?,
        })
    }

    /// How many moves there were beyond one for each pod, as a part of the pods.
    fn excess(self) -> f64 {
        self.moves / self.pods - 1.0
    }

    fn simulated_excess(self) -> f64 {
        self.simulated / self.pods - 1.0
    }
}

fn number(line: &Value, name: &str) -> anyhow::Result<f64> {
    line[name]
        .as_f64()
        .with_context(|| format!("there is no {name}: {line}"))
}

/// Measures, prints everything, and only then says whether a bar was missed.
pub(super) fn run(options: &NodesOptions) -> anyhow::Result<Outcome> {
    kube_api::run()?;
    for bench in [REAL, SIMULATED] {
        say(format!("building the bench {}", bench.1))?;
        let built = cargo_bench(bench)?.arg("--no-run").status();
        ensure!(
            built.context("cargo cannot be run")?.success(),
            "the bench cannot be built; see above"
        );
    }
    let mut bars = Bars::default();
    let wanted = |part: &NodesPart| options.part.is_empty() || options.part.contains(part);
    for part in PARTS.into_iter().filter(wanted) {
        let table = match part {
            NodesPart::Excess => excess(&mut bars)?,
            NodesPart::Random => random(&mut bars)?,
        };
        say(format!("\n{table}"))?;
    }
    match bars.missed() {
        [] => say("\nevery bar is met")?,
        missed => missed
            .iter()
            .try_for_each(|sentence| say(format!("missed: {sentence}")))?,
    }
    Ok(bars.outcome())
}

fn excess(bars: &mut Bars) -> anyhow::Result<Table> {
    let mut table = Table::new([
        "nodes",
        "filled",
        "taint",
        "runs",
        "pods",
        "moves too many",
        "least to most",
        "simulator",
        "at random",
        "waiting",
        "bar",
    ]);
    for taint in ["none", "soft"] {
        for (nodes, seeds) in [(6, SEEDS), (12, SEEDS), (30, SEEDS), (100, 1)] {
            for fill in [60, 80] {
                let kind = Kind { nodes, fill, taint };
                let runs: Vec<String> = (1..=seeds).map(|seed| kind.run(seed)).collect();
                let all = measure(&runs)?;
                let (real, simulated) = means(&all);
                let excesses = || all.iter().map(|one| one.excess());
                let (least, most) = (
                    excesses().fold(f64::INFINITY, f64::min),
                    excesses().fold(f64::NEG_INFINITY, f64::max),
                );
                let what = format!("{nodes} nodes at {fill} %, taint {taint}: simulator");
                let bar = bars.at_most(&what, (simulated - real).abs(), NEAR);
                table.row([
                    nodes.to_string(),
                    format!("{fill} %"),
                    taint.to_owned(),
                    all.len().to_string(),
                    format!("{:.0}", mean(all.iter().map(|one| one.pods))),
                    percent(real),
                    format!("{} to {}", percent(least), percent(most)),
                    percent(simulated),
                    percent(at_random(nodes as f64)),
                    format!(
                        "{:.0}",
                        all.iter().map(|one| one.pending).fold(0.0, f64::max)
                    ),
                    bar,
                ]);
            }
        }
    }
    Ok(table)
}

fn random(bars: &mut Bars) -> anyhow::Result<Table> {
    let mut table = Table::new([
        "cluster",
        "nodes",
        "filled",
        "pods",
        "real",
        "simulator",
        "apart",
        "bar",
    ]);
    let mut furthest: f64 = 0.0;
    for cluster in 0..RANDOM_CLUSTERS {
        let kind = Kind::random(cluster);
        let runs = vec![kind.run(100 + cluster); SEEDS as usize];
        let all = measure(&runs)?;
        let (real, simulated) = means(&all);
        furthest = furthest.max((simulated - real).abs());
        let what = format!("cluster {cluster}: simulator");
        let bar = bars.at_most(&what, (simulated - real).abs(), NEAR);
        table.row([
            cluster.to_string(),
            kind.nodes.to_string(),
            format!("{} %", kind.fill),
            format!("{:.0}", mean(all.iter().map(|one| one.pods))),
            percent(real),
            percent(simulated),
            format!("{:.3}", (simulated - real).abs()),
            bar,
        ]);
    }
    say(format!("furthest apart: {furthest:.3}"))?;
    Ok(table)
}

impl Kind {
    /// The size and fill of a random cluster: 4 to 16 nodes, 45 to 80 % full. The bench makes its workload from a seed.
    fn random(cluster: u64) -> Self {
        let chance = mixed(cluster.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self {
            nodes: 4 + (chance >> 40) % 13,
            fill: 45 + (chance >> 20) % 36,
            taint: if cluster.is_multiple_of(2) {
                "none"
            } else {
                "soft"
            },
        }
    }

    fn run(self, seed: u64) -> String {
        let Self { nodes, fill, taint } = self;
        format!("nodes={nodes},fill={fill},seed={seed},taint={taint}")
    }
}

/// SplitMix64's mix.
fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Where replacements land at random, with the others equally full: ((n/(n−1))^n − 1)(n−1)/n − 1, towards e − 2.
fn at_random(nodes: f64) -> f64 {
    ((nodes / (nodes - 1.0)).powf(nodes) - 1.0) * (nodes - 1.0) / nodes - 1.0
}

fn means(all: &[Measured]) -> (f64, f64) {
    let real = mean(all.iter().map(|one| one.excess()));
    (real, mean(all.iter().map(|one| one.simulated_excess())))
}

fn mean(figures: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = figures.fold((0.0, 0.0), |(sum, count), one| (sum + one, count + 1.0));
    sum / count
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

/// Runs them for real, and then simulates each from where it began.
fn measure(runs: &[String]) -> anyhow::Result<Vec<Measured>> {
    say(format!("measuring {}, {} runs", runs[0], runs.len()))?;
    let real = lines(REAL, runs)?;
    let scratch = Scratch::new("nodes")?;
    let mut files = Vec::new();
    for (place, line) in real.iter().enumerate() {
        let cluster = line["cluster"].as_str().context("there is no cluster")?;
        let taint = line["taint"].as_str().context("there is no taint")?;
        let file = scratch.write(&format!("{place}.{taint}"), cluster)?;
        files.push(file.display().to_string());
    }
    let simulated = lines(SIMULATED, &files)?;
    let pairs = real.iter().zip(&simulated);
    pairs
        .map(|(real, simulated)| Measured::read(real, simulated))
        .collect()
}

/// A package and its bench.
type Bench = (&'static str, &'static str);

const REAL: Bench = ("towpath-testing-kube", "reboots");
const SIMULATED: Bench = ("towpath-testing-nodes", "rolling");

/// The line of JSON that a bench prints for each argument.
fn lines(bench: Bench, arguments: &[String]) -> anyhow::Result<Vec<Value>> {
    let mut command = cargo_bench(bench)?;
    let output = command
        .arg("--")
        .args(arguments)
        .stderr(Stdio::inherit())
        .output();
    let output = output.context("cargo cannot be run")?;
    ensure!(output.status.success(), "the bench failed; see above");
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<Value> = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(
        lines.len() == arguments.len(),
        "the bench printed {} lines for {} runs",
        lines.len(),
        arguments.len()
    );
    Ok(lines)
}

/// A bench, as cargo runs it. What it counts does not depend on its speed, so it is not optimised.
fn cargo_bench((package, bench): Bench) -> anyhow::Result<Command> {
    let dev = ["bench", "--quiet", "--profile", "dev"];
    let which = ["--package", package, "--bench", bench];
    let mut command = workspace::cargo(&[&dev[..], &which].concat());
    command.envs(kube_api::places()?);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_form_goes_towards_e_minus_two() {
        assert!((at_random(6.0) - 0.655).abs() < 0.001, "{}", at_random(6.0));
        assert!((at_random(1e6) - 0.718).abs() < 0.001);
    }

    #[test]
    fn random_clusters_are_as_wide_as_they_are_said_to_be() {
        let kinds: Vec<Kind> = (0..RANDOM_CLUSTERS).map(Kind::random).collect();
        assert!(kinds.iter().all(|one| (4..=16).contains(&one.nodes)));
        assert!(kinds.iter().all(|one| (45..=80).contains(&one.fill)));
        assert!(kinds.iter().any(|one| one.nodes < 8) && kinds.iter().any(|one| one.nodes > 12));
    }

    #[test]
    fn a_line_without_a_figure_is_no_measurement() {
        let real = serde_json::json!({"pods": 50, "moves": 60, "pending": 0});
        let error = Measured::read(&real, &Value::Null).unwrap_err().to_string();
        assert!(error.starts_with("there is no moves"), "{error}");
        let measured = Measured::read(&real, &serde_json::json!({"moves": 65.0})).unwrap();
        assert!((measured.excess() - 0.2).abs() < 1e-9);
        assert!((measured.simulated_excess() - 0.3).abs() < 1e-9);
    }
}

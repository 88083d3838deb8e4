//! A towpath process, started as its users start it and measured from outside.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::http::{self, Answer, Encoding};
use super::running::BackgroundProcess;
use super::scratch::Scratch;

/// How often a server that is not ready is asked again.
const POLL: Duration = Duration::from_millis(2);
/// How long a server may take to be ready or to reload.
const PATIENCE: Duration = Duration::from_secs(120);
/// Processor time is counted in these; the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// What is served.
#[derive(Debug, Clone)]
pub(super) struct Inputs {
    graph_data: PathBuf,
    releases: PathBuf,
    platforms: Option<PathBuf>,
    fleet: Vec<OsString>,
}

impl Inputs {
    /// Graph data and releases.
    pub(super) fn new(graph_data: &Path, releases: &Path) -> Self {
        Self {
            graph_data: graph_data.to_owned(),
            releases: releases.to_owned(),
            platforms: None,
            fleet: Vec::new(),
        }
    }

    /// The same, with a lookup of platforms.
    pub(super) fn with_platforms(self, platforms: &Path) -> Self {
        Self {
            platforms: Some(platforms.to_owned()),
            ..self
        }
    }

    /// The same, with a fleet, as these arguments say.
    pub(super) fn with_fleet(self, arguments: Vec<OsString>) -> Self {
        Self {
            fleet: arguments,
            ..self
        }
    }
}

/// A server that is ready.
#[derive(Debug)]
pub(super) struct Towpath {
    running: BackgroundProcess,
    pub(super) port: u16,
    /// From the start of the process to the first answer that it is ready.
    pub(super) ready_after: Duration,
}

/// What a process holds in memory, in MiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Memory {
    /// The most there ever was.
    pub(super) peak_mib: f64,
    pub(super) now_mib: f64,
}

impl Towpath {
    /// Starts a server and waits until it is ready.
    pub(super) fn start(binary: &Path, inputs: &Inputs, scratch: &Scratch) -> anyhow::Result<Self> {
        let port = http::free_port()?;
        let mut command = Command::new(binary);
        // A bench asks more often than any client.
        command.env("TOWPATH_REQUESTS_PER_MINUTE", "0");
        command.args([
            "serve",
            "--log",
            "warn",
            "--listen",
            &format!("127.0.0.1:{port}"),
        ]);
        command
            .arg("--graph-data")
            .arg(&inputs.graph_data)
            .arg("--releases")
            .arg(&inputs.releases);
        if let Some(platforms) = &inputs.platforms {
            command.arg("--platforms").arg(platforms);
        }
        command.args(&inputs.fleet);
        // Whatever the user has set for a server of their own does not belong here.
        let settings = std::env::vars_os().map(|(name, _)| name);
        settings
            .filter(|name| name.to_string_lossy().starts_with("TOWPATH_"))
            .for_each(|name| {
                command.env_remove(name);
            });
        let started = Instant::now();
        let running =
            BackgroundProcess::start("towpath", command, &scratch.folder().join("towpath.log"))?;
        while !http::get(port, "/readyz", Encoding::Identity)
            .is_ok_and(|answer| answer.status == 200)
        {
            running.ensure_alive()?;
            if started.elapsed() > PATIENCE {
                bail!(
                    "towpath is not ready after {PATIENCE:?}; its last words:\n{}",
                    running.last_words()
                );
            }
            std::thread::sleep(POLL);
        }
        Ok(Self {
            running,
            port,
            ready_after: started.elapsed(),
        })
    }

    /// The body of a graph.
    pub(super) fn graph(&self, query: &str, encoding: Encoding) -> anyhow::Result<Vec<u8>> {
        let answer = self.get(&graph_target(query), encoding)?;
        ensure!(
            answer.status == 200,
            "{query} is answered with {}",
            answer.status
        );
        Ok(answer.body)
    }

    /// How often it has loaded a graph that was new.
    pub(super) fn reloads(&self) -> anyhow::Result<u64> {
        reloads_in(&self.metrics()?)
    }

    /// What it says of itself to Prometheus.
    pub(super) fn metrics(&self) -> anyhow::Result<String> {
        let answer = self.get("/metrics", Encoding::Identity)?;
        Ok(String::from_utf8_lossy(&answer.body).into_owned())
    }

    /// Makes it reload, and waits for the end.
    pub(super) fn reload(&self, loaded_before: u64) -> anyhow::Result<()> {
        self.running.signal("HUP")?;
        let asked = Instant::now();
        while self.reloads()? == loaded_before {
            ensure!(
                asked.elapsed() < PATIENCE,
                "no new graph after {PATIENCE:?}: {}",
                self.running.last_words()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// What it holds in memory.
    pub(super) fn memory(&self) -> anyhow::Result<Memory> {
        memory_in(&self.proc_file("status")?)
    }

    /// The processor time that it has taken so far, in seconds.
    pub(super) fn processor_seconds(&self) -> anyhow::Result<f64> {
        processor_seconds_in(&self.proc_file("stat")?)
    }

    fn get(&self, target: &str, encoding: Encoding) -> anyhow::Result<Answer> {
        http::get(self.port, target, encoding).or_else(|error| {
            // That it has died says more than that it does not answer.
            self.running.ensure_alive()?;
            Err(error)
        })
    }

    fn proc_file(&self, name: &str) -> anyhow::Result<String> {
        let path = format!("/proc/{}/{name}", self.running.id());
        fs::read_to_string(&path)
            .with_context(|| format!("{path}: cannot be read; the bench needs Linux"))
    }
}

/// What to ask for a graph.
pub(super) fn graph_target(query: &str) -> String {
    format!("/api/upgrades_info/graph?{query}")
}

fn reloads_in(metrics: &str) -> anyhow::Result<u64> {
    let series = "towpath_reloads_total{result=\"changed\"} ";
    let value = metrics.lines().find_map(|line| line.strip_prefix(series));
    value
        .and_then(|value| value.trim().parse().ok())
        .with_context(|| format!("/metrics has no {series}"))
}

fn memory_in(status: &str) -> anyhow::Result<Memory> {
    let mib = |name: &str| {
        let value = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB"));
        let kib = value.and_then(|value| value.parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0)
            .with_context(|| format!("there is no {name}"))
    };
    Ok(Memory {
        peak_mib: mib("VmHWM:")?,
        now_mib: mib("VmRSS:")?,
    })
}

fn processor_seconds_in(stat: &str) -> anyhow::Result<f64> {
    // The name of the program stands in brackets, and may hold anything.
    let (_, fields) = stat
        .rsplit_once(") ")
        .context("there is no name in brackets")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|field| field.parse::<f64>().ok())
            .context("there is no time")
    };
    let (user, system) = (ticks(11)?, ticks(12)?);
    Ok((user + system) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says() {
        let status =
            "Name:\ttowpath\nVmPeak:\t  999 kB\nVmHWM:\t    2048 kB\nVmRSS:\t    1536 kB\n";
        assert_eq!(
            memory_in(status).unwrap(),
            Memory {
                peak_mib: 2.0,
                now_mib: 1.5
            }
        );
        assert!(memory_in("").is_err());
        let stat = "42 (tow) path) S 1 42 42 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 3 0 12345 0 0";
        assert_eq!(processor_seconds_in(stat).unwrap(), 2.0);
    }

    #[test]
    fn what_the_metrics_say() {
        let metrics = "# TYPE towpath_reloads counter\ntowpath_reloads_total{result=\"failed\"} 1\ntowpath_reloads_total{result=\"changed\"} 12\n";
        assert_eq!(reloads_in(metrics).unwrap(), 12);
        assert!(reloads_in("").is_err());
    }
}

//! Never exceeded, on SQLite with `kill -9`: two `towpath fleet run` on one file are killed at any instant, again and again,
//! while clusters finish upgrades and new versions appear. After each kill the store is in order, no mutex is held by more
//! than may, and whatever was told as planned is there.
//!
//! `TOWPATH_SEED` repeats a choice of instants; the machine's timing remains its own.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says so"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use towpath_store::Store;

const KILLS: u64 = 250;
const CLUSTERS: usize = 12;
/// About what a pass writes that has much to do.
const MOST_BYTES: u64 = 1_500;

const POLICY: &str = "
name: acme
orgId: acme
sectors:
- {name: stage, maxParallelUpgrades: 2}
- {name: prod}
upgradePolicyClusters:
";

#[test]
fn killed_at_any_instant_nothing_is_exceeded_or_lost() {
    let mut chaos = Chaos::begin();
    let mut running: Vec<Run> = Vec::new();
    for kill in 0..KILLS {
        while running.len() < 2 {
            running.push(chaos.start());
        }
        let victim = running.swap_remove(usize::from(chaos.below(2) == 1));
        chaos.kill(victim);
        chaos.look();
        if kill % 25 == 0 {
            chaos.replay();
        }
        chaos.world_goes_on();
    }
    running.into_iter().for_each(|run| chaos.kill(run));
    let upgrades = chaos.look();
    chaos.replay();
    let finished = upgrades
        .iter()
        .filter(|upgrade| upgrade["state"] == "finished")
        .count();
    println!(
        "{} upgrades, {finished} of them finished, {} told",
        upgrades.len(),
        chaos.told.len()
    );
    assert!(
        finished >= 3 && chaos.told.len() >= 10,
        "too little happened for this to mean anything"
    );
}

/// A process that schedules.
struct Run {
    child: Child,
    output: std::process::ChildStderr,
}

struct Chaos {
    directory: tempfile::TempDir,
    seed: u64,
    now: Timestamp,
    /// The patch that each cluster is on.
    clusters: BTreeMap<String, u64>,
    newest: u64,
    /// What was told as planned: the upgrade's number, the cluster's name.
    told: BTreeMap<i64, String>,
    runtime: tokio::runtime::Runtime,
}

impl Chaos {
    fn begin() -> Self {
        let given = std::env::var("TOWPATH_SEED")
            .ok()
            .and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| Timestamp::now().as_microsecond().unsigned_abs());
        println!("TOWPATH_SEED={seed}");
        let chaos = Self {
            directory: tempfile::tempdir().unwrap(),
            seed,
            now: "2026-01-05T00:00:00Z".parse().unwrap(),
            clusters: (0..CLUSTERS)
                .map(|number| (format!("c{number:02}"), 1))
                .collect(),
            newest: 3,
            told: BTreeMap::new(),
            runtime: tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
                .unwrap(),
        };
        fs::create_dir(chaos.path("fleet")).unwrap();
        let mut policy = POLICY.to_owned();
        for (number, name) in chaos.clusters.keys().enumerate() {
            let (sector, mutex) = (sector(name), number % 2);
            policy += &format!(
                "- name: {name}\n  upgradePolicy:\n    workloads: [web]\n    schedule: \"* * * * *\"\n    \
                 conditions: {{soakDays: 0, sector: {sector}, mutexes: [m{mutex}]}}\n"
            );
        }
        fs::write(chaos.path("fleet/organisation.yaml"), policy).unwrap();
        fs::write(chaos.path("towpath.yaml"), "log: debug\nlogFormat: json\n").unwrap();
        chaos.write_list();
        chaos
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn store(&self) -> String {
        format!("sqlite:{}", self.path("store.db").display())
    }

    /// SplitMix64.
    fn below(&mut self, limit: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.seed;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) % limit
    }

    /// Each process has a clock of its own, and it stands still.
    fn start(&mut self) -> Run {
        let minutes = i64::try_from(self.below(10)).unwrap() - 2;
        self.now += SignedDuration::from_mins(minutes);
        let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
        command.args([
            "fleet",
            "run",
            "--rehearse",
            "--every",
            "1s",
            "--store",
            &self.store(),
            "--now",
            &self.now.to_string(),
        ]);
        command
            .arg("--fleet")
            .arg(self.path("fleet"))
            .arg("--clusters")
            .arg(self.path("clusters.json"));
        command.arg("--config").arg(self.path("towpath.yaml"));
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.stderr.take().unwrap();
        Run { child, output }
    }

    /// Kills it when it has written so many bytes, or is through with a pass; all that it has told counts.
    fn kill(&mut self, mut run: Run) {
        let (most, mut told) = (self.below(MOST_BYTES), Vec::new());
        let is_through = |told: &[u8]| String::from_utf8_lossy(told).contains("a pass was made");
        while (told.len() as u64) < most && !is_through(&told) {
            let mut more = [0; 64];
            match run.output.read(&mut more).unwrap() {
                0 => break,
                bytes => told.extend_from_slice(&more[..bytes]),
            }
        }
        run.child.kill().unwrap();
        run.child.wait().unwrap();
        run.output.read_to_end(&mut told).unwrap();
        for line in String::from_utf8_lossy(&told).lines() {
            // The last line may have been cut.
            let Ok(line) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            assert_ne!(line["level"], "ERROR", "{line}");
            if line["message"] == "an upgrade was planned" {
                self.told.insert(
                    line["upgrade"].as_i64().unwrap(),
                    line["cluster"].as_str().unwrap().to_owned(),
                );
            }
        }
        self.bury(run.child.id());
    }

    /// The lease of the dead is given up for them; else one would have to wait until it runs out.
    fn bury(&self, pid: u32) {
        self.runtime.block_on(async {
            let store = Store::open(&self.store()).await.unwrap();
            let held = store.holder("scheduler").await.unwrap();
            if let Some(lease) = held.filter(|lease| lease.owner.starts_with(&format!("{pid}-"))) {
                assert!(store.release(&lease).await.unwrap());
            }
            store.close().await;
        });
    }

    /// What is stored is in order, and within its limits.
    fn look(&self) -> Vec<Value> {
        assert_eq!(self.fleet(&["check"]), "The store is in order.\n");
        let upgrades = self.upgrades("10000");
        let mut holders: BTreeMap<(u64, &str), BTreeSet<&str>> = BTreeMap::new();
        let is_active =
            |upgrade: &&Value| upgrade["state"] == "planned" || upgrade["state"] == "started";
        for upgrade in upgrades.iter().filter(is_active) {
            let name = upgrade["cluster"].as_str().unwrap();
            let is_new = holders
                .entry((number(name) % 2, sector(name)))
                .or_default()
                .insert(name);
            assert!(is_new, "{name} has two active upgrades");
        }
        for ((mutex, sector), names) in &holders {
            let most = if *sector == "stage" { 2 } else { 1 };
            assert!(
                names.len() <= most,
                "m{mutex} is held in {sector} by {names:?}"
            );
        }
        let there: BTreeMap<i64, &str> = upgrades
            .iter()
            .map(|upgrade| {
                (
                    upgrade["id"].as_i64().unwrap(),
                    upgrade["cluster"].as_str().unwrap(),
                )
            })
            .collect();
        for (id, name) in &self.told {
            assert_eq!(
                there.get(id),
                Some(&name.as_str()),
                "upgrade {id} of {name} was told and is lost"
            );
        }
        upgrades
    }

    /// Past decisions come out bit for bit.
    fn replay(&self) {
        let said = self.fleet(&["replay"]);
        assert!(
            said.contains(" 0 different; the chain of ") && said.contains(" is intact.\n"),
            "{said}"
        );
    }

    /// The newest upgrades.
    fn upgrades(&self, limit: &str) -> Vec<Value> {
        let told = self.fleet(&["upgrades", "--output", "json", "--limit", limit]);
        let told: Value = serde_json::from_str(&told).unwrap();
        told["entries"].as_array().unwrap().clone()
    }

    /// Runs a command that must succeed; what it said.
    fn fleet(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
        let output = command
            .arg("fleet")
            .args(arguments)
            .args(["--store", &self.store()])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{arguments:?}: {said}{errors}");
        said
    }

    /// Time goes by, clusters get where they were sent, a version appears.
    fn world_goes_on(&mut self) {
        let upgrades = self.upgrades("50");
        for upgrade in upgrades
            .iter()
            .filter(|upgrade| upgrade["state"] == "started")
        {
            let to = upgrade["to"]
                .as_str()
                .unwrap()
                .rsplit('.')
                .next()
                .unwrap()
                .parse()
                .unwrap();
            if self.below(2) == 0 {
                self.clusters
                    .insert(upgrade["cluster"].as_str().unwrap().to_owned(), to);
            }
        }
        self.newest += u64::from(self.below(4) == 0);
        self.write_list();
    }

    /// The list is replaced in one go: nobody reads half of it.
    fn write_list(&self) {
        let cluster = |(name, patch): (&String, &u64)| {
            let offers: Vec<String> = (patch + 1..=self.newest)
                .map(|patch| format!("4.9.{patch}"))
                .collect();
            json!({"id": name, "name": name, "organisation": "acme", "version": format!("4.9.{patch}"), "availableUpgrades": offers})
        };
        let list = json!({"clusters": self.clusters.iter().map(cluster).collect::<Vec<_>>()});
        fs::write(self.path("clusters.new"), list.to_string()).unwrap();
        fs::rename(self.path("clusters.new"), self.path("clusters.json")).unwrap();
    }
}

fn number(name: &str) -> u64 {
    name.trim_start_matches('c').parse().unwrap()
}

fn sector(name: &str) -> &'static str {
    if number(name) < 6 { "stage" } else { "prod" }
}

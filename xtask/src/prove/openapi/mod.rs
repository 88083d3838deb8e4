//! `cargo xtask prove openapi`: the running service answers as its description at `/api/v1/openapi.json` says.
//!
//! schemathesis makes requests from the description, good ones and bad ones, and holds each answer against it. It asks as a person
//! with all roles, as a viewer, as a cluster and as nobody; first with the store, then while a real PostgreSQL is stopped. Any
//! finding is exit 1, and so are fewer cases than were asked for.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::Value;
use towpath_testing_postgres::{Postgres, Sync};

use super::ground::{self, Ground, Replica};
use crate::bars::Bars;
use crate::bench::http::{self, Encoding};
use crate::say::say;
use crate::table::Table;
use crate::{Outcome, packages, workspace};

const REQUIREMENTS: &str = include_str!("requirements.txt");
const CONFIGURATION: &str = include_str!("schemathesis.toml");
/// At least so many cases, unless somebody asks for fewer.
const CASES: u64 = 20_000;
/// How many cases are made up at random of each operation, in each part. Those that follow from the description come on top: about 9,000.
const EXAMPLES: u64 = 5;
const CLUSTER: &str = "11111111-0000-4000-8000-000000000001";
/// How long the service may take to notice that the store has gone.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Args)]
pub(crate) struct OpenapiOptions {
    /// Ask this towpath instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// The most random cases of one operation in one part. With fewer than the default, the bar of 20,000 cases does not count.
    #[arg(long, default_value_t = EXAMPLES, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    examples: u64,
    /// The seed that all cases come from.
    #[arg(long, default_value_t = 22)]
    seed: u64,
    /// Only as these; may be given more than once. [default: all]
    #[arg(long = "as", value_enum)]
    parties: Vec<Party>,
    /// Only with the store there, or away.
    #[arg(long, value_enum)]
    store: Option<StoreIs>,
    /// Only the operation with this operationId; may be given more than once.
    #[arg(long, value_name = "ID")]
    operation: Vec<String>,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Party {
    /// A person with every role.
    Administrator,
    /// A person who only reads.
    Viewer,
    /// A cluster of the fleet.
    Cluster,
    /// Nobody: no token.
    Nobody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StoreIs {
    There,
    Away,
}

const PARTIES: [Party; 4] = [
    Party::Administrator,
    Party::Viewer,
    Party::Cluster,
    Party::Nobody,
];

impl Party {
    fn name(self) -> &'static str {
        match self {
            Self::Administrator => "administrator",
            Self::Viewer => "viewer",
            Self::Cluster => "cluster",
            Self::Nobody => "nobody",
        }
    }
}

impl StoreIs {
    fn name(self) -> &'static str {
        match self {
            Self::There => "there",
            Self::Away => "away",
        }
    }
}

/// What one run of schemathesis found.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    cases: u64,
    operations: u64,
    findings: u64,
}

impl Found {
    /// From its report. What it could not do counts as a finding.
    fn read(report: &Value) -> anyhow::Result<Self> {
        let number = |pointer: &str| {
            let value = report.pointer(pointer).and_then(Value::as_u64);
            value.with_context(|| format!("the report of schemathesis has no {pointer}"))
        };
        let is_whole = report["complete"] == true;
        let errors = report["errors"].as_array().map_or(0, Vec::len) as u64;
        let skipped = number("/operations/selected")? - number("/operations/tested")?;
        Ok(Self {
            cases: number("/test_cases/generated")?,
            operations: number("/operations/tested")?,
            findings: number("/test_cases/unique_failures")?
                + errors
                + skipped
                + u64::from(!is_whole),
        })
    }
}

pub(super) fn run(options: &OpenapiOptions) -> anyhow::Result<Outcome> {
    let schemathesis = schemathesis()?;
    let ground = Ground::new("openapi", options.binary.as_deref())?;
    let proof = Proof::start(ground)?;
    let (mut table, mut bars) = (
        Table::new(["store", "asked as", "operations", "cases", "findings"]),
        Bars::default(),
    );
    let (mut cases, mut findings, began) = (0, 0, Instant::now());
    for store in [StoreIs::There, StoreIs::Away] {
        if options.store.is_some_and(|only| only != store) {
            continue;
        }
        if store == StoreIs::Away {
            proof.lose_the_store()?;
        }
        for party in PARTIES {
            if !options.parties.is_empty() && !options.parties.contains(&party) {
                continue;
            }
            say(format!("\nstore {}, as {}", store.name(), party.name()))?;
            let found = proof.ask(&schemathesis, options, store, party)?;
            proof.service.running.ensure_alive()?;
            (cases, findings) = (cases + found.cases, findings + found.findings);
            table.row([
                store.name().to_owned(),
                party.name().to_owned(),
                found.operations.to_string(),
                found.cases.to_string(),
                found.findings.to_string(),
            ]);
        }
    }
    say(format!(
        "\n{} at {}, seed {}, {:.0} s\n{table}",
        REQUIREMENTS
            .lines()
            .find(|line| line.starts_with("schemathesis"))
            .unwrap_or_default(),
        ground::commit(),
        options.seed,
        began.elapsed().as_secs_f64(),
    ))?;
    let verdict = bars.at_most("findings", findings as f64, 0.0);
    say(format!("findings: {findings}; bar: {verdict}"))?;
    let is_whole = options.parties.is_empty()
        && options.store.is_none()
        && options.operation.is_empty()
        && options.examples >= EXAMPLES;
    let verdict = match is_whole {
        true => bars.at_least("cases", cases as f64, CASES as f64),
        false => "none, this is only a part".to_owned(),
    };
    say(format!("cases: {cases}; bar: {verdict}"))?;
    Ok(bars.outcome())
}

/// A service with the example's fleet in a PostgreSQL.
struct Proof {
    ground: Ground,
    postgres: Postgres,
    service: Replica,
    administrator: String,
    viewer: String,
    cluster: String,
}

impl Proof {
    fn start(ground: Ground) -> anyhow::Result<Self> {
        let example = ground.path("example");
        ground::printed(ground.towpath(&["example"]).arg(&example))?;
        let postgres = Postgres::boot(Sync::Off);
        let mut arguments: Vec<OsString> = Vec::new();
        for (flag, file) in [
            ("--graph-data", "graph-data"),
            ("--releases", "releases.json"),
            ("--fleet", "fleet"),
            ("--clusters", "clusters.json"),
        ] {
            arguments.extend([flag.into(), example.join(file).into_os_string()]);
        }
        arguments.extend([OsString::from("--store"), postgres.database().into()]);
        // What is asked is how answers look, not how many there are in a minute.
        arguments.extend(
            [
                "--requests-per-minute",
                "0",
                "--reports-per-minute",
                "0",
                "--log",
                "warn",
            ]
            .map(OsString::from),
        );
        let every_role = [
            "viewer",
            "operator",
            "release-administrator",
            "second-signer",
            "fleet-administrator",
        ];
        let (administrator, viewer, cluster) = (
            ground.person_token("ada", &every_role)?,
            ground.person_token("vic", &["viewer"])?,
            ground.cluster_token(CLUSTER, "acme", "stage-eu")?,
        );
        let service = ground.serve("towpath", http::free_port()?, &arguments)?;
        service.await_ready()?;
        let proof = Self {
            ground,
            postgres,
            service,
            administrator,
            viewer,
            cluster,
        };
        proof.until("the fleet was decided", |ready| {
            ready["fleet"]["lastPass"].is_string()
        })?;
        Ok(proof)
    }

    /// Stops the database as if its machine had died, and waits until the service knows.
    fn lose_the_store(&self) -> anyhow::Result<()> {
        self.postgres.stop_at_once();
        self.until("the store is away", |ready| {
            ready["fleet"]["store"] == "unreachable"
        })
    }

    fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            let ready = http::get(self.service.port, "/readyz", Encoding::Identity)?;
            if is_so(&serde_json::from_slice(&ready.body).unwrap_or_default()) {
                return Ok(());
            }
            ensure!(
                began.elapsed() < PATIENCE,
                "it never came about that {what}"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn ask(
        &self,
        schemathesis: &Path,
        options: &OpenapiOptions,
        store: StoreIs,
        party: Party,
    ) -> anyhow::Result<Found> {
        let folder = self
            .ground
            .path(&format!("{}-{}", store.name(), party.name()));
        fs::create_dir_all(&folder)?;
        let configuration = folder.join("schemathesis.toml");
        crate::scratch::write(&configuration, self.configuration(store, party))?;
        let report = folder.join("report.json");
        let url = format!("http://127.0.0.1:{}", self.service.port);
        let mut command = Command::new(schemathesis);
        command
            .arg("--config-file")
            .arg(&configuration)
            .args(["run", &format!("{url}/api/v1/openapi.json"), "--url", &url])
            .args(["--checks", "all", "--mode", "all", "--no-color"])
            .args(["--max-examples", &options.examples.to_string()])
            .args(["--seed", &options.seed.to_string()])
            .args(["--report", "json", "--report-json-path"])
            .arg(&report);
        for operation in &options.operation {
            command.args(["--include-operation-id", operation]);
        }
        let token = match party {
            Party::Administrator => &self.administrator,
            Party::Viewer => &self.viewer,
            Party::Cluster => &self.cluster,
            Party::Nobody => "",
        };
        let status = command
            .env("PROOF_TOKEN", token)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .status()
            .context("schemathesis cannot be run")?;
        let text = fs::read_to_string(&report)
            .with_context(|| format!("schemathesis ended ({status}) without a report"))?;
        let found = Found::read(&serde_json::from_str(&text)?)?;
        // A warning that counts as a failure is in the exit code alone.
        let more = u64::from(!status.success() && found.findings == 0);
        Ok(Found {
            findings: found.findings + more,
            ..found
        })
    }

    /// The file in the repository, and what depends on the part.
    fn configuration(&self, store: StoreIs, party: Party) -> String {
        let mut text = CONFIGURATION.to_owned();
        if party == Party::Nobody {
            let header = text.lines().find(|line| line.starts_with("headers"));
            text = text.replace(header.unwrap_or_default(), "");
        }
        if store == StoreIs::Away {
            // Exactly this one: any other server error stays a finding.
            text += "\n[checks.not_a_server_error]\nexpected-statuses = [\"2xx\", \"3xx\", \"4xx\", \"503\"]\n";
        }
        text
    }
}

/// schemathesis, in a Python environment of its own below cargo's target folder.
fn schemathesis() -> anyhow::Result<PathBuf> {
    packages::install_missing(&[("python3", "python3")])?;
    let folder = workspace::target_folder()?.join("prove-openapi");
    let (program, stamp) = (folder.join("bin/schemathesis"), folder.join("installed"));
    let is_there = fs::read_to_string(&stamp).is_ok_and(|text| text == REQUIREMENTS);
    if is_there && program.is_file() {
        return Ok(program);
    }
    say("installing schemathesis from PyPI")?;
    if Path::new("/usr/bin/apt-get").exists() {
        packages::install(
            &["python3-venv"],
            &[Path::new("/usr/share/doc/python3-venv")],
        )?;
    }
    let python = packages::program("python3")?;
    let remedy = "PyPI must be reachable, and python3 must have venv (Debian: python3-venv)";
    ground::printed(
        Command::new(python)
            .args(["-m", "venv", "--clear"])
            .arg(&folder),
    )
    .context(remedy)?;
    let list = folder.join("requirements.txt");
    crate::scratch::write(&list, REQUIREMENTS)?;
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "-r"]);
    ground::printed(pip.arg(&list)).context(remedy)?;
    crate::scratch::write(&stamp, REQUIREMENTS)?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(generated: u64, failures: u64, errors: usize) -> Value {
        json!({
            "complete": true, "operations": {"selected": 3, "tested": 3}, "errors": vec![json!({}); errors],
            "test_cases": {"generated": generated, "unique_failures": failures},
        })
    }

    #[test]
    fn what_could_not_be_asked_is_a_finding() {
        let found = |report: &Value| Found::read(report).unwrap().findings;
        assert_eq!(found(&report(10, 0, 0)), 0);
        assert_eq!(found(&report(10, 2, 1)), 3);
        let mut half = report(10, 0, 0);
        half["complete"] = json!(false);
        half["operations"]["tested"] = json!(1);
        assert_eq!(found(&half), 3);
        assert!(Found::read(&json!({})).is_err());
    }

    #[test]
    fn versions_are_pinned() {
        let lines = REQUIREMENTS.lines().filter(|line| !line.starts_with('#'));
        assert!(lines.clone().count() > 0);
        for line in lines {
            assert!(line.contains("=="), "{line}");
        }
    }
}

//! What `docs/stability.md` promises of JSON: every command with `--output json` has a schema in `docs/schemas`, prints what it says, and
//! prints every field of it. The description of the API is there, too.
//!
//! `UPDATE_EXPECT=1 cargo test -p towpath --test schemas` adds what is new. It takes nothing away: whoever ends a promise does that by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use towpath_testing_services::Towpath;
use towpath_testing_services::registry::double::RegistryDouble;
use towpath_testing_services::registry::images::{gzip, image, release, tar};
use towpath_testing_services::schema::{self, SchemaCheck, Schemas, file_of, promised, vanished};

/// What the description of the API promises, without its words.
const API: &str = "api.json";

/// Commands that need a cluster: the test that has one, and holds what they print against the schema.
const HELD_ELSEWHERE: [(&str, &str); 3] = [
    ("agent", "agent/asking.rs"),
    ("daemonsets run", "daemonsets.rs"),
    ("nodes run", "nodes/stage.rs"),
];

/// Commands whose answer is the API's: the schema there says the same, and more of fields that are null here.
const AS_THE_API_HAS_IT: &[(&str, &str)] = &[
    ("access revoke", "Revocations"),
    ("access tokens", "Revocations"),
    ("explain", "Explanation"),
    ("fleet acknowledge", "Done"),
    ("fleet approve", "Done"),
    ("fleet calendar", "Calendars"),
    ("fleet cancel", "Cancelled"),
    ("fleet forget", "Done"),
    ("fleet import", "Done"),
    ("fleet matrix", "Matrix"),
    ("fleet pause", "Done"),
    ("fleet plan", "Decision"),
    ("fleet show", "Cluster"),
    ("fleet why", "Why"),
    ("fleet withdraw acknowledgement", "Withdrawn"),
    ("fleet withdraw approval", "Withdrawn"),
    ("graph audit", "Audit"),
    ("graph rollouts", "Rollouts"),
    ("graph show", "Picture"),
    ("mirror", "Mirror"),
    ("path", "Paths"),
    ("rollouts list", "Rollouts"),
    ("rollouts show", "Rollouts"),
];

/// Folders, and what is typed there. `example` is what `towpath example` writes, `scratch` is made by `scratch`; others are scenarios.
/// The clock stands still, so that what is printed does not depend on the day.
const TYPED: &[(&str, &[&str])] = &[
    (
        "example",
        &[
            "access",
            "duration estimate 4.14.30 4.15.20 --nodes 40",
            "duration estimate 4.14.30 4.15.20 --nodes 40 --max-unavailable 10%",
            "explain --channel stable-4.20 --from 4.20.1 --platform AWS",
            "explain --channel stable-4.20 --from 4.20.1 --to 4.20.2 --graph-data graph-data --releases releases.json",
            "fleet lint --fleet fleet --clusters clusters.json",
            "fleet plan --fleet fleet --clusters clusters.json",
            "fleet plan --fleet fleet --clusters clusters.json --days 3",
            "fleet status --fleet fleet --clusters clusters.json",
            "fleet clusters --fleet fleet --clusters clusters.json",
            "fleet sectors --fleet fleet --clusters clusters.json",
            "fleet matrix --fleet fleet --clusters clusters.json",
            "fleet matrix --fleet fleet --clusters clusters.json --by cluster",
            "fleet calendar --fleet fleet --clusters clusters.json",
            "fleet acts --fleet fleet --clusters clusters.json",
            "fleet show shop-eu --fleet fleet --clusters clusters.json",
            "fleet why shop-eu --fleet fleet --clusters clusters.json",
            "fleet why shop-eu 4.20.5 --fleet fleet --clusters clusters.json",
            "fleet history --fleet fleet --clusters clusters.json",
            "fleet forecast --fleet fleet --clusters clusters.json",
            "graph audit",
            "graph lint graph-data",
            "graph rollouts",
            "graph show stable-4.20",
            "graph show stable-4.20 --platform AWS",
            "mirror 4.19.16 4.20.3 --platform GCP",
            "mirror 4.19.16 4.20.3 --platform GCP --with-start",
            "nodes plan",
            "nodes plan --pool master",
            "path 4.19.16 4.20.3 --platform GCP",
            "path 4.19.16 4.20.3 --platform GCP --alternatives 2",
            "ready cluster",
            "ready cluster --to 4.22",
            "reason",
            "reason NotSoaked",
            "releases show 4.20.3",
            "rollouts list",
            "rollouts show 4.20.4",
            "rollouts show 4.20.4 --fleet-size 1000",
            "rollouts slow 4.20.4 --channel stable-4.20 --graph-data graph-data --releases releases.json",
            "rollouts speed-up 4.20.4 --channel stable-4.20 --graph-data graph-data --releases releases.json",
            "rollouts halt 4.20.4 --message x --url https://issues.example.com/1 --graph-data graph-data --releases releases.json --write",
            "rollouts resume 4.20.4 --graph-data graph-data --releases releases.json",
        ],
    ),
    (
        "store",
        &[
            "fleet plan --fleet fleet --clusters clusters.json --store sqlite:fleet.db",
            "fleet pause --org acme --sector production --fleet fleet --why INC-1 --store sqlite:fleet.db",
            "fleet pause --why INC-1 --store sqlite:fleet.db",
            "fleet status --fleet fleet --clusters clusters.json --store sqlite:fleet.db",
            "fleet resume --org acme --sector production --store sqlite:fleet.db",
            "fleet resume --store sqlite:fleet.db",
            "fleet approve 4.20.5 --org acme --cluster bank --store sqlite:fleet.db",
            "fleet acknowledge gate-1 --cluster bank --store sqlite:fleet.db",
            "fleet acts --fleet fleet --clusters clusters.json --store sqlite:fleet.db",
            "fleet withdraw approval 4.20.5 --org acme --cluster bank --why INC-2 --store sqlite:fleet.db",
            "fleet withdraw acknowledgement gate-1 --cluster bank --why INC-2 --store sqlite:fleet.db",
            "fleet upgrades --store sqlite:fleet.db",
            "fleet cancel stage-us --why INC-3 --store sqlite:fleet.db",
            "fleet upgrades --store sqlite:fleet.db",
            "fleet acts --fleet fleet --clusters clusters.json --store sqlite:fleet.db",
            "fleet show stage-us --fleet fleet --clusters clusters.json --store sqlite:fleet.db",
            "fleet history --fleet fleet --clusters clusters.json --store sqlite:fleet.db",
            "fleet preflight 4.20.5 --fleet fleet --clusters clusters.json --store sqlite:fleet.db",
            "fleet preflight --fleet fleet --clusters clusters.json --store sqlite:fleet.db",
            "fleet resume --cluster stage-us --to 4.20.5 --store sqlite:fleet.db",
            "fleet forget shop-eu --store sqlite:fleet.db",
            "fleet import clusters.json --store sqlite:fleet.db",
            "access revoke --name ada --why Left --store sqlite:fleet.db",
            "access revoke --serial HqFxT0oVqk2Yw3Zc --why Lost --store sqlite:fleet.db",
            "access tokens --store sqlite:fleet.db",
        ],
    ),
    (
        "scratch",
        &[
            "daemonsets objects.yaml",
            "daemonsets advise objects.yaml",
            "graph lint broken",
            "fleet lint --fleet odd-fleet",
        ],
    ),
    (
        "duration",
        &[
            "duration check histories",
            "duration fit histories",
            "duration estimate 4.14.30 4.15.20 --shape shape.yaml",
        ],
    ),
    (
        "extend-a-risk",
        &[
            "graph extend --graph-data graph-data",
            "graph extend ProxyScheme --graph-data graph-data --releases releases.json",
        ],
    ),
    (
        "a-change-of-windows",
        &[
            "graph diff before slower --releases releases.json --channel fast-4.20 --now 2026-03-03T12:00Z",
            "graph diff before block --releases releases.json --now 2026-03-03T12:00Z",
            "graph rollouts --graph-data block --releases releases.json --now 2026-03-10T00:00Z",
        ],
    ),
    (
        "graph-audit",
        &[
            "graph audit graph-data --releases releases.json --now 2026-01-05T00:00Z",
            "graph audit graph-data --releases releases.json --now 2026-01-05T00:00Z --release 4.20.2",
        ],
    ),
    (
        "migrate",
        &[
            "graph migrate graph-data --dry-run --rollout patch=P2D --rollout minor=P14D,exponential --now 2026-11-16T00:00Z",
        ],
    ),
    (
        "mirror",
        &[
            "mirror --clusters clusters.json --to 4.20.3 --graph-data graph-data --releases releases.json",
        ],
    ),
    (
        "ready-before-the-window",
        &["ready cluster --alerts alerts.json --audit-log audit.log"],
    ),
    (
        "signatures",
        &["releases verify --releases releases.json --signatures store --keyring releases.asc"],
    ),
];

const NOON: &str = "2026-11-18T12:00Z";

/// The commands that have `--output json`, by their manual pages.
fn commands() -> BTreeSet<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().join("man");
    let made = towpath(folder.path(), &["man", "man"]);
    assert!(made.status.success(), "{made:?}");
    let pages = fs::read_dir(pages).expect("pages");
    let command = |page: fs::DirEntry| {
        let text = fs::read_to_string(page.path()).expect("a page");
        let options = text.split(".SH OPTIONS").nth(1)?;
        let (_, output) = options.split_once("\\fB\\-\\-output\\fR")?;
        let forms = output.split("\n.TP\n").next()?;
        forms.contains("\njson: ").then(|| {
            let name = page.file_name().into_string().expect("UTF-8");
            let name = name.trim_start_matches("towpath-").trim_end_matches(".1");
            name.to_owned()
        })
    };
    pages
        .filter_map(|page| command(page.expect("a page")))
        .collect()
}

fn towpath(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(arguments)
        .env("TOWPATH_NOW", NOON)
        .current_dir(folder)
        .output()
        .expect("it runs")
}

/// A folder for what is typed.
fn folder(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    match name {
        "example" => example(here),
        "store" => store(here),
        "scratch" => scratch(here),
        scenario => {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
            let copied = Command::new("cp")
                .args(["-r", "."])
                .arg(here)
                .current_dir(from.join(scenario))
                .status();
            assert!(copied.expect("cp runs").success(), "{scenario}");
            if scenario == "migrate" {
                let made = Command::new("sh")
                    .arg("make-repository.sh")
                    .current_dir(here)
                    .output();
                let made = made.expect("sh runs");
                assert!(made.status.success(), "{made:?}");
            }
        }
    }
    folder
}

/// The example of the day on which the clock stands still.
fn example(here: &Path) {
    let made = towpath(here, &["example", "."]);
    assert!(made.status.success(), "{made:?}");
}

/// The example with a store: a pass was made at noon, and a gate is known.
fn store(here: &Path) {
    example(here);
    let list = here.join("clusters.json");
    let read = fs::read(&list).expect("the list");
    let mut clusters: Value = serde_json::from_slice(&read).expect("JSON");
    clusters["versionGates"] = serde_json::json!([
        {"id": "gate-1", "versionPrefix": "4.21", "label": "api.openshift.com/gate-ocp"}
    ]);
    clusters["upgrades"] = serde_json::json!([]);
    fs::write(&list, clusters.to_string()).expect("the list");
    let pass = "fleet run --once --rehearse --fleet fleet --clusters clusters.json --store sqlite:fleet.db";
    let pass: Vec<&str> = pass.split(' ').collect();
    let made = towpath(here, &pass);
    assert!(made.status.success(), "{made:?}");
}

/// What neither the example nor a scenario has.
fn scratch(here: &Path) {
    let objects = "apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: monitoring}
spec:
  selector: {matchLabels: {app: agent}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: registry.example.com/agent:1}]}
status: {desiredNumberScheduled: 40, numberReady: 40, currentNumberScheduled: 40, numberMisscheduled: 0}
";
    fs::write(here.join("objects.yaml"), objects).expect("objects");
    let blocks = here.join("broken/blocked-edges");
    fs::create_dir_all(&blocks).expect("a folder");
    fs::write(here.join("broken/version"), "2.0.0\n").expect("a file");
    fs::write(blocks.join("4.20.2.yaml"), "to: 4.20.2\nform: .*\n").expect("a file");
    fs::create_dir(here.join("odd-fleet")).expect("a folder");
    let policy = "name: acme\norgId: acme\nsectors:\n- name: production\n  dependencies:\n  - name: nowhere\n";
    fs::write(here.join("odd-fleet/acme.yaml"), policy).expect("a policy");
}

/// What a release scrape prints, which needs a registry.
fn scraped() -> Value {
    let registry = RegistryDouble::start();
    registry.put(Some("4.1.0"), &release("4.1.0+amd64", ""));
    registry.put(Some("4.1.1"), &release("4.1.1+amd64", "4.1.0"));
    registry.put(Some("rubbish"), &image("amd64", &[gzip(&tar(&[]))]));
    let folder = tempfile::tempdir().expect("a folder");
    let repository = registry.repository().to_string();
    printed(
        folder.path(),
        &format!("releases scrape {repository} --plain-http --out releases.json"),
    )
}

/// What a command prints as JSON. Both yes and no are answers.
fn printed(folder: &Path, typed: &str) -> Value {
    let arguments = format!("{typed} --output json");
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let done = towpath(folder, &arguments);
    assert!(
        matches!(done.status.code(), Some(0 | 1)),
        "towpath {typed}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    serde_json::from_slice(&done.stdout)
        .unwrap_or_else(|error| panic!("towpath {typed}: {error}: {done:?}"))
}

/// All that is printed, by the command.
fn all_printed(commands: &BTreeSet<String>) -> BTreeMap<String, Vec<Value>> {
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (name, typed) in TYPED {
        let folder = folder(name);
        for typed in *typed {
            let words: Vec<&str> = typed.split(' ').collect();
            let named = (1..=words.len().min(3)).rev().map(|n| words[..n].join(" "));
            let mut named = named.filter(|name| commands.contains(&name.replace(' ', "-")));
            let named = named.next();
            let command = named.unwrap_or_else(|| panic!("{typed:?} is no command with JSON"));
            let value = printed(folder.path(), typed);
            all.entry(command).or_default().push(value);
        }
    }
    all.entry("releases scrape".to_owned())
        .or_default()
        .push(scraped());
    all
}

#[test]
fn every_command_prints_what_its_schema_says_and_every_field_of_it() {
    let commands = commands();
    assert!(commands.len() > 50, "{commands:?}");
    let all = all_printed(&commands);
    let elsewhere = HELD_ELSEWHERE.map(|(command, _)| command.replace(' ', "-"));
    let typed: BTreeSet<String> = all.keys().map(|name| name.replace(' ', "-")).collect();
    let missing: Vec<_> = commands
        .iter()
        .filter(|name| !typed.contains(*name) && !elsewhere.contains(name))
        .collect();
    assert!(
        missing.is_empty(),
        "nobody types these commands with --output json: {missing:?}; add them to TYPED"
    );
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        all.iter()
            .for_each(|(command, values)| schema::update(command, values));
    }
    let schemas = Schemas::committed();
    let mut problems = Vec::new();
    for (command, values) in &all {
        let file = file_of(command);
        let mut together = SchemaCheck::default();
        for value in values {
            let check = schemas.check((&file, ""), value);
            together.problems.extend(check.problems);
            together.seen.extend(check.seen);
        }
        let told = |problem: String| format!("towpath {command}: {problem}");
        problems.extend(together.problems.into_iter().map(told));
        let described = AS_THE_API_HAS_IT.iter().find(|(name, _)| name == command);
        for (value, (_, schema)) in values.iter().zip(described.into_iter().cycle()) {
            let mut value = value.clone();
            // Over HTTP, /readyz says whether it is the example.
            if let Some(fields) = value.as_object_mut() {
                fields.remove("example");
            }
            let check = schemas.check((API, &format!("/components/schemas/{schema}")), &value);
            problems.extend(
                check
                    .problems
                    .into_iter()
                    .map(|problem| format!("towpath {command}, as {API} has it: {problem}")),
            );
        }
        let fields = schemas.fields(&file);
        let gone = fields.difference(&together.seen);
        problems.extend(gone.map(|field| format!("towpath {command} prints no {field}")));
    }
    assert!(
        problems.is_empty(),
        "docs/stability.md promises docs/schemas: {problems:#?}\nUPDATE_EXPECT=1 adds fields that are new"
    );
    let known: BTreeSet<String> = schemas.names().map(str::to_owned).collect();
    let wanted = commands.iter().map(|name| format!("{name}.json"));
    let wanted: BTreeSet<String> = wanted.chain([API.to_owned()]).collect();
    assert_eq!(known, wanted, "a schema for each command, and no other");
}

#[test]
fn what_needs_a_cluster_is_held_against_its_schema_where_there_is_one() {
    for (command, test) in HELD_ELSEWHERE {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests")
            .join(test);
        let text = fs::read_to_string(&path).expect("the test");
        let call = format!("schema::hold(\"{command}\"");
        assert!(text.contains(&call), "{test} does not call {call}, …)");
    }
}

#[test]
fn nothing_that_the_api_describes_vanishes() {
    let demo = Towpath::demo();
    let towpath = Towpath::serve_folder(demo.path(), &[]);
    let served = promised(&towpath.get("/api/v1/openapi.json").json());
    let path = Schemas::folder().join(API);
    let committed = Schemas::committed();
    let committed = committed.get(API).cloned().unwrap_or_default();
    let gone = vanished(&committed, &served, "");
    assert!(
        gone.is_empty(),
        "docs/stability.md promises: {gone:#?}\nIf the time of a deprecation is over, take it out of docs/schemas/{API} by hand"
    );
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, format!("{served:#}\n")).expect("it can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == format!("{served:#}\n"),
        "the API has something new: UPDATE_EXPECT=1 writes it to docs/schemas/{API}"
    );
}

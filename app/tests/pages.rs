//! Every command on every page runs as typed: the READMEs and docs/*.md, page by page, in one shell and a fresh folder.
//!
//! Where a page shows what a command prints, that is what it prints; `…` stands for what differs from day to day, and a line of
//! it for any lines. `NOT_RUN` lists what no test can run, each with its reason.
//!
//! `UPDATE_EXPECT=1 cargo test --test pages` writes down what is printed now; look at the difference before you commit it.

use std::fmt::Write;
use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use towpath_testing_services::{PagePart, Shell, TypedCommand, page_parts};

/// Commands that are not run: the page, how they begin, and why.
const NOT_RUN: &[(&str, &str, &str)] = &[
    (
        "README.md",
        "git clone --depth 1 https://",
        "needs the internet",
    ),
    (
        "README.md",
        "towpath serve --graph-data cincinnati-graph-data",
        "needs the internet; app/tests/real_data.rs serves a clone",
    ),
    ("README.md", "towpath releases scrape", "needs the internet"),
    ("README.md", "cargo build", "the test has a binary"),
    (
        "docs/agent.md",
        "",
        "needs a cluster; app/tests/agent/story.rs runs the agent on one",
    ),
    (
        "docs/tls.md",
        "",
        "needs certificates; app/tests/serve/tls.rs serves and asks with some",
    ),
    (
        "docs/audit-log.md",
        "",
        "needs a store with acts and a running service; app/tests/serve/audit_log.rs writes, signs and verifies there",
    ),
    (
        "docs/from-osus.md",
        "",
        "needs a cluster and a registry; app/tests/serve/update_service.rs serves such an object",
    ),
    (
        "docs/login.md",
        "",
        "needs an OIDC issuer; app/tests/serve/people.rs asks as people whom one knows",
    ),
    (
        "docs/access.md",
        "towpath access revoke",
        "needs a running service and a store; app/tests/serve/access.rs revokes there",
    ),
    (
        "docs/access.md",
        "towpath access tokens",
        "needs a store; app/tests/serve/access.rs lists what is revoked",
    ),
    (
        "docs/benchmarks.md",
        "cargo xtask bench",
        "takes many minutes",
    ),
    (
        "docs/nodes-run.md",
        "",
        "needs a cluster; app/tests/nodes runs these on one",
    ),
    (
        "docs/daemonsets.md",
        "",
        "needs a cluster; app/tests/daemonsets.rs runs these on one",
    ),
    (
        "docs/duration.md",
        "towpath duration check must-gathers/",
        "needs the histories of clusters",
    ),
    (
        "docs/duration.md",
        "towpath duration fit must-gathers/",
        "needs the histories of clusters",
    ),
    (
        "docs/duration.md",
        "towpath duration estimate 4.14.30 4.15.20 --parameters",
        "needs what was learnt from them",
    ),
    (
        "docs/fleet-from-aus.md",
        "",
        "needs OCM, and the policies of AUS; app/tests/ocm.rs runs these against a double",
    ),
    (
        "docs/fleet.md",
        "towpath fleet run --fleet fleet --store sqlite:fleet.db --ocm",
        "needs OCM",
    ),
    (
        "docs/mirror.md",
        "for file in imagesets",
        "needs oc-mirror and a registry",
    ),
    ("docs/nodes.md", "oc ", "needs a cluster"),
    (
        "docs/nodes.md",
        "towpath nodes plan --kubeconfig",
        "needs a cluster",
    ),
    ("docs/ready.md", "oc ", "needs a cluster"),
    (
        "docs/scale.md",
        "cargo xtask prove",
        "takes many minutes, and programs of Debian and PyPI",
    ),
    (
        "docs/scale.md",
        "towpath serve --fleet fleet --store 'postgres:",
        "needs that server; `cargo xtask prove failover` serves with such an address",
    ),
    (
        "docs/ready.md",
        "towpath ready --kubeconfig",
        "needs a cluster",
    ),
    (
        "docs/ready.md",
        "towpath ready ./must-gather",
        "needs a must-gather; formats/tests/cluster_objects reads one",
    ),
    (
        "docs/registry.md",
        "towpath releases scrape",
        "needs the internet",
    ),
    ("docs/registry.md", "towpath serve", "needs the internet"),
    (
        "docs/release-admins.md",
        "towpath explain --server",
        "needs a running service; scenarios/serve asks one",
    ),
    (
        "docs/release-admins.md",
        "curl",
        "needs a running service; scenarios/serve asks one",
    ),
    (
        "docs/rollouts.md",
        "towpath rollouts show 4.20.4 --server",
        "needs a running service with a fleet; app/tests/serve/outcomes.rs asks one",
    ),
    (
        "docs/rollouts.md",
        "towpath fleet token --people-keys people-keys --role release-administrator --name ada",
        "needs the service's keys; app/tests/serve/access.rs makes such tokens",
    ),
    (
        "docs/rollouts.md",
        "towpath rollouts halt 4.20.4 --message 'Nodes stay NotReady.' --server",
        "needs a running service with a store; app/tests/serve/halts.rs halts there",
    ),
    (
        "docs/signatures.md",
        "towpath releases verify 4.15.0",
        "needs Red Hat's signatures; scenarios/signatures has others",
    ),
    (
        "docs/signed-graph-data.md",
        "",
        "needs signed graph data; app/tests/serve/seals.rs signs some",
    ),
    (
        "docs/agent-trust.md",
        "",
        "needs a cluster; adapters/kube/tests/api applies the manifests",
    ),
    (
        "docs/sources.md",
        "",
        "needs a git server and a registry; scenarios/sources has a repository of its own",
    ),
    (
        "docs/migrate.md",
        "",
        "needs a repository of schema 1.x; scenarios/migrate makes one",
    ),
    (
        "scenarios/README.md",
        "cp -r scenarios/serve",
        "begins in the repository",
    ),
    ("docs/acm.md", "", "needs a hub of ACM"),
    (
        "docs/install.md",
        "",
        "builds for minutes and needs root; `cargo xtask prove` and xtask/src/release/tests.rs do it",
    ),
    ("docs/point-clusters.md", "", "needs a cluster"),
    (
        "docs/slo.md",
        "python3",
        "begins in the repository; app/tests/serve/monitoring.rs takes the groups out",
    ),
    (
        "README.md",
        "cargo run",
        "the test has a binary; scenarios/serve serves",
    ),
    ("README.md", "cargo xtask test", "runs this test"),
    (
        "docs/fleet.md",
        "towpath fleet preflight",
        "the example's clusters have no agents, and are not offered 4.21.0",
    ),
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let docs = std::fs::read_dir(root.join("docs")).expect("there are docs");
    let mut names: Vec<String> = docs
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| format!("docs/{}", name.to_string_lossy()))
        .filter(|name| name.ends_with(".md"))
        .collect();
    let others = ["README.md", "examples/README.md", "scenarios/README.md"];
    names.extend(others.map(str::to_owned));
    names.sort();
    let trial = |name: String| {
        let path = root.join(&name);
        Trial::test(name.clone(), move || read(&name, &path))
    };
    let trials = names.into_iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Types what a page says, and holds what is printed against the page.
fn read(name: &str, path: &Path) -> Result<(), Failed> {
    let written = std::fs::read_to_string(path)?;
    if let Some(line) = bare_command(&written) {
        let remedy = "begin the block with ```console, and the line with `$ `";
        return Err(format!("{name}:{line}: a command that nobody runs; {remedy}").into());
    }
    let folder = tempfile::tempdir()?;
    let mut reader = Reader {
        name,
        shell: Shell::at(folder.path()),
        unused: NOT_RUN.iter().filter(|(page, ..)| *page == name).collect(),
        told: String::new(),
        problems: String::new(),
    };
    for part in page_parts(&written) {
        match part {
            PagePart::Line(line) => writeln!(reader.told, "{line}")?,
            PagePart::Command(command) => reader.type_in(&command)?,
        }
    }
    for (_, start, _) in &reader.unused {
        writeln!(
            reader.problems,
            "NOT_RUN: nothing begins with {start:?} any more"
        )?;
    }
    if reader.told != written && std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, &reader.told)?;
    }
    match reader.problems.is_empty() {
        true => Ok(()),
        false => Err(reader.problems.into()),
    }
}

struct Reader<'a> {
    name: &'a str,
    shell: Shell,
    unused: Vec<&'static (&'static str, &'static str, &'static str)>,
    /// The page with what is printed now.
    told: String,
    problems: String,
}

impl Reader<'_> {
    fn type_in(&mut self, command: &TypedCommand<'_>) -> Result<(), Failed> {
        for line in &command.typed {
            writeln!(self.told, "{line}")?;
        }
        let text = command.text();
        let is_left_out =
            |(page, start, _): &&(&str, &str, &str)| *page == self.name && text.starts_with(start);
        if let Some(left_out) = NOT_RUN.iter().find(is_left_out) {
            self.unused.retain(|unused| *unused != left_out);
            return self.keep(command);
        }
        let printed = self.shell.run(&text);
        // What a page does not show has to end well.
        let last = printed.lines().last().unwrap_or_default();
        let is_as_told = match command.printed.is_empty() {
            true => !last.starts_with("[exit "),
            false => command.prints(&printed),
        };
        match command.printed.is_empty() {
            true => {}
            false => self.told.push_str(&command.told_again(&printed)),
        }
        if !is_as_told {
            let (name, line) = (self.name, command.line);
            writeln!(self.problems, "{name}:{line}: $ {text}\n{printed}")?;
        }
        Ok(())
    }

    fn keep(&mut self, command: &TypedCommand<'_>) -> Result<(), Failed> {
        for line in &command.printed {
            writeln!(self.told, "{line}")?;
        }
        Ok(())
    }
}

/// The line of the first command of ours in a block that is not run.
fn bare_command(page: &str) -> Option<usize> {
    let mut block: Option<&str> = None;
    for (number, line) in (1..).zip(page.lines()) {
        match (line.strip_prefix("```"), block) {
            (Some(_), Some(_)) => block = None,
            (Some(language), None) => block = Some(language),
            (None, Some("console")) | (None, None) => {}
            (None, Some(_)) if line.trim_start_matches("$ ").starts_with("towpath ") => {
                return Some(number);
            }
            (None, Some(_)) => {}
        }
    }
    None
}

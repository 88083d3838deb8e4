//! `cargo xtask test`: all checks before a commit, the cheapest first.

mod build;
mod suite;
mod tally;

use std::process::Command;

use anyhow::Context;

use crate::packages::{self, Package};
use crate::say::say;
use crate::{Outcome, kube_api, layers, page, supply_chain, workspace};
use build::Scope;

/// Where the tests on real data look for it.
const REAL_DATA: &str = "TOWPATH_REAL_DATA";

/// All checks before a push.
pub(crate) fn run() -> anyhow::Result<Outcome> {
    run_steps(&STEPS)
}

/// The checks for every commit. They need no root, no network and no service.
pub(crate) fn quick() -> anyhow::Result<Outcome> {
    run_steps(&QUICK_STEPS)
}

/// Runs every step, up to the first that fails.
fn run_steps(steps: &[Step]) -> anyhow::Result<Outcome> {
    for step in steps {
        say(format!("== {}", step.name))?;
        if (step.run)()? == Outcome::Bad {
            say(format!("== failed: {}; {}", step.name, step.remedy))?;
            return Ok(Outcome::Bad);
        }
    }
    Ok(Outcome::Good)
}

struct Step {
    name: &'static str,
    run: fn() -> anyhow::Result<Outcome>,
    remedy: &'static str,
}

/// The tests that start PostgreSQL install it.
const PACKAGES: [Package; 7] = [
    ("dpkg-deb", "dpkg"),
    ("docker-registry", "docker-registry"),
    ("git", "git"),
    ("gpg", "gnupg"),
    ("openssl", "openssl"),
    ("promtool", "prometheus"),
    ("systemd-analyze", "systemd"),
];

const FORMAT: Step = Step {
    name: "cargo fmt --all --check",
    run: || outcome(&mut workspace::cargo(&["fmt", "--all", "--check"])),
    remedy: "run `cargo fmt --all`",
};

const LAYERS: Step = Step {
    name: "cargo xtask layers",
    run: layers::run,
    remedy: "correct the manifests shown above",
};

const QUICK_STEPS: [Step; 4] = [
    FORMAT,
    LAYERS,
    Step {
        name: "clippy and the compiler in one: core and formats",
        run: || build::all_targets(&Scope::CoreAndFormats),
        remedy: "correct what is shown above",
    },
    Step {
        name: "tests of core and formats",
        run: || suite::run(&Scope::CoreAndFormats, &[]),
        remedy: "correct what the tests show above",
    },
];

const STEPS: [Step; 8] = [
    FORMAT,
    LAYERS,
    Step {
        name: "cargo xtask supply-chain",
        run: || supply_chain::run(&supply_chain::SupplyChain::default()),
        remedy: "update or replace the crate, or allow it in deny.toml with a reason",
    },
    Step {
        name: "clippy and the compiler in one: the workspace with its tests, examples, benches and fuzz targets",
        run: || build::all_targets(&Scope::Workspace),
        remedy: "correct what is shown above",
    },
    Step {
        name: "the programs that tests need",
        run: install_programs,
        remedy: "install them by hand",
    },
    Step {
        name: "cargo xtask page",
        run: || page::run(None),
        remedy: "correct what is shown above; it needs the npm registry",
    },
    Step {
        name: "cargo xtask kube-apiserver",
        run: kube_api::run,
        remedy: "correct what is shown above; it needs Debian 12, its mirror, and to be root",
    },
    Step {
        name: "tests of the workspace",
        run: all_tests,
        remedy: "correct what the tests show above",
    },
];

fn install_programs() -> anyhow::Result<Outcome> {
    packages::install_missing(&PACKAGES)?;
    page::install_missing().map(|()| Outcome::Good)
}

fn all_tests() -> anyhow::Result<Outcome> {
    if std::env::var_os(REAL_DATA).is_none() {
        say(format!(
            "{REAL_DATA} is not set: tests on real data are left out; the output below names them as ignored"
        ))?;
    }
    let places = kube_api::places()?;
    let variables: Vec<_> = places
        .iter()
        .map(|(variable, place)| (*variable, place.as_os_str()))
        .collect();
    suite::run(&Scope::Workspace, &variables)
}

fn outcome(command: &mut Command) -> anyhow::Result<Outcome> {
    let status = command.status().context("cargo cannot be run")?;
    Ok(if status.success() {
        Outcome::Good
    } else {
        Outcome::Bad
    })
}

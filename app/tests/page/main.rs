//! The page in a real Chromium: real services, driven by the scripts in `ui/tests/` with playwright-core and axe-core.
//!
//! One browser and one set of services serve all journeys; each journey has a profile of its own there. A missing browser
//! fails every journey, with the remedy. Nothing here looks at the time that something takes: that is `cargo xtask bench page`.
//!
//! `cargo xtask page screenshots` runs `pictures`, which is ignored otherwise.

mod browser;
mod hostile;
mod site;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, Trial};
use site::Site;

/// Each is a script of that name in `ui/tests/`.
const JOURNEYS: &[&str] = &[
    "screens",
    "keyboard",
    "explained",
    "hostile",
    "addresses",
    "acts",
    "halting",
    "login",
    "nodes",
    "rollouts",
];

/// Made when the first journey needs it, and ended before the process ends.
type Shared = Arc<Mutex<Option<Result<Site, String>>>>;

fn main() {
    let site = Shared::default();
    let trial = |name: &'static str| {
        let site = Arc::clone(&site);
        Trial::test(name, move || journey(name, &site))
    };
    let mut trials: Vec<Trial> = JOURNEYS.iter().map(|name| trial(name)).collect();
    trials.push(trial("pictures").with_ignored_flag(true));
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    // `exit` drops nothing: what was started is ended here.
    drop(site.lock().expect("no journey panics").take());
    conclusion.exit();
}

fn journey(name: &str, shared: &Shared) -> Result<(), Failed> {
    // One at a time: whoever connects to the browser sees all of its pages.
    let mut made = shared.lock().expect("no journey panics");
    let site = made.get_or_insert_with(Site::start).as_ref()?;
    let done = Command::new("node")
        .arg(folder().join("tests/run.mjs"))
        .arg(name)
        .env("TOWPATH_PAGE", site.told().to_string())
        .current_dir(folder())
        .output()
        .map_err(|e| format!("node cannot be run: {e}; install Debian's nodejs"))?;
    if done.status.success() {
        return Ok(());
    }
    let printed = [done.stdout, done.stderr].concat();
    Err(String::from_utf8_lossy(&printed).into_owned().into())
}

/// The page's source, with its tests.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui")
}

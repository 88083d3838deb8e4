//! The Debian package in a fresh Debian 12: installed, its service run as its user, removed without a trace.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use super::chroot::{Chroot, user_of};
use super::{done, ensure_same};
use crate::Outcome;
use crate::packages::install_missing;
use crate::release::{ReleaseOptions, package};
use crate::say::say;
use crate::scratch::Scratch;

const UNIT: &str = "lib/systemd/system/towpath.service";

pub(super) fn prove(binary: Option<&Path>) -> anyhow::Result<Outcome> {
    install_missing(&[
        ("debootstrap", "debootstrap"),
        ("systemd-analyze", "systemd"),
    ])?;
    let scratch = Scratch::new("package")?;
    let folder = scratch.folder();
    let [one, other] = ["one", "other"].map(|name| folder.join(name));
    for into in [&one, &other] {
        package::run(&ReleaseOptions {
            binary: binary.map(Path::to_owned),
            into: into.clone(),
        })?;
    }
    ensure_same(&one, &other)?;
    say("two runs made the same bytes")?;

    let root = folder.join("root");
    say("making a fresh Debian 12")?;
    let debian = ["--variant=minbase", "--include=ca-certificates", "bookworm"];
    done(Command::new("debootstrap").args(debian).arg(&root))?;
    install(&one, &root)?;
    judge_unit(&root, &scratch)?;
    run_service(&root)?;
    remove(&root)?;
    Ok(Outcome::Good)
}

fn install(packages: &Path, root: &Path) -> anyhow::Result<()> {
    let file = crate::release::dist::files(packages)?
        .into_iter()
        .next()
        .context("there is no package")?;
    say(format!(
        "the package has {} bytes",
        std::fs::metadata(&file)?.len()
    ))?;
    std::fs::copy(&file, root.join("towpath.deb"))?;
    let dpkg = |words: &[&str]| done(Command::new("chroot").arg(root).arg("dpkg").args(words));
    dpkg(&["--install", "/towpath.deb"])?;
    let told = dpkg(&["--status", "towpath"])?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    ensure!(
        told.contains("Status: install ok installed"),
        "dpkg says: {told}"
    );
    // A second time is an upgrade.
    dpkg(&["--install", "/towpath.deb"])?;
    say("installed, and installed over itself")
}

/// The unit as it was installed, judged by the systemd of this machine; the fresh Debian has none.
fn judge_unit(root: &Path, scratch: &Scratch) -> anyhow::Result<()> {
    let unit = std::fs::read_to_string(root.join(UNIT))?;
    let program = root.join("usr/bin/towpath");
    let unit = unit.replace("/usr/bin/towpath", &program.display().to_string());
    let file = scratch.write("towpath.service", unit)?;
    let analyze = |words: &[&str]| done(Command::new("systemd-analyze").args(words).arg(&file));
    analyze(&["verify", "--man=no"])?;
    // In tenths: at most 2.0.
    let told = analyze(&["security", "--offline=true", "--no-pager", "--threshold=20"])?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let verdict = told
        .lines()
        .find(|line| line.contains("Overall exposure level"));
    let verdict = verdict.context("systemd-analyze gives no verdict")?;
    say(format!(
        "systemd: {}",
        verdict.trim_start_matches(['→', ' '])
    ))
}

fn run_service(root: &Path) -> anyhow::Result<()> {
    let unit = std::fs::read_to_string(root.join(UNIT))?;
    let setting = |name: &str| {
        unit.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
    };
    let start = setting("ExecStart").context("the unit has no ExecStart")?;
    let user = setting("User").context("the unit has no User")?;
    let chroot = Chroot {
        folder: root.to_owned(),
        user: user_of(root, user)?,
    };
    let mut words = vec!["env", "--chdir=/var/lib/towpath"];
    words.extend(start.split(' '));
    let service = chroot.start(&words)?;
    service.serves("stable-4.20")?;
    service.stop()?;
    say(format!(
        "as {user} ({}): {start}: READY=1, serves the example, STOPPING=1, exit 0",
        chroot.user
    ))?;
    // Others may not read what is beside the configuration.
    let stranger = Chroot {
        folder: root.to_owned(),
        user: "65534:65534".into(),
    };
    let read = stranger.output(&["cat", "/etc/towpath/towpath.yaml"])?;
    ensure!(!read.status.success(), "everybody can read /etc/towpath");
    Ok(())
}

fn remove(root: &Path) -> anyhow::Result<()> {
    done(
        Command::new("chroot")
            .arg(root)
            .args(["dpkg", "--purge", "towpath"]),
    )?;
    for path in ["usr/bin/towpath", "etc/towpath", "var/lib/towpath", UNIT] {
        ensure!(!root.join(path).exists(), "/{path} stayed behind");
    }
    say("purged: nothing stays but the user")
}

//! Downloads Debian's source of Kubernetes with apt, from this machine's mirror. apt verifies Debian's signature.
//!
//! A private configuration adds the `deb-src` lines that most machines lack. The machine's own configuration stays unchanged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::packages;

/// The source package of bookworm. Its patches are about kubectl alone, so they are not applied.
const PACKAGE: &str = "kubernetes=1.20.5+really1.20.2-1.1+deb12u1";
const ARCHIVE: &str = "kubernetes_1.20.5+really1.20.2.orig.tar.gz";

/// Downloads the source and unpacks it below this folder. Its path there is the one that Go wants.
pub(super) fn fetch(work: &Path) -> anyhow::Result<PathBuf> {
    let (lists, download) = (work.join("apt/lists"), work.join("download"));
    let source = work.join("go/src/k8s.io/kubernetes");
    for folder in [&lists.join("partial"), &download, &source] {
        fs::create_dir_all(folder)
            .with_context(|| format!("{}: cannot be made", folder.display()))?;
    }
    let sources = work.join("apt/sources.list");
    fs::write(&sources, lines(&targets()?)?)
        .with_context(|| format!("{}: cannot be written", sources.display()))?;
    let options = [
        format!("Dir::Etc::SourceList={}", sources.display()),
        "Dir::Etc::SourceParts=/dev/null".to_owned(),
        format!("Dir::State::Lists={}", lists.display()),
        // The sandbox's user may not write below root's home.
        "APT::Sandbox::User=root".to_owned(),
    ];
    // apt believes a list that is signed, and a file that is as the list says; anything else is an error.
    apt(
        &options,
        &["update", "--quiet", "--error-on=any"],
        &download,
    )?;
    apt(
        &options,
        &["source", "--quiet", "--download-only", PACKAGE],
        &download,
    )?;
    let archive = download.join(ARCHIVE);
    let mut tar = Command::new("tar");
    tar.arg("--extract")
        .arg("--file")
        .arg(&archive)
        .arg("--strip-components=1")
        .arg("--directory")
        .arg(&source);
    let status = tar.status().context("tar cannot be run")?;
    ensure!(
        status.success(),
        "{}: cannot be unpacked; see above",
        archive.display()
    );
    Ok(source)
}

/// Which lists of packages this machine has: address, release, component, origin.
fn targets() -> anyhow::Result<String> {
    let ask = || -> anyhow::Result<String> {
        let format = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)";
        let mut command = Command::new("apt-get");
        let output = command
            .args(["indextargets", "--format", format, "Created-By: Packages"])
            .output();
        let output = output.context("apt-get cannot be run: this is not Debian")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let known = ask()?;
    match lines(&known) {
        Ok(_) => Ok(known),
        // A machine that was just installed has not asked its mirror yet.
        Err(_) => packages::apt_get(&["update", "--quiet"]).and_then(|()| ask()),
    }
}

/// The lines of a sources.list: Debian's own archives alone, wherever this machine has them from.
fn lines(targets: &str) -> anyhow::Result<String> {
    let mut lines: Vec<String> = targets
        .lines()
        .filter_map(
            |target| match target.split('|').collect::<Vec<_>>().as_slice() {
                [address, release, "main", "Debian"] => {
                    Some(format!("deb-src {address} {release} main\n"))
                }
                _ => None,
            },
        )
        .collect();
    lines.sort();
    lines.dedup();
    ensure!(
        !lines.is_empty(),
        "apt knows no archive of Debian; give it one in /etc/apt/sources.list.d"
    );
    Ok(lines.concat())
}

fn apt(options: &[String], arguments: &[&str], folder: &Path) -> anyhow::Result<()> {
    let mut command = Command::new("apt-get");
    for option in options {
        command.arg("--option").arg(option);
    }
    let status = command
        .args(arguments)
        .current_dir(folder)
        .status()
        .context("apt-get cannot be run")?;
    ensure!(
        status.success(),
        "apt-get {} failed; see above",
        arguments.join(" ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_the_one_that_the_machine_uses() {
        let targets = "http://mirror.example/debian/|bookworm|main|Debian\n\
                       http://mirror.example/debian/|bookworm|main|Debian\n\
                       http://mirror.example/debian/|bookworm|contrib|Debian\n\
                       http://elsewhere.example/tools/|stable|main|Somebody\n";
        assert_eq!(
            lines(targets).unwrap(),
            "deb-src http://mirror.example/debian/ bookworm main\n"
        );
        assert!(
            lines("")
                .unwrap_err()
                .to_string()
                .starts_with("apt knows no archive of Debian")
        );
    }
}

//! The program that ships: built without paths of this machine, stripped, and looked through for such paths.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use super::{Release, read};
use crate::say::say;
use crate::workspace;

/// The program that was named, or a new one; stripped, as bytes.
pub(super) fn of(named: Option<&Path>, release: &Release) -> anyhow::Result<Vec<u8>> {
    let program = match named {
        Some(program) => program.to_owned(),
        None => build(release)?,
    };
    let bytes = stripped(&program)?;
    let found = paths_in(&bytes, &build_paths());
    match (named, found.as_slice()) {
        (_, []) => {}
        (Some(_), [first, ..]) => say(format!(
            "{} holds paths of the machine that built it ({first}): not for a release",
            program.display()
        ))?,
        (None, _) => anyhow::bail!("the program holds build paths: {}", found.join(", ")),
    }
    Ok(bytes)
}

/// Builds with the profile for what ships.
fn build(release: &Release) -> anyhow::Result<PathBuf> {
    say("building towpath with the profile `dist`: about 15 minutes on two cores")?;
    let (rust, c): (Vec<String>, Vec<String>) = renamed_paths()
        .into_iter()
        .map(|(path, name)| {
            let path = path.display();
            (
                format!("--remap-path-prefix={path}={name}"),
                format!("-ffile-prefix-map={path}={name}"),
            )
        })
        .unzip();
    let status = workspace::cargo(&[
        "build",
        "--locked",
        "--profile",
        "dist",
        "--package",
        "towpath",
    ])
    .env("RUSTFLAGS", rust.join(" "))
    .env("CFLAGS", c.join(" "))
    .env("SOURCE_DATE_EPOCH", release.epoch.to_string())
    .env_remove("RUSTC_WORKSPACE_WRAPPER")
    .status()
    .context("cargo cannot be run")?;
    ensure!(status.success(), "towpath cannot be built; see above");
    Ok(workspace::target_folder()?.join("dist/towpath"))
}

/// Folders of this machine whose names the compilers would write down, and what they write instead.
fn renamed_paths() -> Vec<(PathBuf, &'static str)> {
    // The later rule wins, so what is inside comes last.
    let mut paths = vec![(workspace::root().to_owned(), "/towpath")];
    if let Ok(target) = workspace::target_folder() {
        paths.push((target, "/target"));
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let folder = |variable: &str, name: &str| {
        let named = std::env::var_os(variable).filter(|value: &OsString| !value.is_empty());
        named
            .map(PathBuf::from)
            .or_else(|| Some(home.as_ref()?.join(name)))
    };
    paths.extend(folder("CARGO_HOME", ".cargo").map(|path| (path, "/cargo")));
    paths.extend(folder("RUSTUP_HOME", ".rustup").map(|path| (path, "/rustup")));
    paths
}

/// What must not be in the program.
fn build_paths() -> Vec<String> {
    let paths = renamed_paths()
        .into_iter()
        .map(|(path, _)| path.display().to_string());
    // A path this short may be in it for another reason.
    paths.filter(|path| path.len() > 5).collect()
}

fn paths_in(program: &[u8], paths: &[String]) -> Vec<String> {
    let is_in = |path: &&String| {
        program
            .windows(path.len())
            .any(|part| part == path.as_bytes())
    };
    paths.iter().filter(is_in).cloned().collect()
}

fn stripped(program: &Path) -> anyhow::Result<Vec<u8>> {
    let copy = std::env::temp_dir().join(format!("towpath-stripped-{}", std::process::id()));
    let strip = Command::new("strip")
        .args(["--strip-all", "-o"])
        .arg(&copy)
        .arg(program)
        .status();
    let done = strip.context("`strip` cannot be run; install binutils")?;
    ensure!(
        done.success(),
        "{} cannot be stripped; see above",
        program.display()
    );
    let bytes = read(&copy);
    fs::remove_file(&copy).with_context(|| format!("{} cannot be removed", copy.display()))?;
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_machine_is_found_wherever_it_is() {
        let paths = [
            "/home/ada/towpath".to_owned(),
            "/home/ada/.cargo".to_owned(),
        ];
        let program = b"\0panicked at /home/ada/.cargo/registry/src/x.rs\0";
        assert_eq!(paths_in(program, &paths), ["/home/ada/.cargo"]);
        assert!(paths_in(b"/cargo/registry/src/x.rs", &paths).is_empty());
        assert!(paths_in(b"", &paths).is_empty());
    }

    #[test]
    fn the_sources_and_cargos_own_folder_get_other_names() {
        let names: Vec<&str> = renamed_paths().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["/towpath", "/target", "/cargo", "/rustup"]);
    }
}

//! `cargo xtask dist`: the program, what belongs to it, checksums and a signature.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use clap::Args;

use super::{Release, binary, new_folder, pretty, read, sbom, sha256, tag, write};
use crate::say::say;
use crate::{Outcome, workspace};

/// The shells that get completions, and the names that these files have there.
pub(super) const SHELLS: [(&str, &str); 3] = [
    ("bash", "towpath.bash"),
    ("zsh", "_towpath"),
    ("fish", "towpath.fish"),
];
const SUMS: &str = "SHA256SUMS";

#[derive(Debug, Args)]
pub(crate) struct DistOptions {
    #[command(flatten)]
    options: super::ReleaseOptions,
    /// Sign the checksums with this key of gpg.
    #[arg(long, value_name = "KEY", required_unless_present = "unsigned")]
    key: Option<String>,
    /// Leave the signature out. For tests, not for a release.
    #[arg(long, conflicts_with = "key")]
    unsigned: bool,
}

pub(crate) fn run(options: &DistOptions) -> anyhow::Result<Outcome> {
    let release = Release::of_workspace()?;
    if options.key.is_some() && options.options.binary.is_none() {
        tag::check(workspace::root(), &release)?;
    }
    let into = &options.options.into;
    new_folder(into)?;
    let program = binary::of(options.options.binary.as_deref(), &release)?;
    let path = into.join("towpath");
    write(&path, &program)?;
    make_executable(&path)?;
    add_manual(&path, into)?;
    write(
        &into.join("towpath.cdx.json"),
        pretty(&sbom::of_workspace(release.epoch)?),
    )?;
    let changelog = String::from_utf8(read(&workspace::root().join("CHANGELOG.md"))?)
        .context("CHANGELOG.md is not UTF-8")?;
    write(
        &into.join("NOTES.md"),
        format!("{}\n", release.notes(&changelog)?),
    )?;
    for name in ["LICENSE", "SECURITY.md"] {
        write(&into.join(name), read(&workspace::root().join(name))?)?;
    }
    write(&into.join(SUMS), sums(into)?)?;
    match &options.key {
        Some(key) => sign(into, key)?,
        None => say("the checksums are not signed: not for a release")?,
    }
    say(format!(
        "towpath {} is in {}",
        release.version,
        into.display()
    ))?;
    Ok(Outcome::Good)
}

pub(super) fn make_executable(file: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("{} cannot be made executable", file.display()))
}

/// Completions and manual pages, which the program writes itself.
pub(super) fn add_manual(program: &Path, into: &Path) -> anyhow::Result<()> {
    let folder = into.join("completions");
    fs::create_dir_all(&folder)?;
    for (shell, file) in SHELLS {
        write(
            &folder.join(file),
            printed(program, &["completions", shell])?,
        )?;
    }
    let man = into.join("man/man1");
    let man = man.to_str().context("a path is not UTF-8")?;
    printed(program, &["man", man]).map(drop)
}

fn printed(program: &Path, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
    let output = Command::new(program)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output();
    let output = output.with_context(|| format!("{} cannot be run", program.display()))?;
    ensure!(
        output.status.success(),
        "towpath {} failed; see above",
        arguments.join(" ")
    );
    Ok(output.stdout)
}

/// A line for each file, as `sha256sum --check` reads them.
fn sums(folder: &Path) -> anyhow::Result<String> {
    let mut lines = Vec::new();
    for file in files(folder)? {
        let name = file
            .strip_prefix(folder)?
            .to_str()
            .context("a name is not UTF-8")?
            .to_owned();
        lines.push(format!("{}  {name}\n", sha256(&read(&file)?)));
    }
    Ok(lines.concat())
}

/// All files below a folder, by name.
pub(super) fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path)
            } else {
                files.push(path)
            }
        }
    }
    files.sort();
    Ok(files)
}

/// `SHA256SUMS.asc`, and a look whether it verifies.
fn sign(folder: &Path, key: &str) -> anyhow::Result<()> {
    let (sums, signature) = (folder.join(SUMS), folder.join(format!("{SUMS}.asc")));
    let mut gpg = Command::new("gpg");
    gpg.args([
        "--batch",
        "--quiet",
        "--armor",
        "--local-user",
        key,
        "--output",
    ]);
    let signed = gpg.arg(&signature).arg("--detach-sign").arg(&sums).status();
    let signed = signed.context("gpg cannot be run; install gnupg")?;
    ensure!(
        signed.success(),
        "gpg cannot sign with the key {key}; `gpg --list-secret-keys` lists keys"
    );
    let verified = Command::new("gpg")
        .args(["--batch", "--quiet", "--verify"])
        .arg(&signature)
        .arg(&sums)
        .stderr(Stdio::null())
        .status();
    ensure!(
        verified.context("gpg cannot be run")?.success(),
        "the signature of gpg does not verify"
    );
    Ok(())
}

//! Operator stories: each `scenarios/*/story.md` is run as it is written, command by command, and must print what it says.
//!
//! A folder `history` becomes the git repository `graph-data`: each of its folders is a commit, made on the day that it is named after.
//!
//! `UPDATE_EXPECT=1 cargo test --test scenarios` writes down what is printed now; look at the difference before you commit it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use towpath_testing_services::git;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let folders = std::fs::read_dir(&root)
        .expect("scenarios are there")
        .map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> = folders
        .filter(|path| path.join("story.md").exists())
        .collect();
    folders.sort();
    let trial = |folder: PathBuf| {
        let name = folder
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        Trial::test(name, move || tell(&folder))
    };
    libtest_mimic::run(
        &Arguments::from_args(),
        folders.into_iter().map(trial).collect(),
    )
    .exit();
}

/// Tells a story in a copy of its folder.
fn tell(folder: &Path) -> Result<(), Failed> {
    let scratch = tempfile::tempdir()?;
    copy(folder, scratch.path())?;
    commit_history(
        &scratch.path().join("history"),
        &scratch.path().join("graph-data"),
    )?;
    let path = folder.join("story.md");
    let written = std::fs::read_to_string(&path)?;
    let told = retold(&written, scratch.path())?;
    if told == written {
        return Ok(());
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, told)?;
        return Ok(());
    }
    let different = written
        .lines()
        .zip(told.lines())
        .find(|(then, now)| then != now);
    Err(format!(
        "{} comes out differently, first at {different:?}:\n{told}",
        path.display()
    )
    .into())
}

/// The story with what its commands print now.
fn retold(written: &str, scratch: &Path) -> Result<String, Failed> {
    let (mut told, mut in_console) = (String::new(), false);
    for line in written.lines() {
        if let Some(file) = line.strip_prefix("$ cat ").filter(|_| in_console) {
            write!(
                told,
                "{line}\n{}",
                std::fs::read_to_string(scratch.join(file))?
            )?;
            continue;
        }
        match (in_console, line.strip_prefix("$ towpath ")) {
            (false, _) => in_console = line == "```console",
            (true, None) if line == "```" => in_console = false,
            // What the last command printed then.
            (true, None) => continue,
            (true, Some(arguments)) => {
                writeln!(told, "{line}")?;
                told.push_str(&output(arguments, scratch)?);
                continue;
            }
        }
        writeln!(told, "{line}")?;
    }
    Ok(told)
}

fn output(arguments: &str, scratch: &Path) -> Result<String, Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
    let done = command
        .args(arguments.split_whitespace())
        .current_dir(scratch)
        .env("TOWPATH_LOG", "error")
        .output()?;
    let mut text = String::from_utf8(done.stdout)? + &String::from_utf8(done.stderr)?;
    if let Some(code) = done.status.code().filter(|code| *code != 0) {
        writeln!(text, "[exit {code}]")?;
    }
    Ok(text)
}

/// Makes a repository of the states that a folder was in; nothing if there are none.
fn commit_history(states: &Path, repository: &Path) -> Result<(), Failed> {
    if !states.exists() {
        return Ok(());
    }
    let mut days: Vec<PathBuf> = std::fs::read_dir(states)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, Failed>>()?;
    days.sort();
    std::fs::create_dir(repository)?;
    git(repository, "", &["init", "-q", "-b", "main"]);
    for day in days {
        for entry in std::fs::read_dir(repository)? {
            let path = entry?.path();
            match path.is_dir() {
                true if path.ends_with(".git") => {}
                true => std::fs::remove_dir_all(path)?,
                false => std::fs::remove_file(path)?,
            }
        }
        copy(&day, repository)?;
        let day = day
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        git(repository, "", &["add", "-A"]);
        git(
            repository,
            &format!("{day}T00:00:00Z"),
            &["commit", "-q", "-m", &day],
        );
    }
    Ok(std::fs::remove_dir_all(states)?)
}

fn copy(from: &Path, to: &Path) -> Result<(), Failed> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => {
                std::fs::create_dir_all(&target)?;
                copy(&entry.path(), &target)?;
            }
            false => drop(std::fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

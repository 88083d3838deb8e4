//! Operator stories: each `scenarios/*/story.md` is run as it is written, command by command in one shell, and must print what it
//! says. `scenarios/README.md` lists them all.
//!
//! `UPDATE_EXPECT=1 cargo test --test scenarios` writes down what is printed now; look at the difference before you commit it.

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use towpath_testing_services::{Shell, tell_story};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let folders = std::fs::read_dir(&root)
        .expect("scenarios are there")
        .map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> = folders
        .filter(|path| path.join("story.md").exists())
        .collect();
    folders.sort();
    // Runs on a Kubernetes API, in app/tests/agent/story.rs.
    let on_a_cluster = |folder: &PathBuf| folder.ends_with("agent");
    let trial = |folder: PathBuf| {
        let name = folder
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        Trial::test(name, move || tell(&folder))
    };
    let listed = Trial::test("the_index_lists_every_story", {
        let folders = folders.clone();
        move || index(&root.join("README.md"), &folders)
    });
    let here = folders.into_iter().filter(|folder| !on_a_cluster(folder));
    let trials = here.map(trial).chain([listed]).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Each story has a row in the index: its folder, and its title.
fn index(page: &Path, folders: &[PathBuf]) -> Result<(), Failed> {
    let page = std::fs::read_to_string(page)?;
    let rows = page.lines().filter(|line| line.starts_with("| ["));
    let mut expected = Vec::new();
    for folder in folders {
        let name = folder.file_name().expect("a name").to_string_lossy();
        let story = std::fs::read_to_string(folder.join("story.md"))?;
        let title = story.lines().next().unwrap_or_default();
        let title = title.trim_start_matches("# ");
        expected.push(format!("| [{name}]({name}/story.md) | {title} |"));
    }
    let mut rows: Vec<&str> = rows.collect();
    rows.sort_unstable();
    match rows == expected {
        true => Ok(()),
        false => Err(format!(
            "scenarios/README.md should have these rows, in any order:\n{}",
            expected.join("\n")
        )
        .into()),
    }
}

/// Tells a story in a copy of its folder.
fn tell(folder: &Path) -> Result<(), Failed> {
    let scratch = tempfile::tempdir()?;
    copy(folder, scratch.path())?;
    let path = folder.join("story.md");
    tell_story(&path, &mut Shell::at(scratch.path())).map_err(Failed::from)
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

//! Writes a new directory under a temporary name and then renames it: it is complete, or it does not exist.

use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail, ensure};
use towpath_formats::SourceFile;

/// Refuses a directory that has something in it.
pub(super) fn check(out: &Path) -> anyhow::Result<()> {
    match out.read_dir().map(|mut entries| entries.next()) {
        Ok(Some(_)) => {
            bail!(
                "{} is not empty; name a directory that does not exist yet",
                out.display()
            )
        }
        Err(_) if out.exists() => bail!(
            "{} is not a directory; name one that does not exist yet",
            out.display()
        ),
        _ => Ok(()),
    }
}

/// Writes all files, or nothing. Files that are in `modes` too get their permissions from there.
pub(super) fn write(out: &Path, files: &[SourceFile], modes: Option<&Path>) -> anyhow::Result<()> {
    let beside = beside(out)?;
    let written = write_all(&beside, files, modes).and_then(|()| {
        fs::rename(&beside, out).with_context(|| format!("{} cannot be made", out.display()))
    });
    if written.is_err() {
        // What is left would only be in the way; the first error is the one to tell.
        let _ = fs::remove_dir_all(&beside);
    }
    written
}

/// A name that nobody else has, in the same folder, so that it can be renamed.
fn beside(out: &Path) -> anyhow::Result<PathBuf> {
    let name = out
        .file_name()
        .with_context(|| format!("{} has no name; give the directory one", out.display()))?;
    let parent = out
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    fs::create_dir_all(parent).with_context(|| format!("{} cannot be made", parent.display()))?;
    let beside = parent.join(format!(
        ".{}.{}.new",
        name.to_string_lossy(),
        std::process::id()
    ));
    fs::create_dir(&beside).with_context(|| format!("{} cannot be made", beside.display()))?;
    Ok(beside)
}

fn write_all(folder: &Path, files: &[SourceFile], modes: Option<&Path>) -> anyhow::Result<()> {
    for file in files {
        let is_below = |part: Component<'_>| matches!(part, Component::Normal(_));
        ensure!(
            Path::new(&file.path).components().all(is_below),
            "{:?} leads out of the directory",
            file.path
        );
        let path = folder.join(&file.path);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent)
            .with_context(|| format!("{} cannot be made", parent.display()))?;
        let written = fs::File::create_new(&path).and_then(|mut open| open.write_all(&file.bytes));
        written.with_context(|| format!("{} cannot be written", path.display()))?;
        let mode = modes
            .and_then(|old| fs::metadata(old.join(&file.path)).ok())
            .map(|old| old.permissions());
        // A copy of a file that is read-only is nevertheless to be worked with.
        if let Some(mut mode) = mode {
            use std::os::unix::fs::PermissionsExt;
            mode.set_mode(mode.mode() | 0o200);
            fs::set_permissions(&path, mode)
                .with_context(|| format!("{} cannot be given its permissions", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> SourceFile {
        SourceFile::new(path, path.as_bytes())
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = folder
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn an_empty_directory_is_filled_and_a_full_one_refused() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        check(&out).unwrap();
        write(&out, &[file("a/b"), file("c")], None).unwrap();
        assert_eq!(
            (names(&out), names(folder.path())),
            (vec!["a".into(), "c".into()], vec!["out".into()])
        );
        assert!(
            check(&out)
                .unwrap_err()
                .to_string()
                .contains("is not empty")
        );
        assert!(
            check(&out.join("c"))
                .unwrap_err()
                .to_string()
                .contains("is not a directory")
        );
    }

    #[test]
    fn after_an_error_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        // A file where a folder must be.
        write(&out, &[file("a"), file("a/b")], None).unwrap_err();
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn a_script_stays_one() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (old, out) = (folder.path().join("old"), folder.path().join("out"));
        fs::create_dir(&old).unwrap();
        fs::write(old.join("run"), "").unwrap();
        fs::set_permissions(old.join("run"), fs::Permissions::from_mode(0o555)).unwrap();
        write(&out, &[file("run")], Some(&old)).unwrap();
        assert_eq!(
            fs::metadata(out.join("run")).unwrap().permissions().mode() & 0o777,
            0o755
        );
    }
}

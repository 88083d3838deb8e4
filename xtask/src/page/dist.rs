//! What was built: is it what is committed, and is it small enough?

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::say::say;

/// What the first view may transfer, compressed, …
const FIRST_VIEW_BYTES: usize = 120 * 1024;
/// … and everything there is. The answers of the API count too, so the page itself has a little less.
const EVERYTHING_BYTES: usize = 250 * 1024;
/// The room in the first view for answers of the API.
const ANSWERS_BYTES: usize = 20 * 1024;

type Files = BTreeMap<String, Vec<u8>>;

/// How what is committed differs from what was built.
pub(super) fn differences(committed: &Path, built: &Path) -> anyhow::Result<Vec<String>> {
    let (committed, built) = (files(committed)?, files(built)?);
    let names: BTreeSet<&String> = committed.keys().chain(built.keys()).collect();
    let differs = |name: &&String| committed.get(*name) != built.get(*name);
    let problem = |name: &String| {
        let how = match (committed.get(name), built.get(name)) {
            (None, _) => "is missing",
            (_, None) => "is left over",
            _ => "is not what is built",
        };
        format!("ui/dist/{name}: {how}; run `cargo xtask page build` and commit ui/dist")
    };
    Ok(names.into_iter().filter(differs).map(problem).collect())
}

/// What is too large.
pub(super) fn sizes(built: &Path) -> anyhow::Result<Vec<String>> {
    let files = files(built)?;
    let html = files
        .get("index.html")
        .context("the build wrote no index.html")?;
    let html = String::from_utf8_lossy(html);
    let (mut first, mut everything) = (0, 0);
    // The service reads files.rs, browsers do not.
    for (name, bytes) in files.iter().filter(|(name, _)| *name != "files.rs") {
        let size = compressed(bytes)?;
        everything += size;
        let base = name.rsplit('/').next().unwrap_or(name);
        if name == "index.html" || html.contains(base) {
            first += size;
        }
    }
    let kib = |bytes: usize| format!("{:.1} KiB", bytes as f64 / 1024.0);
    say(format!(
        "the page, compressed: first view {}, everything {}",
        kib(first),
        kib(everything)
    ))?;
    let bars = [
        ("the first view", first, FIRST_VIEW_BYTES - ANSWERS_BYTES),
        ("everything", everything, EVERYTHING_BYTES),
    ];
    let too_large = bars.into_iter().filter(|(_, size, most)| size > most);
    let problem = |(what, size, most)| {
        format!(
            "{what} is {} compressed; at most {} is allowed: make ui/src smaller",
            kib(size),
            kib(most)
        )
    };
    Ok(too_large.map(problem).collect())
}

fn compressed(bytes: &[u8]) -> anyhow::Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}

/// All files below a folder, by their names there. A folder that is missing has none.
fn files(folder: &Path) -> anyhow::Result<Files> {
    let mut found = Files::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else {
            continue;
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path)
                .with_context(|| format!("{} cannot be read", path.display()))?;
            let name = path.strip_prefix(folder).context("it lies below")?;
            found.insert(name.to_string_lossy().into_owned(), bytes);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-page-{}-{name}", std::process::id()));
        std::fs::create_dir_all(folder.join("assets")).unwrap();
        for (name, text) in files {
            std::fs::write(folder.join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn every_file_that_differs_is_named() {
        let committed = folder(
            "committed",
            &[("index.html", "old"), ("assets/old.js", "1")],
        );
        let built = folder("built", &[("index.html", "new"), ("assets/new.js", "1")]);
        let told = differences(&committed, &built).unwrap();
        let names: Vec<_> = told
            .iter()
            .map(|line| line.split(';').next().unwrap())
            .collect();
        assert_eq!(
            names,
            [
                "ui/dist/assets/new.js: is missing",
                "ui/dist/assets/old.js: is left over",
                "ui/dist/index.html: is not what is built",
            ]
        );
        assert!(differences(&built, &built).unwrap().is_empty());
        for folder in [committed, built] {
            std::fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn what_is_too_large_is_said() {
        // Nothing of it repeats, so it cannot be compressed to a tenth.
        let mut noise = String::new();
        let mut state = 1_u64;
        while noise.len() < 400 * 1024 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            noise.push_str(&format!("{state:x}"));
        }
        let built = folder(
            "large",
            &[("index.html", "assets/a.js"), ("assets/a.js", &noise)],
        );
        let told = sizes(&built).unwrap();
        assert!(told[0].starts_with("the first view is"), "{told:?}");
        std::fs::remove_dir_all(built).unwrap();
    }
}

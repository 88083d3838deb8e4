//! What a mirror already has, one item per line: a digest, a pull spec with a digest, or a
//! version. `#` begins a comment.
//!
//! It also reads a list that `towpath mirror` wrote, and takes the release lines.

use towpath_core::finding::{Finding, Place};
use towpath_core::mirror::Have;
use towpath_core::version::ReleaseName;

use super::is_digest;
use crate::read::too_large;

/// The most lines of a list.
const MAX_LINES: usize = 1_000_000;
/// How many problems are shown.
const MAX_SHOWN: usize = 20;

/// Reads a list, or says which lines cannot be understood.
pub fn read_have(place: &Place, text: &str) -> Result<Have, Vec<Finding>> {
    let (mut have, mut findings) = (Have::default(), Vec::new());
    for (line, number) in text.lines().zip(1u32..) {
        if number as usize > MAX_LINES {
            let problem = format!("there are more than {MAX_LINES} lines");
            findings.push(too_large(place, problem, "list only releases"));
            break;
        }
        let entry = line.split('#').next().unwrap_or_default().trim();
        let digest = entry.rsplit_once('@').map_or(entry, |(_, digest)| digest);
        match (
            is_skipped(entry),
            is_digest(digest),
            ReleaseName::parse(entry),
        ) {
            (true, _, _) => {}
            (false, true, _) => drop(have.digests.insert(digest.to_owned())),
            (false, false, Ok(name)) => drop(have.names.insert(name)),
            (false, false, Err(_)) => {
                let shown: String = entry.chars().take(100).collect();
                let problem = format!(
                    "{shown:?} is neither a digest, nor a pull spec with one, nor a version"
                );
                let remedy =
                    "write sha256:…, registry/repository@sha256:…, 4.14.6, or 4.14.6+arm64";
                findings.push(Finding::error(
                    "bad-entry",
                    place.at(number, 0),
                    problem,
                    remedy,
                ));
            }
        }
    }
    findings.truncate(MAX_SHOWN);
    if findings.is_empty() {
        Ok(have)
    } else {
        Err(findings)
    }
}

/// Whether it is a line of a mirror's list that names no release.
fn is_skipped(entry: &str) -> bool {
    matches!(
        entry.split_whitespace().next(),
        None | Some("signature" | "graph-data")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_pull_specs_and_versions_are_read() {
        let (one, other) = (format!("sha256:{:064}", 1), format!("sha256:{:064}", 2));
        let text = format!(
            "# ours\n{one}\n  registry:5000/r/release@{other}  # with a port\n\n4.14.6\n4.14.7+arm64\n"
        );
        let have = read_have(&Place::file("have.txt"), &text).unwrap();
        assert_eq!(have.digests, [one, other].into());
        let names: Vec<String> = have.names.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["4.14.6", "4.14.7+arm64"]);
    }

    #[test]
    fn a_list_that_a_mirror_wrote_is_read() {
        let digest = format!("sha256:{:064}", 7);
        let signature = digest.replace(':', "=");
        let text = format!(
            "# 1 release to mirror.\nrelease 4.14.6 amd64 r/release@{digest}\nsignature {signature}/signature-1\ngraph-data r/graph:1\n"
        );
        let have = read_have(&Place::file("have.txt"), &text).unwrap();
        assert_eq!((have.digests, have.names), ([digest].into(), [].into()));
    }

    #[test]
    fn what_is_not_understood_is_an_error_with_its_line() {
        let found = read_have(
            &Place::file("have.txt"),
            "4.14.6\nregistry/release:4.14.6\nsha256:XY\n",
        )
        .unwrap_err();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2);
        assert!(
            found[0].starts_with("have.txt:2: \"registry/release:4.14.6\" is neither a digest"),
            "{found:?}"
        );
    }
}

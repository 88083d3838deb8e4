//! A table from cluster ids to platforms: lines of `id,platform`, `#` for comments.

use std::collections::BTreeMap;

use towpath_core::cluster::{ClusterId, Platform};
use towpath_core::finding::{Finding, Place};

use crate::read::too_large;

/// Which platform a cluster is known to run on.
pub type Platforms = BTreeMap<Box<str>, Platform>;

/// How many problems of one file are shown.
const MAX_SHOWN: usize = 20;
/// The most clusters that one file may have.
pub const MAX_CLUSTERS: usize = 2_000_000;

/// Reads the file. Either all of it, with warnings, or everything that is wrong with it.
pub fn read(place: &Place, bytes: &[u8]) -> Result<(Platforms, Vec<Finding>), Vec<Finding>> {
    let (mut findings, mut warnings) = (Vec::new(), Vec::new());
    let mut platforms = Platforms::new();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.last().is_some_and(|last| *last != b'\n') {
        // Half a name is the name of another platform, and would open a block.
        let problem = "the last line has no end, so it may be cut short".to_owned();
        findings.push(wrong(
            place.clone(),
            problem,
            "end it with a line break; write the file elsewhere, then rename it",
        ));
    }
    for (number, line) in (1..).zip(bytes.split(|b| *b == b'\n')) {
        match read_line(line) {
            Ok(None) => {}
            Ok(Some((id, platform))) => {
                if !platform.is_known() && warnings.len() < MAX_SHOWN {
                    warnings.push(not_known(place.at(number, 0), &platform));
                }
                let earlier = platforms.insert(id.as_str().into(), platform.clone());
                if earlier.is_some_and(|earlier| earlier != platform) {
                    findings.push(wrong(
                        place.at(number, 0),
                        format!("{id} has two platforms"),
                        "keep the right one",
                    ));
                }
            }
            Err(problem) => findings.push(wrong(
                place.at(number, 0),
                problem,
                "write it as in `<uuid>,AWS`",
            )),
        }
        if platforms.len() > MAX_CLUSTERS || findings.len() >= MAX_SHOWN {
            break;
        }
    }
    if platforms.len() > MAX_CLUSTERS {
        findings.push(too_large(
            place,
            format!("there are more than {MAX_CLUSTERS} clusters"),
            "split the file",
        ));
    }
    match findings.is_empty() {
        true => Ok((platforms, warnings)),
        false => Err(findings),
    }
}

fn wrong(place: Place, problem: String, remedy: &str) -> Finding {
    Finding::error("bad-platform-line", place, problem, remedy)
}

fn not_known(place: Place, platform: &Platform) -> Finding {
    let problem =
        format!("{platform} is not a platform of OpenShift, so blocks for any platform hold");
    let remedy = format!("correct it; there are {}", Platform::KNOWN.join(", "));
    Finding::warning("unknown-platform", place, problem, remedy)
}

/// A cluster and its platform; none if the line is empty or a comment.
fn read_line(line: &[u8]) -> Result<Option<(ClusterId, Platform)>, String> {
    let line = std::str::from_utf8(line)
        .map_err(|_| "the line is not UTF-8 text".to_owned())?
        .trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (id, name) = line
        .split_once(',')
        .ok_or("there is no comma between an id and a platform")?;
    let id =
        ClusterId::new(id.trim()).ok_or("what is before the comma is not the id of a cluster")?;
    let platform = Platform::new(name.trim())
        .ok_or("what is after the comma is not the name of a platform")?;
    Ok(Some((id, platform)))
}

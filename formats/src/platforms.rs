//! A lookup from cluster ids to platforms: lines of `id,platform`, `#` for comments.

use std::collections::BTreeMap;

use towpath_core::domain::{ClusterId, Platform};
use towpath_core::finding::{Finding, Place};

/// Which platform a cluster is known to run on.
pub type Platforms = BTreeMap<Box<str>, Platform>;

/// The most clusters that one file may have.
pub const MAX_CLUSTERS: usize = 2_000_000;

/// Reads the file. Either all of it, or everything that is wrong with it.
pub fn read(place: &Place, bytes: &[u8]) -> Result<Platforms, Vec<Finding>> {
    let mut findings = Vec::new();
    let mut platforms = Platforms::new();
    for (number, line) in (1..).zip(bytes.split(|b| *b == b'\n')) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut error = |problem: String, remedy: &str| {
            findings.push(Finding::error("bad-platform-line", place.at(number, 0), problem, remedy));
        };
        let entry =
            line.split_once(',').and_then(|(id, name)| Some((ClusterId::new(id.trim())?, Platform::new(name.trim())?)));
        match entry {
            None => error("this is not a cluster's id and its platform".into(), "write it as in `<uuid>,AWS`"),
            Some((id, platform)) => {
                let text = id.as_str().to_owned();
                let earlier = platforms.insert(text.into_boxed_str(), platform.clone());
                if earlier.is_some_and(|earlier| earlier != platform) {
                    error(format!("{id} has two platforms"), "keep the right one");
                }
            }
        }
        if platforms.len() > MAX_CLUSTERS || findings.len() > 20 {
            break;
        }
    }
    if platforms.len() > MAX_CLUSTERS {
        findings.push(Finding::error(
            "too-large",
            place.clone(),
            format!("there are more than {MAX_CLUSTERS} clusters"),
            "split the service",
        ));
    }
    match findings.is_empty() {
        true => Ok(platforms),
        false => Err(findings),
    }
}

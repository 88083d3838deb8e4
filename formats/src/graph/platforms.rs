//! A table from cluster ids to what is known of clusters: lines of `id,platform`, `#` for comments.
//!
//! A line may go on with how the cluster is sorted: `id,platform,sector=canary,label:tier=dev`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use towpath_core::cluster::{ClusterId, Group, Groups, Platform};
use towpath_core::finding::{Finding, Place};

use crate::read::too_large;

/// What is known of clusters, by their ids.
pub type Platforms = BTreeMap<Box<str>, KnownCluster>;

/// What the file says of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownCluster {
    /// Which platform it is known to run on.
    pub platform: Option<Platform>,
    /// How it is sorted, if the file says that.
    pub groups: Option<Arc<Groups>>,
}

/// How many problems of one file are shown.
const MAX_SHOWN: usize = 20;
/// The most clusters that one file may have.
pub const MAX_CLUSTERS: usize = 2_000_000;

/// Reads the file. Either all of it, with warnings, or everything that is wrong with it.
pub fn read(place: &Place, bytes: &[u8]) -> Result<(Platforms, Vec<Finding>), Vec<Finding>> {
    let (mut findings, mut warnings) = (Vec::new(), Vec::new());
    let mut platforms = Platforms::new();
    // Many clusters are sorted alike.
    let mut sorted: BTreeSet<Arc<Groups>> = BTreeSet::new();
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
            Ok(Some((id, platform, groups))) => {
                let strange = platform.as_ref().filter(|platform| !platform.is_known());
                if let Some(platform) = strange.filter(|_| warnings.len() < MAX_SHOWN) {
                    warnings.push(not_known(place.at(number, 0), platform));
                }
                let groups = groups.map(Arc::new).map(|groups| {
                    sorted.get(&groups).cloned().unwrap_or_else(|| {
                        sorted.insert(groups.clone());
                        groups
                    })
                });
                let known = KnownCluster { platform, groups };
                let earlier = platforms.insert(id.as_str().into(), known.clone());
                if earlier.is_some_and(|earlier| earlier != known) {
                    findings.push(wrong(
                        place.at(number, 0),
                        format!("{id} has two lines that differ"),
                        "keep the right one",
                    ));
                }
            }
            Err(problem) => findings.push(wrong(
                place.at(number, 0),
                problem,
                "write it as in `<uuid>,AWS`, or `<uuid>,AWS,sector=canary,label:tier=dev`",
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

type Line = (ClusterId, Option<Platform>, Option<Groups>);

/// A cluster and what is known of it; none if the line is empty or a comment.
fn read_line(line: &[u8]) -> Result<Option<Line>, String> {
    let line = std::str::from_utf8(line)
        .map_err(|_| "the line is not UTF-8 text".to_owned())?
        .trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (id, rest) = line
        .split_once(',')
        .ok_or("there is no comma between an id and a platform")?;
    let id =
        ClusterId::new(id.trim()).ok_or("what is before the comma is not the id of a cluster")?;
    let mut fields = rest.split(',').map(str::trim);
    let name = fields.next().unwrap_or_default();
    let mut fields = fields.peekable();
    let goes_on = fields.peek().is_some();
    let groups = goes_on.then(|| groups(fields)).transpose()?;
    let platform = match (name, &groups) {
        // Nobody says which one, as long as the line says something.
        ("", Some(_)) => None,
        (name, _) => Some(
            Platform::new(name).ok_or("what is after the comma is not the name of a platform")?,
        ),
    };
    Ok(Some((id, platform, groups)))
}

/// How a cluster is sorted. `sector=` without a name is in no sector.
fn groups<'a>(fields: impl Iterator<Item = &'a str>) -> Result<Groups, String> {
    let (mut groups, mut has_sector) = (Groups::default(), false);
    for field in fields {
        let shown: String = field.chars().take(64).collect();
        let wrong = || format!("{shown:?} is neither `sector=<name>` nor `label:<name>=<value>`");
        let (key, value) = field.split_once('=').ok_or_else(wrong)?;
        if key.len().max(value.len()) > Group::MAX_BYTES {
            return Err(format!(
                "{shown:?}… is longer than {} bytes",
                Group::MAX_BYTES
            ));
        }
        let label = key.strip_prefix("label:").filter(|name| !name.is_empty());
        let is_again = match (key, label) {
            ("sector", _) => {
                groups.sector = (!value.is_empty()).then(|| value.into());
                std::mem::replace(&mut has_sector, true)
            }
            (_, Some(name)) => {
                let earlier = groups.labels.insert(name.to_owned(), value.to_owned());
                earlier.is_some()
            }
            _ => return Err(wrong()),
        };
        if is_again {
            return Err(format!("{shown:?} is said twice"));
        }
        if groups.labels.len() > Groups::MAX_LABELS {
            return Err(format!("there are more than {} labels", Groups::MAX_LABELS));
        }
    }
    Ok(groups)
}

//! The soak history that AUS keeps of an organisation: one JSON object, which does not name the organisation.
//!
//! ```json
//! {"check_in": "2026-11-17T10:00:00", "versions": {"4.16.3": {"workloads": {"web": {"soak_days": 3.5, "reporting": ["shop"]}}}}}
//! ```
//!
//! What cannot be read is left out, with a finding: less soak never starts anything too early. `reporting` and `stats` follow from
//! the clusters, which Towpath observes itself.

use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{Name, SoakSum};
use towpath_core::version::Version;

use crate::read::{Node, Reader, Value, shown, yaml};

/// The largest file that is read.
pub const MAX_BYTES: usize = 64 << 20;
/// Ten million days: more than any fleet has.
const MAX_DAYS: f64 = 1e7;
const SECONDS_PER_DAY: f64 = 86_400.0;

/// Reads the history of that organisation. It is an error of its own if the file is no history at all.
pub fn read(
    place: &Place,
    bytes: &[u8],
    organisation: &Name,
) -> Result<(Vec<SoakSum>, Vec<Finding>), Finding> {
    let node = yaml::tree(place, bytes)?;
    let Some(Value::Map(versions)) = node.get("versions").map(|node| &node.value) else {
        let problem = "this is not the state of AUS: it has no `versions`";
        let remedy =
            "name the JSON file of one organisation (`{\"check_in\": …, \"versions\": {…}}`)";
        return Err(Finding::error("wrong-kind", place.clone(), problem, remedy));
    };
    let mut reader = Reader::new(place);
    if let Some(record) = reader.open_record(&node, "the state of AUS") {
        reader.warn_unknown(record, &["check_in", "versions", "stats"]);
    }
    let mut sums = Vec::new();
    for (version, node) in versions {
        match version.text.parse::<Version>() {
            Ok(version) => sums.extend(of_version(&mut reader, organisation, &version, node)),
            Err(why) => reader.error(
                "bad-version",
                node,
                why.to_string(),
                "correct it; it is left out",
            ),
        }
    }
    sums.sort();
    Ok((sums, reader.findings))
}

fn of_version(
    reader: &mut Reader,
    organisation: &Name,
    version: &Version,
    node: &Node,
) -> Vec<SoakSum> {
    let Some(Value::Map(workloads)) = node.get("workloads").map(|node| &node.value) else {
        let problem = format!("{version} has no `workloads`");
        reader.error(
            "wrong-kind",
            node,
            problem,
            "export the state again; this version is left out",
        );
        return Vec::new();
    };
    let mut sums = Vec::new();
    for (workload, node) in workloads {
        let days = match node.get("soak_days").map(|node| &node.value) {
            Some(Value::Whole(days)) => *days as f64,
            Some(Value::Fraction(days)) => *days,
            _ => f64::NAN,
        };
        if !(0.0..=MAX_DAYS).contains(&days) {
            let problem = format!(
                "`soak_days` of {:?} on {version} is not a number of days",
                shown(&workload.text)
            );
            reader.error("bad-number", node, problem, "correct it; it is left out");
            continue;
        }
        sums.push(SoakSum {
            organisation: organisation.clone(),
            workload: (&*workload.text).into(),
            version: version.clone(),
            // Down: time that nobody has counted is not credited.
            seconds: (days * SECONDS_PER_DAY).floor() as i64,
        });
    }
    sums
}

//! What became of the updates to releases, as JSON and as a table.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use towpath_core::cluster::Platform;
use towpath_core::feedback::{ClassKey, FleetOutcomes, OutcomeCount, ReleaseOutcomes};
use towpath_core::graph::RolloutWindow;
use towpath_core::version::Version;

use crate::room::Room;
use crate::tables::{align_right, fitted, shown};
use crate::words::{beyond, minute};

/// The most classes of a release in an answer: those with most updates. Whoever reports can name platforms.
const MAX_CLASSES: usize = 64;
/// More releases than this nobody reads in a table.
const MAX_RELEASES: usize = 200;

/// Why there are none.
const NO_FLEET: &str = "No outcomes: clusters report to a service with a fleet. Ask it (--server), or name its store (--store).";

/// Which outcomes a table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeDetail {
    Releases,
    /// Each release by class, too.
    Classes,
}

/// Null for a release without any: then it is offered to nobody and nobody has begun it.
pub(super) fn json(outcomes: Option<&FleetOutcomes>, release: &Version) -> Value {
    let Some(outcomes) = outcomes.filter(|outcomes| outcomes.clusters > 0) else {
        return Value::Null;
    };
    let none = ReleaseOutcomes::default();
    let of_release = outcomes.releases.get(release).unwrap_or(&none);
    let shown = classes(of_release);
    let mut told = count(&of_release.all);
    told["moreClasses"] = of_release.classes.len().saturating_sub(MAX_CLASSES).into();
    told["classes"] = shown
        .into_iter()
        .map(|(class, counted)| {
            let mut told = count(counted);
            told["fromMinor"] = class.from.to_string().into();
            told["platform"] = class.platform.as_ref().map(Platform::as_str).into();
            told["arch"] = class.arch.as_str().into();
            told
        })
        .collect();
    told
}

fn count(counted: &OutcomeCount) -> Value {
    let tally = &counted.tally;
    json!({
        "offered": counted.offered,
        "started": tally.started,
        "underWay": tally.under_way(),
        "done": tally.done,
        "failed": tally.failed,
        "degraded": tally.degraded,
    })
}

/// Those with most updates first.
fn classes(of_release: &ReleaseOutcomes) -> Vec<(&ClassKey, &OutcomeCount)> {
    let mut classes: Vec<_> = of_release.classes.iter().collect();
    classes.sort_by_key(|(class, counted)| {
        let weight = (counted.tally.started, counted.offered);
        (std::cmp::Reverse(weight), *class)
    });
    classes.truncate(MAX_CLASSES);
    classes
}

/// A table below the windows. None: nobody can tell.
pub fn outcomes_text(
    rows: &[RolloutWindow],
    outcomes: Option<&FleetOutcomes>,
    detail: OutcomeDetail,
    room: Room,
) -> String {
    let releases: BTreeSet<&Version> = rows.iter().map(|row| &row.to).collect();
    if releases.is_empty() {
        return String::new();
    }
    let known = outcomes.filter(|outcomes| outcomes.clusters > 0);
    let mut lines = fitted(
        [
            "RELEASE",
            "OFFERED",
            "STARTED",
            "UNDER WAY",
            "DONE",
            "FAILED",
            "DEGRADED",
        ],
        room.width,
    );
    align_right(&mut lines, 1..7);
    let none = ReleaseOutcomes::default();
    for release in releases.iter().take(MAX_RELEASES) {
        let Some(outcomes) = known else {
            let dashes = std::iter::repeat_n("-".to_owned(), 6);
            lines.add_row(std::iter::once(release.to_string()).chain(dashes));
            continue;
        };
        let of_release = outcomes.releases.get(*release).unwrap_or(&none);
        lines.add_row(row(release.to_string(), &of_release.all));
        if detail == OutcomeDetail::Classes {
            for (class, counted) in classes(of_release) {
                lines.add_row(row(format!("  {}", named(class)), counted));
            }
        }
    }
    let more = beyond(releases.len(), MAX_RELEASES, |more| {
        format!("… and {more} more; --output json has them all\n")
    });
    let sentence = match (outcomes, known) {
        (_, Some(known)) => format!(
            "Outcomes of {} as of {}, each cluster once for each release.",
            crate::words::counted(
                usize::try_from(known.clusters).unwrap_or(usize::MAX),
                "cluster"
            ),
            minute(known.at)
        ),
        (Some(_), None) => {
            "No outcomes: no cluster had reported by the fleet's last pass.".to_owned()
        }
        (None, None) => NO_FLEET.to_owned(),
    };
    format!("\n{sentence}\n\n{}{more}", shown(&lines))
}

fn named(class: &ClassKey) -> String {
    let platform = class.platform.as_ref().map_or("unknown", Platform::as_str);
    format!("from {} on {platform}, {}", class.from, class.arch)
}

fn row(name: String, counted: &OutcomeCount) -> Vec<String> {
    let tally = &counted.tally;
    let counts = [
        counted.offered,
        tally.started,
        tally.under_way(),
        tally.done,
        tally.failed,
        tally.degraded,
    ];
    std::iter::once(name)
        .chain(counts.iter().map(ToString::to_string))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_core::feedback::OutcomeTally;
    use towpath_core::graph::rollouts;
    use towpath_core::version::{Arch, Minor};
    use towpath_testing_graphs::{day, graph};

    fn windows() -> Vec<RolloutWindow> {
        let data = "
            channel stable
            rule any P2D
            release 4.9.1 day 1
            release 4.9.2 day 10
            edges 4.9.1 -> 4.9.2";
        rollouts(&graph(data), day("11"))
    }

    fn outcomes(platforms: usize) -> FleetOutcomes {
        let mut of_release = ReleaseOutcomes::default();
        for number in 0..platforms {
            let key = ClassKey {
                from: Minor::new(4, 9),
                platform: Platform::new(&format!("P{number:02}")).filter(|_| number > 0),
                arch: Arch::default(),
            };
            let counted = OutcomeCount {
                offered: 5,
                tally: OutcomeTally {
                    started: 4 + number as u64,
                    done: 2,
                    failed: 1,
                    degraded: 0,
                },
            };
            of_release.classes.insert(key, counted);
            of_release.all.offered += 5;
            of_release.all.tally = of_release.all.tally.plus(counted.tally);
        }
        FleetOutcomes {
            at: day("11"),
            clusters: 12,
            releases: [("4.9.2".parse().unwrap(), of_release)].into(),
        }
    }

    #[test]
    fn a_table_has_a_row_for_each_release_and_says_why_it_is_empty() {
        let (rows, room) = (windows(), Room::default());
        let known = outcomes(2);
        expect_test::expect![[r#"

            Outcomes of 12 clusters as of 2026-11-11 00:00Z, each cluster once for each release.

             RELEASE                       OFFERED  STARTED  UNDER WAY  DONE  FAILED  DEGRADED
             4.9.2                              10        9          3     4       2         0
               from 4.9 on P01, amd64            5        5          2     2       1         0
               from 4.9 on unknown, amd64        5        4          1     2       1         0
        "#]]
        .assert_eq(&outcomes_text(
            &rows,
            Some(&known),
            OutcomeDetail::Classes,
            room,
        ));
        let nobody = FleetOutcomes {
            clusters: 0,
            ..known
        };
        for (outcomes, why) in [
            (Some(&nobody), "no cluster had reported by"),
            (None, "--store"),
        ] {
            let text = outcomes_text(&rows, outcomes, OutcomeDetail::Releases, room);
            assert!(text.contains(why), "{text}");
            let columns: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
            assert_eq!(columns, ["4.9.2", "-", "-", "-", "-", "-", "-"]);
        }
    }

    #[test]
    fn classes_that_clusters_invent_are_bounded() {
        let known = outcomes(100);
        let release = "4.9.2".parse().unwrap();
        let told = json(Some(&known), &release);
        assert_eq!(told["classes"].as_array().unwrap().len(), MAX_CLASSES);
        assert_eq!(
            (&told["moreClasses"], &told["offered"]),
            (&json!(36), &json!(500))
        );
        assert_eq!(told["classes"][0]["platform"], "P99");
        let other = "4.9.3".parse().unwrap();
        assert_eq!(json(Some(&known), &other)["started"], 0);
        assert_eq!(json(None, &release), Value::Null);
    }
}

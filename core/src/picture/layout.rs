//! Where releases stand: a lane for each minor version, and along it the patch level.
//!
//! A patch level has the same column in every lane, so that 4.19.7 stands below 4.20.7. Columns that
//! no lane uses are left out. Pre-releases of a patch level stand in columns of their own, left of
//! its final release. Architectures share a release's place. All numbers are those of a grid; only
//! the set of versions decides.

use std::collections::{BTreeMap, BTreeSet};

use crate::version::{Minor, Version};

/// The places of some releases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// The number of columns.
    pub width: u32,
    /// The minor versions, the newest first; lane 0 is at the top.
    pub lanes: Vec<Minor>,
    places: BTreeMap<Version, GridPlace>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GridPlace {
    pub lane: u32,
    pub x: u32,
}

/// The columns of a patch level.
#[derive(Default)]
struct PatchColumns {
    /// The most pre-releases that a lane has of it.
    pre_releases: u32,
    /// Whether a lane has its final release.
    has_final: bool,
    /// Where the final release stands, and what begins right of the pre-releases.
    end: u32,
}

impl Layout {
    pub fn of<'a>(versions: impl IntoIterator<Item = &'a Version>) -> Self {
        let versions: BTreeSet<&Version> = versions.into_iter().collect();
        let mut lanes: BTreeMap<Minor, BTreeMap<u64, Vec<&Version>>> = BTreeMap::new();
        for version in versions {
            let lane = lanes.entry(Minor::of(version)).or_default();
            lane.entry(version.patch()).or_default().push(version);
        }
        let (columns, width) = columns(lanes.values());
        let mut layout = Self {
            width,
            lanes: lanes.keys().rev().copied().collect(),
            places: BTreeMap::new(),
        };
        for (lane, patches) in (0..).zip(lanes.into_values().rev()) {
            for (patch, releases) in patches {
                layout.place(lane, &columns[&patch], &releases);
            }
        }
        layout
    }

    /// The release's place, if it has one.
    pub fn place_of(&self, version: &Version) -> Option<GridPlace> {
        self.places.get(version).copied()
    }

    /// The releases of one lane and patch level, oldest first: all but the last are pre-releases.
    fn place(&mut self, lane: u32, columns: &PatchColumns, releases: &[&Version]) {
        let first = columns.end - pre_releases(releases);
        for (x, version) in (first..).zip(releases) {
            self.places
                .insert((*version).clone(), GridPlace { lane, x });
        }
    }
}

/// The columns of each patch level that some lane has, and how many there are.
fn columns<'a>(
    lanes: impl Iterator<Item = &'a BTreeMap<u64, Vec<&'a Version>>>,
) -> (BTreeMap<u64, PatchColumns>, u32) {
    let mut all: BTreeMap<u64, PatchColumns> = BTreeMap::new();
    for (patch, releases) in lanes.flatten() {
        let columns = all.entry(*patch).or_default();
        let before = pre_releases(releases);
        columns.pre_releases = columns.pre_releases.max(before);
        columns.has_final |= releases.len() as u32 > before;
    }
    let mut width = 0;
    for columns in all.values_mut() {
        columns.end = width + columns.pre_releases;
        width = columns.end + u32::from(columns.has_final);
    }
    (all, width)
}

/// How many of one lane's releases of a patch level are pre-releases.
fn pre_releases(releases: &[&Version]) -> u32 {
    let is_pre_release = |version: &&&Version| !version.pre_release().is_empty();
    releases.iter().filter(is_pre_release).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drawn(versions: &str) -> String {
        let versions: Vec<Version> = versions
            .split_whitespace()
            .map(|version| version.parse().unwrap())
            .collect();
        let layout = Layout::of(&versions);
        let row = |(lane, minor): (u32, &Minor)| {
            let mut row = vec![".".to_owned(); layout.width as usize];
            for (version, place) in &layout.places {
                if place.lane == lane {
                    let pre_release = Some(version.pre_release()).filter(|text| !text.is_empty());
                    let patch = version.patch().to_string();
                    row[place.x as usize] = pre_release.map_or(patch, str::to_owned);
                }
            }
            format!("{minor} {}", row.join(" "))
        };
        let rows: Vec<String> = (0..).zip(&layout.lanes).map(row).collect();
        rows.join("\n")
    }

    #[test]
    fn a_patch_level_has_one_column_in_all_lanes() {
        assert_eq!(
            drawn("4.9.0 4.9.1 4.9.3 4.10.1 4.10.0 5.0.0 4.10.7"),
            "5.0 0 . . .\n4.10 0 1 . 7\n4.9 0 1 3 ."
        );
    }

    #[test]
    fn pre_releases_stand_before_their_final_release() {
        assert_eq!(
            drawn("4.9.0-rc.10 4.9.0-rc.9 4.9.0-ec.1 4.9.0 4.9.1 4.10.0-rc.1 4.2.10-s390x 4.2.10"),
            "4.10 . . rc.1 . . . .\n4.9 ec.1 rc.9 rc.10 0 1 . .\n4.2 . . . . . s390x 10"
        );
    }

    #[test]
    fn odd_versions_take_no_more_room_than_others() {
        let huge = u64::MAX;
        assert_eq!(
            drawn(&format!("4.9.{huge} 0.0.0 {huge}.{huge}.0-0 0.0.0-a.b")),
            format!("{huge}.{huge} 0 . .\n4.9 . . {huge}\n0.0 a.b 0 .")
        );
        assert_eq!(Layout::of([]), Layout::default());
    }

    fn any_version() -> impl Strategy<Value = Version> {
        let pre_release = prop_oneof![
            4 => Just(String::new()),
            1 => "-(rc|ec|fc)[.][0-9]{1,2}".prop_filter("no leading zero", |text| !text.contains(".0") || text.ends_with(".0")),
            1 => Just("-s390x".to_owned()),
        ];
        (
            4u64..6,
            0u64..5,
            prop_oneof![0u64..9, any::<u64>()],
            pre_release,
        )
            .prop_map(|(major, minor, patch, pre)| {
                format!("{major}.{minor}.{patch}{pre}").parse().unwrap()
            })
    }

    proptest! {
        #[test]
        fn no_two_releases_stand_in_one_place_and_the_order_of_input_changes_nothing(
            versions in proptest::collection::vec(any_version(), 0..60), turn in 0usize..60,
        ) {
            let layout = Layout::of(&versions);
            let mut turned = versions.clone();
            turned.reverse();
            turned.rotate_left(turn % versions.len().max(1));
            prop_assert_eq!(&Layout::of(turned.iter().chain(&versions)), &layout);

            let all: BTreeSet<&Version> = versions.iter().collect();
            let places: BTreeSet<GridPlace> = all.iter().map(|version| layout.place_of(version).unwrap()).collect();
            prop_assert_eq!(places.len(), all.len(), "each has a place of its own");
            prop_assert!(layout.width as usize <= all.len(), "there is no more room than releases");
            for column in 0..layout.width {
                prop_assert!(places.iter().any(|place| place.x == column), "column {} is used", column);
            }
            prop_assert!(layout.lanes.iter().rev().is_sorted(), "the newest is at the top");
            for pair in all.iter().collect::<Vec<_>>().windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|version| layout.place_of(version).unwrap());
                match pair[0].same_minor(pair[1]) {
                    true => prop_assert!(a.lane == b.lane && a.x < b.x, "newer is right of older"),
                    false => prop_assert!(a.lane > b.lane),
                }
            }
            let finals = all.iter().filter(|version| version.pre_release().is_empty());
            let mut by_patch: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
            finals.for_each(|version| {
                by_patch.entry(version.patch()).or_default().insert(layout.place_of(version).unwrap().x);
            });
            prop_assert!(by_patch.values().all(|columns| columns.len() == 1));
        }
    }
}

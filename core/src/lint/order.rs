//! Versions out of order: a list that people read and edit by hand is kept ascending.
//!
//! Only major, minor and patch count. The order of pre-releases is a matter of taste. Builds that
//! are named by a date (`4.2.0-0.hotfix-2020-09-19`) have no better place than the end. There is
//! one finding per file, at the first such version: a list that was written backwards is one
//! mistake.

use std::collections::BTreeSet;

use super::Subject;
use crate::finding::Finding;
use crate::graph::Member;
use crate::version::Version;

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    // Channels of one file share its list.
    let mut seen = BTreeSet::new();
    let lists = subject
        .data
        .channels
        .iter()
        .filter(|channel| seen.insert(&channel.origin.file));
    lists
        .filter_map(|channel| out_of_order(&channel.members))
        .collect()
}

fn out_of_order(members: &[Member]) -> Option<Finding> {
    let ranked: Vec<&Member> = members
        .iter()
        .filter(|member| !is_dated(&member.name.version))
        .collect();
    let mut wrong = ranked
        .windows(2)
        .filter(|pair| rank(&pair[1].name.version) < rank(&pair[0].name.version));
    let first = wrong.next()?;
    let others = match wrong.count() {
        0 => String::new(),
        1 => ", and one more version after a later one".to_owned(),
        more => format!(", and {more} more versions after later ones"),
    };
    let problem = format!("{} stands after {}{others}", first[1].name, first[0].name);
    let remedy = "keep versions in ascending order";
    Some(Finding::warning(
        "versions-out-of-order",
        first[1].origin.clone(),
        problem,
        remedy,
    ))
}

fn rank(version: &Version) -> (u64, u64, u64) {
    (version.major(), version.minor(), version.patch())
}

fn is_dated(version: &Version) -> bool {
    version.pre_release().starts_with("0.")
}

//! Annotations of a pool that reboots calmly. A value that cannot be read is refused, never ignored.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use towpath_core::duration::MaxUnavailable;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::Name;
use towpath_core::nodes::run::{RebootPace, RebootRecord, RebootSettings};

use super::record::read_record;
use crate::read::shown;
use crate::timespan::TimeSpan;

/// Opts in: `true`.
pub const REBOOTS: &str = "towpath.dev/reboots";
/// How many nodes may begin within a time: `30%/10m`.
pub const PACE: &str = "towpath.dev/reboots-pace";
/// From how many updated nodes on no pod is to come to the others: `3`.
pub const HARDEN_AFTER: &str = "towpath.dev/reboots-harden-after";
/// Which nodes go first: `worker-3,worker-1`.
pub const ORDER: &str = "towpath.dev/reboots-order";
pub const REFUSED_FOR: &str = "towpath.dev/reboots-refused-for";
pub const DRAIN_WITHIN: &str = "towpath.dev/reboots-drain-within";
pub const BACK_WITHIN: &str = "towpath.dev/reboots-back-within";
pub const LOST_AFTER: &str = "towpath.dev/reboots-lost-after";
pub const PODS_WAIT: &str = "towpath.dev/reboots-pods-wait";
pub const AGAIN_AFTER: &str = "towpath.dev/reboots-again-after";
/// Ours: what is remembered of the run.
pub const RECORD: &str = "towpath.dev/reboots-record";
/// Ours: how far it is, for people and programs.
pub const STATUS: &str = "towpath.dev/reboots-status";

const ALL: [&str; 12] = [
    REBOOTS,
    PACE,
    HARDEN_AFTER,
    ORDER,
    REFUSED_FOR,
    DRAIN_WITHIN,
    BACK_WITHIN,
    LOST_AFTER,
    PODS_WAIT,
    AGAIN_AFTER,
    RECORD,
    STATUS,
];
const LONGEST: SignedDuration = SignedDuration::from_hours(24);
/// The shortest patience.
const SHORTEST: SignedDuration = SignedDuration::from_secs(10);
/// A node that was given up is left alone for longer than its beginning counts.
const SHORTEST_AGAIN: SignedDuration = SignedDuration::from_mins(2);

/// What a pool's annotations say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RebootAnnotations {
    pub(super) has_asked: bool,
    pub(super) settings: RebootSettings,
    pub(super) order: Vec<Name>,
    pub(super) record: Option<RebootRecord>,
    /// What we told last, as it is written there.
    pub(super) status: Option<String>,
}

/// Reads them all; what is wrong with any of them is a finding.
pub(super) fn read(
    place: &Place,
    all: &BTreeMap<String, String>,
    at_most_away: MaxUnavailable,
) -> Result<RebootAnnotations, Vec<Finding>> {
    let mut findings = Vec::new();
    let mut wrong = |name: &str, problem: String, remedy: &str| {
        let problem = format!("annotation {name}: {problem}");
        findings.push(Finding::error(
            "bad-reboots",
            place.clone(),
            problem,
            remedy,
        ));
    };
    for name in all.keys().filter(|name| name.starts_with(REBOOTS)) {
        if !ALL.contains(&name.as_str()) {
            let remedy = "correct the name: docs/nodes-run.md has all of them";
            wrong(&shown(name), "there is no such setting".to_owned(), remedy);
        }
    }
    let value = |name: &str| all.get(name).map(String::as_str);
    let has_asked = match value(REBOOTS) {
        Some("true") => true,
        None | Some("false") => false,
        Some(other) => {
            let problem = format!("{:?} is neither true nor false", shown(other));
            wrong(REBOOTS, problem, "write \"true\" or \"false\"");
            false
        }
    };
    let mut settings = RebootSettings {
        at_most_away,
        ..RebootSettings::default()
    };
    if let Some(text) = value(PACE) {
        settings.pace = pace(text);
        if settings.pace.is_none() {
            let problem = format!("{:?} is no pace", shown(text));
            let remedy = "write nodes and a time of up to 24h, as in 30%/10m or 3/1h";
            wrong(PACE, problem, remedy);
        }
    }
    if let Some(text) = value(HARDEN_AFTER) {
        settings.harden_after = text.parse().ok();
        if settings.harden_after.is_none() {
            let problem = format!("{:?} is no number of nodes", shown(text));
            wrong(HARDEN_AFTER, problem, "write a number from 0");
        }
    }
    let spans = [
        (REFUSED_FOR, &mut settings.refused_for, SHORTEST),
        (DRAIN_WITHIN, &mut settings.drain_within, SHORTEST),
        (BACK_WITHIN, &mut settings.back_within, SHORTEST),
        (LOST_AFTER, &mut settings.lost_after, SHORTEST),
        (PODS_WAIT, &mut settings.pods_wait, SHORTEST),
        (AGAIN_AFTER, &mut settings.again_after, SHORTEST_AGAIN),
    ];
    for (name, place, least) in spans {
        let Some(text) = value(name) else {
            continue;
        };
        match span(text).filter(|span| *span >= least) {
            Some(span) => *place = span,
            None => wrong(
                name,
                format!("{:?} is no time that it can be", shown(text)),
                "write it as in 90s or 10m: from 10s to 24h, and reboots-again-after from 2m",
            ),
        }
    }
    let mut record = None;
    if let Some(text) = value(RECORD) {
        match read_record(text) {
            Ok(read) => record = Some(read),
            // Without it nobody knows whether the pool was paused before, nor what was met.
            Err(problem) => wrong(
                RECORD,
                format!("our own record cannot be read: {}", shown(&problem)),
                "remove this annotation, then run `towpath nodes run --undo --pool` with the pool's name",
            ),
        }
    }
    let order = value(ORDER).unwrap_or_default().split(',');
    let order = order.map(str::trim).filter(|name| !name.is_empty());
    match findings.is_empty() {
        true => Ok(RebootAnnotations {
            has_asked,
            settings,
            order: order.map(Name::from).collect(),
            record,
            status: value(STATUS).map(str::to_owned),
        }),
        false => Err(findings),
    }
}

/// `30%/10m`.
fn pace(text: &str) -> Option<RebootPace> {
    let (nodes, within) = text.split_once('/')?;
    Some(RebootPace {
        nodes: MaxUnavailable::read(nodes.trim())?,
        within: span(within.trim()).filter(|span| !span.is_zero())?,
    })
}

fn span(text: &str) -> Option<SignedDuration> {
    let read = text.parse::<TimeSpan>().ok().map(TimeSpan::signed);
    read.filter(|span| *span <= LONGEST)
}

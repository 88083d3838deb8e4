//! What the adviser says, as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};
use towpath_core::nodes::{DaemonAdvice, DaemonOwner, DaemonSetFacts, SetAdvice, UpdateStrategy};
use towpath_core::verdict::Reason;

use crate::cluster::ready::UnreadKinds;
use crate::tables::{align_right, shown, table};
use crate::verdict::{self, HelpOnce};
use crate::words::{beyond, plain};

/// How many DaemonSets are shown in the table; JSON has all.
const MAX_ROWS: usize = 40;

pub struct AdviceReport<'a> {
    pub advice: &'a DaemonAdvice<'a>,
    /// What a cluster did not let us read.
    pub unread: &'a UnreadKinds,
}

pub fn advice_json(report: &AdviceReport<'_>) -> Value {
    let sets = report.advice.sets.iter().map(|one| {
        let (by, operator) = match &one.set.owner {
            DaemonOwner::People => ("people", None),
            DaemonOwner::Operator(operator) => ("operator", Some(operator)),
        };
        json!({
            "namespace": one.set.namespace,
            "name": one.set.name,
            "setBy": by,
            "operator": operator,
            "rolledOutWithUpdates": one.set.is_of_payload(),
            "nodes": one.set.desired,
            "updated": one.set.updated,
            "atOnce": at_once(one.set),
            "seconds": one.seconds,
            "secondsByTenths": one.by_tenths,
            "reasons": verdict::reasons(&one.reasons),
        })
    });
    json!({
        "daemonSets": sets.collect::<Vec<_>>(),
        "together": verdict::reasons(&report.advice.together),
        "unread": report.unread,
    })
}

pub fn advice_text(report: &AdviceReport<'_>) -> String {
    let sets = &report.advice.sets;
    let mut text = unread(report.unread);
    if sets.is_empty() {
        return text + "The cluster has no DaemonSets.\n";
    }
    let mut rows = table([
        "daemonset",
        "set by",
        "nodes",
        "at once",
        "an update takes",
        "by 10 %",
    ]);
    for one in sets.iter().take(MAX_ROWS) {
        rows.add_row(row(one));
    }
    align_right(&mut rows, [2, 3, 4, 5]);
    text.push_str(&shown(&rows));
    text += &beyond(sets.len(), MAX_ROWS, |more| {
        format!("and {more} faster ones; JSON has all\n")
    });
    let reasons = sets.iter().flat_map(|one| &one.reasons);
    let reasons: Vec<&Reason> = reasons.chain(&report.advice.together).collect();
    let (settle, notes): (Vec<&Reason>, Vec<&Reason>) = reasons
        .into_iter()
        .partition(|reason| !reason.code().is_note);
    let mut help = HelpOnce::default();
    for (title, reasons) in [("To settle", settle), ("To know", notes)] {
        if !reasons.is_empty() {
            let _ = writeln!(text, "\n{title}:");
            for reason in reasons {
                text.push_str(&help.point("- ", reason));
            }
        }
    }
    text.push_str("\nTimes come from the duration model; docs/daemonsets.md has the formula and which lever works when.\n");
    text
}

fn row(one: &SetAdvice<'_>) -> [String; 6] {
    let by = match &one.set.owner {
        DaemonOwner::People => "people".to_owned(),
        DaemonOwner::Operator(operator) => plain(operator).into_owned(),
    };
    [
        plain(&one.set.full_name()).into_owned(),
        by,
        one.set.desired.to_string(),
        at_once(one.set),
        one.seconds.map_or_else(|| "?".to_owned(), minutes),
        minutes(one.by_tenths),
    ]
}

/// As the DaemonSet has it: `1`, `10%`, `10% surge`, `on delete`.
fn at_once(set: &DaemonSetFacts) -> String {
    match (set.strategy, set.at_once(), set.in_waves) {
        (
            UpdateStrategy::Rolling {
                max_surge: Some(surge),
                ..
            },
            ..,
        ) => format!("{surge} surge"),
        (_, Some(at_once), _) => at_once.to_string(),
        (_, None, true) => "in waves".to_owned(),
        (_, None, false) => "on delete".to_owned(),
    }
}

fn minutes(seconds: u64) -> String {
    match seconds {
        0..90 => format!("{seconds}s"),
        _ => format!("{}m", (seconds + 30) / 60),
    }
}

fn unread(unread: &UnreadKinds) -> String {
    let lines = unread
        .iter()
        .map(|(kind, why)| format!("{kind}: not read, {}\n", plain(why)));
    lines.collect()
}

//! A change that steers a rollout, as text and as JSON, with a diff.

use std::fmt::Write;

use serde_json::{Value, json as object};

use super::{FileChange, SteerEffect, SteerPlan};
use crate::findings::{self, Shown};
use crate::graph::rollouts::{self, Bars};
use crate::room::Room;

/// Lines around a change in a diff.
const CONTEXT: usize = 3;

pub fn json(plan: &SteerPlan, effect: &SteerEffect) -> Value {
    let rows = |rows: &[_]| -> Value {
        let rows = rows.iter().map(|row| rollouts::rollout(row, plan.now));
        rows.collect()
    };
    object!({
        "at": plan.now.to_string(),
        "action": plan.action,
        "to": plan.to.to_string(),
        "summary": plan.summary,
        "files": [{
            "path": plan.change.path,
            "diff": diff(&plan.change),
            "text": plan.change.new,
        }],
        "before": rows(&effect.before),
        "after": rows(&effect.after),
        "warnings": plan.notes,
        "servedBy": plan.served_by.to_string(),
        "letThrough": effect.is_let_through(),
        "findings": findings::json(&effect.findings),
    })
}

/// What changes for clusters, what presubmit says, and the diff at the end.
pub fn text(plan: &SteerPlan, effect: &SteerEffect, bars: Bars, room: Room) -> String {
    let table = |rows| rollouts::text(rows, plan.now, bars, room);
    let mut text = format!("{}\n", plan.summary);
    for note in &plan.notes {
        text += &format!("note: {note}\n");
    }
    let _ = write!(
        text,
        "\nBefore: {}\nAfter: {}\n",
        table(&effect.before),
        table(&effect.after)
    );
    text += &match effect.findings.is_empty() {
        true => "Presubmit has nothing against it.\n".to_owned(),
        false => format!(
            "Presubmit says:\n{}",
            findings::text(&effect.findings, Shown::All)
        ),
    };
    text + "\n" + &diff(&plan.change)
}

/// A unified diff. An edited file has as many lines as before.
fn diff(change: &FileChange) -> String {
    let path = &change.path;
    let whole = |text: &str, sign: char| {
        let lines = text.lines().map(|line| format!("{sign}{line}\n"));
        (text.lines().count(), lines.collect::<String>())
    };
    match (&change.old, &change.new) {
        (None, Some(new)) => {
            let (count, lines) = whole(new, '+');
            format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{count} @@\n{lines}")
        }
        (Some(old), None) => {
            let (count, lines) = whole(old, '-');
            format!("--- a/{path}\n+++ /dev/null\n@@ -1,{count} +0,0 @@\n{lines}")
        }
        (Some(old), Some(new)) => {
            format!("--- a/{path}\n+++ b/{path}\n{}", hunks(old, new))
        }
        (None, None) => String::new(),
    }
}

fn hunks(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let changed: Vec<usize> = (0..old.len().min(new.len()))
        .filter(|at| old[*at] != new[*at])
        .collect();
    let mut text = String::new();
    for group in changed.chunk_by(|a, b| b - a <= 2 * CONTEXT) {
        let first = group[0].saturating_sub(CONTEXT);
        let end = (group[group.len() - 1] + CONTEXT + 1).min(old.len());
        let (begin, count) = (first + 1, end - first);
        text += &format!("@@ -{begin},{count} +{begin},{count} @@\n");
        let mut at = first;
        while at < end {
            let run = (at..end).take_while(|at| old[*at] != new[*at]).count();
            if run == 0 {
                text += &format!(" {}\n", old[at]);
                at += 1;
                continue;
            }
            text.extend(old[at..at + run].iter().map(|line| format!("-{line}\n")));
            text.extend(new[at..at + run].iter().map(|line| format!("+{line}\n")));
            at += run;
        }
    }
    text
}

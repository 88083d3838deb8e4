//! The answer for people, to be read at three in the morning: the summary first, then what to do in order, then each update.

use std::collections::BTreeSet;

use towpath_core::decide::ReadyHop;
use towpath_core::domain::Fact;
use towpath_core::domain::ready_reason::{Lag, Task};
use towpath_core::domain::way::Step;
use towpath_core::rules::ready::PoolStanding;

use super::ToldReady;

/// Lines are broken before this column, commands never.
const WIDTH: usize = 110;

/// Everything there is to say.
pub fn text(told: &ToldReady<'_>) -> String {
    let mut text = head(told);
    text.push_str(&to_do(told));
    text.push_str("\nThe updates:\n");
    // What is only told is told once.
    let mut noted = BTreeSet::new();
    for (step, hop) in told.way.steps().zip(&told.readiness.hops) {
        text.push_str(&paragraph(step, hop, &mut noted));
    }
    if told.readiness.hops.len() > 1 {
        let again = "This is the cluster as it was then. Look again after each update: gates and objections come with releases.";
        text.push_str(&format!("\n{}", wrapped("", again)));
    }
    text
}

/// Who goes where, what was looked at, and the answer.
fn head(told: &ToldReady<'_>) -> String {
    let id = match &told.cluster.id {
        Fact::Known(id) => format!("cluster {id}"),
        Fact::Unknown => "a cluster without an id".to_owned(),
    };
    let hops = &told.readiness.hops;
    let to = hops.last().map_or("", |hop| hop.to.as_str());
    let seen: Vec<String> = told.cluster.counts.iter().map(|(kind, count)| counted(*count, kind.as_str())).collect();
    let seen = if seen.is_empty() { "nothing".to_owned() } else { seen.join(", ") };
    let now = told.now.strftime("%Y-%m-%d %H:%MZ");
    let mut text = format!("{id}, from {} to {to} in {}, at {now}\n", told.way.from(), counted(hops.len(), "update"));
    text.push_str(&wrapped("", &format!("Looked at: {seen}.")));
    let refused = hops.iter().filter(|hop| !hop.is_ready()).count();
    let answer = match (hops.iter().find(|hop| !hop.is_ready()), hops.len()) {
        (None, _) => "Ready: nothing stands in the way.\n".to_owned(),
        (Some(hop), 1) => format!("Not ready: something stands in the way of {} -> {}.\n", hop.from, hop.to),
        (Some(first), all) => {
            let to = format!("{} -> {}", first.from, first.to);
            format!(
                "Not ready: something stands in the way of {refused} of {all} updates; the first of them is {to}.\n"
            )
        }
    };
    text + &answer
}

/// What to do before which update, in order; and what is left to be done at the end.
fn to_do(told: &ToldReady<'_>) -> String {
    let mut text = String::new();
    let mut number = 0;
    let mut add = |text: &mut String, task: &Task| {
        number += 1;
        text.push_str(&wrapped(&format!("  {number:>3}. "), &task.text));
        task.command.iter().for_each(|command| text.push_str(&format!("         $ {command}\n")));
    };
    for hop in told.readiness.hops.iter().filter(|hop| !hop.tasks.is_empty()) {
        text.push_str(&format!("  before {}\n", hop.to));
        hop.tasks.iter().for_each(|task| add(&mut text, task));
    }
    if let (Some(last), false) = (told.readiness.hops.last(), told.readiness.paused_at_the_end.is_empty()) {
        text.push_str(&format!("  after {}\n", last.to));
        told.readiness.paused_at_the_end.iter().for_each(|pool| add(&mut text, &Task::unpause(pool)));
    }
    match text.is_empty() {
        true => text,
        false => format!("\nTo do, in order:\n{text}"),
    }
}

fn paragraph(step: Step<'_>, hop: &ReadyHop, noted: &mut BTreeSet<String>) -> String {
    let answer = if hop.is_ready() { "ready" } else { "not ready" };
    let kubernetes = match (step.is_minor(), step.to_minor().kubernetes()) {
        (false, _) => " (a patch)".to_owned(),
        (true, Some(minor)) => format!(" (Kubernetes {minor})"),
        (true, None) => String::new(),
    };
    let mut text = format!("  {:>3}. {} -> {}{kubernetes}: {answer}\n", step.index() + 1, hop.from, hop.to);
    let (notes, refusals): (Vec<_>, Vec<_>) = hop.reasons().partition(|reason| reason.is_note());
    for reason in refusals {
        text.push_str(&wrapped("       - ", &format!("{reason} [{}]", reason.code())));
    }
    for reason in notes {
        let note = format!("note: {reason} [{}]", reason.code());
        if noted.insert(note.clone()) {
            text.push_str(&wrapped("       - ", &note));
        }
    }
    hop.pools.iter().filter_map(staying).for_each(|line| text.push_str(&wrapped("       - ", &line)));
    text
}

/// A paused pool that may stay so.
fn staying(standing: &PoolStanding) -> Option<String> {
    let (pool, kubelet, behind) = (standing.pool.as_ref()?, standing.kubelet?, standing.behind?);
    let stays = standing.lag == Lag::Paused && behind <= standing.limit;
    stays.then(|| {
        let (nodes, limit) = (counted(standing.nodes.len(), "node"), standing.limit);
        format!("pool {pool} may stay paused: {nodes} at Kubernetes {kubelet}, {behind} behind, the limit is {limit}")
    })
}

/// A text in lines, the first after `start` and the others below it.
fn wrapped(start: &str, text: &str) -> String {
    let indent = " ".repeat(start.chars().count());
    let (mut lines, mut line) = (String::new(), start.to_owned());
    let mut is_first = true;
    for word in text.split_whitespace() {
        let length = line.chars().count() + 1 + word.chars().count();
        if !is_first && length > WIDTH {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = indent.clone();
            is_first = true;
        }
        if !is_first {
            line.push(' ');
        }
        line.push_str(word);
        is_first = false;
    }
    lines + line.trim_end() + "\n"
}

fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn long_lines_go_on_below_and_long_words_stay_whole() {
        let word = "x".repeat(60);
        assert_eq!(wrapped("- ", &format!("{word} {word}")), format!("- {word}\n  {word}\n"));
        let long = "y".repeat(200);
        assert_eq!(wrapped("- ", &long), format!("- {long}\n"));
    }
}

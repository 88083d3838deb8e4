//! Power cards of windows, as text and as JSON: which failure rates are seen before so much of the fleet has a release.

use jiff::SignedDuration;
use serde_json::{Value, json};
use towpath_core::feedback::{
    FailureRate, FeedbackPolicy, PowerCard, PowerRow, StoppedAt, power_card,
};
use towpath_core::graph::{Ramp, RolloutWindow, Share, Window};

use super::stages::{stages, stages_field, stages_json};
use crate::tables::{align_right, shown, table};
use crate::words::joined;

/// A card for each window that is not for everybody at once, for so many clusters, as its channel is watched.
pub fn power_text(rows: &[RolloutWindow], clusters: u64, policy: &FeedbackPolicy) -> String {
    let of_row = |row: &RolloutWindow| {
        let card = power_card(&row.window, clusters, policy.of(&row.channel));
        let head = format!(
            "\nPower card of {} in {}: {clusters} clusters, outcomes known after {:#}, at most {} false halts, base rate {}.\nBefore anything is known, {} of the fleet begin.\n",
            row.to, row.channel, card.delay, card.alpha, card.base_rate, card.before_anything,
        );
        head + &lines(&card) + &stopped_lines(&card) + &stages_words(&row.window, &card)
    };
    phased(rows).map(of_row).collect()
}

pub fn power_json(rows: &[RolloutWindow], clusters: u64, policy: &FeedbackPolicy) -> Value {
    let of_row = |row: &RolloutWindow| {
        let card = power_card(&row.window, clusters, policy.of(&row.channel));
        json!({
            "channel": row.channel.as_str(),
            "to": row.to.to_string(),
            "start": row.window.start.to_string(),
            "clusters": clusters,
            "delay": card.delay.to_string(),
            "alpha": fraction(card.alpha),
            "baseRate": fraction(card.base_rate),
            "beforeAnything": card.before_anything.as_fraction(),
            "before": card.rows.iter().map(json_row).collect::<Vec<_>>(),
            "stoppedAt": card.stopped.iter().map(json_stopped).collect::<Vec<_>>(),
            "stages": in_stages(&row.window, &card).map(|window| stages_json(&window)),
        })
    };
    phased(rows).map(of_row).collect()
}

fn phased(rows: &[RolloutWindow]) -> impl Iterator<Item = &RolloutWindow> {
    // Nobody knows how many clusters a ring has.
    let is_of_the_fleet = |row: &&RolloutWindow| row.whose.ring().is_none();
    let phased = rows.iter().filter(is_of_the_fleet);
    phased.filter(|row| row.window.start < row.window.end)
}

fn lines(card: &PowerCard) -> String {
    let mut lines = table(["BEFORE THIS PART BEGINS", "OUTCOMES KNOWN", "SEEN"]);
    align_right(&mut lines, [1]);
    for row in &card.rows {
        let seen = match row.seen {
            Some(rate) => format!("{rate} failing, or more"),
            None => "nothing".to_owned(),
        };
        lines.add_row([row.exposed.to_string(), row.known.to_string(), seen]);
    }
    shown(&lines)
}

/// How much of the fleet has begun when a release is halted, on average: in this window, and in stages.
fn stopped_lines(card: &PowerCard) -> String {
    let mut lines = table(["FAILING", "HALTED AT", "IN STAGES"]);
    align_right(&mut lines, [1, 2]);
    let share = |share: Option<Share>| share.map_or("never".to_owned(), |share| share.to_string());
    for stopped in &card.stopped {
        let in_stages = match card.stages {
            None => "-".to_owned(),
            Some(_) => share(stopped.in_stages),
        };
        lines.add_row([
            stopped.failing.to_string(),
            share(stopped.in_window),
            in_stages,
        ]);
    }
    shown(&lines)
}

/// The same window in the stages that do better.
fn in_stages(window: &Window, card: &PowerCard) -> Option<Window> {
    let ramp = Ramp::Stages(card.stages?);
    Some(Window { ramp, ..*window })
}

/// What to write into the rule, and what it does.
fn stages_words(window: &Window, card: &PowerCard) -> String {
    let Some(window) = in_stages(window, card) else {
        return "No stages do better in the same time.\n".to_owned();
    };
    let stage = |(after, share): (SignedDuration, Share)| match after.is_zero() {
        true => format!("{share} at once"),
        false => format!(
            "{share} after {:#}",
            SignedDuration::from_mins(after.as_mins())
        ),
    };
    let begin = joined(stages(&window).map(stage), "none");
    let field = stages_field(&window).unwrap_or_default();
    format!(
        "Stages that do better in the same time: {begin}.\nIn schema 2.1.0, instead of `ramp`: {field}\n"
    )
}

fn json_stopped(stopped: &StoppedAt) -> Value {
    json!({
        "failing": fraction(stopped.failing),
        "inWindow": stopped.in_window.map(Share::as_fraction),
        "inStages": stopped.in_stages.map(Share::as_fraction),
    })
}

fn json_row(row: &PowerRow) -> Value {
    json!({
        "exposed": row.exposed.as_fraction(),
        "known": row.known,
        "seen": row.seen.map(fraction),
    })
}

fn fraction(rate: FailureRate) -> f64 {
    f64::from(rate.parts()) / 1e6
}

//! Power cards of windows, as text and as JSON: which failure rates are seen before so much of the fleet has a release.

use serde_json::{Value, json};
use towpath_core::feedback::{FailureRate, PowerCard, PowerRow, WatchSettings, power_card};
use towpath_core::graph::RolloutWindow;

use crate::tables::{align_right, shown, table};

/// A card for each window that is not for everybody at once, for so many clusters.
pub fn power_text(rows: &[RolloutWindow], clusters: u64, settings: &WatchSettings) -> String {
    let of_row = |row: &RolloutWindow| {
        let card = power_card(&row.window, clusters, settings);
        let head = format!(
            "\nPower card of {} in {}: {clusters} clusters, outcomes known after {:#}, at most {} false halts, base rate {}.\n{} of the fleet begin before anything is known.\n",
            row.to, row.channel, card.delay, card.alpha, card.base_rate, card.before_anything,
        );
        head + &lines(&card)
    };
    phased(rows).map(of_row).collect()
}

pub fn power_json(rows: &[RolloutWindow], clusters: u64, settings: &WatchSettings) -> Value {
    let of_row = |row: &RolloutWindow| {
        let card = power_card(&row.window, clusters, settings);
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

//! Whether releases made updates slower, as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};
use towpath_core::duration::{SlowDown, SpeedCheck, SpeedVerdict};

use super::CheckedSpeed;
use super::text::{table, unread};
use crate::words::counted;

pub fn check_json(told: &CheckedSpeed<'_>) -> Value {
    json!({
        "updates": told.updates,
        "slowerByPercent": told.settings.slower_by_percent,
        "falseAlarmsPercent": 2.5,
        "releases": told.checks.iter().map(release).collect::<Vec<_>>(),
        "findings": crate::findings::json(told.findings),
    })
}

fn release(check: &SpeedCheck) -> Value {
    let compared = check.compared.iter().map(|(step, compared)| {
        json!({"step": step.to_string(), "updates": compared.to_it, "others": compared.others})
    });
    let mut value = json!({
        "release": check.release.to_string(),
        "verdict": word(check),
        "updates": check.updates,
        "compared": compared.collect::<Vec<_>>(),
        "timesPermille": check.slow_down.map(|times| json!({
            "low": times.at_least, "likely": times.likely, "high": times.at_most,
        })),
    });
    if let SpeedVerdict::Inconclusive { needed } = check.verdict {
        value["needed"] = json!({"updates": needed.to_it, "others": needed.others});
    }
    value
}

fn word(check: &SpeedCheck) -> &'static str {
    match check.verdict {
        SpeedVerdict::Slower => "slower",
        SpeedVerdict::NotSlower => "notSlower",
        SpeedVerdict::Inconclusive { .. } => "inconclusive",
    }
}

pub fn check_text(told: &CheckedSpeed<'_>) -> String {
    let mut text = unread(told.findings);
    let read = told.counts.sources();
    let updates = counted(told.updates, "completed update");
    let _ = writeln!(text, "{updates} in {read}.");
    if told.checks.is_empty() {
        text.push_str("Inconclusive: no release has 20 updates or more. Name one with --release to see what it needs.\n");
        return text;
    }
    let mut rows =
        vec![["release", "updates", "compared with", "takes", "verdict"].map(str::to_owned)];
    for check in told.checks {
        let others: usize = check
            .compared
            .values()
            .map(|compared| compared.others)
            .sum();
        let verdict = match check.verdict {
            SpeedVerdict::Slower => "SLOWER".to_owned(),
            SpeedVerdict::NotSlower => {
                format!("not slower by {} %", told.settings.slower_by_percent)
            }
            SpeedVerdict::Inconclusive { .. } => "inconclusive".to_owned(),
        };
        rows.push([
            check.release.to_string(),
            check.updates.to_string(),
            others.to_string(),
            check.slow_down.map_or_else(|| "?".to_owned(), times),
            verdict,
        ]);
    }
    let _ = write!(text, "\n{}\n", table(&rows));
    for check in told.checks {
        text.push_str(&needed(check, told.settings.slower_by_percent));
    }
    text.push_str("Updates are compared with those of the same step to other releases, on clusters brought to one size.\n");
    text.push_str("If nothing changed, at most 2.5 % of such checks call a release slower.\n");
    text
}

/// `1.12 times as long (1.05 to 1.20)`.
fn times(slow_down: SlowDown) -> String {
    let decimal = |thousandths: u32| {
        let hundredths = (thousandths + 5) / 10;
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    };
    format!(
        "{} times as long ({} to {})",
        decimal(slow_down.likely),
        decimal(slow_down.at_least),
        decimal(slow_down.at_most)
    )
}

fn needed(check: &SpeedCheck, percent: u32) -> String {
    let SpeedVerdict::Inconclusive { needed } = check.verdict else {
        return String::new();
    };
    format!(
        "Inconclusive for {}: to find {percent} %, it needs about {} to it and {} of the same steps to others.\n",
        check.release,
        counted(needed.to_it, "update"),
        counted(needed.others, "update"),
    )
}

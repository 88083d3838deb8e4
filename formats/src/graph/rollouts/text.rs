//! Rollouts as text: a table with bars, and the blocks that hold meanwhile.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::Platform;
use towpath_core::finding::Place;
use towpath_core::graph::{Audience, ChannelName, Ramp, RolloutStop, RolloutWindow, Share, Window};
use towpath_core::version::Version;

use crate::tables::{align_right, shown, table};
use crate::words::{beyond, counted, joined, minute};

/// More rows than this nobody reads. The rest is counted.
const MAX_ROWS: usize = 200;
/// How wide a bar is.
const BAR_CELLS: u32 = 12;

/// What bars are drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bars {
    /// Eighths of blocks, for terminals.
    Blocks,
    /// What every file can hold.
    Ascii,
}

pub fn text(rows: &[RolloutWindow], now: Timestamp, bars: Bars) -> String {
    let running = rows.iter().filter(|row| row.window.has_begun(now)).count();
    let (running, to_come) = (counted(running, "window"), rows.len() - running);
    let text = format!(
        "{running} running, {to_come} to come, as of {}. Times are UTC.\n",
        minute(now)
    );
    if rows.is_empty() {
        return text;
    }
    let head = [
        "CHANNEL", "RELEASE", "SOURCES", "OVER", "REACHED", "", "10 %", "50 %", "90 %", "100 %",
    ];
    let mut lines = table(head);
    align_right(&mut lines, [2, 4]);
    for row in rows.iter().take(MAX_ROWS) {
        let [tenth, half, most, all] = [100, 500, 900, 1000]
            .map(|share| short_minute(row.window.reaches(Share::thousandths(share)), now));
        lines.add_row([
            row.channel.to_string(),
            row.to.to_string(),
            row.from.len().to_string(),
            over(&row.window),
            reached(row, now),
            bar(row.window.share(now), bars),
            tenth,
            half,
            most,
            all,
        ]);
    }
    let more = beyond(rows.len(), MAX_ROWS, |more| {
        format!("… and {more} more; --output json has them all\n")
    });
    format!("{text}\n{}{more}{}", shown(&lines), blocked(rows))
}

/// A time to the minute, without the year if that is the year we have.
fn short_minute(at: Timestamp, now: Timestamp) -> String {
    let year = |at: Timestamp| at.strftime("%Y").to_string();
    let format = match year(at) == year(now) {
        true => "%m-%d %H:%M",
        false => "%Y-%m-%d %H:%M",
    };
    at.strftime(format).to_string()
}

/// How long the window is, and its ramp where that is not the usual one.
fn over(window: &Window) -> String {
    let length = window.end.duration_since(window.start);
    if length == SignedDuration::ZERO {
        return "at once".to_owned();
    }
    let hours = length.as_hours();
    let length = if hours % 24 == 0 {
        format!("{} d", hours / 24)
    } else {
        format!("{hours} h")
    };
    match window.ramp {
        Ramp::Linear => length,
        Ramp::Exponential => format!("{length} exp."),
    }
}

fn reached(row: &RolloutWindow, now: Timestamp) -> String {
    match (row.is_blocked(), row.window.has_begun(now)) {
        (true, _) => "blocked".to_owned(),
        (false, true) => row.window.share(now).to_string(),
        (false, false) => "to come".to_owned(),
    }
}

/// A share as a bar: full only for everybody, empty only for nobody.
fn bar(share: Share, bars: Bars) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let cells = BAR_CELLS as usize;
    let steps = if bars == Bars::Blocks {
        cells * 8
    } else {
        cells
    };
    let filled = match (share.as_fraction() * steps as f64) as usize {
        0 if share > Share::NONE => 1,
        filled => filled.min(steps),
    };
    match bars {
        Bars::Ascii => format!("[{:-<cells$}]", "#".repeat(filled)),
        Bars::Blocks => {
            let drawn = "█".repeat(filled / 8) + EIGHTHS[filled % 8];
            format!("▕{drawn:<cells$}▏")
        }
    }
}

/// What blocks keep clusters from while it rolls out: each block once for each channel and release.
fn blocked(rows: &[RolloutWindow]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut of_release: BTreeMap<(&ChannelName, &Version), Vec<&RolloutWindow>> = BTreeMap::new();
    rows.iter().for_each(|row| {
        of_release
            .entry((&row.channel, &row.to))
            .or_default()
            .push(row)
    });
    for ((channel, to), rows) in of_release {
        let all = rows.iter().map(|row| row.from.len()).sum();
        let mut stops: BTreeMap<&Place, (&RolloutStop, usize)> = BTreeMap::new();
        for stop in rows.iter().flat_map(|row| &row.stops) {
            stops.entry(&stop.origin).or_insert((stop, 0)).1 += stop.from.len();
        }
        let line =
            |(stop, blocked)| format!("  {channel} {to}: {} {}\n", edges(blocked, all), whom(stop));
        lines.extend(stops.into_values().map(line));
    }
    if lines.is_empty() {
        return String::new();
    }
    let more = beyond(lines.len(), MAX_ROWS, |more| {
        format!("  … and {more} more; --output json has them all\n")
    });
    lines.truncate(MAX_ROWS);
    format!("\nBlocked meanwhile:\n{}{more}", lines.concat())
}

fn edges(blocked: usize, all: usize) -> String {
    match (blocked, all) {
        (1, 1) => "the edge".to_owned(),
        (blocked, all) if blocked == all => format!("all {}", counted(all, "edge")),
        (blocked, all) => format!("{blocked} of {}", counted(all, "edge")),
    }
}

fn whom(stop: &RolloutStop) -> String {
    let whom = match &stop.whom {
        Audience::Everybody => "for everybody".to_owned(),
        Audience::NotUnderstood(what) | Audience::Disputed(what) => {
            format!("for everybody, because {what}")
        }
        Audience::Platforms(platforms) => {
            let names = joined(platforms.iter().map(Platform::as_str), "");
            format!("on {names} and unknown platforms")
        }
    };
    format!("{whom} ({})", stop.origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_full_for_everybody_and_empty_for_nobody_only() {
        let shares = [0, 1, 250, 500, 999, 1000].map(Share::thousandths);
        assert_eq!(
            shares.map(|share| bar(share, Bars::Ascii)),
            [
                "[------------]",
                "[#-----------]",
                "[###---------]",
                "[######------]",
                "[###########-]",
                "[############]",
            ]
        );
        assert_eq!(
            shares.map(|share| bar(share, Bars::Blocks)),
            [
                "▕            ▏",
                "▕▏           ▏",
                "▕███         ▏",
                "▕██████      ▏",
                "▕███████████▉▏",
                "▕████████████▏",
            ]
        );
    }
}

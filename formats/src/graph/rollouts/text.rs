//! Rollouts as text: a table with bars, and the blocks that hold meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::Platform;
use towpath_core::finding::Place;
use towpath_core::graph::{
    Audience, ChannelName, Ramp, RolloutStop, RolloutWindow, Share, Turn, Window,
};
use towpath_core::version::{Arch, Version};

use crate::room::Room;
use crate::tables::{align_right, fitted, shown};
use crate::words::{beyond, counted, joined, minute, second};

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

pub fn text(rows: &[RolloutWindow], now: Timestamp, bars: Bars, room: Room) -> String {
    let running = rows.iter().filter(|row| row.window.has_begun(now)).count();
    let held = rows.iter().filter(|row| row.window.is_held()).count();
    let to_come = rows.len() - running - held;
    let held = match held {
        0 => String::new(),
        held => format!(", {held} held"),
    };
    let text = format!(
        "{} running, {to_come} to come{held}, as of {}. Times are UTC.\n",
        counted(running, "window"),
        minute(now)
    );
    if rows.is_empty() {
        return text;
    }
    let told_apart = told_apart(rows);
    let arch_head = (!told_apart.is_empty()).then_some("ARCH");
    let has_rings = rows.iter().any(|row| row.whose != Turn::Everybody);
    let ring_head = has_rings.then_some("WHO");
    let more = arch_head.into_iter().chain(ring_head);
    let head = ["CHANNEL", "RELEASE"].into_iter().chain(more).chain([
        "SOURCES", "OVER", "REACHED", "", "10 %", "50 %", "90 %", "100 %",
    ]);
    let mut lines = fitted(head, room.width);
    let shift = usize::from(arch_head.is_some()) + usize::from(has_rings);
    align_right(&mut lines, [2 + shift, 4 + shift]);
    for row in rows.iter().take(MAX_ROWS) {
        let [tenth, half, most, all] = [100, 500, 900, 1000].map(|share| {
            let at = row.window.reaches(Share::thousandths(share));
            match row.window.is_held() {
                true => "–".to_owned(),
                false => short_minute(at, now),
            }
        });
        let arches = arch_head.map(|_| match told_apart.contains(&release(row)) {
            true => arches(row),
            false => "all".to_owned(),
        });
        let ring = ring_head.map(|_| row.whose.to_string());
        let release = [row.channel.to_string(), row.to.to_string()];
        let named = release.into_iter().chain(arches).chain(ring);
        lines.add_row(named.chain([
            row.from.len().to_string(),
            over(&row.window),
            reached(row, now),
            bar(row.window.share(now), bars),
            tenth,
            half,
            most,
            all,
        ]));
    }
    let more = beyond(rows.len(), MAX_ROWS, |more| {
        format!("… and {more} more; --output json has them all\n")
    });
    format!(
        "{text}\n{}{more}{}",
        shown(&lines),
        blocked(rows, &told_apart)
    )
}

type Release<'a> = (&'a ChannelName, &'a Version);

fn release(row: &RolloutWindow) -> Release<'_> {
    (&row.channel, &row.to)
}

/// The releases of which one window has several rows, because blocks tell architectures apart.
fn told_apart(rows: &[RolloutWindow]) -> BTreeSet<Release<'_>> {
    let mut windows = BTreeSet::new();
    let again = rows
        .iter()
        .filter(|row| !windows.insert((release(row), row.window, &row.whose)));
    again.map(release).collect()
}

fn arches(row: &RolloutWindow) -> String {
    joined(row.arches.iter().map(Arch::as_str), "")
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
    if window.is_held() {
        return "–".to_owned();
    }
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
        Ramp::Linear | Ramp::Held => length,
        Ramp::Exponential => format!("{length} exp."),
        Ramp::Stages(stages) => format!("{length} in {} stages", stages.shares().count()),
    }
}

fn reached(row: &RolloutWindow, now: Timestamp) -> String {
    match (row.is_blocked(), row.window.has_begun(now)) {
        (true, _) => "blocked".to_owned(),
        (false, _) if row.window.is_held() => "held".to_owned(),
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
fn blocked(rows: &[RolloutWindow], told_apart: &BTreeSet<Release<'_>>) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut of_release: BTreeMap<(Release<'_>, Option<String>), Vec<&RolloutWindow>> =
        BTreeMap::new();
    // The edges of rings are those of everybody else.
    let once = |row: &&RolloutWindow| row.whose.ring().is_none();
    for row in rows.iter().filter(once) {
        let arches = told_apart.contains(&release(row)).then(|| arches(row));
        let key = (release(row), arches);
        of_release.entry(key).or_default().push(row);
    }
    for (((channel, to), arches), rows) in of_release {
        let arches = arches.map_or_else(String::new, |arches| format!(" ({arches})"));
        let all = rows.iter().map(|row| row.from.len()).sum();
        let mut stops: BTreeMap<&Place, (&RolloutStop, usize)> = BTreeMap::new();
        for stop in rows.iter().flat_map(|row| &row.stops) {
            stops.entry(&stop.origin).or_insert((stop, 0)).1 += stop.from.len();
        }
        let line = |(stop, blocked)| {
            format!(
                "  {channel} {to}{arches}: {} {}\n",
                edges(blocked, all),
                whom(stop)
            )
        };
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
    match &stop.halt {
        Some(halt) => {
            let (by, at) = (&halt.by, second(halt.at));
            let why = halt.sentence();
            format!("{whom}, halted by {by} at {at}: {why} ({})", stop.origin)
        }
        None => format!("{whom} ({})", stop.origin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_core::graph::rollouts;
    use towpath_testing_graphs::{day, graph};

    /// amd64 is blocked while the others are at half. A release that is the same for all is one row.
    #[test]
    fn architectures_have_a_column_where_a_block_tells_them_apart() {
        let data = "
            arches amd64 arm64 s390x
            channel stable
            rule any P2D
            release 4.9.1 day 1
            release 4.9.2 day 10
            release 4.9.3 day 10
            edges 4.9.1 -> 4.9.2
            edges 4.9.1 -> 4.9.3";
        let told = |text: &str| {
            let (graph, now) = (graph(text), day("11"));
            text_of(&rollouts(&graph, now), now)
        };
        assert!(!told(data).contains("ARCH"), "{}", told(data));
        let blocked = format!("{data}\nblock 4.9.2 from .*[+]amd64$");
        expect_test::expect![[r#"
            3 windows running, 0 to come, as of 2026-11-11 00:00Z. Times are UTC.

             CHANNEL  RELEASE  ARCH          SOURCES  OVER  REACHED                  10 %         50 %         90 %         100 %
             stable   4.9.2    amd64               1  2 d   blocked  [######------]  11-10 04:48  11-11 00:00  11-11 19:12  11-12 00:00
             stable   4.9.2    arm64, s390x        1  2 d    50.0 %  [######------]  11-10 04:48  11-11 00:00  11-11 19:12  11-12 00:00
             stable   4.9.3    all                 1  2 d    50.0 %  [######------]  11-10 04:48  11-11 00:00  11-11 19:12  11-12 00:00

            Blocked meanwhile:
              stable 4.9.2 (amd64): the edge for everybody (data:10:1)
        "#]].assert_eq(&told(&blocked));
    }

    /// At noon the canaries are over and not told any more.
    #[test]
    fn a_rule_with_rings_has_a_row_for_each_ring_and_for_everybody_else() {
        let graph = graph(
            "
            channel stable
            ring canaries sector canary
            ring early label tier dev
            rule any P2D after P1D
            turn canaries PT6H
            turn early P1D after PT6H
            release 4.9.1 day 1
            release 4.9.2 day 10
            edges 4.9.1 -> 4.9.2
            block 4.9.2 on AWS",
        );
        let now = day("10T03");
        let told = text_of(&rollouts(&graph, now), now);
        for part in ["WHO", "ring canaries", "ring early", "everybody else"] {
            assert!(told.contains(part), "{told}");
        }
        // The edges of rings are those of everybody else, so each is counted once.
        let blocked = "stable 4.9.2: the edge on AWS and unknown platforms";
        assert_eq!(told.matches(blocked).count(), 1, "{told}");
        let later = rollouts(&graph, day("10T12"));
        let whose: Vec<String> = later.iter().map(|row| row.whose.to_string()).collect();
        assert_eq!(whose, ["ring early", "everybody else"]);
    }

    fn text_of(rows: &[RolloutWindow], now: Timestamp) -> String {
        text(rows, now, Bars::Ascii, Room::default())
    }

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

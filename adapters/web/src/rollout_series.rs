//! The series of `phased_update_rollout`: one for each edge that a rule phases in, with its share.
//!
//! A series begins with its window, reaches 1 at the end of it, and stays for a week. It is 0
//! while everybody is blocked. There are at most [`MAX_SERIES`]. Windows that are running come
//! before those that are over, so none of them makes place for one that ended.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use towpath_core::graph::{ChannelName, RingName, RolloutWindow, Share};
use towpath_core::version::{Arch, Version};

/// The most series that one scrape gets.
const MAX_SERIES: usize = 20_000;

/// One edge, and how far its rollout is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RolloutSeries<'a> {
    pub(crate) channel: &'a ChannelName,
    pub(crate) arch: &'a Arch,
    pub(crate) from: &'a Version,
    pub(crate) to: &'a Version,
    /// Whose share it is; none: everybody's who is in no ring.
    pub(crate) ring: Option<&'a RingName>,
    pub(crate) share: Share,
}

/// The series at a time, and how many are left out.
pub(crate) fn rollout_series(
    rows: &[RolloutWindow],
    now: Timestamp,
) -> (Vec<RolloutSeries<'_>>, usize) {
    let is_shown = |row: &&RolloutWindow| row.window.has_begun(now) && row.is_recent(now);
    let mut rows: Vec<&RolloutWindow> = rows.iter().filter(is_shown).collect();
    // Running ones first, the oldest first; then the others, the one that ended last first.
    rows.sort_by_key(|row| match row.window.is_over(now) {
        false => (0, Some(row.window.start), None),
        true => (1, None, Some(Reverse(row.phased_until))),
    });
    let mut series: Vec<RolloutSeries<'_>> =
        rows.into_iter().flat_map(|row| of(row, now)).collect();
    let left_out = series.len().saturating_sub(MAX_SERIES);
    series.truncate(MAX_SERIES);
    (series, left_out)
}

/// How many rollouts without a series have been logged. Scrapes come often, and each number is logged once.
#[derive(Debug, Default)]
pub(crate) struct LeftOutLog(AtomicUsize);

impl LeftOutLog {
    pub(crate) fn log(&self, left_out: usize) {
        if self.is_more(left_out) {
            tracing::warn!(
                left_out,
                "there are too many rollouts: phased_update_rollout leaves some out, those that are over first"
            );
        }
    }

    fn is_more(&self, left_out: usize) -> bool {
        left_out > self.0.fetch_max(left_out, Ordering::Relaxed)
    }
}

fn of(row: &RolloutWindow, now: Timestamp) -> impl Iterator<Item = RolloutSeries<'_>> {
    let share = row.window.share(now);
    let edges = row
        .from
        .iter()
        .flat_map(|(from, arches)| arches.iter().map(move |arch| (from, arch)));
    edges.map(move |(from, arch)| RolloutSeries {
        channel: &row.channel,
        arch,
        from,
        to: &row.to,
        ring: row.whose.ring(),
        share: match row.reaching_from.contains(from) {
            true => share,
            false => Share::NONE,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_core::graph::recent_rollouts;
    use towpath_testing_graphs::{day, graph};

    const DATA: &str = "
        arches amd64 arm64
        channel stable
        rule any P2D
        release 4.9.1 day 1
        release 4.9.2 day 10
        edges 4.9.1 -> 4.9.2";

    fn shown(text: &str, loaded: &str, now: &str) -> Vec<String> {
        let rows = recent_rollouts(&graph(text), day(loaded));
        let (series, left_out) = rollout_series(&rows, day(now));
        assert_eq!(left_out, 0);
        let line = |one: &RolloutSeries<'_>| {
            format!(
                "{} {} {} {}{} {}",
                one.channel,
                one.arch,
                one.from,
                one.to,
                one.ring
                    .map_or_else(String::new, |ring| format!(" ring {ring}")),
                one.share
            )
        };
        series.iter().map(line).collect()
    }

    #[test]
    fn a_series_begins_with_its_window_reaches_everybody_and_stays_for_a_week() {
        assert_eq!(shown(DATA, "9", "9"), Vec::<String>::new());
        let both = |share: &str| {
            ["amd64", "arm64"].map(|arch| format!("stable {arch} 4.9.1 4.9.2 {share}"))
        };
        assert_eq!(shown(DATA, "9", "10"), both("0.0 %"));
        assert_eq!(shown(DATA, "9", "11"), both("50.0 %"));
        assert_eq!(shown(DATA, "9", "12"), both("100.0 %"));
        // It makes no difference when the data was loaded.
        assert_eq!(shown(DATA, "18T23", "18T23"), both("100.0 %"));
        assert_eq!(shown(DATA, "9", "19"), Vec::<String>::new());
    }

    #[test]
    fn a_ring_has_a_series_of_its_own() {
        let rings = DATA
            .replace(
                "rule any P2D",
                "ring canaries sector canary\nrule any P2D after P2D\nturn canaries P1D",
            )
            .replace("arches amd64 arm64", "");
        assert_eq!(
            shown(&rings, "9", "10T12"),
            ["stable amd64 4.9.1 4.9.2 ring canaries 50.0 %"]
        );
        assert_eq!(
            shown(&rings, "9", "13"),
            [
                "stable amd64 4.9.1 4.9.2 50.0 %",
                "stable amd64 4.9.1 4.9.2 ring canaries 100.0 %"
            ]
        );
    }

    #[test]
    fn an_edge_that_is_blocked_for_everybody_is_at_zero_for_its_architecture() {
        let blocked = format!("{DATA}\nblock 4.9.2 from .*[+]amd64$");
        for (now, share) in [("11", "50.0 %"), ("13", "100.0 %")] {
            let expected = [
                "amd64 4.9.1 4.9.2 0.0 %".to_owned(),
                format!("arm64 4.9.1 4.9.2 {share}"),
            ];
            assert_eq!(
                shown(&blocked, "9", now),
                expected.map(|rest| format!("stable {rest}"))
            );
        }
    }

    #[test]
    fn what_is_left_out_is_logged_when_it_is_more_than_before() {
        let log = LeftOutLog::default();
        assert_eq!(
            [0, 5, 5, 3, 6].map(|number| log.is_more(number)),
            [false, true, false, false, true]
        );
    }

    #[test]
    fn a_locked_release_is_at_one() {
        let locked = DATA.replace("4.9.2 day 10", "4.9.2 day 10 locked");
        assert_eq!(
            shown(&locked, "11", "11")[0],
            "stable amd64 4.9.1 4.9.2 100.0 %"
        );
    }

    /// 200 sources, 60 targets, two architectures. Those that ended are left out first.
    #[test]
    fn what_is_left_out_is_counted_and_running_ones_stay() {
        let mut text = "arches amd64 arm64\nchannel stable\nrule any P2D\n".to_owned();
        for from in 0..200 {
            text += &format!("release 4.8.{from} day 1\n");
        }
        for to in 0..60 {
            let day = if to < 30 { 10 } else { 12 };
            text += &format!("release 4.9.{to} day {day}\n");
            (0..200).for_each(|from| text += &format!("edges 4.8.{from} -> 4.9.{to}\n"));
        }
        let rows = recent_rollouts(&graph(&text), day("13"));
        let (series, left_out) = rollout_series(&rows, day("13"));
        assert_eq!((series.len(), left_out), (MAX_SERIES, 4_000));
        let running = series.iter().filter(|one| one.share < Share::WHOLE).count();
        assert_eq!(running, 12_000);
    }
}

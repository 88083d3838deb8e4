//! A change as text: a summary first, then each release and edge if asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use jiff::Timestamp;
use towpath_core::change::{
    ChannelDiff, Diff, EdgeChange, EdgeKind, ReleaseChange, ReleaseKind, RiskNames,
    TouchedClusters, When, Whom,
};
use towpath_core::graph::{ChannelName, Share, Window};
use towpath_core::version::{ReleaseName, Version};

use crate::tables::{align_right, shown, table};
use crate::words::{beyond, counted, first_names, joined, minute};

/// More rows than this nobody reads. The rest is counted.
const MAX_ROWS: usize = 200;
/// The most releases that are named. Of more, only the first and the last.
const MAX_NAMED: usize = 4;

/// Whether each release and edge is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Details {
    Shown,
    Left,
}

/// Channels and architectures to which the same happens, releases and edges.
struct Alike<'a> {
    channels: Vec<&'a ChannelName>,
    arches: Vec<&'a str>,
    diff: &'a ChannelDiff,
}

/// Every difference, the clusters it touches, and the unknown releases that were left out.
pub fn text(
    diff: &Diff,
    touched: Option<&BTreeMap<ChannelName, TouchedClusters>>,
    unknown: &BTreeSet<ReleaseName>,
    details: Details,
) -> String {
    let mut text = headline(diff);
    if !diff.is_empty() {
        text += &summary(diff);
        match details {
            Details::Shown => text += &each(diff),
            Details::Left => text += "\n--details shows each release and edge.\n",
        }
    }
    text + &touched.map(clusters).unwrap_or_default() + &left_out(unknown)
}

fn left_out(unknown: &BTreeSet<ReleaseName>) -> String {
    if unknown.is_empty() {
        return String::new();
    }
    format!(
        "\nNewly listed, not among the releases, and so left out: {}. Are the releases up to date?\n",
        first_names(unknown, MAX_NAMED)
    )
}

fn headline(diff: &Diff) -> String {
    let at = minute(diff.at);
    let channels: BTreeSet<&ChannelName> = diff
        .channels
        .iter()
        .map(|channel| &channel.channel)
        .collect();
    match channels.len() {
        0 => format!("Nothing changes for clients, as of {at}.\n"),
        1 => format!("1 channel changes for clients, as of {at}.\n"),
        more => format!("{more} channels change for clients, as of {at}.\n"),
    }
}

/// A column of the summary: what stands above it, and what in it; nothing where nothing is different.
type Column = (&'static str, fn(&ChannelDiff) -> String);

const COLUMNS: [Column; 6] = [
    ("RELEASES", |diff| {
        let number =
            |kind: fn(&ReleaseKind) -> bool| diff.releases.iter().filter(|r| kind(&r.kind)).count();
        let moves = number(|kind| matches!(kind, ReleaseKind::Moves { .. }));
        let moved = if moves == 0 {
            String::new()
        } else {
            format!(" {moves} moved")
        };
        let come = number(|kind| matches!(kind, ReleaseKind::Appears(_)));
        let go = number(|kind| matches!(kind, ReleaseKind::Disappears));
        (plus_minus(come, go) + &moved).trim_start().to_owned()
    }),
    ("EDGES", |diff| {
        plus_minus(
            diff.edges(EdgeKind::Appears),
            diff.edges(EdgeKind::Disappears),
        )
    }),
    ("NOW CONDITIONAL", |diff| {
        number(diff.edges(EdgeKind::BecomesConditional))
    }),
    ("NO LONGER CONDITIONAL", |diff| {
        number(diff.edges(EdgeKind::BecomesUnconditional))
    }),
    ("OTHER RISKS", |diff| {
        number(diff.edges(EdgeKind::ChangesRisks))
    }),
    ("OTHER WINDOW", |diff| number(diff.edges(EdgeKind::Moves))),
];

/// Each channel and architecture in a row; columns in which nothing would stand are left out.
fn summary(diff: &Diff) -> String {
    let columns = COLUMNS.iter().filter(|(_, cell)| {
        diff.channels
            .iter()
            .any(|channel| !cell(channel).is_empty())
    });
    let columns: Vec<&Column> = columns.collect();
    let mut rows = table(
        ["CHANNEL", "ARCH"]
            .into_iter()
            .chain(columns.iter().map(|(head, _)| *head)),
    );
    align_right(&mut rows, 2..2 + columns.len());
    let groups = by_channel(diff);
    for group in groups.iter().take(MAX_ROWS) {
        let cells = columns.iter().map(|(_, cell)| match cell(group.diff) {
            empty if empty.is_empty() => "-".to_owned(),
            cell => cell,
        });
        rows.add_row(
            [group.diff.channel.to_string(), group.arches.join(", ")]
                .into_iter()
                .chain(cells),
        );
    }
    let more = beyond(groups.len(), MAX_ROWS, |more| {
        format!("… and {more} more; --channel chooses among them\n")
    });
    format!("\n{}{more}", shown(&rows))
}

/// Architectures of one channel with the same differences stand together.
fn by_channel(diff: &Diff) -> Vec<Alike<'_>> {
    let mut groups: Vec<Alike<'_>> = Vec::new();
    for channel in &diff.channels {
        let same = |group: &&mut Alike<'_>| {
            group.diff.channel == channel.channel && is_alike(group.diff, channel)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.arches.push(channel.arch.as_str()),
            None => groups.push(Alike {
                channels: vec![&channel.channel],
                arches: vec![channel.arch.as_str()],
                diff: channel,
            }),
        }
    }
    groups
}

fn is_alike(a: &ChannelDiff, b: &ChannelDiff) -> bool {
    a.releases == b.releases && a.edges == b.edges
}

/// Every release and every group of edges, channel by channel; channels with the same differences stand together.
fn each(diff: &Diff) -> String {
    let mut groups: Vec<Alike<'_>> = Vec::new();
    for group in by_channel(diff) {
        let same = |known: &&mut Alike<'_>| {
            known.arches == group.arches && is_alike(known.diff, group.diff)
        };
        match groups.iter_mut().find(same) {
            Some(known) => known.channels.extend(group.channels),
            None => groups.push(group),
        }
    }
    let mut text = String::new();
    for group in groups {
        let names = joined(group.channels, "");
        writeln!(text, "\n{names} ({})", group.arches.join(", ")).expect("fits");
        let releases = group.diff.releases.iter().map(release);
        let lines: Vec<String> = releases
            .chain(group.diff.edges.iter().map(|e| edges(e, diff.at)))
            .collect();
        for line in lines.iter().take(MAX_ROWS) {
            writeln!(text, "  {line}").expect("fits");
        }
        text += &beyond(lines.len(), MAX_ROWS, |more| {
            format!("  … and {more} more; --output json has them all\n")
        });
    }
    text
}

fn release(change: &ReleaseChange) -> String {
    let version = &change.version;
    match &change.kind {
        ReleaseKind::Appears(at) => format!("{version} appears {}", entry(at)),
        ReleaseKind::Disappears => format!("{version} disappears"),
        ReleaseKind::Moves { before, after } => {
            format!(
                "{version} appears {} instead of {}",
                entry(after),
                entry(before)
            )
        }
    }
}

fn entry(when: &When) -> String {
    match when {
        When::Now => "at once".to_owned(),
        When::Over(window) => format!("at {}", minute(window.start)),
    }
}

/// Edges in one line: target, number, what becomes of them, for which clients, when.
fn edges(change: &EdgeChange, now: Timestamp) -> String {
    let is_one = change.from.len() == 1;
    let verb = |one: &'static str, many: &'static str| if is_one { one } else { many };
    let risks = change.risks.added.join(", ");
    let after = change
        .after
        .as_ref()
        .map(|when| from_when(when, now))
        .unwrap_or_default();
    let what = match change.kind {
        EdgeKind::Appears if risks.is_empty() => format!("{} {after}", verb("appears", "appear")),
        EdgeKind::Appears => format!("{} {after}, unless {risks}", verb("appears", "appear")),
        EdgeKind::Disappears => {
            let them = verb("it", "them");
            format!(
                "{}{}",
                verb("disappears", "disappear"),
                not_any_more(change.before, them, now)
            )
        }
        EdgeKind::BecomesConditional => {
            format!("{} conditional: unless {risks}", verb("becomes", "become"))
        }
        EdgeKind::BecomesUnconditional => {
            let were = change.risks.removed.join(", ");
            format!(
                "{} unconditional; before: unless {were}",
                verb("becomes", "become")
            )
        }
        EdgeKind::ChangesRisks => format!(
            "{} other risks: {}",
            verb("has", "have"),
            other_risks(&change.risks)
        ),
        EdgeKind::Moves => {
            let before = change
                .before
                .as_ref()
                .map(|when| from_when(when, now))
                .unwrap_or_default();
            format!("{} {after} instead of {before}", verb("comes", "come"))
        }
    };
    let whom = match &change.whom {
        Whom::Everybody => String::new(),
        some => format!(", {some}"),
    };
    let ring = change.ring.iter().map(|ring| format!(", for {ring}"));
    let ring: String = ring.collect();
    format!(
        "{}: {} ({}) {what}{ring}{whom}",
        change.to,
        counted(change.from.len(), "edge"),
        sources(&change.from)
    )
}

fn other_risks(risks: &RiskNames) -> String {
    let parts = [
        ("now also", &risks.added),
        ("no longer", &risks.removed),
        ("in other words", &risks.reworded),
    ];
    let told = parts.into_iter().filter(|(_, names)| !names.is_empty());
    told.map(|(how, names)| format!("{how} {}", names.join(", ")))
        .collect::<Vec<_>>()
        .join("; ")
}

fn sources(from: &[Version]) -> String {
    match from {
        [first, .., last] if from.len() > MAX_NAMED => format!("from {first} to {last}"),
        few => format!("from {}", joined(few, "")),
    }
}

fn from_when(when: &When, now: Timestamp) -> String {
    match when {
        When::Now => "at once".to_owned(),
        When::Over(Window { start, end, .. }) if start == end => format!("at {}", minute(*start)),
        When::Over(window) => {
            let Window { start, end, ramp } = window;
            let share = match window.share(now) {
                Share::NONE => String::new(),
                share => format!(", {share} by now"),
            };
            format!(
                "from {} to {} ({}{share})",
                minute(*start),
                minute(*end),
                ramp.name()
            )
        }
    }
}

/// What is lost with edges that not everybody has been shown.
fn not_any_more(before: Option<When>, them: &str, now: Timestamp) -> String {
    match before {
        Some(When::Over(window)) => match window.share(now) {
            Share::NONE => format!(", before anybody was shown {them}"),
            share => format!(", after {share} of the fleet has been shown {them}"),
        },
        Some(When::Now) | None => String::new(),
    }
}

/// How many clusters are offered something else now, by channel.
fn clusters(touched: &BTreeMap<ChannelName, TouchedClusters>) -> String {
    let sum = |number: fn(&TouchedClusters) -> usize| touched.values().map(number).sum::<usize>();
    let (all, concerned) = (sum(|t| t.clusters), sum(|t| t.touched));
    let verb = if concerned == 1 { "is" } else { "are" };
    let mut text = format!(
        "\n{concerned} of {} {verb} offered something else now.\n",
        counted(all, "cluster")
    );
    if concerned > 0 {
        let mut rows = table(["CHANNEL", "CLUSTERS", "TOUCHED", "GAIN", "LOSE"]);
        align_right(&mut rows, 1..5);
        let mut named: Vec<_> = touched
            .iter()
            .filter(|(_, count)| count.touched > 0)
            .collect();
        named.sort_by(|(a, _), (b, _)| a.display_order().cmp(&b.display_order()));
        for (channel, count) in named.into_iter().take(MAX_ROWS) {
            let numbers = [count.clusters, count.touched, count.gain, count.lose]
                .map(|number| number.to_string());
            rows.add_row([channel.to_string()].into_iter().chain(numbers));
        }
        text += &format!("\n{}", shown(&rows));
    }
    text
}

fn plus_minus(plus: usize, minus: usize) -> String {
    match (plus, minus) {
        (0, 0) => String::new(),
        (plus, 0) => format!("+{plus}"),
        (0, minus) => format!("-{minus}"),
        (plus, minus) => format!("+{plus} -{minus}"),
    }
}

fn number(number: usize) -> String {
    if number == 0 {
        String::new()
    } else {
        number.to_string()
    }
}

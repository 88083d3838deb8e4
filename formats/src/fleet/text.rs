//! Answers about the fleet as text: tables that fit a terminal, and sentences.

mod plan;
mod why;

pub use plan::{Expectations, plan};
pub use why::why;

use std::collections::BTreeMap;
use std::fmt::Display;

use comfy_table::presets::ASCII_MARKDOWN;
use towpath_core::finding::{Finding, escaped};
use towpath_core::fleet::{
    AskedPreflights, COVERAGE_CODES, FleetPolicy, HistoryRow, Name, Preflight, RuleId, StatusRow,
    Upgrade,
};
use towpath_core::graph::ChannelName;
use towpath_core::simulate::{Forecast, IdleCluster, Outlook};
use towpath_core::verdict::{Days, Reason, Verdict};
use towpath_core::version::Version;

use crate::findings::one_a_line;
use crate::fleet::cluster_list::{CHANNEL_NOT_FOLLOWED, LIST_IS_GONE, NOT_TOLD};
use crate::fleet::log::{DecisionRow, Replay};
use crate::room::Room;
use crate::tables::{align_right, fitted, shown, table};
use crate::verdict::line;
use crate::words::{beyond, counted, first_names, joined, minute};

/// More rows than this nobody reads. The rest is counted.
const MAX_ROWS: usize = 50;
/// The most starts of one decision that are named.
const MAX_STARTS: usize = 5;
/// The most findings that are shown beside an answer.
const MAX_WARNINGS: usize = 10;
/// The most clusters of a version that are named. JSON names all.
const MAX_NAMES: usize = 6;

const STARTS: [&str; 6] = ["STARTS", "CLUSTER", "ORGANISATION", "SECTOR", "FROM", "TO"];

/// A table of the first rows, and how many more there are.
pub(super) fn first_rows<const N: usize>(
    head: [&str; N],
    rows: impl ExactSizeIterator<Item = [String; N]>,
    room: Room,
) -> String {
    let limit = room.rows.unwrap_or(MAX_ROWS);
    let more = beyond(rows.len(), limit, |more| {
        format!(
            "… and {more} more; --limit shows them, --org, --sector and --held-by choose among them\n"
        )
    });
    let mut table = fitted(head, room.width);
    table.add_rows(rows.take(limit));
    shown(&table) + &more
}

/// How many clusters each rule holds, the most first.
pub fn holds(counts: &BTreeMap<RuleId, u64>) -> String {
    let mut counts: Vec<(&str, u64)> = counts
        .iter()
        .map(|(rule, count)| (rule.name(), *count))
        .collect();
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    if counts.is_empty() {
        return "No cluster is held.\n".to_owned();
    }
    let mut rows = table(["HELD BY", "CLUSTERS"]);
    for (name, count) in counts {
        rows.add_row([name.to_owned(), count.to_string()]);
    }
    align_right(&mut rows, [1]);
    shown(&rows)
}

/// The newest decisions of the log, so that one can pick one.
pub fn decisions(rows: &[DecisionRow], room: Room) -> String {
    let row = |row: &DecisionRow| {
        let held = row.held.iter();
        [
            row.seq.to_string(),
            minute(row.at),
            match row.starts.is_empty() {
                true => "-".to_owned(),
                false => first_names(&row.starts, MAX_STARTS),
            },
            joined(
                held.map(|(rule, count)| format!("{} {count}", rule.name())),
                "-",
            ),
            match row.replay {
                Replay::Same | Replay::SameButWords => "identical",
                Replay::Different => "different",
            }
            .to_owned(),
        ]
    };
    let mut table = fitted(
        ["DECISION", "AT", "STARTED", "HELD", "REPEATED"],
        room.width,
    );
    table.add_rows(rows.iter().map(row));
    shown(&table)
}

/// The status as a table.
pub fn status(rows: &[StatusRow], room: Room) -> String {
    let head = [
        "ORGANISATION",
        "SECTOR",
        "WORKLOAD",
        "RUNS",
        "SOAKING",
        "UNDER WAY",
        "NEXT",
        "HELD BY",
    ];
    let row = |row: &StatusRow| {
        let versions = row
            .versions
            .iter()
            .rev()
            .map(|(version, count)| format!("{count} × {version}"));
        let soaking = row.soaking.iter().rev().take(4);
        let soaking = soaking
            .map(|(version, (have, need))| format!("{version} {}/{} d", Days(*have), Days(*need)));
        let under_way = row
            .under_way
            .iter()
            .take(5)
            .map(|(_, cluster, to, state)| format!("{cluster} → {to} {}", state.code()));
        let next = row.next.as_ref().map(|next| {
            let sure = if next.starts { "" } else { "about " };
            format!("{} → {} {sure}{}", next.cluster, next.to, minute(next.at))
        });
        let held = row
            .held
            .iter()
            .map(|(code, count)| format!("{} {count}", code.name()));
        [
            row.organisation.to_string(),
            optional(row.sector.as_ref()),
            row.workload.to_string(),
            joined(versions, "-"),
            joined(soaking, "-"),
            joined(under_way, "-"),
            next.unwrap_or_else(|| "-".to_owned()),
            joined(held, "-"),
        ]
    };
    first_rows(head, rows.iter().map(row), room)
}

/// The version history as a table for a terminal.
pub fn history(rows: &[HistoryRow], width: Option<u16>) -> String {
    let mut text = fitted(HISTORY, width);
    text.add_rows(rows.iter().map(history_row));
    shown(&text)
}

/// The version history as a table for a document.
pub fn history_markdown(rows: &[HistoryRow]) -> String {
    let mut text = table(HISTORY);
    text.load_style(ASCII_MARKDOWN);
    text.add_rows(rows.iter().map(history_row));
    shown(&text)
}

const HISTORY: [&str; 5] = [
    "ORGANISATION",
    "VERSION",
    "WORKLOAD",
    "SOAK DAYS",
    "CLUSTERS",
];

fn history_row(row: &HistoryRow) -> [String; 5] {
    let clusters = match row.clusters.len() {
        0 => "-".to_owned(),
        _ => first_names(&row.clusters, MAX_NAMES),
    };
    [
        row.organisation.to_string(),
        row.version.to_string(),
        row.workload.to_string(),
        Days(row.seconds).to_string(),
        clusters,
    ]
}

/// What will start, if nothing fails; and who starts nothing, and why.
pub fn forecast(outlook: &Outlook, days: u32, room: Room) -> String {
    let within = counted(days as usize, "day");
    let row = |one: &Forecast| {
        [
            minute(one.at),
            with_pool(&one.cluster, one.pool.as_ref()),
            one.organisation.to_string(),
            optional(one.sector.as_ref()),
            one.from.to_string(),
            over_channel(&one.to, one.channel.as_ref()),
        ]
    };
    let mut text = match outlook.starts.is_empty() {
        true => format!("Nothing will start within {within}.\n"),
        false => first_rows(STARTS, outlook.starts.iter().map(row), room),
    };
    if !outlook.idle.is_empty() {
        let idle = |one: &IdleCluster| {
            [
                one.name.to_string(),
                one.organisation.to_string(),
                one.version.to_string(),
                one.to
                    .as_ref()
                    .map_or_else(|| "-".to_owned(), ToString::to_string),
                sentences(&one.verdict).join("; "),
            ]
        };
        let count = outlook.idle.len();
        let start = if count == 1 { "does" } else { "do" };
        let head = ["CLUSTER", "ORGANISATION", "FROM", "TO", "WHY"];
        text += &format!(
            "\n{} {start} not start within {within}:\n\n{}",
            counted(count, "cluster"),
            first_rows(head, outlook.idle.iter().map(idle), room)
        );
    }
    text
}

/// Whom a preflight was asked of.
pub fn preflights_asked(version: &Version, asked: &AskedPreflights, at_once: u32) -> String {
    let mut told = format!(
        "Asked {} for a preflight of {version}, at most {at_once} at once. Their agents run it inside their windows.\n`towpath fleet preflight` lists what became of it.\n",
        counted(asked.preflights.len(), "cluster")
    );
    if !asked.unsupported.is_empty() {
        told += &format!(
            "Without preflights, as they said when they were last asked: {}\n",
            first_names(&asked.unsupported, MAX_ROWS)
        );
    }
    if !asked.not_offered.is_empty() {
        told += &format!(
            "Not asked, because {version} is not offered to them: {}\n",
            first_names(&asked.not_offered, MAX_ROWS)
        );
    }
    told
}

/// Preflights, each with the cluster's name if it is known.
pub fn preflights<'a>(
    preflights: impl IntoIterator<Item = (&'a Preflight, Option<&'a Name>)>,
    width: Option<u16>,
) -> String {
    let mut rows = fitted(
        ["CLUSTER", "VERSION", "FROM", "STATE", "AT", "RISKS", "WHY"],
        width,
    );
    for (preflight, name) in preflights {
        let name = name.map_or(preflight.cluster.as_str(), |name| name);
        rows.add_row([
            name.to_owned(),
            preflight.version.to_string(),
            preflight.from.to_string(),
            preflight.state.code().to_owned(),
            minute(preflight.at),
            joined(&preflight.risks, "-"),
            preflight.why.to_string(),
        ]);
    }
    shown(&rows)
}

/// Upgrades, one a row.
pub fn upgrades<'a>(
    upgrades: impl IntoIterator<Item = (&'a Upgrade, Option<&'a Name>)>,
    width: Option<u16>,
) -> String {
    let mut rows = fitted(
        [
            "ID", "CLUSTER", "FROM", "TO", "STATE", "STARTS", "CHANGED", "NOTE",
        ],
        width,
    );
    for (upgrade, name) in upgrades {
        let name = name.map_or(upgrade.cluster.as_str(), |name| name);
        rows.add_row([
            upgrade.id.0.to_string(),
            with_pool(name, upgrade.pool.as_ref()),
            upgrade.from.to_string(),
            over_channel(&upgrade.to, upgrade.channel.as_ref()),
            upgrade.state.code().to_owned(),
            minute(upgrade.start_at),
            minute(upgrade.changed_at),
            optional(upgrade.note.as_ref()),
        ]);
    }
    shown(&rows)
}

/// A version, and the channel that the cluster is switched to for it.
fn over_channel(to: impl Display, channel: Option<&ChannelName>) -> String {
    match channel {
        Some(channel) => format!("{to} over {channel}"),
        None => to.to_string(),
    }
}

/// What is wrong with a policy, and how much was looked at.
pub fn lint(policy: &FleetPolicy, findings: &[Finding]) -> String {
    let organisations = policy.organisations.values();
    let clusters = organisations.clone().map(|one| one.clusters.len()).sum();
    let errors = findings.iter().filter(|one| one.is_error()).count();
    format!(
        "{}{}, {}: {}, {}\n",
        one_a_line(findings),
        counted(organisations.len(), "organisation"),
        counted(clusters, "cluster"),
        counted(errors, "error"),
        counted(findings.len() - errors, "warning")
    )
}

/// The notes beside an answer: mistakes in the files, clusters without a policy, and what a list does not tell.
pub fn warnings(findings: &[Finding]) -> String {
    let others = [
        NOT_TOLD,
        LIST_IS_GONE,
        CHANNEL_NOT_FOLLOWED,
        "unknown-field",
    ];
    let is_told = |code: &str| COVERAGE_CODES.contains(&code) || others.contains(&code);
    let counts = |finding: &&Finding| finding.is_error() || is_told(finding.code);
    let all: Vec<Finding> = findings.iter().filter(counts).cloned().collect();
    let more = beyond(all.len(), MAX_WARNINGS, |more| {
        format!("… and {more} more; `towpath fleet lint` shows them\n")
    });
    one_a_line(&all[..all.len().min(MAX_WARNINGS)]) + &more
}

fn sentences(verdict: &Verdict) -> Vec<String> {
    verdict.reasons.iter().map(line).collect()
}

/// What helps against each of these reasons, each once.
fn helps<'a>(reasons: impl Iterator<Item = &'a Reason>) -> String {
    let helps: BTreeMap<&str, String> = reasons
        .map(|reason| (reason.code().name, reason.help()))
        .collect();
    let width = helps.keys().map(|code| code.len()).max().unwrap_or(0);
    let line = |(code, help): (&str, String)| format!("  {code:width$}  {}\n", escaped(&help));
    match helps.is_empty() {
        true => String::new(),
        false => format!(
            "\nWhat helps:\n{}",
            helps.into_iter().map(line).collect::<String>()
        ),
    }
}

fn with_pool(cluster: &str, pool: Option<&Name>) -> String {
    pool.map_or_else(|| cluster.to_owned(), |pool| format!("{cluster}/{pool}"))
}

pub(super) fn optional(name: Option<&Name>) -> String {
    name.map_or_else(|| "-".to_owned(), ToString::to_string)
}

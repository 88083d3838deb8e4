//! Answers about the fleet as text: tables that fit a terminal, and sentences.

mod why;

pub use why::why;

use std::collections::BTreeMap;
use std::fmt::Write;

use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;
use towpath_core::finding::{Finding, escaped};
use towpath_core::fleet::{
    COVERAGE_CODES, ClusterRow, FleetPlan, FleetPlanner, FleetPolicy, HistoryRow, Name, Start,
    StatusRow, Upgrade,
};
use towpath_core::graph::ChannelName;
use towpath_core::simulate::Forecast;
use towpath_core::verdict::{Answer, Days, Reason, Verdict};
use towpath_core::version::Version;

use crate::findings::one_a_line;
use crate::fleet::cluster_list::{CHANNEL_NOT_FOLLOWED, LIST_IS_GONE, NOT_TOLD};
use crate::tables::{Room, fitted, shown, table};
use crate::verdict::line;
use crate::words::{beyond, counted, joined, minute};

/// More rows than this nobody reads. The rest is counted.
const MAX_ROWS: usize = 50;
/// The most findings that are shown beside an answer.
const MAX_WARNINGS: usize = 10;

/// What would start now, and why others wait.
pub fn plan(desk: &FleetPlanner, plan: &FleetPlan<'_>, room: Room) -> String {
    let mut text = match plan.starts.len() {
        0 if desk.roster().is_empty() => {
            "Nothing starts now: no policy is about any cluster that is known.\n".to_owned()
        }
        0 => "Nothing starts now.\n".to_owned(),
        1 => "1 upgrade starts now:\n\n".to_owned(),
        more => format!("{more} upgrades start now:\n\n"),
    };
    if !plan.starts.is_empty() {
        let row = |start: &&Start| {
            [
                minute(start.at),
                with_pool(&start.name, start.pool()),
                start.organisation.to_string(),
                optional(start.sector.as_ref()),
                start.from.to_string(),
                over_channel(&start.to, start.channel.as_ref()),
            ]
        };
        text += &first_rows(STARTS, plan.starts.iter().map(row), room);
    }
    for cancel in &plan.decision.cancels {
        writeln!(
            text,
            "upgrade {} would be cancelled: {}",
            cancel.upgrade.0,
            sentences(&cancel.verdict).join("; ")
        )
        .expect("fits");
    }
    for overdue in &plan.decision.overdue {
        writeln!(
            text,
            "upgrade {} is overdue: under way since {}",
            overdue.upgrade.0,
            minute(overdue.since)
        )
        .expect("fits");
    }
    text + &waits(desk, plan, room)
}

const STARTS: [&str; 6] = ["STARTS", "CLUSTER", "ORGANISATION", "SECTOR", "FROM", "TO"];

fn waits(desk: &FleetPlanner, plan: &FleetPlan<'_>, room: Room) -> String {
    let waiting = &plan.waiting;
    if waiting.is_empty() {
        return String::new();
    }
    let wait = if waiting.len() == 1 { "waits" } else { "wait" };
    let rows = waiting.iter().map(|(member, best)| {
        let state = desk.roster().cluster(*member);
        [
            state.name.to_string(),
            state.version.to_string(),
            over_channel(&best.to, best.channel.as_ref()),
            expected(&best.verdict),
            sentences(&best.verdict).join("; "),
        ]
    });
    let told = waiting.iter().take(room.rows.unwrap_or(MAX_ROWS));
    format!(
        "\n{} could go further, and {wait}:\n\n{}{}",
        counted(waiting.len(), "cluster"),
        first_rows(["CLUSTER", "FROM", "TO", "EXPECTED", "WHY"], rows, room),
        helps(told.flat_map(|(_, best)| &best.verdict.reasons))
    )
}

/// A table of the first rows, and how many more there are.
fn first_rows<const N: usize>(
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
            .map(|(cluster, to, state)| format!("{cluster} → {to} {}", state.code()));
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

/// Each cluster with its policy.
pub fn clusters(rows: &[ClusterRow], room: Room) -> String {
    let head = [
        "CLUSTER",
        "ORGANISATION",
        "VERSION",
        "CHANNEL",
        "SCHEDULE",
        "SECTOR",
        "MUTEXES",
        "SOAK DAYS",
        "WORKLOADS",
        "SOAKING",
    ];
    let row = |row: &ClusterRow| {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        [
            row.name.to_string(),
            row.organisation.to_string(),
            row.version.to_string(),
            or_dash(row.channel.as_ref().map(ToString::to_string)),
            or_dash(row.schedule.clone()),
            optional(row.sector.as_ref()),
            joined(&row.mutexes, "-"),
            or_dash(row.soak_days.map(|days| days.to_string())),
            joined(&row.workloads, "-"),
            joined(row.soaking.iter().rev().map(ToString::to_string), "-"),
        ]
    };
    if rows.is_empty() {
        return "No cluster has a policy and is meant by the filters.\n".to_owned();
    }
    first_rows(head, rows.iter().map(row), room)
}

/// The version history as a table for a terminal.
pub fn history(rows: &[HistoryRow], width: Option<u16>) -> String {
    history_table(fitted(HISTORY, width), rows)
}

/// The version history as a table for a document.
pub fn history_markdown(rows: &[HistoryRow]) -> String {
    let mut text = table(HISTORY);
    text.load_style(ASCII_MARKDOWN);
    history_table(text, rows)
}

const HISTORY: [&str; 5] = [
    "ORGANISATION",
    "VERSION",
    "WORKLOAD",
    "SOAK DAYS",
    "CLUSTERS",
];

fn history_table(mut text: Table, rows: &[HistoryRow]) -> String {
    for row in rows {
        text.add_row([
            row.organisation.to_string(),
            row.version.to_string(),
            row.workload.to_string(),
            Days(row.seconds).to_string(),
            joined(&row.clusters, "-"),
        ]);
    }
    shown(&text)
}

/// What will start, if nothing fails.
pub fn forecast(forecasts: &[Forecast], days: u32, room: Room) -> String {
    if forecasts.is_empty() {
        return format!(
            "Nothing will start within {}.\n",
            counted(days as usize, "day")
        );
    }
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
    first_rows(STARTS, forecasts.iter().map(row), room)
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
fn over_channel(to: &Version, channel: Option<&ChannelName>) -> String {
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

fn expected(verdict: &Verdict) -> String {
    match verdict.answer {
        Answer::Wait { until: Some(until) } => minute(until),
        Answer::Refuse => "never".to_owned(),
        _ => "-".to_owned(),
    }
}

fn with_pool(cluster: &str, pool: Option<&Name>) -> String {
    pool.map_or_else(|| cluster.to_owned(), |pool| format!("{cluster}/{pool}"))
}

fn optional(name: Option<&Name>) -> String {
    name.map_or_else(|| "-".to_owned(), ToString::to_string)
}

//! Answers about the fleet for people: tables that fit a terminal, and sentences.

use std::collections::BTreeMap;
use std::fmt::Write;

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{ContentArrangement, Table};
use towpath_core::finding::{Finding, escaped};
use towpath_core::fleet::RuleId;
use towpath_core::fleet::{AgentUpdate, ClusterIdx, Name, Upgrade};
use towpath_core::fleet::{CandidateWhy, Decision, FleetPlanner, HistoryRow, StatusRow};
use towpath_core::simulate::Forecast;
use towpath_core::verdict::{Answer, Days, Reason, Verdict};
use towpath_formats::verdict::line;
use towpath_web::Filter;

use super::answers;
use crate::words::{count, minute, shown};

/// So many rows that nobody reads all of them; the rest is counted.
const MAX_ROWS: usize = 50;
/// So many of a cluster's last updates are told of.
const MAX_AGENT_UPDATES: usize = 5;

/// A table without lines: columns that a person can read and `awk` can cut.
fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(head);
    table
}

/// What would start now, and why others wait.
pub(crate) fn plan(desk: &FleetPlanner, decision: &Decision, filter: &Filter) -> String {
    let mut text = String::new();
    let starts = answers::starts(desk, decision, filter);
    match starts.len() {
        0 => text.push_str("Nothing starts now.\n"),
        1 => text.push_str("1 upgrade starts now:\n\n"),
        more => writeln!(text, "{more} upgrades start now:\n").expect("a string takes everything"),
    }
    if !starts.is_empty() {
        let mut rows = table(&["STARTS", "CLUSTER", "ORGANISATION", "SECTOR", "FROM", "TO"]);
        for start in starts.iter().take(filter.limit.unwrap_or(MAX_ROWS)) {
            let name = start.pool().map_or_else(
                || start.name.to_string(),
                |pool| format!("{}/{pool}", start.name),
            );
            rows.add_row([
                minute(start.at),
                name,
                start.organisation.to_string(),
                optional(start.sector.as_ref()),
                start.from.to_string(),
                start.to.to_string(),
            ]);
        }
        text.push_str(&shown(&rows));
        more(&mut text, starts.len(), filter);
    }
    for cancel in &decision.cancels {
        writeln!(
            text,
            "upgrade {} is called off: {}",
            cancel.upgrade.0,
            sentences(&cancel.verdict).join("; ")
        )
        .expect("fits");
    }
    for overdue in &decision.overdue {
        writeln!(
            text,
            "upgrade {} is overdue: under way since {}",
            overdue.upgrade.0,
            minute(overdue.since)
        )
        .expect("fits");
    }
    text + &waits(desk, decision, filter)
}

fn waits(desk: &FleetPlanner, decision: &Decision, filter: &Filter) -> String {
    let waiting = answers::waiting(desk, decision, filter);
    if waiting.is_empty() {
        return String::new();
    }
    let wait = if waiting.len() == 1 { "waits" } else { "wait" };
    let mut text = format!(
        "\n{} could go further, and {wait}:\n\n",
        count(waiting.len(), "cluster")
    );
    let mut rows = table(&["CLUSTER", "FROM", "TO", "EXPECTED", "WHY"]);
    for (member, best) in waiting.iter().take(filter.limit.unwrap_or(MAX_ROWS)) {
        let state = desk.roster().cluster(*member);
        rows.add_row([
            state.name.to_string(),
            state.version.to_string(),
            best.to.to_string(),
            expected(&best.verdict),
            sentences(&best.verdict).join("; "),
        ]);
    }
    text.push_str(&shown(&rows));
    more(&mut text, waiting.len(), filter);
    let told = waiting.iter().take(filter.limit.unwrap_or(MAX_ROWS));
    text + &helps(told.flat_map(|(_, best)| &best.verdict.reasons))
}

fn more(text: &mut String, rows: usize, filter: &Filter) {
    let limit = filter.limit.unwrap_or(MAX_ROWS);
    if rows > limit {
        writeln!(
            text,
            "… and {} more; --limit shows them, --org, --sector and --held-by choose among them",
            rows - limit
        )
        .expect("a string takes everything");
    }
}

/// Why a cluster does, or does not, go where it could.
pub(crate) fn why(
    desk: &FleetPlanner,
    decision: &Decision,
    member: ClusterIdx,
    candidates: &[CandidateWhy],
    cluster: &Verdict,
) -> String {
    let (state, policy) = (desk.roster().cluster(member), desk.roster().policy(member));
    let sector = policy
        .sector
        .as_ref()
        .map_or_else(String::new, |sector| format!(", sector {sector}"));
    let workloads: Vec<&str> = policy.workloads.iter().map(|name| &**name).collect();
    let mut text = format!(
        "{} ({}{sector}) runs {} with {}\n",
        state.name,
        state.organisation,
        state.version,
        if workloads.is_empty() {
            "no workload".to_owned()
        } else {
            workloads.join(", ")
        },
    );
    let start = decision
        .starts
        .iter()
        .find(|start| start.cluster == state.id);
    match (start, cluster.is_offered()) {
        (Some(start), _) => {
            let what = start
                .pool()
                .map_or_else(String::new, |pool| format!("node pool {pool} "));
            writeln!(
                text,
                "  starts {what}to {} at {}",
                start.to,
                minute(start.at)
            )
            .expect("fits");
        }
        (None, true) => {}
        (None, false) => {
            writeln!(text, "  nothing starts on it now:").expect("fits");
            for sentence in sentences(cluster) {
                writeln!(text, "    {sentence}").expect("fits");
            }
        }
    }
    if candidates.is_empty() {
        text.push_str("  there is no newer version for it\n");
        return text;
    }
    let width = candidates
        .iter()
        .map(|candidate| candidate.to.to_string().len())
        .max()
        .unwrap_or(0);
    text.push('\n');
    for candidate in candidates {
        let is_start =
            start.is_some_and(|start| start.pool().is_none() && start.to == candidate.to);
        let answer = match (&candidate.own.answer, is_start) {
            (_, true) => "starts",
            (answer, false) => answer.word(),
        };
        let mut told = sentences(&candidate.own);
        if let Answer::Wait { until: Some(until) } = candidate.own.answer {
            told.push(format!("expected {}", minute(until)));
        }
        let mut told = told.into_iter();
        let first = told
            .next()
            .unwrap_or_else(|| free(answer, start.is_some(), cluster).to_owned());
        writeln!(
            text,
            "  {:width$}  {answer:6}  {first}",
            candidate.to.to_string()
        )
        .expect("fits");
        for sentence in told {
            writeln!(text, "  {:width$}          {sentence}", "").expect("fits");
        }
    }
    let own = candidates
        .iter()
        .flat_map(|candidate| &candidate.own.reasons);
    text + &helps(cluster.reasons.iter().chain(own))
}

/// What became of a cluster's last updates, in its agent's words; nothing if it has told of none.
pub(crate) fn agent_updates(updates: &[AgentUpdate]) -> String {
    let mut text = String::new();
    let shown = &updates[..updates.len().min(MAX_AGENT_UPDATES)];
    let width = shown
        .iter()
        .map(|update| update.to.to_string().len())
        .max()
        .unwrap_or(0);
    for update in shown {
        if text.is_empty() {
            text.push_str("\n  its last updates, as its agent tells:\n");
        }
        let took = update
            .took
            .map_or_else(String::new, |took| format!(", {} min", took.as_mins()));
        let by = if update.is_automatic {
            ", by the agent"
        } else {
            ""
        };
        let why = if update.why.is_empty() {
            String::new()
        } else {
            format!(": {}", update.why)
        };
        let (to, outcome, began) = (
            update.to.to_string(),
            update.outcome.code(),
            minute(update.started_at),
        );
        writeln!(
            text,
            "  {to:width$}  {outcome:9}  began {began}{took}{by}{why}"
        )
        .expect("fits");
    }
    text
}

/// What is said about a version that nothing is held against.
fn free(answer: &str, starts: bool, cluster: &Verdict) -> &'static str {
    match (answer, starts, cluster.is_offered()) {
        ("starts", _, _) => "nothing stands in its way",
        (_, true, _) => "nothing stands in its way, and a higher version is taken",
        (_, false, false) => "nothing stands in its way but what is said above",
        (_, false, true) => "nothing stands in its way",
    }
}

/// The status as a table.
pub(crate) fn status(rows: &[StatusRow], filter: &Filter) -> String {
    let mut text = table(&[
        "ORGANISATION",
        "SECTOR",
        "WORKLOAD",
        "RUNS",
        "SOAKING",
        "UNDER WAY",
        "NEXT",
        "HELD BY",
    ]);
    for row in rows.iter().take(filter.limit.unwrap_or(MAX_ROWS)) {
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
        text.add_row([
            row.organisation.to_string(),
            optional(row.sector.as_ref()),
            row.workload.to_string(),
            joined(versions),
            joined(soaking),
            joined(under_way),
            next.unwrap_or_else(|| "-".to_owned()),
            joined(held),
        ]);
    }
    let mut text = shown(&text);
    more(&mut text, rows.len(), filter);
    text
}

/// The version history as a table, for a terminal or as markdown.
pub(crate) fn history(rows: &[HistoryRow], markdown: bool) -> String {
    let mut text = table(&[
        "ORGANISATION",
        "VERSION",
        "WORKLOAD",
        "SOAK DAYS",
        "CLUSTERS",
    ]);
    if markdown {
        text.load_style(ASCII_MARKDOWN)
            .set_content_arrangement(ContentArrangement::Disabled);
    }
    for row in rows {
        let clusters: Vec<&str> = row.clusters.iter().map(|name| &**name).collect();
        let clusters = if clusters.is_empty() {
            "-".to_owned()
        } else {
            clusters.join(", ")
        };
        text.add_row([
            row.organisation.to_string(),
            row.version.to_string(),
            row.workload.to_string(),
            Days(row.seconds).to_string(),
            clusters,
        ]);
    }
    shown(&text)
}

/// What will start, if nothing fails.
pub(crate) fn forecast(forecasts: &[Forecast], days: u32, filter: &Filter) -> String {
    if forecasts.is_empty() {
        return format!(
            "Nothing will start within {}.\n",
            count(days as usize, "day")
        );
    }
    let mut rows = table(&["STARTS", "CLUSTER", "ORGANISATION", "SECTOR", "FROM", "TO"]);
    for one in forecasts.iter().take(filter.limit.unwrap_or(MAX_ROWS)) {
        let name = one.pool.as_ref().map_or_else(
            || one.cluster.to_string(),
            |pool| format!("{}/{pool}", one.cluster),
        );
        rows.add_row([
            minute(one.at),
            name,
            one.organisation.to_string(),
            optional(one.sector.as_ref()),
            one.from.to_string(),
            one.to.to_string(),
        ]);
    }
    let mut text = shown(&rows);
    more(&mut text, forecasts.len(), filter);
    text
}

/// Upgrades, one a row.
pub(crate) fn upgrades<'a>(
    upgrades: impl IntoIterator<Item = (&'a Upgrade, Option<&'a Name>)>,
) -> String {
    let mut rows = table(&[
        "ID", "CLUSTER", "FROM", "TO", "STATE", "STARTS", "CHANGED", "NOTE",
    ]);
    for (upgrade, name) in upgrades {
        let name = name.map_or_else(|| upgrade.cluster.as_str().to_owned(), ToString::to_string);
        let name = upgrade
            .pool
            .as_ref()
            .map_or_else(|| name.clone(), |pool| format!("{name}/{pool}"));
        rows.add_row([
            upgrade.id.0.to_string(),
            name,
            upgrade.from.to_string(),
            upgrade.to.to_string(),
            upgrade.state.code().to_owned(),
            minute(upgrade.start_at),
            minute(upgrade.changed_at),
            optional(upgrade.note.as_ref()),
        ]);
    }
    shown(&rows)
}

/// Findings, one a line.
pub(crate) fn findings(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let severity = if finding.is_error() {
            "error"
        } else {
            "warning"
        };
        let (problem, remedy) = (escaped(&finding.problem), escaped(&finding.remedy));
        format!(
            "{}: {severity}: {problem}; {remedy} [{}]\n",
            finding.place, finding.code
        )
    };
    findings.iter().map(line).collect()
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

fn optional(name: Option<&Name>) -> String {
    name.map_or_else(|| "-".to_owned(), ToString::to_string)
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        "-".to_owned()
    } else {
        parts.join(", ")
    }
}

/// The rules that can be filtered by.
pub(crate) fn rule_names() -> String {
    RuleId::all()
        .map(RuleId::name)
        .collect::<Vec<_>>()
        .join(", ")
}

//! The plan as text: what starts and when, what is planned or runs already, who waits for what, and how many each rule holds.

use jiff::Timestamp;
use towpath_core::fleet::{ActiveUpgrade, CandidateWhy, FleetPlan, FleetPlanner, Start};
use towpath_core::simulate::Outlook;
use towpath_core::verdict::Answer;

use super::{
    MAX_ROWS, STARTS, first_rows, helps, holds, optional, over_channel, sentences, with_pool,
};
use crate::room::Room;
use crate::words::{counted, minute};

/// What will start, for those whose time no rule can tell.
#[derive(Clone, Copy)]
pub struct Expectations<'a> {
    pub outlook: &'a Outlook,
    /// How far it looks.
    pub days: u32,
}

/// What starts, what is on its way, and why others wait.
pub fn plan(
    desk: &FleetPlanner,
    plan: &FleetPlan<'_>,
    expected: Option<Expectations<'_>>,
    room: Room,
) -> String {
    let now = plan.decision.at;
    let (begin, planned): (Vec<ActiveUpgrade<'_>>, Vec<_>) = plan
        .planned
        .iter()
        .partition(|one| plan.decision.begins.contains(&one.upgrade.id));
    let mut parts = Vec::new();
    if begin.is_empty() && plan.starts.is_empty() {
        parts.push(match desk.roster().is_empty() {
            true => {
                "Nothing starts now: no policy is about any cluster that is known.\n".to_owned()
            }
            false => "Nothing starts now.\n".to_owned(),
        });
    }
    parts.extend(active(desk, &begin, room, |count| {
        format!("{} now:", starting(count))
    }));
    if !plan.starts.is_empty() {
        let heading = format!("{}{}", starting(plan.starts.len()), soon(&plan.starts, now));
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
        let table = first_rows(STARTS, plan.starts.iter().map(row), room);
        parts.push(format!("{heading}\n\n{table}"));
    }
    parts.extend(active(desk, &planned, room, |count| {
        let are = if count == 1 { "is" } else { "are" };
        format!("{} {are} planned already:", counted(count, "upgrade"))
    }));
    parts.extend(active(desk, &plan.under_way, room, |count| {
        let run = if count == 1 { "runs" } else { "run" };
        format!("{} {run}:", counted(count, "upgrade"))
    }));
    parts.push(troubles(plan));
    parts.push(waits(desk, plan, expected, room));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// Plans that would be cancelled, and upgrades that take too long, one a line.
fn troubles(plan: &FleetPlan<'_>) -> String {
    let cancels = plan.decision.cancels.iter().map(|cancel| {
        let why = sentences(&cancel.verdict).join("; ");
        format!("upgrade {} would be cancelled: {why}\n", cancel.upgrade.0)
    });
    let overdue = plan.decision.overdue.iter().map(|overdue| {
        let since = minute(overdue.since);
        format!(
            "upgrade {} is overdue: under way since {since}\n",
            overdue.upgrade.0
        )
    });
    cancels.chain(overdue).collect()
}

fn starting(count: usize) -> String {
    let start = if count == 1 { "starts" } else { "start" };
    format!("{} {start}", counted(count, "upgrade"))
}

/// In how many minutes the first and the last of them start.
fn soon(starts: &[&Start], now: Timestamp) -> String {
    let minutes = |at: Timestamp| {
        let seconds = now.duration_until(at).as_secs().max(0);
        (seconds + 59) / 60
    };
    let times = || starts.iter().map(|start| minutes(start.at));
    match (times().min(), times().max()) {
        (Some(first), Some(last)) if first == last => format!(" in {first} min:"),
        (Some(first), Some(last)) => format!(" in {first} to {last} min:"),
        _ => ":".to_owned(),
    }
}

/// Upgrades that are planned or run; nothing if there are none.
fn active(
    desk: &FleetPlanner,
    upgrades: &[ActiveUpgrade<'_>],
    room: Room,
    heading: impl Fn(usize) -> String,
) -> Option<String> {
    let row = |one: &ActiveUpgrade<'_>| {
        let (state, policy) = (
            desk.roster().cluster(one.cluster),
            desk.roster().policy(one.cluster),
        );
        let upgrade = one.upgrade;
        let at = match one.is_planned() {
            true => upgrade.start_at,
            false => upgrade.began_at(),
        };
        [
            minute(at),
            with_pool(&state.name, upgrade.pool.as_ref()),
            state.organisation.to_string(),
            optional(policy.sector.as_ref()),
            upgrade.from.to_string(),
            over_channel(&upgrade.to, upgrade.channel.as_ref()),
        ]
    };
    let told = || {
        let table = first_rows(STARTS, upgrades.iter().map(row), room);
        format!("{}\n\n{table}", heading(upgrades.len()))
    };
    (!upgrades.is_empty()).then(told)
}

fn waits(
    desk: &FleetPlanner,
    plan: &FleetPlan<'_>,
    expected: Option<Expectations<'_>>,
    room: Room,
) -> String {
    let waiting = &plan.waiting;
    if waiting.is_empty() {
        return String::new();
    }
    let wait = if waiting.len() == 1 { "waits" } else { "wait" };
    let first_starts = expected.map(|one| one.outlook.first_starts());
    let rows = waiting.iter().map(|(member, best)| {
        let state = desk.roster().cluster(*member);
        let start = first_starts
            .as_ref()
            .and_then(|starts| starts.get(state.id.as_str()))
            .map(|start| (start.at, &start.to));
        [
            state.name.to_string(),
            state.version.to_string(),
            over_channel(&best.to, best.channel.as_ref()),
            told_expected(best, start, expected.map(|one| one.days)),
            sentences(&best.verdict).join("; "),
        ]
    });
    let told = waiting.iter().take(room.rows.unwrap_or(MAX_ROWS));
    format!(
        "{} could go further, and {wait}:\n\n{}\n{}{}",
        counted(waiting.len(), "cluster"),
        first_rows(["CLUSTER", "FROM", "TO", "EXPECTED", "WHY"], rows, room),
        holds(&plan.holds),
        helps(told.flat_map(|(_, best)| &best.verdict.reasons))
    )
}

/// When a cluster is expected to start: by its rules, else by the forecast.
fn told_expected(
    best: &CandidateWhy,
    start: Option<(Timestamp, &towpath_core::version::Version)>,
    days: Option<u32>,
) -> String {
    match (&best.verdict.answer, start, days) {
        (Answer::Wait { until: Some(until) }, ..) => minute(*until),
        (_, Some((at, to)), _) if *to == best.to => minute(at),
        (_, Some((at, to)), _) => format!("{} to {to}", minute(at)),
        (Answer::Refuse, ..) => "never".to_owned(),
        (_, None, Some(days)) => format!("not in {days} d"),
        (_, None, None) => "-".to_owned(),
    }
}

//! One cluster whole: what is known of it, its policy, what the fleet says to each version, and what became of it. As JSON, and as
//! text.

use std::fmt::Write;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use towpath_core::cluster::Fact;
use towpath_core::finding::Place;
use towpath_core::fleet::{
    AcceptedRisk, AgentUpdate, ClusterIdx, ClusterState, Decision, FleetPlanner, Health, NodePool,
    PersonAct, PreflightDemand, Product, RiskEnd, Span, Upgrade, UpgradePolicy,
};

use super::json::{upgrades, why, with_preflights, with_updates};
use super::standing;
use super::text;
use crate::findings;
use crate::room::Room;
use crate::words::{joined, minute};

/// The most spans of its history that are told, the newest.
pub const MAX_SPANS: usize = 500;
/// The most upgrades that are told, the newest.
pub const MAX_UPGRADES: usize = 100;
/// The spans that stand in a text.
const SPANS_IN_TEXT: usize = 10;

/// A cluster that is asked about, with what the last pass decided.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub desk: &'a FleetPlanner,
    pub decision: &'a Decision,
    pub state: &'a ClusterState,
    /// None: no policy is about it.
    pub member: Option<ClusterIdx>,
    /// Where its policy is written.
    pub place: Option<&'a Place>,
}

/// What the store keeps of a cluster.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// Oldest first.
    pub spans: Vec<Span>,
    /// The last report as it came; none if it never reported itself.
    pub report: Option<String>,
    /// Newest first.
    pub upgrades: Vec<Upgrade>,
    /// Newest first.
    pub updates: Vec<AgentUpdate>,
    pub acts: Vec<PersonAct>,
}

impl Subject<'_> {
    fn now(&self) -> Timestamp {
        self.decision.at
    }
}

/// Everything. What the store keeps is null while it is away.
pub fn json(subject: Subject<'_>, records: Option<&Records>) -> Value {
    let Subject {
        desk,
        decision,
        state,
        member,
        place,
    } = subject;
    let mut told = match member {
        Some(member) => {
            let told = why(desk, decision, member, &desk.why(member, subject.now()));
            with_preflights(told, desk.roster().preflights(&state.id))
        }
        None => json!({
            "cluster": state.id.as_str(),
            "name": state.name,
            "organisation": state.organisation,
            "sector": null,
            "workloads": [],
            "version": state.version.to_string(),
            "verdict": null,
            "start": null,
            "nothing": null,
            "candidates": [],
            "preflights": [],
        }),
    };
    let policy = member.map(|member| policy(desk, member, place));
    let held = member.map(|member| desk.held_by(member, subject.now()));
    let held = held.into_iter().flatten().map(|rule| rule.name());
    let mut more = facts(state);
    more.insert("at".to_owned(), json!(decision.at.to_string()));
    more.insert("policy".to_owned(), json!(policy));
    more.insert("heldBy".to_owned(), held.collect());
    let kept = |records: &Records| {
        let report: Option<Value> = records
            .report
            .as_deref()
            .and_then(|report| serde_json::from_str(report).ok());
        let named = records.upgrades.iter().take(MAX_UPGRADES);
        [
            json!(spans(&records.spans)),
            json!(report.filter(|report| *report != json!({}))),
            upgrades(named.map(|upgrade| (upgrade, Some(&state.name)))),
            standing::json(&records.acts, desk)["acts"].take(),
        ]
    };
    let [history, report, upgrades, acts] = records.map(kept).unwrap_or_default();
    for (name, value) in [
        ("history", history),
        ("report", report),
        ("upgrades", upgrades),
        ("acts", acts),
    ] {
        more.insert(name.to_owned(), value);
    }
    if let Some(told) = told.as_object_mut() {
        told.extend(more);
    }
    with_updates(told, records.map(|records| &*records.updates))
}

fn spans(spans: &[Span]) -> Vec<Value> {
    let newest = &spans[spans.len().saturating_sub(MAX_SPANS)..];
    let span = |span: &Span| {
        json!({
            "version": span.version.to_string(),
            "from": span.from.to_string(),
            "until": span.until.to_string(),
            "healthy": span.healthy,
        })
    };
    newest.iter().map(span).collect()
}

fn facts(state: &ClusterState) -> Map<String, Value> {
    let why = match &state.health {
        Health::Healthy => None,
        Health::Unhealthy { why } => Some(why),
    };
    let (product, pools) = match &state.product {
        Product::Standalone => ("standalone", &[][..]),
        Product::HostedControlPlane { pools } => ("hostedControlPlane", &**pools),
    };
    let pool = |pool: &NodePool| json!({"id": pool.id, "version": pool.version.to_string()});
    let channels = state.available_channels.known();
    let told = json!({
        "goingTo": state.going_to.as_ref().map(ToString::to_string),
        "versionSince": state.version_since.to_string(),
        "seenAt": state.last_seen.to_string(),
        "healthy": why.is_none(),
        "unhealthy": why,
        "channel": state.channel.as_ref().map(ToString::to_string),
        "availableChannels": channels.map(|channels| {
            channels.iter().map(ToString::to_string).collect::<Vec<_>>()
        }),
        "arch": state.arch.to_string(),
        "platform": state.platform.known().map(ToString::to_string),
        "labels": state.labels,
        "product": product,
        "nodePools": pools.iter().map(pool).collect::<Vec<_>>(),
        "sts": known(&state.sts),
        "wif": known(&state.wif),
        "bound": state.binding.is_bound(),
        "acknowledgedGates": state.acknowledged_gates,
    });
    match told {
        Value::Object(facts) => facts,
        _ => Map::new(),
    }
}

fn known(fact: &Fact<bool>) -> Option<bool> {
    fact.known().copied()
}

fn policy(desk: &FleetPlanner, member: ClusterIdx, place: Option<&Place>) -> Value {
    let roster = desk.roster();
    let policy: &UpgradePolicy = roster.policy(member);
    let window = |window: &towpath_core::fleet::MaintenanceWindow| {
        json!({
            "begins": window.begins.as_str(),
            "lastsSeconds": window.lasts.as_secs(),
            "timeZone": window.time_zone.name(),
        })
    };
    let exclusion = |exclusion: &towpath_core::fleet::Exclusion| {
        json!({
            "from": exclusion.from.to_string(),
            "until": exclusion.until.to_string(),
            "timeZone": exclusion.time_zone.name(),
            "why": exclusion.why,
        })
    };
    let left_alone = roster.left_alone(member);
    json!({
        "place": place.map(ToString::to_string),
        "schedule": policy.schedule.as_ref().map(|schedule| schedule.as_str()),
        "sector": policy.sector,
        "workloads": policy.workloads,
        "soakDays": policy.soak_days,
        "mutexes": policy.mutexes,
        "blockedVersions": policy.blocked_versions.iter().map(|one| one.as_str()).collect::<Vec<_>>(),
        "gateApprovals": policy.gate_approvals,
        "windows": policy.windows.iter().map(window).collect::<Vec<_>>(),
        "exclusions": policy.exclusions.iter().map(exclusion).collect::<Vec<_>>(),
        "needsApproval": policy.needs_approval,
        "pin": policy.pin.as_ref().map(ToString::to_string),
        "acceptedRisks": policy.accepted_risks.iter().map(accepted).collect::<Vec<_>>(),
        "follows": policy.follows,
        "preflight": match policy.preflight {
            PreflightDemand::None => "none",
            PreflightDemand::WhereSupported => "whereSupported",
            PreflightDemand::Required => "required",
        },
        "leftAloneBy": left_alone.map(|left_alone| &left_alone.integration),
        "problems": findings::json(roster.policy_problems(member)),
    })
}

fn accepted(risk: &AcceptedRisk) -> Value {
    let until = match risk.until {
        RiskEnd::Open => None,
        RiskEnd::At(end) => Some(end.to_string()),
        RiskEnd::Fixed => Some("fixed".to_owned()),
    };
    json!({"name": risk.name, "reason": risk.reason, "owner": risk.owner, "until": until})
}

/// The same for people.
pub fn text(subject: Subject<'_>, records: Option<&Records>, room: Room) -> String {
    let Subject {
        desk,
        decision,
        state,
        member,
        place,
    } = subject;
    let updates = records.map_or(&[][..], |records| &records.updates);
    let mut told = match member {
        Some(member) => {
            let why = desk.why(member, subject.now());
            text::why(desk, decision, member, &why, updates)
        }
        None => format!(
            "{} ({}) runs {}. No policy is about it.\n",
            state.name, state.organisation, state.version
        ),
    };
    let or_unknown = |text: Option<String>| text.unwrap_or_else(|| "unknown".to_owned());
    let health = match &state.health {
        Health::Healthy => "healthy".to_owned(),
        Health::Unhealthy { why } => format!("not healthy: {why}"),
    };
    let labels = state.labels.iter();
    let labels = labels.map(|(name, value)| format!("{name}={value}"));
    let facts = [
        ("id", state.id.to_string()),
        ("seen", minute(state.last_seen)),
        ("health", health),
        (
            "channel",
            or_unknown(state.channel.as_ref().map(ToString::to_string)),
        ),
        (
            "platform",
            or_unknown(state.platform.known().map(ToString::to_string)),
        ),
        ("labels", joined(labels, "-")),
        (
            "policy",
            place.map_or_else(|| "-".to_owned(), ToString::to_string),
        ),
    ];
    told.push('\n');
    for (name, value) in facts {
        // Writing to a string does not fail.
        let _ = writeln!(told, "  {name:9} {}", crate::words::plain(&value));
    }
    let Some(records) = records else {
        told += "\nThe store cannot be reached, so its history is not known.\n";
        return told;
    };
    let newest = records.spans.iter().rev().take(SPANS_IN_TEXT);
    let span = |span: &Span| {
        [
            span.version.to_string(),
            minute(span.from),
            minute(span.until),
            if span.healthy {
                "healthy"
            } else {
                "not healthy"
            }
            .to_owned(),
        ]
    };
    if !records.spans.is_empty() {
        let head = ["RAN", "FROM", "UNTIL", "HEALTH"];
        let rows: Vec<[String; 4]> = newest.map(span).collect();
        told += &format!("\n{}", text::first_rows(head, rows.into_iter(), room));
    }
    if !records.acts.is_empty() {
        told += &format!("\n{}", standing::text(&records.acts, desk, room));
    }
    told
}

//! The stored JSON, field by field. Policies and offers are in tables, because most clusters share
//! them.
//!
//! It mirrors the domain because core does not know serde, and because stored entries must keep
//! their bytes when a domain type changes. serde's remote derive would copy fields for us. But its
//! readers cannot share names, versions and patterns, so a replay of a large fleet would need far
//! more memory.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(super) type Text<'a> = Cow<'a, str>;

#[derive(Serialize, Deserialize)]
pub(super) struct Whole<'a> {
    pub(super) organisations: BTreeMap<Text<'a>, Part<'a>>,
    pub(super) rest: Rest<'a>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part<'a> {
    pub(super) organisation: Option<Organisation<'a>>,
    pub(super) policies: Vec<Policy<'a>>,
    pub(super) offers: Vec<Vec<Offer<'a>>>,
    pub(super) clusters: Vec<Cluster<'a>>,
    pub(super) upgrades: Vec<Upgrade<'a>>,
    pub(super) soak: Vec<Soak<'a>>,
    pub(super) approvals: Vec<Approval<'a>>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rest<'a> {
    pub(super) upgrades: Vec<Upgrade<'a>>,
    pub(super) gates: Vec<GateEntry<'a>>,
    pub(super) pauses: Vec<Pause<'a>>,
    pub(super) inherited: BTreeMap<Text<'a>, Minimum<'a>>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Organisation<'a> {
    pub(super) id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) environment: Option<Text<'a>>,
    pub(super) blocked_versions: Vec<Text<'a>>,
    pub(super) sectors: BTreeMap<Text<'a>, Sector<'a>>,
    pub(super) clusters: Vec<ClusterPolicy<'a>>,
    pub(super) defaults: Vec<PolicyDefault<'a>>,
    pub(super) inherits_from: Vec<Text<'a>>,
    pub(super) shared_mutexes: Vec<Text<'a>>,
    pub(super) disabled: bool,
    pub(super) origin: Place<'a>,
}

pub(super) type Place<'a> = (Text<'a>, u32, u32);

#[derive(Serialize, Deserialize)]
pub(super) struct Finding<'a> {
    pub(super) error: bool,
    pub(super) place: Place<'a>,
    pub(super) code: Text<'a>,
    pub(super) problem: Text<'a>,
    pub(super) remedy: Text<'a>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Sector<'a> {
    pub(super) name: Text<'a>,
    pub(super) depends_on: Vec<Text<'a>>,
    pub(super) max_parallel: Option<Parallel>,
    pub(super) max_failures: Option<u32>,
    pub(super) straggler_days: Option<u32>,
    pub(super) origin: Place<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Parallel {
    Count(u32),
    Percent(u32),
}

#[derive(Serialize, Deserialize)]
pub(super) struct ClusterPolicy<'a> {
    pub(super) name: Text<'a>,
    pub(super) id: Option<Text<'a>>,
    /// Its number in the table.
    pub(super) policy: usize,
    /// The integration that is disabled for it, and where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) left_alone: Option<(Text<'a>, Place<'a>)>,
    pub(super) problems: Vec<Finding<'a>>,
    pub(super) origin: Place<'a>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PolicyDefault<'a> {
    pub(super) name: Text<'a>,
    pub(super) match_labels: BTreeMap<Text<'a>, Text<'a>>,
    /// Its number in the table.
    pub(super) policy: usize,
    pub(super) problems: Vec<Finding<'a>>,
    pub(super) origin: Place<'a>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Policy<'a> {
    pub(super) workloads: Vec<Text<'a>>,
    pub(super) schedule: Option<Text<'a>>,
    pub(super) soak_days: Option<u32>,
    pub(super) mutexes: Vec<Text<'a>>,
    pub(super) sector: Option<Text<'a>>,
    pub(super) blocked_versions: Vec<Text<'a>>,
    pub(super) gate_approvals: Vec<Text<'a>>,
    pub(super) windows: Vec<Window<'a>>,
    pub(super) exclusions: Vec<Exclusion<'a>>,
    pub(super) needs_approval: bool,
    pub(super) pin: Option<Text<'a>>,
    pub(super) accepted_risks: Vec<Text<'a>>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Window<'a> {
    pub(super) begins: Text<'a>,
    pub(super) lasts: Text<'a>,
    pub(super) time_zone: Text<'a>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Exclusion<'a> {
    pub(super) from: Text<'a>,
    pub(super) until: Text<'a>,
    pub(super) time_zone: Text<'a>,
    pub(super) why: Option<Text<'a>>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Cluster<'a> {
    pub(super) id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) version: Text<'a>,
    pub(super) going_to: Option<Text<'a>>,
    pub(super) version_since: Text<'a>,
    pub(super) last_seen: Text<'a>,
    /// Why it is not healthy; none: it is.
    pub(super) unhealthy: Option<Text<'a>>,
    pub(super) channel: Option<Text<'a>>,
    pub(super) arch: Text<'a>,
    pub(super) platform: Option<Text<'a>>,
    pub(super) labels: BTreeMap<Text<'a>, Text<'a>>,
    /// Node pools and their versions; none: it is no hosted control plane.
    pub(super) pools: Option<Vec<(Text<'a>, Text<'a>)>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sts: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) wif: Option<bool>,
    /// Their number in the table.
    pub(super) offers: usize,
    pub(super) acknowledged_gates: Vec<Text<'a>>,
    /// Only said of those that are not bound. Before there were such, all were.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unbound: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Offer<'a> {
    pub(super) version: Text<'a>,
    /// As the first format had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hold: Option<OfferHold<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) objection: Option<Objection<'a>>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Objection<'a> {
    /// Whether it is a no; else it waits.
    pub(super) is_no: bool,
    pub(super) until: Option<Text<'a>>,
    pub(super) risks: Vec<Text<'a>>,
    pub(super) reasons: Vec<Reason<'a>>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Reason<'a> {
    pub(super) code: Text<'a>,
    pub(super) facts: Vec<(Text<'a>, FactValue<'a>)>,
    pub(super) place: Option<(Text<'a>, u32, u32)>,
    pub(super) until: Option<Text<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum FactValue<'a> {
    Text(Text<'a>),
    Number(u64),
    Seconds(i64),
    Time(Text<'a>),
    /// In parts of 2^64.
    Share(Text<'a>),
    List(Vec<FactValue<'a>>),
}

#[derive(Serialize, Deserialize)]
pub(super) struct OfferHold<'a> {
    pub(super) until: Option<Text<'a>>,
    pub(super) risks: Vec<Text<'a>>,
    pub(super) reasons: Vec<(Text<'a>, Text<'a>)>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Upgrade<'a> {
    pub(super) id: i64,
    pub(super) cluster: Text<'a>,
    pub(super) pool: Option<Text<'a>>,
    pub(super) from: Text<'a>,
    pub(super) to: Text<'a>,
    pub(super) state: Text<'a>,
    pub(super) owner: Text<'a>,
    pub(super) start_at: Text<'a>,
    pub(super) changed_at: Text<'a>,
    pub(super) failures: u32,
    pub(super) note: Option<Text<'a>>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Soak<'a> {
    pub(super) workload: Text<'a>,
    pub(super) version: Text<'a>,
    pub(super) seconds: i64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Approval<'a> {
    pub(super) cluster: Option<Text<'a>>,
    pub(super) version: Text<'a>,
    pub(super) by: Text<'a>,
    pub(super) at: Text<'a>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct GateEntry<'a> {
    pub(super) id: Text<'a>,
    pub(super) version_prefix: Text<'a>,
    pub(super) label: Text<'a>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Pause<'a> {
    pub(super) organisation: Option<Text<'a>>,
    pub(super) sector: Option<Text<'a>>,
    pub(super) by: Text<'a>,
    pub(super) at: Text<'a>,
    pub(super) why: Text<'a>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Minimum<'a> {
    pub(super) version: Option<Text<'a>>,
    pub(super) of_workload: BTreeMap<Text<'a>, Text<'a>>,
}

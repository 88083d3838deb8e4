//! The same decisions as AppSRE's Advanced Upgrade Service, on random organisations that it really decided about.
//!
//! Two differences are meant. Where AUS comes to a version whose gate is closed it gives up on the cluster, and we look at the
//! next lower version. And AUS passes over a gate whose label it does not know, which is `gate-unknown` here: with us it holds.
//! Without that gate, and with the cluster's offers cut off at a closed one, the decisions are the same to the minute. With it,
//! they are those of a fleet to which nothing behind `gate-unknown` is offered.
//!
//! The data is not part of this repository. Where `TOWPATH_REAL_DATA` names it these tests run; elsewhere each is listed as
//! ignored.
#![allow(
    clippy::unwrap_used,
    reason = "the data is AUS's own; where it is not as described, the test is to fail"
)]
#![allow(clippy::disallowed_methods, reason = "the cases are read from a file")]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use towpath_core::cluster::{ClusterId, Fact};
use towpath_core::finding::Place;
use towpath_core::fleet::{
    Binding, CandidateWhy, ClusterIdx, ClusterPolicy, ClusterState, Decision, FleetInput,
    FleetPlanner, FleetPolicy, Health, Minimum, Name, NodePool, Offer, Organisation, Owner,
    Parallel, Product, Sector, SoakSum, StartKind, Upgrade, UpgradeId, UpgradePolicy, UpgradeState,
    VersionGate, dispatch,
};
use towpath_core::graph::Pattern;
use towpath_core::version::{Arch, Minor, Version};

fn main() {
    let data = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    let trial = |name: &str, test: fn(&[Value]) -> Result<(), Failed>| {
        let path = data.clone().unwrap_or_default().join("aus-decisions.jsonl");
        Trial::test(name, move || test(&cases(&path)?)).with_ignored_flag(data.is_none())
    };
    let trials = vec![
        trial(
            "aus_decisions::the_same_with_a_closed_gate_as_the_end",
            same_with_gates_final,
        ),
        trial(
            "aus_decisions::every_difference_is_a_closed_gate",
            differences_are_gates,
        ),
        trial(
            "aus_decisions::gate_unknown_holds_and_changes_nothing_else",
            unknown_gate_holds,
        ),
        trial("aus_decisions::the_same_order", same_order),
        trial("aus_decisions::why_agrees_with_plan", why_agrees),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn cases(path: &PathBuf) -> Result<Vec<Value>, Failed> {
    let text = std::fs::read_to_string(path)?;
    Ok(text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}

fn same_with_gates_final(cases: &[Value]) -> Result<(), Failed> {
    for case in cases {
        let now = time(&case["now"]);
        let mut input = without_unknown_gate(input(case));
        let gated = gated(&dispatch(input.clone(), now).0, now);
        input
            .clusters
            .iter_mut()
            .filter(|cluster| gated.contains(&cluster.name))
            .for_each(|c| c.offers = [].into());
        let ours = starts(&dispatch(input, now).1);
        if ours != expected(case) {
            return Err(
                format!("case {}: {ours:?} is not {:?}", case["id"], expected(case)).into(),
            );
        }
    }
    Ok(())
}

fn differences_are_gates(cases: &[Value]) -> Result<(), Failed> {
    for case in cases {
        let now = time(&case["now"]);
        let (desk, decision) = dispatch(without_unknown_gate(input(case)), now);
        let (ours, theirs, gated) = (starts(&decision), expected(case), gated(&desk, now));
        if ours == theirs {
            continue;
        }
        let more: Vec<&Start> = ours
            .iter()
            .filter(|start| !theirs.contains(start))
            .collect();
        // Whoever starts because of it may hold a mutex that another would have got.
        if !more
            .iter()
            .any(|start| gated.iter().any(|name| **name == *start.0))
        {
            return Err(format!("case {}: {ours:?} is not {theirs:?}", case["id"]).into());
        }
        let names: Vec<&str> = more.iter().map(|start| start.0.as_str()).collect();
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "case {}: {} goes below a closed gate (stated difference)",
            case["id"],
            names.join(", ")
        )?;
    }
    Ok(())
}

/// The gate whose label AUS does not know.
const UNKNOWN_GATE: &str = "api.openshift.com/gate-unknown";

/// With `gate-unknown`, we decide as if nothing behind it were offered to clusters that have not acknowledged it.
fn unknown_gate_holds(cases: &[Value]) -> Result<(), Failed> {
    let mut different = 0;
    for case in cases {
        let (now, whole) = (time(&case["now"]), input(case));
        let unknown: Vec<VersionGate> = whole
            .gates
            .iter()
            .filter(|gate| &*gate.label == UNKNOWN_GATE)
            .cloned()
            .collect();
        let mut cut_off = without_unknown_gate(whole.clone());
        for cluster in &mut cut_off.clusters {
            let from = Minor::of(&cluster.version);
            let is_behind = |offer: &Offer| {
                let to = Minor::of(&offer.version);
                let closed = |gate: &VersionGate| !cluster.acknowledged_gates.contains(&gate.id);
                from < to
                    && unknown
                        .iter()
                        .any(|gate| gate.before() == Some(to) && closed(gate))
            };
            cluster.offers = cluster
                .offers
                .iter()
                .filter(|offer| !is_behind(offer))
                .cloned()
                .collect();
        }
        let (ours, expected) = (
            starts(&dispatch(whole.clone(), now).1),
            starts(&dispatch(cut_off, now).1),
        );
        if ours != expected {
            return Err(format!("case {}: {ours:?} is not {expected:?}", case["id"]).into());
        }
        different += usize::from(ours != starts(&dispatch(without_unknown_gate(whole), now).1));
    }
    writeln!(
        std::io::stdout().lock(),
        "{different} cases differ by {UNKNOWN_GATE} (stated difference)"
    )?;
    match different {
        0 => Err("gate-unknown holds nothing in any case".into()),
        _ => Ok(()),
    }
}

fn without_unknown_gate(mut input: FleetInput) -> FleetInput {
    input.gates.retain(|gate| &*gate.label != UNKNOWN_GATE);
    input
}

fn same_order(cases: &[Value]) -> Result<(), Failed> {
    for case in cases {
        let desk = FleetPlanner::new(input(case));
        let ours: Vec<&str> = desk
            .roster()
            .in_order()
            .iter()
            .map(|m| &*desk.roster().cluster(*m).name)
            .collect();
        let theirs: Vec<&str> = case["expected"]["order"]
            .as_array()
            .unwrap()
            .iter()
            .map(text)
            .collect();
        if ours != theirs {
            return Err(format!("case {}: {ours:?} is not {theirs:?}", case["id"]).into());
        }
    }
    Ok(())
}

/// What starts is recommended by `why`, and what is recommended starts.
fn why_agrees(cases: &[Value]) -> Result<(), Failed> {
    for case in cases {
        let now = time(&case["now"]);
        let (desk, decision) = dispatch(input(case), now);
        for member in desk.roster().in_order() {
            let state = desk.roster().cluster(*member);
            let why = desk.why(*member, now);
            let best = why
                .candidates
                .iter()
                .find(|candidate| candidate.verdict.is_offered());
            let start = decision
                .starts
                .iter()
                .find(|start| start.cluster == state.id && start.pool().is_none());
            match (best, start) {
                (Some(best), Some(start)) if best.to == start.to => {}
                (None, None) => {}
                (best, start) => {
                    return Err(format!("case {}: {best:?} and {start:?}", case["id"]).into());
                }
            }
        }
    }
    Ok(())
}

/// Clusters whose highest version that meets the conditions has its gate closed.
fn gated(desk: &FleetPlanner, now: Timestamp) -> Vec<Name> {
    let codes = |candidate: &CandidateWhy| -> Vec<&str> {
        let reasons = candidate.own.reasons.iter();
        reasons.map(|reason| reason.code().name).collect()
    };
    let conditions_hold = |codes: &Vec<&str>| codes.iter().all(|code| *code == "GateClosed");
    let is_gated = |member: &&ClusterIdx| {
        let why = desk.why(**member, now);
        why.candidates
            .iter()
            .map(codes)
            .find(conditions_hold)
            .is_some_and(|codes| !codes.is_empty())
    };
    let members = desk.roster().in_order().iter().filter(is_gated);
    members
        .map(|member| desk.roster().cluster(*member).name.clone())
        .collect()
}

type Start = (String, String, String, String, Option<String>);

fn starts(decision: &Decision) -> Vec<Start> {
    let starts = decision.starts.iter().map(|start| {
        let (kind, pool) = match &start.kind {
            StartKind::Cluster => ("Cluster", None),
            StartKind::ControlPlane => ("ControlPlane", None),
            StartKind::NodePool(pool) => ("NodePool", Some(pool.to_string())),
        };
        (
            start.name.to_string(),
            kind.to_owned(),
            start.to.to_string(),
            start.at.to_string(),
            pool,
        )
    });
    starts.collect()
}

fn expected(case: &Value) -> Vec<Start> {
    let create = |create: &Value| {
        let field = |name: &str| create[name].as_str().unwrap().to_owned();
        let pool = create
            .get("node_pool")
            .and_then(Value::as_str)
            .map(str::to_owned);
        (
            field("cluster"),
            field("kind"),
            field("version"),
            field("next_run"),
            pool,
        )
    };
    case["expected"]["creates"]
        .as_array()
        .unwrap()
        .iter()
        .map(create)
        .collect()
}

fn input(case: &Value) -> FleetInput {
    let now = time(&case["now"]);
    let org = &case["org"];
    let sectors = org["sectors"].as_object().unwrap().iter();
    let organisation = Organisation {
        id: "org".into(),
        name: "org".into(),
        environment: None,
        blocked_versions: patterns(&org["blockedVersions"]),
        sectors: sectors
            .map(|(name, of)| (name.as_str().into(), sector(name, of)))
            .collect(),
        clusters: list(&case["clusters"]).map(policy).collect(),
        defaults: Vec::new(),
        inherits_from: [].into(),
        shared_mutexes: [].into(),
        disabled: false,
        origin: Place::file("case"),
    };
    let soak = case["soak_days"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(version, workloads)| {
            workloads
                .as_object()
                .unwrap()
                .iter()
                .map(move |(workload, days)| SoakSum {
                    organisation: "org".into(),
                    workload: workload.as_str().into(),
                    version: version.parse().unwrap(),
                    seconds: (days.as_f64().unwrap() * 86_400.0).round() as i64,
                })
        });
    let gate = |gate: &Value| VersionGate {
        id: name(&gate["id"]),
        version_prefix: name(&gate["version_raw_id_prefix"]),
        label: name(&gate["label"]),
    };
    let inherited = case["inherited_stats"].as_object().map(|stats| Minimum {
        version: Some(version(&stats["min_version"])),
        of_workload: stats["min_version_per_workload"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(workload, lowest)| (workload.as_str().into(), version(lowest)))
            .collect(),
    });
    FleetInput {
        policy: FleetPolicy {
            organisations: [("org".into(), organisation)].into(),
        },
        clusters: list(&case["clusters"])
            .map(|cluster| state(case, cluster, now))
            .collect(),
        upgrades: list(&case["ongoing"])
            .map(|cluster| under_way(case, cluster, now))
            .collect(),
        soak: soak.collect(),
        gates: list(&case["version_gates"]).map(gate).collect(),
        inherited: inherited
            .map(|minimum| BTreeMap::from([("org".into(), minimum)]))
            .unwrap_or_default(),
        ..FleetInput::default()
    }
}

fn state(case: &Value, cluster: &Value, now: Timestamp) -> ClusterState {
    let pool = |pool: &Value| NodePool {
        id: name(&pool["id"]),
        version: version(&pool["version"]),
    };
    ClusterState {
        id: id(&cluster["name"]),
        name: name(&cluster["name"]),
        organisation: "org".into(),
        binding: Binding::Bound,
        version: version(&cluster["version"]),
        going_to: None,
        version_since: now,
        last_seen: now,
        health: Health::Healthy,
        channel: None,
        arch: Arch::default(),
        platform: Fact::Unknown,
        labels: BTreeMap::new(),
        product: match cluster["hypershift"].as_bool().unwrap() {
            true => Product::HostedControlPlane {
                pools: list(&cluster["node_pools"]).map(pool).collect(),
            },
            false => Product::Standalone,
        },
        sts: Fact::Known(cluster["sts"].as_bool().unwrap()),
        wif: Fact::Unknown,
        offers: list(&cluster["available_upgrades"])
            .map(|v| Offer::free(version(v)))
            .collect(),
        available_channels: Fact::Unknown,
        acknowledged_gates: list(&case["acked_gates"][text(&cluster["name"])])
            .map(name)
            .collect(),
    }
}

fn policy(cluster: &Value) -> ClusterPolicy {
    ClusterPolicy {
        name: name(&cluster["name"]),
        id: None,
        policy: UpgradePolicy {
            workloads: list(&cluster["workloads"]).map(name).collect(),
            schedule: Some(text(&cluster["schedule"]).parse().unwrap()),
            soak_days: cluster["soakDays"].as_u64().map(|days| days as u32),
            mutexes: list(&cluster["mutexes"]).map(name).collect(),
            sector: cluster["sector"].as_str().map(Into::into),
            blocked_versions: patterns(&cluster["blockedVersions"]),
            ..UpgradePolicy::default()
        },
        left_alone: None,
        problems: Vec::new(),
        origin: Place::file("case"),
    }
}

fn sector(name: &str, sector: &Value) -> Sector {
    let parallel = |text: &str| match text.strip_suffix('%') {
        Some(percent) => Parallel::Percent(percent.parse().unwrap()),
        None => Parallel::Count(text.parse().unwrap()),
    };
    Sector {
        name: name.into(),
        depends_on: list(&sector["dependencies"]).map(self::name).collect(),
        max_parallel: sector["maxParallelUpgrades"].as_str().map(parallel),
        max_failures: None,
        straggler_days: None,
        origin: Place::file("case"),
    }
}

/// A policy object of somebody else's, in any state: the data tells only that there is one.
fn under_way(case: &Value, cluster: &Value, now: Timestamp) -> Upgrade {
    let of = list(&case["clusters"])
        .find(|other| other["name"] == *cluster)
        .unwrap();
    Upgrade {
        id: UpgradeId(0),
        cluster: id(cluster),
        pool: None,
        from: version(&of["version"]),
        to: version(&of["version"]),
        channel: None,
        state: UpgradeState::Started,
        owner: Owner::Other,
        start_at: now - SignedDuration::from_mins(10),
        changed_at: now,
        failures: 0,
        note: None,
    }
}

/// AUS breaks ties by the order of discovery, we by id: a name with two digits keeps its place.
fn id(cluster: &Value) -> ClusterId {
    ClusterId::new(&format!("{:0>4}", text(cluster).trim_start_matches('c'))).unwrap()
}

fn list(value: &Value) -> std::slice::Iter<'_, Value> {
    value.as_array().unwrap().iter()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn name(value: &Value) -> Name {
    text(value).into()
}

fn version(value: &Value) -> Version {
    text(value).parse().unwrap()
}

fn patterns(value: &Value) -> Vec<Pattern> {
    list(value)
        .map(|pattern| Pattern::new(text(pattern)).unwrap())
        .collect()
}

fn time(value: &Value) -> Timestamp {
    text(value).parse().unwrap()
}

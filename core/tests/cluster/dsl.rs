//! A cluster and its way in a few lines of text; what stands in the way as text.
//!
//! What no line tells is known and empty; `unknown nodes` makes it unknown.

use std::fmt::Write;

use expect_test::Expect;
use towpath_core::cluster::health::{
    Alert, Amount, ClusterHealth, DisruptionBudget, EndedOperator, InstallPlan, KnownGate,
    NodeState, Pod, PoolState, Room, Selector,
};
use towpath_core::cluster::objects::{
    ApiName, ApiUse, ApiUser, Facts, HistoryEntry, HostedPool, MachineConfigPool, Node, ObjectKind,
    Objection, Operator, Progress, Range, Topology,
};
use towpath_core::cluster::way::{Stop, Way, Workers};
use towpath_core::cluster::{AcceptedReasons, Fact, Readiness, ready, ready_but_for};
use towpath_core::version::Minor;
use towpath_testing_graphs::{confirmed_minors, minors};

pub(crate) fn check(story: &str, expected: Expect) {
    let Story { facts, way } = read(story);
    expected.assert_eq(&told(&ready(&way, &facts)));
}

/// The same with names that somebody accepts.
pub(crate) fn check_accepting(names: &[&str], story: &str, expected: Expect) {
    let Story { facts, way } = read(story);
    let accepted = AcceptedReasons::read(names.iter().copied()).unwrap();
    let readiness = ready_but_for(&way, &facts, &accepted);
    let mut text = told(&readiness);
    for name in &readiness.accepted_in_vain {
        writeln!(text, "nothing is {name}").unwrap();
    }
    expected.assert_eq(&text);
}

fn told(readiness: &Readiness) -> String {
    let mut text = String::new();
    for hop in &readiness.hops {
        let answer = if hop.is_ready() { "ready" } else { "refused" };
        writeln!(text, "{} -> {}: {answer}", hop.from, hop.to).unwrap();
        for reason in hop.reasons() {
            writeln!(text, "  {}: {reason}", reason.code()).unwrap();
        }
        for reason in &hop.accepted {
            writeln!(text, "  accepted {}: {reason}", reason.code()).unwrap();
        }
    }
    text
}

/// Only what one rule says, and what is missing.
pub(crate) fn check_of(code: &str, story: &str, expected: Expect) {
    let Story { facts, way } = read(story);
    let text = told(&ready(&way, &facts));
    let is_of = |line: &&str| line.contains(code) || line.contains("ObjectsNotGiven");
    let lines = text.lines().filter(is_of);
    expected.assert_eq(
        &lines
            .map(|line| format!("{}\n", line.trim_start()))
            .collect::<String>(),
    );
}

/// What is to be done, and before which update.
pub(crate) fn check_tasks(story: &str, expected: Expect) {
    let Story { facts, way } = read(story);
    let readiness = ready(&way, &facts);
    let mut text = String::new();
    for hop in readiness.hops.iter().filter(|hop| !hop.tasks.is_empty()) {
        writeln!(text, "before {}", hop.to).unwrap();
        hop.tasks
            .iter()
            .for_each(|task| writeln!(text, "  {}", task.text).unwrap());
    }
    if !readiness.after.is_empty() {
        writeln!(text, "at the end").unwrap();
    }
    let after = readiness.after.iter();
    after.for_each(|task| writeln!(text, "  {}", task.text).unwrap());
    for reason in readiness.unjudged() {
        writeln!(text, "not judged: {}", reason.help()).unwrap();
    }
    expected.assert_eq(&text);
}

/// The commands of all that is to be done.
pub(crate) fn commands(story: &str) -> Vec<String> {
    let Story { facts, way } = read(story);
    let hops = ready(&way, &facts).hops;
    hops.into_iter()
        .flat_map(|hop| hop.tasks)
        .filter_map(|task| task.command)
        .collect()
}

pub(crate) struct Story {
    pub(crate) facts: Facts,
    pub(crate) way: Way,
}

pub(crate) fn known_and_empty() -> Facts {
    Facts {
        history: Fact::Known(Vec::new()),
        objections: Fact::Known(Vec::new()),
        operator_objections: Fact::Known(Vec::new()),
        failures: Fact::Known(Vec::new()),
        operator_failures: Fact::Known(Vec::new()),
        nodes: Fact::Known(Vec::new()),
        topology: Fact::Known(Topology::Standalone),
        node_pools: Vec::new(),
        pools: Fact::Known(Vec::new()),
        operators: Fact::Known(Vec::new()),
        apis: Fact::Known(Vec::new()),
        gates: Fact::Known(Default::default()),
        acks: Fact::Known(Default::default()),
        health: ClusterHealth {
            pools: Fact::Known(Vec::new()),
            nodes: Fact::Known(Vec::new()),
            pods: Fact::Known(Vec::new()),
            budgets: Fact::Known(Vec::new()),
            volumes: Fact::Known(Vec::new()),
            install_plans: Fact::Known(Vec::new()),
            network: Fact::Known("OVNKubernetes".into()),
            alerts: Fact::Known(Vec::new()),
            runc_configs: Fact::Known(Vec::new()),
            runc_machine_configs: Fact::Known(Vec::new()),
            default_stream: Fact::Unknown,
            ended_operators: Fact::Known(Vec::new()),
            partly: Default::default(),
            known_gates: Vec::new(),
        },
    }
}

pub(crate) fn read(story: &str) -> Story {
    let (mut facts, mut stops, mut table) = (known_and_empty(), Vec::new(), minors());
    let (mut unknown, mut workers, mut without_etcd) = (Vec::new(), Vec::new(), Vec::new());
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["at", version] => list(&mut facts.history).push(entry(version, Progress::Completed)),
            ["partial", version] => {
                list(&mut facts.history).push(entry(version, Progress::Partial))
            }
            ["way", rest @ ..] => {
                stops = rest.iter().map(|stop| Stop::parse(stop).unwrap()).collect()
            }
            ["workers", rest @ ..] => workers = rest.iter().map(|word| course(word)).collect(),
            ["skew", limit] => table = table.with_max_skew(limit.parse().ok()),
            ["hosted"] => facts.topology = Fact::Known(Topology::Hosted),
            ["node-pool", name, version] => facts.node_pools.push(HostedPool {
                name: (*name).into(),
                version: Fact::from(version.parse().ok()),
            }),
            ["confirmed"] => table = confirmed_minors(),
            [
                who @ ("objection" | "operator-objection" | "failure" | "operator-failure"),
                by,
                reason,
                message @ ..,
            ] => {
                let said = match *who {
                    "objection" => &mut facts.objections,
                    "operator-objection" => &mut facts.operator_objections,
                    "failure" => &mut facts.failures,
                    _ => &mut facts.operator_failures,
                };
                list(said).push(Objection {
                    by: (*by).into(),
                    reason: (*reason).into(),
                    message: message.join(" ").into(),
                })
            }
            ["pool", name, state, how @ ..] => {
                list(&mut facts.pools).push(MachineConfigPool {
                    name: (*name).into(),
                    is_paused: *state == "paused",
                });
                list(&mut facts.health.pools).push(pool_state(name, state, how));
            }
            ["node", name, pool, kubelet, how @ ..] => {
                let pool = fact(pool).map_or(Fact::Unknown, |pool| Fact::Known(pool.into()));
                list(&mut facts.health.nodes).push(node_state(name, pool.clone(), how));
                list(&mut facts.nodes).push(Node {
                    name: (*name).into(),
                    pool,
                    kubelet: fact(kubelet)
                        .map_or(Fact::Unknown, |kubelet| Fact::Known(minor(kubelet))),
                });
            }
            ["no-etcd", node] => without_etcd.push((*node).to_owned()),
            ["pod", namespace, name, node, how @ ..] => {
                list(&mut facts.health.pods).push(pod(namespace, name, node, how));
            }
            ["budget", namespace, name, how @ ..] => {
                list(&mut facts.health.budgets).push(budget(namespace, name, how));
            }
            ["plan", namespace, name, operators @ ..] => {
                list(&mut facts.health.install_plans).push(InstallPlan {
                    namespace: (*namespace).into(),
                    name: (*name).into(),
                    operators: operators.iter().map(|name| (*name).into()).collect(),
                });
            }
            ["stream", name] => facts.health.default_stream = Fact::Known((*name).into()),
            ["network", name] => facts.health.network = Fact::Known((*name).into()),
            ["alert", name, severity, namespace, summary @ ..] => {
                list(&mut facts.health.alerts).push(Alert {
                    name: (*name).into(),
                    is_critical: *severity == "critical",
                    is_precheck: *severity == "precheck",
                    namespace: fact(namespace).map(Into::into),
                    summary: summary.join(" ").into(),
                    runbook: None,
                });
            }
            ["runc", "config", name] => list(&mut facts.health.runc_configs).push((*name).into()),
            ["runc", "machine-config", name] => {
                list(&mut facts.health.runc_machine_configs).push((*name).into());
            }
            ["ended", name, namespace, day] => {
                list(&mut facts.health.ended_operators).push(EndedOperator {
                    name: (*name).into(),
                    namespace: (*namespace).into(),
                    ended: (*day).into(),
                });
            }
            ["known-gate", keeps_in, name, only @ ..] => {
                facts.health.known_gates.push(KnownGate {
                    name: (*name).into(),
                    description: "Look first".into(),
                    only: (!only.is_empty()).then(|| only.join(" ").into()),
                    keeps_in: minor(keeps_in),
                    since: None,
                    is_verified: true,
                });
            }
            ["gate-since", release] => {
                let gate = facts.health.known_gates.last_mut().unwrap();
                gate.since = release.parse().ok();
            }
            ["gate-unverified"] => {
                facts.health.known_gates.last_mut().unwrap().is_verified = false;
            }
            ["some", "pods"] => facts.health.partly.extend([ObjectKind::Pod]),
            ["operator", name, namespace, limits @ ..] => {
                list(&mut facts.operators).push(operator(name, namespace, limits));
            }
            ["api", name, rest @ ..] => list(&mut facts.apis).push(api(name, rest)),
            ["gate", name, description @ ..] => {
                let Fact::Known(gates) = &mut facts.gates else {
                    unreachable!()
                };
                gates.insert((*name).into(), description.join(" ").into());
            }
            ["ack", name] => {
                let Fact::Known(acks) = &mut facts.acks else {
                    unreachable!()
                };
                acks.insert((*name).into());
            }
            ["unknown", what] => unknown.push((*what).to_owned()),
            _ => panic!("what does {line:?} mean?"),
        }
    }
    add_etcd(&mut facts, &without_etcd);
    let from = facts.heads_for().expect("where is the cluster?").clone();
    unknown.iter().for_each(|what| forget(&mut facts, what));
    Story {
        facts,
        way: Way::new(from, stops, &table).unwrap().with_workers(workers),
    }
}

pub(crate) const FACTS: [&str; 19] = [
    "history",
    "objections",
    "operator-objections",
    "failures",
    "operator-failures",
    "nodes",
    "topology",
    "pools",
    "operators",
    "apis",
    "gates",
    "acks",
    "pods",
    "budgets",
    "install-plans",
    "network",
    "alerts",
    "runc-configs",
    "runc-machine-configs",
];

pub(crate) fn forget(facts: &mut Facts, what: &str) {
    match what {
        "history" => facts.history = Fact::Unknown,
        "objections" => facts.objections = Fact::Unknown,
        "operator-objections" => facts.operator_objections = Fact::Unknown,
        "failures" => facts.failures = Fact::Unknown,
        "operator-failures" => facts.operator_failures = Fact::Unknown,
        "nodes" => {
            facts.nodes = Fact::Unknown;
            facts.health.nodes = Fact::Unknown;
        }
        "pools" => {
            facts.pools = Fact::Unknown;
            facts.health.pools = Fact::Unknown;
        }
        "topology" => facts.topology = Fact::Unknown,
        "operators" => facts.operators = Fact::Unknown,
        "apis" => facts.apis = Fact::Unknown,
        "gates" => facts.gates = Fact::Unknown,
        "acks" => facts.acks = Fact::Unknown,
        "pods" => facts.health.pods = Fact::Unknown,
        "budgets" => facts.health.budgets = Fact::Unknown,
        "install-plans" => facts.health.install_plans = Fact::Unknown,
        "network" => facts.health.network = Fact::Unknown,
        "alerts" => facts.health.alerts = Fact::Unknown,
        "runc-configs" => facts.health.runc_configs = Fact::Unknown,
        "runc-machine-configs" => facts.health.runc_machine_configs = Fact::Unknown,
        other => panic!("there is no fact {other}"),
    }
}

/// Every node of the control plane has its etcd, unless the story says otherwise.
fn add_etcd(facts: &mut Facts, without: &[String]) {
    let nodes = facts.nodes.known().cloned().unwrap_or_default();
    let is_master = |node: &&Node| node.pool == Fact::Known("master".into());
    for node in nodes.iter().filter(is_master) {
        let name = format!("etcd-{}", node.name);
        let pods = list(&mut facts.health.pods);
        let is_there = pods.iter().any(|pod| *pod.name == *name);
        if !is_there && !without.iter().any(|other| **other == *node.name) {
            pods.push(pod(
                "openshift-etcd",
                &name,
                &node.name,
                &["label", "app=etcd", "stays"],
            ));
        }
    }
}

/// `degraded because …`, `updating 3 12`, `silent`
fn pool_state(name: &str, state: &str, how: &[&str]) -> PoolState {
    let fine = PoolState {
        name: name.into(),
        is_paused: state == "paused",
        degraded: Fact::Known(None),
        is_updating: Fact::Known(false),
        ..PoolState::default()
    };
    match how {
        [] => fine,
        ["degraded", why @ ..] => PoolState {
            degraded: Fact::Known(Some(why.join(" ").into())),
            ..fine
        },
        ["updating", done, all] => PoolState {
            is_updating: Fact::Known(true),
            updated_nodes: Fact::Known(done.parse().unwrap()),
            nodes: Fact::Known(all.parse().unwrap()),
            ..fine
        },
        ["stream", name] => PoolState {
            stream: Some((*name).into()),
            ..fine
        },
        ["silent"] => PoolState {
            degraded: Fact::Unknown,
            is_updating: Fact::Unknown,
            ..fine
        },
        _ => panic!("how is a pool that is {how:?}?"),
    }
}

/// `cpu 4000 mem 8192 pods 250 not-ready cordoned silent`
fn node_state(name: &str, pool: Fact<std::sync::Arc<str>>, how: &[&str]) -> NodeState {
    let mut room = Room {
        cpu_milli: 4_000,
        memory_bytes: 8_192 << 20,
        pods: 250,
    };
    let mut node = NodeState {
        name: name.into(),
        pool,
        is_ready: Fact::Known(true),
        ..NodeState::default()
    };
    let (mut words, mut is_silent) = (how.iter(), false);
    while let Some(word) = words.next() {
        let mut number = || words.next().unwrap().parse::<u64>().unwrap();
        match *word {
            "cpu" => room.cpu_milli = number(),
            "mem" => room.memory_bytes = number() << 20,
            "pods" => room.pods = number(),
            "not-ready" => node.is_ready = Fact::Known(false),
            "cordoned" => node.is_cordoned = true,
            "silent" => is_silent = true,
            other => panic!("what is a node that is {other}?"),
        }
    }
    if !is_silent {
        node.allocatable = Fact::Known(room);
    }
    node
}

/// `owner StatefulSet/db cpu 500 mem 1024 label app=db stays ended not-ready`
fn pod(namespace: &str, name: &str, node: &str, how: &[&str]) -> Pod {
    let mut pod = Pod {
        namespace: namespace.into(),
        name: name.into(),
        node: fact(&node).map(Into::into),
        is_ready: true,
        ..Pod::default()
    };
    pod.requests.pods = 1;
    let mut words = how.iter();
    while let Some(word) = words.next() {
        let mut next = || *words.next().unwrap();
        match *word {
            "owner" => pod.owner = Some(next().replace('/', " ").into()),
            "cpu" => pod.requests.cpu_milli = next().parse().unwrap(),
            "mem" => pod.requests.memory_bytes = next().parse::<u64>().unwrap() << 20,
            "label" => {
                let (label, value) = next().split_once('=').unwrap();
                pod.labels.insert(label.into(), value.into());
            }
            "stays" => pod.stays = true,
            "ended" => pod.has_ended = true,
            "not-ready" => pod.is_ready = false,
            other => panic!("what is a pod that is {other}?"),
        }
    }
    pod
}

/// `label app=db min 2 max 1 allows 1 healthy 3 desired 2 expects 3`
fn budget(namespace: &str, name: &str, how: &[&str]) -> DisruptionBudget {
    let mut labels = std::collections::BTreeMap::new();
    let mut budget = DisruptionBudget {
        namespace: namespace.into(),
        name: name.into(),
        selector: Selector::None,
        min_available: None,
        max_unavailable: None,
        allowed: Fact::Unknown,
        healthy: Fact::Unknown,
        desired: Fact::Unknown,
        expected: Fact::Unknown,
    };
    let amount = |word: &str| match word.strip_suffix('%') {
        Some(percent) => Amount::Percent(percent.parse().unwrap()),
        None => Amount::Count(word.parse().unwrap()),
    };
    let mut words = how.iter();
    while let Some(word) = words.next() {
        let next = *words.next().unwrap();
        let number = || Fact::Known(next.parse().unwrap());
        match *word {
            "label" => {
                let (label, value) = next.split_once('=').unwrap();
                labels.insert(label.into(), value.into());
            }
            "min" => budget.min_available = Some(amount(next)),
            "max" => budget.max_unavailable = Some(amount(next)),
            "allows" => budget.allowed = number(),
            "healthy" => budget.healthy = number(),
            "desired" => budget.desired = number(),
            "expects" => budget.expected = number(),
            other => panic!("what is a budget that {other}?"),
        }
    }
    budget.selector = Selector::Those {
        labels,
        expressions: Vec::new(),
    };
    budget
}

fn list<T>(fact: &mut Fact<Vec<T>>) -> &mut Vec<T> {
    match fact {
        Fact::Known(list) => list,
        Fact::Unknown => unreachable!("facts are forgotten at the end"),
    }
}

/// What a plan has worker pools do.
fn course(word: &str) -> Workers {
    match word {
        "follow" => Workers::AsTheyAre,
        "wait" => Workers::HeldBack,
        "catch-up" => Workers::CatchUpAfter,
        _ => panic!("what do workers do when they {word:?}?"),
    }
}

fn entry(version: &str, progress: Progress) -> HistoryEntry {
    HistoryEntry {
        version: version.parse().unwrap(),
        progress,
    }
}

fn fact<'t>(text: &&'t str) -> Option<&'t str> {
    (*text != "?").then_some(*text)
}

fn minor(text: &str) -> Minor {
    Minor::parse(text).unwrap()
}

/// `max 4.8 min 4.6 kube-max 1.22 kube-min 1.19 problem …`
fn operator(name: &str, namespace: &str, limits: &[&str]) -> Operator {
    let mut operator = Operator {
        name: name.into(),
        namespace: namespace.into(),
        openshift: Range::default(),
        kubernetes: Range::default(),
        problems: Vec::new(),
    };
    let mut words = limits.iter();
    while let Some(word) = words.next() {
        let mut value = || minor(words.next().unwrap());
        match *word {
            "max" => operator.openshift.max = Some(value()),
            "min" => operator.openshift.min = Some(value()),
            "kube-max" => operator.kubernetes.max = Some(value()),
            "kube-min" => operator.kubernetes.min = Some(value()),
            "problem" => operator
                .problems
                .push(words.by_ref().copied().collect::<Vec<_>>().join(" ").into()),
            other => panic!("there is no limit {other}"),
        }
    }
    operator
}

/// `ingresses.v1beta1.extensions removed 1.22 by alice 5 by bob 3 unnamed 2`
fn api(name: &str, rest: &[&str]) -> ApiUse {
    let mut parts = name.splitn(3, '.').map(Into::into);
    let mut part = || parts.next().unwrap_or_else(|| "".into());
    let api = ApiName {
        resource: part(),
        version: part(),
        group: part(),
    };
    let mut usage = ApiUse {
        api,
        removed_in: None,
        replacement: None,
        users: Vec::new(),
        unnamed_requests: 0,
    };
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let mut next = || *words.next().unwrap();
        match *word {
            "removed" => usage.removed_in = Some(minor(next())),
            "by" => usage.users.push(ApiUser {
                name: next().into(),
                requests: next().parse().unwrap(),
                agent: None,
                last: None,
                counted: Default::default(),
            }),
            "unnamed" => usage.unnamed_requests = next().parse().unwrap(),
            other => panic!("what is {other}?"),
        }
    }
    usage
}

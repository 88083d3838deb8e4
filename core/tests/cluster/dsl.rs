//! A cluster and its way in a few lines of text; what stands in the way as text.
//!
//! What no line tells is known and empty; `unknown nodes` makes it unknown.

use std::fmt::Write;

use expect_test::Expect;
use towpath_core::cluster::objects::{
    ApiName, ApiUse, ApiUser, Facts, HistoryEntry, MachineConfigPool, Node, Objection, Operator,
    Progress, Range,
};
use towpath_core::cluster::way::{Stop, Way, Workers};
use towpath_core::cluster::{Fact, ready};
use towpath_core::version::Minor;
use towpath_testing_graphs::{confirmed_minors, minors};

pub(crate) fn check(story: &str, expected: Expect) {
    let Story { facts, way } = read(story);
    let readiness = ready(&way, &facts);
    let mut text = String::new();
    for hop in &readiness.hops {
        let answer = if hop.is_ready() { "ready" } else { "refused" };
        writeln!(text, "{} -> {}: {answer}", hop.from, hop.to).unwrap();
        for reason in hop.reasons() {
            writeln!(text, "  {}: {reason}", reason.code()).unwrap();
        }
    }
    expected.assert_eq(&text);
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
    readiness
        .paused_at_the_end
        .iter()
        .for_each(|pool| writeln!(text, "at the end unpause {pool}").unwrap());
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
        pools: Fact::Known(Vec::new()),
        operators: Fact::Known(Vec::new()),
        apis: Fact::Known(Vec::new()),
        gates: Fact::Known(Default::default()),
        acks: Fact::Known(Default::default()),
    }
}

pub(crate) fn read(story: &str) -> Story {
    let (mut facts, mut stops, mut table) = (known_and_empty(), Vec::new(), minors());
    let (mut unknown, mut workers) = (Vec::new(), Vec::new());
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
            ["pool", name, state] => {
                list(&mut facts.pools).push(MachineConfigPool {
                    name: (*name).into(),
                    is_paused: *state == "paused",
                });
            }
            ["node", name, pool, kubelet] => list(&mut facts.nodes).push(Node {
                name: (*name).into(),
                pool: fact(pool).map_or(Fact::Unknown, |pool| Fact::Known(pool.into())),
                kubelet: fact(kubelet).map_or(Fact::Unknown, |kubelet| Fact::Known(minor(kubelet))),
            }),
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
    let from = facts.heads_for().expect("where is the cluster?").clone();
    unknown.iter().for_each(|what| forget(&mut facts, what));
    Story {
        facts,
        way: Way::new(from, stops, &table).unwrap().with_workers(workers),
    }
}

pub(crate) const FACTS: [&str; 11] = [
    "history",
    "objections",
    "operator-objections",
    "failures",
    "operator-failures",
    "nodes",
    "pools",
    "operators",
    "apis",
    "gates",
    "acks",
];

pub(crate) fn forget(facts: &mut Facts, what: &str) {
    match what {
        "history" => facts.history = Fact::Unknown,
        "objections" => facts.objections = Fact::Unknown,
        "operator-objections" => facts.operator_objections = Fact::Unknown,
        "failures" => facts.failures = Fact::Unknown,
        "operator-failures" => facts.operator_failures = Fact::Unknown,
        "nodes" => facts.nodes = Fact::Unknown,
        "pools" => facts.pools = Fact::Unknown,
        "operators" => facts.operators = Fact::Unknown,
        "apis" => facts.apis = Fact::Unknown,
        "gates" => facts.gates = Fact::Unknown,
        "acks" => facts.acks = Fact::Unknown,
        other => panic!("there is no fact {other}"),
    }
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
            }),
            "unnamed" => usage.unnamed_requests = next().parse().unwrap(),
            other => panic!("what is {other}?"),
        }
    }
    usage
}

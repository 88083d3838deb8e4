//! A small cluster in lines of text, as tables of tests have it.
//!
//! ```text
//! pool worker max 2                       or: paused
//! node w1 zone a                          cpu 4000 mem 8192 pods 250 pool worker cordoned not-ready silent
//! pod shop/web-1 on w1 owner Deployment/web cpu 500 mem 512 app web stays port 443 apart web claim data needs disk=ssd
//! budget shop/web app web allowed 1       or: unknown, or: never
//! volume data of shop/data zone a         or: host w1
//! ```
//!
//! What no line tells is known and empty; `unknown budgets` makes them unknown.

use std::collections::BTreeMap;
use std::sync::Arc;

use towpath_core::cluster::Fact;
use towpath_core::cluster::health::{
    Amount, ClusterHealth, DisruptionBudget, Expression, Is, NodeState, Pod, PoolState, Room,
    Selector,
};
use towpath_core::cluster::placement::{ApartFrom, Domain, Volume, ZONE_LABEL};
use towpath_core::duration::MaxUnavailable;

const HOST_LABEL: &str = "kubernetes.io/hostname";

/// The cluster that a story tells.
pub fn cluster(story: &str) -> ClusterHealth {
    let mut health = ClusterHealth {
        nodes: Fact::Known(Vec::new()),
        pods: Fact::Known(Vec::new()),
        budgets: Fact::Known(Vec::new()),
        pools: Fact::Known(Vec::new()),
        volumes: Fact::Known(Vec::new()),
        ..ClusterHealth::default()
    };
    let mut unknown = Vec::new();
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["pool", name, how @ ..] => push(&mut health.pools, pool(name, how)),
            ["node", name, how @ ..] => push(&mut health.nodes, node(name, how)),
            ["pod", name, how @ ..] => push(&mut health.pods, pod(name, how)),
            ["budget", name, how @ ..] => push(&mut health.budgets, budget(name, how)),
            ["volume", name, how @ ..] => push(&mut health.volumes, volume(name, how)),
            ["unknown", what] => unknown.push(*what),
            _ => panic!("what is {line:?}?"),
        }
    }
    for what in unknown {
        match what {
            "nodes" => health.nodes = Fact::Unknown,
            "pods" => health.pods = Fact::Unknown,
            "budgets" => health.budgets = Fact::Unknown,
            "pools" => health.pools = Fact::Unknown,
            "volumes" => health.volumes = Fact::Unknown,
            other => panic!("what are {other}?"),
        }
    }
    health
}

fn push<T>(all: &mut Fact<Vec<T>>, one: T) {
    if let Fact::Known(all) = all {
        all.push(one);
    }
}

fn pool(name: &str, how: &[&str]) -> PoolState {
    let mut pool = PoolState {
        name: name.into(),
        max_unavailable: Fact::Known(MaxUnavailable::Count(1)),
        ..PoolState::default()
    };
    match how {
        [] => {}
        ["paused"] => pool.is_paused = true,
        ["max", most] => pool.max_unavailable = Fact::Known(MaxUnavailable::read(most).unwrap()),
        _ => panic!("how is a pool that is {how:?}?"),
    }
    pool
}

fn node(name: &str, how: &[&str]) -> NodeState {
    let mut room = Room {
        cpu_milli: 4_000,
        memory_bytes: 8_192 << 20,
        pods: 250,
    };
    let mut node = NodeState {
        name: name.into(),
        pool: Fact::Known("worker".into()),
        is_ready: Fact::Known(true),
        labels: [(HOST_LABEL.into(), name.into())].into(),
        ..NodeState::default()
    };
    let (mut words, mut is_silent) = (how.iter(), false);
    while let Some(word) = words.next() {
        let mut next = || *words.next().unwrap();
        match *word {
            "cpu" => room.cpu_milli = next().parse().unwrap(),
            "mem" => room.memory_bytes = next().parse::<u64>().unwrap() << 20,
            "pods" => room.pods = next().parse().unwrap(),
            "zone" => drop(node.labels.insert(ZONE_LABEL.into(), next().into())),
            "pool" => node.pool = Fact::Known(next().into()),
            "label" => drop(pair(next()).map(|(label, value)| node.labels.insert(label, value))),
            "created" => node.created_at = Some(next().parse().unwrap()),
            "no-pool" => node.pool = Fact::Unknown,
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

fn pair(text: &str) -> Option<(Arc<str>, Arc<str>)> {
    let (label, value) = text.split_once('=')?;
    Some((label.into(), value.into()))
}

fn full_name(name: &str) -> (Arc<str>, Arc<str>) {
    let (namespace, name) = name.split_once('/').unwrap();
    (namespace.into(), name.into())
}

fn pod(name: &str, how: &[&str]) -> Pod {
    let (namespace, name) = full_name(name);
    let mut pod = Pod {
        namespace,
        name,
        is_ready: true,
        ..Pod::default()
    };
    pod.requests.pods = 1;
    let mut words = how.iter();
    while let Some(word) = words.next() {
        let mut next = || *words.next().unwrap();
        let placement = &mut pod.placement;
        match *word {
            "on" => pod.node = Some(next().into()),
            "owner" => pod.owner = Some(next().replace('/', " ").into()),
            "cpu" => pod.requests.cpu_milli = next().parse().unwrap(),
            "mem" => pod.requests.memory_bytes = next().parse::<u64>().unwrap() << 20,
            "app" => drop(pod.labels.insert("app".into(), next().into())),
            "port" => drop(placement.host_ports.insert(next().parse().unwrap())),
            "claim" => drop(placement.claims.insert(next().into())),
            "needs" => placement.labels.extend(pair(next())),
            "other" => drop(placement.others.insert(next().into())),
            "apart" => placement.apart_from.push(ApartFrom {
                pods: of_app(next()),
                within: Domain::Host,
            }),
            "stays" => pod.stays = true,
            "ended" => pod.has_ended = true,
            other => panic!("what is a pod that is {other}?"),
        }
    }
    pod
}

fn of_app(app: &str) -> Selector {
    let labels: BTreeMap<Arc<str>, Arc<str>> = [("app".into(), app.into())].into();
    Selector::Those {
        labels,
        expressions: Vec::new(),
    }
}

fn budget(name: &str, how: &[&str]) -> DisruptionBudget {
    let (namespace, name) = full_name(name);
    let ["app", app, how @ ..] = how else {
        panic!("whose is the budget {name}?");
    };
    let (allowed, most) = match how {
        ["allowed", number] => (Fact::Known(number.parse().unwrap()), 1),
        ["never"] => (Fact::Known(0), 0),
        ["unknown"] => (Fact::Unknown, 1),
        _ => panic!("what is a budget that is {how:?}?"),
    };
    DisruptionBudget {
        namespace,
        name,
        selector: of_app(app),
        min_available: None,
        max_unavailable: Some(Amount::Count(most)),
        allowed,
        healthy: Fact::Unknown,
        desired: Fact::Unknown,
        expected: Fact::Unknown,
    }
}

fn volume(name: &str, how: &[&str]) -> Volume {
    let ["of", claim, rest @ ..] = how else {
        panic!("whose is the volume {name}?");
    };
    let (label, value) = match rest {
        ["zone", zone] => (ZONE_LABEL, *zone),
        ["host", host] => (HOST_LABEL, *host),
        _ => panic!("where is the volume {name}?"),
    };
    let condition = Expression {
        label: label.into(),
        is: Is::In([value.into()].into()),
    };
    Volume {
        name: name.into(),
        claim: Some(full_name(claim)),
        terms: vec![vec![condition]],
    }
}

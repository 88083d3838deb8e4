//! What holds for every cluster and every way.

use proptest::prelude::*;
use towpath_core::cluster::health::{
    Alert, Amount, ClusterHealth, DisruptionBudget, InstallPlan, NodeState, Pod, PoolState, Room,
    Selector,
};
use towpath_core::cluster::objects::{
    ApiName, ApiUse, ApiUser, Facts, HistoryEntry, HostedPool, MachineConfigPool, Node, Objection,
    Operator, Progress, Range, Topology,
};
use towpath_core::cluster::way::{Stop, Way};
use towpath_core::cluster::{Fact, ready};
use towpath_core::verdict::Answer;
use towpath_core::version::Minor;
use towpath_testing_graphs::minors;

use crate::dsl::{FACTS, forget};

proptest! {
    #[test]
    fn patches_are_never_stopped(facts in any_facts(), way in any_way(), skew in any_skew()) {
        let readiness = ready(&with_skew(&way, skew), &facts);
        for (step, hop) in way.steps().zip(&readiness.hops).filter(|(step, _)| !step.is_minor()) {
            prop_assert_eq!(&hop.verdict.answer, &Answer::Recommend, "{} to {}", hop.from, step.to());
            prop_assert!(hop.tasks.is_empty() && hop.reasons().all(|reason| reason.code().is_note));
        }
    }

    #[test]
    fn more_unknown_never_loosens(
        facts in any_facts(), way in any_way(), skew in any_skew(), what in 0..FACTS.len(), node in any::<prop::sample::Index>(),
    ) {
        let before = ready(&with_skew(&way, skew), &facts);
        let mut less = facts.clone();
        forget(&mut less, FACTS[what]);
        let mut vaguer = facts;
        if let Fact::Known(nodes) = &mut vaguer.nodes && !nodes.is_empty() {
            let node = node.get_mut(nodes);
            node.kubelet = Fact::Unknown;
        }
        let mut unsaid = vaguer.clone();
        if let Fact::Known(budgets) = &mut unsaid.health.budgets {
            budgets.iter_mut().for_each(|budget| (budget.allowed, budget.expected) = (Fact::Unknown, Fact::Unknown));
        }
        if let Fact::Known(pools) = &mut unsaid.health.pools {
            pools.iter_mut().for_each(|pool| (pool.degraded, pool.is_updating) = (Fact::Unknown, Fact::Unknown));
        }
        if let Fact::Known(nodes) = &mut unsaid.health.nodes {
            nodes.iter_mut().for_each(|node| (node.is_ready, node.allocatable) = (Fact::Unknown, Fact::Unknown));
        }
        let mut adrift = vaguer.clone();
        if let Fact::Known(nodes) = &mut adrift.nodes {
            nodes.iter_mut().for_each(|node| node.pool = Fact::Unknown);
        }
        for (facts, than) in [(&less, &before), (&vaguer, &before), (&unsaid, &before), (&adrift, &ready(&with_skew(&way, skew), &vaguer))] {
            let after = ready(&with_skew(&way, skew), facts);
            for (then, now) in than.hops.iter().zip(&after.hops) {
                prop_assert!(then.is_ready() || !now.is_ready(), "{} to {} without {}", now.from, now.to, FACTS[what]);
            }
        }
    }

    #[test]
    fn every_refusal_says_what_to_do_once(facts in any_facts(), way in any_way(), skew in any_skew()) {
        let readiness = ready(&with_skew(&way, skew), &facts);
        let first = readiness.hops.iter().find(|hop| !hop.is_ready());
        prop_assert_eq!(first.is_none(), readiness.is_ready());
        prop_assert!(first.is_none_or(|hop| !hop.tasks.is_empty() || !readiness.unjudged().is_empty()));
        // Where nothing objects, there may still be pools to wait for.
        prop_assert!(first.is_none_or(|hop| !hop.has_objections() || !hop.tasks.is_empty()));
        let mut all: Vec<&str> = readiness.hops.iter().flat_map(|hop| &hop.tasks).map(|task| task.text.as_str()).collect();
        let before = all.len();
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len(), before);
    }

    #[test]
    fn a_larger_skew_never_delays_the_first_unpausing(facts in any_facts(), way in any_way()) {
        let first = |skew: u8| {
            let hops = ready(&with_skew(&way, Some(skew)), &facts).hops;
            hops.iter().position(|hop| hop.reasons().any(|reason| reason.code().name.ends_with("TooOld"))).unwrap_or(usize::MAX)
        };
        prop_assert!(first(1) <= first(2) && first(2) <= first(3));
    }
}

pub(crate) fn any_way() -> impl Strategy<Value = Way> {
    let stops = proptest::collection::vec(any::<bool>(), 1..6);
    (4u64..9, stops).prop_map(|(minor, stops)| {
        let (mut minor_now, mut patch) = (minor, 1);
        let stops = stops.into_iter().map(|is_minor| {
            (minor_now, patch) = if is_minor {
                (minor_now + 1, 0)
            } else {
                (minor_now, patch + 1)
            };
            Stop::Release(format!("4.{minor_now}.{patch}").parse().unwrap())
        });
        let from = format!("4.{minor}.1").parse().unwrap();
        Way::new(from, stops.collect(), &minors()).unwrap()
    })
}

fn any_skew() -> impl Strategy<Value = Option<u8>> {
    proptest::option::of(1u8..4)
}

/// The same way, with one limit for all kubelets.
fn with_skew(way: &Way, skew: Option<u8>) -> Way {
    let stops = way.steps().map(|step| step.to().clone()).collect();
    Way::new(way.from().clone(), stops, &minors().with_max_skew(skew)).unwrap()
}

pub(crate) fn any_facts() -> impl Strategy<Value = Facts> {
    let history = fact(proptest::collection::vec(
        (4u64..9, any::<bool>()).prop_map(|(minor, done)| HistoryEntry {
            version: format!("4.{minor}.1").parse().unwrap(),
            progress: if done {
                Progress::Completed
            } else {
                Progress::Partial
            },
        }),
        0..3,
    ));
    let objections = || {
        let objection = "[ab]".prop_map(|by| Objection {
            by: by.into(),
            reason: "Busy".into(),
            message: "".into(),
        });
        fact(proptest::collection::vec(objection, 0..2))
    };
    let node =
        ("[a-f]", fact("p|q|master"), fact(15u64..23)).prop_map(|(name, pool, kubelet)| Node {
            name: name.into(),
            pool: match pool {
                Fact::Known(pool) => Fact::Known(pool.into()),
                Fact::Unknown => Fact::Unknown,
            },
            kubelet: match kubelet {
                Fact::Known(minor) => Fact::Known(Minor::new(1, minor)),
                Fact::Unknown => Fact::Unknown,
            },
        });
    let pool = ("p|q|master", any::<bool>()).prop_map(|(name, is_paused)| MachineConfigPool {
        name: name.into(),
        is_paused,
    });
    let pools = fact(proptest::collection::vec(pool, 0..3));
    let operator = (
        "[ab]",
        proptest::option::of(5u64..12),
        proptest::option::of(5u64..12),
    )
        .prop_map(|(name, min, max)| {
            let minor = |minor| Minor::new(4, minor);
            Operator {
                name: name.into(),
                namespace: "openshift-a".into(),
                openshift: Range {
                    min: min.map(minor),
                    max: max.map(minor),
                },
                kubernetes: Range::default(),
                problems: Vec::new(),
            }
        });
    let user = prop_oneof![
        Just("ada"),
        Just("system:node:a"),
        Just("system:serviceaccount:openshift-a:b")
    ];
    let api = (
        proptest::option::of(17u64..25),
        proptest::collection::vec((user, 0u64..3), 0..3),
    )
        .prop_map(|(removed_in, users)| ApiUse {
            api: ApiName {
                resource: "ingresses".into(),
                version: "v1beta1".into(),
                group: "extensions".into(),
            },
            removed_in: removed_in.map(|minor| Minor::new(1, minor)),
            replacement: None,
            users: users
                .into_iter()
                .map(|(name, requests)| ApiUser {
                    name: name.into(),
                    agent: None,
                    requests,
                    last: None,
                    counted: Default::default(),
                })
                .collect(),
            unnamed_requests: 0,
        });
    let gate = (4u64..10).prop_map(|minor| (format!("ack-4.{minor}-x").into(), "Look".into()));
    let ack = (4u64..10).prop_map(|minor| format!("ack-4.{minor}-x").into());
    (
        history,
        (objections(), objections(), objections(), objections()),
        (fact(proptest::collection::vec(node, 0..5)), any_topology()),
        pools,
        fact(proptest::collection::vec(operator, 0..3)),
        fact(proptest::collection::vec(api, 0..2)),
        fact(proptest::collection::btree_map(
            gate.clone().prop_map(|(gate, _)| gate),
            gate.prop_map(|(_, text)| text),
            0..3,
        )),
        fact(proptest::collection::btree_set(ack, 0..3)),
        any_health(),
    )
        .prop_map(
            |(
                history,
                (objections, operator_objections, failures, operator_failures),
                (nodes, (topology, node_pools)),
                pools,
                operators,
                apis,
                gates,
                acks,
                health,
            )| {
                Facts {
                    history,
                    objections,
                    operator_objections,
                    failures,
                    operator_failures,
                    nodes,
                    topology,
                    node_pools,
                    pools,
                    operators,
                    apis,
                    gates,
                    acks,
                    health,
                }
            },
        )
}

fn any_topology() -> impl Strategy<Value = (Fact<Topology>, Vec<HostedPool>)> {
    let topology = fact(any::<bool>().prop_map(|is_hosted| match is_hosted {
        true => Topology::Hosted,
        false => Topology::Standalone,
    }));
    let pool = ("p|q", 5u64..10).prop_map(|(name, minor)| HostedPool {
        name: name.into(),
        version: Fact::from(format!("4.{minor}.1").parse().ok()),
    });
    (topology, proptest::collection::vec(pool, 0..2))
}

fn any_health() -> impl Strategy<Value = ClusterHealth> {
    let pool = (
        "p|q|master",
        any::<bool>(),
        fact(any::<bool>()),
        fact(any::<bool>()),
    )
        .prop_map(|(name, is_paused, degraded, is_updating)| PoolState {
            name: name.into(),
            is_paused,
            degraded: match degraded {
                Fact::Known(is_degraded) => Fact::Known(is_degraded.then(|| "broken".into())),
                Fact::Unknown => Fact::Unknown,
            },
            is_updating,
            ..PoolState::default()
        });
    let node = ("[a-d]", "p|q|master", any::<bool>(), 0u64..4).prop_map(
        |(name, pool, is_ready, cpu_milli)| NodeState {
            name: name.into(),
            pool: Fact::Known(pool.into()),
            is_ready: Fact::Known(is_ready),
            allocatable: Fact::Known(Room {
                cpu_milli,
                memory_bytes: 0,
                pods: 3,
            }),
            ..NodeState::default()
        },
    );
    let pod = ("[xy]", "[a-d]", 0u64..3, any::<(bool, bool)>()).prop_map(
        |(app, node, cpu_milli, (stays, is_ready))| Pod {
            namespace: "shop".into(),
            name: app.clone().into(),
            node: Some(node.into()),
            labels: [("app".into(), app.into())].into(),
            requests: Room {
                cpu_milli,
                memory_bytes: 0,
                pods: 1,
            },
            stays,
            is_ready,
            ..Pod::default()
        },
    );
    let amount = || proptest::option::of((0u64..3).prop_map(Amount::Count));
    let budget = ("[xy]", amount(), amount(), 0u64..3, 0u64..3).prop_map(
        |(app, min_available, max_unavailable, allowed, expected)| DisruptionBudget {
            namespace: "shop".into(),
            name: app.clone().into(),
            selector: Selector::Those {
                labels: [("app".into(), app.into())].into(),
                expressions: Vec::new(),
            },
            min_available,
            max_unavailable,
            allowed: Fact::Known(allowed),
            healthy: Fact::Unknown,
            desired: Fact::Unknown,
            expected: Fact::Known(expected),
        },
    );
    let plan = "[ab]".prop_map(|name| InstallPlan {
        namespace: "shop".into(),
        name: name.into(),
        operators: Vec::new(),
    });
    let alert = ("[ab]", any::<bool>()).prop_map(|(name, is_critical)| Alert {
        name: name.into(),
        is_critical,
        ..Alert::default()
    });
    (
        fact(proptest::collection::vec(pool, 0..3)),
        fact(proptest::collection::vec(node, 0..4)),
        fact(proptest::collection::vec(pod, 0..4)),
        fact(proptest::collection::vec(budget, 0..3)),
        fact(proptest::collection::vec(plan, 0..2)),
        fact(proptest::collection::vec(alert, 0..2)),
    )
        .prop_map(
            |(pools, nodes, pods, budgets, install_plans, alerts)| ClusterHealth {
                pools,
                nodes,
                pods,
                budgets,
                install_plans,
                alerts,
                ..ClusterHealth::default()
            },
        )
}

fn fact<T: std::fmt::Debug + Clone>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Fact<T>> {
    proptest::option::weighted(0.8, value).prop_map(Fact::from)
}

//! Whom a change touches now.

use std::collections::{BTreeMap, BTreeSet};

use towpath_core::change::{TouchedClusters, touched};
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::fleet::{Binding, ClusterState, Health, Product};
use towpath_core::graph::ChannelName;
use towpath_core::version::Arch;

use towpath_testing_graphs::{day, graph};

const BASE: &str = "
    channel stable
    rule any P4D
    release 4.9.1 day 1
    release 4.9.2 day 10
    edges 4.9.1 -> 4.9.2";

/// A hundred clusters on 4.9.1, a tenth of them on AWS; one that is up to date; one that follows no channel.
fn fleet() -> Vec<ClusterState> {
    let waiting = (0..100).map(|n| {
        cluster(
            n,
            "4.9.1",
            Some("stable"),
            if n % 10 == 0 { "AWS" } else { "GCP" },
        )
    });
    waiting
        .chain([
            cluster(100, "4.9.2", Some("stable"), "AWS"),
            cluster(101, "4.9.1", None, "AWS"),
        ])
        .collect()
}

fn cluster(number: u32, version: &str, channel: Option<&str>, platform: &str) -> ClusterState {
    ClusterState {
        id: ClusterId::new(&format!("00000000-0000-4000-8000-{number:012x}")).unwrap(),
        name: format!("c{number}").as_str().into(),
        organisation: "acme".into(),
        binding: Binding::Bound,
        version: version.parse().unwrap(),
        going_to: None,
        version_since: day("1"),
        last_seen: day("1"),
        health: Health::Healthy,
        channel: channel.and_then(ChannelName::new),
        arch: Arch::default(),
        platform: Platform::new(platform).map_or(Fact::Unknown, Fact::Known),
        labels: BTreeMap::new(),
        product: Product::Standalone,
        sts: Fact::Unknown,
        wif: Fact::Unknown,
        offers: [].into(),
        acknowledged_gates: BTreeSet::new(),
        available_channels: Fact::Unknown,
    }
}

fn check(now: &str, [base, new]: [&str; 2]) -> TouchedClusters {
    let mut by_channel = touched(&graph(base), &graph(new), &fleet(), day(now));
    assert_eq!(by_channel.len(), 1, "who follows no channel is not counted");
    by_channel.remove("stable").unwrap()
}

#[test]
fn a_block_touches_whom_it_was_offered_to() {
    let blocked = format!("{BASE}\nblock 4.9.2 from .*");
    assert_eq!(
        check("20", [BASE, &blocked]),
        TouchedClusters {
            clusters: 101,
            touched: 100,
            gain: 0,
            lose: 100
        }
    );
    assert_eq!(
        check("20", [&blocked, BASE]),
        TouchedClusters {
            clusters: 101,
            touched: 100,
            gain: 100,
            lose: 0
        }
    );
}

#[test]
fn a_targeted_block_touches_its_platforms() {
    let blocked = format!("{BASE}\nblock 4.9.2 from .* on AWS");
    assert_eq!(
        check("20", [BASE, &blocked]),
        TouchedClusters {
            clusters: 101,
            touched: 10,
            gain: 0,
            lose: 10
        }
    );
}

#[test]
fn in_a_window_only_those_are_touched_whom_it_has_reached() {
    let blocked = format!("{BASE}\nblock 4.9.2 from .*");
    let at_once = BASE.replace("rule any P4D", "");
    let (reached, others) = (check("12", [BASE, &blocked]), check("12", [BASE, &at_once]));
    assert_eq!(reached.touched + others.touched, 100);
    assert!(
        (40..60).contains(&reached.touched),
        "{reached:?} is about half of a hundred"
    );
    assert_eq!((reached.gain, others.lose), (0, 0));
}

#[test]
fn a_risk_to_weigh_is_less_than_an_open_offer_and_more_than_none() {
    let risky = format!("{BASE}\nrisk Slow 4.9.2 from .*");
    let blocked = format!("{BASE}\nblock 4.9.2 from .*");
    assert_eq!(
        check("20", [BASE, &risky]),
        TouchedClusters {
            clusters: 101,
            touched: 100,
            gain: 0,
            lose: 100
        }
    );
    assert_eq!(
        check("20", [&blocked, &risky]),
        TouchedClusters {
            clusters: 101,
            touched: 100,
            gain: 100,
            lose: 0
        }
    );
}

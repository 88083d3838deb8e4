//! How long a pass over a fleet takes: from scratch, with nothing to do, after one report.
//!
//! `cargo bench -p towpath-core --bench fleet -- [CLUSTERS…]` prints one line of JSON for each size. `cargo xtask bench fleet` holds them
//! to their bars.
#![allow(clippy::unwrap_used, reason = "the fleet is made here")]
#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]
#![allow(clippy::disallowed_methods, reason = "a bench looks at the clock")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::{ClusterId, Fact};
use towpath_core::finding::Place;
use towpath_core::fleet::{
    Binding, ClusterState, Decision, FleetInput, FleetPlanner, Health, Name, Offer, Organisation,
    PolicyDefault, Product, Sector, SoakSum, UpgradePolicy,
};
use towpath_core::graph::Pattern;
use towpath_core::version::{Arch, Version};

const SECTORS: [&str; 5] = ["dev", "stage", "canary", "prod", "late"];
const WORKLOADS: [&str; 8] = ["web", "db", "batch", "ai", "edge", "mail", "log", "etl"];
const CANDIDATES: usize = 20;
const ROUNDS: usize = 5;

fn main() {
    let sizes: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|size| size.parse().ok())
        .collect();
    let sizes = if sizes.is_empty() {
        vec![10_000]
    } else {
        sizes
    };
    for size in sizes {
        measure(size);
    }
}

fn measure(clusters: usize) {
    let now: Timestamp = "2026-01-05T12:00:00Z".parse().unwrap();
    let begin = Instant::now();
    let input = fleet(clusters, now);
    let made = begin.elapsed();
    let begin = Instant::now();
    let fresh = FleetPlanner::new(input);
    let numbered = begin.elapsed();
    // From scratch: nothing judged yet. The largest fleet is there only once, so that its memory is its own.
    let (mut desk, mut full) = (fresh, Duration::MAX);
    for _ in 1..if clusters < 500_000 { ROUNDS } else { 1 } {
        full = full.min(timed(|| desk.clone().pass(now)).0);
    }
    full = full.min(timed(|| desk.pass(now)).0);
    let (mut idle, mut later) = (Duration::MAX, now);
    for _ in 0..ROUNDS {
        later += SignedDuration::from_secs(60);
        let (took, decision) = timed(|| desk.pass(later));
        assert!(decision.starts.is_empty(), "the sectors hold back");
        idle = idle.min(took);
    }
    let mut after_report = Duration::MAX;
    for round in 0..ROUNDS {
        later += SignedDuration::from_secs(60);
        let member = desk.roster().numbers().nth(clusters / 2 + round);
        let mut state = desk.roster().cluster(member.unwrap()).clone();
        state.last_seen = later;
        let version = state.version.clone();
        let (took, _) = timed(|| {
            assert!(
                desk.seen(state, Some((&version, 60))),
                "a report can be followed"
            );
            desk.pass(later)
        });
        after_report = after_report.min(took);
    }
    let micros = |duration: Duration| duration.as_micros();
    println!(
        "{{\"clusters\":{clusters},\"candidates\":{CANDIDATES},\"make_us\":{},\"number_us\":{},\"full_us\":{},\"idle_us\":{},\"report_us\":{},\"peak_kib\":{}}}",
        micros(made),
        micros(numbered),
        micros(full),
        micros(idle),
        micros(after_report),
        peak_kib(),
    );
}

fn timed(pass: impl FnOnce() -> Decision) -> (Duration, Decision) {
    let begin = Instant::now();
    let decision = pass();
    (begin.elapsed(), decision)
}

/// The most memory that this process ever had.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or(0)
}

/// Five sectors, each after the one before; the newest version is on no cluster, so each sector holds back the next, and the first
/// has not soaked. Every cluster has its own list of twenty candidates.
fn fleet(clusters: usize, now: Timestamp) -> FleetInput {
    let versions: Vec<Version> = (0..120)
        .map(|n| format!("4.{}.{}", 12 + n / 30, n % 30).parse().unwrap())
        .collect();
    let place = Place::file("bench");
    let sector = |at: usize| Sector {
        name: SECTORS[at].into(),
        depends_on: SECTORS[..at]
            .last()
            .into_iter()
            .map(|name| (*name).into())
            .collect(),
        max_parallel: None,
        max_failures: None,
        straggler_days: None,
        origin: place.clone(),
    };
    let default = |number: usize| {
        let (at, workload) = (
            number % SECTORS.len(),
            number / SECTORS.len() % WORKLOADS.len(),
        );
        PolicyDefault {
            name: format!("p{number}").into(),
            match_labels: BTreeMap::from([("policy".to_owned(), number.to_string())]),
            policy: UpgradePolicy {
                workloads: [
                    WORKLOADS[workload].into(),
                    WORKLOADS[(workload + 1) % WORKLOADS.len()].into(),
                ]
                .into(),
                schedule: Some(format!("{} * * * *", number % 60).parse().unwrap()),
                soak_days: Some(1 + at as u32),
                mutexes: [format!("m{}", number % 25).into()].into(),
                sector: Some(SECTORS[at].into()),
                blocked_versions: vec![Pattern::new(r"^4\.14\.1[0-3]$").unwrap()],
                ..UpgradePolicy::default()
            },
            problems: Vec::new(),
            origin: place.clone(),
        }
    };
    let organisations = clusters.div_ceil(10_000);
    let organisation = |number: usize| {
        let id: Name = format!("org-{number}").into();
        let organisation = Organisation {
            name: id.clone(),
            id: id.clone(),
            environment: None,
            blocked_versions: vec![Pattern::new("-rc").unwrap()],
            sectors: (0..SECTORS.len())
                .map(|at| (SECTORS[at].into(), sector(at)))
                .collect(),
            clusters: Vec::new(),
            defaults: (0..200).map(default).collect(),
            inherits_from: [].into(),
            shared_mutexes: [].into(),
            disabled: false,
            origin: place.clone(),
        };
        (id, organisation)
    };
    let soak = (0..organisations).flat_map(|number| {
        let versions = &versions;
        WORKLOADS.iter().flat_map(move |workload| {
            versions.iter().map(move |version| SoakSum {
                organisation: format!("org-{number}").into(),
                workload: (*workload).into(),
                version: version.clone(),
                seconds: 3_600,
            })
        })
    });
    let soak: Vec<SoakSum> = soak.collect();
    let cluster = |number: usize| {
        let at = number * 7 % (versions.len() - CANDIDATES - 1);
        // Of the versions above, twenty: with gaps that differ from cluster to cluster.
        let step = 1 + number % ((versions.len() - at - 1) / CANDIDATES).max(1);
        let offers = (1..=CANDIDATES).map(|n| Offer::free(versions[at + n * step].clone()));
        ClusterState {
            id: ClusterId::new(&format!("{number:08}-0000-4000-8000-000000000000")).unwrap(),
            name: format!("cluster-{number}").into(),
            organisation: format!("org-{}", number % organisations).into(),
            binding: Binding::Bound,
            version: versions[at].clone(),
            going_to: None,
            version_since: now,
            last_seen: now,
            health: Health::Healthy,
            channel: None,
            arch: Arch::default(),
            platform: Fact::Unknown,
            labels: BTreeMap::from([("policy".to_owned(), (number % 200).to_string())]),
            product: Product::Standalone,
            sts: Fact::Unknown,
            wif: Fact::Unknown,
            offers: offers.collect(),
            acknowledged_gates: [].into(),
            available_channels: towpath_core::cluster::Fact::Unknown,
        }
    };
    FleetInput {
        policy: towpath_core::fleet::FleetPolicy {
            organisations: (0..organisations).map(organisation).collect(),
        },
        clusters: (0..clusters).map(cluster).collect(),
        soak,
        ..FleetInput::default()
    }
}

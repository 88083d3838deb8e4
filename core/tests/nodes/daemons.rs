//! DaemonSets in waves: fast, never past the limit, and back at the first bad pod.

use jiff::SignedDuration;
use proptest::prelude::*;
use towpath_core::duration::MaxUnavailable;
use towpath_core::nodes::DaemonProgress;

use crate::cluster::{Cluster, Conduct};

#[test]
fn on_250_nodes_it_takes_14_minutes_instead_of_80() {
    let mut cluster = Cluster::new(250);
    let (took, progress) = cluster.run();
    assert_eq!(progress, DaemonProgress::Done);
    assert_eq!(cluster.on("b"), 250);
    assert!(took <= SignedDuration::from_mins(14), "{took:?}");
    assert_eq!(cluster.most_away, 25);
    // One by one, as it is without.
    let mut cluster = Cluster::new(250);
    cluster.settings.at_most_away = MaxUnavailable::Count(1);
    let (took, _) = cluster.run();
    assert!(took >= SignedDuration::from_mins(75), "{took:?}");
}

#[test]
fn a_revision_that_breaks_at_once_never_gets_past_its_canaries() {
    let mut cluster = Cluster::new(250);
    cluster.conduct.insert("b".into(), Conduct::Breaks);
    let (_, progress) = cluster.run();
    assert!(
        matches!(&progress, DaemonProgress::RolledBack { why } if why.contains("CrashLoopBackOff")),
        "{progress:?}"
    );
    assert_eq!(cluster.reached["b"].len(), 3);
    assert_eq!(cluster.on("a"), 250);
    // Somebody sets it again: it goes back at once, and no pod gets it.
    cluster.view.wanted = "b".into();
    let step = cluster.step();
    assert_eq!(step.roll_back_to.as_deref(), Some("a"));
    assert!(step.delete.is_empty());
    // A third revision is a new rollout, and can go back to the same.
    cluster.view.wanted = "c".into();
    let step = cluster.step();
    assert_eq!(step.record.back_to.as_deref(), Some("a"));
    assert_eq!(cluster.run().1, DaemonProgress::Done);
    assert_eq!(cluster.on("c"), 250);
}

/// From the first bad pod to the old revision everywhere it takes no longer than one wave, and one round of deletions.
#[test]
fn it_is_rolled_back_within_one_wave() {
    let mut cluster = Cluster::new(250);
    cluster.conduct.insert("b".into(), Conduct::Breaks);
    let mut rounds = 0;
    let is_back =
        |progress: &DaemonProgress| matches!(progress, DaemonProgress::RollingBack { .. });
    while !is_back(&cluster.step().progress) {
        cluster.take(usize::MAX);
        cluster.wait(2);
    }
    let failed = cluster.now;
    let progress = loop {
        rounds += usize::from(!cluster.step().delete.is_empty());
        let progress = cluster.take(usize::MAX);
        if !is_back(&progress) {
            break progress;
        }
        cluster.wait(2);
    };
    assert!(
        matches!(progress, DaemonProgress::RolledBack { .. }),
        "{progress:?}"
    );
    let took = cluster.now.duration_since(failed);
    // A wave of the three canaries takes less than half a minute, and each step two seconds.
    assert!(took <= SignedDuration::from_secs(30), "{took:?}");
    assert_eq!((rounds, cluster.on("a")), (1, 250));
}

#[test]
fn a_pod_that_hangs_is_bad_after_its_time_and_only_where_its_node_is_well() {
    let mut cluster = Cluster::new(30);
    cluster.conduct.insert("b".into(), Conduct::HangsIn(1));
    let (took, progress) = cluster.run();
    assert!(
        matches!(&progress, DaemonProgress::RolledBack { why } if why.contains("n001")),
        "{progress:?}"
    );
    assert!(took > cluster.settings.patience);
    assert_eq!(cluster.reached["b"].len(), 3);
    // A canary whose node is lost does not speak against the revision, nor hold the others for ever.
    let mut cluster = Cluster::new(30);
    cluster.take(usize::MAX);
    cluster.lose(1, 3_600);
    let (_, progress) = cluster.run();
    assert_eq!(progress, DaemonProgress::Done);
}

#[test]
fn canaries_soak_and_then_one_two_four() {
    let mut cluster = Cluster::new(100);
    assert_eq!(cluster.step().delete.len(), 3);
    cluster.take(usize::MAX);
    cluster.wait(30);
    let DaemonProgress::Soaking { until } = cluster.step().progress else {
        panic!("{:?}", cluster.step().progress);
    };
    assert_eq!(until, cluster.now + SignedDuration::from_mins(1));
    cluster.wait(59);
    assert_eq!(cluster.step().delete.len(), 0);
    cluster.wait(1);
    let mut waves = Vec::new();
    while cluster.on("b") < 100 {
        waves.push(cluster.step().delete.len());
        cluster.take(usize::MAX);
        cluster.wait(120);
    }
    assert_eq!(waves[..5], [1, 2, 4, 8, 10]);
}

#[test]
fn lost_nodes_count_against_the_limit() {
    let mut cluster = Cluster::new(100);
    for number in 50..60 {
        cluster.lose(number, 600);
    }
    let step = cluster.step();
    assert!(step.delete.is_empty());
    cluster.wait(600);
    assert!(!cluster.step().delete.is_empty());
}

#[test]
fn with_nothing_to_go_back_to_it_stops() {
    let mut cluster = Cluster::new(3);
    for pod in &mut cluster.view.pods {
        pod.revision = "b".into();
        pod.ready_since = None;
        pod.broken = Some("ImagePullBackOff".into());
    }
    let step = cluster.step();
    assert!(matches!(step.progress, DaemonProgress::Stuck { .. }));
    assert!(step.delete.is_empty() && step.roll_back_to.is_none());
}

/// Random numbers from a seed.
struct Seed(u64);

impl Seed {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    /// Whoever rolls out dies at any step, nodes are lost, revisions break: no more nodes than the limit are ever without a pod for
    /// what we did, and it ends with one revision everywhere.
    #[test]
    fn the_limit_holds_through_deaths(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let nodes = 1 + seed.below(60) as usize;
        let mut cluster = Cluster::new(nodes);
        cluster.settings.at_most_away = match seed.below(2) {
            0 => MaxUnavailable::Percent(1 + seed.below(40) as u32),
            _ => MaxUnavailable::Count(1 + seed.below(5) as u32),
        };
        let conduct = match seed.below(5) {
            0 => Conduct::Breaks,
            1 => Conduct::HangsIn(seed.below(3) as usize),
            2 => Conduct::BreaksOften(2 + seed.below(40)),
            _ => Conduct::Works,
        };
        cluster.conduct.insert("b".into(), conduct);
        let limit = cluster.settings.at_most_away.rounded_up(nodes as u32) as usize;
        for _ in 0..seed.below(60) {
            let before = cluster.away();
            let parts = match seed.below(3) {
                0 => seed.below(6) as usize,
                _ => usize::MAX,
            };
            cluster.most_away = 0;
            let stranger = seed.below(20) == 0;
            if stranger {
                let number = seed.below(nodes as u64) as usize;
                let lost = 1 + seed.below(900) as i64;
                cluster.lose(number, lost);
            }
            let before = before.max(cluster.away());
            cluster.take(parts);
            prop_assert!(cluster.most_away <= limit.max(before), "{} of {limit} were away", cluster.most_away);
            cluster.wait(1 + seed.below(90) as i64);
        }
        cluster.wait(1_000);
        let (_, progress) = cluster.run();
        let (a, b) = (cluster.on("a"), cluster.on("b"));
        match progress {
            DaemonProgress::Done => prop_assert_eq!(b, nodes),
            DaemonProgress::RolledBack { .. } => prop_assert_eq!(a, nodes),
            other => prop_assert!(false, "it ended as {other:?} with {a} and {b} of {nodes}"),
        }
        if conduct == Conduct::Works {
            prop_assert_eq!(b, nodes, "nothing spoke against it");
        }
    }
}

//! What reports tell of updates is kept with them, counted once for each cluster and release, and changed by nothing that should not.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says so"
)]

use std::sync::Arc;

use jiff::SignedDuration;
use towpath_core::cluster::{Fact, Platform};
use towpath_core::feedback::{
    Followed, HistoryStep, KEPT_FOR, MAX_OF_CLUSTER, Tallies, Testimony, UpdateEvidence,
    UpdateStart,
};
use towpath_core::fleet::Authority;
use towpath_core::version::Arch;
use towpath_store::{Backend, ChangeMark, ClusterReport, RecordOutcome, Retention, Store};
use towpath_testing_store::*;

/// A cluster that left for a release at an hour.
fn leaving(cluster: &str, from: &str, to: &str, started: i64, hour: i64) -> ClusterReport {
    let mut report = seen(cluster, from, hour);
    report.state.going_to = Some(version(to));
    report.history = vec![HistoryStep {
        version: version(to),
        is_complete: false,
        started_at: Some(at(started)),
        ended_at: None,
    }];
    report
}

/// A cluster that has arrived.
fn arrived(cluster: &str, from: &str, to: &str, started: i64, ended: i64) -> ClusterReport {
    let mut report = seen(cluster, to, ended);
    let step = |on: &str, started: i64, ended: i64| HistoryStep {
        version: version(on),
        is_complete: true,
        started_at: Some(at(started)),
        ended_at: Some(at(ended)),
    };
    report.history = vec![step(to, started, ended), step(from, -20, -19)];
    report
}

fn failing(mut report: ClusterReport) -> ClusterReport {
    report.is_failing = true;
    unwell(report)
}

/// On nobody's word but the cluster's.
fn claimed(mut report: ClusterReport, organisation: &str) -> ClusterReport {
    report.authority = Authority::Claim;
    report.state.organisation = organisation.into();
    report
}

async fn record(store: &Store, reports: &[ClusterReport]) -> Vec<RecordOutcome> {
    store.record(reports, TWO_HOURS).await.unwrap()
}

/// Each attempt on a line, as it stands at that hour.
async fn told(store: &Store, hour: i64) -> Vec<String> {
    let attempts = store.attempts().await.unwrap();
    let attempts = attempts.iter().filter_map(|one| one.attempt(at(hour)));
    let line = |attempt: towpath_core::feedback::Attempt| {
        let ending = attempt.ending.map(|ending| ending.outcome.code());
        format!(
            "{} of {:?}: {} -> {} {}",
            attempt.cluster,
            &*attempt.organisation,
            attempt.from,
            attempt.to,
            ending.unwrap_or("under way")
        )
    };
    attempts.map(line).collect()
}

async fn tallies(store: &Store, release: &str, hour: i64) -> Vec<u64> {
    let attempts = store.attempts().await.unwrap();
    let of_release = Tallies::of(attempts.iter().filter_map(|one| one.attempt(at(hour))));
    let all = of_release.get(&version(release)).map(|one| one.all);
    let all = all.unwrap_or_default();
    vec![all.started, all.done, all.failed, all.degraded]
}

#[test]
fn what_reports_tell_is_kept_and_what_tells_nothing_new_changes_nothing() {
    both(async |place| {
        let store = place.open().await;
        let first = [
            leaving("a", "4.9.1", "4.9.2", 1, 2),
            failing(leaving("b", "4.9.1", "4.9.2", 1, 2)),
            seen("c", "4.9.1", 2),
        ];
        record(&store, &first).await;
        let expected = [
            "a of \"acme\": 4.9.1 -> 4.9.2 under way",
            "b of \"acme\": 4.9.1 -> 4.9.2 failed",
        ];
        assert_eq!(told(&store, 2).await, expected);
        let mark = store
            .attempts_changed_since(ChangeMark::default())
            .await
            .unwrap()
            .mark;
        record(&store, &[arrived("a", "4.9.1", "4.9.2", 1, 3)]).await;
        record(&store, &[leaving("b", "4.9.1", "4.9.2", 1, 3)]).await;
        record(&store, &[seen("c", "4.9.1", 3)]).await;
        assert_eq!(tallies(&store, "4.9.2", 4).await, [2, 1, 1, 0]);
        let changed = store.attempts_changed_since(mark).await.unwrap();
        let of: Vec<&str> = changed
            .attempts
            .iter()
            .map(|one| one.cluster.as_str())
            .collect();
        assert!(of.contains(&"a"), "{of:?}");
        let later = store.attempts_changed_since(changed.mark).await.unwrap();
        // PostgreSQL tells again what is newer than any transaction that still runs, of whatever database.
        let known = store.attempts().await.unwrap();
        let is_known = |one: &Followed| known.contains(one);
        assert!(
            later.attempts.iter().all(is_known),
            "nothing has changed since"
        );
        if place.backend == Backend::Sqlite {
            assert_eq!(later.attempts, [], "nothing has changed since");
        }
        record(&store, &[unwell(arrived("a", "4.9.1", "4.9.2", 1, 5))]).await;
        assert_eq!(tallies(&store, "4.9.2", 6).await, [2, 0, 1, 1]);
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

/// Late, repeated and reordered, beside some that were forged: the same is known afterwards.
#[test]
fn a_thousand_reports_in_any_order_count_as_those_in_order() {
    both(async |place| {
        let store = place.open().await;
        let clusters: Vec<String> = (0..20).map(|number| format!("c{number:02}")).collect();
        let of_cluster = |cluster: &String| {
            let leaving = leaving(cluster, "4.9.1", "4.9.2", 1, 2);
            let last = match cluster.ends_with('7') {
                true => failing(self::leaving(cluster, "4.9.1", "4.9.2", 1, 4)),
                false => arrived(cluster, "4.9.1", "4.9.2", 1, 4),
            };
            [seen(cluster, "4.9.1", 0), leaving, last]
        };
        let in_order: Vec<ClusterReport> = clusters.iter().flat_map(of_cluster).collect();
        record(&store, &in_order).await;
        let known = store.attempts().await.unwrap();
        assert_eq!(tallies(&store, "4.9.2", 5).await, [20, 18, 2, 0]);
        let mut state = 7_u64;
        let mut next = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % below
        };
        let other = Place::new(place.backend);
        let shuffled = other.open().await;
        let first: Vec<_> = clusters
            .iter()
            .map(|cluster| seen(cluster, "4.9.1", 0))
            .collect();
        record(&shuffled, &first).await;
        for _ in 0..20 {
            let mut batch: Vec<ClusterReport> = (0..50)
                .map(|_| in_order[next(in_order.len())].clone())
                .collect();
            // Somebody else's word for a bound cluster.
            let victim = &clusters[next(clusters.len())];
            let forged = failing(leaving(victim, "4.9.1", "4.9.2", 1, 3));
            batch.push(claimed(forged, "evil"));
            let recorded = record(&shuffled, &batch).await;
            assert_eq!(recorded.last(), Some(&RecordOutcome::NotAsBound));
        }
        record(&shuffled, &in_order).await;
        assert_eq!(shuffled.attempts().await.unwrap(), known);
        assert_eq!(shuffled.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn whose_a_cluster_is_counts_only_on_the_word_of_somebody_in_charge() {
    both(async |place| {
        let store = place.open().await;
        let report = claimed(leaving("a", "4.9.1", "4.9.2", 1, 2), "acme");
        record(&store, std::slice::from_ref(&report)).await;
        assert_eq!(
            told(&store, 2).await,
            ["a of \"\": 4.9.1 -> 4.9.2 under way"]
        );
        record(&store, &[leaving("a", "4.9.1", "4.9.2", 1, 3)]).await;
        record(&store, &[report]).await;
        assert_eq!(
            told(&store, 2).await,
            ["a of \"acme\": 4.9.1 -> 4.9.2 under way"]
        );
    });
}

/// If what follows cannot be written, neither is the report.
#[test]
fn a_report_and_what_follows_from_it_are_one_transaction() {
    on(Backend::Sqlite, async |place| {
        let store = place.open().await;
        record(&store, &[seen("a", "4.9.1", 0)]).await;
        place
            .tamper(
                "CREATE TRIGGER full BEFORE INSERT ON attempts WHEN NEW.to_version = '4.9.2' \
                 BEGIN SELECT RAISE(ABORT, 'no room'); END",
            )
            .await;
        let report = leaving("a", "4.9.1", "4.9.2", 1, 2);
        let refused = store.record(std::slice::from_ref(&report), TWO_HOURS).await;
        assert!(refused.is_err());
        let seen_at = |state: towpath_store::StoredCluster| state.state.last_seen;
        let known = store.cluster(&id("a")).await.unwrap().map(seen_at);
        assert_eq!(known, Some(at(0)));
        place.tamper("DROP TRIGGER full").await;
        record(&store, &[report]).await;
        assert_eq!(told(&store, 2).await.len(), 1);
    });
}

#[test]
fn what_cannot_be_stored_holds_up_nobody() {
    both(async |place| {
        let store = place.open().await;
        let mut nul = leaving("a", "4.9.1", "4.9.2", 1, 2);
        nul.state.arch = Arch::new("\u{0}");
        let batch = [nul, leaving("b", "4.9.1", "4.9.2", 1, 2)];
        assert_eq!(
            record(&store, &batch).await,
            [RecordOutcome::Unfit, RecordOutcome::Began]
        );
        assert_eq!(told(&store, 2).await.len(), 1);
    });
}

fn measured(cluster: &str, to: &str, hour: i64) -> Testimony {
    Testimony {
        cluster: id(cluster),
        organisation: "acme".into(),
        platform: Fact::Known(Platform::new("AWS").unwrap()),
        arch: Arch::new("arm64"),
        evidence: vec![UpdateEvidence {
            start: Some(UpdateStart {
                at: at(hour),
                from: version("4.9.1"),
            }),
            completed_at: Some(at(hour + 1)),
            ..UpdateEvidence::of(version(to))
        }],
        limits: Arc::default(),
    }
}

#[test]
fn a_measurement_counts_as_a_report_does_and_needs_the_lease() {
    both(async |place| {
        let store = place.open().await;
        record(&store, &[leaving("a", "4.9.1", "4.9.2", 0, 1)]).await;
        let lease = lease(&store).await;
        let told_of = [
            measured("a", "4.9.2", 0),
            measured("silent", "4.9.2", 0),
            measured("nul \u{0}", "4.9.2", 0),
        ];
        let changed = store.record_testimonies(&lease, &told_of).await.unwrap();
        assert_eq!(changed, 2);
        let again = store.record_testimonies(&lease, &told_of).await.unwrap();
        assert_eq!(again, 0, "told again");
        assert_eq!(tallies(&store, "4.9.2", 2).await, [2, 2, 0, 0]);
        let stored: Vec<Followed> = store.attempts().await.unwrap();
        let silent = stored
            .iter()
            .find(|one| one.cluster.as_str() == "silent")
            .unwrap();
        assert_eq!(
            (silent.arch.as_str(), silent.limit),
            ("arm64", Some(SignedDuration::from_hours(12)))
        );
        store.release(&lease).await.unwrap();
        let lost = store.record_testimonies(&lease, &told_of).await;
        assert_eq!(lost.unwrap_err().code(), "fenced");
    });
}

#[test]
fn a_cluster_keeps_so_many_releases_and_old_ones_are_pruned() {
    both(async |place| {
        let store = place.open().await;
        let lease = lease(&store).await;
        let most = i64::try_from(MAX_OF_CLUSTER).unwrap();
        let many: Vec<Testimony> = (0..most + 6)
            .map(|number| measured("a", &format!("4.9.{}", number + 2), number * 2))
            .collect();
        store.record_testimonies(&lease, &many).await.unwrap();
        let kept = store.attempts().await.unwrap();
        assert_eq!(kept.len(), MAX_OF_CLUSTER);
        let oldest = kept.iter().filter_map(|one| one.evidence.first_at()).min();
        assert_eq!(oldest, Some(at(12)), "the oldest six are gone");
        assert_eq!(
            store.record_testimonies(&lease, &many[..6]).await.unwrap(),
            0,
            "and do not come back"
        );
        let now = at(100) + KEPT_FOR;
        let keep = Retention {
            now,
            before: at(-1_000),
            attempts_before: now - KEPT_FOR,
            oldest_needed: None,
        };
        let pruned = store.prune(&lease, &keep).await.unwrap();
        let left = store.attempts().await.unwrap();
        assert_eq!(
            usize::try_from(pruned.attempts).unwrap() + left.len(),
            MAX_OF_CLUSTER
        );
        let oldest = left.iter().filter_map(|one| one.evidence.first_at()).min();
        assert_eq!(oldest, Some(at(100)));
        assert_eq!(store.prune(&lease, &keep).await.unwrap().attempts, 0);
    });
}

/// Schema 6 has no attempts: a store of it is brought up to date, and so is its backup.
#[test]
fn a_store_and_a_backup_of_schema_six_are_brought_up_to_date() {
    both(async |place| {
        let store = place.open().await;
        record(&store, &[leaving("a", "4.9.1", "4.9.2", 1, 2)]).await;
        let file = place.directory.path().join("backup.db");
        store.backup(&file).await.unwrap();
        let target = Place::new(place.backend);
        Store::restore(&file, &target.url).await.unwrap();
        let restored = target.open().await;
        assert_eq!(
            restored.attempts().await.unwrap(),
            store.attempts().await.unwrap()
        );
        store.close().await;
        let older = Place {
            url: format!("sqlite:{}", file.display()),
            backend: Backend::Sqlite,
            directory: tempfile::tempdir().unwrap(),
        };
        for text in SCHEMA_SIX {
            place.tamper(text).await;
            older.tamper(text).await;
        }
        let again = place.open().await;
        assert_eq!(told(&again, 2).await, [""; 0]);
        assert_eq!(again.check().await.unwrap(), [""; 0]);
        record(&again, &[arrived("a", "4.9.1", "4.9.2", 1, 3)]).await;
        assert_eq!(tallies(&again, "4.9.2", 4).await, [1, 1, 0, 0]);
        let target = Place::new(place.backend);
        Store::restore(&file, &target.url).await.unwrap();
        let restored = target.open().await;
        let known = restored.cluster(&id("a")).await.unwrap();
        assert_eq!(known.unwrap().state.version, version("4.9.1"));
        assert_eq!(told(&restored, 2).await, [""; 0]);
    });
}

#[test]
fn damage_is_found() {
    both(async |place| {
        let store = place.open().await;
        record(&store, &[leaving("a", "4.9.1", "4.9.2", 1, 2)]).await;
        let of_start = "WHERE started_at IS NOT NULL";
        for (damage, repair, expected) in [
            (
                format!("UPDATE attempts SET started_at = started_at - 1 {of_start}"),
                "UPDATE attempts SET started_at = first_at WHERE started_at IS NOT NULL",
                "a: an attempt of the cluster is from before it was first seen",
            ),
            (
                format!("UPDATE attempts SET from_version = NULL {of_start}"),
                "UPDATE attempts SET from_version = '4.9.1' WHERE started_at IS NOT NULL",
                "a: an attempt of the cluster has half a start",
            ),
            (
                format!("UPDATE attempts SET limit_seconds = 0 {of_start}"),
                "UPDATE attempts SET limit_seconds = 60 WHERE started_at IS NOT NULL",
                "a: an attempt of the cluster may take no time at all",
            ),
            (
                format!("UPDATE attempts SET platform = 'no platform' {of_start}"),
                "UPDATE attempts SET platform = NULL",
                "a platform cannot be read",
            ),
        ] {
            place.tamper(&damage).await;
            let problems = store.check().await.unwrap();
            assert!(
                problems.iter().any(|problem| problem.contains(expected)),
                "{expected}: {problems:?}"
            );
            place.tamper(repair).await;
            assert_eq!(store.check().await.unwrap(), [""; 0], "{expected}");
        }
    });
}

//! Pruning removes old data and changes no answer.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says so"
)]

use std::time::Duration;

use jiff::SignedDuration;
use sha2::{Digest, Sha256};
use sqlx::Row;
use towpath_store::{
    ChainCheckpoint, InputPart, Lease, PruningTimes, Retention, Store, StoreError,
};
use towpath_testing_store::*;

/// How many rows a query counts, behind the store's back.
async fn count(place: &Place, of: &str) -> i64 {
    sqlx::any::install_default_drivers();
    let pool = sqlx::AnyPool::connect(&place.url.replace(' ', "%20"))
        .await
        .unwrap();
    let text = format!("SELECT COUNT(*) FROM {of}");
    let count = sqlx::query(sqlx::AssertSqlSafe(text))
        .fetch_one(&pool)
        .await
        .unwrap()
        .get(0);
    pool.close().await;
    count
}

fn keep(since_hour: i64, now_hour: i64) -> Retention {
    Retention {
        now: at(now_hour),
        before: at(since_hour),
        attempts_before: at(since_hour),
        oldest_needed: None,
    }
}

/// Prunes until nothing is left to be pruned.
async fn prune_all(store: &Store, lease: &Lease, keep: &Retention) -> Result<i64, StoreError> {
    let mut decisions = 0;
    for _ in 0..1_000 {
        let pruned = store.prune(lease, keep).await?;
        decisions += i64::try_from(pruned.decisions).unwrap();
        if (pruned.spans, pruned.sums, pruned.decisions) == (0, 0, 0) {
            return Ok(decisions);
        }
    }
    panic!("it never ends");
}

fn part(text: &str) -> InputPart {
    let body: std::sync::Arc<[u8]> = text.as_bytes().into();
    InputPart {
        name: "policy".into(),
        digest: Sha256::digest(&body).into(),
        body,
    }
}

/// Ten decisions, an hour apart, on two inputs of which the first four use one.
async fn decide(store: &Store, lease: &Lease) {
    for hour in 0..10 {
        let input = [part(if hour < 4 { "old" } else { "new" })];
        store
            .append_decision(
                lease,
                at(hour),
                &input,
                format!("decision {hour}").as_bytes(),
            )
            .await
            .unwrap();
    }
}

#[test]
fn a_flood_of_reports_costs_a_bounded_number_of_rows_and_counts_what_it_did() {
    both(async |place| {
        let store = place.open().await;
        let second = |n: i64, on: &str, healthy: bool| {
            let report = seen("a", on, 0);
            let mut report = if healthy { report } else { unwell(report) };
            report.state.last_seen += SignedDuration::from_secs(n);
            report
        };
        // Two versions and two kinds of health, two seconds each; and single reports, which last for no time.
        let kinds = [
            ("4.9.1", true),
            ("4.9.1", false),
            ("4.9.2", true),
            ("4.9.2", false),
        ];
        let reports = (0..6_000).map(|n| {
            let (on, healthy) = kinds[usize::try_from(n / 2 % 4).unwrap()];
            second(n, on, healthy)
        });
        for batch in reports.collect::<Vec<_>>().chunks(500) {
            store.record(batch, TWO_HOURS).await.unwrap();
        }
        let singles: Vec<_> = (6_000..9_000)
            .map(|n| second(n, "4.9.3", n % 2 == 0))
            .collect();
        for batch in singles.chunks(500) {
            store.record(batch, TWO_HOURS).await.unwrap();
        }
        assert!(
            count(place, "spans").await <= 320,
            "{}",
            count(place, "spans").await
        );
        assert_eq!(count(place, "soak_sums").await, 2);
        let soaked = [
            (id("a"), version("4.9.1"), 750),
            (id("a"), version("4.9.2"), 750),
        ];
        assert_eq!(store.soak_totals().await.unwrap(), soaked);
        assert_eq!(store.check().await.unwrap(), [""; 0]);
        place
            .tamper("UPDATE soak_sums SET nanoseconds = until_at WHERE version = '4.9.1'")
            .await;
        assert_eq!(
            store.check().await.unwrap(),
            ["a: the cluster has soaked longer than it was watched"]
        );
    });
}

#[test]
fn old_spans_become_sums_and_no_sum_changes() {
    both(async |place| {
        let store = place.open().await;
        for (hour, on) in [
            (0, "4.9.1"),
            (1, "4.9.1"),
            (5, "4.9.1"),
            (6, "4.9.1"),
            (7, "4.9.2"),
            (9, "4.9.2"),
            (20, "4.9.3"),
        ] {
            store
                .record(
                    &[
                        seen("a", on, hour),
                        unwell(seen("b", on, hour)),
                        seen("c", on, hour),
                    ],
                    TWO_HOURS,
                )
                .await
                .unwrap();
        }
        store
            .forget(&id("c"), "ada", jiff::Timestamp::UNIX_EPOCH)
            .await
            .unwrap();
        let (totals, lease) = (store.soak_totals().await.unwrap(), lease(&store).await);
        let hours: Vec<i64> = totals
            .iter()
            .map(|(_, _, seconds)| seconds / 3600)
            .collect();
        assert_eq!(hours, [2, 2, 0, 2, 2, 0]);
        assert_eq!(
            (count(place, "spans").await, count(place, "soak_sums").await),
            (9, 0)
        );
        prune_all(&store, &lease, &keep(6, 24)).await.unwrap();
        assert_eq!(
            (count(place, "spans").await, count(place, "soak_sums").await),
            (6, 2),
            "what ends before, and no later"
        );
        assert_eq!(store.soak_totals().await.unwrap(), totals);
        prune_all(&store, &lease, &keep(24, 24)).await.unwrap();
        assert_eq!(
            (count(place, "spans").await, count(place, "soak_sums").await),
            (0, 4)
        );
        assert_eq!(store.soak_totals().await.unwrap(), totals);
        assert_eq!(store.soak_totals_of(&[id("a")]).await.unwrap(), totals[..3]);
        assert_eq!(store.spans(&id("a")).await.unwrap().len(), 1, "the newest");

        // Of versions that are below every cluster's, nobody needs the soak.
        let needed = Retention {
            oldest_needed: Some(version("4.9.2")),
            ..keep(24, 24)
        };
        prune_all(&store, &lease, &needed).await.unwrap();
        let left: Vec<_> = store
            .soak_totals()
            .await
            .unwrap()
            .iter()
            .map(|(_, on, s)| (on.to_string(), s / 3600))
            .collect();
        let left: Vec<_> = left
            .iter()
            .map(|(on, hours)| (on.as_str(), *hours))
            .collect();
        assert_eq!(
            left,
            [("4.9.2", 2), ("4.9.3", 0), ("4.9.2", 2), ("4.9.3", 0)]
        );
        assert_eq!(store.check().await.unwrap(), [""; 0]);
        let deposed = Lease { token: 99, ..lease };
        assert_eq!(
            store.prune(&deposed, &needed).await,
            Err(StoreError::Fenced)
        );
    });
}

#[test]
fn old_decisions_go_and_the_chain_is_followed_from_its_checkpoint() {
    both(async |place| {
        let store = place.open().await;
        let lease = lease(&store).await;
        decide(&store, &lease).await;
        let before = store.verify_chain().await.unwrap();
        assert_eq!(
            (before.entries, before.checkpoint, before.problems),
            (10, None, vec![])
        );
        let fifth = store.decision(5).await.unwrap().unwrap();
        assert_eq!(prune_all(&store, &lease, &keep(5, 24)).await.unwrap(), 5);
        let chain = store.verify_chain().await.unwrap();
        let checkpoint = ChainCheckpoint {
            seq: 5,
            hash: fifth.hash,
            at: at(24),
        };
        assert_eq!(
            (chain.entries, chain.checkpoint, chain.problems),
            (5, Some(checkpoint.clone()), vec![])
        );
        assert_eq!(chain.head, before.head, "what is kept keeps its bytes");
        assert_eq!(store.part(&part("old").digest).await.unwrap(), None);
        assert!(
            store.part(&part("new").digest).await.unwrap().is_some(),
            "what is still named stays"
        );
        assert_eq!(store.decision(5).await.unwrap(), None);
        assert_eq!(store.check().await.unwrap(), [""; 0]);

        // The newest stays, whatever its age, and the chain goes on.
        assert_eq!(
            prune_all(&store, &lease, &keep(1_000, 1_000))
                .await
                .unwrap(),
            4
        );
        assert_eq!(
            store
                .append_decision(&lease, at(1_001), &[], b"next")
                .await
                .unwrap(),
            11
        );
        let chain = store.verify_chain().await.unwrap();
        assert_eq!(
            (chain.entries, chain.checkpoint.unwrap().seq, chain.problems),
            (2, 9, vec![])
        );

        // A backup has the checkpoint, and its chain is whole.
        let file = place.directory.path().join("pruned.db");
        store.backup(&file).await.unwrap();
        let target = Place::new(place.backend);
        Store::restore(&file, &target.url).await.unwrap();
        let restored = target.open().await;
        assert_eq!(
            restored.verify_chain().await.unwrap(),
            store.verify_chain().await.unwrap()
        );
        assert_eq!(
            restored.chain_checkpoint().await.unwrap(),
            store.chain_checkpoint().await.unwrap()
        );

        for (tampering, expected) in [
            (
                "UPDATE checkpoints SET hash = (SELECT hash FROM decisions WHERE seq = 11)",
                "decision 10 does not follow",
            ),
            ("UPDATE checkpoints SET seq = 8", "decision 9 is missing"),
            ("DELETE FROM checkpoints", "decision 1 is missing"),
        ] {
            place.tamper(tampering).await;
            let found = store.check().await.unwrap();
            assert!(
                found.iter().any(|problem| problem.contains(expected)),
                "{tampering}: {found:?}"
            );
        }
    });
}

#[test]
fn a_clock_that_was_ahead_keeps_no_decision_and_a_changed_one_is_not_pruned_away() {
    both(async |place| {
        let store = place.open().await;
        let lease = lease(&store).await;
        for hour in [0, 1, 90_000, 26, -90_000, 3, 4] {
            store
                .append_decision(&lease, at(hour), &[], b"x")
                .await
                .unwrap();
        }
        assert_eq!(
            prune_all(&store, &lease, &keep(2, 24)).await.unwrap(),
            3,
            "up to the first that may be of the time that is kept"
        );
        place
            .tamper("UPDATE decisions SET at = at + 1 WHERE seq = 5")
            .await;
        let refused = store.prune(&lease, &keep(1_000, 1_000)).await.unwrap_err();
        assert!(
            matches!(&refused, StoreError::Corrupt(why) if why.contains("decision 5 was changed")),
            "{refused}"
        );
        assert_eq!(count(place, "decisions").await, 4);
    });
}

#[test]
fn a_decision_of_a_clock_that_was_far_ahead_goes_with_those_around_it() {
    both(async |place| {
        let store = place.open().await;
        let lease = lease(&store).await;
        for hour in [90_000, 3, 4] {
            store
                .append_decision(&lease, at(hour), &[], b"x")
                .await
                .unwrap();
        }
        let young = prune_all(&store, &lease, &keep(2, 24)).await.unwrap();
        assert_eq!(
            young, 0,
            "it was made before the one of hour 3, and that one is young"
        );
        let old = prune_all(&store, &lease, &keep(4, 26)).await.unwrap();
        assert_eq!(old, 2, "it is no younger than the one of hour 3");
    });
}

#[test]
fn the_time_that_pruning_goes_by_is_kept() {
    both(async |place| {
        let store = place.open().await;
        let lease = lease(&store).await;
        assert_eq!(
            store.pruning_times().await.unwrap(),
            PruningTimes::default()
        );
        for hour in [3, 90_000, 4] {
            store
                .append_decision(&lease, at(hour), &[], b"x")
                .await
                .unwrap();
        }
        for hour in [7, 5] {
            store.keep_pruning_time(&lease, at(hour)).await.unwrap();
        }
        let times = PruningTimes {
            last: Some(at(5)),
            oldest_decision: Some(at(3)),
            latest_decision: Some(at(90_000)),
        };
        assert_eq!(store.pruning_times().await.unwrap(), times);
        assert!(
            store.check().await.unwrap().is_empty(),
            "the checkpoint of the chain is another"
        );
    });
}

#[test]
fn a_lease_that_ends_further_ahead_than_any_term_is_taken() {
    both(async |place| {
        let store = place.open().await;
        let first = store
            .acquire("scheduler", "one", A_MINUTE)
            .await
            .unwrap()
            .unwrap();
        // As a clock that was a day ahead has left it; and as one of an older program, that kept no term.
        for (term, other) in [("60000", "two"), ("0", "three")] {
            let ahead = "UPDATE leases SET expires_ms = expires_ms + 60000";
            place.tamper(&format!("{ahead}, term_ms = {term}")).await;
            assert_eq!(
                store.acquire("scheduler", other, A_MINUTE).await.unwrap(),
                None,
                "a small step back is nothing"
            );
            place
                .tamper("UPDATE leases SET expires_ms = expires_ms + 86400000")
                .await;
            let taken = store
                .acquire("scheduler", other, A_MINUTE)
                .await
                .unwrap()
                .unwrap();
            let ahead = taken.taken_ahead.unwrap();
            assert!(
                ahead > Duration::from_secs(86_000) && ahead < Duration::from_secs(87_000),
                "{ahead:?}"
            );
            assert!(taken.token > first.token);
            let renewed = store
                .acquire("scheduler", other, A_MINUTE)
                .await
                .unwrap()
                .unwrap();
            assert_eq!((renewed.token, renewed.taken_ahead), (taken.token, None));
        }
        assert_eq!(
            store.append_decision(&first, at(0), &[], b"").await,
            Err(StoreError::Fenced)
        );
        // A long term is no clock's fault.
        let long = store
            .acquire("long", "one", Duration::from_secs(259_200))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(store.acquire("long", "two", A_MINUTE).await.unwrap(), None);
        assert_eq!(store.holder("long").await.unwrap(), Some(long));
        place
            .tamper("UPDATE leases SET expires_ms = expires_ms + 1000000000 WHERE name = 'long'")
            .await;
        assert_eq!(store.holder("long").await.unwrap(), None);
    });
}

/// A store of the schema before: what it holds is the same afterwards.
#[test]
fn a_store_from_before_pruning_is_brought_up_to_date() {
    both(async |place| {
        let store = place.open().await;
        for hour in 0..6 {
            store
                .record(
                    &[seen("a", if hour < 3 { "4.9.1" } else { "4.9.2" }, hour)],
                    TWO_HOURS,
                )
                .await
                .unwrap();
        }
        let held = lease(&store).await;
        decide(&store, &held).await;
        let (totals, chain) = (
            store.soak_totals().await.unwrap(),
            store.verify_chain().await.unwrap(),
        );
        store.close().await;
        for text in SCHEMA_TWO {
            place.tamper(text).await;
        }
        let store = place.open().await;
        assert_eq!(
            (
                store.soak_totals().await.unwrap(),
                store.verify_chain().await.unwrap()
            ),
            (totals.clone(), chain)
        );
        assert_eq!(store.check().await.unwrap(), [""; 0]);
        assert_eq!(store.holder("scheduler").await.unwrap(), Some(held.clone()));
        assert_eq!(prune_all(&store, &held, &keep(100, 100)).await.unwrap(), 9);
        assert_eq!(store.soak_totals().await.unwrap(), totals);
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

/// A backup of the schema before has no sums, no checkpoint and no terms.
#[test]
fn a_backup_from_before_pruning_is_restored() {
    both(async |place| {
        let store = place.open().await;
        store
            .record(&[seen("a", "4.9.1", 0), seen("a", "4.9.1", 1)], TWO_HOURS)
            .await
            .unwrap();
        let lease = lease(&store).await;
        decide(&store, &lease).await;
        let file = place.directory.path().join("older.db");
        store.backup(&file).await.unwrap();
        let url = format!("sqlite:{}", file.display());
        let older = Place {
            url,
            backend: towpath_store::Backend::Sqlite,
            directory: tempfile::tempdir().unwrap(),
        };
        for text in SCHEMA_TWO {
            older.tamper(text).await;
        }
        let target = Place::new(place.backend);
        Store::restore(&file, &target.url).await.unwrap();
        let restored = target.open().await;
        assert_eq!(
            restored.soak_totals().await.unwrap(),
            store.soak_totals().await.unwrap()
        );
        assert_eq!(
            restored.verify_chain().await.unwrap(),
            store.verify_chain().await.unwrap()
        );
    });
}

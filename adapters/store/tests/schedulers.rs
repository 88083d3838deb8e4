//! One scheduler acts at a time, and no interleaving starts more than may be started.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says so"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use towpath_core::fleet::UpgradeState;
use towpath_store::{
    Backend, Claim, ClaimOutcome, Lease, Need, Store, StoreError, UpgradeSelection,
};
use towpath_testing_postgres::Postgres;
use towpath_testing_store::*;

#[test]
fn one_holds_the_lease() {
    both(async |place| {
        let store = place.open().await;
        let first = store
            .acquire("scheduler", "one", A_MINUTE)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            store.acquire("scheduler", "two", A_MINUTE).await.unwrap(),
            None
        );
        assert_eq!(
            store.holder("scheduler").await.unwrap(),
            Some(first.clone())
        );
        let renewed = store
            .acquire("scheduler", "one", A_MINUTE)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(renewed.token, first.token);
        assert!(
            store
                .acquire("other", "two", A_MINUTE)
                .await
                .unwrap()
                .is_some(),
            "another lease is another's"
        );
        assert!(store.release(&first).await.unwrap());
        assert!(!store.release(&first).await.unwrap());
        assert_eq!(store.holder("scheduler").await.unwrap(), None);
        let second = store
            .acquire("scheduler", "two", A_MINUTE)
            .await
            .unwrap()
            .unwrap();
        assert!(second.token > first.token);
        // Who comes back is not who was there.
        store.release(&second).await.unwrap();
        let third = store
            .acquire("scheduler", "one", A_MINUTE)
            .await
            .unwrap()
            .unwrap();
        assert!(third.token > second.token);
        assert!(matches!(
            store.acquire("scheduler", "", A_MINUTE).await,
            Err(StoreError::Bad(_))
        ));
    });
}

#[test]
fn a_lease_of_no_time_is_anybodys() {
    both(async |place| {
        let store = place.open().await;
        let first = store
            .acquire("scheduler", "one", Duration::ZERO)
            .await
            .unwrap()
            .unwrap();
        // It has run out, but nobody has taken it: what is done with it is still serial.
        store
            .append_decision(&first, at(0), &[], b"")
            .await
            .unwrap();
        let second = store
            .acquire("scheduler", "two", A_MINUTE)
            .await
            .unwrap()
            .unwrap();
        assert!(second.token > first.token);
        assert_eq!(
            store.append_decision(&first, at(0), &[], b"").await,
            Err(StoreError::Fenced)
        );
    });
}

#[test]
fn a_deposed_scheduler_can_do_nothing() {
    both(async |place| {
        let store = fleet(place, 2).await;
        let old = store
            .acquire("scheduler", "one", Duration::ZERO)
            .await
            .unwrap()
            .unwrap();
        let claimed = store.claim(&old, &[take("c0", 0)], at(0)).await.unwrap();
        let [ClaimOutcome::Started(upgrade)] = claimed[..] else {
            panic!("{claimed:?}")
        };
        let running = store.upgrade(upgrade).await.unwrap().unwrap();
        let new = store
            .acquire("scheduler", "two", A_MINUTE)
            .await
            .unwrap()
            .unwrap();
        for forged in [
            old.clone(),
            Lease {
                token: new.token,
                ..old
            },
            Lease {
                token: 99,
                ..new.clone()
            },
        ] {
            let (planned, started) = (UpgradeState::Planned, UpgradeState::Started);
            assert_eq!(
                store.claim(&forged, &[take("c1", 1)], at(0)).await,
                Err(StoreError::Fenced)
            );
            let moved = store
                .transition(&forged, upgrade, planned, started, at(0), None)
                .await;
            assert_eq!(moved, Err(StoreError::Fenced));
            assert_eq!(
                store.adopt(&forged, &running, &[]).await,
                Err(StoreError::Fenced)
            );
            assert_eq!(
                store.append_decision(&forged, at(0), &[], b"").await,
                Err(StoreError::Fenced)
            );
        }
        assert_eq!(
            store.upgrades(&UpgradeSelection::Active).await.unwrap(),
            [running]
        );
        assert_eq!(store.newest_decision().await.unwrap(), 0);
    });
}

/// Schedulers with connections of their own race for the lease and for forty clusters, of which three may go at once.
#[test]
fn racing_schedulers_never_exceed_a_limit() {
    both(async |place| {
        const LIMIT: usize = 3;
        fleet(place, 40).await;
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..4 {
            let url = place.url.clone();
            tasks
                .spawn(async move { race(&Store::open(&url).await.unwrap(), number, LIMIT).await });
        }
        let mut started = 0;
        while let Some(done) = tasks.join_next().await {
            started += done.unwrap();
        }
        let store = place.open().await;
        assert_eq!(store.check().await.unwrap(), [""; 0]);
        let all = store
            .upgrades(&UpgradeSelection::Recent(10_000))
            .await
            .unwrap();
        assert_eq!(
            all.len(),
            started,
            "what was acknowledged is there, and nothing else"
        );
        assert!(started >= LIMIT);
    });
}

/// Takes the lease whenever it can, claims what it can, and finishes what it finds. How many it has started.
async fn race(store: &Store, number: usize, limit: usize) -> usize {
    let mut started = 0;
    for step in 0..30 {
        // A lease of no time: the others may take it between any two calls.
        let Some(lease) = store
            .acquire("scheduler", &format!("s{number}"), Duration::ZERO)
            .await
            .unwrap()
        else {
            continue;
        };
        let first = (step * 7 + number * 11) % 40;
        let claims: Vec<Claim> = (0..5)
            .map(|n| take(&format!("c{}", (first + n) % 40), limit as u32 - 1))
            .collect();
        match store.claim(&lease, &claims, at(0)).await {
            Err(StoreError::Fenced) => continue,
            claimed => {
                started += words(&claimed.unwrap())
                    .iter()
                    .filter(|word| **word == "started")
                    .count()
            }
        }
        let active = store.upgrades(&UpgradeSelection::Active).await.unwrap();
        assert!(active.len() <= limit, "{active:?}");
        let Some(oldest) = active.first() else {
            continue;
        };
        let (planned, failed) = (UpgradeState::Planned, UpgradeState::Failed);
        match store
            .transition(&lease, oldest.id, planned, failed, at(1), None)
            .await
        {
            Ok(_) | Err(StoreError::Fenced) => {}
            Err(error) => panic!("{error}"),
        }
    }
    started
}

#[test]
fn after_a_pause_nothing_starts() {
    both(async |place| {
        let store = fleet(place, 200).await;
        let lease = store
            .acquire("scheduler", "one", A_MINUTE)
            .await
            .unwrap()
            .unwrap();
        let paused = Arc::new(AtomicBool::new(false));
        let (claimer, flag, other) = (store.clone(), paused.clone(), place.open().await);
        let claims = tokio::spawn(async move {
            let mut outcomes = Vec::new();
            for number in 0..200 {
                // Looked at before the claim: if the pause was there, the claim must see it.
                let was_paused = flag.load(Ordering::SeqCst);
                let claimed = claimer
                    .claim(&lease, &[take(&format!("c{number}"), 999)], at(0))
                    .await
                    .unwrap();
                outcomes.push((was_paused, words(&claimed)[0]));
            }
            outcomes
        });
        while other
            .upgrades(&UpgradeSelection::Active)
            .await
            .unwrap()
            .len()
            < 10
        {
            tokio::task::yield_now().await;
        }
        other
            .pause(&pause(Some("acme"), None), "token")
            .await
            .unwrap();
        paused.store(true, Ordering::SeqCst);
        let there_when_paused = other
            .upgrades(&UpgradeSelection::Active)
            .await
            .unwrap()
            .len();
        let outcomes = claims.await.unwrap();
        assert!(
            outcomes
                .iter()
                .all(|(was_paused, word)| !was_paused || *word == "paused"),
            "{outcomes:?}"
        );
        assert_eq!(
            other
                .upgrades(&UpgradeSelection::Active)
                .await
                .unwrap()
                .len(),
            there_when_paused
        );
    });
}

#[test]
fn a_claim_waits_for_a_pause_that_has_begun() {
    on(Backend::Postgres, async |place| {
        let store = fleet(place, 1).await;
        let lease = lease(&store).await;
        let pool = sqlx::AnyPool::connect(&place.url).await.unwrap();
        let mut pausing = pool.begin().await.unwrap();
        let lock = "SELECT value FROM counters WHERE name = 'upgrades' FOR UPDATE";
        sqlx::query(lock).execute(&mut *pausing).await.unwrap();
        let insert = "INSERT INTO pauses (organisation, sector, by_whom, at, why) VALUES ('', '', 'ann', 0, '')";
        sqlx::query(insert).execute(&mut *pausing).await.unwrap();
        let claimer = store.clone();
        let claim = tokio::spawn(async move {
            claimer
                .claim(&lease, &[take("c0", 0)], at(0))
                .await
                .unwrap()
        });
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while Postgres::shared().sql(&place.url, waits) == "0" {
            assert!(!claim.is_finished(), "it did not wait");
        }
        pausing.commit().await.unwrap();
        assert_eq!(words(&claim.await.unwrap()), ["paused"]);
    });
}

/// The connection of a scheduler is killed in the middle of its transaction: nothing of it is there, its locks are free.
#[test]
fn a_killed_connection_leaves_nothing_behind() {
    on(Backend::Postgres, async |place| {
        let store = fleet(place, 3).await;
        let lease = lease(&store).await;
        let server = Postgres::shared();
        let pool = sqlx::AnyPool::connect(&place.url).await.unwrap();
        let mut blocker = pool.begin().await.unwrap();
        let lock = "SELECT value FROM counters WHERE name = 'upgrades' FOR UPDATE";
        sqlx::query(lock).execute(&mut *blocker).await.unwrap();
        let (claimer, held) = (store.clone(), lease.clone());
        let claim =
            tokio::spawn(async move { claimer.claim(&held, &[take("c0", 0)], at(0)).await });
        // It has the lease's row and waits for the counter's: kill it there.
        let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                    WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while server.sql(&place.url, kill) == "0" {
            assert!(!claim.is_finished(), "it did not wait");
        }
        let error = claim.await.unwrap().unwrap_err();
        assert_eq!(error.code(), "unavailable", "{error}");
        blocker.rollback().await.unwrap();
        assert_eq!(store.upgrades(&UpgradeSelection::Active).await.unwrap(), []);
        // The same lease goes on, on another connection.
        assert_eq!(
            words(&store.claim(&lease, &[take("c0", 0)], at(0)).await.unwrap()),
            ["started"]
        );
        // All connections at once, between two calls.
        server.sql(
            &place.url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
        assert_eq!(
            words(&store.claim(&lease, &[take("c1", 1)], at(0)).await.unwrap()),
            ["started"]
        );
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn the_database_itself_allows_one_active_upgrade_per_cluster() {
    both(async |place| {
        let store = fleet(place, 1).await;
        let lease = lease(&store).await;
        store.claim(&lease, &[take("c0", 0)], at(0)).await.unwrap();
        sqlx::any::install_default_drivers();
        let pool = sqlx::AnyPool::connect(&place.url.replace(' ', "%20"))
            .await
            .unwrap();
        let second = "INSERT INTO upgrades SELECT id + 1, cluster, pool, from_version, to_version, 'started', owner, \
                      start_at, changed_at, failures, note FROM upgrades";
        assert!(sqlx::query(second).execute(&pool).await.is_err());
    });
}

#[test]
fn calls_can_be_made_from_any_thread() {
    fn is_send<T: Send>(_: T) {}
    both(async |place| {
        let store = place.open().await;
        let lease = lease(&store).await;
        is_send(store.record(&[], TWO_HOURS));
        is_send(store.claim(&lease, &[], at(0)));
        is_send(store.clusters());
        is_send(store.check());
        is_send(store.append_decision(&lease, at(0), &[], b""));
        is_send(store.backup(std::path::Path::new("x")));
        is_send(Store::restore(std::path::Path::new("x"), "x"));
        let seen: BTreeMap<_, _> = store
            .soak_totals()
            .await
            .unwrap()
            .into_iter()
            .map(|(id, v, s)| (id, (v, s)))
            .collect();
        assert!(seen.is_empty());
    });
}

/// So many clusters on 4.9.1.
async fn fleet(place: &Place, clusters: usize) -> Store {
    let store = place.open().await;
    let reports: Vec<_> = (0..clusters)
        .map(|n| seen(&format!("c{n}"), "4.9.1", 0))
        .collect();
    store.record(&reports, TWO_HOURS).await.unwrap();
    store
}

/// A claim on the mutex that all share, of which so many others may have it.
fn take(cluster: &str, others: u32) -> Claim {
    let mut claim = claim(cluster, "4.9.1", "4.9.2", &["prod"]);
    claim.needs = vec![Need {
        mutex: "prod".into(),
        within_sector: None,
        at_most: others,
    }];
    claim
}

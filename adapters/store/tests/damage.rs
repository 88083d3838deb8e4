//! What happens to stores: they are copied, tampered with, and go away for a while.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says so"
)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use towpath_core::fleet::{Approval, UpgradeState};
use towpath_store::{
    Backend, ChangeMark, ClaimOutcome, InputPart, Store, StoreAddress, StoreError, UpgradeSelection,
};
use towpath_testing_postgres::{Postgres, Sync};
use towpath_testing_store::*;

#[test]
fn a_backup_is_restored_into_either_kind() {
    both(async |place| {
        let store = place.open().await;
        fill(&store).await;
        let before = everything(&store).await;
        let file = backup_of(place, "backup.db");
        store.backup(&file).await.unwrap();
        assert_eq!(everything(&store).await, before, "nothing is changed by it");
        for target in [Place::new(Backend::Sqlite), Place::new(Backend::Postgres)] {
            Store::restore(&file, &target.url).await.unwrap();
            let restored = target.open().await;
            assert_eq!(everything(&restored).await, before);
            assert_eq!(restored.check().await.unwrap(), [""; 0]);
            goes_on(&restored).await;
            // And back again: a backup of the restored is as good.
            let again = backup_of(&target, "again.db");
            restored.backup(&again).await.unwrap();
            let third = Place::new(place.backend);
            Store::restore(&again, &third.url).await.unwrap();
            assert_eq!(
                everything(&third.open().await).await,
                everything(&restored).await
            );
        }
        let left: Vec<_> = std::fs::read_dir(place.directory.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        let partial = |name: &&std::ffi::OsString| name.to_string_lossy().contains("partial");
        assert_eq!(
            left.iter().find(partial),
            None,
            "nothing is left lying about"
        );
    });
}

#[test]
fn a_backup_overwrites_nothing_and_a_restore_neither() {
    both(async |place| {
        let store = place.open().await;
        fill(&store).await;
        let file = backup_of(place, "backup.db");
        std::fs::write(&file, "precious").unwrap();
        assert!(matches!(store.backup(&file).await, Err(StoreError::Bad(_))));
        assert_eq!(std::fs::read(&file).unwrap(), b"precious");
        let broken = Store::restore(&file, &Place::new(Backend::Sqlite).url)
            .await
            .unwrap_err();
        assert!(matches!(broken, StoreError::Corrupt(_)), "{broken}");

        let file = backup_of(place, "second.db");
        store.backup(&file).await.unwrap();
        let filled = Store::restore(&file, &place.url).await.unwrap_err();
        assert!(filled.to_string().contains("not empty"), "{filled}");
        let missing = Store::restore(&backup_of(place, "none.db"), &place.url)
            .await
            .unwrap_err();
        assert!(missing.to_string().contains("no such file"), "{missing}");
        assert!(!backup_of(place, "none.db").exists());
        let nowhere = store
            .backup(&place.directory.path().join("no/such/place.db"))
            .await
            .unwrap_err();
        assert!(
            nowhere.to_string().contains("there is no directory"),
            "{nowhere}"
        );
    });
}

#[test]
fn a_damaged_or_newer_backup_is_not_restored() {
    both(async |place| {
        let store = place.open().await;
        fill(&store).await;
        for (tampering, expected) in [
            ("UPDATE decisions SET at = at + 1 WHERE seq = 6", "corrupt"),
            ("UPDATE towpath_schema SET version = 99", "newer-schema"),
        ] {
            let file = backup_of(place, expected);
            store.backup(&file).await.unwrap();
            let url = format!("sqlite:{}", file.display());
            Place {
                url,
                backend: Backend::Sqlite,
                directory: tempfile::tempdir().unwrap(),
            }
            .tamper(tampering)
            .await;
            let target = Place::new(place.backend);
            assert_eq!(
                Store::restore(&file, &target.url).await.unwrap_err().code(),
                expected
            );
            assert_eq!(target.open().await.clusters().await.unwrap(), []);
        }
    });
}

/// A backup is of one moment, whatever happens meanwhile.
#[test]
fn a_backup_is_taken_while_others_write() {
    both(async |place| {
        let store = place.open().await;
        fill(&store).await;
        let writer = store.clone();
        let writing = tokio::spawn(async move {
            for hour in 10..40 {
                let batch: Vec<_> = (0..100)
                    .map(|n| seen(&format!("w{n}"), "4.9.1", hour))
                    .collect();
                writer.record(&batch, TWO_HOURS).await.unwrap();
            }
        });
        for number in 0..3 {
            let file = backup_of(place, &format!("{number}.db"));
            store.backup(&file).await.unwrap();
            let target = Place::new(Backend::Sqlite);
            Store::restore(&file, &target.url).await.unwrap();
            let clusters = target.open().await.clusters().await.unwrap();
            let mut seen: Vec<_> = clusters
                .iter()
                .filter(|c| c.state.id.as_str().starts_with('w'))
                .collect();
            seen.dedup_by_key(|cluster| cluster.state.last_seen);
            assert!(seen.len() <= 1, "a batch is there whole or not at all");
        }
        writing.await.unwrap();
    });
}

#[test]
fn a_check_finds_what_was_tampered_with() {
    for (tampering, expected) in [
        (
            "UPDATE decisions SET at = at + 1 WHERE seq = 6",
            "decision 6 was changed: its hash does not match",
        ),
        (
            "UPDATE decisions SET inputs = '[]' WHERE seq = 5",
            "decision 5 was changed: its hash does not match",
        ),
        (
            "UPDATE decisions SET body = hash WHERE seq = 7",
            "decision 7: the store is damaged: a body cannot be read",
        ),
        (
            "DELETE FROM decisions WHERE seq = 6",
            "decision 6 is missing",
        ),
        (
            "DELETE FROM decisions WHERE seq = 1",
            "decision 1 is missing",
        ),
        (
            "DELETE FROM decisions WHERE seq = 7",
            "7 decisions were made, the newest there is 6",
        ),
        (
            "UPDATE decisions SET kind = NULL WHERE seq = 2",
            "entry 2 is marked as another kind of entry than it is",
        ),
        ("DELETE FROM parts", "of a decision is missing"),
        (
            "UPDATE parts SET bytes = bytes - 1",
            "of a decision was changed",
        ),
        (
            "INSERT INTO spans (cluster, from_at, until_at, version, healthy) \
             SELECT id, span_from - 1, span_from + 1, version, 1 FROM clusters WHERE id = 'a'",
            "a: spans of the cluster overlap",
        ),
        (
            "UPDATE clusters SET span_from = last_seen + 1 WHERE id = 'a'",
            "a: a span of the cluster ends before it begins",
        ),
        (
            "UPDATE upgrades SET state = 'finished'",
            "b: a lock is held by an upgrade of the cluster that is not active",
        ),
        (
            "UPDATE locks SET cluster = 'c'",
            "c: a lock is held for the cluster by another's upgrade",
        ),
        (
            "UPDATE clusters SET version = '4.9' WHERE id = 'c'",
            "a version cannot be read",
        ),
        (
            "UPDATE clusters SET facts = '{\"arch\": 7}' WHERE id = 'c'",
            "the facts of a cluster cannot be read",
        ),
        (
            "UPDATE upgrades SET owner = 'towpatg'",
            "the owner of an upgrade cannot be read",
        ),
        (
            "UPDATE counters SET value = 0 WHERE name = 'upgrades'",
            "1: the upgrade has a number that was not given out",
        ),
    ] {
        both(async |place| {
            let store = place.open().await;
            fill(&store).await;
            assert_eq!(store.check().await.unwrap(), [""; 0]);
            place.tamper(tampering).await;
            let found = store.check().await.unwrap();
            assert!(
                found.iter().any(|problem| problem.contains(expected)),
                "{tampering}: {found:#?}"
            );
        });
    }
}

#[test]
fn a_file_that_is_no_store_is_said_to_be_none() {
    on(Backend::Sqlite, async |place| {
        std::fs::write(place.directory.path().join("a store.db"), "x".repeat(4096)).unwrap();
        let error = Store::open(&place.url).await.unwrap_err();
        assert_eq!(error.code(), "corrupt", "{error}");
    });
}

#[test]
fn a_database_that_goes_and_comes_back() {
    let server = Postgres::boot(Sync::On);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let url = server.database();
        let store = Store::open(&url).await.unwrap();
        fill(&store).await;
        let lease = lease(&store).await;
        let before = everything(&store).await;
        let mark = settle(&store, ChangeMark::default()).await;
        let changes = store.clusters_changed_since(mark).await.unwrap();
        assert!(changes.clusters.is_empty(), "{changes:?}");
        server.stop_at_once();

        let claims = [claim("c", "4.9.1", "4.9.2", &[])];
        let errors = [
            store
                .record(&[seen("a", "4.9.1", 30)], TWO_HOURS)
                .await
                .unwrap_err(),
            store.claim(&lease, &claims, at(1)).await.unwrap_err(),
            store.clusters().await.unwrap_err(),
            Store::open(&url).await.unwrap_err(),
        ];
        assert_eq!(
            errors.each_ref().map(|error| error.code()),
            ["unavailable"; 4],
            "{errors:?}"
        );

        server.start();
        assert_eq!(
            everything(&store).await,
            before,
            "what was acknowledged is there"
        );
        // Numbers of transactions that left no trace are given again, so the mark says nothing any more.
        let all = store.clusters().await.unwrap().len();
        let changes = store.clusters_changed_since(mark).await.unwrap();
        assert_eq!((changes.clusters.len(), all > 0), (all, true));
        assert_eq!(
            words(&store.claim(&lease, &claims, at(1)).await.unwrap()),
            ["started"]
        );
        store
            .record(&[seen("a", "4.9.1", 30)], TWO_HOURS)
            .await
            .unwrap();
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

/// A connection that breaks in the middle of a transaction is nobody's any more, and the next one is as good as new.
#[test]
fn a_connection_that_breaks_in_mid_transaction_is_dropped() {
    on(Backend::Postgres, async |place| {
        let store = place.open().await;
        fill(&store).await;
        let server = Postgres::shared();
        sqlx::any::install_default_drivers();
        let other = sqlx::AnyPool::connect(&place.url).await.unwrap();
        let mut holding = other.begin().await.unwrap();
        sqlx::query("SELECT id FROM clusters FOR UPDATE")
            .execute(&mut *holding)
            .await
            .unwrap();
        let writer = store.clone();
        let waiting =
            tokio::spawn(async move { writer.record(&[seen("a", "4.9.1", 3)], TWO_HOURS).await });
        let stuck =
            "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let deadline = Instant::now() + Duration::from_secs(60);
        while server.sql(&place.url, &format!("SELECT COUNT(*) {stuck}")) != "1" {
            assert!(Instant::now() < deadline, "it waits for the row");
        }
        server.sql(
            &place.url,
            &format!("SELECT pg_terminate_backend(pid) {stuck}"),
        );
        let broken = waiting.await.unwrap().unwrap_err();
        assert_eq!(broken.code(), "unavailable", "{broken}");
        holding.rollback().await.unwrap();
        other.close().await;
        for hour in 3..20 {
            store
                .record(&[seen("a", "4.9.1", hour)], TWO_HOURS)
                .await
                .unwrap();
            store.pause(&pause(None, None), "token").await.unwrap();
        }
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn the_password_is_in_a_file_and_may_change() {
    let server = Postgres::boot(Sync::Off);
    let rules = "ARRAY['local all postgres trust', 'local all app scram-sha-256']";
    let hba = server.sql("postgres", "SHOW hba_file");
    for text in [
        "CREATE ROLE app LOGIN PASSWORD 'first'",
        "CREATE DATABASE fleet OWNER app",
        &format!("COPY (SELECT unnest({rules})) TO '{hba}'"),
        "SELECT pg_reload_conf()",
    ] {
        server.sql("postgres", text);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("password");
        let url = server.url("fleet").replace("user=postgres", "user=app");
        let address = StoreAddress {
            url,
            password_file: Some(file.clone()),
        };
        let missing = Store::open(address.clone()).await.unwrap_err();
        assert!(
            missing
                .to_string()
                .contains("the store's password cannot be read"),
            "{missing}"
        );
        let deadline = Instant::now() + Duration::from_secs(60);
        std::fs::write(&file, "wrong\n").unwrap();
        loop {
            match Store::open(address.clone()).await {
                // The server reads its new rules when it gets round to it.
                Ok(_) => assert!(
                    Instant::now() < deadline,
                    "a wrong password is never refused"
                ),
                Err(wrong) => break assert_eq!(wrong.code(), "unavailable", "{wrong}"),
            }
        }
        std::fs::write(&file, "first\n").unwrap();
        let store = Store::open(address).await.unwrap();
        fill(&store).await;
        server.sql("postgres", "ALTER ROLE app PASSWORD 'second'");
        std::fs::write(&file, "second").unwrap();
        let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'";
        server.sql("postgres", all);
        // Connections that have just broken may still be found out one by one.
        while let Err(error) = store.pause(&pause(None, None), "token").await {
            assert!(Instant::now() < deadline, "{error}");
        }
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

async fn fill(store: &Store) {
    let reports = [
        seen("a", "4.9.0", 0),
        seen("a", "4.9.1", 1),
        seen("a", "4.9.1", 2),
        rich("b", "4.9.1", 1),
        seen("c", "4.9.1", 1),
        seen("gone", "4.9.1", 1),
        seen("gone", "4.9.1", 2),
    ];
    store.record(&reports, TWO_HOURS).await.unwrap();
    store
        .remember_workloads(&[(id("a"), set(&["web"]))])
        .await
        .unwrap();
    store
        .forget(&id("gone"), "ada", jiff::Timestamp::UNIX_EPOCH)
        .await
        .unwrap();
    store
        .pause(&pause(Some("elsewhere"), None), "token")
        .await
        .unwrap();
    let approval = Approval {
        organisation: "acme".into(),
        cluster: None,
        version: version("4.9.2"),
        by: "ann".into(),
        at: at(0),
    };
    store.approve(&approval, "token", "").await.unwrap();
    store
        .acknowledge_gate(&id("a"), "gate", &said("ann", "", 0))
        .await
        .unwrap();
    let lease = lease(store).await;
    let claims = [
        claim("b", "4.9.1", "4.9.2", &["prod"]),
        claim("a", "4.9.1", "4.9.2", &[]),
    ];
    let claimed = store.claim(&lease, &claims, at(2)).await.unwrap();
    let [_, ClaimOutcome::Started(second)] = claimed[..] else {
        panic!("{claimed:?}")
    };
    store
        .transition(
            &lease,
            second,
            UpgradeState::Planned,
            UpgradeState::Failed,
            at(3),
            Some("etcd"),
        )
        .await
        .unwrap();
    let body: std::sync::Arc<[u8]> = b"policy".repeat(1000).into();
    let part = InputPart {
        name: "policy".into(),
        digest: Sha256::digest(&body).into(),
        body,
    };
    for (n, parts) in [&[part.clone()][..], &[part], &[]].into_iter().enumerate() {
        store
            .append_decision(&lease, at(3), parts, format!("decision {n}").as_bytes())
            .await
            .unwrap();
    }
}

/// All that can be read, as text.
async fn everything(store: &Store) -> String {
    let mut all = String::new();
    let clusters = store.clusters().await.unwrap();
    for cluster in &clusters {
        all += &format!(
            "{:?}\n{:?}\n",
            store.spans(&cluster.state.id).await,
            store.last_report(&cluster.state.id).await
        );
    }
    let decisions = store.decisions(0, 100).await.unwrap();
    for (_, digest) in decisions.iter().flat_map(|decision| &decision.input) {
        all += &format!(
            "{:?}\n",
            store.part(digest).await.unwrap().map(|body| body.len())
        );
    }
    all += &format!(
        "{clusters:#?}\n{decisions:#?}\n{:#?}\n",
        store.departed().await.unwrap()
    );
    all += &format!(
        "{:#?}\n{:#?}\n",
        store.soak_totals().await.unwrap(),
        store.pauses().await.unwrap()
    );
    all += &format!(
        "{:#?}\n{:#?}\n",
        store.approvals().await.unwrap(),
        store.acknowledgements().await.unwrap()
    );
    all += &format!("{:#?}\n", store.acts().await.unwrap());
    all + &format!(
        "{:#?}\n{:#?}\n",
        store.upgrades(&UpgradeSelection::Recent(99)).await,
        store.verify_chain().await
    )
}

/// A restored store is not a museum: numbers and tokens go on where they were, locks are held.
async fn goes_on(store: &Store) {
    let lease = store
        .acquire("scheduler", "another", A_MINUTE)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        lease.token, 2,
        "the old lease is nobody's, and its token is not given out again"
    );
    let claims = [
        claim("c", "4.9.1", "4.9.2", &["prod"]),
        claim("c", "4.9.1", "4.9.2", &[]),
    ];
    let claimed = store.claim(&lease, &claims, at(4)).await.unwrap();
    assert_eq!(words(&claimed), ["held", "started"]);
    assert_eq!(
        store
            .append_decision(&lease, at(5), &[], b"next")
            .await
            .unwrap(),
        8
    );
    store
        .record(&[seen("a", "4.9.1", 3)], TWO_HOURS)
        .await
        .unwrap();
    let changes = store
        .clusters_changed_since(Default::default())
        .await
        .unwrap();
    assert_eq!(changes.clusters.len(), 3);
    settle(store, changes.mark).await;
    assert_eq!(store.check().await.unwrap(), [""; 0]);
}

fn backup_of(place: &Place, name: &str) -> PathBuf {
    place.directory.path().join(name)
}

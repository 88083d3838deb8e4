//! Preflights in the store: who is told, how many at once, and what they answer, on both kinds of store.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use towpath_core::fleet::{Preflight, PreflightResult, PreflightState};
use towpath_store::{ClusterReport, RecordOutcome, Store};
use towpath_testing_store::*;

fn asked(cluster: &str, to: &str, request: &str, hour: i64) -> Preflight {
    Preflight {
        cluster: id(cluster),
        version: version(to),
        from: version("4.9.1"),
        id: request.into(),
        by: "ada".into(),
        state: PreflightState::Asked,
        why: "".into(),
        risks: set(&[]),
        at: at(hour),
    }
}

fn answering(
    cluster: &str,
    to: &str,
    request: &str,
    state: PreflightState,
    hour: i64,
) -> ClusterReport {
    ClusterReport {
        preflights: vec![PreflightResult {
            id: request.into(),
            version: version(to),
            state,
            why: "in its own words".into(),
            risks: set(&["OldDriver"]),
        }],
        ..seen(cluster, "4.9.1", hour)
    }
}

async fn told(store: &Store, cluster: &str, hour: i64) -> Option<String> {
    let on = version("4.9.1");
    let told = store
        .tell_preflight(&id(cluster), &on, at(hour))
        .await
        .unwrap();
    told.map(|one| format!("{} {} {}", one.version, one.id, one.state.code()))
}

/// The state of what it would be told.
async fn looked(store: &Store, cluster: &str, hour: i64) -> Option<String> {
    let next = store.next_preflight(&id(cluster), at(hour)).await.unwrap();
    next.map(|one| one.state.code().to_owned())
}

async fn states(store: &Store) -> Vec<String> {
    let all = store.preflights().await.unwrap();
    let one = |one: &Preflight| {
        let risks: Vec<&str> = one.risks.iter().map(|name| &**name).collect();
        let state = one.state.code();
        format!(
            "{} {} {state} {}",
            one.cluster,
            one.version,
            risks.join(",")
        )
    };
    all.iter()
        .map(|preflight| one(preflight).trim_end().to_owned())
        .collect()
}

#[test]
fn at_most_so_many_run_at_once_and_each_answers_once() {
    both(async |place| {
        let store = place.open().await;
        assert_eq!(told(&store, "a", 0).await, None);
        let request = ["a", "b", "c"].map(|cluster| asked(cluster, "4.9.2", "r-1", 0));
        store.ask_preflights(&request, 2).await.unwrap();
        let running = Some("4.9.2 r-1 running".to_owned());
        // Who only looks changes nothing.
        for _ in 0..2 {
            assert_eq!(looked(&store, "a", 1).await.as_deref(), Some("asked"));
        }
        assert_eq!(told(&store, "a", 1).await, running);
        assert_eq!(told(&store, "a", 1).await, running, "it may ask again");
        assert_eq!(told(&store, "b", 1).await, running);
        assert_eq!(told(&store, "c", 1).await, None, "two run");
        assert_eq!(looked(&store, "c", 1).await, None);
        assert_eq!(looked(&store, "a", 1).await.as_deref(), Some("running"));
        let passed = answering("a", "4.9.2", "r-1", PreflightState::Passed, 2);
        store.record(&[passed], TWO_HOURS).await.unwrap();
        assert_eq!(told(&store, "a", 2).await, None);
        assert_eq!(told(&store, "c", 2).await, running);
        // The agent of b is gone: after two hours somebody else may run.
        let more = [asked("d", "4.9.2", "r-1", 0)];
        store.ask_preflights(&more, 2).await.unwrap();
        assert_eq!(told(&store, "d", 2).await, None);
        assert_eq!(told(&store, "d", 4).await, running);
        // Who was told long ago needs a turn of his own again.
        assert_eq!(told(&store, "b", 4).await, running);
        assert_eq!(told(&store, "c", 4).await, None, "two run");
        // A second answer, and one to another request, change nothing.
        let late = [
            answering("a", "4.9.2", "r-1", PreflightState::Failed, 5),
            answering("c", "4.9.2", "r-0", PreflightState::Failed, 5),
            answering("c", "4.9.3", "r-1", PreflightState::Failed, 6),
        ];
        store.record(&late, TWO_HOURS).await.unwrap();
        assert_eq!(
            states(&store).await,
            [
                "a 4.9.2 passed OldDriver",
                "b 4.9.2 running",
                "c 4.9.2 running",
                "d 4.9.2 running"
            ]
        );
        // A new request begins anew.
        store
            .ask_preflights(&[asked("a", "4.9.2", "r-2", 7)], 1)
            .await
            .unwrap();
        assert_eq!(
            told(&store, "a", 7).await.as_deref(),
            Some("4.9.2 r-2 running")
        );
    });
}

#[test]
fn the_outcome_is_of_the_version_that_the_cluster_ran_when_it_was_told() {
    both(async |place| {
        let store = place.open().await;
        store
            .ask_preflights(&[asked("a", "4.9.3", "r-1", 0)], 1)
            .await
            .unwrap();
        store
            .tell_preflight(&id("a"), &version("4.9.2"), at(1))
            .await
            .unwrap();
        assert_eq!(store.preflights().await.unwrap()[0].from, version("4.9.2"));
    });
}

#[test]
fn what_cannot_be_stored_holds_up_nobody() {
    both(async |place| {
        let store = place.open().await;
        let mut nul = answering("a", "4.9.2", "r-1", PreflightState::Failed, 0);
        nul.preflights[0].why = "\u{0}".into();
        let batch = [nul, seen("b", "4.9.1", 0)];
        assert_eq!(
            store.record(&batch, TWO_HOURS).await.unwrap(),
            [RecordOutcome::Unfit, RecordOutcome::Began]
        );
    });
}

/// Schema 4 has no preflights: a store of it is brought up to date, and so is its backup.
#[test]
fn a_store_and_a_backup_of_schema_four_are_brought_up_to_date() {
    both(async |place| {
        let store = place.open().await;
        store
            .record(&[seen("a", "4.9.1", 0)], TWO_HOURS)
            .await
            .unwrap();
        store
            .ask_preflights(&[asked("a", "4.9.2", "r-1", 0)], 1)
            .await
            .unwrap();
        let file = place.directory.path().join("backup.db");
        store.backup(&file).await.unwrap();
        let target = Place::new(place.backend);
        Store::restore(&file, &target.url).await.unwrap();
        let restored = target.open().await;
        assert_eq!(states(&restored).await, ["a 4.9.2 asked"]);
        store.close().await;
        let older = Place {
            url: format!("sqlite:{}", file.display()),
            backend: towpath_store::Backend::Sqlite,
            directory: tempfile::tempdir().unwrap(),
        };
        let schema_four = [
            "DELETE FROM decisions",
            "UPDATE counters SET value = 0 WHERE name = 'decisions'",
            "DROP INDEX decisions_of_kind",
            "ALTER TABLE decisions DROP COLUMN kind",
            "DROP TABLE log_heads",
            "DROP TABLE acts",
            "DROP TABLE revocations",
            "ALTER TABLE towpath_schema DROP COLUMN newest",
            "DROP TABLE attempts",
            "DROP TABLE preflights",
            "DROP TABLE halts",
            "DROP TABLE watch_answers",
            "ALTER TABLE upgrades DROP COLUMN channel",
            "UPDATE towpath_schema SET version = 4",
        ];
        for text in schema_four {
            place.tamper(text).await;
            older.tamper(text).await;
        }
        let again = place.open().await;
        assert_eq!(states(&again).await, [""; 0]);
        assert_eq!(again.check().await.unwrap(), [""; 0]);
        again
            .ask_preflights(&[asked("a", "4.9.2", "r-2", 1)], 1)
            .await
            .unwrap();
        assert_eq!(
            told(&again, "a", 1).await.as_deref(),
            Some("4.9.2 r-2 running")
        );
        let target = Place::new(place.backend);
        Store::restore(&file, &target.url).await.unwrap();
        let restored = target.open().await;
        let known = restored.cluster(&id("a")).await.unwrap();
        assert_eq!(known.unwrap().state.version, version("4.9.1"));
        assert_eq!(states(&restored).await, [""; 0]);
    });
}

//! Updates that agents report are stored once. A repeated or late report reverts nothing and adds no time.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says so"
)]

use jiff::SignedDuration;
use towpath_core::fleet::{AgentOutcome, AgentUpdate};
use towpath_store::{ClusterReport, RecordOutcome, Store};
use towpath_testing_store::*;

fn update(to: &str, outcome: AgentOutcome, hour: i64) -> AgentUpdate {
    AgentUpdate {
        to: version(to),
        outcome,
        why: "etcd \u{1F6A2}".into(),
        started_at: at(hour),
        took: (outcome == AgentOutcome::Completed).then(|| SignedDuration::from_mins(55)),
        is_automatic: outcome != AgentOutcome::GivenUp,
    }
}

fn telling(mut report: ClusterReport, id: &str, updates: &[AgentUpdate]) -> ClusterReport {
    (report.id, report.updates) = (Some(id.into()), updates.to_vec());
    report
}

/// As it comes at that hour.
fn received(mut report: ClusterReport, hour: i64) -> ClusterReport {
    report.counts_from = Some(at(hour) - TWO_HOURS);
    report
}

#[test]
fn an_outcome_is_kept_once_however_often_it_is_told() {
    both(async |place| {
        let store = place.open().await;
        let failed = update("4.9.2", AgentOutcome::Failed, 0);
        let completed = update("4.9.2", AgentOutcome::Completed, 0);
        let given_up = update("4.9.9", AgentOutcome::GivenUp, 5);
        let first = telling(seen("a", "4.9.1", 1), "r1", std::slice::from_ref(&failed));
        let written = store
            .record_all(&[first.clone(), first.clone()], TWO_HOURS)
            .await
            .unwrap();
        assert_eq!(
            written.recorded,
            [RecordOutcome::Began, RecordOutcome::Nothing],
            "the same report twice in a batch"
        );
        assert_eq!(written.outcomes, [AgentOutcome::Failed]);
        let both_told = [failed.clone(), completed.clone(), given_up.clone()];
        let second = telling(seen("a", "4.9.2", 2), "r2", &both_told);
        let written = store.record_all(&[second, first], TWO_HOURS).await.unwrap();
        assert_eq!(
            written.recorded,
            [RecordOutcome::Began, RecordOutcome::Nothing],
            "the one before is still known"
        );
        let mut outcomes = written.outcomes;
        outcomes.sort();
        assert_eq!(
            outcomes,
            [AgentOutcome::Completed, AgentOutcome::GivenUp],
            "a failure that was told before is not new"
        );
        let told_anew = telling(seen("a", "4.9.2", 3), "r3", &both_told);
        assert_eq!(
            store
                .record_all(&[told_anew], TWO_HOURS)
                .await
                .unwrap()
                .outcomes,
            []
        );
        let expected = [given_up, completed, failed];
        assert_eq!(
            store.agent_updates(&id("a"), at(1_000)).await.unwrap(),
            expected,
            "newest first, then as it went"
        );
        assert_eq!(store.agent_updates(&id("b"), at(1_000)).await.unwrap(), []);
    });
}

#[test]
fn no_update_is_newer_than_the_state_beside_it() {
    both(async |place| {
        let store = place.open().await;
        let done = update("4.9.2", AgentOutcome::Completed, 1);
        store
            .record(&[seen("a", "4.9.1", 1)], TWO_HOURS)
            .await
            .unwrap();
        let before = store.cluster(&id("a")).await.unwrap().unwrap().state;
        let report = telling(seen("a", "4.9.2", 2), "r", std::slice::from_ref(&done));
        store.record(&[report], TWO_HOURS).await.unwrap();
        let after = store.cluster(&id("a")).await.unwrap().unwrap().state;
        assert_eq!(
            store
                .agent_updates(&id("a"), before.last_seen)
                .await
                .unwrap(),
            [],
            "as of 4.9.1"
        );
        assert_eq!(
            store
                .agent_updates(&id("a"), after.last_seen)
                .await
                .unwrap(),
            [done],
            "as of 4.9.2"
        );
    });
}

#[test]
fn a_report_that_is_known_extends_nothing() {
    both(async |place| {
        let store = place.open().await;
        let named = |name: &str, hour| telling(seen("a", "4.9.1", hour), name, &[]);
        let record = async |report| store.record(&[report], TWO_HOURS).await.unwrap()[0];
        assert_eq!(record(named("r0", 0)).await, RecordOutcome::Began);
        assert_eq!(
            record(named("r0", 1)).await,
            RecordOutcome::Nothing,
            "by its name, whatever time it is given"
        );
        assert_eq!(record(named("r1", 1)).await, RecordOutcome::Extended);
        for number in 2..40 {
            assert_eq!(
                record(named(&format!("r{number}"), number)).await,
                RecordOutcome::Extended
            );
        }
        assert_eq!(
            record(named("r30", 50)).await,
            RecordOutcome::Nothing,
            "one of the last sixteen"
        );
        assert_eq!(
            record(seen("b", "4.9.1", 0)).await,
            RecordOutcome::Began,
            "names are not needed"
        );
    });
}

#[test]
fn what_was_queued_through_an_outage_is_taken_and_counts_no_time() {
    both(async |place| {
        let store = place.open().await;
        let record = async |report| store.record(&[report], TWO_HOURS).await.unwrap()[0];
        assert_eq!(record(seen("a", "4.9.1", 0)).await, RecordOutcome::Began);
        assert_eq!(record(seen("a", "4.9.1", 1)).await, RecordOutcome::Extended);
        // All at the eighth hour, one after the other.
        let done = update("4.9.2", AgentOutcome::Completed, 3);
        for hour in 2..=6 {
            let on = if hour < 4 { "4.9.1" } else { "4.9.2" };
            let updates = if hour == 4 {
                std::slice::from_ref(&done)
            } else {
                &[]
            };
            let report = telling(seen("a", on, hour), &format!("r{hour}"), updates);
            assert_eq!(record(received(report, 8)).await, RecordOutcome::Began);
        }
        let known = store.cluster(&id("a")).await.unwrap().unwrap().state;
        assert_eq!(
            (known.version, known.last_seen, known.version_since),
            (version("4.9.2"), at(6), at(4))
        );
        let soaked = [
            (id("a"), version("4.9.1"), 3600),
            (id("a"), version("4.9.2"), 0),
        ];
        assert_eq!(
            store.soak_totals().await.unwrap(),
            soaked,
            "no time of the outage"
        );
        assert_eq!(
            store.agent_updates(&id("a"), at(1_000)).await.unwrap(),
            [done]
        );
        assert_eq!(
            store.spans(&id("a")).await.unwrap().len(),
            2,
            "those that last, and the newest"
        );
        assert_eq!(
            record(received(seen("a", "4.9.2", 7), 8)).await,
            RecordOutcome::Extended,
            "and on it goes"
        );
        assert_eq!(
            record(received(seen("a", "4.9.2", 8), 8)).await,
            RecordOutcome::Extended
        );
        assert_eq!(
            store.soak_totals().await.unwrap()[1].2,
            2 * 3600,
            "no more than the allowance"
        );
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn a_late_report_never_takes_the_place_of_a_newer_one() {
    both(async |place| {
        let store = place.open().await;
        store
            .record(&[seen("a", "4.9.2", 5)], TWO_HOURS)
            .await
            .unwrap();
        let told = update("4.9.1", AgentOutcome::Completed, 1);
        let report = telling(seen("a", "4.9.1", 2), "r", std::slice::from_ref(&told));
        let written = store
            .record_all(&[received(report, 8)], TWO_HOURS)
            .await
            .unwrap();
        assert_eq!(
            (written.recorded, written.outcomes),
            (vec![RecordOutcome::Nothing], vec![AgentOutcome::Completed])
        );
        let known = store.cluster(&id("a")).await.unwrap().unwrap().state;
        assert_eq!((known.version, known.last_seen), (version("4.9.2"), at(5)));
        assert_eq!(
            store.agent_updates(&id("a"), at(1_000)).await.unwrap(),
            [told],
            "what it tells of updates is kept"
        );
    });
}

#[test]
fn a_cluster_fills_no_disk() {
    both(async |place| {
        let store = place.open().await;
        for number in 0..6 {
            let updates: Vec<_> = (0..64)
                .map(|n| update("4.9.2", AgentOutcome::Failed, number * 64 + n))
                .collect();
            let report = telling(seen("a", "4.9.1", number), &number.to_string(), &updates);
            store.record(&[report], TWO_HOURS).await.unwrap();
        }
        let kept = store.agent_updates(&id("a"), at(1_000)).await.unwrap();
        assert_eq!(
            (kept.len(), kept[0].started_at),
            (256, at(6 * 64 - 1)),
            "the newest"
        );
    });
}

#[test]
fn what_cannot_be_stored_holds_up_nobody() {
    both(async |place| {
        let store = place.open().await;
        let mut nul = update("4.9.2", AgentOutcome::Failed, 0);
        nul.why = "\u{0}".into();
        let batch = [
            telling(seen("a", "4.9.1", 0), "r", &[nul]),
            seen("b", "4.9.1", 0),
        ];
        assert_eq!(
            store.record(&batch, TWO_HOURS).await.unwrap(),
            [RecordOutcome::Unfit, RecordOutcome::Began]
        );
    });
}

#[test]
fn a_store_and_a_backup_of_schema_two_keep_their_updates() {
    both(async |place| {
        let store = place.open().await;
        let told = update("4.9.2", AgentOutcome::Completed, 1);
        let report = telling(seen("a", "4.9.2", 1), "r", std::slice::from_ref(&told));
        store.record(&[report], TWO_HOURS).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("old.db");
        store.backup(&file).await.unwrap();
        store.close().await;
        for url in [&place.url, &format!("sqlite:{}", file.display())] {
            execute(url, SCHEMA_TWO).await;
        }
        let again = Store::open(&place.url).await.unwrap();
        assert_eq!(
            again.agent_updates(&id("a"), at(0)).await.unwrap(),
            std::slice::from_ref(&told),
            "told at a time unknown"
        );
        let target = format!("sqlite:{}", folder.path().join("restored.db").display());
        Store::restore(&file, &target).await.unwrap();
        let restored = Store::open(&target).await.unwrap();
        assert_eq!(
            restored.agent_updates(&id("a"), at(0)).await.unwrap(),
            [told]
        );
    });
}

#[test]
fn a_store_from_before_agents_is_brought_up_to_date_and_so_is_its_backup() {
    both(async |place| {
        let store = place.open().await;
        store
            .record(&[rich("a", "4.9.1", 0)], TWO_HOURS)
            .await
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("old.db");
        store.backup(&file).await.unwrap();
        store.close().await;
        let backup = format!("sqlite:{}", file.display());
        let schema_one = [
            "DROP TABLE agent_updates",
            "DROP TABLE report_ids",
            "UPDATE towpath_schema SET version = 1",
        ];
        for url in [&place.url, &backup] {
            execute(url, SCHEMA_TWO).await;
            execute(url, &schema_one).await;
        }
        let again = Store::open(&place.url).await.unwrap();
        let told = update("4.9.2", AgentOutcome::Completed, 1);
        let report = telling(seen("a", "4.9.2", 1), "r", std::slice::from_ref(&told));
        again.record(&[report], TWO_HOURS).await.unwrap();
        assert_eq!(
            again.agent_updates(&id("a"), at(1_000)).await.unwrap(),
            [told]
        );
        let target = format!("sqlite:{}", folder.path().join("restored.db").display());
        Store::restore(&file, &target).await.unwrap();
        let restored = Store::open(&target).await.unwrap();
        assert_eq!(
            restored
                .cluster(&id("a"))
                .await
                .unwrap()
                .unwrap()
                .state
                .version,
            version("4.9.1")
        );
        assert_eq!(
            restored.agent_updates(&id("a"), at(1_000)).await.unwrap(),
            []
        );
    });
}

/// Makes a store what it was under an older schema.
async fn execute(url: &str, statements: &[&'static str]) {
    sqlx::any::install_default_drivers();
    let pool = sqlx::AnyPool::connect(url).await.unwrap();
    for statement in statements {
        sqlx::query(*statement).execute(&pool).await.unwrap();
    }
    pool.close().await;
}

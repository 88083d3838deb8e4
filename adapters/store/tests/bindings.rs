//! Bindings of clusters: their identity, who may set it, and which time counts.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says so"
)]

use towpath_core::fleet::{Authority, Binding};
use towpath_store::{ClusterReport, RecordOutcome, Store};
use towpath_testing_store::*;

/// The same on another word, from another place.
fn on_word(
    authority: Authority,
    mut report: ClusterReport,
    organisation: &str,
    name: &str,
) -> ClusterReport {
    (report.authority, report.body) = (authority, "{\"a\": \"report\"}".into());
    (report.state.organisation, report.state.name) = (organisation.into(), name.into());
    report
}

fn claimed(cluster: &str, hour: i64) -> ClusterReport {
    on_word(
        Authority::Claim,
        seen(cluster, "4.9.1", hour),
        "acme",
        "shop",
    )
}

fn enrolled(cluster: &str, hour: i64) -> ClusterReport {
    on_word(
        Authority::Token,
        seen(cluster, "4.9.1", hour),
        "acme",
        "shop",
    )
}

async fn hours(store: &Store, cluster: &str) -> i64 {
    let all: i64 = store
        .soak_totals()
        .await
        .unwrap()
        .iter()
        .filter(|one| one.0 == id(cluster))
        .map(|one| one.2)
        .sum();
    let own: i64 = store
        .soak_totals_of(&[id(cluster)])
        .await
        .unwrap()
        .iter()
        .map(|one| one.2)
        .sum();
    assert_eq!(all, own);
    all / 3600
}

async fn record(store: &Store, report: ClusterReport) -> RecordOutcome {
    store.record(&[report], TWO_HOURS).await.unwrap()[0]
}

async fn who(store: &Store, cluster: &str) -> (String, String, Binding) {
    let state = store.cluster(&id(cluster)).await.unwrap().unwrap().state;
    (
        state.organisation.to_string(),
        state.name.to_string(),
        state.binding,
    )
}

fn is(organisation: &str, name: &str, binding: Binding) -> (String, String, Binding) {
    (organisation.to_owned(), name.to_owned(), binding)
}

#[test]
fn only_time_that_was_observed_while_bound_counts() {
    both(async |place| {
        let store = place.open().await;
        for hour in 0..5 {
            record(&store, claimed("a", hour)).await;
        }
        assert_eq!(who(&store, "a").await, is("acme", "shop", Binding::Unbound));
        assert_eq!(
            store.spans(&id("a")).await.unwrap()[0].until,
            at(4),
            "its time is kept"
        );
        assert_eq!(hours(&store, "a").await, 0, "and counts for nobody");
        assert_eq!(
            record(&store, enrolled("a", 5)).await,
            RecordOutcome::Extended
        );
        assert_eq!(who(&store, "a").await, is("acme", "shop", Binding::Bound));
        assert_eq!(
            hours(&store, "a").await,
            0,
            "nor does it once the cluster is bound"
        );
        for hour in 6..9 {
            record(&store, enrolled("a", hour)).await;
        }
        assert_eq!(hours(&store, "a").await, 3);
        record(&store, claimed("a", 9)).await;
        record(&store, claimed("a", 10)).await;
        assert_eq!(hours(&store, "a").await, 3, "nobody but itself says that");
        assert_eq!(who(&store, "a").await.2, Binding::Bound);
        record(&store, enrolled("a", 11)).await;
        record(&store, enrolled("a", 12)).await;
        assert_eq!(
            hours(&store, "a").await,
            5,
            "from the last time that somebody looked"
        );
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn a_report_that_binds_late_makes_no_earlier_time_count() {
    both(async |place| {
        let store = place.open().await;
        for hour in 0..5 {
            record(&store, claimed("a", hour)).await;
        }
        let mark = store
            .clusters_changed_since(Default::default())
            .await
            .unwrap()
            .mark;
        assert_eq!(
            record(&store, enrolled("a", 2)).await,
            RecordOutcome::Nothing
        );
        assert_eq!(who(&store, "a").await.2, Binding::Bound);
        assert_eq!(hours(&store, "a").await, 0);
        let changed = store.clusters_changed_since(mark).await.unwrap().clusters;
        assert_eq!(
            changed
                .iter()
                .map(|stored| stored.state.binding)
                .collect::<Vec<_>>(),
            [Binding::Bound]
        );
    });
}

#[test]
fn a_report_for_another_organisation_or_name_changes_nothing() {
    both(async |place| {
        let store = place.open().await;
        record(&store, enrolled("a", 0)).await;
        let before = store.cluster(&id("a")).await.unwrap();
        for authority in [Authority::Token, Authority::Claim] {
            for (organisation, name) in [("beta", "shop"), ("acme", "bank"), ("beta", "a")] {
                let report = on_word(authority, seen("a", "4.9.2", 1), organisation, name);
                assert_eq!(
                    record(&store, report).await,
                    RecordOutcome::NotAsBound,
                    "{authority:?} {organisation} {name}"
                );
            }
        }
        assert_eq!(store.cluster(&id("a")).await.unwrap(), before);
        let nameless = on_word(Authority::Claim, seen("a", "4.9.1", 1), "acme", "a");
        assert_eq!(
            record(&store, nameless).await,
            RecordOutcome::Began,
            "a name may be left out, and no time counts"
        );
        assert_eq!(who(&store, "a").await, is("acme", "shop", Binding::Bound));
        let mut listed = seen("a", "4.9.1", 2);
        (listed.state.organisation, listed.state.name) = ("beta".into(), "bank".into());
        assert_eq!(
            record(&store, listed).await,
            RecordOutcome::Extended,
            "a list has the last word"
        );
        assert_eq!(who(&store, "a").await, is("beta", "bank", Binding::Bound));
    });
}

#[test]
fn within_a_batch_too() {
    both(async |place| {
        let store = place.open().await;
        let foreign = on_word(Authority::Claim, seen("a", "4.9.2", 1), "beta", "shop");
        let recorded = store
            .record(&[enrolled("a", 0), foreign, enrolled("a", 2)], TWO_HOURS)
            .await
            .unwrap();
        assert_eq!(
            recorded,
            [
                RecordOutcome::Began,
                RecordOutcome::NotAsBound,
                RecordOutcome::Extended
            ]
        );
        assert_eq!(hours(&store, "a").await, 2);
    });
}

#[test]
fn what_a_cluster_called_itself_is_worth_nothing_once_it_is_listed() {
    both(async |place| {
        let store = place.open().await;
        record(
            &store,
            on_word(
                Authority::Claim,
                seen("a", "4.9.1", 0),
                "victim",
                "production",
            ),
        )
        .await;
        let mut listed = seen("a", "4.9.1", 1);
        (listed.state.organisation, listed.state.name) = ("acme".into(), "a".into());
        record(&store, listed).await;
        assert_eq!(
            who(&store, "a").await,
            is("acme", "a", Binding::Bound),
            "a list without a name"
        );
    });
}

#[test]
fn a_cluster_that_was_forgotten_keeps_its_soak_and_has_to_be_bound_again() {
    both(async |place| {
        let store = place.open().await;
        record(&store, enrolled("a", 0)).await;
        record(&store, enrolled("a", 2)).await;
        assert!(
            store
                .forget(&id("a"), "ada", jiff::Timestamp::UNIX_EPOCH)
                .await
                .unwrap()
        );
        assert_eq!(hours(&store, "a").await, 2);
        for hour in 3..6 {
            record(
                &store,
                on_word(Authority::Claim, seen("a", "4.9.1", hour), "victim", "p1"),
            )
            .await;
        }
        assert_eq!(who(&store, "a").await, is("victim", "p1", Binding::Unbound));
        assert_eq!(hours(&store, "a").await, 2);
        record(
            &store,
            on_word(Authority::Token, seen("a", "4.9.1", 6), "victim", "p1"),
        )
        .await;
        record(
            &store,
            on_word(Authority::Token, seen("a", "4.9.1", 7), "victim", "p1"),
        )
        .await;
        assert_eq!(hours(&store, "a").await, 3, "from the second binding on");
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn of_a_store_from_before_there_were_bindings_listed_clusters_are_bound() {
    both(async |place| {
        let store = place.open().await;
        record(&store, seen("listed", "4.9.1", 0)).await;
        record(&store, seen("listed", "4.9.1", 1)).await;
        record(&store, enrolled("reported", 0)).await;
        record(&store, enrolled("reported", 1)).await;
        let file = place.directory.path().join("old.db");
        store.backup(&file).await.unwrap();
        store.close().await;
        let restored = format!(
            "sqlite:{}",
            place.directory.path().join("restored.db").display()
        );
        for url in [place.url.clone(), format!("sqlite:{}", file.display())] {
            sqlx::any::install_default_drivers();
            let pool = sqlx::AnyPool::connect(&url.replace(' ', "%20"))
                .await
                .unwrap();
            for text in SCHEMA_TWO {
                sqlx::query(*text).execute(&pool).await.unwrap();
            }
            pool.close().await;
        }
        Store::restore(&file, &restored).await.unwrap();
        for url in [&place.url, &restored] {
            let store = Store::open(url).await.unwrap();
            assert_eq!(
                (who(&store, "listed").await.2, hours(&store, "listed").await),
                (Binding::Bound, 1)
            );
            assert_eq!(
                (
                    who(&store, "reported").await.2,
                    hours(&store, "reported").await
                ),
                (Binding::Unbound, 0)
            );
            record(&store, enrolled("reported", 2)).await;
            record(&store, enrolled("reported", 3)).await;
            assert_eq!(hours(&store, "reported").await, 1);
            store.close().await;
        }
    });
}

//! All kinds of store behave alike: reports, time, upgrades, people's decisions, the decision log.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says so"
)]

use std::sync::Arc;

use sha2::{Digest, Sha256};
use towpath_core::cluster::Fact;
use towpath_core::fleet::{Approval, Owner, SoakSum, Upgrade, UpgradeId, UpgradeState};
use towpath_core::graph::ChannelName;
use towpath_store::{
    Backend, ChangeMark, ClaimOutcome, InputPart, Lease, Lock, Need, RecordOutcome, Refusal, Store,
    StoreError, UpgradeSelection,
};
use towpath_testing_store::*;

#[test]
fn a_report_comes_back_as_it_was() {
    both(async |place| {
        let store = place.open().await;
        assert_eq!(store.backend(), place.backend);
        let report = rich("a", "4.9.1", 3);
        assert_eq!(
            store
                .record(std::slice::from_ref(&report), TWO_HOURS)
                .await
                .unwrap(),
            [RecordOutcome::Began]
        );
        let known = store.clusters().await.unwrap();
        assert_eq!(known.len(), 1);
        assert_eq!(known[0].state, report.state);
        assert_eq!(store.cluster(&id("a")).await.unwrap().unwrap(), known[0]);
        assert_eq!(
            store.last_report(&id("a")).await.unwrap().unwrap(),
            *report.body
        );
        assert_eq!(store.cluster(&id("b")).await.unwrap(), None);
    });
}

#[test]
fn the_smallest_part_of_a_second_is_kept() {
    both(async |place| {
        let store = place.open().await;
        let mut report = seen("a", "4.9.1", 0);
        report.state.last_seen = "2026-01-05T00:00:00.123456789Z".parse().unwrap();
        let again = [report.clone(), report.clone()];
        assert_eq!(
            store.record(&again, TWO_HOURS).await.unwrap(),
            [RecordOutcome::Began, RecordOutcome::Nothing]
        );
        assert_eq!(
            store.clusters().await.unwrap()[0].state.last_seen,
            report.state.last_seen
        );
    });
}

#[test]
fn time_counts_from_report_to_report() {
    both(async |place| {
        let store = place.open().await;
        let record = async |reports: &[_]| store.record(reports, TWO_HOURS).await.unwrap();
        assert_eq!(
            record(&[seen("a", "4.9.1", 0)]).await,
            [RecordOutcome::Began]
        );
        assert_eq!(
            record(&[seen("a", "4.9.1", 2)]).await,
            [RecordOutcome::Extended]
        );
        assert_eq!(
            record(&[seen("a", "4.9.1", 2)]).await,
            [RecordOutcome::Nothing],
            "the same report twice"
        );
        assert_eq!(
            record(&[seen("a", "4.9.0", 1)]).await,
            [RecordOutcome::Nothing],
            "a clock that goes back"
        );
        assert_eq!(
            record(&[seen("a", "4.9.1", 5)]).await,
            [RecordOutcome::Began],
            "more than the allowance"
        );
        assert_eq!(
            record(&[
                seen("a", "4.9.1", 6),
                unwell(seen("a", "4.9.1", 7)),
                unwell(seen("a", "4.9.1", 8))
            ])
            .await,
            [
                RecordOutcome::Extended,
                RecordOutcome::Began,
                RecordOutcome::Extended
            ],
            "several of one cluster in a batch, in order"
        );
        assert_eq!(
            record(&[seen("a", "4.9.2", 9), seen("a", "4.9.2", 10)]).await[1],
            RecordOutcome::Extended
        );

        let spans = store.spans(&id("a")).await.unwrap();
        let told: Vec<_> = spans
            .iter()
            .map(|s| (s.version.to_string(), s.healthy, s.from, s.until))
            .collect();
        let told: Vec<_> = told
            .iter()
            .map(|(v, healthy, from, until)| (v.as_str(), *healthy, *from, *until))
            .collect();
        assert_eq!(
            told,
            [
                ("4.9.1", true, at(0), at(2)),
                ("4.9.1", true, at(5), at(6)),
                ("4.9.1", false, at(7), at(8)),
                ("4.9.2", true, at(9), at(10)),
            ]
        );
        let totals = [
            (id("a"), version("4.9.1"), 3 * 3600),
            (id("a"), version("4.9.2"), 3600),
        ];
        assert_eq!(store.soak_totals().await.unwrap(), totals);
        assert_eq!(
            store.soak_totals_of(&[id("a"), id("z")]).await.unwrap(),
            totals
        );
        assert_eq!(store.soak_totals_of(&[id("z")]).await.unwrap(), []);
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn whole_seconds_of_soak_are_rounded_down() {
    both(async |place| {
        let store = place.open().await;
        let mut late = seen("a", "4.9.1", 0);
        late.state.last_seen += jiff::SignedDuration::from_millis(1_999);
        store
            .record(&[seen("a", "4.9.1", 0), late], TWO_HOURS)
            .await
            .unwrap();
        assert_eq!(
            store.soak_totals().await.unwrap(),
            [(id("a"), version("4.9.1"), 1)]
        );
    });
}

#[test]
fn the_time_of_the_first_sight_of_a_version_is_kept_while_it_stays() {
    both(async |place| {
        let store = place.open().await;
        let since = async || store.clusters().await.unwrap()[0].state.version_since;
        let record = async |report| store.record(&[report], TWO_HOURS).await.unwrap();
        record(seen("a", "4.9.1", 0)).await;
        record(seen("a", "4.9.1", 1)).await;
        record(unwell(seen("a", "4.9.1", 9))).await;
        assert_eq!(since().await, at(0));
        record(seen("a", "4.9.2", 10)).await;
        assert_eq!(since().await, at(10));
        let mut told = seen("a", "4.9.3", 12);
        told.state.version_since = at(11);
        record(told).await;
        assert_eq!(
            since().await,
            at(11),
            "the cluster's own history knows better"
        );
    });
}

#[test]
fn five_hundred_at_once() {
    both(async |place| {
        let store = place.open().await;
        let batch = |hour| {
            (0..500)
                .map(|n| seen(&format!("c{n:03}"), "4.9.1", hour))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            store.record(&batch(0), TWO_HOURS).await.unwrap(),
            [RecordOutcome::Began; 500]
        );
        assert_eq!(
            store.record(&batch(1), TWO_HOURS).await.unwrap(),
            [RecordOutcome::Extended; 500]
        );
        assert_eq!(
            store.record(&batch(1), TWO_HOURS).await.unwrap(),
            [RecordOutcome::Nothing; 500]
        );
        let mut backwards = batch(2);
        backwards.reverse();
        store.record(&backwards, TWO_HOURS).await.unwrap();
        let known = store.clusters().await.unwrap();
        assert_eq!(known.len(), 500);
        assert!(known.iter().all(|cluster| cluster.state.last_seen == at(2)));
        assert_eq!(
            store
                .soak_totals()
                .await
                .unwrap()
                .iter()
                .map(|(_, _, seconds)| seconds)
                .sum::<i64>(),
            500 * 7200
        );
        assert_eq!(store.record(&[], TWO_HOURS).await.unwrap(), []);
    });
}

#[test]
fn what_cannot_be_stored_does_not_stop_the_others() {
    both(async |place| {
        let store = place.open().await;
        let mut unfit = seen("a", "4.9.1", 0);
        unfit.state.name = "x\0y".into();
        let batch = [unfit, seen("b", "4.9.1", 0)];
        assert_eq!(
            store.record(&batch, TWO_HOURS).await.unwrap(),
            [RecordOutcome::Unfit, RecordOutcome::Began]
        );
        assert_eq!(store.clusters().await.unwrap().len(), 1);
    });
}

#[test]
fn the_same_clusters_from_many_sides_count_once() {
    both(async |place| {
        let store = place.open().await;
        let mut tasks = tokio::task::JoinSet::new();
        for side in 0..8 {
            let store = store.clone();
            tasks.spawn(async move {
                for hour in 0..10 {
                    // Each side has its own order, and all clusters are new at first.
                    let mut batch: Vec<_> = (0..50)
                        .map(|n| seen(&format!("c{n:02}"), "4.9.1", hour))
                        .collect();
                    batch.rotate_left(side * 6);
                    store.record(&batch, TWO_HOURS).await.unwrap();
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
        let totals = store.soak_totals().await.unwrap();
        assert_eq!(totals.len(), 50);
        assert!(
            totals.iter().all(|(_, _, seconds)| *seconds == 9 * 3600),
            "{totals:?}"
        );
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn changes_are_told_once_they_are_there() {
    both(async |place| {
        let store = place.open().await;
        let mark = ChangeMark::default();
        store
            .record(&[seen("a", "4.9.1", 0), seen("b", "4.9.1", 0)], TWO_HOURS)
            .await
            .unwrap();
        let changes = store.clusters_changed_since(mark).await.unwrap();
        assert_eq!(ids(&changes.clusters), ["a", "b"]);
        let mark = settle(&store, changes.mark).await;
        store
            .record(&[seen("b", "4.9.1", 1)], TWO_HOURS)
            .await
            .unwrap();
        let changes = store.clusters_changed_since(mark).await.unwrap();
        assert_eq!(ids(&changes.clusters), ["b"]);
        let mark = settle(&store, changes.mark).await;
        store
            .acknowledge_gate(&id("a"), "gate", &said("ann", "", 1))
            .await
            .unwrap();
        store
            .remember_workloads(&[(id("b"), set(&["web"])), (id("z"), set(&["db"]))])
            .await
            .unwrap();
        let changes = store.clusters_changed_since(mark).await.unwrap();
        assert_eq!(ids(&changes.clusters), ["a", "b"]);
        assert_eq!(changes.clusters[0].state.acknowledged_gates, set(&["gate"]));
        assert_eq!(changes.clusters[1].workloads, set(&["web"]));
        let mark = settle(&store, changes.mark).await;
        store
            .remember_workloads(&[(id("b"), set(&["web"]))])
            .await
            .unwrap();
        let changes = store.clusters_changed_since(mark).await.unwrap();
        assert_eq!(
            ids(&changes.clusters),
            [""; 0],
            "what is the same is no change"
        );
        store
            .forget(&id("b"), "ada", jiff::Timestamp::UNIX_EPOCH)
            .await
            .unwrap();
        let changes = store.clusters_changed_since(changes.mark).await.unwrap();
        assert_eq!(
            (
                ids(&changes.clusters).len(),
                changes.forgotten[0].id.as_str()
            ),
            (0, "b")
        );
    });
}

/// A transaction that began first may commit last.
#[test]
fn a_late_commit_is_not_missed() {
    on(Backend::Postgres, async |place| {
        let store = place.open().await;
        store
            .record(&[seen("a", "4.9.1", 0), seen("b", "4.9.1", 0)], TWO_HOURS)
            .await
            .unwrap();
        let pool = sqlx::AnyPool::connect(&place.url).await.unwrap();
        let mut slow = pool.begin().await.unwrap();
        let touch = "UPDATE clusters SET changed = CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT) WHERE id = 'a'";
        sqlx::query(touch).execute(&mut *slow).await.unwrap();
        store
            .record(&[seen("b", "4.9.1", 1)], TWO_HOURS)
            .await
            .unwrap();
        let changes = store
            .clusters_changed_since(ChangeMark::default())
            .await
            .unwrap();
        slow.commit().await.unwrap();
        let changes = store.clusters_changed_since(changes.mark).await.unwrap();
        assert!(
            ids(&changes.clusters).contains(&"a"),
            "{:?}",
            ids(&changes.clusters)
        );
        settle(&store, changes.mark).await;
    });
}

#[test]
fn an_id_that_was_kept_in_upper_case_is_still_found() {
    both(async |place| {
        let store = place.open().await;
        let lower = "bbbbbbbb-0000-4000-8000-00000000000a";
        store
            .record(&[seen(lower, "4.9.1", 0)], TWO_HOURS)
            .await
            .unwrap();
        store
            .acknowledge_gate(&id(lower), "g", &said("me", "", 0))
            .await
            .unwrap();
        // As an older program has left it.
        for (table, column) in [
            ("clusters", "id"),
            ("spans", "cluster"),
            ("bindings", "cluster"),
            ("acknowledgements", "cluster"),
        ] {
            place
                .tamper(&format!("UPDATE {table} SET {column} = upper({column})"))
                .await;
        }
        let known = async || {
            let all = store.clusters().await.unwrap().into_iter();
            let told = all.map(|stored| {
                let gates = stored.state.acknowledged_gates.len();
                (
                    stored.state.id.to_string(),
                    stored.state.version.to_string(),
                    gates,
                )
            });
            told.collect::<Vec<_>>()
        };
        let one = |version: &str| vec![(lower.to_owned(), version.to_owned(), 1)];
        assert_eq!(known().await, one("4.9.1"));
        store
            .record(&[seen(lower, "4.9.2", 1)], TWO_HOURS)
            .await
            .unwrap();
        assert_eq!(
            known().await,
            one("4.9.2"),
            "the one that was seen last counts"
        );
        assert!(
            store
                .forget(&id(lower), "ada", jiff::Timestamp::UNIX_EPOCH)
                .await
                .unwrap()
        );
        assert_eq!(known().await, []);
    });
}

#[test]
fn who_is_forgotten_leaves_its_time_behind() {
    both(async |place| {
        let store = place.open().await;
        store
            .record(&[seen("a", "4.9.1", 0), seen("a", "4.9.1", 1)], TWO_HOURS)
            .await
            .unwrap();
        store
            .remember_workloads(&[(id("a"), set(&["db", "web"]))])
            .await
            .unwrap();
        assert!(
            store
                .forget(&id("a"), "ada", jiff::Timestamp::UNIX_EPOCH)
                .await
                .unwrap()
        );
        assert!(
            !store
                .forget(&id("a"), "ada", jiff::Timestamp::UNIX_EPOCH)
                .await
                .unwrap()
        );
        assert_eq!(store.clusters().await.unwrap(), []);
        assert_eq!(store.last_report(&id("a")).await.unwrap(), None);
        assert_eq!(
            store.soak_totals().await.unwrap(),
            [(id("a"), version("4.9.1"), 3600)]
        );
        assert_eq!(store.spans(&id("a")).await.unwrap().len(), 1);
        let departed = store.departed().await.unwrap();
        assert_eq!(
            (&*departed[0].organisation, &departed[0].workloads),
            ("acme", &set(&["db", "web"]))
        );
        // It comes back, and nothing is counted twice.
        let again = [seen("a", "4.9.1", 1), seen("a", "4.9.1", 2)];
        assert_eq!(
            store.record(&again, TWO_HOURS).await.unwrap(),
            [RecordOutcome::Nothing, RecordOutcome::Extended]
        );
        assert_eq!(
            store.clusters().await.unwrap()[0].workloads,
            set(&["db", "web"])
        );
        assert_eq!(
            store.soak_totals().await.unwrap(),
            [(id("a"), version("4.9.1"), 7200)]
        );
        assert_eq!(store.departed().await.unwrap(), []);
    });
}

#[test]
fn an_upgrade_from_plan_to_end() {
    both(async |place| {
        let (store, lease) = fleet(place).await;
        let claimed = store
            .claim(&lease, &[claim("a", "4.9.1", "4.9.2", &["prod"])], at(1))
            .await
            .unwrap();
        let [ClaimOutcome::Started(first)] = claimed[..] else {
            panic!("{claimed:?}")
        };
        let planned = Upgrade {
            id: first,
            cluster: id("a"),
            pool: None,
            from: version("4.9.1"),
            to: version("4.9.2"),
            channel: None,
            state: UpgradeState::Planned,
            owner: Owner::Towpath,
            start_at: at(1),
            changed_at: at(1),
            failures: 0,
            note: None,
        };
        assert_eq!(
            store.upgrades(&UpgradeSelection::Active).await.unwrap(),
            std::slice::from_ref(&planned)
        );
        let step = async |from, to, hour, note| {
            store
                .transition(&lease, first, from, to, at(hour), note)
                .await
        };
        assert!(
            !step(UpgradeState::Started, UpgradeState::Finished, 2, None)
                .await
                .unwrap(),
            "it has not started"
        );
        assert!(
            step(UpgradeState::Planned, UpgradeState::Started, 2, None)
                .await
                .unwrap()
        );
        let note = async |state| store.note(&lease, first, state, "asked").await.unwrap();
        assert!(
            !note(UpgradeState::Planned).await,
            "it is not planned any more"
        );
        assert!(note(UpgradeState::Started).await);
        let noted = store.upgrade(first).await.unwrap().unwrap();
        assert_eq!(
            (noted.state, noted.note.as_deref()),
            (UpgradeState::Started, Some("asked"))
        );
        assert!(
            !step(UpgradeState::Planned, UpgradeState::Cancelled, 2, None)
                .await
                .unwrap(),
            "it runs"
        );
        assert!(matches!(
            step(UpgradeState::Started, UpgradeState::Cancelled, 2, None).await,
            Err(StoreError::Bad(_))
        ));
        assert!(
            step(UpgradeState::Started, UpgradeState::Failed, 3, Some("etcd"))
                .await
                .unwrap()
        );
        let failed = store.upgrade(first).await.unwrap().unwrap();
        assert_eq!(
            (failed.state, failed.failures, failed.note.as_deref()),
            (UpgradeState::Failed, 1, Some("etcd"))
        );
        assert_eq!(store.upgrades(&UpgradeSelection::Active).await.unwrap(), []);
        assert_eq!(store.newest_failures().await.unwrap(), [failed]);

        // The locks are free again; the failures count on, over what is cancelled, until one gets there.
        for (end, failures) in [
            (UpgradeState::Failed, 2),
            (UpgradeState::Cancelled, 2),
            (UpgradeState::Failed, 3),
            (UpgradeState::Finished, 0),
            (UpgradeState::Failed, 1),
        ] {
            let claimed = store
                .claim(&lease, &[claim("a", "4.9.1", "4.9.2", &["prod"])], at(1))
                .await
                .unwrap();
            let [ClaimOutcome::Started(next)] = claimed[..] else {
                panic!("{claimed:?}")
            };
            store
                .transition(&lease, next, UpgradeState::Planned, end, at(4), None)
                .await
                .unwrap();
            assert_eq!(
                store.upgrade(next).await.unwrap().unwrap().failures,
                failures,
                "{end:?}"
            );
        }
        assert_eq!(
            store
                .upgrades(&UpgradeSelection::Of(id("a")))
                .await
                .unwrap()
                .len(),
            6
        );
        let recent = store.upgrades(&UpgradeSelection::Recent(2)).await.unwrap();
        assert_eq!((recent.len(), recent[0].id > recent[1].id), (2, true));
        let before = store
            .upgrades(&UpgradeSelection::Before(recent[0].id, 2))
            .await
            .unwrap();
        assert_eq!(
            (before.len(), &before[0]),
            (2, &recent[1]),
            "a page goes on where the last one ended"
        );
        assert_eq!(store.upgrade(UpgradeId(999)).await.unwrap(), None);
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn refusals_are_remembered_and_are_no_failures() {
    both(async |place| {
        let (store, lease) = fleet(place).await;
        for (hour, failures) in [(1, 1), (2, 2)] {
            let claimed = store
                .claim(&lease, &[claim("a", "4.9.1", "4.9.2", &["prod"])], at(hour))
                .await
                .unwrap();
            let [ClaimOutcome::Started(id)] = claimed[..] else {
                panic!("{claimed:?}")
            };
            let (planned, refused) = (UpgradeState::Planned, UpgradeState::Refused);
            assert!(
                store
                    .transition(&lease, id, planned, refused, at(hour), Some("a gate"))
                    .await
                    .unwrap()
            );
            let kept = store.upgrade(id).await.unwrap().unwrap();
            assert_eq!(
                (kept.state, kept.failures, kept.note.as_deref()),
                (refused, failures, Some("a gate"))
            );
        }
        let since = async |hour| {
            let refusals = store.refusals(at(hour)).await.unwrap();
            refusals
                .iter()
                .map(|upgrade| upgrade.failures)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (since(0).await, since(1).await, since(2).await),
            (vec![1, 2], vec![2], vec![])
        );
        assert_eq!(store.newest_failures().await.unwrap(), []);
        assert_eq!(store.upgrades(&UpgradeSelection::Active).await.unwrap(), []);
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn a_store_of_before_does_not_know_who_uses_no_sts() {
    both(async |place| {
        let store = place.open().await;
        store
            .record(&[seen("a", "4.9.1", 0), seen("b", "4.9.1", 0)], TWO_HOURS)
            .await
            .unwrap();
        store.close().await;
        for (id, sts) in [("a", "false"), ("b", "true")] {
            let facts = format!("{{\"arch\": \"amd64\", \"sts\": {sts}}}");
            place
                .tamper(&format!(
                    "UPDATE clusters SET facts = '{facts}' WHERE id = '{id}'"
                ))
                .await;
        }
        for statement in SCHEMA_TWO {
            place.tamper(statement).await;
        }
        let store = place.open().await;
        let clusters = store.clusters().await.unwrap();
        let sts: Vec<&Fact<bool>> = clusters.iter().map(|stored| &stored.state.sts).collect();
        assert_eq!(sts, [&Fact::Unknown, &Fact::Known(true)]);
        assert_eq!(store.refusals(at(0)).await.unwrap(), []);
    });
}

#[test]
fn claims_are_checked_against_what_is_true_now() {
    both(async |place| {
        let (store, lease) = fleet(place).await;
        let mut many = vec![
            claim("a", "4.9.1", "4.9.2", &["prod"]),
            claim("a", "4.9.1", "4.9.2", &[]),
            claim("b", "4.9.1", "4.9.2", &["prod", "b"]),
            claim("c", "4.9.0", "4.9.2", &[]),
            claim("nobody", "4.9.1", "4.9.2", &[]),
            claim("d", "4.9.1", "4.9.2", &["b"]),
        ];
        let claimed = store.claim(&lease, &many, at(1)).await.unwrap();
        assert_eq!(
            words(&claimed),
            [
                "started",
                "under-way",
                "held",
                "moved",
                "unknown",
                "started"
            ]
        );
        let held = Refusal::Held {
            mutex: "prod".into(),
            holders: 1,
            holder: id("a"),
        };
        assert_eq!(claimed[2], ClaimOutcome::Refused(held));
        assert_eq!(
            claimed[3],
            ClaimOutcome::Refused(Refusal::Moved {
                version: version("4.9.1")
            })
        );
        // Again, in another call: the locks are in the store.
        many.remove(0);
        assert_eq!(
            words(&store.claim(&lease, &many, at(1)).await.unwrap()),
            ["under-way", "held", "moved", "unknown", "under-way"]
        );
        assert_eq!(store.claim(&lease, &[], at(1)).await.unwrap(), []);
    });
}

#[test]
fn a_limit_counts_the_holders_of_its_sector() {
    both(async |place| {
        let (store, lease) = fleet(place).await;
        let in_sector = |cluster: &str, sector: &str, at_most| {
            let mut claim = claim(cluster, "4.9.1", "4.9.2", &[]);
            claim.takes = vec![Lock {
                mutex: "m".into(),
                sector: Some(sector.into()),
            }];
            claim.needs = vec![Need {
                mutex: "m".into(),
                within_sector: Some(sector.into()),
                at_most,
            }];
            claim
        };
        let claims = [
            in_sector("a", "blue", 1),
            in_sector("b", "blue", 1),
            in_sector("c", "blue", 1),
            in_sector("d", "red", 0),
        ];
        let claimed = store.claim(&lease, &claims, at(1)).await.unwrap();
        assert_eq!(words(&claimed), ["started", "started", "held", "started"]);
        let claimed = store
            .claim(
                &lease,
                &[in_sector("c", "blue", 1), in_sector("c", "blue", 2)],
                at(1),
            )
            .await;
        assert_eq!(words(&claimed.unwrap()), ["held", "started"]);
    });
}

#[test]
fn what_others_have_started_counts() {
    both(async |place| {
        let (store, lease) = fleet(place).await;
        let other = Upgrade {
            id: UpgradeId(0),
            cluster: id("a"),
            pool: Some("workers".into()),
            from: version("4.9.1"),
            to: version("4.9.2"),
            channel: ChannelName::new("stable-4.10"),
            state: UpgradeState::Started,
            owner: Owner::Other,
            start_at: at(0),
            changed_at: at(0),
            failures: 0,
            note: Some("by hand".into()),
        };
        let takes = [Lock {
            mutex: "prod".into(),
            sector: None,
        }];
        let ClaimOutcome::Started(adopted) = store.adopt(&lease, &other, &takes).await.unwrap()
        else {
            panic!()
        };
        assert_eq!(
            store.upgrades(&UpgradeSelection::Active).await.unwrap(),
            [Upgrade {
                id: adopted,
                ..other.clone()
            }]
        );
        let again = store.adopt(&lease, &other, &takes).await.unwrap();
        assert_eq!(again, ClaimOutcome::Refused(Refusal::UnderWay(adopted)));
        let claims = [
            claim("a", "4.9.1", "4.9.2", &[]),
            claim("b", "4.9.1", "4.9.2", &["prod"]),
        ];
        assert_eq!(
            words(&store.claim(&lease, &claims, at(1)).await.unwrap()),
            ["under-way", "held"]
        );
        let (started, finished) = (UpgradeState::Started, UpgradeState::Finished);
        assert!(
            store
                .transition(&lease, adopted, started, finished, at(2), None)
                .await
                .unwrap()
        );
        assert_eq!(
            words(&store.claim(&lease, &claims, at(3)).await.unwrap()),
            ["started", "started"]
        );
    });
}

#[test]
fn people_are_heard() {
    both(async |place| {
        let (store, lease) = fleet(place).await;
        let places = [
            pause(None, None),
            pause(Some("acme"), None),
            pause(Some("acme"), Some("blue")),
        ];
        for (number, place) in places.iter().enumerate() {
            store.pause(place, "token").await.unwrap();
            store.pause(place, "token").await.unwrap();
            assert_eq!(store.pauses().await.unwrap().len(), number + 1);
        }
        assert_eq!(store.pauses().await.unwrap(), places);
        let claimed = store
            .claim(&lease, &[claim("a", "4.9.1", "4.9.2", &[])], at(1))
            .await
            .unwrap();
        assert_eq!(words(&claimed), ["paused"]);
        for (place, resumed) in [
            ((Some("acme"), Some("red")), 0),
            ((None, None), 1),
            ((Some("acme"), None), 1),
        ] {
            let said = said("bob", "", 1);
            let resume = store.resume(place.0, place.1, &said);
            assert_eq!(resume.await.unwrap(), resumed);
        }
        let mut blue = claim("a", "4.9.1", "4.9.2", &[]);
        blue.place.sector = Some("blue".into());
        let claims = [blue, claim("b", "4.9.1", "4.9.2", &[])];
        assert_eq!(
            words(&store.claim(&lease, &claims, at(1)).await.unwrap()),
            ["paused", "started"]
        );
        assert!(matches!(
            store.pause(&pause(Some(""), None), "token").await,
            Err(StoreError::Bad(_))
        ));

        let approval = |cluster: Option<&str>| Approval {
            organisation: "acme".into(),
            cluster: cluster.map(Into::into),
            version: version("4.9.2"),
            by: "ann".into(),
            at: at(1),
        };
        for cluster in [None, Some("a"), None] {
            store
                .approve(&approval(cluster), "token", "")
                .await
                .unwrap();
        }
        assert_eq!(
            store.approvals().await.unwrap(),
            [approval(None), approval(Some("a"))]
        );

        for by in ["ann", "bob"] {
            store
                .acknowledge_gate(&id("a"), "gate-2", &said(by, "", 1))
                .await
                .unwrap();
        }
        let acknowledged = store.acknowledgements().await.unwrap();
        assert_eq!((acknowledged.len(), &*acknowledged[0].by), (1, "ann"));
        assert_eq!(
            store
                .cluster(&id("a"))
                .await
                .unwrap()
                .unwrap()
                .state
                .acknowledged_gates,
            set(&["gate-2"])
        );
        store
            .record(&[rich("a", "4.9.1", 9)], TWO_HOURS)
            .await
            .unwrap();
        assert_eq!(
            store.clusters().await.unwrap()[0].state.acknowledged_gates,
            set(&["gate-1", "gate-2"])
        );
    });
}

#[test]
fn imported_soak_is_replaced_and_comes_back_from_a_backup() {
    both(async |place| {
        let sum = |version: &str, seconds| SoakSum {
            organisation: "o".into(),
            workload: "web".into(),
            version: version.parse().unwrap(),
            seconds,
        };
        let store = place.open().await;
        let at = "2026-01-05T00:00Z".parse().unwrap();
        let first = [sum("4.9.1", 60), sum("4.9.2", 5)];
        store.import_soak(&first, at).await.unwrap();
        store.import_soak(&[sum("4.9.1", 90)], at).await.unwrap();
        let kept = [sum("4.9.1", 90), sum("4.9.2", 5)];
        assert_eq!(store.imported_soak().await.unwrap(), kept);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        store.backup(&file).await.unwrap();
        let restored = format!("sqlite:{}", folder.path().join("restored.db").display());
        Store::restore(&file, &*restored).await.unwrap();
        let restored = Store::open(&*restored).await.unwrap();
        assert_eq!(restored.imported_soak().await.unwrap(), kept);
    });
}

#[test]
fn the_last_list_is_kept_and_comes_back_from_a_backup() {
    both(async |place| {
        let (store, lease) = fleet(place).await;
        let kept = async |store: &Store| store.kept_list().await.unwrap();
        assert_eq!(kept(&store).await, None);
        store.keep_list(&lease, "one", at(1)).await.unwrap();
        store.keep_list(&lease, "two", at(2)).await.unwrap();
        assert_eq!(kept(&store).await.as_deref(), Some("two"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        store.backup(&file).await.unwrap();
        let restored = format!("sqlite:{}", folder.path().join("restored.db").display());
        Store::restore(&file, &*restored).await.unwrap();
        let restored = Store::open(&*restored).await.unwrap();
        assert_eq!(kept(&restored).await.as_deref(), Some("two"));
    });
}

#[test]
fn a_decision_can_be_read_again_with_all_it_was_made_on() {
    both(async |place| {
        let (store, lease) = fleet(place).await;
        let large: Arc<[u8]> = (0..3_000_000u32).flat_map(|n| n.to_le_bytes()).collect();
        let parts = [
            part("policy", b"soak: 4".as_slice().into()),
            part("fleet", large),
        ];
        assert_eq!(
            store
                .append_decision(&lease, at(1), &parts, b"start a")
                .await
                .unwrap(),
            1
        );
        assert_eq!(
            store
                .append_decision(&lease, at(2), &parts[..1], b"")
                .await
                .unwrap(),
            2
        );
        assert_eq!(
            store
                .append_decision(&lease, at(3), &[], b"wait")
                .await
                .unwrap(),
            3
        );
        let first = store.decision(1).await.unwrap().unwrap();
        assert_eq!(
            (first.at, first.body.as_slice(), first.prev),
            (at(1), b"start a".as_slice(), [0; 32])
        );
        for (part, (name, digest)) in parts.iter().zip(&first.input) {
            assert_eq!((name, digest), (&part.name, &part.digest));
            assert_eq!(store.part(digest).await.unwrap().unwrap(), *part.body);
        }
        let rest = store.decisions(1, 9).await.unwrap();
        assert_eq!(
            rest.iter().map(|entry| entry.seq).collect::<Vec<_>>(),
            [2, 3]
        );
        assert_eq!(rest[0].prev, first.hash);
        assert_eq!(store.newest_decision().await.unwrap(), 3);
        assert_eq!(
            (
                store.decision(4).await.unwrap(),
                store.part(&[0; 32]).await.unwrap()
            ),
            (None, None)
        );
        let chain = store.verify_chain().await.unwrap();
        assert_eq!(
            (chain.entries, chain.head, chain.problems),
            (3, Some(rest[1].hash), vec![])
        );
        let wrong = InputPart {
            digest: [1; 32],
            ..parts[0].clone()
        };
        assert!(matches!(
            store.append_decision(&lease, at(4), &[wrong], b"").await,
            Err(StoreError::Bad(_))
        ));
    });
}

#[test]
fn a_report_without_a_name_leaves_the_name() {
    both(async |place| {
        let store = place.open().await;
        let called = |name: &str, minutes| {
            let mut report = seen("a", "4.9.1", minutes);
            report.state.name = name.into();
            report
        };
        let mut names = Vec::new();
        for (name, minutes) in [("a", 0), ("shop", 1), ("a", 2), ("bank", 3)] {
            store
                .record(&[called(name, minutes)], TWO_HOURS)
                .await
                .unwrap();
            names.push(store.clusters().await.unwrap()[0].state.name.to_string());
        }
        assert_eq!(names, ["a", "shop", "shop", "bank"]);
    });
}

#[test]
fn everything_is_there_after_a_restart() {
    both(async |place| {
        let (store, _) = fleet(place).await;
        let before = store.clusters().await.unwrap();
        store.close().await;
        assert!(matches!(
            store.clusters().await,
            Err(StoreError::Unavailable(_))
        ));
        assert_eq!(place.open().await.clusters().await.unwrap(), before);
    });
}

#[test]
fn many_may_open_a_new_store_at_once() {
    both(async |place| {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..12 {
            let url = place.url.clone();
            tasks.spawn(async move { Store::open(&url).await.map(drop) });
        }
        while let Some(opened) = tasks.join_next().await {
            opened.unwrap().unwrap();
        }
        assert_eq!(place.open().await.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn who_expects_a_store_does_not_make_one() {
    both(async |place| {
        for _ in 0..2 {
            let refused = Store::open_existing(&place.url).await.unwrap_err();
            assert_eq!(refused.code(), "missing", "{refused}");
        }
        place.open().await.close().await;
        let store = Store::open_existing(&place.url).await.unwrap();
        assert_eq!(store.clusters().await.unwrap(), []);
    });
}

#[test]
fn a_newer_schema_is_refused() {
    both(async |place| {
        place.open().await.close().await;
        place.tamper("UPDATE towpath_schema SET version = 99").await;
        let refused = Store::open(&place.url).await.unwrap_err();
        assert_eq!(
            refused,
            StoreError::NewerSchema {
                found: 99,
                known: 12
            }
        );
    });
}

#[test]
fn a_store_in_memory_is_a_store() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::open("sqlite::memory:").await.unwrap();
        store
            .record(&[seen("a", "4.9.1", 0)], TWO_HOURS)
            .await
            .unwrap();
        assert_eq!(store.clusters().await.unwrap().len(), 1);
        assert_eq!(store.check().await.unwrap(), [""; 0]);
        assert!(matches!(
            Store::open("mysql://x").await,
            Err(StoreError::Bad(_))
        ));
    });
}

/// Four clusters on 4.9.1, and the lease.
async fn fleet(place: &Place) -> (Store, Lease) {
    let store = place.open().await;
    let reports: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .map(|cluster| seen(cluster, "4.9.1", 0))
        .collect();
    store.record(&reports, TWO_HOURS).await.unwrap();
    let lease = lease(&store).await;
    (store, lease)
}

fn part(name: &str, body: Arc<[u8]>) -> InputPart {
    InputPart {
        name: name.into(),
        digest: Sha256::digest(&body).into(),
        body,
    }
}

fn ids(clusters: &[towpath_store::StoredCluster]) -> Vec<&str> {
    clusters
        .iter()
        .map(|cluster| cluster.state.id.as_str())
        .collect()
}

//! What people did is kept with who said so, how they were known, why, and who ended it. A withdrawal or a cancellation and a start
//! never both succeed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says so"
)]

use towpath_core::fleet::{ActKind, Approval, PersonAct, TakenBack, UpgradeId, UpgradeState};
use towpath_store::{
    Backend, CancelOutcome, CancelWhich, ClaimOutcome, Lease, Refusal, Retention, StartPlace,
    Store, StoreError, UpgradeSelection, WithdrawOutcome,
};
use towpath_testing_store::*;

async fn fleet(place: &Place) -> (Store, Lease) {
    let store = place.open().await;
    let clusters = [seen("a", "4.9.1", 0), seen("b", "4.9.1", 0)];
    store.record(&clusters, TWO_HOURS).await.unwrap();
    let lease = lease(&store).await;
    (store, lease)
}

fn approval(cluster: Option<&str>, by: &str, hour: i64) -> Approval {
    Approval {
        organisation: "acme".into(),
        cluster: cluster.map(Into::into),
        version: version("4.9.2"),
        by: by.into(),
        at: at(hour),
    }
}

/// Acts in a few words: what, by whom, and who ended it.
async fn told(store: &Store) -> Vec<String> {
    let words = |act: &PersonAct| {
        let what = match &act.what {
            ActKind::Pause { organisation, .. } => format!("pause {organisation:?}"),
            ActKind::Approval { name, version, .. } => format!("approval {name:?} {version}"),
            ActKind::Acknowledgement { cluster, gate } => format!("gate {cluster} {gate}"),
            ActKind::Cancellation {
                cluster, version, ..
            } => format!("cancelled {cluster} {version}"),
        };
        let ended = act.ended.as_ref();
        let ended = ended.map_or_else(String::new, |end| {
            format!(", ended by {}: {}", end.by, end.why)
        });
        let (by, known_by, why) = (&act.said.by, &act.said.known_by, &act.said.why);
        format!("{what} by {by} ({known_by}): {why}{ended}")
    };
    store.acts().await.unwrap().iter().map(words).collect()
}

async fn planned(store: &Store, lease: &Lease, cluster: &str) -> UpgradeId {
    let claim = claim(cluster, "4.9.1", "4.9.2", &["prod"]);
    let claimed = store.claim(lease, &[claim], at(1)).await.unwrap();
    let [ClaimOutcome::Started(id)] = claimed[..] else {
        panic!("{claimed:?}")
    };
    id
}

#[test]
fn a_second_approval_does_not_overwrite_the_first() {
    both(async |place| {
        let (store, _) = fleet(place).await;
        for (by, why, hour) in [("ann", "tested", 1), ("bob", "me too", 2)] {
            store
                .approve(&approval(None, by, hour), "token", why)
                .await
                .unwrap();
        }
        assert_eq!(store.approvals().await.unwrap(), [approval(None, "bob", 2)]);
        assert_eq!(
            told(&store).await,
            [
                "approval None 4.9.2 by bob (token): me too",
                "approval None 4.9.2 by ann (token): tested",
            ]
        );
        let said = said("eve", "INC-1", 3);
        let to = version("4.9.2");
        let withdraw = || store.withdraw_approval("acme", None, &to, &said);
        let WithdrawOutcome::Withdrawn(given) = withdraw().await.unwrap() else {
            panic!("nothing was withdrawn")
        };
        let by: Vec<&str> = given.iter().map(|said| &*said.by).collect();
        assert_eq!(by, ["ann", "bob"]);
        assert_eq!(store.approvals().await.unwrap(), []);
        assert_eq!(withdraw().await.unwrap(), WithdrawOutcome::Nothing);
        assert_eq!(
            told(&store).await[1],
            "approval None 4.9.2 by ann (token): tested, ended by eve: INC-1"
        );
        let taken_back = store.taken_back().await.unwrap();
        assert_eq!(taken_back.approvals.len(), 1, "it was withdrawn once");
        assert_eq!(&*taken_back.approvals[0].by, "eve");
        // Given again, it is no longer taken back.
        store
            .approve(&approval(None, "ann", 4), "token", "fixed")
            .await
            .unwrap();
        assert_eq!(store.taken_back().await.unwrap(), TakenBack::default());
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn who_paused_and_who_resumed_is_kept() {
    both(async |place| {
        let (store, _) = fleet(place).await;
        let everywhere = pause(None, None);
        store.pause(&everywhere, "token").await.unwrap();
        store.pause(&everywhere, "token").await.unwrap();
        let resumed = store
            .resume(None, None, &said("bob", "it is over", 2))
            .await;
        assert_eq!(resumed.unwrap(), 1);
        let ended = "pause None by ann (token): holidays, ended by bob: it is over";
        assert_eq!(told(&store).await, [ended, ended]);
        assert!(matches!(
            store.resume(None, None, &said("", "", 2)).await,
            Err(StoreError::Bad(_))
        ));
    });
}

#[test]
fn a_withdrawn_acknowledgement_closes_the_gate_again() {
    both(async |place| {
        let (store, _) = fleet(place).await;
        let a = id("a");
        let mark = store.act_mark().await.unwrap();
        for by in ["ann", "bob"] {
            let said = said(by, "true", 1);
            let acknowledged = store.acknowledge_gate(&a, "gate-1", &said);
            acknowledged.await.unwrap();
        }
        assert_ne!(store.act_mark().await.unwrap(), mark);
        let changes = store
            .clusters_changed_since(Default::default())
            .await
            .unwrap();
        let mark = settle(&store, changes.mark).await;
        let withdraw = || async {
            let said = said("eve", "INC-1", 2);
            let withdrawn = store.withdraw_acknowledgement(&a, "gate-1", &said);
            withdrawn.await.unwrap()
        };
        assert!(matches!(withdraw().await, WithdrawOutcome::Withdrawn(given) if given.len() == 2));
        assert_eq!(withdraw().await, WithdrawOutcome::Nothing);
        let changed = store.clusters_changed_since(mark).await.unwrap().clusters;
        assert_eq!(changed[0].state.id, a, "the cluster counts as changed");
        assert_eq!(changed[0].state.acknowledged_gates, set(&[]));
        let taken_back = store.taken_back().await.unwrap();
        assert_eq!(&*taken_back.acknowledgements[0].gate, "gate-1");
    });
}

#[test]
fn a_start_that_was_decided_before_a_withdrawal_is_refused() {
    both(async |where_| {
        let (store, lease) = fleet(where_).await;
        store
            .approve(&approval(None, "ann", 1), "token", "")
            .await
            .unwrap();
        let id = planned(&store, &lease, "b").await;
        let known = store.act_mark().await.unwrap();
        let place = StartPlace {
            known,
            ..place("acme", None)
        };
        let (to, said) = (version("4.9.2"), said("eve", "INC-1", 2));
        let withdrawn = store.withdraw_approval("acme", None, &to, &said);
        withdrawn.await.unwrap();
        let mut late = claim("a", "4.9.1", "4.9.2", &[]);
        late.place = place.clone();
        let claimed = store.claim(&lease, &[late.clone()], at(2)).await.unwrap();
        let by = "eve".into();
        assert_eq!(claimed, [ClaimOutcome::Refused(Refusal::Withdrawn { by })]);
        assert!(!store.begin(&lease, id, &place, at(2)).await.unwrap());
        // Another version, and who decides after it, are not held by that.
        let mut other = late.clone();
        other.start.to = version("4.9.3");
        assert_eq!(
            words(&store.claim(&lease, &[other], at(2)).await.unwrap()),
            ["started"]
        );
        let known = store.act_mark().await.unwrap();
        let place = StartPlace { known, ..place };
        assert!(store.begin(&lease, id, &place, at(3)).await.unwrap());
    });
}

#[test]
fn a_cancelled_upgrade_never_starts_and_is_not_claimed_again_until_it_is_lifted() {
    both(async |where_| {
        let (store, lease) = fleet(where_).await;
        let id_of = planned(&store, &lease, "a").await;
        let cancel = |which: CancelWhich| {
            let store = store.clone();
            async move {
                store
                    .cancel(&which, &said("ann", "INC-1", 2))
                    .await
                    .unwrap()
            }
        };
        let of_a = || CancelWhich::Of(id("a"));
        assert!(
            matches!(cancel(of_a()).await, CancelOutcome::Cancelled(upgrade) if upgrade.id == id_of)
        );
        let again = cancel(CancelWhich::Number(id_of)).await;
        assert!(matches!(again, CancelOutcome::Again(_, before) if &*before.by == "ann"));
        let place = place("acme", None);
        assert!(!store.begin(&lease, id_of, &place, at(3)).await.unwrap());
        let (planned_state, cancelled) = (UpgradeState::Planned, UpgradeState::Cancelled);
        let called_off = store.transition(&lease, id_of, planned_state, cancelled, at(3), None);
        assert!(called_off.await.unwrap());
        let try_again = async |to: &str| {
            let claims = [claim("a", "4.9.1", to, &[])];
            words(&store.claim(&lease, &claims, at(3)).await.unwrap())
        };
        assert_eq!(try_again("4.9.2").await, ["cancelled"]);
        assert_eq!(
            try_again("4.9.3").await,
            ["started"],
            "another version is free"
        );
        let lift = async |to: Option<&str>| {
            let (said, to) = (said("bob", "fixed", 4), to.map(version));
            let lifted = store.lift(&id("a"), to.as_ref(), &said).await;
            lifted.unwrap().len()
        };
        assert_eq!(lift(Some("4.9.9")).await, 0);
        assert_eq!(lift(None).await, 1);
        assert_eq!(lift(None).await, 0);
        assert_eq!(try_again("4.9.2").await, ["under-way"]);
        assert_eq!(
            told(&store).await,
            ["cancelled a 4.9.2 by ann (token): INC-1, ended by bob: fixed"]
        );
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn what_is_under_way_or_over_or_unknown_is_not_cancelled() {
    both(async |where_| {
        let (store, lease) = fleet(where_).await;
        let cancel = async |which: CancelWhich| {
            store
                .cancel(&which, &said("ann", "INC-1", 2))
                .await
                .unwrap()
        };
        assert_eq!(
            cancel(CancelWhich::Of(id("a"))).await,
            CancelOutcome::Nothing
        );
        assert_eq!(
            cancel(CancelWhich::Number(UpgradeId(9))).await,
            CancelOutcome::Nothing
        );
        let upgrade = planned(&store, &lease, "a").await;
        let place = place("acme", None);
        assert!(store.begin(&lease, upgrade, &place, at(1)).await.unwrap());
        let late = cancel(CancelWhich::Of(id("a"))).await;
        assert!(matches!(late, CancelOutcome::TooLate(one) if one.state == UpgradeState::Started));
        let (started, finished) = (UpgradeState::Started, UpgradeState::Finished);
        let over = store.transition(&lease, upgrade, started, finished, at(2), None);
        assert!(over.await.unwrap());
        let late = cancel(CancelWhich::Number(upgrade)).await;
        assert!(matches!(late, CancelOutcome::TooLate(one) if one.state == UpgradeState::Finished));
        assert_eq!(store.taken_back().await.unwrap(), TakenBack::default());
    });
}

/// Both run at once, many times. One transaction decides, and the answer of each says which.
#[test]
fn a_cancellation_that_races_with_the_start_says_which_was_first() {
    both(async |where_| {
        let store = where_.open().await;
        let names: Vec<String> = (0..24).map(|number| format!("c{number}")).collect();
        let clusters: Vec<_> = names.iter().map(|name| seen(name, "4.9.1", 0)).collect();
        store.record(&clusters, TWO_HOURS).await.unwrap();
        let lease = lease(&store).await;
        let mut races = Vec::new();
        for (number, name) in names.iter().enumerate() {
            let claim = claim(name, "4.9.1", "4.9.2", &[]);
            let claimed = store.claim(&lease, &[claim], at(1)).await.unwrap();
            let [ClaimOutcome::Started(upgrade)] = claimed[..] else {
                panic!("{claimed:?}")
            };
            let (cancelling, starting) = (store.clone(), store.clone());
            let lease = lease.clone();
            let cancel = async move {
                let which = CancelWhich::Number(upgrade);
                cancelling
                    .cancel(&which, &said("ann", "INC-1", 2))
                    .await
                    .unwrap()
            };
            let begin = async move {
                let place = place("acme", None);
                starting
                    .begin(&lease, upgrade, &place, at(2))
                    .await
                    .unwrap()
            };
            // Whoever is asked first is another each time.
            let (cancelled, began) = match number % 2 {
                0 => tokio::join!(tokio::spawn(cancel), tokio::spawn(begin)),
                _ => {
                    let (began, cancelled) =
                        tokio::join!(tokio::spawn(begin), tokio::spawn(cancel));
                    (cancelled, began)
                }
            };
            races.push((upgrade, cancelled.unwrap(), began.unwrap()));
        }
        for (upgrade, cancelled, began) in races {
            let state = store.upgrade(upgrade).await.unwrap().unwrap().state;
            match cancelled {
                CancelOutcome::Cancelled(_) => assert!(!began && state == UpgradeState::Planned),
                CancelOutcome::TooLate(one) => {
                    assert!(began && state == UpgradeState::Started, "{one:?}");
                }
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn what_was_ended_long_ago_is_pruned_and_what_holds_stays() {
    both(async |where_| {
        let (store, lease) = fleet(where_).await;
        planned(&store, &lease, "a").await;
        store
            .approve(&approval(None, "ann", 0), "token", "")
            .await
            .unwrap();
        store
            .approve(&approval(Some("a"), "ann", 0), "token", "")
            .await
            .unwrap();
        let (to, said_so) = (version("4.9.2"), said("eve", "INC-1", 1));
        let withdrawn = store.withdraw_approval("acme", None, &to, &said_so);
        withdrawn.await.unwrap();
        store
            .cancel(&CancelWhich::Of(id("a")), &said("ann", "INC-1", 1))
            .await
            .unwrap();
        let keep = |hour: i64| Retention {
            now: at(hour),
            before: at(hour),
            attempts_before: at(0),
            oldest_needed: None,
        };
        assert_eq!(store.prune(&lease, &keep(1)).await.unwrap().acts, 0);
        assert_eq!(store.prune(&lease, &keep(3)).await.unwrap().acts, 1);
        assert_eq!(
            told(&store).await,
            [
                "cancelled a 4.9.2 by ann (token): INC-1",
                "approval Some(\"a\") 4.9.2 by ann (token): "
            ]
        );
        // The cluster has passed the version: nothing is left that could be held.
        store
            .record(&[seen("a", "4.9.3", 2)], TWO_HOURS)
            .await
            .unwrap();
        assert_eq!(store.prune(&lease, &keep(3)).await.unwrap().acts, 1);
        assert_eq!(store.taken_back().await.unwrap(), TakenBack::default());
    });
}

/// What holds in a store of today goes on, and says that nobody recorded how people were known.
#[test]
fn a_store_and_a_backup_without_acts_are_brought_up_to_date() {
    both(async |where_| {
        let (store, lease) = fleet(where_).await;
        store
            .approve(&approval(None, "ann", 0), "token", "")
            .await
            .unwrap();
        planned(&store, &lease, "a").await;
        store
            .pause(&pause(Some("acme"), None), "token")
            .await
            .unwrap();
        store
            .cancel(&CancelWhich::Of(id("a")), &said("ann", "INC-1", 1))
            .await
            .unwrap();
        let file = where_.directory.path().join("backup.db");
        store.backup(&file).await.unwrap();
        let target = Place::new(where_.backend);
        Store::restore(&file, &target.url).await.unwrap();
        let restored = target.open().await;
        assert_eq!(
            told(&restored).await,
            told(&store).await,
            "a backup has acts"
        );
        assert_eq!(restored.taken_back().await.unwrap().upgrades.len(), 1);
        store.close().await;
        let older = Place {
            url: format!("sqlite:{}", file.display()),
            backend: Backend::Sqlite,
            directory: tempfile::tempdir().unwrap(),
        };
        for text in SCHEMA_NINE {
            where_.tamper(text).await;
            older.tamper(text).await;
        }
        let target = Place::new(where_.backend);
        Store::restore(&file, &target.url).await.unwrap();
        for place in [where_, &target] {
            let store = place.open().await;
            assert_eq!(
                told(&store).await,
                [
                    "pause Some(\"acme\") by ann (): holidays",
                    "approval None 4.9.2 by ann (): "
                ]
            );
            assert_eq!(store.check().await.unwrap(), [""; 0]);
            // The first approval is not lost when somebody else approves, too.
            store
                .approve(&approval(None, "bob", 5), "token", "")
                .await
                .unwrap();
            let resumed = store
                .resume(Some("acme"), None, &said("bob", "over", 6))
                .await;
            assert_eq!(resumed.unwrap(), 1);
            assert_eq!(
                told(&store).await,
                [
                    "approval None 4.9.2 by bob (token): ",
                    "pause Some(\"acme\") by ann (): holidays, ended by bob: over",
                    "approval None 4.9.2 by ann (): ",
                ]
            );
        }
    });
}

/// The statements of the program before this one, which knows nine migrations and refuses a store that needs more.
#[test]
fn the_program_before_this_one_can_use_the_store() {
    both(async |where_| {
        let (store, _) = fleet(where_).await;
        store
            .approve(&approval(None, "ann", 0), "token", "")
            .await
            .unwrap();
        for text in [
            // It reads this number, and goes on if it is nine: else this fails.
            "INSERT INTO towpath_schema (version) SELECT NULL FROM towpath_schema WHERE version <> 9",
            "INSERT INTO approvals (organisation, cluster, version, by_whom, at) VALUES ('acme', '', '4.9.2', 'old', 7) \
             ON CONFLICT (organisation, cluster, version) DO UPDATE SET by_whom = excluded.by_whom, at = excluded.at",
            "INSERT INTO pauses (organisation, sector, by_whom, at, why) VALUES ('acme', '', 'old', 8, 'w')",
            "INSERT INTO acknowledgements (cluster, gate, by_whom, at) VALUES ('a', 'g', 'old', 9)",
        ] {
            where_.tamper(text).await;
        }
        let said_by = async |by: &str| {
            let told = told(&store).await;
            told.iter().filter(|act| act.contains(by)).count()
        };
        assert_eq!(said_by(" by old ()").await, 3, "what it wrote is told");
        assert_eq!(said_by("approval None 4.9.2 by ann").await, 1);
        let WithdrawOutcome::Withdrawn(given) = store
            .withdraw_approval("acme", None, &version("4.9.2"), &said("eve", "INC-1", 2))
            .await
            .unwrap()
        else {
            panic!("nothing was withdrawn")
        };
        assert_eq!(given.len(), 2, "{given:?}");
        where_.tamper("DELETE FROM pauses").await;
        assert_eq!(said_by("pause").await, 0);
        assert_eq!(store.check().await.unwrap(), [""; 0]);
        assert_eq!(
            store
                .upgrades(&UpgradeSelection::Active)
                .await
                .unwrap()
                .len(),
            0
        );
        // A backup of it would lose what it does not know, so it must refuse this one's.
        let file = where_.directory.path().join("backup.db");
        store.backup(&file).await.unwrap();
        let backup = Place {
            url: format!("sqlite:{}", file.display()),
            backend: Backend::Sqlite,
            directory: tempfile::tempdir().unwrap(),
        };
        backup
            .tamper("INSERT INTO towpath_schema (version) SELECT NULL FROM towpath_schema WHERE version <= 9")
            .await;
    });
}

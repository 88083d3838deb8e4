//! Halts in the store: one at a time for a release and scope, undone by two, seen by every replica, on both kinds of store.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use towpath_store::{HaltOutcome, NewHalt, Retention, Store, StoredHalt, UndoOutcome};
use towpath_testing_store::*;

fn halt(path: &str, by: &str, hour: i64) -> NewHalt {
    NewHalt {
        release: version("4.20.4"),
        path: format!("blocked-edges/{path}.yaml"),
        body: "to: 4.20.4\nfrom: .*\n".into(),
        by: by.into(),
        why: "Nodes stay NotReady.".into(),
        at: at(hour),
        evidence: String::new(),
    }
}

async fn made(store: &Store, halt: &NewHalt) -> StoredHalt {
    match store.halt(halt).await.unwrap() {
        HaltOutcome::Made(made) => made,
        HaltOutcome::Stands(stands) => panic!("{stands:?}"),
    }
}

async fn standing(store: &Store) -> Vec<String> {
    let (_, standing) = store.standing_halts().await.unwrap();
    let one = |one: StoredHalt| format!("{} {}", one.halt.path, one.halt.by);
    standing.into_iter().map(one).collect()
}

#[test]
fn one_halt_stands_for_a_release_and_scope_and_every_replica_sees_it() {
    both(async |place| {
        let (one, other) = (place.open().await, place.open().await);
        let before = other.halt_mark().await.unwrap();
        let first = made(&one, &halt("4.20.4-halted", "watch", 1)).await;
        assert_ne!(other.halt_mark().await.unwrap(), before);
        assert_eq!(
            standing(&other).await,
            ["blocked-edges/4.20.4-halted.yaml watch"]
        );
        // Whoever comes later changes nothing.
        let again = other.halt(&halt("4.20.4-halted", "ada", 2)).await.unwrap();
        assert_eq!(again, HaltOutcome::Stands(first.clone()));
        let narrow = made(&other, &halt("4.20.4-halted-on-AWS", "ada", 2)).await;
        assert!(narrow.id > first.id);
        let (mark, halts) = one.standing_halts().await.unwrap();
        assert_eq!(mark, other.halt_mark().await.unwrap());
        assert_eq!(halts, [narrow, first]);
        assert_eq!(one.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn two_people_undo_a_halt_and_one_never_does() {
    both(async |place| {
        let store = place.open().await;
        let made = made(&store, &halt("4.20.4-halted", "ada", 1)).await;
        let undo = async |by: &str, hour| store.undo_halt(made.id, by, at(hour)).await.unwrap();
        assert!(matches!(undo("ada", 2).await, UndoOutcome::First(_)));
        for hour in 3..6 {
            assert!(matches!(undo("ada", hour).await, UndoOutcome::Again(_)));
        }
        assert_eq!(standing(&store).await.len(), 1);
        let UndoOutcome::Undone(gone) = undo("bob", 6).await else {
            panic!("two have said so")
        };
        assert_eq!(standing(&store).await, [""; 0]);
        assert!(matches!(undo("eve", 7).await, UndoOutcome::Already(_)));
        let known = store.halts().await.unwrap();
        assert_eq!(known, [gone]);
        let [first, second] = [&known[0].first_undo, &known[0].undone];
        assert_eq!(first.as_ref().unwrap().by, "ada");
        assert_eq!(second.as_ref().unwrap().at, at(6));
        assert_eq!(
            store.undo_halt(made.id + 100, "bob", at(8)).await.unwrap(),
            UndoOutcome::Unknown
        );
        // The same may be halted again.
        assert!(matches!(
            store
                .halt(&halt("4.20.4-halted", "watch", 9))
                .await
                .unwrap(),
            HaltOutcome::Made(_)
        ));
    });
}

#[test]
fn a_halt_that_stands_is_never_pruned() {
    both(async |place| {
        let store = place.open().await;
        let old = made(&store, &halt("4.20.4-halted", "ada", 1)).await;
        made(&store, &halt("4.20.4-halted-on-AWS", "ada", 1)).await;
        store.undo_halt(old.id, "ada", at(2)).await.unwrap();
        store.undo_halt(old.id, "bob", at(3)).await.unwrap();
        let keep = |before| Retention {
            now: at(200),
            before,
            attempts_before: before,
            oldest_needed: None,
        };
        let lease = lease(&store).await;
        assert_eq!(store.prune(&lease, &keep(at(3))).await.unwrap().halts, 0);
        assert_eq!(store.prune(&lease, &keep(at(100))).await.unwrap().halts, 1);
        assert_eq!(
            standing(&store).await,
            ["blocked-edges/4.20.4-halted-on-AWS.yaml ada"]
        );
    });
}

#[test]
fn a_halt_that_one_person_undid_is_damage() {
    both(async |place| {
        let store = place.open().await;
        made(&store, &halt("4.20.4-halted", "ada", 1)).await;
        for by in [
            "undone_by = 'ada'",
            "first_undo_by = 'ada', first_undo_at = 1, undone_by = 'ada'",
        ] {
            place
                .tamper(&format!("UPDATE halts SET undone_at = 1, {by}"))
                .await;
            let problems = store.check().await.unwrap();
            assert!(
                problems[0].contains("fewer than two people"),
                "{problems:?}"
            );
        }
    });
}

/// Schema 6 has no halts: a store of it is brought up to date, and so is its backup.
#[test]
fn a_store_and_a_backup_without_halts_are_brought_up_to_date() {
    both(async |place| {
        let store = place.open().await;
        made(&store, &halt("4.20.4-halted", "ada", 1)).await;
        let file = place.directory.path().join("backup.db");
        store.backup(&file).await.unwrap();
        let target = Place::new(place.backend);
        Store::restore(&file, &target.url).await.unwrap();
        let restored = target.open().await;
        assert_eq!(standing(&restored).await.len(), 1, "a backup has halts");
        made(&restored, &halt("4.20.4-halted-on-AWS", "ada", 2)).await;
        store.close().await;
        let older = Place {
            url: format!("sqlite:{}", file.display()),
            backend: towpath_store::Backend::Sqlite,
            directory: tempfile::tempdir().unwrap(),
        };
        for text in SCHEMA_SIX {
            place.tamper(text).await;
            older.tamper(text).await;
        }
        let target = Place::new(place.backend);
        Store::restore(&file, &target.url).await.unwrap();
        for place in [place, &target] {
            let store = place.open().await;
            assert_eq!(standing(&store).await, [""; 0]);
            assert_eq!(store.check().await.unwrap(), [""; 0]);
            made(&store, &halt("4.20.4-halted", "ada", 1)).await;
        }
    });
}

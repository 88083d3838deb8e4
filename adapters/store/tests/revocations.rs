//! Revoked tokens in the store: they only become more, every replica sees them, and a forgotten cluster has none, on both kinds of store.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use towpath_core::access::{Revocation, Revoked};
use towpath_store::Store;
use towpath_testing_store::*;

fn of(revoked: Revoked, hour: i64) -> Revocation {
    Revocation {
        revoked,
        by: "eve".into(),
        at: at(hour),
        why: "lost".into(),
    }
}

fn person(name: &str, hour: i64) -> Revocation {
    let revoked = Revoked::Person {
        name: name.into(),
        made_before: at(hour),
    };
    of(revoked, hour)
}

#[test]
fn what_is_revoked_is_seen_by_every_replica_and_never_taken_back() {
    both(async |place| {
        let (one, other) = (place.open().await, place.open().await);
        let before = other.revocation_mark().await.unwrap();
        assert_eq!(other.revocations().await.unwrap(), (before, Vec::new()));
        let serial = of(Revoked::Serial("AAAAAAAA".into()), 1);
        one.revoke(&serial).await.unwrap();
        assert_ne!(other.revocation_mark().await.unwrap(), before);
        one.revoke(&person("ada", 3)).await.unwrap();
        // An earlier time ends fewer tokens, so it changes nothing. A later one ends more.
        other.revoke(&person("ada", 2)).await.unwrap();
        let (_, all) = one.revocations().await.unwrap();
        assert_eq!(all, [person("ada", 3), serial.clone()]);
        other.revoke(&person("ada", 4)).await.unwrap();
        other
            .revoke(&of(Revoked::Serial("AAAAAAAA".into()), 9))
            .await
            .unwrap();
        let (mark, all) = one.revocations().await.unwrap();
        assert_eq!(all, [person("ada", 4), serial]);
        assert_eq!(mark, other.revocation_mark().await.unwrap());
        assert!(one.revoke(&person("a\0b", 5)).await.is_err());
        assert_eq!(one.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn a_forgotten_cluster_has_no_token_that_was_made_before() {
    both(async |place| {
        let store = place.open().await;
        let cluster = id("a");
        assert!(!store.forget(&cluster, "eve", at(5)).await.unwrap());
        let (_, all) = store.revocations().await.unwrap();
        let expected = Revoked::Cluster {
            id: cluster,
            made_before: at(5),
        };
        assert_eq!(all.len(), 1);
        assert_eq!((&all[0].revoked, &*all[0].by), (&expected, "eve"));
    });
}

#[test]
fn a_store_from_before_has_none_and_its_backup_is_restored() {
    both(async |place| {
        let store = place.open().await;
        store.revoke(&person("ada", 1)).await.unwrap();
        let file = place.directory.path().join("backup.db");
        store.backup(&file).await.unwrap();
        let target = Place::new(place.backend);
        Store::restore(&file, &target.url).await.unwrap();
        let restored = target.open().await;
        assert_eq!(restored.revocations().await.unwrap().1, [person("ada", 1)]);
        store.close().await;
        for text in SCHEMA_NINE {
            place.tamper(text).await;
        }
        let again = place.open().await;
        assert_eq!(again.revocations().await.unwrap().1, []);
        again.revoke(&person("bob", 2)).await.unwrap();
        assert_eq!(again.revocations().await.unwrap().1, [person("bob", 2)]);
        assert_eq!(again.check().await.unwrap(), [""; 0]);
    });
}

//! What people did is in the chained log, in the transaction that does it; and the head of the log is signed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::time::Duration;

use serde_json::{Value, json};
use towpath_core::access::{Revocation, Revoked};
use towpath_core::fleet::{Actor, Approval, Doer, LogHead, Preflight, PreflightState, SignedHead};
use towpath_store::{
    Backend, CancelWhich, ClaimOutcome, NewAct, NewHalt, Retention, Store, StoreError,
};
use towpath_testing_store::*;

fn doer(name: &str) -> Doer {
    Doer {
        actor: Actor {
            name: name.into(),
            known_by: "token AbC".into(),
        },
        from: "192.0.2.7".into(),
    }
}

/// Every entry of an act, as the log has it.
async fn told(store: &Store) -> Vec<Value> {
    let acts = store.logged_acts(0, None, None, 1_000).await.unwrap();
    let body = |body: &Vec<u8>| serde_json::from_slice::<Value>(body).unwrap();
    acts.iter().map(|act| body(&act.body)).collect()
}

async fn words(store: &Store) -> Vec<String> {
    let told = told(store).await.into_iter();
    let words = told.map(|act| {
        let text = |name: &str| act[name].as_str().unwrap().to_owned();
        let [act, by, known_by] = ["act", "by", "knownBy"].map(text);
        format!("{act} by {by} ({known_by}) from {}", text("from"))
    });
    words.collect()
}

fn approval(by: &str, hour: i64) -> Approval {
    Approval {
        organisation: "acme".into(),
        cluster: None,
        version: version("4.9.2"),
        by: by.into(),
        at: at(hour),
    }
}

#[test]
fn every_change_has_its_entry_with_who_how_from_where_before_and_after() {
    both(async |place| {
        let opened = place.open().await;
        let store = opened.acting_for(doer("ann"));
        let seen = [seen("a", "4.9.1", 0), seen("b", "4.9.1", 0)];
        store.record(&seen, TWO_HOURS).await.unwrap();
        assert_eq!(words(&store).await, [""; 0], "a report is nobody's act");
        store.pause(&pause(Some("acme"), None), "").await.unwrap();
        store.pause(&pause(Some("acme"), None), "").await.unwrap();
        let said = |why: &str| said("ann", why, 1);
        assert_eq!(
            store
                .resume(Some("acme"), None, &said("over"))
                .await
                .unwrap(),
            1
        );
        assert_eq!(
            store
                .resume(Some("acme"), None, &said("over"))
                .await
                .unwrap(),
            0
        );
        store
            .approve(&approval("ann", 1), "", "good")
            .await
            .unwrap();
        let (fix, bad) = (version("4.9.2"), said("bad"));
        store
            .withdraw_approval("acme", None, &fix, &bad)
            .await
            .unwrap();
        store
            .acknowledge_gate(&id("a"), "gate", &said("read"))
            .await
            .unwrap();
        store
            .withdraw_acknowledgement(&id("a"), "gate", &bad)
            .await
            .unwrap();
        let lease = lease(&store).await;
        let mut claim = claim("a", "4.9.1", "4.9.2", &[]);
        claim.place.known = store.act_mark().await.unwrap();
        let claimed = store.claim(&lease, &[claim], at(2)).await.unwrap();
        assert!(matches!(claimed[..], [ClaimOutcome::Started(_)]));
        let which = CancelWhich::Of(id("a"));
        store.cancel(&which, &said("INC-1")).await.unwrap();
        let lifted = store.lift(&id("a"), None, &said("fixed")).await.unwrap();
        assert_eq!(lifted.len(), 1);
        let revocation = Revocation {
            revoked: Revoked::Serial("AbC".into()),
            by: "ann".into(),
            at: at(3),
            why: "lost".into(),
        };
        store.revoke(&revocation).await.unwrap();
        let halt = NewHalt {
            release: version("4.9.2"),
            path: "halts/4.9.2.yaml".into(),
            body: "to: 4.9.2".into(),
            by: "ann".into(),
            why: "etcd".into(),
            at: at(3),
            evidence: String::new(),
        };
        store.halt(&halt).await.unwrap();
        store.halt(&halt).await.unwrap();
        store.undo_halt(1, "ann", at(4)).await.unwrap();
        store.undo_halt(1, "ann", at(4)).await.unwrap();
        let asked = Preflight {
            cluster: id("a"),
            version: version("4.9.2"),
            from: version("4.9.1"),
            id: "r-1".into(),
            by: "ann".into(),
            state: PreflightState::Asked,
            why: "".into(),
            risks: Default::default(),
            at: at(4),
        };
        store.ask_preflights(&[asked], 1).await.unwrap();
        assert!(store.forget(&id("b"), "ann", at(5)).await.unwrap());
        let expected = [
            "pause",
            "pause",
            "resume",
            "approve",
            "withdraw-approval",
            "acknowledge",
            "withdraw-acknowledgement",
            "cancel",
            "lift",
            "revoke",
            "halt",
            "undo-halt",
            "preflight",
            "forget",
        ];
        let expected = expected.map(|act| format!("{act} by ann (token AbC) from 192.0.2.7"));
        assert_eq!(
            words(&store).await,
            expected,
            "what changes nothing has no entry"
        );
        let told = told(&store).await;
        assert_eq!(told[0]["about"], json!({"organisation": "acme"}));
        assert_eq!(
            (&told[0]["before"], &told[1]["before"]["why"]),
            (&Value::Null, &json!("holidays"))
        );
        assert_eq!(told[2]["before"]["by"], "ann");
        assert_eq!(
            (&told[2]["after"], &told[2]["why"]),
            (&Value::Null, &json!("over"))
        );
        assert_eq!(told[7]["before"]["state"], "planned");
        assert_eq!(told[13]["before"]["name"], "name of b");
        // Without somebody the name is there all the same, and the place is not known.
        opened
            .approve(&approval("bob", 6), "token X", "")
            .await
            .unwrap();
        assert_eq!(words(&store).await[14], "approve by bob (token X) from ");
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn decisions_and_acts_are_one_chain_and_lists_tell_them_apart() {
    both(async |place| {
        let store = place.open().await;
        let lease = lease(&store).await;
        store
            .append_decision(&lease, at(1), &[], b"{}")
            .await
            .unwrap();
        store
            .approve(&approval("ann", 2), "token", "")
            .await
            .unwrap();
        store
            .append_decision(&lease, at(3), &[], b"{}")
            .await
            .unwrap();
        store
            .approve(&approval("bob", 4), "token", "")
            .await
            .unwrap();
        let whole = store.decisions(0, 10).await.unwrap();
        let acts: Vec<bool> = whole.iter().map(|entry| entry.is_act()).collect();
        assert_eq!(acts, [false, true, false, true]);
        assert_eq!(whole[3].prev, whole[2].hash);
        let decisions = store.decisions_before(100, 10).await.unwrap();
        let decisions: Vec<i64> = decisions.iter().map(|entry| entry.seq).collect();
        assert_eq!(decisions, [3, 1]);
        let bounded = async |after, since, until| {
            let acts = store.logged_acts(after, since, until, 10).await.unwrap();
            acts.iter().map(|act| act.seq).collect::<Vec<_>>()
        };
        assert_eq!(bounded(0, None, None).await, [2, 4]);
        assert_eq!(bounded(2, None, None).await, [4]);
        assert_eq!(bounded(0, Some(at(3)), None).await, [4]);
        assert_eq!(bounded(0, Some(at(2)), Some(at(4))).await, [2]);
        assert_eq!(store.verify_chain().await.unwrap().problems, [""; 0]);
        for (tampering, expected) in [
            (
                "UPDATE decisions SET kind = NULL WHERE seq = 2",
                "entry 2 is marked as another kind",
            ),
            (
                "UPDATE decisions SET kind = 'act' WHERE seq = 1",
                "entry 1 is marked as another kind",
            ),
            (
                "UPDATE decisions SET at = at + 1 WHERE seq = 4",
                "decision 4 was changed",
            ),
        ] {
            place.tamper(tampering).await;
            let found = store.check().await.unwrap();
            assert!(
                found.iter().any(|problem| problem.contains(expected)),
                "{tampering}: {found:?}"
            );
        }
        // A log that is damaged takes no entry; a pause is the safe side, and holds.
        place.tamper("DELETE FROM decisions WHERE seq = 4").await;
        let refused = store.approve(&approval("eve", 5), "token", "").await;
        assert!(
            matches!(refused, Err(StoreError::Corrupt(_))),
            "{refused:?}"
        );
        store.pause(&pause(None, None), "token").await.unwrap();
        assert_eq!(store.pauses().await.unwrap().len(), 1);
    });
}

fn signed(head: LogHead) -> SignedHead {
    SignedHead {
        head,
        key: "test".into(),
        signature: vec![7; 64],
    }
}

#[test]
fn only_the_holder_of_the_lease_keeps_a_signature_and_only_of_what_is_there() {
    both(async |place| {
        let store = place.open().await;
        let old = lease(&store).await;
        assert_eq!(store.newest_signed_head().await.unwrap(), None);
        for hour in 0..4 {
            store
                .append_decision(&old, at(hour), &[], b"{}")
                .await
                .unwrap();
        }
        let stretch = store.log_since(None).await.unwrap();
        assert_eq!(
            (stretch.last.0, stretch.is_whole, stretch.problems),
            (4, true, vec![])
        );
        let head = LogHead {
            sequence: 4,
            hash: stretch.last.1,
            pruned: 0,
            at: at(4),
        };
        store.keep_signed_head(&old, &signed(head)).await.unwrap();
        let later = LogHead { at: at(5), ..head };
        store.keep_signed_head(&old, &signed(later)).await.unwrap();
        assert_eq!(
            store.newest_signed_head().await.unwrap(),
            Some(signed(later))
        );
        assert_eq!(store.signed_heads(-1, 10).await.unwrap().len(), 1);
        let other = LogHead {
            hash: [1; 32],
            ..head
        };
        let refused = store.keep_signed_head(&old, &signed(other)).await;
        assert!(matches!(refused, Err(StoreError::Bad(_))), "{refused:?}");
        // Another replica has the lease now.
        assert!(store.release(&old).await.unwrap());
        let new = store.acquire("scheduler", "another", Duration::from_secs(60));
        let new = new.await.unwrap().unwrap();
        let refused = store.keep_signed_head(&old, &signed(later)).await;
        assert!(matches!(refused, Err(StoreError::Fenced)), "{refused:?}");
        store.keep_signed_head(&new, &signed(later)).await.unwrap();

        // What was signed is compared before anything is signed after it.
        store
            .append_decision(&new, at(6), &[], b"{}")
            .await
            .unwrap();
        let from = |sequence, hash| Some((sequence, hash));
        let stretch = store.log_since(from(4, head.hash)).await.unwrap();
        assert_eq!((stretch.last.0, stretch.problems), (5, vec![]));
        let stretch = store.log_since(from(4, [1; 32])).await.unwrap();
        assert!(
            stretch.problems[0].contains("entry 4 is another one"),
            "{stretch:?}"
        );
        let stretch = store.log_since(from(9, [1; 32])).await.unwrap();
        assert!(
            stretch.problems[0].contains("entry 9 was signed, and is missing"),
            "{stretch:?}"
        );

        // A backup has the signatures; pruning takes those of what is gone.
        let file = place.directory.path().join("signed.db");
        store.backup(&file).await.unwrap();
        let target = Place::new(Backend::Sqlite);
        Store::restore(&file, &target.url).await.unwrap();
        let restored = target.open().await;
        assert_eq!(
            restored.newest_signed_head().await.unwrap(),
            Some(signed(later))
        );
        let keep = Retention {
            now: at(100),
            before: at(6),
            attempts_before: at(6),
            oldest_needed: None,
        };
        let mut pruned = 0;
        while pruned < 4 {
            pruned += store.prune(&new, &keep).await.unwrap().decisions;
        }
        let stretch = store.log_since(from(3, [1; 32])).await.unwrap();
        assert_eq!(
            (stretch.last.0, stretch.pruned, stretch.problems),
            (5, 4, vec![])
        );
        let head = LogHead {
            sequence: 5,
            hash: stretch.last.1,
            pruned: 4,
            at: at(101),
        };
        store.keep_signed_head(&new, &signed(head)).await.unwrap();
        let kept = store.signed_heads(-1, 10).await.unwrap();
        let kept: Vec<i64> = kept.iter().map(|kept| kept.head.sequence).collect();
        assert_eq!(
            kept,
            [4, 5],
            "the head at the checkpoint still vouches for it"
        );
    });
}

#[test]
fn a_store_and_a_backup_of_schema_eleven_are_brought_up_to_date() {
    both(async |place| {
        let store = place.open().await;
        let lease = lease(&store).await;
        for hour in 0..3 {
            store
                .append_decision(&lease, at(hour), &[], b"{}")
                .await
                .unwrap();
        }
        let before = store.verify_chain().await.unwrap();
        let file = place.directory.path().join("eleven.db");
        store.backup(&file).await.unwrap();
        store.close().await;
        let older = Place {
            url: format!("sqlite:{}", file.display()),
            backend: Backend::Sqlite,
            directory: tempfile::tempdir().unwrap(),
        };
        for text in SCHEMA_ELEVEN {
            place.tamper(text).await;
            older.tamper(text).await;
        }
        let target = Place::new(place.backend);
        Store::restore(&file, &target.url).await.unwrap();
        for place in [place, &target] {
            let store = place.open().await;
            assert_eq!(
                store.verify_chain().await.unwrap(),
                before,
                "what was there keeps its bytes"
            );
            let act = NewAct {
                act: "import",
                about: json!({"clusters": 3}),
                before: Value::Null,
                after: Value::Null,
                by: "ann",
                known_by: "token",
                at: at(9),
                why: "",
            };
            assert_eq!(store.log_act(act).await.unwrap(), 4);
            assert_eq!(words(&store).await, ["import by ann (token) from "]);
            assert_eq!(store.check().await.unwrap(), [""; 0]);
        }
    });
}

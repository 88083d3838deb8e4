//! What a watch last said about each release is kept until it is not watched any more, and only whoever has the lease may change it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says so"
)]

use std::time::Duration;

use towpath_store::{KeptAnswer, StoreError};
use towpath_testing_store::*;

fn answer(release: &str, body: &str, hour: i64) -> KeptAnswer {
    KeptAnswer {
        release: version(release),
        body: body.to_owned(),
        at: at(hour),
    }
}

#[test]
fn the_last_answer_about_each_release_is_kept() {
    both(async |place| {
        let store = place.open().await;
        let minute = Duration::from_secs(60);
        let lease = store
            .acquire("watch", "one", minute)
            .await
            .unwrap()
            .unwrap();
        for one in [
            answer("4.9.2", "first", 1),
            answer("4.9.3", "other", 1),
            answer("4.9.2", "second", 2),
        ] {
            store.keep_watch_answer(&lease, &one).await.unwrap();
        }
        let expected = [answer("4.9.2", "second", 2), answer("4.9.3", "other", 1)];
        assert_eq!(store.watch_answers().await.unwrap(), expected);
        store
            .forget_watch_answer(&lease, &version("4.9.2"))
            .await
            .unwrap();
        assert_eq!(store.watch_answers().await.unwrap(), expected[1..]);
        store.release(&lease).await.unwrap();
        let refused = store
            .keep_watch_answer(&lease, &answer("4.9.2", "late", 3))
            .await;
        assert!(matches!(refused, Err(StoreError::Fenced)), "{refused:?}");
    });
}

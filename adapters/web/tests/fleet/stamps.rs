//! Stamps: for the cluster whose token it is, with and without a fleet, and never while the graph is too old.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use towpath_core::agent::Stamp;
use towpath_core::graph::Graph;
use towpath_core::intake::Ages;
use towpath_formats::agent::stamp::{self, Nonce};
use towpath_web::{
    FleetAnswer, Limits, Reads, ReloadDoor, Snapshot, SourceHealth, SourceReads, WakeOutcome,
    WindowChanges,
};

use crate::door::{Door, KEY, NOW, Response, admin_token, bearer, cluster, cluster_token, told};

const NONCE: &str = "0123456789-_abcd";

fn ask(door: &Door, id: &str, token: &str) -> Response {
    door.get_with(
        &format!("/api/v1/clusters/{id}/stamp?nonce={NONCE}"),
        &bearer(token),
    )
}

/// A source that was good so many minutes ago; none: never. After an hour nothing is recommended by it.
fn source(minutes: Option<i64>) -> SourceHealth {
    let now: Timestamp = NOW.parse().unwrap();
    SourceHealth {
        name: "releases".into(),
        kind: "file",
        location: "releases.json".into(),
        last_success: minutes.map(|minutes| now - SignedDuration::from_mins(minutes)),
        problem: None,
        seal: None,
        stricter: Vec::new(),
        reads: SourceReads::default(),
        changed_windows: None,
        window_changes: WindowChanges::default(),
        ages: Ages {
            degraded_after: SignedDuration::from_mins(10),
            closed_after: Some(SignedDuration::from_hours(1)),
        },
    }
}

fn load_graph(door: &Door) {
    let graph = Graph::build(Default::default(), Default::default()).0;
    door.service.replace(
        Snapshot::new(
            graph,
            Default::default(),
            String::new(),
            NOW.parse().unwrap(),
        ),
        Vec::new(),
    );
}

/// A service without a fleet, with keys and a graph of these sources.
fn stamping(sources: &[Option<i64>]) -> Door {
    let door = Door::closed(Limits::default());
    keep_keys(&door, Some(KEY));
    load_graph(&door);
    door.service
        .sources(sources.iter().map(|minutes| source(*minutes)).collect());
    door
}

fn keep_keys(door: &Door, keys: Option<&str>) {
    door.keys(keys);
    door.service.reload_door(ReloadDoor {
        wake: std::sync::Arc::new(|_| WakeOutcome::Sources(Vec::new())),
    });
}

#[test]
fn a_cluster_learns_how_old_the_graph_is() {
    let door = stamping(&[Some(2), Some(20)]);
    let answer = ask(&door, "0f3a", &cluster_token("0f3a"));
    assert_eq!(
        (answer.status, &*answer.headers["cache-control"]),
        (200, "no-store")
    );
    let (id, nonce) = (cluster("0f3a"), Nonce::new(NONCE).unwrap());
    let read = |token: &str| stamp::read(answer.body.as_bytes(), token, &id, &nonce);
    let expected = Stamp {
        good_at: "2026-05-12T10:10:00Z".parse().unwrap(),
        stamped_at: NOW.parse().unwrap(),
    };
    assert_eq!(
        read(&cluster_token("0f3a")),
        Ok(expected),
        "that of the oldest source"
    );
    assert!(read(&cluster_token("0f3b")).is_err());
    let odd = ask(&door, "a%2Fb%20c", &cluster_token("a/b c"));
    let read = stamp::read(
        odd.body.as_bytes(),
        &cluster_token("a/b c"),
        &cluster("a/b c"),
        &nonce,
    );
    assert!(read.is_ok(), "an id may have any characters: {read:?}");
}

#[test]
fn a_stamp_is_made_with_the_token_that_the_cluster_has() {
    let door = stamping(&[Some(1)]);
    keep_keys(&door, Some(&format!("{}\n{KEY}\n", KEY.to_uppercase())));
    let answer = ask(&door, "0f3a", &cluster_token("0f3a"));
    let read = stamp::read(
        answer.body.as_bytes(),
        &cluster_token("0f3a"),
        &cluster("0f3a"),
        &Nonce::new(NONCE).unwrap(),
    );
    assert!(read.is_ok(), "its key is no longer the first one: {read:?}");
}

#[test]
fn a_stamp_is_refused_without_the_clusters_token() {
    let door = stamping(&[Some(1)]);
    for (token, expected) in [
        (String::new(), told(401, "no_token")),
        ("nonsense".to_owned(), told(401, "malformed_token")),
        (cluster_token("0f3b"), told(403, "wrong_cluster")),
        (admin_token(), told(403, "wrong_token")),
    ] {
        assert_eq!(ask(&door, "0f3a", &token).told(), expected, "{token}");
    }
    keep_keys(&door, None);
    assert_eq!(
        ask(&door, "0f3a", &cluster_token("0f3a")).told(),
        told(403, "no_token_key")
    );
}

#[test]
fn with_a_fleet_its_keys_count() {
    let door = stamping(&[Some(1)]);
    door.fleet(None, Reads::WithToken, |_| {
        FleetAnswer::Json("{}".to_owned())
    });
    assert_eq!(
        ask(&door, "0f3a", &cluster_token("0f3a")).told(),
        told(403, "no_token_key")
    );
    door.fleet(Some(KEY), Reads::WithToken, |_| {
        FleetAnswer::Json("{}".to_owned())
    });
    assert_eq!(ask(&door, "0f3a", &cluster_token("0f3a")).status, 200);
    assert_eq!(door.asked(), [], "the desk has no part in it");
}

#[test]
fn a_nonce_is_needed_once_and_nothing_else() {
    let door = stamping(&[Some(1)]);
    let long = "a".repeat(65);
    for query in [
        "",
        "?nonce=",
        "?nonce=0123456789abcde",
        &format!("?nonce={long}"),
        "?nonce=0123456789abcd%0A%0A",
        "?nonce=0123456789abcdef&nonce=0123456789abcdef",
        "?nonce=0123456789abcdef&goodAt=now",
    ] {
        let target = format!("/api/v1/clusters/0f3a/stamp{query}");
        let answer = door.get_with(&target, &bearer(&cluster_token("0f3a")));
        assert_eq!(answer.told(), told(400, "invalid_params"), "{query}");
    }
    let posted = door.post(
        &format!("/api/v1/clusters/0f3a/stamp?nonce={NONCE}"),
        &cluster_token("0f3a"),
        "{}",
    );
    assert_eq!(
        (posted.told(), &*posted.headers["allow"]),
        (told(405, "method_not_allowed"), "GET, HEAD")
    );
}

#[test]
fn without_a_good_graph_there_is_no_stamp() {
    let token = cluster_token("0f3a");
    for (sources, expected) in [
        (&[][..], "there is no graph yet"),
        (&[Some(1), None], "releases has never been read"),
        (
            &[Some(1), Some(60)],
            "releases is too old: nothing is recommended",
        ),
    ] {
        let answer = ask(&stamping(sources), "0f3a", &token);
        assert_eq!(
            (answer.told(), &*answer.headers["retry-after"]),
            (told(503, "unavailable"), "5"),
            "{sources:?}"
        );
        assert!(answer.body.contains(expected), "{}", answer.body);
    }
    assert_eq!(
        ask(&stamping(&[Some(59)]), "0f3a", &token).status,
        200,
        "degraded is not closed"
    );
    let without_graph = Door::closed(Limits::default());
    keep_keys(&without_graph, Some(KEY));
    without_graph.service.sources(vec![source(Some(1))]);
    let answer = ask(&without_graph, "0f3a", &token);
    assert_eq!(
        answer.told(),
        told(503, "unavailable"),
        "read, and no graph could be made: {:?}",
        json!(answer.body)
    );
}

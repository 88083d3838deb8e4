//! The fleet API over real connections, with a fake fleet that records requests.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

mod door;
mod people;
mod stamps;

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use towpath_core::access::{Permission, Role};
use towpath_core::finding::{Finding, Place, Severity};
use towpath_core::fleet::{
    Actor, AgentOutcome, Authority, ClusterRow, ClusterSort, Filter, HistoryRow, MatrixBy,
    UnknownClusters, UpgradeState,
};
use towpath_formats::fleet::token::{Claims, Enrolment, Grant};
use towpath_web::{
    AccessKeys, AllowedUpdates, AusCluster, AusMetrics, AusOrganisation, AusRemaining, AusSoak,
    ClusterCount, ClusterPlace, Cost, FleetAnswer, FleetHealth, FleetMetrics, FleetRequest, Limits,
    Managed, OutcomesQueryMetrics, Party, ROUTES, Reads, ReloadDoor, RemainingSoak, TokenKeys,
    UpgradeChoice, WakeOutcome, WatchMetrics, Who,
};

use door::{
    Door, KEY, NOW, Response, admin_token, bearer, cluster, cluster_token, person_token, token_by,
    told,
};

const REPORT: &str = r#"{"organisation": "o", "version": "4.16.1"}"#;
const REPORT_PATH: &str = "/api/v1/clusters/0f3a/report";
const READS: [&str; 16] = [
    "/api/v1/fleet/status",
    "/api/v1/fleet/plan",
    "/api/v1/fleet/clusters",
    "/api/v1/fleet/upgrades",
    "/api/v1/fleet/holds",
    "/api/v1/fleet/history",
    "/api/v1/fleet/forecast",
    "/api/v1/fleet/sectors",
    "/api/v1/fleet/matrix",
    "/api/v1/fleet/calendar",
    "/api/v1/fleet/acts",
    "/api/v1/fleet/decisions",
    "/api/v1/fleet/watch",
    "/api/v1/fleet/decisions/7",
    "/api/v1/clusters/c",
    "/api/v1/clusters/c/why",
];
const WRITES: [(&str, &str); 8] = [
    ("/api/v1/fleet/pause", r#"{"why": "etcd"}"#),
    ("/api/v1/fleet/resume", "{}"),
    (
        "/api/v1/fleet/approve",
        r#"{"organisation": "o", "version": "4.16.2"}"#,
    ),
    (
        "/api/v1/fleet/acknowledge",
        r#"{"gate": "g", "cluster": "c"}"#,
    ),
    (
        "/api/v1/fleet/withdraw",
        r#"{"act": "approval", "organisation": "o", "version": "4.16.2", "why": "etcd"}"#,
    ),
    ("/api/v1/fleet/cancel", r#"{"cluster": "c", "why": "etcd"}"#),
    ("/api/v1/fleet/forget", r#"{"cluster": "c"}"#),
    ("/api/v1/fleet/import", r#"{"clusters": []}"#),
];

#[test]
fn a_report_is_accepted_with_the_clusters_own_token() {
    let door = Door::accepting();
    let response = door.post(REPORT_PATH, &cluster_token("0f3a"), REPORT);
    assert_eq!(
        (response.status, response.json()),
        (202, json!({"kind": "accepted"}))
    );
    assert_eq!(response.headers["cache-control"], "no-store");
    let mut report = towpath_formats::fleet::report::read(REPORT.as_bytes()).unwrap();
    report.name = Some("0f3a".into());
    let expected = FleetRequest::Report {
        cluster: cluster("0f3a"),
        authority: Authority::Token,
        report: Box::new(report),
        body: REPORT.into(),
        received: NOW.parse().unwrap(),
    };
    assert_eq!(door.asked(), [expected]);
    let odd = door.post(
        "/api/v1/clusters/a%2Fb%20c/report",
        &cluster_token("a/b c"),
        REPORT,
    );
    assert_eq!(odd.status, 202, "an id may have any characters");
}

#[test]
fn a_report_is_refused_without_it() {
    let door = Door::accepting();
    for (token, expected) in [
        (String::new(), told(401, "no_token")),
        ("nonsense".to_owned(), told(401, "malformed_token")),
        (cluster_token("0f3b"), told(403, "wrong_cluster")),
        (cluster_token("0F3A"), told(403, "wrong_cluster")),
        (admin_token(), told(403, "wrong_token")),
        (
            token_by(&KEY.repeat(2), of_cluster("0f3a")),
            told(401, "unknown_key"),
        ),
        (
            cluster_token("0f3a").replacen("tp2_", "tp2_A", 1),
            told(401, "malformed_token"),
        ),
        (
            format!(
                "{}AAAA",
                &cluster_token("0f3a")[..cluster_token("0f3a").len() - 4]
            ),
            told(401, "forged_token"),
        ),
        (ended("0f3a"), told(401, "ended_token")),
        (FIRST_VERSION.to_owned(), told(403, "unbound_token")),
    ] {
        let response = door.post(REPORT_PATH, &token, REPORT);
        assert_eq!(response.told(), expected, "{token}");
        assert_eq!(
            response.headers.contains_key("www-authenticate"),
            expected.0 == 401
        );
    }
    let basic = format!(
        "POST {REPORT_PATH} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Basic {}\r\ncontent-length: 0\r\n\r\n",
        cluster_token("0f3a")
    );
    assert_eq!(door.send(&basic).told(), told(401, "no_token"));
    assert_eq!(door.asked(), []);
}

/// Of cluster 0f3a, made with the key.
const FIRST_VERSION: &str = "tpc_xLqZEoMr6ozXZmZ9yGQrqH36zDnH_CKzejYJSYPzCNw";

fn of_cluster(id: &str) -> Grant {
    Grant::Cluster(Enrolment {
        organisation: "o".into(),
        name: id.into(),
        id: cluster(id),
    })
}

fn ended(id: &str) -> String {
    let (end, serial) = (NOW.parse().unwrap(), "AAAAAAAAAAAAAAAA".into());
    TokenKeys::parse(KEY)
        .unwrap()
        .issue(&Claims {
            grant: of_cluster(id),
            made: None,
            end,
            serial,
        })
        .unwrap()
}

#[test]
fn a_report_is_for_the_organisation_and_name_of_its_token() {
    let door = Door::accepting();
    let token = cluster_token("0f3a");
    for body in [
        r#"{"organisation": "another", "version": "4.16.1"}"#,
        r#"{"organisation": "o", "name": "another", "version": "4.16.1"}"#,
    ] {
        let refused = door.post(REPORT_PATH, &token, body);
        assert_eq!(refused.told(), told(403, "not_as_bound"), "{body}");
        assert!(
            refused.body.contains("towpath fleet token"),
            "it says what to do: {}",
            refused.body
        );
    }
    assert_eq!(door.asked(), [], "nothing was changed");
    assert_eq!(
        door.post(
            REPORT_PATH,
            &token,
            r#"{"organisation": "o", "name": "0f3a", "version": "4.16.1"}"#
        )
        .status,
        202
    );
}

#[test]
fn tokens_of_the_first_version_are_taken_until_a_day_that_was_named() {
    for (until, expected) in [
        ("2026-05-12T10:30:00Z", None),
        ("2026-05-12T10:30:01Z", Some(Authority::Claim)),
    ] {
        let door = Door::accepting();
        let keys = AccessKeys::new(Some(TokenKeys::parse(KEY).unwrap()), None)
            .unwrap()
            .accepting_unbound_until(Some(until.parse().unwrap()));
        door.fleet_with(keys);
        let answer = door.post(REPORT_PATH, FIRST_VERSION, REPORT);
        let taken = door.asked().iter().find_map(|asked| match asked {
            FleetRequest::Report { authority, .. } => Some(*authority),
            _ => None,
        });
        assert_eq!(taken, expected, "{until}");
        if expected.is_none() {
            assert_eq!(answer.told(), told(403, "unbound_token"));
            assert!(
                answer.body.contains("towpath fleet token")
                    && answer.body.contains("--accept-unbound-tokens-until")
            );
        }
    }
}

#[test]
fn a_cluster_that_reports_too_often_is_told_to_wait() {
    let door = Door::accepting();
    door.service.limit_reports(1);
    let send = |id: &str| {
        door.post(
            &format!("/api/v1/clusters/{id}/report"),
            &cluster_token(id),
            REPORT,
        )
    };
    assert_eq!(send("0f3a").status, 202);
    let refused = send("0f3a");
    assert_eq!(refused.told(), told(429, "too_many_reports"));
    let wait: u64 = refused.headers["retry-after"].parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(send("0f3b").status, 202, "another cluster has its own rate");
    let path = "/api/v1/clusters/0f3c/report";
    assert_eq!(
        door.post(path, &cluster_token("0f3a"), REPORT).told(),
        told(403, "wrong_cluster")
    );
    assert_eq!(send("0f3c").status, 202, "nobody uses up another's rate");
    assert_eq!(
        door.asked().len(),
        3,
        "what is refused never reaches the desk"
    );
    let metrics = door.get("/metrics").body;
    assert!(
        metrics.contains("towpath_fleet_reports_total{result=\"too_often\"} 1"),
        "{metrics}"
    );
    door.service.limit_reports(0);
    for _ in 0..100 {
        assert_eq!(send("0f3a").status, 202, "0 is no limit");
    }
}

#[test]
fn keys_can_be_rotated() {
    let door = Door::accepting();
    let new = KEY.to_uppercase();
    door.fleet(Some(&format!("{new}\n{KEY}\n")), Reads::Open, |_| {
        FleetAnswer::Json("{}".to_owned())
    });
    let renewed = token_by(&new, of_cluster("0f3a"));
    assert_eq!(
        door.post(REPORT_PATH, &cluster_token("0f3a"), REPORT)
            .status,
        202
    );
    assert_eq!(door.post(REPORT_PATH, &renewed, REPORT).status, 202);
    door.fleet(Some(&new), Reads::Open, |_| {
        FleetAnswer::Json("{}".to_owned())
    });
    assert_eq!(
        door.post(REPORT_PATH, &cluster_token("0f3a"), REPORT)
            .told(),
        told(401, "unknown_key")
    );
}

/// Whose the administrator's token is.
fn ada() -> Actor {
    Actor {
        name: "ada".into(),
        known_by: "token AAAAAAAAAAAAAAAA".into(),
    }
}

#[test]
fn changes_need_the_administrators_token() {
    let door = Door::accepting();
    for (path, body) in WRITES {
        assert_eq!(
            door.post(path, "", body).told(),
            told(401, "no_token"),
            "{path}"
        );
        assert_eq!(
            door.post(path, &cluster_token("0f3a"), body).told(),
            told(403, "no_role"),
            "{path}"
        );
        assert_eq!(door.post(path, &admin_token(), body).status, 200, "{path}");
    }
    let (actor, why) = (ada(), "etcd".to_owned());
    let no_reason = || "no reason was given".to_owned();
    let version: towpath_core::version::Version = "4.16.2".parse().unwrap();
    let expected = [
        FleetRequest::Pause {
            organisation: None,
            sector: None,
            actor: actor.clone(),
            why,
        },
        FleetRequest::Resume {
            organisation: None,
            sector: None,
            actor: actor.clone(),
            why: no_reason(),
        },
        FleetRequest::Approve {
            organisation: "o".into(),
            cluster: None,
            version: version.clone(),
            actor: actor.clone(),
            why: no_reason(),
        },
        FleetRequest::Acknowledge {
            gate: "g".into(),
            cluster: "c".into(),
            actor: actor.clone(),
            why: no_reason(),
        },
        FleetRequest::WithdrawApproval {
            organisation: "o".into(),
            cluster: None,
            version,
            actor: actor.clone(),
            why: "etcd".into(),
        },
        FleetRequest::Cancel {
            which: UpgradeChoice::Of("c".into()),
            actor: actor.clone(),
            why: "etcd".into(),
        },
        FleetRequest::Forget {
            cluster: "c".into(),
            actor: actor.clone(),
        },
        FleetRequest::Import {
            list: r#"{"clusters": []}"#.into(),
            actor,
        },
    ];
    assert_eq!(door.asked(), expected);
}

#[test]
fn reading_needs_a_token_only_if_that_is_wanted() {
    let door = Door::accepting();
    for path in READS {
        assert_eq!(door.get(path).status, 200, "{path}");
    }
    let filter = Filter::default;
    let expected = [
        FleetRequest::Status(filter()),
        FleetRequest::Plan {
            filter: filter(),
            days: None,
        },
        FleetRequest::Clusters {
            filter: filter(),
            sort: ClusterSort::Organisation,
        },
        FleetRequest::Upgrades(filter()),
        FleetRequest::Holds(filter()),
        FleetRequest::History(filter()),
        FleetRequest::Forecast {
            days: 14,
            from: None,
            filter: filter(),
        },
        FleetRequest::Sectors(filter()),
        FleetRequest::Matrix {
            by: MatrixBy::Sector,
            filter: filter(),
        },
        FleetRequest::Calendar {
            filter: filter(),
            from: None,
            until: None,
        },
        FleetRequest::Acts {
            filter: filter(),
            standing: false,
        },
        FleetRequest::Decisions {
            before: None,
            limit: None,
        },
        FleetRequest::Watch { release: None },
        FleetRequest::Decision {
            number: 7,
            cluster: None,
        },
        FleetRequest::Cluster {
            cluster: "c".into(),
        },
        FleetRequest::Why {
            cluster: "c".into(),
            version: None,
        },
    ];
    assert_eq!(door.asked(), expected);
    door.fleet(Some(KEY), Reads::WithToken, |_| {
        FleetAnswer::Json("{}".to_owned())
    });
    for path in READS {
        assert_eq!(door.get(path).told(), told(401, "no_token"), "{path}");
        assert_eq!(
            door.get_with(path, &bearer(&cluster_token("c"))).told(),
            told(403, "no_role"),
            "{path}"
        );
        assert_eq!(
            door.get_with(path, &bearer(&admin_token())).status,
            200,
            "{path}"
        );
        assert_eq!(
            door.get_with(path, &bearer(&person_token("bob", &[Role::Viewer], None)))
                .status,
            200,
            "{path}"
        );
    }
    assert_eq!(
        door.get("/api/v1/openapi.json").status,
        200,
        "the description is no secret"
    );
}

/// What the table says of who may is what happens: with each kind of token, and without one.
#[test]
fn who_may_is_what_the_table_says() {
    let door = Door::closed(Limits::default());
    door.fleet(Some(KEY), Reads::WithToken, |_| {
        FleetAnswer::Json("{}".to_owned())
    });
    door.service.reload_door(ReloadDoor {
        wake: std::sync::Arc::new(|_| WakeOutcome::Sources(Vec::new())),
    });
    let mut tokens = vec![
        (Party::Nobody, String::new()),
        (Party::Cluster, bearer(&cluster_token("0f3a"))),
        (
            Party::Role(Role::Pipeline),
            bearer(&token_by(KEY, Grant::Reload)),
        ),
    ];
    tokens.extend(Role::OF_PEOPLE.map(|role| {
        let token = bearer(&person_token("ada", &[role], None));
        (Party::Role(role), token)
    }));
    for route in ROUTES {
        let methods: Vec<&str> = route.verb.allow().split(", ").collect();
        // With GET, a stream would not end.
        let method = match route.cost() {
            Cost::Stream => "HEAD",
            _ => methods[0],
        };
        let path = route.path.replace("{cluster}", "0f3a");
        for (party, token) in &tokens {
            let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
            let status = door.send(&format!("{head}{token}\r\n")).status;
            let is_refused = [401, 403].contains(&status);
            let may = match route.who {
                // No id is asked about.
                Who::AnyoneOrClusterById => true,
                // Here, reading takes a token.
                Who::May(Permission::ReadFleet) if *party == Party::Nobody => false,
                who => !who.refuses() || who.parties().contains(party),
            };
            assert_eq!(!is_refused, may, "{method} {path} as {party:?}: {status}");
        }
    }
}

#[test]
fn without_keys_nothing_can_be_changed() {
    let door = Door::closed(Limits::default());
    door.fleet(None, Reads::WithToken, |_| {
        FleetAnswer::Json("{}".to_owned())
    });
    for (path, body) in WRITES.into_iter().chain([(REPORT_PATH, REPORT)]) {
        assert_eq!(
            door.post(path, &admin_token(), body).told(),
            told(403, "no_token_key"),
            "{path}"
        );
    }
    let status = "/api/v1/fleet/status";
    assert_eq!(door.get(status).told(), told(403, "no_token_key"));
    door.fleet(None, Reads::Open, |_| FleetAnswer::Json("{}".to_owned()));
    assert_eq!(
        door.get(status).status,
        200,
        "reads are open if that is said"
    );
    for (path, body) in WRITES {
        assert_eq!(door.post(path, "", body).told(), told(403, "no_token_key"));
    }
}

#[test]
fn without_a_fleet_there_is_none() {
    let door = Door::closed(Limits::default());
    for path in READS {
        assert_eq!(door.get(path).told(), told(404, "no_fleet"), "{path}");
    }
    let refused = door.post(REPORT_PATH, &cluster_token("0f3a"), REPORT);
    assert_eq!(refused.told(), told(404, "no_fleet"));
    assert!(refused.body.contains("--fleet"), "it says what to do");
    assert_eq!(
        door.get("/api/v1/openapi.json").json()["info"]["title"],
        "Towpath"
    );
    assert_eq!(
        door.get("/readyz").json()["fleet"],
        json!({"configured": false})
    );
}

#[test]
fn other_methods_and_paths() {
    let door = Door::accepting();
    for path in READS {
        let refused = door.post(path, &admin_token(), "{}");
        assert_eq!(
            (refused.told(), &*refused.headers["allow"]),
            (told(405, "method_not_allowed"), "GET, HEAD"),
            "{path}"
        );
    }
    for path in WRITES
        .map(|(path, _)| path)
        .into_iter()
        .chain([REPORT_PATH])
    {
        let refused = door.get(path);
        assert_eq!(
            (refused.told(), &*refused.headers["allow"]),
            (told(405, "method_not_allowed"), "POST"),
            "{path}"
        );
    }
    assert_eq!(
        door.get("/api/v1/fleet/nothing").told(),
        told(404, "does_not_exist")
    );
    let head =
        door.send("HEAD /api/v1/fleet/plan HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert_eq!(
        (head.status, &*head.body, &*head.headers["content-length"]),
        (200, "", "19")
    );
}

#[test]
fn queries_are_read_strictly() {
    let door = Door::accepting();
    for target in [
        "/api/v1/fleet/status?organisation=o",
        "/api/v1/fleet/plan?limit=none",
        "/api/v1/fleet/forecast?days=0",
        "/api/v1/clusters/c/why?version=latest",
        "/api/v1/rollouts?channel=stable-4.20",
        "/api/v1/openapi.json?format=yaml",
        "/api/v1/fleet/plan?format=yaml",
        "/api/v1/fleet/plan?format=markdown",
        "/api/v1/fleet/plan?format=text&width=3",
    ] {
        assert_eq!(
            door.get(target).told(),
            told(400, "invalid_params"),
            "{target}"
        );
    }
    let posted = door.post("/api/v1/fleet/resume?sector=s", &admin_token(), "{}");
    assert_eq!(
        posted.told(),
        told(400, "invalid_params"),
        "a change's scope stands in its body"
    );
    assert_eq!(door.asked(), []);
    assert_eq!(
        door.get("/api/v1/fleet/forecast?days=3&sector=a+b&limit=7")
            .status,
        200
    );
    let filter = Filter {
        sector: Some("a b".into()),
        limit: Some(7),
        ..Filter::default()
    };
    assert_eq!(
        door.asked(),
        [FleetRequest::Forecast {
            days: 3,
            from: None,
            filter
        }]
    );
}

#[test]
fn people_get_text_as_wide_as_their_terminal() {
    let door = Door::accepting();
    let text = |target: &str| {
        let answer = door.get(target);
        (answer.headers["content-type"].clone(), answer.body)
    };
    let plain = "text/plain; charset=utf-8".to_owned();
    assert_eq!(
        text("/api/v1/fleet/plan?format=text&width=80"),
        (plain.clone(), "Text { width: Some(80) }".to_owned())
    );
    assert_eq!(
        text("/api/v1/fleet/history?format=markdown"),
        (plain, "Markdown".to_owned())
    );
    let paused = door.post("/api/v1/fleet/resume?format=text", &admin_token(), "{}");
    assert_eq!(paused.body, "Text { width: None }");
}

#[test]
fn the_desks_answers() {
    let door = Door::open(|request| match request {
        FleetRequest::Why { .. } => {
            FleetAnswer::NotFound("there is no cluster c; `towpath fleet status` lists them".into())
        }
        FleetRequest::Plan { .. } => FleetAnswer::Unavailable("the store cannot be reached".into()),
        FleetRequest::Status(_) => panic!("a mistake of ours"),
        _ => FleetAnswer::Refused {
            kind: "unknown_sector",
            sentence: "there is no sector s".into(),
        },
    });
    assert_eq!(
        door.get("/api/v1/clusters/c/why").told(),
        told(404, "not_found")
    );
    assert_eq!(
        door.get("/api/v1/fleet/holds").told(),
        told(422, "unknown_sector")
    );
    let away = door.get("/api/v1/fleet/plan");
    assert_eq!(
        (away.told(), &*away.headers["retry-after"]),
        (told(503, "unavailable"), "5")
    );
    assert_eq!(
        door.get("/api/v1/fleet/status").told(),
        told(500, "failed_fleet")
    );
    assert_eq!(door.get("/livez").status, 200);
}

#[test]
fn a_body_that_is_not_right() {
    let door = Door::accepting();
    let token = cluster_token("0f3a");
    for body in ["", "{", "[]", r#"{"organisation": "o"}"#, "\u{0}"] {
        assert_eq!(
            door.post(REPORT_PATH, &token, body).told(),
            told(400, "invalid_body"),
            "{body:?}"
        );
    }
    let head = format!(
        "POST {REPORT_PATH} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{}",
        bearer(&token)
    );
    for content_type in [
        "",
        "content-type: text/plain\r\n",
        "content-type: application/jsonl\r\n",
    ] {
        let request = format!(
            "{head}{content_type}content-length: {}\r\n\r\n{REPORT}",
            REPORT.len()
        );
        assert_eq!(
            door.send(&request).told(),
            told(415, "unsupported_media_type"),
            "{content_type}"
        );
    }
    assert_eq!(door.asked(), []);
}

#[test]
fn a_body_that_is_too_large_whatever_its_head_says() {
    let door = Door::accepting();
    let token = cluster_token("0f3a");
    let padded = |bytes: usize| format!("{REPORT}{}", " ".repeat(bytes - REPORT.len()));
    assert_eq!(
        door.post(REPORT_PATH, &token, &padded(64 << 10)).status,
        202,
        "as large as it may be"
    );
    assert_eq!(
        door.post(REPORT_PATH, &token, &padded((64 << 10) + 1))
            .told(),
        told(413, "body_too_large")
    );
    assert_eq!(
        door.post(REPORT_PATH, &token, &padded(1 << 20)).told(),
        told(413, "body_too_large")
    );
    let head = format!(
        "POST {REPORT_PATH} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n{}",
        bearer(&token)
    );
    let chunk = format!("4000\r\n{}\r\n", " ".repeat(0x4000));
    let chunked = |count| {
        format!(
            "{head}transfer-encoding: chunked\r\n\r\n{}0\r\n\r\n",
            chunk.repeat(count)
        )
    };
    assert_eq!(
        door.send(&chunked(4)).told(),
        told(400, "invalid_body"),
        "read whole"
    );
    assert_eq!(door.send(&chunked(5)).told(), told(413, "body_too_large"));
    let expecting = format!("{head}content-length: 1000000000\r\nexpect: 100-continue\r\n\r\n");
    assert_eq!(
        door.send(&expecting).told(),
        told(413, "body_too_large"),
        "told before it sends"
    );
}

#[test]
fn a_body_that_does_not_come() {
    let limits = Limits {
        head_timeout: Duration::from_millis(300),
        ..Limits::default()
    };
    let door = Door::closed(limits);
    door.fleet(Some(KEY), Reads::Open, |_| {
        FleetAnswer::Json("{}".to_owned())
    });
    let token = cluster_token("0f3a");
    let head = format!(
        "POST {REPORT_PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{}content-length: 100\r\n\r\n{{",
        bearer(&token)
    );
    assert_eq!(
        door.send(&head).told(),
        told(408, "body_too_slow"),
        "and the connection ends"
    );
    let mut ended = door.connect(&head);
    ended.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    ended.read_to_string(&mut answer).unwrap();
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 400 "),
        "{answer}"
    );
    assert_eq!(door.asked(), []);
}

#[test]
fn several_reports_on_one_connection() {
    let door = Door::accepting();
    let one = |last: bool, token: &str| {
        let close = if last { "connection: close\r\n" } else { "" };
        let (token, length) = (bearer(token), REPORT.len());
        format!(
            "POST {REPORT_PATH} HTTP/1.1\r\nhost: x\r\n{close}content-type: application/json\r\n{token}content-length: {length}\r\n\r\n{REPORT}"
        )
    };
    let own = cluster_token("0f3a");
    let mut stream = door.connect(&[one(false, &own), one(false, ""), one(true, &own)].concat());
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let statuses: Vec<&str> = text
        .split("HTTP/1.1 ")
        .skip(1)
        .map(|answer| &answer[..3])
        .collect();
    assert_eq!(statuses, ["202", "401", "202"]);
}

#[test]
fn a_body_is_of_no_interest_elsewhere() {
    let door = Door::accepting();
    let get = |path: &str| {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 4\r\n\r\nbody"
        );
        door.send(&request).status
    };
    assert_eq!((get("/livez"), get("/api/v1/fleet/status")), (200, 200));
}

#[test]
fn readiness_shows_the_fleet_and_does_not_depend_on_it() {
    let door = Door::accepting();
    assert_eq!(
        door.get("/readyz").json()["fleet"],
        json!({"configured": true, "store": "not looked at yet"})
    );
    let health = |problem: Option<&str>| FleetHealth {
        store_problem: problem.map(str::to_owned),
        pass_problem: None,
        checked_at: NOW.parse().unwrap(),
        last_pass: Some("2026-05-12T10:29:00Z".parse().unwrap()),
        is_scheduler: true,
        findings: vec![Finding::warning(
            "matches-no-cluster",
            Place::file("org.yaml").at(9, 3),
            "nobody",
            "look",
        )],
    };
    door.service.fleet_health(health(None));
    let expected = json!({
        "configured": true, "store": "reachable", "problem": null, "checkedAt": NOW,
        "lastPass": "2026-05-12T10:29:00Z", "isScheduler": true,
        "findings": {
            "errors": 0, "warnings": 1, "kinds": {"matches-no-cluster": 1}, "leftOut": 0,
            "shown": [{
                "severity": "warning", "code": "matches-no-cluster", "place": "org.yaml:9:3", "file": "org.yaml",
                "line": 9, "column": 3, "problem": "nobody", "remedy": "look",
            }],
        },
    });
    assert_eq!(door.get("/readyz").json()["fleet"], expected);
    door.service.fleet_health(FleetHealth {
        pass_problem: Some("policy: it cannot be read".to_owned()),
        ..health(None)
    });
    let told = door.get("/readyz").json()["fleet"].clone();
    assert_eq!(
        (&told["store"], &told["problem"]),
        (&json!("reachable"), &json!("policy: it cannot be read")),
        "the store is not at fault"
    );
    door.service.fleet_health(health(None));
    // The texts name clusters: where reading needs a token, others get numbers only.
    door.fleet(Some(KEY), Reads::WithToken, |_| {
        FleetAnswer::Json("{}".to_owned())
    });
    let expected = json!({"errors": 0, "warnings": 1, "kinds": {"matches-no-cluster": 1}});
    assert_eq!(door.get("/readyz").json()["fleet"]["findings"], expected);
    let graph = towpath_core::graph::Graph::build(Default::default(), Default::default()).0;
    let snapshot = towpath_web::Snapshot::new(
        graph,
        Default::default(),
        String::new(),
        NOW.parse().unwrap(),
    );
    door.service.replace(snapshot, Vec::new());
    door.service
        .fleet_health(health(Some("connection refused")));
    let ready = door.get("/readyz");
    assert_eq!(
        (ready.status, &ready.json()["fleet"]["store"]),
        (200, &json!("unreachable"))
    );
    assert_eq!(ready.json()["fleet"]["problem"], "connection refused");
    assert_eq!(door.get("/api/upgrades_info/graph?channel=a").status, 200);
}

#[test]
fn a_large_graph_arrives_whole_at_a_managed_cluster() {
    use towpath_formats::SourceFile;
    use towpath_formats::graph::{data, releases};
    let count = 1500_usize;
    let versions: String = (0..count)
        .map(|n| format!("- {{name: 4.20.{n}, start: '2026-01-01T00:00Z'}}\n"))
        .collect();
    let file = |path: &str, text: &str| SourceFile {
        path: path.into(),
        bytes: text.as_bytes().into(),
    };
    let channels = format!("channels: [{{name: big}}]\nversions:\n{versions}");
    let (data, _) = data::read(&[
        file("version", "2.0.0"),
        file("channels/4.20.yaml", &channels),
    ])
    .unwrap();
    let node = |n: usize| json!({"version": format!("4.20.{n}"), "payload": n.to_string(), "metadata": {"url": "x".repeat(200)}});
    let edges: Vec<[usize; 2]> = (1..count)
        .flat_map(|to| (to.saturating_sub(5)..to).map(move |from| [from, to]))
        .collect();
    let text =
        json!({"nodes": (0..count).map(node).collect::<Vec<_>>(), "edges": edges}).to_string();
    let (releases, _) =
        releases::read(&towpath_core::finding::Place::file("r"), text.as_bytes()).unwrap();
    let (graph, _) = towpath_core::graph::Graph::build(data, releases);
    let door = Door::accepting();
    let snapshot = towpath_web::Snapshot::new(
        graph,
        Default::default(),
        String::new(),
        NOW.parse().unwrap(),
    );
    door.service.replace(snapshot, Vec::new());
    let plain = door.get("/api/upgrades_info/graph?channel=big&id=a");
    let allowed = |to: &[&str]| AllowedUpdates {
        rule: towpath_core::graph::rules::Managed {
            from: "4.20.7".parse().unwrap(),
            to: to.iter().map(|to| to.parse().unwrap()).collect(),
        },
        platform: None,
        groups: None,
    };
    let managed = |to: &[&str]| ClusterPlace::Managed(allowed(to));
    let clusters = [
        (cluster("a"), managed(&["4.20.9"])),
        (cluster("b"), managed(&[])),
    ]
    .into();
    let enrolment = door.service.enrolment();
    let pass = enrolment.pass_begins();
    enrolment.publish(
        Arc::new(Managed {
            clusters,
            others: UnknownClusters::Serve,
        }),
        pass,
    );
    for (id, expected) in [("a", 1), ("b", 0), ("a", 1), ("b", 0)] {
        let seen = door.get(&format!("/api/upgrades_info/graph?channel=big&id={id}"));
        assert_eq!(seen.json()["edges"].as_array().unwrap().len(), expected);
        assert_eq!(seen.json()["nodes"], plain.json()["nodes"]);
        let names = |response: &Response| response.headers.keys().cloned().collect::<Vec<_>>();
        assert_eq!((seen.status, names(&seen)), (200, names(&plain)));
        let known = format!("if-none-match: {}\r\n", seen.headers["etag"]);
        let again = door.get_with(
            &format!("/api/upgrades_info/graph?channel=big&id={id}"),
            &known,
        );
        assert_eq!((again.status, &*again.body), (304, ""));
    }
    assert_eq!(
        door.get("/api/upgrades_info/graph?channel=big&id=c").body,
        plain.body
    );
}

#[test]
fn metrics_of_the_fleet() {
    let door = Door::accepting();
    assert!(
        !door.get("/metrics").body.contains("towpath_fleet_upgrades"),
        "none before the first pass"
    );
    door.post(REPORT_PATH, &cluster_token("0f3a"), REPORT);
    door.post(REPORT_PATH, "", REPORT);
    let soak = |number: usize| RemainingSoak {
        organisation: "o".into(),
        cluster: format!("c\"{number}\\\n").into(),
        version: "4.16.2".parse().unwrap(),
        workload: "w".into(),
        seconds: 3600,
    };
    let ran = |number: usize| HistoryRow {
        organisation: "o".into(),
        version: "4.16.2".parse().unwrap(),
        workload: format!("w{number}").into(),
        seconds: 7200,
        clusters: Vec::new(),
    };
    let policy = |number: usize| ClusterRow {
        organisation: "o".into(),
        name: format!("c{number}").into(),
        id: towpath_core::cluster::ClusterId::new("i").unwrap(),
        version: "4.16.2".parse().unwrap(),
        channel: None,
        schedule: Some("0 10 * * 1-5".to_owned()),
        sector: None,
        mutexes: ["m".into(), "n".into()].into(),
        soak_days: Some(3),
        workloads: ["w".into()].into(),
        soaking: [].into(),
        no_policy: None,
    };
    let place = |number: usize| ClusterCount {
        organisation: "o".into(),
        sector: format!("s{number}").into(),
        clusters: 2,
    };
    door.service.fleet_metrics(Arc::new(FleetMetrics {
        clusters: (0..1005).map(place).collect(),
        upgrades: [(UpgradeState::Started, 3)].into(),
        holds: [(towpath_core::fleet::RuleId::named("soak").unwrap(), 7)].into(),
        remaining_soak: (0..10_002).map(soak).collect(),
        soak: (0..10_003).map(ran).collect(),
        policies: (0..10_004).map(policy).collect(),
        findings: [((Severity::Error, "bad-schedule"), 2)].into(),
        unbound_clusters: 5,
        name_clashes: 2,
        overdue_upgrades: 1,
        last_pass: Some("2026-05-12T10:29:30Z".parse().unwrap()),
        pass_duration: Duration::from_millis(40),
        is_scheduler: true,
        decisions: 12,
        agent_updates: [(AgentOutcome::Completed, 4)].into(),
        aus: Some(aus(policy(1))),
    }));
    door.service.watch_metrics(WatchMetrics {
        passes: 6,
        failed_passes: 1,
        last_pass: Some("2026-05-12T10:29:31Z".parse().unwrap()),
        is_watcher: true,
        answers: [("halt", 1)].into(),
    });
    door.service.outcomes_query_metrics(OutcomesQueryMetrics {
        answered: 3,
        failed: 1,
        last_success: Some("2026-05-12T10:29:30Z".parse().unwrap()),
        series: 9,
    });
    let text = door.get("/metrics").body;
    for expected in [
        r#"towpath_fleet_reports_total{result="accepted"} 1"#,
        r#"towpath_fleet_reports_total{result="no_token"} 1"#,
        r#"towpath_fleet_clusters{organisation="o",sector="s999"} 2"#,
        r#"towpath_fleet_clusters{organisation="_others",sector=""} 10"#,
        r#"towpath_watch_passes_total{result="failed"} 1"#,
        r#"towpath_watch_releases{answer="halt"} 1"#,
        r#"towpath_watch_releases{answer="go-on"} 0"#,
        "towpath_watch_is_watcher 1.0",
        r#"towpath_outcomes_queries_total{result="ok"} 3"#,
        "towpath_outcomes_query_last_success_timestamp_seconds 1778581770.0",
        "towpath_outcomes_query_series 9.0",
        r#"towpath_fleet_upgrades{state="started"} 3"#,
        r#"towpath_fleet_upgrades{state="planned"} 0"#,
        r#"towpath_fleet_holds{rule="soak"} 7"#,
        r#"towpath_fleet_holds{rule="mutex"} 0"#,
        r#"towpath_fleet_remaining_soak_seconds{organisation="o",cluster="c\"5\\\n",version="4.16.2",workload="w"} 3600"#,
        "towpath_fleet_remaining_soak_series_dropped 2",
        r#"towpath_fleet_soak_seconds{organisation="o",version="4.16.2",workload="w9"} 7200"#,
        "towpath_fleet_soak_series_dropped 3",
        r#"towpath_fleet_cluster_policy_info{organisation="o",cluster="c9",id="i",version="4.16.2",channel="",schedule="0 10 * * 1-5",sector="",mutexes="m,n",workloads="w",soak_days="3"} 1"#,
        "towpath_fleet_cluster_policy_series_dropped 4",
        r#"towpath_fleet_policy_findings{severity="error",code="bad-schedule"} 2"#,
        "towpath_fleet_scheduler_lag_seconds 30.0",
        "towpath_fleet_last_pass_timestamp_seconds 1778581770.0",
        "towpath_fleet_pass_duration_seconds 0.04",
        "towpath_fleet_is_scheduler 1.0",
        "towpath_fleet_overdue_upgrades 1.0",
        "towpath_fleet_unbound_clusters 5.0",
        "towpath_fleet_name_clashes 2.0",
        "towpath_fleet_decisions_total 12",
        r#"towpath_fleet_agent_updates_total{outcome="completed"} 4"#,
        r#"towpath_fleet_agent_updates_total{outcome="given-up"} 0"#,
        r#"aus_cluster_upgrade_policy_info{integration="towpath",ocm_env="stage",cluster_uuid="i",org_id="o",org_name="Org",channel="",current_version="4.16.2",cluster_name="c1",schedule="0 10 * * 1-5",sector="",mutexes="m,n",soak_days="3",workloads="w",product="",hypershift="False"} 1"#,
        r#"aus_cluster_health_state{integration="towpath",ocm_env="stage",cluster_uuid="i",health_source="towpath"} 1"#,
        r#"aus_cluster_version_remaining_soak_days{integration="towpath",ocm_env="stage",cluster_uuid="i",soaking_version="4.16.3"} 1.5"#,
        r#"aus_cluster_version_remaining_soak_days{integration="towpath",ocm_env="stage",cluster_uuid="i",soaking_version="4.16.4"} -1.0"#,
        r#"aus_cluster_version_remaining_soak_days{integration="towpath",ocm_env="stage",cluster_uuid="i",soaking_version="4.16.5"} -4.0"#,
        r#"aus_organization_validation_errors{integration="towpath",ocm_env="stage",org_id="o"} 2"#,
        r#"aus_organization_reconciled_total{integration="towpath",ocm_env="stage",org_id="o"} 15"#,
        r#"aus_organization_reconcile_errors_total{integration="towpath",ocm_env="stage",org_id="o"} 3"#,
        r#"aus_organization_version_data{integration="towpath",ocm_env="stage",org_id="o",version="4.16.2",workload="w9"} 0.08333333333333333"#,
    ] {
        let family = expected.split(['{', ' ']).next().unwrap();
        let similar: Vec<_> = text
            .lines()
            .filter(|line| line.contains(family))
            .take(3)
            .collect();
        assert!(
            text.lines().any(|line| line == expected),
            "{expected} is not there, but\n{}",
            similar.join("\n")
        );
    }
    assert_eq!(
        text.matches("towpath_fleet_remaining_soak_seconds{")
            .count(),
        10_000
    );
    // Days are AUS's choice. Promtool wants seconds.
    let in_days = "aus_cluster_version_remaining_soak_days";
    let rest = text.lines().filter(|line| !line.contains(in_days));
    let rest: String = rest.flat_map(|line| [line, "\n"]).collect();
    checked_by_promtool(&rest);
}

/// One organisation and one cluster, with versions that soak, are planned and are blocked.
fn aus(row: ClusterRow) -> AusMetrics {
    let soak = |version: &str, remaining| AusSoak {
        environment: "stage".into(),
        cluster: "i".into(),
        version: version.parse().unwrap(),
        remaining,
    };
    let organisation = AusOrganisation {
        id: "o".into(),
        environment: "stage".into(),
        errors: 2,
    };
    let cluster = AusCluster {
        environment: "stage".into(),
        organisation_name: "Org".into(),
        row,
        is_hosted: false,
        is_healthy: true,
    };
    AusMetrics {
        organisations: [organisation].into_iter().collect(),
        clusters: [cluster].into_iter().collect(),
        remaining_soak: [
            soak("4.16.3", AusRemaining::Seconds(129_600)),
            soak(
                "4.16.4",
                AusRemaining::of_upgrade(UpgradeState::Planned, true),
            ),
            soak("4.16.5", AusRemaining::Blocked),
        ]
        .into_iter()
        .collect(),
        failed_passes: 3,
    }
}

/// Where promtool is installed, it has nothing to say but that there are many series.
fn checked_by_promtool(text: &str) {
    use std::process::{Command, Stdio};
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = promtool else { return };
    promtool
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = promtool.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat())
    );
}

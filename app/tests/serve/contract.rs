//! The Cincinnati contract, as clients depend on it, over real connections.

use jiff::{SignedDuration, Timestamp};

use towpath_testing_services::{Response, Towpath, edges, example};

const GRAPH: &str = "/api/upgrades_info/graph";

#[test]
fn the_quick_start_shows_what_it_says() {
    use std::io::BufRead;
    let mut towpath = Towpath::serve(&[]);
    let stdout = std::io::BufReader::new(towpath.child.stdout.take().unwrap());
    let mut curls = Vec::new();
    for line in stdout.lines().map_while(Result::ok) {
        match line.trim().strip_prefix("curl -s ") {
            Some(address) => curls.push(address.trim_matches('\'').to_owned()),
            None if line.contains("Ctrl-C") => break,
            None => {}
        }
    }
    let [reached, waiting, metrics] = curls.as_slice() else {
        panic!("three curl lines: {curls:?}")
    };
    let target = |address: &str| {
        address
            .split_once(&towpath.address.to_string())
            .unwrap()
            .1
            .to_owned()
    };
    let reached = towpath.get(&target(reached)).json();
    let waiting = towpath.get(&target(waiting)).json();
    assert!(
        edges(&reached).contains(&"4.20.3 -> 4.20.4".to_owned()),
        "a rollout in progress, for one that it has reached"
    );
    assert!(
        !edges(&waiting).iter().any(|edge| edge.ends_with("4.20.4")),
        "and for one that it has not"
    );
    assert!(
        edges(&reached).contains(&"4.20.1 -> 4.20.3".to_owned()),
        "a targeted block, elsewhere"
    );
    assert!(
        !edges(&waiting).iter().any(|edge| edge.ends_with("4.20.3")),
        "and on AWS"
    );
    assert!(
        !edges(&reached).iter().any(|edge| edge.ends_with("4.20.2")),
        "a hard block"
    );
    let fast = towpath.graph("channel=fast-4.20");
    assert_eq!(
        fast["conditionalEdges"][0]["risks"][0]["name"], "OVNSlowStart",
        "a known risk"
    );
    assert!(!fast.to_string().contains("4.20.5"), "a release to come");
    let (metrics, name) = metrics.split_once(" | grep ").unwrap();
    assert!(towpath.get(&target(metrics)).text().contains(&format!(
        "{name}{{channel=\"stable-4.20\",arch=\"amd64\",from=\"4.20.3\",to=\"4.20.4\"}} 0."
    )));
}

#[test]
fn content_types() {
    let towpath = served();
    for (accept, expected) in [
        (None, "application/vnd.redhat.cincinnati.v1+json"),
        (Some("*/*"), "application/json"),
        (Some("application/*"), "application/json"),
        (Some("application/json"), "application/json"),
        (
            Some("application/vnd.redhat.cincinnati.v1+json"),
            "application/vnd.redhat.cincinnati.v1+json",
        ),
        (
            Some("text/html, application/json;q=0.9"),
            "application/json",
        ),
    ] {
        let headers: Vec<_> = accept.iter().map(|accept| ("accept", *accept)).collect();
        let response = towpath.get_with("/api/upgrades_info/v1/graph?channel=fast-4.20", &headers);
        assert_eq!(
            (response.status, response.header("content-type")),
            (200, expected),
            "{accept:?}"
        );
    }
    let refused = towpath.get_with(
        &format!("{GRAPH}?channel=fast-4.20"),
        &[("accept", "text/html")],
    );
    assert_eq!(
        (refused.status, refused.kind().as_str()),
        (406, "invalid_content_type")
    );
}

#[test]
fn errors_have_a_kind_and_a_sentence() {
    let towpath = served();
    let error = |response: Response| (response.status, response.kind());
    let told = |status, kind: &str| (status, kind.to_owned());
    assert_eq!(error(towpath.get(GRAPH)), told(400, "missing_params"));
    assert_eq!(
        towpath.get(GRAPH).json()["value"],
        "mandatory client parameters missing: channel"
    );
    for (query, begins) in [
        ("channel=No", "channel 'No' "),
        ("channel=fast-4.20&arch=x86_64", "arch 'x86_64' "),
        ("channel=fast-4.20&arch=", "arch '' "),
        ("channel=fast-4.20&arch=AMD64", "arch 'AMD64' "),
        ("channel=fast-4.20&arch=amd64,arm64", "arch 'amd64,arm64' "),
        ("channel=fast-4.20&arch=%FF", "arch "),
    ] {
        let refused = towpath.get(&format!("{GRAPH}?{query}"));
        let value = refused.json()["value"].as_str().unwrap().to_owned();
        assert!(value.starts_with(begins), "{query}: {value}");
        assert_eq!(error(refused), told(400, "invalid_params"), "{query}");
    }
    assert_eq!(
        error(towpath.get(&format!("{GRAPH}?channel=No"))),
        told(400, "invalid_params")
    );
    assert_eq!(
        error(towpath.get(&format!("{GRAPH}?channel=a&platform=%00"))),
        told(400, "invalid_params")
    );
    assert_eq!(error(towpath.get("/nowhere")), told(404, "does_not_exist"));
    let posted = towpath.request(
        "POST",
        &format!("{GRAPH}?channel=a"),
        &[("content-length", "0")],
    );
    assert_eq!((posted.status, posted.header("allow")), (405, "GET, HEAD"));
}

#[test]
fn a_path_prefix_and_mandatory_parameters_can_be_set() {
    let towpath = Towpath::serve(&["--path-prefix", "/updates", "--mandatory-params", "arch,id"]);
    let query = "channel=fast-4.20&arch=amd64&id=0f3a";
    let nodes = |path: &str| towpath.get(&format!("{path}?{query}")).json()["nodes"].clone();
    assert_eq!(nodes("/updates/graph"), nodes(GRAPH));
    assert_eq!(nodes("/updates/v1/graph"), nodes(GRAPH));
    let refused = towpath.get("/updates/graph?channel=fast-4.20");
    assert_eq!(
        (refused.status, refused.json()["value"].as_str()),
        (400, Some("mandatory client parameters missing: arch, id"))
    );
    for path in ["/updates/openapi", "/api/upgrades_info/openapi"] {
        assert!(
            towpath.get(path).json()["paths"][GRAPH].is_object(),
            "{path}"
        );
    }
    assert_eq!(towpath.get("/updates/livez").status, 404);
}

#[test]
fn what_does_not_exist_is_an_empty_graph() {
    let towpath = served();
    for query in ["channel=nope", "channel=fast-4.20&arch=pdp11"] {
        let expected: serde_json::Value =
            serde_json::json!({"version": 1, "nodes": [], "edges": [], "conditionalEdges": []});
        assert_eq!(towpath.graph(query), expected, "{query}");
    }
}

#[test]
fn the_last_of_duplicate_keys_wins() {
    let towpath = served();
    assert_eq!(
        towpath.graph("channel=nope&x=y&channel=fast-4.20"),
        towpath.graph("channel=fast-4.20")
    );
    assert_eq!(
        towpath.graph("channel=fast-4.20&arch=s390x&arch=amd64"),
        towpath.graph("channel=fast-4.20")
    );
}

#[test]
fn both_encodings_say_the_same_and_have_tags_of_their_own() {
    let towpath = served();
    let target = format!("{GRAPH}?channel=stable-4.20&id=x&platform=GCP");
    let plain = towpath.get(&target);
    let zipped = towpath.get_with(&target, &[("accept-encoding", "gzip")]);
    assert_eq!(
        (
            plain.header("content-encoding"),
            zipped.header("content-encoding")
        ),
        ("", "gzip")
    );
    assert_eq!(plain.json(), zipped.json());
    assert!(zipped.body.len() < plain.body.len());
    assert_ne!(plain.header("etag"), zipped.header("etag"));
}

#[test]
fn a_client_that_has_the_answer_is_told_so() {
    let towpath = served();
    let target = format!("{GRAPH}?channel=stable-4.20&id=x");
    let first = towpath.get(&target);
    let tag = first.header("etag");
    for known in [
        tag.to_owned(),
        format!("\"other\", W/{tag}"),
        "*".to_owned(),
    ] {
        let again = towpath.get_with(&target, &[("if-none-match", &known)]);
        assert_eq!(
            (again.status, again.body.len(), again.header("etag")),
            (304, 0, tag),
            "{known}"
        );
    }
    assert_eq!(
        towpath
            .get_with(&target, &[("if-none-match", "\"other\"")])
            .status,
        200
    );
}

#[test]
fn answers_are_one_clusters_own() {
    let response = served().get(&format!("{GRAPH}?channel=fast-4.20"));
    assert_eq!(response.header("cache-control"), "private, no-cache");
    assert_eq!(response.header("vary"), "Accept, Accept-Encoding, Origin");
}

#[test]
fn head_is_get_without_a_body() {
    let towpath = served();
    for target in [
        format!("{GRAPH}?channel=fast-4.20"),
        "/readyz".to_owned(),
        "/metrics".to_owned(),
    ] {
        let head = towpath.request("HEAD", &target, &[]);
        assert_eq!((head.status, head.body.len()), (200, 0), "{target}");
    }
    let target = format!("{GRAPH}?channel=fast-4.20");
    let (head, get) = (towpath.request("HEAD", &target, &[]), towpath.get(&target));
    for header in [
        "content-length",
        "content-type",
        "etag",
        "vary",
        "cache-control",
    ] {
        assert_eq!(head.header(header), get.header(header));
    }
}

#[test]
fn other_origins_may_ask() {
    let towpath = served();
    for target in [format!("{GRAPH}?channel=fast-4.20"), GRAPH.to_owned()] {
        let response = towpath.get_with(&target, &[("origin", "https://console.example.com")]);
        assert_eq!(
            response.header("access-control-allow-origin"),
            "https://console.example.com",
            "{target}"
        );
    }
    let preflight = towpath.request(
        "OPTIONS",
        GRAPH,
        &[("origin", "https://console.example.com")],
    );
    assert_eq!(
        (
            preflight.status,
            preflight.header("access-control-allow-methods")
        ),
        (204, "GET, HEAD")
    );
}

#[test]
fn a_request_keeps_its_id_and_a_nameless_one_gets_one() {
    let towpath = served();
    let target = format!("{GRAPH}?channel=fast-4.20");
    assert_eq!(
        towpath
            .get_with(&target, &[("x-request-id", "abc-1")])
            .header("x-request-id"),
        "abc-1"
    );
    let (first, second) = (towpath.get(&target), towpath.get(&target));
    assert!(!first.header("x-request-id").is_empty());
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
}

#[test]
fn bytes_that_are_not_text_do_no_harm() {
    let towpath = served();
    let request = b"GET /api/upgrades_info/graph?channel=fast-4.20 HTTP/1.1\r\nhost: localhost\r\naccept: \xff\xfe\r\norigin: \x80\r\nx-request-id: \xff\r\nconnection: close\r\n\r\n";
    let response = Response::read(&mut towpath.send(request), false);
    assert_eq!(
        response.status, 406,
        "an Accept header that is not text accepts nothing"
    );
    assert_eq!(towpath.get("/livez").status, 200);
}

#[test]
fn replicas_give_the_same_bytes() {
    let now = "2026-11-15T09:30:00.123456789Z";
    let folder = tempfile::tempdir().unwrap();
    example(&folder.path().join("data"));
    let data = folder.path().join("data");
    let (first, second) = (
        Towpath::serve_folder(&data, &["--now", now]),
        Towpath::serve_folder(&data, &["--now", now]),
    );
    for number in 0..50 {
        for (encoding, platform) in [("gzip", "AWS"), ("identity", "GCP")] {
            let target =
                format!("{GRAPH}?channel=stable-4.20&id=cluster-{number}&platform={platform}");
            let ask =
                |towpath: &Towpath| towpath.get_with(&target, &[("accept-encoding", encoding)]);
            let (one, other) = (ask(&first), ask(&second));
            assert_eq!(
                (one.body, one.headers["etag"].clone()),
                (other.body, other.headers["etag"].clone())
            );
        }
    }
}

#[test]
fn large_answers_arrive_whole() {
    // Large enough to be sent from the page cache, with a part in the middle that differs from cluster to cluster.
    let folder = tempfile::tempdir().unwrap();
    example(folder.path());
    let count = 1500_usize;
    let node = |n: usize| serde_json::json!({"version": format!("4.20.{n}"), "payload": format!("registry/{n}"), "metadata": {"url": "x".repeat(200)}});
    let edges: Vec<[usize; 2]> = (1..count)
        .flat_map(|to| (to.saturating_sub(10)..to).map(move |from| [from, to]))
        .collect();
    let releases =
        serde_json::json!({"nodes": (0..count).map(node).collect::<Vec<_>>(), "edges": edges});
    std::fs::write(folder.path().join("releases.json"), releases.to_string()).unwrap();
    let versions: String = (0..count)
        .map(|n| {
            format!(
                "- {{name: 4.20.{n}, start: '2026-01-{:02}T00:00Z'}}\n",
                1 + n / 100
            )
        })
        .collect();
    let channels = format!(
        "channels:\n- name: big\n  phasedRollouts: [{{duration: P9D}}]\nversions:\n{versions}"
    );
    std::fs::write(
        folder.path().join("graph-data/channels/4.20.yaml"),
        channels,
    )
    .unwrap();
    let towpath = Towpath::serve_folder(folder.path(), &["--now", "2026-01-20T00:00Z"]);
    for number in 0..20 {
        let target = format!("{GRAPH}?channel=big&platform=GCP&id=cluster-{number}");
        let plain = towpath.get(&target);
        assert!(plain.body.len() > 500_000, "{}", plain.body.len());
        let zipped = towpath.get_with(&target, &[("accept-encoding", "gzip")]);
        assert_eq!(plain.text(), zipped.text());
    }
    // Several at once on one connection, the next asked for before the last was read.
    let one = format!("GET {GRAPH}?channel=big&id=x HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let mut stream = towpath.send(one.repeat(5).as_bytes());
    let expected = towpath.get(&format!("{GRAPH}?channel=big&id=x")).body;
    for _ in 0..5 {
        assert_eq!(Response::read(&mut stream, false).body, expected);
    }
}

#[test]
fn a_release_enters_at_its_start_on_a_running_service() {
    let folder = tempfile::tempdir().unwrap();
    example(folder.path());
    let start = Timestamp::now() + SignedDuration::from_secs(3);
    let file = folder.path().join("graph-data/channels/4.20.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, last) = text.rsplit_once("start: ").unwrap();
    assert!(last.len() < 20, "4.20.5 is the last entry");
    std::fs::write(&file, format!("{before}start: {start}\n")).unwrap();
    let towpath = Towpath::serve_folder(folder.path(), &[]);
    let (mut seen_without, mut seen_with) = (0, 0);
    while seen_with == 0 {
        let asked = Timestamp::now();
        let nodes = towpath.graph("channel=fast-4.20&platform=GCP")["nodes"]
            .as_array()
            .unwrap()
            .len();
        let answered = Timestamp::now();
        match nodes {
            7 => seen_without += 1,
            8 => seen_with += 1,
            other => panic!("{other} nodes"),
        }
        assert!(nodes == 7 || answered >= start, "never before its start");
        assert!(nodes == 8 || asked < start, "from its start on");
    }
    assert!(seen_without > 0);
}

#[test]
fn a_platform_is_looked_up_by_id() {
    let folder = tempfile::tempdir().unwrap();
    let lookup = folder.path().join("platforms.csv");
    std::fs::write(&lookup, "# id,platform\non-aws,AWS\non-gcp, GCP\n").unwrap();
    let towpath = Towpath::serve(&["--platforms", lookup.to_str().unwrap()]);
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    let is_offered = |query: &str| {
        edges(&towpath.graph(&format!("channel=fast-4.20&{query}")))
            .iter()
            .any(|e| e.ends_with("4.20.3"))
    };
    assert!(is_offered("id=on-gcp") && !is_offered("id=on-aws") && !is_offered("id=unknown"));
    assert!(
        is_offered("id=on-aws&platform=GCP"),
        "what the cluster says comes first"
    );
}

fn served() -> Towpath {
    let towpath = Towpath::serve(&[]);
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    towpath
}

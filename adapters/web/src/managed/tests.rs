//! Compares the answers for managed clusters with `recommend`.

use std::io::Read;
use std::pin::Pin;
use std::sync::atomic::AtomicI64;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Buf;
use http::{HeaderMap, header};
use http_body::Body;
use jiff::SignedDuration;
use proptest::prelude::*;
use towpath_core::cluster::{Fact, Platform};
use towpath_core::finding::Place;
use towpath_core::graph::recommend;
use towpath_core::version::Arch;
use towpath_formats::SourceFile;
use towpath_formats::graph::platforms::Platforms;
use towpath_formats::graph::{data, releases};

use super::*;
use crate::{AnswerBody, Service, graph};

const GRAPH: &str = "/api/upgrades_info/graph";
const CHANNEL: &str = "fast-4.9";
const RELEASES: usize = 8;
/// All starts are within this many hours of the beginning.
const HOURS: i64 = 100;

fn at(minutes: i64) -> Timestamp {
    "2026-01-01T00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_mins(minutes)
}

/// A graph whose releases start at these hours, with a window of a day, a known risk on 4.9.5 and a block on AWS on 4.9.6.
fn graph_of(starts: &[i64], edges: &[(usize, usize)]) -> Graph {
    let version = |(patch, hour): (usize, &i64)| {
        format!("- {{name: 4.9.{patch}, start: '{}'}}\n", at(hour * 60))
    };
    let versions: String = starts.iter().enumerate().map(version).collect();
    let channels = format!(
        "channels: [{{name: {CHANNEL}, phasedRollouts: [{{duration: P1D}}]}}, {{name: all-4.9}}]\nversions:\n{versions}"
    );
    let risk = "{to: 4.9.5, from: '.*', url: 'https://x', name: Risky, message: '\"no\"', matchingRules: [{type: Always}]}";
    let targeted = "{to: 4.9.6, from: '.*', clusters: {platforms: [AWS]}}";
    let file = |path: &str, text: &str| SourceFile {
        path: path.into(),
        bytes: text.as_bytes().into(),
    };
    let files = [
        file("version", "2.0.0"),
        file("channels/4.9.yaml", &channels),
        file("blocked-edges/risk.yaml", risk),
        file("blocked-edges/aws.yaml", targeted),
    ];
    let (data, _) = data::read(&files).unwrap();
    let nodes: Vec<_> = (0..starts.len())
        .map(|n| serde_json::json!({"version": format!("4.9.{n}"), "payload": format!("p{n}")}))
        .collect();
    let text = serde_json::json!({"nodes": nodes, "edges": edges}).to_string();
    let (releases, _) = releases::read(&Place::file("r"), text.as_bytes()).unwrap();
    Graph::build(data, releases).0
}

/// Everything has started long ago, and every release leads to every later one.
fn old_graph() -> Graph {
    let edges: Vec<_> = (0..RELEASES)
        .flat_map(|from| (from + 1..RELEASES).map(move |to| (from, to)))
        .collect();
    graph_of(&[0; RELEASES], &edges)
}

/// A service whose clock stands where it is put.
struct TestService {
    service: Arc<Service>,
    now: Arc<AtomicI64>,
}

impl TestService {
    fn new(graph: Graph, now: Timestamp) -> Self {
        let clock = Arc::new(AtomicI64::new(now.as_millisecond()));
        let read = clock.clone();
        let read = move || Timestamp::from_millisecond(read.load(Ordering::Relaxed)).unwrap();
        let service = Service::new(Arc::new(read), "test");
        service.replace(
            Snapshot::new(graph, Platforms::new(), String::new(), now),
            Vec::new(),
        );
        Self {
            service,
            now: clock,
        }
    }

    fn set(&self, now: Timestamp) {
        self.now.store(now.as_millisecond(), Ordering::Relaxed);
    }

    fn manage(&self, id: &str, from: &str, to: &[&str]) {
        self.publish_now([(cluster_id(id), allowed(from, to))]);
    }

    /// A pass has found that these are managed, and that others see the graph.
    fn publish_now(&self, managed: impl IntoIterator<Item = (ClusterId, AllowedUpdates)>) {
        let clusters = managed
            .into_iter()
            .map(|(id, allowed)| (id, ClusterPlace::Managed(allowed)))
            .collect();
        self.publish(Managed {
            clusters,
            others: UnknownClusters::Serve,
        });
    }

    fn publish(&self, managed: Managed) {
        let pass = self.service.enrolment().pass_begins();
        self.service.enrolment().publish(Arc::new(managed), pass);
    }

    /// The answer's headers and text, and whether it was at hand.
    fn ask(&self, query: &str, gzip: bool) -> (HeaderMap, String, bool) {
        let mut request = http::Request::get(format!("{GRAPH}?channel={CHANNEL}&{query}"));
        if gzip {
            request = request.header(header::ACCEPT_ENCODING, "gzip");
        }
        let (request, ()) = request.body(()).unwrap().into_parts();
        let (response, at_hand) = match graph::answer(&self.service, &request, None, Instant::now())
        {
            Ok(response) => (response, true),
            Err(missing) => {
                let answered = graph::answer(
                    &self.service,
                    &request,
                    Some(&missing.compile()),
                    Instant::now(),
                );
                (answered.ok().expect("nothing is missing any more"), false)
            }
        };
        let (head, body) = response.into_parts();
        assert_eq!(head.status, 200);
        let bytes = read(body);
        assert_eq!(
            head.headers[header::CONTENT_LENGTH].to_str().unwrap(),
            bytes.len().to_string()
        );
        assert_eq!(head.headers.contains_key(header::CONTENT_ENCODING), gzip);
        let mut text = String::new();
        match gzip {
            true => flate2::read::GzDecoder::new(&*bytes)
                .read_to_string(&mut text)
                .map(drop)
                .unwrap(),
            false => text = String::from_utf8(bytes.to_vec()).unwrap(),
        }
        (head.headers, text, at_hand)
    }

    fn edges(&self, query: &str) -> Vec<String> {
        let graph: serde_json::Value = serde_json::from_str(&self.ask(query, false).1).unwrap();
        let version = |at: &serde_json::Value| {
            &graph["nodes"][usize::try_from(at.as_u64().unwrap()).unwrap()]["version"]
        };
        let edges = graph["edges"].as_array().unwrap().iter();
        edges
            .map(|edge| format!("{} {}", version(&edge[0]), version(&edge[1])).replace('"', ""))
            .collect()
    }
}

fn read(mut body: AnswerBody) -> Bytes {
    match Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Some(Ok(frame))) => {
            let mut chunks = frame.into_data().unwrap();
            chunks.copy_to_bytes(chunks.remaining())
        }
        _ => Bytes::new(),
    }
}

fn cluster_id(id: &str) -> ClusterId {
    ClusterId::new(id).unwrap()
}

fn allowed(from: &str, to: &[&str]) -> AllowedUpdates {
    AllowedUpdates {
        rule: towpath_core::graph::rules::Managed {
            from: from.parse().unwrap(),
            to: to.iter().map(|to| to.parse().unwrap()).collect(),
        },
        platform: None,
        groups: None,
    }
}

/// What `recommend` says, less what is not allowed.
fn expected(
    graph: &Graph,
    id: &str,
    platform: Option<&str>,
    allowed: &AllowedUpdates,
    now: Timestamp,
) -> String {
    let cluster = Cluster {
        id: Fact::Known(cluster_id(id)),
        platform: platform.and_then(Platform::new).into(),
        groups: Fact::Unknown,
        channel: ChannelName::new(CHANNEL).unwrap(),
        arch: Arch::default(),
    };
    let mut view = recommend(
        Policy::graph(),
        &Situation {
            graph,
            cluster: &cluster,
            now,
        },
    );
    let version = |id: ReleaseId| &graph.release(id).version;
    view.judged.retain(|(edge, _)| {
        *version(edge.from) == allowed.rule.from && allowed.rule.to.contains(version(edge.to))
    });
    cincinnati::write(graph, &view, now)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_managed_cluster_sees_what_it_is_offered_and_may_take(
        starts in proptest::collection::vec(0..HOURS, RELEASES),
        edges in proptest::collection::btree_set((0..RELEASES, 0..RELEASES), 0..30),
        asked in proptest::collection::vec(
            (0..(HOURS + 30) * 60, 0..RELEASES, proptest::collection::btree_set(0..RELEASES, 0..5), 0..50u32,
             proptest::sample::select(vec![None, Some("AWS"), Some("GCP")])),
            1..6,
        ),
    ) {
        let edges: Vec<_> = edges.into_iter().filter(|(from, to)| from < to).collect();
        let served = TestService::new(graph_of(&starts, &edges), at(0));
        for (minutes, from, to, number, platform) in asked {
            served.set(at(minutes));
            let to = to.iter().map(|to| format!("4.9.{to}").parse().unwrap()).collect();
            let rule = towpath_core::graph::rules::Managed { from: format!("4.9.{from}").parse().unwrap(), to };
            let allowed = AllowedUpdates {
                rule,
                platform: None,
                groups: None,
            };
            let id = format!("cluster-{number}");
            let graph = graph_of(&starts, &edges);
            let expected = expected(&graph, &id, platform, &allowed, at(minutes));
            served.publish_now([(cluster_id(&id), allowed)]);
            let query = format!("id={id}{}", platform.map(|name| format!("&platform={name}")).unwrap_or_default());
            for gzip in [false, true] {
                let (headers, first, _) = served.ask(&query, gzip);
                prop_assert_eq!(&first, &expected);
                let (again, second, at_hand) = served.ask(&query, gzip);
                prop_assert!(at_hand);
                prop_assert_eq!((again, second), (headers, first));
            }
        }
    }
}

#[test]
fn others_get_the_very_same_bytes_and_ids_are_compared_exactly() {
    let (plain, managing) = (
        TestService::new(old_graph(), at(6000)),
        TestService::new(old_graph(), at(6000)),
    );
    managing.manage("Cluster-1", "4.9.0", &[]);
    for query in [
        "",
        "id=cluster-1",
        "id=Cluster-10",
        "platform=AWS",
        "id=x&platform=GCP",
    ] {
        for gzip in [false, true] {
            assert_eq!(plain.ask(query, gzip), managing.ask(query, gzip), "{query}");
        }
    }
    assert_eq!(managing.edges("id=Cluster-1"), [""; 0]);
    assert_eq!(
        managing.edges("id=Cluster-1%20"),
        [""; 0],
        "space is no part of it"
    );
    assert_eq!(
        managing.edges("id=%43luster-1"),
        [""; 0],
        "the same id, written otherwise"
    );
    assert_eq!(
        managing.edges("id=Cluster-1%20"),
        [""; 0],
        "space is no part of it"
    );
    let uuid = "bbbbbbbb-0000-4abc-8def-000000000001";
    managing.manage(uuid, "4.9.0", &[]);
    let upper = format!("id={}", uuid.to_ascii_uppercase());
    assert_eq!(managing.edges(&upper), [""; 0], "a UUID has no case");
    managing.publish_now([]);
    assert_eq!(
        plain.ask("id=Cluster-1", false).1,
        managing.ask("id=Cluster-1", false).1,
        "managed no longer"
    );
}

#[test]
fn whom_nobody_knows_is_held_with_a_reason_and_counted() {
    let (plain, served) = (
        TestService::new(old_graph(), at(6000)),
        TestService::new(old_graph(), at(6000)),
    );
    let counted = |served: &TestService| {
        let metrics =
            crate::operations::written(&served.service, crate::fleet::Sight::Whole).into_body();
        let text = String::from_utf8(read(metrics).to_vec()).unwrap();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("towpath_graph_not_enrolled_total "));
        line.unwrap().parse::<u64>().unwrap()
    };
    served.service.enrolment().start();
    let clusters = [
        (cluster_id("named"), ClusterPlace::NotEnrolled),
        (cluster_id("unmanaged"), ClusterPlace::Unmanaged),
    ];
    for others in [
        None,
        Some(UnknownClusters::Hold),
        Some(UnknownClusters::Serve),
    ] {
        if let Some(others) = others {
            served.publish(Managed {
                clusters: clusters.clone().into(),
                others,
            });
        }
        for (id, is_held) in [
            ("named", true),
            ("unmanaged", others.is_none()),
            ("stranger", others != Some(UnknownClusters::Serve)),
        ] {
            for gzip in [false, true] {
                let before = counted(&served);
                let query = format!("id={id}");
                let (ours, theirs) = (served.ask(&query, gzip), plain.ask(&query, gzip));
                match is_held {
                    true => assert_eq!(served.edges(&query), [""; 0], "{id} {others:?}"),
                    // The very same bytes as without a fleet.
                    false => assert_eq!(
                        (ours.0, ours.1.clone()),
                        (theirs.0, theirs.1.clone()),
                        "{id} {others:?}"
                    ),
                }
                let nodes = |text: &str| text.matches("\"payload\"").count();
                assert_eq!(nodes(&ours.1), nodes(&theirs.1), "all releases are there");
                assert_eq!(
                    counted(&served) - before,
                    if is_held { 2 } else { 0 },
                    "{id} {others:?}"
                );
            }
        }
        let (ours, theirs) = (
            served.ask("platform=GCP", true),
            plain.ask("platform=GCP", true),
        );
        assert_eq!(
            (ours.0, ours.1),
            (theirs.0, theirs.1),
            "clients without an id are served as ever"
        );
    }
    assert_eq!(counted(&plain), 0);
}

#[test]
fn a_cluster_sees_the_edges_it_may_take() {
    let served = TestService::new(old_graph(), at(6000));
    served.manage(
        "a",
        "4.9.1",
        &["4.9.0", "4.9.3", "4.9.5", "4.9.6", "4.9.7", "4.10.0"],
    );
    assert_eq!(
        served.edges("id=a&platform=GCP"),
        ["4.9.1 4.9.3", "4.9.1 4.9.6", "4.9.1 4.9.7"]
    );
    assert_eq!(
        served.edges("id=a&platform=AWS"),
        ["4.9.1 4.9.3", "4.9.1 4.9.7"],
        "blocks hold for it too"
    );
    assert!(
        served
            .ask("id=a", false)
            .1
            .contains(r#"{"edges":[{"from":"4.9.1","to":"4.9.5"}],"risks":[{"#)
    );
    served.manage("a", "4.8.1", &["4.9.3"]);
    assert_eq!(
        served.edges("id=a"),
        [""; 0],
        "it is elsewhere than was thought"
    );
}

#[test]
fn what_is_shown_changes_with_what_is_allowed_and_so_does_the_tag() {
    let served = TestService::new(old_graph(), at(6000));
    let tag = |to: &[&str], gzip| {
        served.manage("a", "4.9.1", to);
        served.ask("id=a", gzip).0[header::ETAG].clone()
    };
    let tags = [
        tag(&[], false),
        tag(&[], true),
        tag(&["4.9.2"], false),
        tag(&["4.9.3"], false),
    ];
    assert!(
        tags.iter()
            .all(|one| tags.iter().filter(|other| *other == one).count() == 1)
    );
    assert_eq!(
        tag(&["4.9.9"], false),
        tags[0],
        "an edge that does not exist changes nothing"
    );
}

#[test]
fn held_clusters_share_one_answer() {
    let served = TestService::new(old_graph(), at(6000));
    let ids = (0..10_000).map(|number| format!("cluster-{number}"));
    served.publish_now(ids.map(|id| (cluster_id(&id), allowed("4.9.1", &[]))));
    let missing = (0..10_000)
        .filter(|number| !served.ask(&format!("id=cluster-{number}"), true).2)
        .count();
    assert_eq!(missing, 1);
}

#[test]
fn what_is_kept_is_bounded_and_given_back() {
    let snapshot = Snapshot::new(old_graph(), Platforms::new(), String::new(), at(6000));
    let held = snapshot.managed_bytes.clone();
    let channel_arch = snapshot.channel_arch(CHANNEL, "amd64").unwrap();
    let prefix = snapshot.prefix(channel_arch, Encoding::Identity, at(6000));
    let edges = snapshot.graph().edges();
    for number in 0..2 * MAX_KINDS {
        let bits = (0..10).filter(|bit| number >> bit & 1 == 1);
        prefix.answer(
            snapshot.graph(),
            bits.map(|bit| (edges[bit], Verdict::recommend())).collect(),
            at(6000),
        );
        assert!((1..=MAX_KINDS).contains(&prefix.kinds.load().len()));
    }
    assert!(held.load(Ordering::Relaxed) > MAX_KINDS * OVERHEAD);
    prefix.budget.fetch_add(MAX_BYTES, Ordering::Relaxed);
    prefix.answer(
        snapshot.graph(),
        vec![(edges[20], Verdict::recommend())],
        at(6000),
    );
    assert_eq!(prefix.kinds.load().len(), 1, "no room: only that of now");
    prefix.budget.fetch_sub(MAX_BYTES, Ordering::Relaxed);
    drop((prefix, snapshot));
    assert_eq!(held.load(Ordering::Relaxed), 0);
}

#[test]
fn nobody_waits_for_a_new_graph_or_a_release_that_enters() {
    let start = at(60);
    let served = TestService::new(
        graph_of(&[0, 0, 1], &[(0, 1), (0, 2)]),
        start - SignedDuration::from_secs(5),
    );
    served.manage("a", "4.9.0", &[]);
    let nodes = |text: &str| text.matches("\"payload\"").count();
    let (_, text, at_hand) = served.ask("id=a", true);
    assert!(!at_hand && nodes(&text) == 2);
    served.service.prepare();
    let ready = |served: &TestService| {
        let snapshot = served.service.snapshot().unwrap();
        snapshot
            .channel_arch(CHANNEL, "amd64")
            .unwrap()
            .prefixes(Encoding::Gzip)
            .prefixes
            .load()
            .len()
    };
    assert_eq!(ready(&served), 2, "that of now, and the next");
    served.set(start);
    assert_eq!(nodes(&served.ask("id=a", true).1), 3);
    let again = graph_of(&[0, 0, 1], &[(0, 1), (0, 2)]);
    served.service.replace(
        Snapshot::new(again, Platforms::new(), String::new(), start),
        Vec::new(),
    );
    assert_eq!(ready(&served), 1, "what was in use is there again");
}

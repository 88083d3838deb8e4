//! From reports in a real store to a decision that replays, and a halt that is proposed once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Mutex;

use jiff::SignedDuration;
use towpath_core::feedback::{
    Assessment, Bits, FailureRate, Halt, HaltScope, HaltWay, HistoryStep, WatchAnswer,
};
use towpath_core::graph::DeclaredHalt;
use towpath_formats::feedback::policy::ProposalDestination;
use towpath_formats::feedback::proposal::scope_of;
use towpath_formats::feedback::record;
use towpath_formats::graph::data;
use towpath_store::{ClusterReport, HaltOutcome, NewHalt};
use towpath_testing_graphs::graph;
use towpath_testing_store::{Place, at, both, seen, unwell, version};

use super::proposals::Proposals;
use super::watcher::WatchPass;
use super::*;

const CLUSTERS: i64 = 200;

/// A cluster of one of ten organisations that left 4.9.1 for 4.9.2 at its own minute, and what it tells hours later.
fn report(number: i64, organisation: &str, fails: bool) -> ClusterReport {
    let cluster = format!("cluster-{number}");
    let started_at = at(0) + SignedDuration::from_mins(number);
    let mut report = match fails {
        true => unwell(seen(&cluster, "4.9.1", 8)),
        false => seen(&cluster, "4.9.2", 8),
    };
    report.state.organisation = organisation.into();
    let step = |on: &str, is_complete, started_at, ended_at| HistoryStep {
        version: version(on),
        is_complete,
        started_at: Some(started_at),
        ended_at,
    };
    let before = step("4.9.1", true, at(-30), Some(at(-29)));
    report.history = match fails {
        true => {
            report.state.going_to = Some(version("4.9.2"));
            report.is_failing = true;
            vec![step("4.9.2", false, started_at, None), before]
        }
        false => {
            let ended_at = started_at + SignedDuration::from_mins(90);
            vec![step("4.9.2", true, started_at, Some(ended_at)), before]
        }
    };
    report
}

/// Three of ten fail, in every organisation.
fn a_bad_release() -> Vec<ClusterReport> {
    let fails = |number: i64| (number / 10) % 10 < 3;
    let one = |number| report(number, &format!("org{}", number % 10), fails(number));
    (0..CLUSTERS).map(one).collect()
}

fn watcher(store: &Store, directory: &Path, published: &Arc<PublishedWatch>) -> Watcher {
    watcher_in(Mode::Propose, store, directory, published)
}

fn watcher_in(
    mode: Mode,
    store: &Store,
    directory: &Path,
    published: &Arc<PublishedWatch>,
) -> Watcher {
    let mut file = FeedbackFile {
        destination: Some(ProposalDestination::Directory(
            directory.display().to_string(),
        )),
        ..FeedbackFile::default()
    };
    file.policy.default.mode = mode;
    let graph = graph("channel stable-4.9 4.9.1 4.9.2\nedges 4.9.1 -> 4.9.2");
    let graph = GraphSource::Fixed(Arc::new(graph));
    let access = Access::default();
    Watcher::new(store.clone(), file, graph, published.clone(), &access).unwrap()
}

async fn pass(watcher: &mut Watcher) -> WatchPass {
    watcher.pass(at(9)).await.unwrap().unwrap_or_default()
}

/// The body of each decision of the watch, each made again to the bit.
async fn replayed(store: &Store) -> Vec<String> {
    let chain = store.verify_chain().await.unwrap();
    assert_eq!(chain.problems, Vec::<String>::new());
    let mut bodies = Vec::new();
    let entries = store.decisions(0, 100).await.unwrap().into_iter();
    for decision in entries.filter(|entry| !entry.is_act()) {
        let mut parts = Vec::new();
        for (name, digest) in &decision.input {
            parts.push((name.clone(), store.part(digest).await.unwrap().unwrap()));
        }
        let given = parts
            .iter()
            .map(|(name, body)| (name.as_str(), body.as_slice()));
        assert_eq!(record::replay(given, &decision.body), Ok(true));
        bodies.push(String::from_utf8(decision.body).unwrap());
    }
    bodies
}

async fn told(place: &Place, reports: &[Vec<ClusterReport>]) -> (Vec<String>, WatchPass) {
    let store = place.open().await;
    for some in reports {
        store
            .record(some, SignedDuration::from_hours(2))
            .await
            .unwrap();
    }
    let mut watcher = watcher(
        &store,
        &place.directory.path().join("proposals"),
        &Arc::default(),
    );
    let passed = pass(&mut watcher).await;
    (replayed(&store).await, passed)
}

#[test]
fn a_bad_release_is_halted_once_and_the_decision_replays_to_the_bit() {
    both(async |place| {
        let store = place.open().await;
        let published = Arc::new(PublishedWatch::default());
        let directory = place.directory.path().join("proposals");
        let mut first = watcher(&store, &directory, &published);
        assert_eq!(
            pass(&mut first).await,
            WatchPass {
                judged: 0,
                ..WatchPass::default()
            }
        );
        store
            .record(&a_bad_release(), SignedDuration::from_hours(2))
            .await
            .unwrap();
        let passed = pass(&mut first).await;
        assert_eq!((passed.recorded, passed.proposed), (1, 1));
        assert_eq!(
            pass(&mut first).await,
            WatchPass::default(),
            "nothing has changed"
        );

        // What is proposed is graph data that stops everybody.
        let path = "blocked-edges/4.9.2-halted.yaml";
        let bytes = fs::read(directory.join(path)).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("60 of 200 failed"), "{text}");
        let scope = scope_of(path, &text);
        assert!(scope.is_some_and(|scope| scope.is_all()), "{text}");

        // Another replica, and a restart, neither write it down nor propose it again.
        let lease = store.holder(watcher::LEASE).await.unwrap().unwrap();
        let mut second = watcher(&store, &directory, &published);
        assert_eq!(
            pass(&mut second).await,
            WatchPass {
                judged: 1,
                ..WatchPass::default()
            }
        );
        store.release(&lease).await.unwrap();
        fs::remove_file(directory.join(path)).unwrap();
        let mut restarted = watcher(&store, &directory, &published);
        assert_eq!(
            pass(&mut restarted).await,
            WatchPass {
                judged: 1,
                ..WatchPass::default()
            }
        );
        assert!(!directory.join(path).exists());

        let decisions = replayed(&store).await;
        assert_eq!(decisions.len(), 1);
        assert!(
            decisions[0].contains("\"act\":\"propose\""),
            "{}",
            decisions[0]
        );
        let answered = answer(
            &published,
            Some(&version("4.9.2")),
            FleetForm::Text { width: None },
        );
        let Ok(FleetAnswer::Text(text)) = answered else {
            panic!("no text");
        };
        assert!(
            text.contains("4.9.2: halt, for all clusters. 60 of 200 failed."),
            "{text}"
        );
        let other = answer(&published, Some(&version("4.9.7")), FleetForm::Json);
        assert!(matches!(other, Err(FleetAnswer::NotFound(_))));
    });
}

#[test]
fn an_enforced_halt_stands_in_the_store_and_is_not_made_again_once_people_undid_it() {
    both(async |place| {
        let store = place.open().await;
        store
            .record(&a_bad_release(), SignedDuration::from_hours(2))
            .await
            .unwrap();
        let published = Arc::new(PublishedWatch::default());
        let enforcing = || watcher_in(Mode::Enforce, &store, place.directory.path(), &published);
        let mut first = enforcing();
        let passed = pass(&mut first).await;
        assert_eq!(
            (passed.recorded, passed.enforced, passed.proposed),
            (1, 1, 0)
        );
        let (_, standing) = store.standing_halts().await.unwrap();
        let [halt] = standing.as_slice() else {
            panic!("{standing:?}");
        };
        assert_eq!(
            (halt.halt.by.as_str(), halt.halt.release.to_string()),
            ("watch", "4.9.2".to_owned())
        );
        assert!(
            halt.halt.why.contains("60 of 200 failed"),
            "{}",
            halt.halt.why
        );
        let scope = scope_of(&halt.halt.path, &halt.halt.body);
        assert!(scope.unwrap().is_all());
        for who in ["ada", "bob"] {
            store.undo_halt(halt.id, who, at(9)).await.unwrap();
        }
        let lease = store.holder(watcher::LEASE).await.unwrap().unwrap();
        store.release(&lease).await.unwrap();
        let passed = pass(&mut enforcing()).await;
        assert_eq!((passed.judged, passed.recorded, passed.enforced), (1, 0, 0));
        assert!(store.standing_halts().await.unwrap().1.is_empty());
        assert_eq!(replayed(&store).await.len(), 1);
    });
}

/// People halt a release by mistake and undo it. That says nothing of what the watch sees later.
#[test]
fn a_halt_that_people_made_and_undid_does_not_keep_the_watch_from_halting() {
    both(async |place| {
        let store = place.open().await;
        let declared = DeclaredHalt {
            by: "ada".to_owned(),
            at: at(0),
            scope: HaltScope::default(),
            why: None,
            evidence: None,
        };
        let release = version("4.9.2");
        let by_ada = NewHalt {
            path: data::halt_path(&release, &declared.scope),
            body: data::write_halt(&release, &declared, None, None),
            release,
            by: declared.by,
            why: "the wrong release".to_owned(),
            at: declared.at,
            evidence: String::new(),
        };
        let HaltOutcome::Made(made) = store.halt(&by_ada).await.unwrap() else {
            panic!("it was not halted before");
        };
        let reports = a_bad_release();
        store
            .record(&reports, SignedDuration::from_hours(2))
            .await
            .unwrap();
        let published = Arc::new(PublishedWatch::default());
        let mut watcher = watcher_in(Mode::Enforce, &store, place.directory.path(), &published);
        assert_eq!(pass(&mut watcher).await.enforced, 0, "it is halted");
        for who in ["ada", "bob"] {
            store.undo_halt(made.id, who, at(8)).await.unwrap();
        }
        let mut again = watcher_in(Mode::Enforce, &store, place.directory.path(), &published);
        let lease = store.holder(watcher::LEASE).await.unwrap().unwrap();
        store.release(&lease).await.unwrap();
        assert_eq!(pass(&mut again).await.enforced, 1);
        let (_, standing) = store.standing_halts().await.unwrap();
        assert_eq!(standing[0].halt.by, "watch");
    });
}

#[test]
fn one_organisation_that_reports_only_failures_halts_nobody() {
    both(async |place| {
        let one = |number| match number % 10 {
            0 => report(number, "liar", true),
            other => report(number, &format!("org{other}"), false),
        };
        let (decisions, passed) = told(place, &[(0..CLUSTERS).map(one).collect()]).await;
        assert_eq!((passed.recorded, passed.proposed), (1, 0));
        assert!(
            decisions[0].contains("\"act\":\"nothing\""),
            "{}",
            decisions[0]
        );
        assert!(
            decisions[0].contains("\"organisation\":\"liar\""),
            "{}",
            decisions[0]
        );
    });
}

#[test]
fn reports_that_come_twice_late_or_in_another_order_change_no_decision() {
    let plain = a_bad_release();
    let reordered: Vec<ClusterReport> = plain.iter().rev().cloned().collect();
    // A good end that is told after the failure: the first one counts.
    let forged: Vec<ClusterReport> = (0..CLUSTERS)
        .map(|number| report(number, &format!("org{}", number % 10), false))
        .collect();
    let ways = [
        vec![plain.clone()],
        vec![reordered.clone(), plain.clone()],
        vec![plain.clone(), forged, reordered],
    ];
    let known = Mutex::new(None);
    for reports in ways {
        towpath_testing_store::on(towpath_store::Backend::Sqlite, async |place| {
            let (decisions, passed) = told(place, &reports).await;
            assert_eq!(passed.proposed, 1);
            let halts = |body: &String| {
                let body: serde_json::Value = serde_json::from_str(body).unwrap();
                (
                    body["halts"].clone(),
                    body["assessment"]["scopes"][0]["failed"].clone(),
                )
            };
            let halts: Vec<_> = decisions.iter().map(halts).collect();
            assert_eq!(halts.len(), 1);
            let mut known = known.lock().unwrap();
            assert_eq!(known.get_or_insert_with(|| halts.clone()), &halts);
        });
    }
}

/// Answers each request with the next of these statuses, and returns the bodies.
fn webhook(statuses: &'static [&'static str]) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/halts", listener.local_addr().unwrap());
    let answer = move |status: &&str| {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        String::from_utf8(body).unwrap()
    };
    let bodies = std::thread::spawn(move || statuses.iter().map(answer).collect());
    (url, bodies)
}

#[test]
fn a_webhook_that_fails_is_asked_again_with_the_same_id() {
    let (url, bodies) = webhook(&["503 Service Unavailable", "202 Accepted"]);
    let halt = Halt {
        scope: HaltScope::default(),
        way: HaltWay::AgainstHistory,
        since: at(3),
        evidence: Bits::ONE,
        needed: Bits::ONE,
    };
    let told = Assessment {
        release: version("4.9.2"),
        at: at(4),
        answer: WatchAnswer::Halt,
        halts: vec![halt.clone()],
        held_back: None,
        tolerated_rate: FailureRate::per_million(50_000),
        scopes: Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut proposals =
            Proposals::new(Some(ProposalDestination::Webhook(url)), &Access::default()).unwrap();
        assert!(proposals.is_ready() && !proposals.is_due());
        assert!(!proposals.propose(&told, &halt, 7).await);
        assert!(!proposals.is_ready(), "not at once");
        assert!(proposals.propose(&told, &halt, 7).await);
        assert!(proposals.is_ready() && !proposals.is_due());
    });
    let bodies = bodies.join().unwrap();
    let [first, second] = bodies.as_slice() else {
        panic!("{bodies:?}");
    };
    assert_eq!(first, second);
    let body: serde_json::Value = serde_json::from_str(first).unwrap();
    assert_eq!(body["id"], "7/blocked-edges/4.9.2-halted.yaml");
    assert!(
        body["file"]["text"]
            .as_str()
            .unwrap()
            .contains("to: 4.9.2\n"),
        "{body}"
    );
}

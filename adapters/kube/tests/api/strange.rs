//! API servers that do not behave: one that never answers, one that cuts every watch short, one that forgets.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use towpath_kube::{Access, Cluster, Settings, State, Subject, Verb};
use towpath_testing_kube::wait_for;

use crate::support::*;

/// What a strange server does with a request.
#[derive(Clone, Copy)]
enum Manner {
    Silent,
    CutsWatches,
    Forgets,
}

/// A client of a strange server.
async fn client_of(manner: Manner, settings: Settings) -> Cluster {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            match manner {
                Manner::Silent => held.push(stream),
                Manner::CutsWatches | Manner::Forgets => {
                    tokio::spawn(
                        async move { while answer(&mut stream, manner).await.is_some() {} },
                    );
                }
            }
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: it\nclusters: [{{name: it, cluster: {{server: 'http://{address}'}}}}]\n\
         users: [{{name: it, user: {{}}}}]\ncontexts: [{{name: it, context: {{cluster: it, user: it}}}}]\n"
    );
    std::fs::write(&path, text).unwrap();
    connect(
        &Access::Kubeconfig {
            path: Some(path),
            context: None,
        },
        settings,
    )
    .await
}

/// What a watch says whose moment is too long ago.
const FORGOTTEN: &str = concat!(
    r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","#,
    r#""message":"too old resource version","reason":"Expired","code":410}}"#,
    "\n"
);

/// Lists are empty, watches end at once or have been forgotten, and there are no groups.
async fn answer(stream: &mut tokio::net::TcpStream, manner: Manner) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_buf(&mut head).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.split(' ').nth(1).unwrap_or_default();
    let (status, body) = match (target.starts_with("/apis/"), target.contains("watch=true")) {
        (true, _) => (
            "404 Not Found",
            r#"{"kind":"Status","code":404,"status":"Failure","message":"no","reason":"NotFound"}"#,
        ),
        (false, true) => match manner {
            Manner::Forgets => ("200 OK", FORGOTTEN),
            Manner::CutsWatches | Manner::Silent => ("200 OK", ""),
        },
        (false, false) => (
            "200 OK",
            r#"{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}"#,
        ),
    };
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await.ok()
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_in_time() {
    let cluster = client_of(
        Manner::Silent,
        Settings {
            request: Duration::from_millis(200),
            ..settings()
        },
    )
    .await;
    let told = |objects: &towpath_kube::Objects| {
        objects
            .states
            .values()
            .all(|state| matches!(state, State::NotRead(Some(_))))
    };
    let objects = until(&cluster, "each request is given up", told).await;
    let State::NotRead(Some(problem)) = &objects.states[&Subject::Nodes] else {
        panic!("{:?}", objects.states)
    };
    assert!(
        problem.to_string().starts_with("list nodes: no answer: "),
        "{problem}"
    );
    let update = towpath_kube::Update {
        version: "4.9.2",
        image: DIGEST,
        record: "",
        ..towpath_kube::Update::default()
    };
    assert_eq!(
        cluster.start_update("1", update).await.unwrap_err().kind(),
        "unanswered"
    );
}

#[tokio::test]
async fn a_server_that_cuts_watches_short_is_not_stormed() {
    let began = Instant::now();
    let cluster = client_of(Manner::CutsWatches, settings()).await;
    let watches = || {
        cluster
            .requests()
            .get(&(Verb::Watch, "nodes".to_owned()))
            .copied()
            .unwrap_or_default()
    };
    wait_for("five watches", || async { (watches() >= 5).then_some(()) }).await;
    // Four waits of at least half of 50, 100, 200 and 400 ms.
    assert!(
        began.elapsed() >= Duration::from_millis(375),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(cluster.requests()[&(Verb::List, "nodes".to_owned())], 1);
    assert_eq!(
        cluster.objects().states[&Subject::MachineConfigPools],
        State::Absent
    );
}

#[tokio::test]
async fn what_a_server_has_forgotten_is_listed_again() {
    let cluster = client_of(Manner::Forgets, settings()).await;
    let lists = || {
        cluster
            .requests()
            .get(&(Verb::List, "nodes".to_owned()))
            .copied()
            .unwrap_or_default()
    };
    wait_for("a second and a third list", || async {
        (lists() >= 3).then_some(())
    })
    .await;
    assert_eq!(
        cluster.objects().states[&Subject::Nodes],
        State::Current,
        "that is no failure"
    );
}

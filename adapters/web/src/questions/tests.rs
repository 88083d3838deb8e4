//! A service whose questions cannot be answered for now: what goes on, who waits, and who is turned away.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use towpath_core::graph::Graph;

use crate::workers::{MAX_QUESTIONS, QUESTION_THREADS};
use crate::{Limits, Server, Service, Snapshot};

const PATH: &str = "/api/v1/path?from=4.1.0&to=4.2.0";

struct Site {
    service: Arc<Service>,
    address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

impl Site {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let service = Service::new(Arc::new(|| Timestamp::UNIX_EPOCH), "test");
        let graph = Graph::build(Default::default(), Default::default()).0;
        service.replace(
            Snapshot::new(
                graph,
                Default::default(),
                String::new(),
                Timestamp::UNIX_EPOCH,
            ),
            Vec::new(),
        );
        let server = Server::bind(
            SocketAddr::from(([127, 0, 0, 1], 0)),
            service.clone(),
            Limits::default(),
        );
        let server = runtime.block_on(server).unwrap();
        let address = server.address().unwrap();
        runtime.spawn(server.serve(std::future::pending()));
        Self {
            service,
            address,
            _runtime: runtime,
        }
    }

    fn ask(&self, target: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        write!(
            stream,
            "GET {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        stream
    }

    fn counted(&self, result: &'static str) -> u64 {
        self.service
            .metrics
            .questions
            .get_or_create(&[("queue", "question"), ("result", result)])
            .get()
    }

    fn until(what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < deadline, "it never came about that {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn answer(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn questions_that_cannot_be_answered_keep_nobody_else_waiting() {
    let site = Site::new();
    // As long as this is held, nobody can say which rollouts there are.
    let kept = site.service.rollouts.0.lock().unwrap();
    let blocked: Vec<TcpStream> = (0..QUESTION_THREADS)
        .map(|_| site.ask("/api/v1/rollouts"))
        .collect();
    let waiting = |count: usize| site.service.metrics.connections.get() >= count as i64;
    Site::until("both threads are busy", || waiting(QUESTION_THREADS));

    // All places in the queue are taken by clients that go, …
    let mut left: Vec<TcpStream> = (0..MAX_QUESTIONS).map(|_| site.ask(PATH)).collect();
    let mut turned_away = String::new();
    Site::until("the queue is full", || {
        let mut one = site.ask(PATH);
        one.set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        // Who waits in the queue hears nothing.
        let is_told = one.read_to_string(&mut turned_away).is_ok();
        left.push(one);
        is_told
    });
    assert!(
        turned_away.starts_with("HTTP/1.1 503 ") && turned_away.contains("\r\nretry-after: 5\r\n"),
        "{turned_away}"
    );
    assert!(turned_away.contains("\"kind\":\"busy\""), "{turned_away}");

    // … and all the same a sheet that nobody has asked for is compiled, and metrics are written.
    let sheet = answer(site.ask("/api/upgrades_info/graph?channel=cold-4.20"));
    assert!(sheet.starts_with("HTTP/1.1 200 "), "{sheet}");
    assert!(
        answer(site.ask("/metrics"))
            .contains("towpath_questions_total{queue=\"question\",result=\"turned_away\"}")
    );

    let asked = left.len() as u64;
    drop(left);
    Site::until("it is noticed that they have gone", || {
        !waiting(QUESTION_THREADS + 1)
    });
    assert_eq!(
        (site.counted("answered"), site.counted("abandoned")),
        (0, 0),
        "nothing was done so far"
    );
    drop(kept);
    for stream in blocked {
        assert!(answer(stream).starts_with("HTTP/1.1 200 "));
    }
    Site::until("the questions of those who went were not begun", || {
        site.counted("abandoned") == asked - site.counted("turned_away")
    });
    // An answer is sent before it is counted.
    Site::until("those who stayed are counted", || {
        site.counted("answered") == QUESTION_THREADS as u64
    });
    assert!(answer(site.ask(PATH)).starts_with("HTTP/1.1 200 "));
}

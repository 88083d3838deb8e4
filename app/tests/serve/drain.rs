//! SIGTERM loses no request: first the service says that it is about to go, then it goes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;

use towpath_testing_services::{Response, Towpath};

const REQUEST: &[u8] =
    b"GET /api/upgrades_info/graph?channel=stable-4.20 HTTP/1.1\r\nhost: localhost\r\n\r\n";
const CLIENTS: usize = 10;
/// Requests of each client before the signal, and after it.
const BEFORE: usize = 5;
const AFTER: usize = 20;

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it still listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a timeout");
    stream
}

/// Asks once; whether the connection is kept. Panics if the request is lost.
fn is_kept(stream: &mut TcpStream) -> bool {
    stream.write_all(REQUEST).expect("it reads");
    let response = Response::read(stream, false);
    assert_eq!(response.status, 200);
    response.header("connection") != "close"
}

#[test]
fn no_request_is_lost_on_new_and_on_kept_connections() {
    let mut towpath = Towpath::serve(&["--drain-for", "600s"]);
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    let (address, is_draining, begun) =
        (towpath.address, AtomicBool::new(false), AtomicUsize::new(0));
    let new_each_time = || {
        let mut left = AFTER;
        for asked in 1.. {
            is_kept(&mut connect(address));
            begun.fetch_add(usize::from(asked == BEFORE), Ordering::SeqCst);
            left -= usize::from(is_draining.load(Ordering::SeqCst));
            if left == 0 {
                return;
            }
        }
    };
    let kept = || {
        let (mut left, mut closed, mut stream) = (AFTER, 0, connect(address));
        for asked in 1.. {
            if !is_kept(&mut stream) {
                assert_eq!(stream.read(&mut [0]).expect("closed in order"), 0);
                (closed, stream) = (closed + 1, connect(address));
            }
            begun.fetch_add(usize::from(asked == BEFORE), Ordering::SeqCst);
            left -= usize::from(is_draining.load(Ordering::SeqCst));
            if left == 0 {
                assert!(
                    closed >= AFTER - 1,
                    "each answer is the last of its connection: {closed}"
                );
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(new_each_time);
            scope.spawn(kept);
        }
        towpath.until("all clients have begun", |_| {
            begun.load(Ordering::SeqCst) == 2 * CLIENTS
        });
        towpath.signal(Signal::TERM);
        towpath.log_line("draining");
        is_draining.store(true, Ordering::SeqCst);
        let ready = towpath.get("/readyz");
        assert_eq!(ready.status, 503);
        assert!(
            ready.json()["status"]
                .as_str()
                .is_some_and(|status| status.contains("draining")),
            "{ready:?}"
        );
        assert_eq!(towpath.get("/livez").status, 200, "it is not dead");
    });
    // The drain has long to go; a second signal ends it.
    towpath.signal(Signal::INT);
    assert!(towpath.child.wait().expect("it ends").success());
    towpath.log_line("stopped");
}

#[test]
fn who_was_connected_before_the_end_may_still_ask_once() {
    let mut towpath = Towpath::serve(&["--drain-for", "1s"]);
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    let (mut kept, mut fresh) = (connect(towpath.address), connect(towpath.address));
    assert!(is_kept(&mut kept));
    towpath.signal(Signal::TERM);
    towpath.log_line("stopping");
    assert_eq!(
        kept.read(&mut [0]).expect("an idle one is closed in order"),
        0
    );
    assert!(
        TcpStream::connect(towpath.address).is_err(),
        "it listens no more"
    );
    assert!(!is_kept(&mut fresh), "it is answered, and closed");
    assert!(towpath.child.wait().expect("it ends").success());
}

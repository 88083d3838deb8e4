//! A server that says what it is told to, byte by byte.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What a server does with a connection.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Send(Vec<u8>),
    /// Says nothing more, until the client goes away.
    Stall,
    /// Sends this again and again, until the client goes away.
    Endless(Vec<u8>),
}

/// A server on a port of its own. Its threads end with the connections that they serve.
pub(crate) struct Server {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Serves each request with the steps that this gives for its path and its number (from 0); then it hangs up.
    pub(crate) fn new(script: impl Fn(&str, usize) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let (script, log) = (Arc::new(script), heads.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, log) = (script.clone(), log.clone());
                std::thread::spawn(move || serve(stream, &*script, &log));
            }
        });
        Self { port, heads }
    }

    /// A server that answers all requests alike.
    pub(crate) fn always(steps: Vec<Step>) -> Self {
        Self::new(move |_, _| steps.clone())
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The paths that were asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.heads().iter().map(|head| path(head)).collect()
    }

    /// The heads of the requests, whole.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: TcpStream,
    script: &(impl Fn(&str, usize) -> Vec<Step> + ?Sized),
    log: &Mutex<Vec<String>>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let number = {
        let mut log = log.lock().unwrap();
        log.push(head.clone());
        log.len() - 1
    };
    for step in script(&path(&head), number) {
        match step {
            Step::Send(bytes) => {
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
            Step::Stall => {
                let _ = stream.read(&mut [0]);
            }
            Step::Endless(bytes) => while stream.write_all(&bytes).is_ok() {},
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn path(head: &str) -> String {
    head.split(' ').nth(1).unwrap_or_default().to_owned()
}

/// A head with a status, and more headers.
pub(crate) fn head(status: &str, headers: &str) -> Step {
    Step::Send(format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n").into_bytes())
}

pub(crate) fn answer(status: &str, body: &[u8]) -> Vec<Step> {
    vec![
        head(status, &format!("Content-Length: {}\r\n", body.len())),
        Step::Send(body.to_vec()),
    ]
}

pub(crate) fn redirect(to: &str) -> Vec<Step> {
    vec![head(
        "302 Found",
        &format!("Location: {to}\r\nContent-Length: 0\r\n"),
    )]
}

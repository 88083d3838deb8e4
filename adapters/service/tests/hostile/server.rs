//! A server that says what it is told to, byte by byte, once it has read a whole request.

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
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers all requests alike, and hangs up after each.
    pub(crate) fn always(steps: Vec<Step>) -> Self {
        Self::new(move |_| steps.clone())
    }

    /// Answers each request with the steps that this gives for it.
    pub(crate) fn new(script: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (script, log) = (Arc::new(script), requests.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, log) = (script.clone(), log.clone());
                std::thread::spawn(move || serve(stream, &*script, &log));
            }
        });
        Self { port, requests }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, script: &dyn Fn(&str) -> Vec<Step>, log: &Mutex<Vec<String>>) {
    let Some(request) = request(&mut stream) else {
        return;
    };
    log.lock().unwrap().push(request.clone());
    for step in script(&request) {
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

fn request(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let length = head.lines().find_map(|line| {
        line.to_lowercase()
            .strip_prefix("content-length: ")?
            .parse()
            .ok()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some(head + &String::from_utf8(body).ok()?)
}

/// A head with a status, and more headers.
pub(crate) fn head(status: &str, headers: &str) -> Step {
    Step::Send(format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n").into_bytes())
}

pub(crate) fn answer(status: &str, body: &str) -> Vec<Step> {
    vec![
        head(status, &format!("Content-Length: {}\r\n", body.len())),
        Step::Send(body.as_bytes().to_vec()),
    ]
}

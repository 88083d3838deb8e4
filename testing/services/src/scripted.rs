//! An HTTP server that reads a whole request and then sends scripted bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What a server does with a connection.
#[derive(Debug, Clone)]
pub enum Step {
    Send(Vec<u8>),
    /// Says nothing more, until the client goes away.
    Stall,
    /// Sends this again and again, until the client goes away.
    Endless(Vec<u8>),
}

/// A server on a port of its own. Its threads end with the connections that they serve.
pub struct Server {
    pub port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers all requests alike, and hangs up after each.
    pub fn always(steps: Vec<Step>) -> Self {
        Self::new(move |_, _| steps.clone())
    }

    /// Answers each request with the steps that this gives for its path and its number (from 0).
    pub fn by_path(script: impl Fn(&str, usize) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::new(move |request, number| script(&path(request), number))
    }

    /// Answers each request with the steps that this gives for it and its number (from 0).
    pub fn new(script: impl Fn(&str, usize) -> Vec<Step> + Send + Sync + 'static) -> Self {
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

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The requests so far, each whole.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The paths that were asked for.
    pub fn paths(&self) -> Vec<String> {
        self.requests().iter().map(|text| path(text)).collect()
    }
}

fn serve(
    mut stream: TcpStream,
    script: &dyn Fn(&str, usize) -> Vec<Step>,
    log: &Mutex<Vec<String>>,
) {
    let Some(request) = request(&mut stream) else {
        return;
    };
    let number = {
        let mut log = log.lock().unwrap();
        log.push(request.clone());
        log.len() - 1
    };
    for step in script(&request, number) {
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
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = head.lines().find_map(|line| {
        line.to_lowercase()
            .strip_prefix("content-length: ")?
            .parse()
            .ok()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some(head + &String::from_utf8_lossy(&body))
}

fn path(request: &str) -> String {
    request.split(' ').nth(1).unwrap_or_default().to_owned()
}

/// A head with a status, and more headers.
pub fn head(status: &str, headers: &str) -> Step {
    Step::Send(format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n").into_bytes())
}

pub fn answer(status: &str, body: impl AsRef<[u8]>) -> Vec<Step> {
    let body = body.as_ref();
    vec![
        head(status, &format!("Content-Length: {}\r\n", body.len())),
        Step::Send(body.to_vec()),
    ]
}

pub fn redirect(to: &str) -> Vec<Step> {
    vec![head(
        "302 Found",
        &format!("Location: {to}\r\nContent-Length: 0\r\n"),
    )]
}

//! Clients that ask on kept connections and count what fails. They never ask a second time by themselves.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(70);

/// One client on one connection, which is made again when it breaks.
pub(super) struct Caller {
    port: u16,
    stream: Option<BufReader<TcpStream>>,
}

/// What was answered.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// How often what happened.
#[derive(Debug, Default)]
pub(super) struct AnswerCount(pub(super) BTreeMap<String, u64>);

impl Caller {
    pub(super) fn new(port: u16) -> Self {
        Self { port, stream: None }
    }

    pub(super) fn get(&mut self, target: &str, token: &str) -> io::Result<Answered> {
        self.send("GET", target, token, "")
    }

    pub(super) fn post(&mut self, target: &str, token: &str, body: &str) -> io::Result<Answered> {
        self.send("POST", target, token, body)
    }

    fn send(
        &mut self,
        method: &str,
        target: &str,
        token: &str,
        body: &str,
    ) -> io::Result<Answered> {
        let mut request = format!("{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n");
        if !token.is_empty() {
            request += &format!("Authorization: Bearer {token}\r\n");
        }
        if method == "POST" {
            let length = body.len();
            request += &format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
        }
        request += &format!("\r\n{body}");
        let answered = self.exchange(request.as_bytes());
        if answered.is_err() {
            self.stream = None;
        }
        answered
    }

    fn exchange(&mut self, request: &[u8]) -> io::Result<Answered> {
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(TIMEOUT))?;
                BufReader::new(stream)
            }
        };
        let stream = self.stream.insert(stream);
        stream.get_mut().write_all(request)?;
        let (mut status, mut length, mut closes, mut line) = (0, None, false, String::new());
        loop {
            line.clear();
            if stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let text = line.trim_end();
            if text.is_empty() {
                break;
            }
            if status == 0 {
                let code = text.split(' ').nth(1).and_then(|code| code.parse().ok());
                status = code.ok_or(io::ErrorKind::InvalidData)?;
            } else if let Some((name, value)) = text.split_once(':') {
                match &*name.to_ascii_lowercase() {
                    "content-length" => length = value.trim().parse::<usize>().ok(),
                    "connection" => closes = value.trim().eq_ignore_ascii_case("close"),
                    _ => {}
                }
            }
        }
        let mut body = vec![0; length.ok_or(io::ErrorKind::InvalidData)?];
        stream.read_exact(&mut body)?;
        if closes {
            self.stream = None;
        }
        Ok(Answered { status, body })
    }
}

impl AnswerCount {
    pub(super) fn count(&mut self, what: impl Into<String>) {
        *self.0.entry(what.into()).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: Self) {
        for (what, times) in other.0 {
            *self.0.entry(what).or_default() += times;
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// All of it in words.
    pub(super) fn words(&self) -> String {
        let each = self
            .0
            .iter()
            .map(|(what, times)| format!("{what}: {times}"));
        each.collect::<Vec<_>>().join(", ")
    }
}

//! Plain HTTP: all that the benches need to say, apart from wrk.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use anyhow::{Context, ensure};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The largest answer that is read.
const MAX_ANSWER_BYTES: u64 = 256 << 20;

/// How a body is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// As it is.
    Identity,
    /// gzip.
    Gzip,
}

impl Encoding {
    /// Its name, as in headers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
        }
    }

    /// The line of a request that asks for it, or nothing.
    pub(crate) fn header(self) -> &'static str {
        match self {
            Self::Identity => "",
            Self::Gzip => "Accept-Encoding: gzip\r\n",
        }
    }
}

/// What a server answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Asks a server on this machine.
pub(crate) fn get(port: u16, target: &str, encoding: Encoding) -> anyhow::Result<Answer> {
    ask(port, "GET", target, encoding.header())
}

/// Tells a server on this machine something, without a body, as the holder of a token.
pub(crate) fn post(port: u16, target: &str, token: &str) -> anyhow::Result<Answer> {
    ask(
        port,
        "POST",
        target,
        &format!("Authorization: Bearer {token}\r\nContent-Length: 0\r\n"),
    )
}

/// Tells a server on this machine something, as JSON, as the holder of a token.
pub(crate) fn post_json(
    port: u16,
    target: &str,
    token: &str,
    body: &str,
) -> anyhow::Result<Answer> {
    let length = body.len();
    let head = format!(
        "Authorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
    );
    let raw = exchange_with(port, "POST", target, &head, body)
        .with_context(|| format!("127.0.0.1:{port}{target}"))?;
    parse(&raw).with_context(|| format!("127.0.0.1:{port}{target}"))
}

fn ask(port: u16, method: &str, target: &str, more: &str) -> anyhow::Result<Answer> {
    let raw = exchange(port, method, target, more)
        .with_context(|| format!("127.0.0.1:{port}{target}"))?;
    parse(&raw).with_context(|| format!("127.0.0.1:{port}{target}"))
}

/// A port on this machine that nobody listens on, for now.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}

fn exchange(port: u16, method: &str, target: &str, more: &str) -> io::Result<Vec<u8>> {
    exchange_with(port, method, target, more, "")
}

fn exchange_with(
    port: u16,
    method: &str,
    target: &str,
    more: &str,
    body: &str,
) -> io::Result<Vec<u8>> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    write!(
        stream,
        "{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{more}\r\n{body}"
    )?;
    let mut raw = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut raw)?;
    Ok(raw)
}

fn parse(raw: &[u8]) -> anyhow::Result<Answer> {
    let end = raw
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .context("an answer without an end of its head")?;
    let head =
        std::str::from_utf8(&raw[..end]).context("an answer with a head that is not text")?;
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .context("an answer without a status")?;
    let body = raw[end + 4..].to_vec();
    let announced = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });
    let announced = announced.context("an answer without a length")?;
    ensure!(
        announced == body.len(),
        "{announced} bytes were announced and {} came",
        body.len()
    );
    Ok(Answer { status, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_status_and_a_body() {
        let answer =
            parse(b"HTTP/1.1 503 Service Unavailable\r\nContent-length: 2\r\n\r\nno").unwrap();
        assert_eq!(
            answer,
            Answer {
                status: 503,
                body: b"no".to_vec()
            }
        );
    }

    #[test]
    fn an_answer_that_breaks_off_is_an_error() {
        for broken in [
            "",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nno",
            "x\r\n\r\n",
        ] {
            assert!(parse(broken.as_bytes()).is_err(), "{broken:?}");
        }
    }
}

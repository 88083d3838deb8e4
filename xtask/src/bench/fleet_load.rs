//! An open-loop load: requests are due at a steady rate, even if earlier ones are not answered yet.
//!
//! The time of a request counts from when it was due, so that a slow server cannot hide its delays. (wrk only asks as fast
//! as it is answered.)

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest head of an answer.
const MAX_HEAD_BYTES: usize = 16 << 10;
const STACK_BYTES: usize = 128 << 10;

/// What to send.
pub(super) struct Load<'a> {
    pub(super) port: u16,
    /// As many requests are under way at most.
    pub(super) connections: usize,
    pub(super) per_second: f64,
    pub(super) requests: usize,
    /// What each must be answered with.
    pub(super) status: u16,
    /// The bytes of a request, by its number.
    pub(super) request: &'a (dyn Fn(usize) -> Vec<u8> + Sync),
}

/// How it went.
#[derive(Debug, Default)]
pub(super) struct Measurement {
    /// Requests that were answered as they must be.
    pub(super) answered: usize,
    /// From the first that was due to the last answer.
    pub(super) seconds: f64,
    /// Sorted.
    micros: Vec<f64>,
    problems: BTreeMap<String, usize>,
}

impl Measurement {
    /// Answers per second, over all of the time.
    pub(super) fn per_second(&self) -> f64 {
        self.answered as f64 / self.seconds
    }

    /// A percentile of the answer times; NaN without answers.
    pub(super) fn percentile(&self, hundredths: usize) -> f64 {
        let rank = (self.micros.len() * hundredths).div_ceil(100).max(1);
        self.micros.get(rank - 1).copied().unwrap_or(f64::NAN)
    }

    /// What went wrong, and how often.
    pub(super) fn failures(&self) -> Vec<String> {
        self.problems
            .iter()
            .map(|(problem, times)| format!("{problem} ({times} times)"))
            .collect()
    }

    fn add(&mut self, other: Self) {
        self.answered += other.answered;
        self.seconds = self.seconds.max(other.seconds);
        self.micros.extend(other.micros);
        for (problem, times) in other.problems {
            *self.problems.entry(problem).or_default() += times;
        }
    }
}

impl Load<'_> {
    /// Sends everything.
    pub(super) fn run(&self) -> anyhow::Result<Measurement> {
        let connections: Vec<TcpStream> = (0..self.connections)
            .map(|_| self.connect())
            .collect::<io::Result<_>>()
            .context("a load cannot connect")?;
        let (next, start) = (AtomicUsize::new(0), Instant::now());
        let mut measured = Measurement::default();
        std::thread::scope(|scope| -> anyhow::Result<()> {
            let mut threads = Vec::new();
            for stream in connections {
                let (next, thread) = (&next, std::thread::Builder::new().stack_size(STACK_BYTES));
                threads.push(thread.spawn_scoped(scope, move || self.ask(stream, next, start))?);
            }
            for thread in threads {
                measured.add(thread.join().expect("a thread of a load does not panic"));
            }
            Ok(())
        })?;
        measured.micros.sort_by(f64::total_cmp);
        Ok(measured)
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(stream)
    }

    /// Takes the next request that nobody has taken, until there are none.
    fn ask(&self, mut stream: TcpStream, next: &AtomicUsize, start: Instant) -> Measurement {
        let (mut measured, mut buffer) = (Measurement::default(), Vec::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= self.requests {
                return measured;
            }
            let due = start + Duration::from_secs_f64(number as f64 / self.per_second);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let answer = stream
                .write_all(&(self.request)(number))
                .and_then(|()| status(&mut stream, &mut buffer));
            let problem = match answer {
                Ok(status) if status == self.status => {
                    measured.answered += 1;
                    measured.micros.push(due.elapsed().as_secs_f64() * 1e6);
                    measured.seconds = start.elapsed().as_secs_f64();
                    continue;
                }
                Ok(status) => format!("answered with {status}"),
                Err(error) => {
                    // What is left on the old connection belongs to nobody.
                    if let Ok(new) = self.connect() {
                        stream = new;
                    }
                    error.kind().to_string()
                }
            };
            *measured.problems.entry(problem).or_default() += 1;
        }
    }
}

/// Reads one answer to its end; says its status.
fn status(stream: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<u16> {
    buffer.clear();
    let mut piece = [0; 16 << 10];
    let head_end = loop {
        let count = stream.read(&mut piece)?;
        if count == 0 || buffer.len() > MAX_HEAD_BYTES + piece.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer.extend_from_slice(&piece[..count]);
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let (status, length) = head(&buffer[..head_end]).ok_or(io::ErrorKind::InvalidData)?;
    let mut left = (head_end + length).saturating_sub(buffer.len());
    while left > 0 {
        let room = left.min(piece.len());
        match stream.read(&mut piece[..room])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => left -= count,
        }
    }
    Ok(status)
}

/// The status and the length of the body.
fn head(bytes: &[u8]) -> Option<(u16, usize)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let status = text.split(' ').nth(1)?.parse().ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    })?;
    Some((status, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_to_its_end_and_no_further() {
        let (mut bytes, mut buffer) = (
            &b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}"[..],
            Vec::new(),
        );
        assert_eq!(status(&mut bytes, &mut buffer).unwrap(), 202);
        assert!(status(&mut bytes, &mut buffer).is_err());
        let mut broken = &b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{}"[..];
        assert!(status(&mut broken, &mut buffer).is_err());
    }

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let micros = (1..=200).map(f64::from).collect();
        let measured = Measurement {
            answered: 200,
            seconds: 2.0,
            micros,
            problems: BTreeMap::new(),
        };
        assert_eq!(
            [measured.percentile(50), measured.percentile(99)],
            [100.0, 198.0]
        );
        assert_eq!(measured.per_second(), 100.0);
        assert!(Measurement::default().percentile(99).is_nan());
    }

    #[test]
    fn what_went_wrong_adds_up() {
        let one = || Measurement {
            problems: BTreeMap::from([("answered with 503".to_owned(), 1)]),
            ..Measurement::default()
        };
        let mut all = one();
        all.add(one());
        assert_eq!(all.failures(), ["answered with 503 (2 times)"]);
    }
}

//! The double's network side: sockets, HTTP/1.1, and faults on demand.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use jiff::Timestamp;
use serde_json::Value;

use super::{Api, OcmAnswer, Request, SharedState};

/// Something to read from and write to: a socket, or TLS on one.
pub trait Io: Read + Write + Send {}
impl<T: Read + Write + Send> Io for T {}

/// What goes wrong with a request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// 429, with `Retry-After` as given.
    Busy(Option<&'static str>),
    /// This status, and nothing done.
    Status(u16),
    /// No answer while the double runs; the request may still take effect.
    Stall {
        takes_effect: bool,
    },
    /// The request takes effect; the connection ends without an answer.
    AnswerLost,
    /// The request takes effect; half of the answer comes, then the connection ends.
    CutShort,
    /// The answer is longer than its head says.
    LongerThanTold,
    /// An answer of this many bytes, with or without a length in its head.
    TooLarge {
        bytes: usize,
        told: bool,
    },
    Redirect(String),
    /// The right answer, but only after this many requests with the same fault wait.
    Together(usize),
    /// This instead of the answer.
    Instead(&'static str),
}

/// A request that the double received.
#[derive(Debug, Clone, PartialEq)]
pub struct OcmRequest {
    pub method: String,
    /// Path and query, as sent.
    pub target: String,
    pub path: String,
    pub query: BTreeMap<String, String>,
    pub token: Option<String>,
    pub body: Option<Value>,
}

/// The running double. It stops when it is dropped.
#[derive(Debug)]
pub struct OcmDouble {
    address: SocketAddr,
    shared: Arc<SharedState>,
    door: Option<JoinHandle<()>>,
}

impl OcmDouble {
    /// Starts it on a free port, with its clock at that time.
    pub fn start(now: Timestamp) -> Self {
        Self::start_with(now, |socket| Ok(Box::new(socket)))
    }

    /// Starts it with something between it and the socket: TLS.
    pub fn start_with(
        now: Timestamp,
        accept: impl Fn(TcpStream) -> io::Result<Box<dyn Io>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (shared, accept) = (SharedState::new(now), Arc::new(accept));
        let of_door = Arc::clone(&shared);
        let door = thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                if lock(&of_door.hall).closing {
                    return;
                }
                let (shared, accept) = (Arc::clone(&of_door), Arc::clone(&accept));
                // Whoever goes away in the middle is no concern of the double's.
                thread::spawn(move || accept(socket).and_then(|io| serve(&shared, io)));
            }
        });
        Self {
            address,
            shared,
            door: Some(door),
        }
    }

    /// Where it is: `127.0.0.1:…`.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it is, for those without TLS.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The most requests that ever waited for each other at once.
    pub fn most_at_once(&self) -> usize {
        lock(&self.shared.hall).most_inside
    }

    /// Makes this many requests fail: those with this method, and this text in their path or query as sent.
    pub fn fail(&self, method: &str, target_part: &str, times: usize, fault: Fault) {
        lock(&self.shared.faults).push((method.to_owned(), target_part.to_owned(), times, fault));
    }

    /// All requests so far, in order.
    pub fn asked(&self) -> Vec<OcmRequest> {
        lock(&self.shared.asked).clone()
    }

    /// The number of requests with this method and this end of the path.
    pub fn count(&self, method: &str, path_end: &str) -> usize {
        self.asked()
            .iter()
            .filter(|asked| asked.method == method && asked.path.ends_with(path_end))
            .count()
    }

    pub(super) fn api(&self) -> MutexGuard<'_, Api> {
        self.shared.api()
    }
}

impl Drop for OcmDouble {
    fn drop(&mut self) {
        lock(&self.shared.hall).closing = true;
        self.shared.changed.notify_all();
        // Wakes the door.
        drop(TcpStream::connect(self.address));
        if let Some(door) = self.door.take() {
            drop(door.join());
        }
    }
}

fn serve(shared: &SharedState, io: Box<dyn Io>) -> io::Result<()> {
    let mut io = BufReader::new(io);
    let Some(asked) = read(&mut io)? else {
        return Ok(());
    };
    let fault = shared.fault(&asked);
    lock(&shared.asked).push(asked.clone());
    let io = io.get_mut();
    match fault {
        None => write(io, &shared.answer(&asked)),
        Some(Fault::Busy(retry_after)) => {
            let header = retry_after.map(|value| format!("Retry-After: {value}\r\n")).unwrap_or_default();
            io.write_all(
                format!("HTTP/1.1 429 Busy\r\n{header}Content-Length: 0\r\nConnection: close\r\n\r\n").as_bytes(),
            )
        }
        Some(Fault::Status(status)) => write(io, &super::failure("CLUSTERS-MGMT", status, "a fault on demand")),
        Some(Fault::Stall { takes_effect }) => {
            if takes_effect {
                shared.answer(&asked);
            }
            shared.wait_for_the_end();
            Ok(())
        }
        Some(Fault::AnswerLost) => {
            shared.answer(&asked);
            Ok(())
        }
        Some(Fault::CutShort) => {
            let body = shared.answer(&asked).1.to_string();
            head(io, 200, Some(body.len()))?;
            io.write_all(&body.as_bytes()[..body.len() / 2])
        }
        Some(Fault::LongerThanTold) => {
            let body = shared.answer(&asked).1.to_string();
            head(io, 200, Some(body.len() / 2))?;
            io.write_all(body.as_bytes())
        }
        Some(Fault::TooLarge { bytes, told }) => {
            head(io, 200, told.then_some(bytes))?;
            io.write_all(&vec![b' '; bytes])
        }
        Some(Fault::Redirect(to)) => io.write_all(
            format!("HTTP/1.1 307 Elsewhere\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .as_bytes(),
        ),
        Some(Fault::Together(group)) => {
            shared.wait_for_others(group);
            write(io, &shared.answer(&asked))
        }
        Some(Fault::Instead(body)) => {
            head(io, 200, Some(body.len()))?;
            io.write_all(body.as_bytes())
        }
    }?;
    io.flush()
}

impl SharedState {
    fn fault(&self, asked: &OcmRequest) -> Option<Fault> {
        let mut faults = lock(&self.faults);
        let fits = |(method, part, times, _): &&mut (String, String, usize, Fault)| {
            *times > 0 && *method == asked.method && asked.target.contains(&**part)
        };
        let (_, _, times, fault) = faults.iter_mut().find(fits)?;
        *times -= 1;
        Some(fault.clone())
    }

    fn answer(&self, asked: &OcmRequest) -> OcmAnswer {
        let body = asked
            .body
            .as_ref()
            .map(Value::to_string)
            .unwrap_or_default();
        self.api().answer(&Request {
            method: &asked.method,
            path: &asked.path,
            query: asked.query.clone(),
            token: asked.token.as_deref(),
            body: body.as_bytes(),
        })
    }

    fn wait_for_the_end(&self) {
        let hall = lock(&self.hall);
        drop(self.changed.wait_while(hall, |hall| !hall.closing));
    }

    fn wait_for_others(&self, group: usize) {
        let mut hall = lock(&self.hall);
        hall.inside += 1;
        hall.most_inside = hall.most_inside.max(hall.inside);
        let complete = (hall.arrived / group + 1) * group;
        hall.arrived += 1;
        self.changed.notify_all();
        let waited = self
            .changed
            .wait_while(hall, |hall| hall.arrived < complete && !hall.closing);
        waited.unwrap_or_else(PoisonError::into_inner).inside -= 1;
    }
}

fn read(io: &mut BufReader<Box<dyn Io>>) -> io::Result<Option<OcmRequest>> {
    let mut line = String::new();
    io.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let (method, target) = (method.to_owned(), target.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (path, query) = (path.to_owned(), query.split('&').filter_map(pair).collect());
    let (mut token, mut length) = (None, 0);
    loop {
        let mut header = String::new();
        io.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            break;
        };
        match &*name.to_ascii_lowercase() {
            "authorization" => token = value.strip_prefix("Bearer ").map(str::to_owned),
            "content-length" => length = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    io.read_exact(&mut body)?;
    Ok(Some(OcmRequest {
        method,
        target,
        path,
        query,
        token,
        body: serde_json::from_slice(&body).ok().or_else(|| form(&body)),
    }))
}

/// The fields of a form.
fn form(body: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(body).ok()?;
    let fields = text.split('&').filter_map(pair);
    let fields: serde_json::Map<String, Value> =
        fields.map(|(name, value)| (name, value.into())).collect();
    (!fields.is_empty()).then(|| fields.into())
}

fn write(io: &mut dyn Io, (status, body): &OcmAnswer) -> io::Result<()> {
    let body = if *status == 204 {
        String::new()
    } else {
        body.to_string()
    };
    head(io, *status, Some(body.len()))?;
    io.write_all(body.as_bytes())
}

fn head(io: &mut dyn Io, status: u16, length: Option<usize>) -> io::Result<()> {
    let length = length
        .map(|bytes| format!("Content-Length: {bytes}\r\n"))
        .unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status} So\r\nContent-Type: application/json\r\n{length}Connection: close\r\n\r\n"
    );
    io.write_all(head.as_bytes())
}

fn pair(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    Some((decode(name), decode(value)))
}

fn decode(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits: String = rest.by_ref().take(2).map(char::from).collect();
                bytes.push(u8::from_str_radix(&digits, 16).unwrap_or(b'?'));
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn lock<T>(mutex: &std::sync::Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! An in-memory registry with faults on demand: it stalls, cuts answers short, sends wrong lengths, redirects.
//!
//! It writes HTTP by hand, one answer per connection, so that it can send any wrong byte.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;
use towpath_formats::sources::oci::{Digest, Repository};

use super::images::Image;

pub const REPOSITORY: &str = "a/b";

#[derive(Debug, Clone)]
pub struct RegistryRequest {
    pub method: String,
    pub target: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

#[derive(Debug, Clone)]
pub struct RegistryAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub manner: Manner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Well,
    /// Only this many bytes of the body, and then the end.
    CutAt(usize),
    /// Only this many bytes of the body, and then silence.
    StallAt(usize),
    /// With a length that is this much too large.
    Longer(usize),
    /// With a length that is this much too small.
    Shorter(usize),
    /// Without a length: the body ends with the connection.
    NoLength,
}

impl RegistryAnswer {
    pub fn new(status: u16) -> Self {
        Self {
            status,
            headers: vec![],
            body: vec![],
            manner: Manner::Well,
        }
    }

    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self {
            body: body.into(),
            ..Self::new(200)
        }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn manner(self, manner: Manner) -> Self {
        Self { manner, ..self }
    }
}

type Turn = dyn Fn(&RegistryRequest, usize) -> Option<RegistryAnswer> + Send + Sync;

pub struct RegistryDouble {
    pub host: String,
    inner: Arc<Inner>,
}

struct Inner {
    /// Called first, with the request and the number of equal earlier ones; none for the normal answer.
    turn: Box<Turn>,
    content: Mutex<Content>,
    asked: Mutex<Vec<RegistryRequest>>,
    bytes_sent: AtomicUsize,
}

#[derive(Default)]
struct Content {
    tags: BTreeMap<String, Digest>,
    manifests: BTreeMap<Digest, (String, Vec<u8>)>,
    blobs: BTreeMap<Digest, Vec<u8>>,
}

impl RegistryDouble {
    pub fn start() -> Self {
        Self::misbehaving(|_, _| None)
    }

    /// A registry that answers with this function, if it returns something.
    pub fn misbehaving(
        turn: impl Fn(&RegistryRequest, usize) -> Option<RegistryAnswer> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let inner = Arc::new(Inner {
            turn: Box::new(turn),
            content: Mutex::default(),
            asked: Mutex::default(),
            bytes_sent: AtomicUsize::new(0),
        });
        let shared = inner.clone();
        // It ends with the process; a connection that comes after the test finds nobody who cares.
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || shared.serve(connection));
            }
        });
        Self { host, inner }
    }

    pub fn repository(&self) -> Repository {
        Repository::parse(&format!("{}/{REPOSITORY}", self.host)).unwrap()
    }

    /// Adds an image, with a tag if one is given.
    pub fn put(&self, tag: Option<&str>, image: &Image) {
        let mut content = self.inner.content.lock().unwrap();
        for blob in &image.blobs {
            content.blobs.insert(Digest::of(blob), blob.clone());
        }
        content.manifests.insert(
            image.digest(),
            (image.media_type.to_owned(), image.manifest.clone()),
        );
        if let Some(tag) = tag {
            content.tags.insert(tag.to_owned(), image.digest());
        }
    }

    /// The requests so far whose target contains this text.
    pub fn asked(&self, part: &str) -> Vec<RegistryRequest> {
        self.inner
            .asked
            .lock()
            .unwrap()
            .iter()
            .filter(|asked| asked.target.contains(part))
            .cloned()
            .collect()
    }

    /// The bytes of bodies that were sent.
    pub fn bytes_sent(&self) -> usize {
        self.inner.bytes_sent.load(Ordering::Relaxed)
    }
}

impl Inner {
    fn serve(&self, connection: TcpStream) {
        let mut reader = BufReader::new(connection.try_clone().unwrap());
        let Some(asked) = read(&mut reader) else {
            return;
        };
        let before = {
            let mut all = self.asked.lock().unwrap();
            let same = |other: &&RegistryRequest| {
                (&other.method, &other.target) == (&asked.method, &asked.target)
            };
            let before = all.iter().filter(same).count();
            all.push(asked.clone());
            before
        };
        let answer = (self.turn)(&asked, before)
            .unwrap_or_else(|| self.content.lock().unwrap().answer(&asked));
        // A client that has seen enough hangs up.
        let _ = self.write(connection, &asked, &answer);
    }

    fn write(
        &self,
        mut connection: TcpStream,
        asked: &RegistryRequest,
        answer: &RegistryAnswer,
    ) -> std::io::Result<()> {
        let length = match answer.manner {
            Manner::Longer(by) => answer.body.len() + by,
            Manner::Shorter(by) => answer.body.len() - by,
            _ => answer.body.len(),
        };
        let mut head = format!("HTTP/1.1 {} x\r\nconnection: close\r\n", answer.status);
        if answer.manner != Manner::NoLength {
            head += &format!("content-length: {length}\r\n");
        }
        for (name, value) in &answer.headers {
            head += &format!("{name}: {value}\r\n");
        }
        connection.write_all(format!("{head}\r\n").as_bytes())?;
        if asked.method == "HEAD" {
            return Ok(());
        }
        let sent = match answer.manner {
            Manner::CutAt(at) | Manner::StallAt(at) => at.min(answer.body.len()),
            _ => answer.body.len(),
        };
        for chunk in answer.body[..sent].chunks(64 << 10) {
            connection.write_all(chunk)?;
            self.bytes_sent.fetch_add(chunk.len(), Ordering::Relaxed);
        }
        if matches!(answer.manner, Manner::StallAt(_)) {
            // Until the client hangs up.
            let _ = std::io::Read::read(&mut connection, &mut [0]);
        }
        Ok(())
    }
}

impl Content {
    fn answer(&self, asked: &RegistryRequest) -> RegistryAnswer {
        let path = asked.target.split('?').next().unwrap();
        let Some(rest) = path.strip_prefix(&format!("/v2/{REPOSITORY}/")) else {
            return RegistryAnswer::new(404);
        };
        if rest == "tags/list" {
            let tags: Vec<&String> = self.tags.keys().collect();
            return RegistryAnswer::ok(json!({"name": REPOSITORY, "tags": tags}).to_string());
        }
        if let Some(reference) = rest.strip_prefix("manifests/") {
            let digest = Digest::parse(reference).or_else(|| self.tags.get(reference).cloned());
            let found =
                digest.and_then(|digest| Some((digest.clone(), self.manifests.get(&digest)?)));
            return found.map_or(RegistryAnswer::new(404), |(digest, (media_type, bytes))| {
                RegistryAnswer::ok(bytes.clone())
                    .header("content-type", media_type)
                    .header("docker-content-digest", digest.as_str())
            });
        }
        let blob = rest
            .strip_prefix("blobs/")
            .and_then(Digest::parse)
            .and_then(|digest| self.blobs.get(&digest));
        blob.map_or(RegistryAnswer::new(404), |blob| {
            RegistryAnswer::ok(blob.clone())
        })
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<RegistryRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => _ = headers.insert(name.to_ascii_lowercase(), value.to_owned()),
            None => break,
        }
    }
    let length = headers
        .get("content-length")
        .and_then(|length| length.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    std::io::Read::read_exact(reader, &mut body).ok()?;
    Some(RegistryRequest {
        method,
        target,
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

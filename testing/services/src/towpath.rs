//! A running towpath, and a small HTTP client that hides nothing.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(180);

/// A towpath that serves, ended when dropped.
pub struct Towpath {
    pub child: Child,
    pub address: SocketAddr,
    logs: std::sync::mpsc::Receiver<String>,
}

/// What it answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Towpath {
    /// Starts `towpath serve` on a free port.
    pub fn serve(options: &[&str]) -> Self {
        Self::serve_at("127.0.0.1:0", options)
    }

    /// Starts `towpath serve` at that address.
    pub fn serve_at(address: &str, options: &[&str]) -> Self {
        Self::serve_by(Command::new(binary()), address, options)
    }

    /// Starts `serve` with a command that is towpath, or that executes it.
    pub fn serve_by(mut towpath: Command, address: &str, options: &[&str]) -> Self {
        towpath.args(["serve", "--listen", address]).args(options);
        Self::start(towpath)
    }

    /// Starts `towpath serve` with a limit on open files.
    pub fn serve_with_descriptors(limit: usize, options: &[&str]) -> Self {
        Self::start(with_descriptors(limit, options))
    }

    fn start(mut command: Command) -> Self {
        // Tests ask faster than any client; those of the limit set it themselves.
        let mut child = command
            .env("TOWPATH_REQUESTS_PER_MINUTE", "0")
            .args(["--log-format", "json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("towpath starts");
        let stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let (sender, logs) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            stderr
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let mut towpath = Self {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            logs,
        };
        let listening = towpath.log_line("listening");
        towpath.address = listening["address"]
            .as_str()
            .and_then(|a| a.parse().ok())
            .expect("the log says where");
        towpath
    }

    /// Serves graph data and releases from a folder, and waits until it is ready.
    pub fn serve_folder(folder: &Path, options: &[&str]) -> Self {
        let files = Self::files(folder);
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let towpath = Self::serve(&[&files, options].concat());
        towpath.until("it is ready", |t| t.get("/readyz").status == 200);
        towpath
    }

    /// The options that name the data in a folder.
    pub fn files(folder: &Path) -> [String; 4] {
        let path = |name| folder.join(name).to_str().expect("UTF-8").to_owned();
        let (data, releases) = (path("graph-data"), path("releases.json"));
        ["--graph-data".into(), data, "--releases".into(), releases]
    }

    /// A copy of the example's data in a folder.
    pub fn demo() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let done = Command::new(binary())
            .arg("example")
            .arg(folder.path())
            .output()
            .expect("it runs");
        assert!(done.status.success(), "{done:?}");
        folder
    }

    /// Waits for a log line with that message.
    pub fn log_line(&self, message: &str) -> serde_json::Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self
                .logs
                .recv_timeout(left)
                .unwrap_or_else(|e| panic!("no log line {message:?}: {e}"));
            let line: serde_json::Value =
                serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
            if line["message"]
                .as_str()
                .is_some_and(|m| m.contains(message))
            {
                return line;
            }
        }
    }

    /// The log lines that no test has read yet.
    pub fn logged(&self) -> String {
        self.logs.try_iter().collect::<Vec<_>>().join("\n")
    }

    /// Repeats a request until the condition holds.
    pub fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < deadline, "it never came about that {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn get(&self, target: &str) -> Response {
        self.get_with(target, &[])
    }

    pub fn get_with(&self, target: &str, headers: &[(&str, &str)]) -> Response {
        self.request("GET", target, headers)
    }

    pub fn request(&self, method: &str, target: &str, headers: &[(&str, &str)]) -> Response {
        let headers: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let request = format!(
            "{method} {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n"
        );
        Response::read(&mut self.send(request.as_bytes()), method == "HEAD")
    }

    /// Opens a connection and sends these bytes.
    pub fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.write_all(bytes).expect("it reads");
        stream
    }

    /// The graph for a query, as JSON.
    pub fn graph(&self, query: &str) -> serde_json::Value {
        let response = self.get(&format!("/api/upgrades_info/graph?{query}"));
        assert_eq!(response.status, 200, "{response:?}");
        response.json()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it runs");
    }
}

impl Drop for Towpath {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Response {
    pub fn read(stream: &mut TcpStream, without_body: bool) -> Self {
        Self::try_read(stream, without_body).unwrap_or_else(|error| panic!("no answer: {error}"))
    }

    /// The same from any stream, which may end early.
    pub fn try_read(stream: &mut impl Read, without_body: bool) -> io::Result<Self> {
        let mut line = read_line(stream)?;
        let status = line
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status in {line:?}")))?;
        let mut headers = BTreeMap::new();
        loop {
            line = read_line(stream)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.insert(name.to_owned(), value.to_owned());
        }
        let length = headers
            .get("content-length")
            .and_then(|l| l.parse().ok())
            .unwrap_or(0);
        let has_none = without_body || status == 304;
        let mut body = vec![0; if has_none { 0 } else { length }];
        stream.read_exact(&mut body)?;
        Ok(Self {
            status,
            headers,
            body,
        })
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        match self.header("content-encoding") {
            "gzip" => flate2::read::GzDecoder::new(self.body.as_slice())
                .read_to_string(&mut text)
                .expect("gzip"),
            _ => self
                .body
                .as_slice()
                .read_to_string(&mut text)
                .expect("text"),
        };
        text
    }

    pub fn json(&self) -> serde_json::Value {
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }

    pub fn kind(&self) -> String {
        self.json()["kind"].as_str().unwrap_or_default().to_owned()
    }
}

/// Reads a line and not a byte more: what follows may be the next answer.
fn read_line(stream: &mut impl Read) -> io::Result<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    String::from_utf8(line).map_err(io::Error::other)
}

/// The binary that cargo built for this test. It lies beside the folder of the tests.
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    let folder = test.parent().and_then(Path::parent);
    folder.expect("a test lies in target/").join("towpath")
}

/// `towpath serve` with a limit on open files.
pub fn with_descriptors(limit: usize, options: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit -n {limit} && exec \"$@\"");
    command.args(["-c", &script, "sh"]).arg(binary());
    command
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(options);
    command
}

/// The example's files with dates around that time.
pub fn example(folder: &Path) {
    let done = Command::new(binary())
        .arg("example")
        .arg(folder)
        .output()
        .expect("towpath runs");
    assert!(done.status.success(), "{done:?}");
}

/// The edges of a graph by name, unconditional ones.
pub fn edges(graph: &serde_json::Value) -> Vec<String> {
    let name = |index: &serde_json::Value| {
        graph["nodes"][index.as_u64().expect("an index") as usize]["version"]
            .as_str()
            .expect("a version")
            .to_owned()
    };
    graph["edges"]
        .as_array()
        .expect("edges")
        .iter()
        .map(|e| format!("{} -> {}", name(&e[0]), name(&e[1])))
        .collect()
}

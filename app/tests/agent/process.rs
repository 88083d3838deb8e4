//! The agent's process, and what it says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

/// An agent that runs, killed when dropped.
pub(crate) struct Agent {
    child: Child,
    address: String,
    said: Arc<Mutex<Vec<String>>>,
}

/// What an agent that looked once has said.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The program of this commit.
const TOWPATH: &str = env!("CARGO_BIN_EXE_towpath");

fn command(program: &Path, kubeconfig: &Path, options: &[String]) -> Command {
    let mut command = Command::new(program);
    command
        .arg("agent")
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(options);
    command
        .env_remove("KUBERNETES_SERVICE_HOST")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl Agent {
    /// Starts one, and waits until it listens.
    pub(crate) fn start(kubeconfig: &Path, options: &[String]) -> Self {
        Self::start_by(Path::new(TOWPATH), kubeconfig, options)
    }

    /// Starts one of another program.
    pub(crate) fn start_by(program: &Path, kubeconfig: &Path, options: &[String]) -> Self {
        let mut command = command(program, kubeconfig, options);
        let mut child = command.args(["--listen", "127.0.0.1:0"]).spawn().unwrap();
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let (lines, kept) = (
            BufReader::new(child.stderr.take().unwrap()).lines(),
            said.clone(),
        );
        std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .for_each(|line| kept.lock().unwrap().push(line))
        });
        let mut agent = Self {
            child,
            address: String::new(),
            said,
        };
        agent.hears("the agent is running");
        let first = agent
            .all()
            .into_iter()
            .find(|line| line.contains("address="))
            .unwrap();
        let address = first
            .split("address=")
            .nth(1)
            .and_then(|rest| rest.split(' ').next())
            .unwrap();
        agent.address = address.to_owned();
        agent
    }

    /// Looks once.
    pub(crate) fn once(kubeconfig: &Path, options: &[String]) -> Said {
        Self::once_by(Path::new(TOWPATH), kubeconfig, options)
    }

    /// Looks once with another program.
    pub(crate) fn once_by(program: &Path, kubeconfig: &Path, options: &[String]) -> Said {
        let done = command(program, kubeconfig, options)
            .arg("--once")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said {
            code: done.status.code().unwrap_or(-1),
            out: text(done.stdout),
            err: text(done.stderr),
        }
    }

    /// All lines so far.
    pub(crate) fn all(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }

    /// Waits until it has said this.
    pub(crate) fn hears(&mut self, words: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.all().iter().any(|line| line.contains(words)) {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!(
                    "it ended ({status}) before it said {words:?}:\n{}",
                    self.all().join("\n")
                );
            }
            assert!(
                Instant::now() < end,
                "it never said {words:?}:\n{}",
                self.all().join("\n")
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What it answers at its door.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// A measurement.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let answer = self.get("/metrics");
        let line = answer.lines().find(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(' '))
        })?;
        line.rsplit(' ').next()?.parse().ok()
    }

    /// Ends it without a word.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to stop, and waits.
    pub(crate) fn stop(mut self) -> ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap()
    }

    /// Whether it still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

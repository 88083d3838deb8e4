//! A shell that runs what a page tells a reader to type, command by command, in one session.
//!
//! The session has towpath in its PATH, and a port of its own in the place of 8080, so that pages can be run side by side.
//! What a page starts in the background ends with it.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::binary;

/// How long one command may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(120);
/// Comes after the output of each command, with its exit code.
const MARK: &str = "\u{1}done ";

/// A session.
pub struct Shell {
    child: Child,
    printed: Receiver<Vec<u8>>,
    /// What commands print on stderr, a file for each.
    errors: tempfile::TempDir,
    commands: usize,
    port: u16,
}

impl Shell {
    /// Begins a session in a folder. Towpath logs errors only.
    pub fn at(folder: &Path) -> Self {
        let towpath = binary();
        let beside = towpath.parent().expect("the binary lies in a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let port = free_port();
        let mut child = Command::new("bash")
            .args(["--noprofile", "--norc"])
            .current_dir(folder)
            .env("PATH", format!("{}:{path}", beside.display()))
            .env("TOWPATH_LOG", "error")
            .env("TOWPATH_LISTEN", format!("127.0.0.1:{port}"))
            .env("LC_ALL", "C.UTF-8")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "ann")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "ann@example.com")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("bash is there");
        let mut output = child.stdout.take().expect("it is piped");
        let (sender, printed) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            printed,
            errors: tempfile::tempdir().expect("a folder"),
            commands: 0,
            port,
        }
    }

    /// What a command prints, on stdout and then on stderr, and `[exit N]` if it does not end well.
    pub fn run(&mut self, command: &str) -> String {
        let command = command.replace(":8080", &format!(":{}", self.port));
        self.commands += 1;
        let errors = self.errors.path().join(self.commands.to_string());
        // The group keeps `cd`, `export` and variables; what reads must not read the next command.
        let script = format!(
            "{{ {command}\n}} < /dev/null 2> {}\nprintf '\\1done %d\\n' \"$?\"\n",
            errors.display()
        );
        let input = self.child.stdin.as_mut().expect("it is piped");
        input
            .write_all(script.as_bytes())
            .and_then(|()| input.flush())
            .expect("the shell reads");
        let (mut text, code) = self.until_done(&command);
        text += &std::fs::read_to_string(&errors).unwrap_or_default();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if code != "0" {
            writeln!(text, "[exit {code}]").expect("fits");
        }
        text.replace(&format!(":{}", self.port), ":8080")
    }

    fn until_done(&self, command: &str) -> (String, String) {
        let (mut all, deadline) = (Vec::new(), Instant::now() + PATIENCE);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(more) = self.printed.recv_timeout(left) else {
                panic!("{command} does not end: {}", String::from_utf8_lossy(&all));
            };
            all.extend(more);
            let text = String::from_utf8_lossy(&all);
            if let Some((text, rest)) = text.split_once(MARK)
                && let Some((code, _)) = rest.split_once('\n')
            {
                return (text.to_owned(), code.to_owned());
            }
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // With all that it has started: they are in its group.
        let group = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    listener.local_addr().expect("it has an address").port()
}

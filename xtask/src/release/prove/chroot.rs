//! Runs programs with another root folder, as another user, and hears what a service tells systemd.

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::bench::http::{self, Encoding};

/// How long a service may take to say something.
const PATIENCE: Duration = Duration::from_secs(60);
const SOCKET: &str = "tmp/notify";

/// A folder that programs take for the root, and who they run as.
pub(super) struct Chroot {
    pub(super) folder: PathBuf,
    /// `user:group`
    pub(super) user: String,
}

/// A service that runs there.
pub(super) struct Running {
    child: Child,
    notified: UnixDatagram,
    port: u16,
}

impl Chroot {
    /// A command of which only the search path is in the environment.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("chroot");
        command
            .arg(format!("--userspec={}", self.user))
            .arg(&self.folder);
        command.args(words).env_clear();
        command.env(
            "PATH",
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        );
        command
    }

    pub(super) fn output(&self, words: &[&str]) -> anyhow::Result<Output> {
        self.command(words)
            .output()
            .context("chroot cannot be run; it needs root")
    }

    /// Starts a service on a free port, and waits until it says that it is ready.
    pub(super) fn start(&self, words: &[&str]) -> anyhow::Result<Running> {
        let notified = self.socket()?;
        let port = http::free_port()?;
        let mut command = self.command(words);
        command.env("TOWPATH_LISTEN", format!("127.0.0.1:{port}"));
        command.env("NOTIFY_SOCKET", format!("/{SOCKET}"));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command
            .spawn()
            .context("chroot cannot be run; it needs root")?;
        let running = Running {
            child,
            notified,
            port,
        };
        running
            .hears("READY=1")
            .context("the service did not become ready")?;
        Ok(running)
    }

    fn socket(&self) -> anyhow::Result<UnixDatagram> {
        use std::os::unix::fs::PermissionsExt;
        let path = self.folder.join(SOCKET);
        // A service before this one had it.
        let _ = std::fs::remove_file(&path);
        let socket = UnixDatagram::bind(&path)
            .with_context(|| format!("{} cannot be bound", path.display()))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(socket)
    }
}

impl Running {
    fn hears(&self, word: &str) -> anyhow::Result<()> {
        let mut told = [0; 4096];
        loop {
            let length = self
                .notified
                .recv(&mut told)
                .with_context(|| format!("nobody said {word}"))?;
            if String::from_utf8_lossy(&told[..length])
                .lines()
                .any(|line| line == word)
            {
                return Ok(());
            }
        }
    }

    /// The graph of a channel has releases.
    pub(super) fn serves(&self, channel: &str) -> anyhow::Result<()> {
        let target = format!("/api/upgrades_info/graph?channel={channel}");
        let answer = http::get(self.port, &target, Encoding::Identity)?;
        let text = String::from_utf8_lossy(&answer.body);
        ensure!(
            answer.status == 200 && text.contains("\"version\":\"4."),
            "{target}: {} {text}",
            answer.status
        );
        Ok(())
    }

    /// Ends it as systemd would.
    pub(super) fn stop(mut self) -> anyhow::Result<()> {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status()?;
        self.hears("STOPPING=1")?;
        let status = self.child.wait()?;
        ensure!(status.success(), "the service ended with {status}");
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It is over already, unless something went wrong before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The user that runs a program with this id, from the outside.
pub(super) fn user_of(folder: &Path, name: &str) -> anyhow::Result<String> {
    let users = super::super::read(&folder.join("etc/passwd"))?;
    let users = String::from_utf8_lossy(&users).into_owned();
    let line = users
        .lines()
        .find(|line| line.split(':').next() == Some(name));
    let fields: Vec<&str> = line
        .with_context(|| format!("there is no user {name}"))?
        .split(':')
        .collect();
    match fields.as_slice() {
        [_, _, user, group, ..] => Ok(format!("{user}:{group}")),
        _ => anyhow::bail!("/etc/passwd cannot be read"),
    }
}

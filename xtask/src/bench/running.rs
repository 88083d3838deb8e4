//! A process that runs beside the bench, and ends with it.

use std::cell::RefCell;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// How long a process may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(3);
/// How much of a log is shown when its process fails.
const SHOWN_LINES: usize = 20;

/// The process. It is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct BackgroundProcess {
    child: RefCell<Child>,
    name: &'static str,
    log: PathBuf,
}

impl BackgroundProcess {
    /// Starts a process that writes what it has to say into a file.
    pub(crate) fn start(
        name: &'static str,
        mut command: Command,
        log: &Path,
    ) -> anyhow::Result<Self> {
        let file =
            File::create(log).with_context(|| format!("{}: cannot be created", log.display()))?;
        Self::writing(name, &mut command, file, log)
    }

    /// The same, after what the log has already.
    pub(crate) fn start_again(
        name: &'static str,
        command: &mut Command,
        log: &Path,
    ) -> anyhow::Result<Self> {
        let file = File::options().append(true).create(true).open(log);
        let file = file.with_context(|| format!("{}: cannot be written", log.display()))?;
        Self::writing(name, command, file, log)
    }

    fn writing(
        name: &'static str,
        command: &mut Command,
        file: File,
        log: &Path,
    ) -> anyhow::Result<Self> {
        let output = file.try_clone().context("a log cannot be shared")?;
        let child = command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(file)
            .spawn();
        let child = child.with_context(|| format!("{name} cannot be started"))?;
        Ok(Self {
            child: RefCell::new(child),
            name,
            log: log.to_owned(),
        })
    }

    /// The process's id.
    pub(crate) fn id(&self) -> u32 {
        self.child.borrow().id()
    }

    /// An error if the process has ended, with the last lines of its log.
    pub(crate) fn ensure_alive(&self) -> anyhow::Result<()> {
        let ended = self.child.borrow_mut().try_wait()?;
        match ended {
            None => Ok(()),
            Some(status) => bail!(
                "{} ended ({status}); its last words:\n{}",
                self.name,
                self.last_words()
            ),
        }
    }

    /// The last lines of its log.
    pub(crate) fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
    }

    /// Sends a signal, by its name without `SIG`.
    pub(crate) fn signal(&self, signal: &str) -> anyhow::Result<()> {
        let status = Command::new("kill")
            .args(["-s", signal, &self.id().to_string()])
            .status();
        let sent = status
            .context("`kill` cannot be run; install procps or util-linux")?
            .success();
        if sent {
            Ok(())
        } else {
            bail!("{} does not take SIG{signal}", self.name)
        }
    }

    fn ends_by_itself(&self) -> bool {
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE {
            if self.has_ended() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    fn has_ended(&self) -> bool {
        matches!(self.child.borrow_mut().try_wait(), Ok(Some(_)))
    }
}

impl Drop for BackgroundProcess {
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        // Asked first: nginx has workers of its own to end.
        if self.signal("TERM").is_err() || !self.ends_by_itself() {
            let mut child = self.child.borrow_mut();
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

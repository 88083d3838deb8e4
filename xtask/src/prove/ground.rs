//! What the proofs stand on: a towpath, a folder, keys, and tokens that the program itself makes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::bench::http::{self, Answer, Encoding};
use crate::bench::running::BackgroundProcess;
use crate::bench::tools;
use crate::scratch::Scratch;

/// How long a service may take to be ready.
const PATIENCE: Duration = Duration::from_secs(180);
/// Of no other use than this.
pub(super) const CLUSTER_KEY: &str = "the-key-of-clusters-in-a-proof-of-some-minutes";
const KEYS: [(&str, &str); 2] = [
    ("keys", CLUSTER_KEY),
    (
        "people-keys",
        "the-key-of-people-in-a-proof-of-some-minutes",
    ),
];

/// A folder with keys, and the program.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) binary: PathBuf,
    pub(super) scratch: Scratch,
}

/// A service that was started, and its port. It is ended when this is dropped.
#[derive(Debug)]
pub(super) struct Replica {
    pub(super) running: BackgroundProcess,
    pub(super) port: u16,
}

impl Ground {
    /// Takes this program, or builds one as tests do.
    pub(super) fn new(name: &str, binary: Option<&Path>) -> anyhow::Result<Self> {
        let binary = match binary {
            Some(binary) => binary
                .canonicalize()
                .with_context(|| format!("{}: there is no program", binary.display()))?,
            None => tools::build_towpath("dev")?,
        };
        let scratch = Scratch::new(name)?;
        for (file, key) in KEYS {
            scratch.write_private(file, &format!("{key}\n"))?;
        }
        Ok(Self { binary, scratch })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.scratch.folder().join(name)
    }

    /// The token of a cluster.
    pub(super) fn cluster_token(
        &self,
        id: &str,
        organisation: &str,
        name: &str,
    ) -> anyhow::Result<String> {
        let mut command = self.towpath(&["fleet", "token"]);
        command.arg("--keys").arg(self.path("keys"));
        command.args(["--cluster", id, "--org", organisation, "--name", name]);
        printed(&mut command)
    }

    /// The token of a person with these roles.
    pub(super) fn person_token(&self, name: &str, roles: &[&str]) -> anyhow::Result<String> {
        let mut command = self.towpath(&["fleet", "token", "--name", name]);
        command.arg("--people-keys").arg(self.path("people-keys"));
        for role in roles {
            command.args(["--role", role]);
        }
        printed(&mut command)
    }

    /// A command of towpath, without what the user has set for a service of their own.
    pub(super) fn towpath(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        let settings = std::env::vars_os().map(|(name, _)| name);
        for name in settings.filter(|name| name.to_string_lossy().starts_with("TOWPATH_")) {
            command.env_remove(name);
        }
        command.args(arguments).current_dir(self.scratch.folder());
        command
    }

    /// Starts a service with both keys. It need not be ready yet.
    pub(super) fn serve(
        &self,
        name: &'static str,
        port: u16,
        more: &[OsString],
    ) -> anyhow::Result<Replica> {
        let mut command = self.towpath(&["serve", "--listen", &format!("127.0.0.1:{port}")]);
        for (flag, file) in [("--token-keys", "keys"), ("--people-keys", "people-keys")] {
            command.arg(flag).arg(self.path(file));
        }
        let log = self.path(&format!("{name}.log"));
        let running = BackgroundProcess::start_again(name, command.args(more), &log)?;
        Ok(Replica { running, port })
    }
}

impl Replica {
    pub(super) fn await_ready(&self) -> anyhow::Result<()> {
        self.until(|answer| answer.status == 200)
    }

    /// Waits until it has read the fleet: until then it cannot answer questions about it.
    pub(super) fn await_fleet(&self) -> anyhow::Result<()> {
        self.until(|answer| {
            let ready: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            answer.status == 200 && ready["fleet"]["lastPass"].is_string()
        })
    }

    fn until(&self, is_so: impl Fn(&Answer) -> bool) -> anyhow::Result<()> {
        let began = Instant::now();
        while !http::get(self.port, "/readyz", Encoding::Identity)
            .is_ok_and(|answer| is_so(&answer))
        {
            self.running.ensure_alive()?;
            if began.elapsed() > PATIENCE {
                bail!(
                    "a service is not ready after {PATIENCE:?}; its last words:\n{}",
                    self.running.last_words()
                );
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

/// What a program prints that must succeed.
pub(super) fn printed(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().display().to_string();
    let output = command
        .output()
        .with_context(|| format!("{name} cannot be run"))?;
    ensure!(
        output.status.success(),
        "{name} failed: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The commit that is proved, for the docs.
pub(super) fn commit() -> String {
    let mut git = Command::new("git");
    git.args([
        "describe",
        "--always",
        "--dirty",
        "--abbrev=10",
        "--exclude=*",
    ]);
    git.current_dir(crate::workspace::root());
    printed(&mut git).unwrap_or_else(|_| "an unknown commit".to_owned())
}

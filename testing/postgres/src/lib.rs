//! A private PostgreSQL for tests, with its own directory, and a socket instead of a port.
//!
//! It ends with the test's process: a shell reads from a pipe whose other end is ours. When we end, it stops the server and
//! removes the directory.
//!
//! It is a crate because the store's tests and xtask's benches need it. It uses only the standard library, so that
//! `cargo xtask` builds quickly.

// Nothing of this ships: what goes wrong here is a test that fails, with the reason.
#![allow(clippy::missing_panics_doc)]

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The user `nobody` runs the server if we are root and there is no user `postgres`.
const NOBODY: (u32, u32) = (65534, 65534);

static COUNT: AtomicU32 = AtomicU32::new(0);

/// Whether commits survive a crash of the machine. Tests cannot see that, and it is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    On,
    Off,
}

#[derive(Debug)]
pub struct Postgres {
    binaries: PathBuf,
    directory: PathBuf,
    user: Option<(u32, u32)>,
    /// Stops the server and removes the directory when its standard input closes.
    guard: Child,
}

impl Postgres {
    /// The server of this process, started at its first use.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(|| Self::boot(Sync::Off))
    }

    /// A separate server, which a test can stop without disturbing others.
    pub fn boot(sync: Sync) -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        // Short: the path of a socket has at most 107 bytes.
        let directory = PathBuf::from(format!("/tmp/towpath-pg-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).expect("a directory under /tmp can be made");
        let user = user_for_server();
        if let Some((uid, gid)) = user {
            chown(&directory, Some(uid), Some(gid)).expect("root can give a directory away");
        }
        let binaries = binaries();
        let guard = guard(&binaries, &directory, user);
        let server = Self {
            binaries,
            directory,
            user,
            guard,
        };
        server.run(
            "initdb",
            &[
                "-D",
                "data",
                "-U",
                "postgres",
                "-A",
                "trust",
                "--no-locale",
                "-E",
                "UTF8",
                "--no-sync",
            ],
        );
        let more = match sync {
            Sync::On => "",
            Sync::Off => "fsync = off\nfull_page_writes = off\n",
        };
        let socket = server.directory.display();
        let settings = format!(
            "{more}listen_addresses = ''\nunix_socket_directories = '{socket}'\nmax_connections = 200\n\
             shared_buffers = 256MB\nmax_wal_size = 2GB\nlog_min_messages = fatal\n"
        );
        let file = server.directory.join("data/postgresql.auto.conf");
        fs::write(&file, settings).expect("the server's settings can be written");
        server.start();
        server
    }

    /// Starts it, and waits until it answers.
    pub fn start(&self) {
        self.run(
            "pg_ctl",
            &["-D", "data", "-w", "-t", "60", "-l", "log", "start"],
        );
    }

    /// Stops it like a crash: connections break, without cleanup.
    pub fn stop_at_once(&self) {
        self.run("pg_ctl", &["-D", "data", "-w", "-m", "immediate", "stop"]);
    }

    /// The URL of a new, empty database.
    pub fn database(&self) -> String {
        let name = format!("t{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// The URL of a database.
    pub fn url(&self, database: &str) -> String {
        format!(
            "postgres:///{database}?host={}&user=postgres",
            self.directory.display()
        )
    }

    /// Runs SQL directly in a database, given by URL or name. Returns one line per row.
    pub fn sql(&self, database: &str, text: &str) -> String {
        let name = database
            .strip_prefix("postgres:///")
            .and_then(|rest| rest.split('?').next())
            .unwrap_or(database);
        let socket = self.directory.display().to_string();
        self.run(
            "psql",
            &[
                "-h",
                &socket,
                "-U",
                "postgres",
                "-d",
                name,
                "-AtqX",
                "-v",
                "ON_ERROR_STOP=1",
                "-c",
                text,
            ],
        )
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = command(&self.binaries.join(program), &self.directory, self.user);
        command.args(arguments).stdin(Stdio::null());
        if program == "pg_ctl" {
            // The server would keep a pipe open for as long as it runs.
            let status = command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .expect("pg_ctl can be run");
            let log = || fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            assert!(
                status.success(),
                "pg_ctl {arguments:?}: {status}\n{}",
                log()
            );
            return String::new();
        }
        let output = command
            .output()
            .unwrap_or_else(|error| panic!("{program} cannot be run: {error}"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{program} {arguments:?}: {}\n{errors}",
            output.status
        );
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

fn guard(binaries: &Path, directory: &Path, user: Option<(u32, u32)>) -> Child {
    let script = r#"cat > /dev/null; "$1/pg_ctl" -D data -m immediate stop > /dev/null 2>&1; cd /; rm -rf "$2""#;
    let mut command = command(Path::new("/bin/sh"), directory, user);
    command
        .args(["-c", script, "guard"])
        .arg(binaries)
        .arg(directory);
    // In a group of its own, so that an interrupt from the keyboard does not end it before its time.
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    command.spawn().expect("a shell can be started")
}

fn command(program: &Path, directory: &Path, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).env("LC_ALL", "C");
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
    command
}

/// PostgreSQL refuses to run as root: then the user `postgres`, or nobody, runs it.
pub fn user_for_server() -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    let we_are_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    we_are_root.then(|| {
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let line = users.lines().find(|line| line.starts_with("postgres:"));
        let number =
            |line: &str, at: usize| line.split(':').nth(at).and_then(|field| field.parse().ok());
        line.and_then(|line| Some((number(line, 2)?, number(line, 3)?)))
            .unwrap_or(NOBODY)
    })
}

/// The folder of the server's programs. Installs them if needed.
pub fn binaries() -> PathBuf {
    if let Some(found) = find_binaries() {
        return found;
    }
    let mut install = Command::new("apt-get");
    // Whether it worked is seen by what is there afterwards.
    let _ = install
        .args(["install", "-y", "postgresql"])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .output();
    find_binaries().expect(
        "PostgreSQL is needed: install Debian's `postgresql`, or put `initdb` into the PATH",
    )
}

fn find_binaries() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut installed: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    installed.sort();
    let has_all = |directory: &PathBuf| {
        ["initdb", "pg_ctl", "psql"]
            .iter()
            .all(|name| directory.join(name).exists())
    };
    std::env::split_paths(&path)
        .chain(installed.into_iter().rev())
        .find(has_all)
}

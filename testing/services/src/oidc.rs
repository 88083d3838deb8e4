//! npm's `oidc-provider`, a certified OpenID Connect provider, from `testing/oidc`. `cargo xtask page` installs its packages.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use serde_json::Value;

/// A provider that anybody can log in to with any password. It ends when it is dropped.
pub struct OidcProvider {
    child: Child,
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    issuer: String,
}

impl OidcProvider {
    /// On a free port.
    pub fn start() -> Self {
        Self::start_at(0)
    }

    /// On this port, as one that was away would come back.
    pub fn start_at(port: u16) -> Self {
        let folder = folder();
        assert!(
            folder.join("node_modules/oidc-provider").is_dir(),
            "testing/oidc/node_modules is not there; run `cargo xtask page`"
        );
        let mut child = Command::new("node")
            .arg(folder.join("provider.mjs"))
            .env("TOWPATH_OIDC_PORT", port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("node cannot be run: {error}; install Debian's nodejs"));
        let stdin = child.stdin.take().expect("stdin is piped");
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let told = line(&mut stdout);
        let issuer = told["issuer"].as_str().expect("its address").to_owned();
        Self {
            child,
            pipes: Mutex::new((stdin, stdout)),
            issuer,
        }
    }

    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    pub fn port(&self) -> u16 {
        let port = self
            .issuer
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok());
        port.expect("its address has a port")
    }

    /// Signs with another key from now on. The old one is gone.
    pub fn rotate(&self) {
        self.tell("rotate");
    }

    /// A token with these claims, by the provider's own key.
    pub fn sign(&self, claims: &Value) -> String {
        let told = self.tell(&format!("sign {claims}"));
        told["token"].as_str().expect("a token").to_owned()
    }

    /// The command that logs in without a browser, and prints the ID token.
    pub fn login_command(&self, account: &str, client: &str) -> String {
        let script = folder().join("token.mjs");
        format!(
            "node {} {} {account} {client}",
            script.display(),
            self.issuer
        )
    }

    /// The ID token of a login.
    pub fn token(&self, account: &str) -> String {
        let command = self.login_command(account, "towpath");
        let done = Command::new("sh").args(["-c", &command]).output();
        let done = done.expect("sh runs");
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8(done.stdout)
            .expect("text")
            .trim()
            .to_owned()
    }

    fn tell(&self, command: &str) -> Value {
        let mut pipes = self.pipes.lock().expect("no test panics in here");
        writeln!(pipes.0, "{command}").expect("it reads");
        line(&mut pipes.1)
    }
}

impl Drop for OidcProvider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line(from: &mut impl BufRead) -> Value {
    let mut line = String::new();
    from.read_line(&mut line).expect("it prints text");
    serde_json::from_str(&line)
        .unwrap_or_else(|error| panic!("the provider printed {line:?}: {error}"))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../oidc")
}

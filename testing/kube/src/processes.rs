//! Server processes that end with the test binary, even if it is killed.
//!
//! Each runs below a shell that waits for the end of its input. The system closes our end of that pipe when the test binary
//! ends. Then the shell kills the server and removes its folder.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// `$1`: a folder to remove at the end, or nothing. The rest: the server.
const SHELL: &str = r#"
folder=$1; shift
"$@" </dev/null & server=$!
read -r _
kill -KILL $server; wait $server
[ -z "$folder" ] || rm -rf "$folder"
"#;

#[derive(Debug)]
pub(crate) struct Server(Child);

impl Server {
    /// Starts the server. Its output goes to the log. At its end, the folder is removed, if one is given.
    pub(crate) fn start(command: &[String], log: &Path, removed_at_end: Option<&Path>) -> Self {
        let log = File::options().create(true).append(true).open(log).unwrap();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", SHELL, "sh"])
            .arg(removed_at_end.unwrap_or(Path::new("")))
            .args(command);
        shell
            .stdin(Stdio::piped())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        Self(shell.spawn().expect("sh can be run"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

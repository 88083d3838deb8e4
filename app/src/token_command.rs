//! Runs a command that prints a token: a login of the person who sits here, or a helper of theirs.
//!
//! It may ask them on the terminal, or open a browser. What it prints is not shown.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context, bail};
use towpath_formats::oidc;
use towpath_http::BearerToken;

/// How long a person may take to log in.
const PATIENCE: Duration = Duration::from_secs(5 * 60);
/// With room for the space around it.
const MAX_BYTES: u64 = 2 * oidc::MAX_CHARACTERS as u64;

pub(crate) fn run(command: &str) -> anyhow::Result<BearerToken> {
    run_within(command, PATIENCE)
}

fn run_within(command: &str, patience: Duration) -> anyhow::Result<BearerToken> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdout(Stdio::piped())
        .spawn()
        .context("--token-command: sh cannot be run")?;
    let output = child.stdout.take().context("its output is piped")?;
    let (printed, has_printed) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let read = output.take(MAX_BYTES + 1).read_to_end(&mut text);
        // Nobody waits any more for one that took too long.
        let _ = printed.send(read.map(|_| text));
    });
    let Ok(text) = has_printed.recv_timeout(patience) else {
        let _ = child.kill();
        let _ = child.wait();
        bail!(
            "--token-command {command:?} printed no token within {} s; run it by itself to see what it waits for",
            patience.as_secs()
        );
    };
    let text = text.context("--token-command: what it prints cannot be read")?;
    if text.len() as u64 > MAX_BYTES {
        let _ = child.kill();
        let _ = child.wait();
        bail!(
            "--token-command {command:?} printed more than {MAX_BYTES} bytes; have it print the token alone"
        );
    }
    let status = child
        .wait()
        .context("--token-command cannot be waited for")?;
    if !status.success() {
        bail!("--token-command {command:?} failed ({status}); run it by itself to see why");
    }
    let text = String::from_utf8_lossy(&text);
    BearerToken::parse(&text).map_err(|problem| {
        anyhow::anyhow!("--token-command {command:?} printed something that {problem}; have it print the token alone")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(command: &str, patience: Duration) -> String {
        run_within(command, patience)
            .map_or_else(|error| error.to_string(), |token| token.as_str().to_owned())
    }

    #[test]
    fn a_command_prints_a_token_and_nothing_else() {
        for (command, expected) in [
            ("echo abc.def", "abc.def"),
            ("printf ' abc \n\n'", "abc"),
            ("exit 3", "failed (exit status: 3)"),
            ("echo abc; false", "failed (exit status: 1)"),
            ("true", "printed something that is empty"),
            ("echo two words", "printed something that has characters"),
            ("yes", "printed more than"),
            (
                "no-such-command-at-all 2>/dev/null",
                "failed (exit status: 127)",
            ),
        ] {
            let told = told(command, PATIENCE);
            assert!(told.contains(expected), "{command}: {told}");
            assert!(expected == told || !told.contains("abc.def"), "{told}");
        }
    }

    #[test]
    fn a_command_that_waits_for_ever_is_ended() {
        let told = told("exec sleep 1000", Duration::from_millis(50));
        assert!(told.contains("printed no token within"), "{told}");
    }
}

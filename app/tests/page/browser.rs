//! Debian's Chromium, without a window, with an empty profile in a temporary folder. Scripts connect to it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Names another Chromium.
const VARIABLE: &str = "TOWPATH_CHROMIUM";
/// It asks nobody for anything, and shows pages of this test alone. It holds no page back: not one that it takes for hidden, nor one
/// that changes its address 200 times within ten seconds, as `explained` may on a quick machine.
const FLAGS: [&str; 18] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-ipc-flooding-protection",
    "--disable-hang-monitor",
    "--disable-back-forward-cache",
    "--remote-debugging-port=0",
];

pub(crate) struct Browser {
    child: Child,
    pub(crate) endpoint: String,
    /// Removed when the browser has ended.
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn start() -> Result<Self, String> {
        let program = program()?;
        let profile = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
        let mut folder = std::ffi::OsString::from("--user-data-dir=");
        folder.push(profile.path());
        let mut child = Command::new(&program)
            .args(FLAGS)
            .arg(folder)
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{} cannot be run: {e}", program.display()))?;
        let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
        let said: &mut Vec<String> = &mut Vec::new();
        let endpoint = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let endpoint = line
                .strip_prefix("DevTools listening on ")
                .map(str::to_owned);
            said.push(line);
            endpoint
        });
        let Some(endpoint) = endpoint else {
            let _ = child.wait();
            return Err(format!(
                "{} ended at once: {}",
                program.display(),
                said.join("\n")
            ));
        };
        // Otherwise it would stop once the pipe is full.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Ok(Self {
            child,
            endpoint,
            _profile: profile,
        })
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return Ok(named.into());
    }
    let usual = Path::new("/usr/bin/chromium");
    match usual.is_file() {
        true => Ok(usual.to_owned()),
        false => Err(format!(
            "{} is not there; `cargo xtask page screenshots` and `cargo xtask test` install Debian's chromium, or name another in {VARIABLE}",
            usual.display()
        )),
    }
}

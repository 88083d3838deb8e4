//! The services that the page is tested on, and the browser.
//!
//! | service | |
//! |---|---|
//! | `example` | the built-in example, without a fleet |
//! | `fleet` | the example's fleet with a store; everybody may look, an administrator may act |
//! | `closed` | the same, and only who has a token may look |
//! | `hostile` | a fleet whose names are markup and script |

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use towpath_testing_services::{Towpath, binary};

use crate::browser::Browser;
use crate::{folder, hostile};

const KEYS: &str = "0123456789abcdef0123456789abcdef0123456789abcdef\n";

pub(crate) struct Site {
    browser: Browser,
    example: Towpath,
    fleet: Towpath,
    closed: Towpath,
    hostile: Towpath,
    administrator: String,
    reader: String,
    /// What the services read and write; removed after they have ended.
    _data: [tempfile::TempDir; 2],
}

impl Site {
    pub(crate) fn start() -> Result<Self, String> {
        if !folder().join("node_modules/playwright-core").is_dir() {
            return Err("ui/node_modules is not there; run `cargo xtask page`".to_owned());
        }
        let browser = Browser::start()?;
        let demo = Towpath::demo();
        let keys = demo.path().join("keys");
        write(&keys, KEYS);
        let evil = Towpath::demo();
        write(&evil.path().join("keys"), KEYS);
        hostile::write_fleet(evil.path());
        Ok(Self {
            browser,
            example: Towpath::serve(&[]),
            fleet: serve(demo.path(), "fleet.db", &["--open-reads"]),
            closed: serve(demo.path(), "closed.db", &[]),
            hostile: serve(evil.path(), "fleet.db", &["--open-reads"]),
            administrator: token(&keys, &["--admin"]),
            reader: token(&keys, &["--read"]),
            _data: [demo, evil],
        })
    }

    /// What scripts are told.
    pub(crate) fn told(&self) -> Value {
        let url = |towpath: &Towpath| format!("http://{}", towpath.address);
        json!({
            "browser": self.browser.endpoint,
            "example": url(&self.example),
            "fleet": url(&self.fleet),
            "closed": url(&self.closed),
            "hostile": url(&self.hostile),
            "administrator": self.administrator,
            "reader": self.reader,
        })
    }
}

/// Serves a folder of `towpath example` with its fleet, and waits for the first pass.
fn serve(folder: &Path, store: &str, more: &[&str]) -> Towpath {
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let (fleet, clusters, keys) = (path("fleet"), path("clusters.json"), path("keys"));
    let store = format!("sqlite:{}", path(store));
    let options = [
        "--fleet",
        &fleet,
        "--clusters",
        &clusters,
        "--store",
        &store,
        "--token-keys",
        &keys,
        "--pass-every",
        "1s",
    ];
    let towpath = Towpath::serve_folder(folder, &[&options, more].concat());
    towpath.until("a pass was made", |t| {
        !t.get("/readyz").json()["fleet"]["lastPass"].is_null()
    });
    towpath
}

fn token(keys: &Path, arguments: &[&str]) -> String {
    let done = Command::new(binary())
        .args(["fleet", "token", "--keys"])
        .arg(keys)
        .args(arguments)
        .output()
        .expect("towpath runs");
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout)
        .expect("text")
        .trim()
        .to_owned()
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("it can be written");
}

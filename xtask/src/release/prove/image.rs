//! The images through a real registry, and then run: no container engine is needed, their root folder and their user are enough.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::chroot::Chroot;
use super::{done, ensure_same};
use crate::Outcome;
use crate::bench::http;
use crate::packages::{install_missing, program};
use crate::release::{Release, ReleaseOptions, image, read};
use crate::say::say;
use crate::scratch::Scratch;

pub(super) fn prove(binary: Option<&Path>) -> anyhow::Result<Outcome> {
    install_missing(&[
        ("docker-registry", "docker-registry"),
        ("skopeo", "skopeo"),
        ("git", "git"),
    ])?;
    let scratch = Scratch::new("image")?;
    let folder = scratch.folder();
    let [one, other] = ["one", "other"].map(|name| folder.join(name));
    for into in [&one, &other] {
        image::run(&ReleaseOptions {
            binary: binary.map(Path::to_owned),
            into: into.clone(),
        })?;
    }
    ensure_same(&one, &other)?;
    say("two runs made the same bytes")?;
    let registry = Registry::start(folder)?;
    let version = Release::of_workspace()?.version;
    let plain = registry.pulled(&one, &version, folder)?;
    without_git(&plain)?;
    let with_git = registry.pulled(&one, &format!("{version}-git"), folder)?;
    with_a_repository(&with_git)?;
    Ok(Outcome::Good)
}

/// Debian's registry, on a free port, ended when dropped.
struct Registry {
    child: Child,
    port: u16,
}

impl Registry {
    fn start(folder: &Path) -> anyhow::Result<Self> {
        let port = http::free_port()?;
        let config = folder.join("registry.yml");
        let data = folder.join("registry");
        let text = format!(
            "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: \"127.0.0.1:{port}\"}}\n",
            data.display()
        );
        crate::release::write(&config, text)?;
        let mut registry = Command::new(program("docker-registry")?);
        let child = registry
            .arg("serve")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let registry = Self { child, port };
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(
                began.elapsed() < Duration::from_secs(30),
                "docker-registry does not listen"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(registry)
    }

    /// Pushes an image, pulls it, and unpacks its layers as a container engine would.
    fn pulled(&self, layout: &Path, tag: &str, folder: &Path) -> anyhow::Result<Chroot> {
        let remote = format!("docker://127.0.0.1:{}/towpath:{tag}", self.port);
        let local = format!("oci:{}:{tag}", layout.display());
        done(Command::new("skopeo").args(["copy", "--dest-tls-verify=false", &local, &remote]))?;
        let pulled = folder.join(format!("pulled-{tag}"));
        let to = format!("dir:{}", pulled.display());
        done(Command::new("skopeo").args(["copy", "--src-tls-verify=false", &remote, &to]))?;
        let manifest: Value = serde_json::from_slice(&read(&pulled.join("manifest.json"))?)?;
        let blob = |descriptor: &Value| -> anyhow::Result<PathBuf> {
            let digest = descriptor["digest"]
                .as_str()
                .context("a descriptor has no digest")?;
            Ok(pulled.join(digest.trim_start_matches("sha256:")))
        };
        let config: Value = serde_json::from_slice(&read(&blob(&manifest["config"])?)?)?;
        let root = folder.join(format!("root-{tag}"));
        std::fs::create_dir(&root)?;
        for layer in manifest["layers"]
            .as_array()
            .context("the manifest has no layers")?
        {
            done(
                Command::new("tar")
                    .args([
                        "--extract",
                        "--gzip",
                        "--numeric-owner",
                        "--same-permissions",
                        "--file",
                    ])
                    .arg(blob(layer)?)
                    .arg("--directory")
                    .arg(&root),
            )?;
        }
        // Every container engine gives these.
        let devices = root.join("dev");
        std::fs::create_dir(&devices)?;
        let given = ["--archive", "/dev/null", "/dev/urandom", "/dev/zero"];
        done(Command::new("cp").args(given).arg(&devices))?;
        let user = config["config"]["User"]
            .as_str()
            .context("the image names no user")?
            .to_owned();
        ensure!(
            config["config"]["Entrypoint"] == serde_json::json!(["/usr/bin/towpath"]),
            "another entrypoint: {config}"
        );
        say(format!(
            "{tag}: pushed, pulled and unpacked; runs as {user}"
        ))?;
        Ok(Chroot { folder: root, user })
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn without_git(image: &Chroot) -> anyhow::Result<()> {
    let version = image.output(&["/usr/bin/towpath", "--version"])?;
    ensure!(
        version.status.success(),
        "towpath does not run: {}",
        String::from_utf8_lossy(&version.stderr)
    );
    say(String::from_utf8_lossy(&version.stdout).trim())?;
    serves_the_example(image)?;
    let serve = [
        "/usr/bin/towpath",
        "serve",
        "--graph-data",
        "git+https://127.0.0.1:1/graph-data.git#main",
        "--releases",
        "https://127.0.0.1:1/graph#channels=stable-4.20",
    ];
    let refused = image.output(&serve)?;
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(
        refused.status.code() == Some(2) && told.contains("-git"),
        "a git address: {} {told}",
        refused.status
    );
    say(format!("a git address: exit 2, {}", told.trim()))
}

fn serves_the_example(image: &Chroot) -> anyhow::Result<()> {
    let service = image.start(&["/usr/bin/towpath", "serve"])?;
    service.serves("stable-4.20")?;
    service.stop()?;
    say("serves the example: READY=1, a graph, STOPPING=1, exit 0")
}

/// Graph data from a repository; and over HTTPS, as far as that goes without a server.
fn with_a_repository(image: &Chroot) -> anyhow::Result<()> {
    serves_the_example(image)?;
    let written = image.output(&["/usr/bin/towpath", "example", "/tmp/demo"])?;
    ensure!(
        written.status.success(),
        "towpath example: {}",
        String::from_utf8_lossy(&written.stderr)
    );
    let git = |words: &[&str]| {
        let mut all = vec![
            "/usr/bin/git",
            "-C",
            "/tmp/demo",
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
        ];
        all.extend(words);
        let output = image.output(&all)?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "git {}: {told}", words.join(" "));
        anyhow::Ok(())
    };
    git(&[
        "init",
        "--quiet",
        "--initial-branch=main",
        "--template=",
        ".",
    ])?;
    git(&["add", "."])?;
    git(&["commit", "--quiet", "--message=example"])?;
    let serve = [
        "/usr/bin/towpath",
        "serve",
        "--state",
        "/tmp/state",
        "--graph-data",
        "git+file:///tmp/demo#main:graph-data",
        "--releases",
        "/tmp/demo/releases.json",
    ];
    let service = image.start(&serve)?;
    service.serves("stable-4.20")?;
    service.stop()?;
    say("serves graph data of a git repository")?;
    let refused = image.output(&[
        "/usr/bin/git",
        "ls-remote",
        "https://127.0.0.1:1/graph-data.git",
    ])?;
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(told.contains("Failed to connect"), "git over HTTPS: {told}");
    say("git speaks HTTPS: it fails only because nobody listens")
}

//! A private, real registry for tests: Debian's `docker-registry` on a loopback port.
//!
//! It ends with the test's process: a shell reads from a pipe whose other end is ours. When we end, it stops the registry and
//! removes its directory.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use reqwest::{Certificate, Client};
use towpath_formats::sources::oci::{Digest, Repository};

use super::images::Image;

/// How clients connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    Plain,
    /// With TLS, and a name and password.
    Guarded,
}

pub const USER: &str = "towpath";
pub const PASSWORD: &str = "geheim";

#[derive(Debug)]
pub struct DockerRegistry {
    pub host: String,
    pub directory: PathBuf,
    door: Door,
    http: Client,
    guard: Child,
}

impl DockerRegistry {
    pub fn start(door: Door) -> Self {
        let directory = tempfile::tempdir().unwrap().keep();
        let program = program();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut config = format!(
            "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\nstorage:\n  filesystem: {{rootdirectory: {0}/data}}\n  delete: {{enabled: true}}\n\
             http:\n  addr: 127.0.0.1:{port}\n",
            directory.display()
        );
        let mut http = Client::builder().no_proxy().tls_certs_only([]);
        if door == Door::Guarded {
            let certificate = certify(&directory);
            config.push_str(&format!(
                "  tls: {{certificate: {0}/cert.pem, key: {0}/key.pem}}\nauth:\n  htpasswd: {{realm: towpath, path: {0}/htpasswd}}\n",
                directory.display()
            ));
            fs::write(directory.join("htpasswd"), htpasswd()).unwrap();
            http = Client::builder().no_proxy().tls_certs_only([certificate]);
        }
        fs::write(directory.join("config.yml"), config).unwrap();
        let script = r#""$1" serve "$2/config.yml" > "$2/log" 2>&1 & pid=$!; cat > /dev/null; kill $pid; wait $pid; rm -rf "$2""#;
        let mut guard = Command::new("/bin/sh");
        guard
            .args(["-c", script, "guard"])
            .arg(&program)
            .arg(&directory)
            .stdin(Stdio::piped());
        // In a group of its own, so that an interrupt from the keyboard does not end it before its time.
        std::os::unix::process::CommandExt::process_group(&mut guard, 0);
        let guard = guard
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let host = match door {
            Door::Plain => format!("127.0.0.1:{port}"),
            Door::Guarded => format!("localhost:{port}"),
        };
        let registry = Self {
            host,
            directory,
            door,
            http: http.build().unwrap(),
            guard,
        };
        registry.wait(port);
        registry
    }

    pub fn repository(&self, path: &str) -> Repository {
        Repository::parse(&format!("{}/{path}", self.host)).unwrap()
    }

    /// Pushes an image under a tag, or under its digest alone.
    pub async fn push(&self, path: &str, tag: Option<&str>, image: &Image) {
        for blob in &image.blobs {
            self.push_blob(path, blob).await;
        }
        let digest = image.digest();
        let url = self.url(&format!(
            "{path}/manifests/{}",
            tag.unwrap_or(digest.as_str())
        ));
        let request = self
            .http
            .put(url)
            .header("content-type", image.media_type)
            .body(image.manifest.clone());
        self.sent(request, 201).await;
    }

    async fn push_blob(&self, path: &str, blob: &[u8]) {
        // The registry cannot take the same blob from two at once.
        let there = self
            .http
            .head(self.url(&format!("{path}/blobs/{}", Digest::of(blob))));
        let there = if self.door == Door::Guarded {
            there.basic_auth(USER, Some(PASSWORD))
        } else {
            there
        };
        if there.send().await.unwrap().status().is_success() {
            return;
        }
        let answer = self
            .sent(
                self.http.post(self.url(&format!("{path}/blobs/uploads/"))),
                202,
            )
            .await;
        let to = answer.headers()["location"].to_str().unwrap().to_owned();
        let to = format!("{to}&digest={}", Digest::of(blob));
        self.sent(self.http.put(to).body(blob.to_vec()), 201).await;
    }

    async fn sent(&self, request: reqwest::RequestBuilder, expected: u16) -> reqwest::Response {
        let request = match self.door {
            Door::Plain => request,
            Door::Guarded => request.basic_auth(USER, Some(PASSWORD)),
        };
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        assert!(
            status == expected,
            "{} answered {status}: {}",
            answer.url().clone(),
            answer.text().await.unwrap()
        );
        answer
    }

    /// The file in which the registry keeps a blob or manifest.
    pub fn file(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        self.directory.join(format!(
            "data/docker/registry/v2/blobs/sha256/{}/{hex}/data",
            &hex[..2]
        ))
    }

    fn url(&self, rest: &str) -> String {
        let scheme = if self.door == Door::Plain {
            "http"
        } else {
            "https"
        };
        format!("{scheme}://{}/v2/{rest}", self.host)
    }

    fn wait(&self, port: u16) {
        let deadline = Instant::now() + Duration::from_secs(120);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = || fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            assert!(
                Instant::now() < deadline,
                "docker-registry does not come up:\n{}",
                log()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for DockerRegistry {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

fn certify(directory: &Path) -> Certificate {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(directory.join("cert.pem"), made.cert.pem()).unwrap();
    fs::write(directory.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    Certificate::from_pem(made.cert.pem().as_bytes()).unwrap()
}

/// bcrypt of `geheim`, for the user `towpath`.
fn htpasswd() -> &'static str {
    "towpath:$2y$05$abcdefghijklmnopqrstuuVWu8RjbNovPZWAMRdd7iqaaG0mI53Uu\n"
}

/// The registry's program. Installs it if needed.
fn program() -> PathBuf {
    static INSTALL: Once = Once::new();
    let find = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .map(|folder| folder.join("docker-registry"))
            .find(|file| file.is_file())
    };
    if find().is_none() {
        INSTALL.call_once(|| {
            let mut install = Command::new("apt-get");
            // Run level 1 keeps Debian from starting a registry just because it was installed.
            install
                .args(["install", "-y", "docker-registry"])
                .env("DEBIAN_FRONTEND", "noninteractive")
                .env("RUNLEVEL", "1");
            // Whether it worked is seen by what is there afterwards.
            let _ = install.output();
        });
    }
    find().expect("a registry is needed: install Debian's `docker-registry`, or put `docker-registry` into the PATH")
}

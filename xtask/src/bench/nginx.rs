//! nginx with static files: what the graph service is measured against.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::http::{self, Encoding};
use super::running::BackgroundProcess;
use super::scratch::Scratch;
use super::tools;

/// How long nginx may take to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// nginx, serving a folder.
#[derive(Debug)]
pub(super) struct Nginx {
    running: BackgroundProcess,
    pub(super) port: u16,
}

/// A file that nginx serves.
#[derive(Debug)]
pub(super) struct StaticFile {
    pub(super) target: String,
    encoding: Encoding,
    bytes: Vec<u8>,
}

impl StaticFile {
    /// Writes a body as a file that nginx serves with that encoding.
    pub(super) fn write(
        scratch: &Scratch,
        name: &str,
        encoding: Encoding,
        bytes: Vec<u8>,
    ) -> anyhow::Result<Self> {
        let target = format!("/{}/{name}", encoding.name());
        scratch.write(&format!("nginx/www{target}"), &bytes)?;
        Ok(Self {
            target,
            encoding,
            bytes,
        })
    }

    /// How long its body is, as it is sent.
    pub(super) fn length(&self) -> usize {
        self.bytes.len()
    }
}

impl Nginx {
    /// Starts nginx and waits until it answers.
    pub(super) fn start(scratch: &Scratch) -> anyhow::Result<Self> {
        let port = http::free_port()?;
        let folder = scratch.folder().join("nginx");
        scratch.write("nginx/www/identity/ready", "ready\n")?;
        let configuration = scratch.write("nginx/nginx.conf", configuration(port))?;
        let mut command = Command::new(tools::program("nginx")?);
        command
            .arg("-p")
            .arg(&folder)
            .arg("-c")
            .arg(configuration)
            .arg("-e")
            .arg(folder.join("error.log"));
        command.args(["-g", "daemon off;"]);
        let nginx = Self {
            running: BackgroundProcess::start("nginx", command, &folder.join("stderr.log"))?,
            port,
        };
        let started = Instant::now();
        while !http::get(port, "/identity/ready", Encoding::Identity)
            .is_ok_and(|answer| answer.status == 200)
        {
            nginx.running.ensure_alive()?;
            ensure!(
                started.elapsed() < PATIENCE,
                "nginx does not answer: {}",
                nginx.running.last_words()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(nginx)
    }

    /// An error if nginx does not serve these very bytes.
    pub(super) fn ensure_serves(&self, file: &StaticFile) -> anyhow::Result<()> {
        let answer = http::get(self.port, &file.target, file.encoding)?;
        ensure!(
            answer.status == 200 && answer.body == file.bytes,
            "nginx does not serve {} as it is",
            file.target
        );
        Ok(())
    }
}

/// As fast as nginx serves files: no logs, no stat per request, no limit that a bench could reach.
fn configuration(port: u16) -> String {
    format!(
        "user root;
worker_processes auto;
pid nginx.pid;
error_log error.log warn;
events {{ worker_connections 1024; }}
http {{
    client_body_temp_path tmp-body;
    proxy_temp_path tmp-proxy;
    fastcgi_temp_path tmp-fastcgi;
    uwsgi_temp_path tmp-uwsgi;
    scgi_temp_path tmp-scgi;
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_requests 1000000;
    open_file_cache max=1000 inactive=600s;
    open_file_cache_valid 600s;
    default_type application/json;
    types {{ }}
    server {{
        listen 127.0.0.1:{port};
        root www;
        location /identity/ {{ }}
        location /gzip/ {{ add_header Content-Encoding gzip; }}
    }}
}}
"
    )
}

//! PostgreSQL under Patroni on this machine: three nodes, their etcd, and HAProxy in front of the leader. Its clients come over TLS and
//! check the certificate (`sslmode=verify-full`).
//!
//! A node is its Patroni and its PostgreSQL. What is done to them is what happens to machines: both die, the server alone dies, or
//! both stand still for a while.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::ground::{Ground, printed};
use super::haproxy;
use crate::bench::http;
use crate::bench::running::BackgroundProcess;
use crate::packages::{self, Package};

const NODES: usize = 3;
const PACKAGES: [Package; 4] = [
    ("patroni", "patroni"),
    ("etcd", "etcd-server"),
    ("openssl", "openssl"),
    haproxy::PACKAGE,
];
const NAMES: [&str; NODES] = ["pg0", "pg1", "pg2"];
const PASSWORD: &str = "a-password-of-a-proof";
/// How long the cluster may take to be whole again.
const PATIENCE: Duration = Duration::from_secs(300);

/// What happens to the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Patroni and PostgreSQL are killed: the machine is gone.
    Machine,
    /// PostgreSQL alone is killed. Patroni starts it again, or gives the lead away.
    Server,
    /// Both stand still, and go on when another leads.
    Frozen,
}

/// The cluster. Everything is ended when this is dropped.
pub(super) struct Patroni {
    folder: PathBuf,
    nodes: Vec<Node>,
    pub(super) proxy_port: u16,
    proxy: BackgroundProcess,
    etcd: BackgroundProcess,
}

struct Node {
    name: &'static str,
    postgres: u16,
    rest: u16,
    patroni: Option<BackgroundProcess>,
}

impl Patroni {
    pub(super) fn start(ground: &Ground) -> anyhow::Result<Self> {
        packages::install_missing(&PACKAGES)?;
        let folder = ground.path("db");
        fs::create_dir(&folder)?;
        give_to_postgres(&folder)?;
        certificates(&folder)?;
        let etcd_ports = [http::free_port()?, http::free_port()?];
        let etcd = etcd(&folder, etcd_ports)?;
        let mut nodes = Vec::new();
        for name in NAMES {
            nodes.push(Node {
                name,
                postgres: http::free_port()?,
                rest: http::free_port()?,
                patroni: None,
            });
        }
        for node in &nodes {
            let file = folder.join(format!("{}.yml", node.name));
            crate::scratch::write(&file, node.configuration(&folder, etcd_ports[0]))?;
            give_to_postgres(&file)?;
        }
        let ports: Vec<(u16, u16)> = nodes
            .iter()
            .map(|node| (node.postgres, node.rest))
            .collect();
        let proxy_port = http::free_port()?;
        let configuration = haproxy::leader(proxy_port, &ports);
        let proxy = haproxy::start(&folder, "haproxy-postgres", &configuration)?;
        let mut cluster = Self {
            folder,
            nodes,
            proxy_port,
            proxy,
            etcd,
        };
        for node in 0..NODES {
            cluster.start_node(node)?;
        }
        cluster.await_whole()?;
        cluster.sql(
            "postgres",
            &format!("CREATE ROLE towpath LOGIN PASSWORD '{PASSWORD}'"),
        )?;
        cluster.sql("postgres", "CREATE DATABASE towpath OWNER towpath")?;
        let password = cluster.folder.join("store-password");
        crate::scratch::write(&password, format!("{PASSWORD}\n"))?;
        close(&password)?;
        Ok(cluster)
    }

    /// The address of the store, which checks the server's certificate, and the file with its password.
    pub(super) fn store(&self) -> (String, PathBuf) {
        let port = self.proxy_port;
        let ca = self.folder.join("ca.pem");
        let url = format!(
            "postgres://towpath@127.0.0.1:{port}/towpath?sslmode=verify-full&sslrootcert={}",
            ca.display()
        );
        (url, self.folder.join("store-password"))
    }

    /// Runs SQL on the leader. Returns one line per row.
    pub(super) fn sql(&self, database: &str, text: &str) -> anyhow::Result<String> {
        let ca = self.folder.join("ca.pem");
        let connection = format!(
            "host=127.0.0.1 port={} user=postgres dbname={database} sslmode=verify-full sslrootcert={} connect_timeout=3",
            self.proxy_port,
            ca.display()
        );
        let mut psql = Command::new(towpath_testing_postgres::binaries().join("psql"));
        psql.env("PGPASSWORD", PASSWORD).arg(connection);
        printed(psql.args(["-AtqX", "-v", "ON_ERROR_STOP=1", "-c", text]))
    }

    /// Which node leads, by the word of the nodes.
    pub(super) fn leader(&self) -> Option<usize> {
        let leads = |node: &Node| matches!(told(node.rest, "/primary"), Ok((200, _)));
        self.nodes.iter().position(leads)
    }

    /// Does something bad to a node.
    pub(super) fn strike(&mut self, node: usize, fault: Fault) -> anyhow::Result<()> {
        let server = self.server_processes(node)?;
        let patroni = self.nodes[node].patroni.as_ref().map(BackgroundProcess::id);
        let (signal, victims) = match fault {
            Fault::Machine => ("KILL", patroni.into_iter().chain(server).collect()),
            Fault::Server => ("KILL", server),
            Fault::Frozen => ("STOP", patroni.into_iter().chain(server).collect()),
        };
        signal_all(signal, &victims)?;
        if fault == Fault::Machine {
            self.nodes[node].patroni = None;
        }
        Ok(())
    }

    /// Ends what was bad.
    pub(super) fn heal(&mut self, node: usize, fault: Fault) -> anyhow::Result<()> {
        match fault {
            Fault::Machine => self.start_node(node)?,
            Fault::Server => {}
            Fault::Frozen => {
                let server = self.server_processes(node)?;
                let patroni = self.nodes[node].patroni.as_ref().map(BackgroundProcess::id);
                signal_all("CONT", &patroni.into_iter().chain(server).collect())?;
            }
        }
        self.await_whole()
    }

    /// Waits until there is a leader, a standby that commits wait for, and nobody missing.
    pub(super) fn await_whole(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        while !self.is_whole() {
            self.etcd.ensure_alive()?;
            self.proxy.ensure_alive()?;
            let nodes = self.nodes.iter().filter_map(|node| node.patroni.as_ref());
            nodes
                .clone()
                .try_for_each(BackgroundProcess::ensure_alive)?;
            if began.elapsed() > PATIENCE {
                let words: Vec<String> = nodes.map(BackgroundProcess::last_words).collect();
                bail!(
                    "the PostgreSQL cluster is not whole after {PATIENCE:?}:\n{}",
                    words.join("\n\n")
                );
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        let Some(leader) = self.leader() else {
            return false;
        };
        let Ok((200, told)) = told(self.nodes[leader].rest, "/cluster") else {
            return false;
        };
        let told: Value = serde_json::from_str(&told).unwrap_or_default();
        let members = told["members"].as_array().cloned().unwrap_or_default();
        let runs = |one: &&Value| one["state"] == "running" || one["state"] == "streaming";
        members.iter().filter(runs).count() == NODES
            && members.iter().any(|one| one["role"] == "sync_standby")
            && self.sql("postgres", "SELECT 1").is_ok()
    }

    fn start_node(&mut self, node: usize) -> anyhow::Result<()> {
        let node = &mut self.nodes[node];
        let mut command = Command::new(packages::program("patroni")?);
        command.arg(self.folder.join(format!("{}.yml", node.name)));
        as_postgres(&mut command);
        // Not ours: libpq would look there for certificates, and may not.
        command.env("HOME", &self.folder).current_dir(&self.folder);
        let log = self.folder.join(format!("{}.log", node.name));
        node.patroni = Some(BackgroundProcess::start_again(
            node.name,
            &mut command,
            &log,
        )?);
        Ok(())
    }

    /// The postmaster and its children.
    fn server_processes(&self, node: usize) -> anyhow::Result<Vec<u32>> {
        let file = self
            .folder
            .join(self.nodes[node].name)
            .join("postmaster.pid");
        let text =
            fs::read_to_string(&file).with_context(|| format!("{}: no server", file.display()))?;
        let postmaster: u32 = text
            .lines()
            .next()
            .and_then(|line| line.trim().parse().ok())
            .context("a postmaster has a number")?;
        let mut found = vec![postmaster];
        for entry in fs::read_dir("/proc")?.flatten() {
            let Some(id) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let parent = stat
                .rsplit_once(") ")
                .and_then(|(_, rest)| rest.split(' ').nth(1)?.parse::<u32>().ok());
            if parent == Some(postmaster) {
                found.push(id);
            }
        }
        Ok(found)
    }
}

impl Drop for Patroni {
    fn drop(&mut self) {
        for node in 0..NODES {
            let server = self.server_processes(node).unwrap_or_default();
            self.nodes[node].patroni = None;
            // What Patroni leaves behind when it is killed. Whoever has gone already cannot be told.
            let _ = signal_all("KILL", &server);
        }
    }
}

impl Node {
    fn configuration(&self, folder: &Path, etcd: u16) -> String {
        let Self {
            name,
            postgres,
            rest,
            ..
        } = self;
        let binaries = towpath_testing_postgres::binaries();
        let (folder, binaries) = (folder.display(), binaries.display());
        format!(
            "\
scope: towpath
name: {name}
restapi: {{listen: '127.0.0.1:{rest}', connect_address: '127.0.0.1:{rest}'}}
etcd3: {{hosts: ['127.0.0.1:{etcd}']}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 3
    retry_timeout: 5
    maximum_lag_on_failover: 1048576
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      use_slots: true
      parameters: {{max_connections: 100, shared_buffers: 64MB}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}, data-checksums]
postgresql:
  listen: 127.0.0.1:{postgres}
  connect_address: 127.0.0.1:{postgres}
  data_dir: {folder}/{name}
  bin_dir: {binaries}
  pgpass: {folder}/{name}.pgpass
  authentication:
    superuser: {{username: postgres, password: {PASSWORD}}}
    replication: {{username: replicator, password: {PASSWORD}}}
    rewind: {{username: rewinder, password: {PASSWORD}}}
  parameters:
    unix_socket_directories: {folder}
    ssl: 'on'
    ssl_cert_file: {folder}/server.pem
    ssl_key_file: {folder}/server.key
  pg_hba:
  - local all all trust
  - hostssl all all 127.0.0.1/32 scram-sha-256
  - hostssl replication replicator 127.0.0.1/32 scram-sha-256
"
        )
    }
}

/// What Patroni's REST API answers: the status and the body. It names no length and closes the connection.
fn told(port: u16, path: &str) -> std::io::Result<(u16, String)> {
    // One that stands still takes a few connections, and then no more.
    let within = Duration::from_secs(2);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, within)?;
    stream.set_read_timeout(Some(within))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    Ok((status.unwrap_or_default(), body.to_owned()))
}

/// An authority, and a certificate of the server that names 127.0.0.1. docs/scale.md shows the same commands.
fn certificates(folder: &Path) -> anyhow::Result<()> {
    let openssl = |arguments: &str| {
        let mut command = Command::new("openssl");
        command.args(arguments.split(' ')).current_dir(folder);
        printed(&mut command)
    };
    openssl(
        "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=database-authority -keyout ca.key -out ca.pem",
    )?;
    openssl(
        "req -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -keyout server.key -out server.csr",
    )?;
    openssl(
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -copy_extensions copy -out server.pem",
    )?;
    for name in ["server.key", "server.pem"] {
        let file = folder.join(name);
        close(&file)?;
        give_to_postgres(&file)?;
    }
    Ok(())
}

fn etcd(folder: &Path, [client, peer]: [u16; 2]) -> anyhow::Result<BackgroundProcess> {
    let mut command = Command::new(packages::program("etcd")?);
    let (client, peer) = (
        format!("http://127.0.0.1:{client}"),
        format!("http://127.0.0.1:{peer}"),
    );
    for (flag, value) in [
        ("--listen-client-urls", &client),
        ("--advertise-client-urls", &client),
        ("--listen-peer-urls", &peer),
        ("--initial-advertise-peer-urls", &peer),
        ("--initial-cluster", &format!("default={peer}")),
    ] {
        command.args([flag, value]);
    }
    command.arg("--data-dir").arg(folder.join("etcd"));
    as_postgres(&mut command);
    BackgroundProcess::start_again("etcd", &mut command, &folder.join("etcd.log"))
}

fn as_postgres(command: &mut Command) {
    if let Some((uid, gid)) = towpath_testing_postgres::user_for_server() {
        command.uid(uid).gid(gid);
    }
}

fn give_to_postgres(path: &Path) -> anyhow::Result<()> {
    if let Some((uid, gid)) = towpath_testing_postgres::user_for_server() {
        chown(path, Some(uid), Some(gid))
            .with_context(|| format!("{}: cannot be given away", path.display()))?;
    }
    Ok(())
}

fn close(file: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o600))
        .with_context(|| format!("{}: cannot be closed to others", file.display()))
}

fn signal_all(signal: &str, processes: &Vec<u32>) -> anyhow::Result<()> {
    ensure!(!processes.is_empty(), "there is no process to signal");
    for process in processes {
        // One that has ended meanwhile is as good as signalled.
        let _ = Command::new("kill")
            .args(["-s", signal, &process.to_string()])
            .stderr(std::process::Stdio::null())
            .status()
            .context("`kill` cannot be run; install procps or util-linux")?;
    }
    Ok(())
}

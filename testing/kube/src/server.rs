//! Starts one etcd and one kube-apiserver for each test binary, used by one test at a time.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, MutexGuard};

use crate::binaries::{Built, program};
use crate::processes::Server;
use crate::proxy::Proxy;

pub const ADMIN_TOKEN: &str = "admin-of-the-tests";
/// A machine whose two cores are busy needs its time.
const PATIENCE: Duration = Duration::from_secs(180);

static RUNNING: Mutex<Option<ServerProcesses>> = Mutex::const_new(None);

/// The servers of this test binary.
#[derive(Debug)]
struct ServerProcesses {
    folder: PathBuf,
    port: u16,
    etcd_port: u16,
    api: Option<Server>,
    _etcd: Server,
}

/// An API server for one test, empty except for OpenShift's kinds and their namespaces.
pub struct KubeApi {
    running: MutexGuard<'static, Option<ServerProcesses>>,
    pub(crate) admin: kube::Client,
}

impl KubeApi {
    /// Waits for its turn; starts the servers if this is the first.
    pub async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut running = RUNNING.lock().await;
        let servers = running.get_or_insert_with(ServerProcesses::start);
        servers.start_api();
        // The key is written after the certificate, so that is whole once the key is there.
        wait_for_file(&servers.folder.join("certificates/apiserver.key")).await;
        let kubeconfig = servers.write_kubeconfig("admin", &format!("token: {ADMIN_TOKEN}"));
        let admin = client(&kubeconfig).await;
        let mut api = Self { running, admin };
        api.ready().await;
        api.empty().await;
        api
    }

    /// Stops the API server at once: watches break, requests fail. The data stays.
    pub fn stop(&mut self) {
        self.servers().api = None;
    }

    /// Starts it again, on the same port with the same data.
    pub async fn start_again(&mut self) {
        self.servers().start_api();
        self.ready().await;
    }

    pub fn admin(&self) -> &kube::Client {
        &self.admin
    }

    /// A kubeconfig for whoever has this token.
    pub fn kubeconfig(&self, name: &str, token: &str) -> PathBuf {
        self.running()
            .write_kubeconfig(name, &format!("token: {token}"))
    }

    /// A kubeconfig for whoever has the token in this file.
    pub fn kubeconfig_with_token_file(&self, name: &str, token: &Path) -> PathBuf {
        self.running()
            .write_kubeconfig(name, &format!("tokenFile: {}", token.display()))
    }

    /// A proxy to the server that can lose answers, and an administrator's kubeconfig that uses it.
    pub async fn proxy(&self) -> (Proxy, PathBuf) {
        let proxy = Proxy::start(self.running().port).await;
        let direct = std::fs::read_to_string(self.kubeconfig("admin", ADMIN_TOKEN)).unwrap();
        let port = |port: u16| format!("https://127.0.0.1:{port}'");
        let path = self.folder().join("proxy.kubeconfig");
        write(
            &path,
            &direct.replace(&port(self.running().port), &port(proxy.port())),
        );
        (proxy, path)
    }

    /// A folder for the test's own files.
    pub fn folder(&self) -> &Path {
        &self.running().folder
    }

    /// Runs kubectl as the administrator; it must succeed.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.kubectl_as("admin", arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "kubectl {} failed: {said}",
            arguments.join(" ")
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs kubectl with a kubeconfig that was made before.
    pub fn kubectl_as(&self, name: &str, arguments: &[&str]) -> Output {
        let kubeconfig = self.folder().join(format!("{name}.kubeconfig"));
        let mut command = Command::new(program("kubectl"));
        command
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg("--cache-dir")
            .arg(self.folder().join("kubectl-cache"));
        command
            .args(arguments)
            .output()
            .expect("kubectl can be run")
    }

    /// Waits until the server says that it is ready.
    async fn ready(&mut self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let request = http_get("/readyz");
            let answer =
                tokio::time::timeout(Duration::from_secs(10), self.admin.request_text(request))
                    .await;
            if matches!(&answer, Ok(Ok(_))) {
                return;
            }
            assert!(
                Instant::now() < end,
                "the API server is not ready: {answer:?}\n{}",
                self.running().log_tail()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn running(&self) -> &ServerProcesses {
        self.running.as_ref().expect("it was started")
    }

    fn servers(&mut self) -> &mut ServerProcesses {
        self.running.as_mut().expect("it was started")
    }
}

impl ServerProcesses {
    fn start() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("towpath-kube-")
            .tempdir()
            .unwrap()
            .keep();
        let (port, etcd_port, peer_port) = (free_port(), free_port(), free_port());
        let keys = rcgen::KeyPair::generate().unwrap();
        write(&folder.join("service-accounts.key"), &keys.serialize_pem());
        write(&folder.join("service-accounts.pub"), &keys.public_key_pem());
        write(
            &folder.join("tokens.csv"),
            &format!("{ADMIN_TOKEN},admin,1,system:masters\n"),
        );
        let (client, peer) = (
            format!("http://127.0.0.1:{etcd_port}"),
            format!("http://127.0.0.1:{peer_port}"),
        );
        let etcd = [
            program("etcd").display().to_string(),
            format!("--data-dir={}", folder.join("etcd").display()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
            "--unsafe-no-fsync".to_owned(),
            "--logger=zap".to_owned(),
        ];
        let etcd = Server::start(&etcd, &folder.join("etcd.log"), Some(&folder));
        Self {
            folder,
            port,
            etcd_port,
            api: None,
            _etcd: etcd,
        }
    }

    fn start_api(&mut self) {
        if self.api.is_some() {
            return;
        }
        let file = |name: &str| self.folder.join(name).display().to_string();
        let command = [
            Built::ApiServer.path().display().to_string(),
            format!("--etcd-servers=http://127.0.0.1:{}", self.etcd_port),
            format!("--secure-port={}", self.port),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--cert-dir={}", file("certificates")),
            format!(
                "--service-account-key-file={}",
                file("service-accounts.pub")
            ),
            format!(
                "--service-account-signing-key-file={}",
                file("service-accounts.key")
            ),
            "--service-account-issuer=https://towpath.invalid".to_owned(),
            format!("--token-auth-file={}", file("tokens.csv")),
            "--authorization-mode=RBAC".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            // No kubelet and no controller is here to give pods their accounts.
            "--disable-admission-plugins=ServiceAccount".to_owned(),
        ];
        self.api = Some(Server::start(
            &command,
            &self.folder.join("kube-apiserver.log"),
            None,
        ));
    }

    fn write_kubeconfig(&self, name: &str, credentials: &str) -> PathBuf {
        let path = self.folder.join(format!("{name}.kubeconfig"));
        let certificate = self.folder.join("certificates/apiserver.crt");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: it\n\
             clusters:\n- name: it\n  cluster: {{server: 'https://127.0.0.1:{}', certificate-authority: '{}'}}\n\
             users:\n- name: it\n  user: {{{credentials}}}\n\
             contexts:\n- name: it\n  context: {{cluster: it, user: it}}\n",
            self.port,
            certificate.display(),
        );
        write(&path, &text);
        path
    }

    fn log_tail(&self) -> String {
        let text = |name: &str| std::fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        let (etcd, api) = (text("etcd.log"), text("kube-apiserver.log"));
        let tail = |text: &str| {
            text.lines()
                .rev()
                .take(15)
                .map(str::to_owned)
                .collect::<Vec<_>>()
                .join("\n")
        };
        format!(
            "etcd (newest first):\n{}\nkube-apiserver (newest first):\n{}",
            tail(&etcd),
            tail(&api)
        )
    }
}

async fn client(kubeconfig: &Path) -> kube::Client {
    let file = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
    let mut config = kube::Config::from_custom_kubeconfig(file, &Default::default())
        .await
        .unwrap();
    // An eviction that a budget forbids is answered 429. The client would ask again for minutes.
    config.default_retry = false;
    kube::Client::try_from(config).unwrap()
}

/// Waits for a condition; fails if it takes too long.
pub async fn wait_for<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut ask: impl FnMut() -> F,
) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < end, "waited too long for this: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn wait_for_file(path: &Path) {
    wait_for("the API server's certificate", || async {
        path.is_file().then_some(())
    })
    .await;
}

fn http_get(path: &str) -> http::Request<Vec<u8>> {
    http::Request::get(path).body(Vec::new()).unwrap()
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

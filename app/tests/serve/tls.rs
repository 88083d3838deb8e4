//! TLS over real connections: certificates and keys that change while requests run, and clients that need certificates.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, HandshakeKind, SupportedProtocolVersion};
use towpath_testing_services::{Authority, Leaf, Response, TlsClient, Towpath, binary};

use crate::trust::Signed;

const CLUSTER: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const OTHER: &str = "aaaaaaaa-0000-4000-8000-000000000002";
const KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef";
const BOTH: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
const HOUR: Duration = Duration::from_secs(3_600);
/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);
const ROTATIONS: usize = 20;

/// A folder with the files of a service over TLS.
struct Files {
    folder: tempfile::TempDir,
    servers: Authority,
    clients: Authority,
}

impl Files {
    fn new() -> Self {
        let files = Self {
            folder: tempfile::tempdir().expect("a folder"),
            servers: Authority::new("servers"),
            clients: Authority::new("clients"),
        };
        files.pair(&files.servers.leaf("towpath", HOUR));
        files.put("clients.pem", &files.clients.pem());
        files.put("revoked.pem", &files.clients.revocations(&[]));
        files.put("keys", &format!("{KEY}\n"));
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    /// Puts a file in the place of another.
    fn put(&self, name: &str, text: &str) {
        let new = self.path(&format!(".{name}"));
        fs::write(&new, text).expect("it can be written");
        fs::rename(new, self.path(name)).expect("it can be renamed");
    }

    fn pair(&self, leaf: &Leaf) {
        self.put("tls.crt", &leaf.certificate);
        self.put("tls.key", &leaf.key);
    }

    /// The options of TLS alone.
    fn tls(&self) -> Vec<String> {
        let (certificate, key) = (self.text("tls.crt"), self.text("tls.key"));
        ["--tls-cert", &certificate, "--tls-key", &key]
            .map(str::to_owned)
            .to_vec()
    }

    /// The same for clusters with certificates.
    fn mutual(&self) -> Vec<String> {
        let [authorities, lists, keys] =
            ["clients.pem", "revoked.pem", "keys"].map(|name| self.text(name));
        let more = [
            "--client-ca",
            &authorities,
            "--client-crl",
            &lists,
            "--token-keys",
            &keys,
        ];
        [self.tls(), more.map(str::to_owned).to_vec()].concat()
    }

    /// A client that shows this certificate.
    fn config(&self, leaf: Option<&Leaf>) -> Arc<ClientConfig> {
        TlsClient::config(&self.servers, leaf, &BOTH)
    }

    fn token(&self, cluster: &str) -> String {
        let keys = self.text("keys");
        let arguments = [
            "fleet",
            "token",
            "--keys",
            &keys,
            "--cluster",
            cluster,
            "--org",
            "demo",
            "--name",
            "c1",
        ];
        let done = Command::new(binary())
            .args(arguments)
            .output()
            .expect("it runs");
        assert!(done.status.success(), "{done:?}");
        format!(
            "Bearer {}",
            String::from_utf8(done.stdout).expect("text").trim()
        )
    }
}

fn serve(options: &[String]) -> Towpath {
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    Towpath::serve(&options)
}

/// Asks on a connection of its own.
fn get(
    address: SocketAddr,
    config: &Arc<ClientConfig>,
    target: &str,
    token: Option<&str>,
) -> std::io::Result<Response> {
    let headers: Vec<(&str, &str)> = token
        .iter()
        .map(|token| ("authorization", *token))
        .collect();
    TlsClient::connect(address, config)?.get(target, &headers)
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "it never came about that {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn readiness(towpath: &Towpath, config: &Arc<ClientConfig>) -> serde_json::Value {
    get(towpath.address, config, "/readyz", None)
        .expect("an answer")
        .json()
}

fn until_ready(towpath: &Towpath, config: &Arc<ClientConfig>) {
    until("it is ready", || {
        get(towpath.address, config, "/readyz", None).is_ok_and(|ready| ready.status == 200)
    });
}

fn stamp(cluster: &str) -> String {
    format!("/api/v1/clusters/{cluster}/stamp?nonce={}", "a".repeat(43))
}

#[test]
fn both_versions_are_spoken_and_http_1_is_agreed_on() {
    let files = Files::new();
    let towpath = serve(&files.tls());
    for version in [&TLS13, &TLS12] {
        let config = TlsClient::config(&files.servers, None, &[version]);
        let mut with_protocols = (*config).clone();
        with_protocols.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut client =
            TlsClient::connect(towpath.address, &Arc::new(with_protocols)).expect("it listens");
        for _ in 0..2 {
            assert_eq!(client.get("/livez", &[]).expect("an answer").status, 200);
        }
        assert_eq!(
            client.connection().protocol_version(),
            Some(version.version)
        );
        assert_eq!(client.connection().alpn_protocol(), Some(&b"http/1.1"[..]));
    }
    // A large answer, in many records.
    let config = files.config(None);
    until_ready(&towpath, &config);
    let graph = get(
        towpath.address,
        &config,
        "/api/upgrades_info/graph?channel=stable-4.20",
        None,
    );
    assert!(
        !graph.expect("an answer").json()["nodes"]
            .as_array()
            .expect("nodes")
            .is_empty()
    );
    let metrics = get(towpath.address, &config, "/metrics", None)
        .expect("an answer")
        .text();
    for line in [
        "towpath_tls_files_in_use{part=\"certificate\"} 1",
        "towpath_tls_certificate_end_timestamp_seconds 1",
    ] {
        assert!(
            metrics.lines().any(|one| one.starts_with(line)),
            "{line} is not in {metrics}"
        );
    }
    assert_eq!(
        readiness(&towpath, &config)["tls"]["clientCertificates"],
        false
    );
    assert_eq!(
        readiness(&towpath, &config)["tls"]["problems"],
        serde_json::json!([])
    );
}

/// As many requests as the variable `ROTATION_REQUESTS` says; `cargo xtask bench rotations` asks for 100,000.
#[test]
fn no_request_is_lost_while_certificates_keys_and_keyrings_change() {
    let wanted = std::env::var("ROTATION_REQUESTS").ok();
    let wanted = wanted.map_or(3_000, |number| {
        number.parse().expect("a number of requests")
    });
    let (files, signed) = (Files::new(), Signed::new());
    let [data, releases, store, keyring] =
        ["graph-data", "releases.json", "store", "keys.asc"].map(|name| signed.site.text(name));
    let own = [
        "--graph-data",
        &data,
        "--releases",
        &releases,
        "--signatures",
        &store,
        "--keyring",
        &keyring,
    ];
    let towpath = serve(&[files.mutual(), own.map(str::to_owned).to_vec()].concat());
    let client = files.clients.leaf(CLUSTER, HOUR);
    let (config, token) = (files.config(Some(&client)), files.token(CLUSTER));
    until_ready(&towpath, &config);

    let (done, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let ask = |number: usize| {
        let target = match number {
            0 => stamp(CLUSTER),
            _ => "/api/upgrades_info/graph?channel=stable-4.1".to_owned(),
        };
        let mut problems = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let talk = || -> std::io::Result<()> {
                let mut client = TlsClient::connect(towpath.address, &config)?;
                for _ in 0..50 {
                    let answer = client.get(&target, &[("authorization", &token)])?;
                    match answer.status {
                        200 => done.fetch_add(1, Ordering::Relaxed),
                        _ => return Err(std::io::Error::other(format!("{answer:?}"))),
                    };
                }
                Ok(())
            };
            problems.extend(talk().err());
        }
        problems
    };
    let problems: Vec<std::io::Error> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..3)
            .map(|number| scope.spawn(move || ask(number)))
            .collect();
        let rotated = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            rotate(&files, &signed, &towpath, &config, &|rotation| {
                until_done(&done, rotation * wanted / ROTATIONS);
            });
            until_done(&done, wanted);
        }));
        is_over.store(true, Ordering::Relaxed);
        let problems = asking
            .into_iter()
            .flat_map(|one| one.join().expect("it ends"))
            .collect();
        if let Err(panic) = rotated {
            std::panic::resume_unwind(panic);
        }
        problems
    });
    let asked = done.into_inner();
    assert!(asked >= wanted, "{asked}");
    eprintln!(
        "{asked} requests through {ROTATIONS} rotations, {} lost",
        problems.len()
    );
    assert!(
        problems.is_empty(),
        "{} were lost: {:?}",
        problems.len(),
        problems.first()
    );
}

fn until_done(done: &AtomicUsize, wanted: usize) {
    let (mut before, mut since) = (0, Instant::now());
    loop {
        match done.load(Ordering::Relaxed) {
            now if now >= wanted => return,
            now if now > before => (before, since) = (now, Instant::now()),
            now => assert!(
                since.elapsed() < PATIENCE,
                "nothing is answered any more after {now}"
            ),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Replaces every file twenty times, and waits each time until it is in use.
fn rotate(
    files: &Files,
    signed: &Signed,
    towpath: &Towpath,
    config: &Arc<ClientConfig>,
    before: &dyn Fn(usize),
) {
    let keyrings = [
        signed.ann.public_key(),
        [signed.ann.public_key(), signed.bob.public_key()].concat(),
    ];
    let mut shown = BTreeSet::new();
    for rotation in 0..ROTATIONS {
        before(rotation);
        let old = readiness(towpath, config)["tls"]["certificateEnds"].clone();
        let leaf = files.servers.leaf(
            "towpath",
            HOUR + Duration::from_secs(60 * (rotation as u64 + 1)),
        );
        files.pair(&leaf);
        let others = files.clients.leaf("another", HOUR);
        files.put("revoked.pem", &files.clients.revocations(&[others.serial]));
        files.put(
            "clients.pem",
            &[files.clients.pem(), Authority::new("more").pem()].concat(),
        );
        signed.keyring(&keyrings[rotation % 2]);
        files.put("keys", &format!("{rotation:032}\n{KEY}\n"));
        let newest = files.token(CLUSTER);
        towpath.signal(Signal::HUP);
        let keys = || readiness(towpath, config)["signatures"]["keyring"]["keys"].clone();
        until("the new keyring is read", || keys() == rotation % 2 + 1);
        until("the new key of tokens is in use", || {
            let answer = get(towpath.address, config, &stamp(CLUSTER), Some(&newest));
            answer.expect("an answer").status == 200
        });
        until("the new certificate is shown", || {
            readiness(towpath, config)["tls"]["certificateEnds"] != old
        });
        let mut client = TlsClient::connect(towpath.address, config).expect("it listens");
        assert_eq!(client.get("/livez", &[]).expect("an answer").status, 200);
        shown.insert(client.certificate());
    }
    assert_eq!(shown.len(), ROTATIONS, "each was in use");
}

#[test]
fn a_pair_that_cannot_be_used_keeps_the_one_before_and_is_told() {
    let files = Files::new();
    let towpath = serve(&files.tls());
    let config = files.config(None);
    let problem = || {
        let told = readiness(&towpath, &config)["tls"]["problems"][0].clone();
        told["problem"].as_str().unwrap_or_default().to_owned()
    };
    let in_use = || {
        let metrics = get(towpath.address, &config, "/metrics", None)
            .expect("an answer")
            .text();
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix("towpath_tls_files_in_use{part=\"certificate\"} "));
        line.map(str::to_owned)
    };
    let ends = readiness(&towpath, &config)["tls"]["certificateEnds"].clone();
    files.put("tls.key", &files.servers.leaf("towpath", HOUR).key);
    until("it is told", || {
        problem().contains("the key is not that of the certificate")
    });
    assert_eq!(
        (
            in_use().as_deref(),
            &readiness(&towpath, &config)["tls"]["certificateEnds"]
        ),
        (Some("0"), &ends)
    );
    let line = towpath.log_line("the key is not that of the certificate");
    assert!(
        line["message"]
            .as_str()
            .is_some_and(|text| text.contains("tls.key")),
        "{line}"
    );
    files.put("tls.crt", "hello");
    until("it is told", || {
        problem().contains("there is no certificate in the file")
    });
    fs::remove_file(files.path("tls.crt")).expect("it was there");
    until("it is told", || problem().contains("cannot be read"));
    // One that ended does not replace one that holds.
    let ended = files.servers.leaf("towpath", Duration::ZERO);
    files.pair(&ended);
    until("it is told", || {
        problem().contains("the new certificate ended at")
    });
    files.pair(&files.servers.leaf("towpath", 2 * HOUR));
    until("it is in use", || {
        problem().is_empty() && in_use().as_deref() == Some("1")
    });
    assert_ne!(readiness(&towpath, &config)["tls"]["certificateEnds"], ends);
    // What ends soon is told before it ends.
    files.pair(&files.servers.leaf("towpath", HOUR / 60));
    until("it is told", || {
        problem().contains("the certificate ends at")
    });
}

#[test]
fn clusters_need_a_certificate_beside_the_token_and_graphs_need_none() {
    let files = Files::new();
    let towpath = serve(&files.mutual());
    let (own, other) = (
        files.clients.leaf(CLUSTER, HOUR),
        files.clients.leaf(OTHER, HOUR),
    );
    let (bare, own, other) = (
        files.config(None),
        files.config(Some(&own)),
        files.config(Some(&other)),
    );
    until_ready(&towpath, &bare);
    let (token, others_token) = (files.token(CLUSTER), files.token(OTHER));
    let asked = |config: &Arc<ClientConfig>, target: &str, token: Option<&str>| {
        let answer = get(towpath.address, config, target, token).expect("an answer");
        let kind = if answer.status == 200 {
            String::new()
        } else {
            answer.kind()
        };
        (answer.status, kind)
    };
    let refused = |status: u16, kind: &str| (status, kind.to_owned());
    let stamp = stamp(CLUSTER);
    assert_eq!(asked(&own, &stamp, Some(&token)), refused(200, ""));
    assert_eq!(
        asked(&bare, &stamp, Some(&token)),
        refused(403, "no_client_certificate")
    );
    assert_eq!(
        asked(&other, &stamp, Some(&token)),
        refused(403, "certificate_of_another_cluster")
    );
    assert_eq!(
        asked(&own, &stamp, Some(&others_token)).0,
        403,
        "the token counts as before"
    );
    assert_eq!(asked(&own, &stamp, None), refused(401, "no_token"));
    // What a cluster may ask about itself, and others may not.
    let explain = format!("/api/v1/explain?channel=stable-4.20&from=4.20.1&id={CLUSTER}");
    assert_eq!(
        asked(&bare, &explain, Some(&token)),
        refused(403, "no_client_certificate")
    );
    assert_eq!(asked(&own, &explain, Some(&token)).0, 200);
    assert_eq!(
        asked(&bare, &explain, None).0,
        200,
        "without a fleet anybody may"
    );
    let graph = format!("/api/upgrades_info/graph?channel=stable-4.20&id={CLUSTER}");
    assert_eq!(asked(&bare, &graph, None).0, 200);
    // One of a stranger's authority is no certificate.
    let strange = Authority::new("strangers").leaf(CLUSTER, HOUR);
    assert!(
        get(
            towpath.address,
            &files.config(Some(&strange)),
            &stamp,
            Some(&token)
        )
        .is_err()
    );
    let metrics = get(towpath.address, &bare, "/metrics", None)
        .expect("an answer")
        .text();
    let line = "towpath_client_certificates_refused_total{reason=\"none\"} 2";
    assert!(metrics.lines().any(|one| one == line), "{metrics}");
}

#[test]
fn keys_of_tokens_are_read_again_and_a_file_that_cannot_be_used_keeps_the_old_ones() {
    let files = Files::new();
    let keys = files.text("keys");
    let towpath = Towpath::serve(&["--token-keys", &keys]);
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    let old = files.token(CLUSTER);
    let status = |token: &str| {
        let answer = towpath.get_with(&stamp(CLUSTER), &[("authorization", token)]);
        (
            answer.status,
            if answer.status == 200 {
                String::new()
            } else {
                answer.kind()
            },
        )
    };
    let setup = || towpath.get("/readyz").json()["setup"].clone();
    assert_eq!((status(&old).0, setup()), (200, serde_json::json!([])));
    files.put("keys", "short\n");
    until("it is told", || setup()[0]["code"] == "token-keys-not-used");
    let line = towpath.log_line("what was in force stays in force");
    assert!(
        line["message"]
            .as_str()
            .is_some_and(|text| text.contains("line 1: a key has")),
        "{line}"
    );
    assert!(
        towpath
            .get("/metrics")
            .text()
            .contains("towpath_token_keys_in_use 0\n")
    );
    assert_eq!(status(&old).0, 200);
    // A new one beside the old one, and then alone: what the old one made counts no more.
    let new = format!("{:032}\n", 7);
    files.put("keys", &format!("{new}{KEY}\n"));
    let newest = files.token(CLUSTER);
    until("the new key counts", || status(&newest).0 == 200);
    until("all is well", || setup() == serde_json::json!([]));
    assert_eq!(status(&old).0, 200);
    files.put("keys", &new);
    until("the old key counts no more", || {
        status(&old) == (401, "unknown_key".to_owned())
    });
    assert_eq!(status(&newest).0, 200);
}

/// Asks on an open connection until it is refused; the answer then.
fn until_refused(client: &mut TlsClient, token: &str) -> Response {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = client
            .get(&stamp(CLUSTER), &[("authorization", token)])
            .expect("an answer");
        if answer.status != 200 {
            return answer;
        }
        assert!(
            Instant::now() < deadline,
            "it is still taken after a minute"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_revoked_certificate_stops_working_on_open_connections_and_on_new_ones() {
    let files = Files::new();
    let towpath = serve(&files.mutual());
    let (leaf, token) = (files.clients.leaf(CLUSTER, HOUR), files.token(CLUSTER));
    until_ready(&towpath, &files.config(None));
    let mut open = Vec::new();
    for version in [&TLS13, &TLS12] {
        let config = TlsClient::config(&files.servers, Some(&leaf), &[version]);
        // The second connection has whatever tickets the first one was given.
        for _ in 0..2 {
            let mut client = TlsClient::connect(towpath.address, &config).expect("it listens");
            let answer = client.get(&stamp(CLUSTER), &[("authorization", &token)]);
            assert_eq!(answer.expect("an answer").status, 200);
            assert_eq!(
                client.connection().handshake_kind(),
                Some(HandshakeKind::Full)
            );
            open.push((client, config.clone()));
        }
    }
    files.put("revoked.pem", &files.clients.revocations(&[leaf.serial]));
    for (mut client, config) in open {
        let refused = until_refused(&mut client, &token);
        assert_eq!(
            (refused.status, refused.kind().as_str()),
            (403, "bad_client_certificate")
        );
        assert!(refused.text().contains("was revoked"), "{}", refused.text());
        assert!(
            get(towpath.address, &config, "/livez", None).is_err(),
            "nor is it taken anew"
        );
    }
}

#[test]
fn a_certificate_that_ends_stops_working_on_an_open_connection() {
    let files = Files::new();
    let towpath = serve(&files.mutual());
    until_ready(&towpath, &files.config(None));
    let (token, leaf) = (
        files.token(CLUSTER),
        files.clients.leaf(CLUSTER, Duration::from_secs(20)),
    );
    let config = files.config(Some(&leaf));
    let mut client = TlsClient::connect(towpath.address, &config).expect("it listens");
    assert_eq!(
        client
            .get(&stamp(CLUSTER), &[("authorization", &token)])
            .expect("an answer")
            .status,
        200
    );
    let refused = until_refused(&mut client, &token);
    assert!(refused.text().contains("has ended"), "{}", refused.text());
    assert!(get(towpath.address, &config, "/livez", None).is_err());
}

#[test]
fn a_client_that_does_not_agree_on_keys_in_time_is_closed() {
    let files = Files::new();
    let towpath = serve(&[files.tls(), vec!["--client-timeout".into(), "1s".into()]].concat());
    let record = [0x16, 3, 1, 2, 0, 1, 0];
    for begun in [
        &b""[..],
        &record,
        b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n",
    ] {
        let mut rest = Vec::new();
        let ended = towpath.send(begun).read_to_end(&mut rest);
        assert!(
            ended.is_ok()
                || ended.is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock)
        );
        assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
    }
    // Bytes that drip do not help.
    let mut dripping = towpath.send(&record);
    let began = Instant::now();
    while dripping.write_all(&[0]).is_ok() {
        assert!(began.elapsed() < PATIENCE, "it is still open");
        std::thread::sleep(Duration::from_millis(50));
    }
    let config = files.config(None);
    let counted = |metrics: &str, reason: &str| {
        let line = format!("towpath_connections_closed_total{{reason=\"{reason}\"}}");
        metrics.lines().any(|one| one.starts_with(&line))
    };
    until("they are counted", || {
        let metrics = get(towpath.address, &config, "/metrics", None)
            .expect("an answer")
            .text();
        counted(&metrics, "timeout") && counted(&metrics, "tls")
    });
}

#[test]
fn handshakes_count_as_connections() {
    let files = Files::new();
    let limits = [
        "--max-connections",
        "2",
        "--max-connections-per-address",
        "0",
    ];
    let towpath = serve(&[files.tls(), limits.map(str::to_owned).to_vec()].concat());
    let config = files.config(None);
    let _silent = [towpath.send(b""), towpath.send(b"")];
    let graph = "/api/upgrades_info/graph?channel=stable-4.20";
    until("there is no place left", || {
        get(towpath.address, &config, graph, None)
            .is_ok_and(|answer| answer.status == 503 && answer.kind() == "too_many_connections")
    });
    assert_eq!(
        get(towpath.address, &config, "/livez", None)
            .expect("an answer")
            .status,
        200,
        "probes are answered"
    );
}

/// An address of this machine that is not loopback.
fn outer_address() -> std::net::IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    // Nothing is sent; the system only says which address it would use.
    socket
        .connect("198.51.100.1:9")
        .expect("this test needs a network interface");
    socket.local_addr().expect("an address").ip()
}

#[test]
fn over_plain_http_strangers_learn_only_how_the_service_is() {
    let towpath = Towpath::serve_at("0.0.0.0:0", &["--trusted-proxies", "203.0.113.0/24"]);
    let ask = |ip: std::net::IpAddr, target: &str, header: &str| {
        let mut stream = TcpStream::connect((ip, towpath.address.port())).expect("it listens");
        let request =
            format!("GET {target} HTTP/1.1\r\nhost: towpath\r\nconnection: close\r\n{header}\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        Response::read(&mut stream, false)
    };
    let (here, outside) = ([127, 0, 0, 1].into(), outer_address());
    until("it is ready", || ask(here, "/readyz", "").status == 200);
    let graph = "/api/upgrades_info/graph?channel=stable-4.20";
    assert_eq!(
        ask(here, graph, "").status,
        200,
        "this machine is no network"
    );
    for target in [graph, "/", "/api/v1/channels", "/api/v1/openapi.json"] {
        let refused = ask(outside, target, "");
        assert_eq!(
            (refused.status, refused.kind().as_str()),
            (421, "plain_http"),
            "{target}"
        );
        assert_eq!(refused.header("connection"), "close");
    }
    for target in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(ask(outside, target, "").status, 200, "{target}");
        let shown = ask(outside, target, "authorization: Bearer x\r\n");
        assert_eq!(shown.status, 421, "{target} with a token");
    }
    // The proxy itself is answered, as before.
    let proxy = Towpath::serve_at("0.0.0.0:0", &["--trusted-proxies", &outside.to_string()]);
    let mut stream = TcpStream::connect((outside, proxy.address.port())).expect("it listens");
    stream
        .write_all(b"GET /api/v1/session HTTP/1.1\r\nhost: towpath\r\n\r\n")
        .expect("it reads");
    assert_eq!(Response::read(&mut stream, false).status, 200);
}

#[test]
fn what_would_be_unsafe_or_unusable_ends_the_start() {
    let files = Files::new();
    files.put("other.key", &files.servers.leaf("towpath", HOUR).key);
    let (certificate, key, other) = (
        files.text("tls.crt"),
        files.text("tls.key"),
        files.text("other.key"),
    );
    let pair = ["--tls-cert", &certificate, "--tls-key"];
    let with = |more: &[&str]| {
        [&pair[..], more]
            .concat()
            .iter()
            .map(|one| (*one).to_owned())
            .collect::<Vec<_>>()
    };
    let own = |options: &[&str]| {
        options
            .iter()
            .map(|one| (*one).to_owned())
            .collect::<Vec<_>>()
    };
    for (options, expected) in [
        (
            own(&["--listen", "0.0.0.0:0"]),
            "or allow it with --insecure-http",
        ),
        (
            own(&["--listen", "127.0.0.1:0", "--tls-key", &key]),
            "add --tls-cert FILE",
        ),
        (
            with(&[&other]),
            "the key is not that of the certificate; correct it",
        ),
        (
            with(&["/nowhere"]),
            "--tls-key /nowhere: there is no such file",
        ),
        (
            with(&[&key, "--client-ca", &key]),
            "there is no certificate in the file",
        ),
        (
            with(&[
                &key,
                "--client-ca",
                &certificate,
                "--client-crl",
                &certificate,
            ]),
            "there is no revocation list in the file",
        ),
        (with(&[&key, "--insecure-http"]), "remove --insecure-http"),
    ] {
        let mut serve = Command::new(binary());
        serve.arg("serve").args(&options).stdin(Stdio::null());
        let done = serve.output().expect("it runs");
        let told = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{options:?}: {told}");
        assert!(told.contains(expected), "{options:?}: {told}");
    }
    let allowed = Towpath::serve_at("0.0.0.0:0", &["--insecure-http"]);
    assert_eq!(
        allowed.get("/readyz").json()["setup"][0]["code"],
        "plain-http"
    );
    allowed.log_line("other machines send their tokens over plain HTTP");
}

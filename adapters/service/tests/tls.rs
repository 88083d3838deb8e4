//! Over TLS, the token goes to whom the CA file vouches for, and to nobody else.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use towpath_core::cluster::ClusterId;
use towpath_service::{ReportOutcome, ServiceClient, ServiceConfig};
use towpath_testing_services::{Authority, Leaf};

const TOKEN: &str = "tpc_secret";

/// A service that takes every report, with a certificate of its own in `folder/NAME.pem`. What it was sent.
fn serve(folder: &Path, name: &str) -> (u16, Arc<Mutex<Vec<u8>>>) {
    let (port, seen, _) = serve_those(folder, name, None);
    (port, seen)
}

/// What a service was sent, and the certificates that it was shown.
type Served = (u16, Arc<Mutex<Vec<u8>>>, Arc<Mutex<Vec<Vec<u8>>>>);

/// The same for clients with a certificate of this authority alone, if one is given.
fn serve_those(folder: &Path, name: &str, clients: Option<&Authority>) -> Served {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.join(format!("{name}.pem")), made.cert.pem()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let server = match clients {
        None => server.with_no_client_auth(),
        Some(authority) => server.with_client_cert_verifier(verifier(authority)),
    };
    let server = server
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let server = Arc::new(server);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, seen) = (
        listener.local_addr().unwrap().port(),
        Arc::<Mutex<Vec<u8>>>::default(),
    );
    let log = seen.clone();
    let shown = Arc::<Mutex<Vec<Vec<u8>>>>::default();
    let certificates = shown.clone();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let connection = rustls::ServerConnection::new(server.clone()).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, socket);
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n{}") {
                let mut byte = [0];
                match stream.read(&mut byte) {
                    Ok(1) => request.push(byte[0]),
                    _ => break,
                }
            }
            log.lock().unwrap().extend_from_slice(&request);
            let certificate = stream.conn.peer_certificates().unwrap_or_default();
            let certificate = certificate.first().map(|one| one.to_vec());
            certificates.lock().unwrap().extend(certificate);
            let body = r#"{"kind":"accepted"}"#;
            let head = format!(
                "HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    (port, seen, shown)
}

fn verifier(authority: &Authority) -> Arc<dyn rustls::server::danger::ClientCertVerifier> {
    let mut roots = rustls::RootCertStore::empty();
    let pem = authority.pem();
    roots
        .add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .unwrap()
}

fn client(folder: &Path, port: u16, ca: &str) -> ServiceClient {
    let mut config = ServiceConfig::new(format!("https://localhost:{port}"), folder.join("token"));
    config.environment_proxy = false;
    config.ca_file = Some(folder.join(format!("{ca}.pem")));
    ServiceClient::new(config).unwrap()
}

#[tokio::test]
async fn a_token_goes_to_whom_the_ca_file_vouches_for() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), TOKEN).unwrap();
    let (port, seen) = serve(folder.path(), "ours");
    let (strange_port, strange_seen) = serve(folder.path(), "strange");
    let id = ClusterId::new("a").unwrap();
    assert_eq!(
        client(folder.path(), port, "ours").report(&id, b"{}").await,
        ReportOutcome::Sent
    );
    assert!(String::from_utf8_lossy(&seen.lock().unwrap()).contains("Bearer tpc_secret"));
    let answered = client(folder.path(), strange_port, "ours")
        .report(&id, b"{}")
        .await;
    assert!(
        matches!(&answered, ReportOutcome::Later { why, .. } if why.contains("cannot be reached")),
        "{answered:?}"
    );
    assert_eq!(
        *strange_seen.lock().unwrap(),
        b"",
        "not a byte of the request"
    );
}

#[tokio::test]
async fn the_newest_certificate_is_shown_and_one_that_cannot_be_used_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let hour = std::time::Duration::from_secs(3_600);
    let authority = Authority::new("clients");
    let pair = |leaf: &Leaf| {
        write("client.crt", &leaf.certificate);
        write("client.key", &leaf.key);
    };
    let (first, second) = (authority.leaf("a", hour), authority.leaf("a", hour));
    write("token", TOKEN);
    pair(&first);
    let (port, _, shown) = serve_those(folder.path(), "ours", Some(&authority));
    let mut config = ServiceConfig::new(
        format!("https://localhost:{port}"),
        folder.path().join("token"),
    );
    config.environment_proxy = false;
    config.ca_file = Some(folder.path().join("ours.pem"));
    let bare = ServiceClient::new(config.clone()).unwrap();
    let files = ["client.crt", "client.key"].map(|name| folder.path().join(name));
    let [certificate, key] = files;
    config.identity_files = Some((certificate, key));
    let client = ServiceClient::new(config.clone()).unwrap();
    let id = ClusterId::new("a").unwrap();
    let der = |leaf: &Leaf| {
        let der = CertificateDer::from_pem_slice(leaf.certificate.as_bytes());
        der.unwrap().to_vec()
    };
    assert_eq!(client.report(&id, b"{}").await, ReportOutcome::Sent);
    // A key that is not the certificate's: what was read before is shown.
    write("client.key", &second.key);
    assert_eq!(client.report(&id, b"{}").await, ReportOutcome::Sent);
    assert!(
        ServiceClient::new(config).is_err(),
        "at the start it is told"
    );
    write("client.crt", &second.certificate);
    assert_eq!(client.report(&id, b"{}").await, ReportOutcome::Sent);
    let expected = [der(&first), der(&first), der(&second)];
    assert_eq!(*shown.lock().unwrap(), expected);
    let refused = bare.report(&id, b"{}").await;
    assert!(
        matches!(refused, ReportOutcome::Later { .. }),
        "{refused:?}"
    );
}

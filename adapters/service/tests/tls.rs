//! Over TLS, the token goes to whom the CA file vouches for, and to nobody else.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use towpath_core::cluster::ClusterId;
use towpath_service::{ReportOutcome, ServiceClient, ServiceConfig};

const TOKEN: &str = "tpc_secret";

/// A service that takes every report, with a certificate of its own in `folder/NAME.pem`. What it was sent.
fn serve(folder: &Path, name: &str) -> (u16, Arc<Mutex<Vec<u8>>>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.join(format!("{name}.pem")), made.cert.pem()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let server = Arc::new(server);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, seen) = (
        listener.local_addr().unwrap().port(),
        Arc::<Mutex<Vec<u8>>>::default(),
    );
    let log = seen.clone();
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
    (port, seen)
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

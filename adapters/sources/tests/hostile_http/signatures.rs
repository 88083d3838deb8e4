//! Signature stores: what is there, what is not, and what is not known.

use std::time::Duration;

use towpath_core::retry::Backoff;
use towpath_core::signatures::PayloadDigest;
use towpath_sources::{SignatureStore, StoreAccess};

use towpath_testing_services::scripted::*;

fn digest() -> PayloadDigest {
    PayloadDigest::parse(&format!("sha256:{}", "ab".repeat(32))).unwrap()
}

fn path(number: usize) -> String {
    format!("/sha256={}/signature-{number}", "ab".repeat(32))
}

fn quick() -> StoreAccess {
    StoreAccess {
        request_timeout: Duration::from_millis(200),
        backoff: Backoff {
            first: Duration::from_millis(1),
            longest: Duration::from_secs(1),
        },
        max_bytes: 1_000,
        ..StoreAccess::default()
    }
}

fn store(server: &Server) -> SignatureStore {
    SignatureStore::open(&server.url("/base/"), &quick()).unwrap()
}

/// The problem. Servers here may stall for ever, so this ends only because the store gives up.
async fn problem(server: &Server) -> String {
    let finding = store(server).signature(digest(), 1).await.unwrap_err();
    assert_eq!(finding.code, "signature-store");
    finding.problem
}

#[tokio::test]
async fn a_store_is_a_directory_or_an_address() {
    let folder = tempfile::tempdir().unwrap();
    let local = SignatureStore::cache(folder.path());
    assert_eq!(local.signature(digest(), 1).await, Ok(None));
    local.keep(digest(), b"signed").unwrap();
    local.keep(digest(), b"signed again").unwrap();
    assert_eq!(
        local.signature(digest(), 1).await,
        Ok(Some(b"signed again".to_vec()))
    );
    assert_eq!(local.signature(digest(), 2).await, Ok(None));
    let there = std::fs::read(folder.path().join(&path(1)[1..])).unwrap();
    assert_eq!(there, b"signed again");
    assert_eq!(
        std::fs::read_dir(folder.path().join(&path(1)[1..]).parent().unwrap())
            .unwrap()
            .count(),
        1
    );

    let server = Server::by_path(|path, _| match path.ends_with("signature-1") {
        true => answer("200 OK", b"signed"),
        false => answer("404 Not Found", b"no such thing"),
    });
    assert_eq!(
        store(&server).signature(digest(), 1).await,
        Ok(Some(b"signed".to_vec()))
    );
    assert_eq!(store(&server).signature(digest(), 2).await, Ok(None));
    assert_eq!(
        server.paths(),
        [1, 2].map(|number| format!("/base{}", path(number)))
    );
    assert!(store(&server).keep(digest(), b"x").is_err());
}

#[test]
fn what_is_no_store() {
    for name in [
        "https://",
        "http://user:secret@example.org/",
        "https://example.org/?q",
    ] {
        let finding = SignatureStore::open(name, &quick()).unwrap_err();
        assert_eq!(finding.code, "no-signature-store", "{name}");
        assert!(!finding.to_string().contains("secret"), "{finding}");
    }
}

#[tokio::test]
async fn a_directory_that_is_away_is_not_one_without_signatures() {
    let away = SignatureStore::open("/no/such/directory", &quick()).unwrap();
    assert_eq!(
        away.signature(digest(), 1).await.unwrap_err().code,
        "no-signature-store"
    );
}

#[tokio::test]
async fn what_is_not_a_file_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join(&path(1)[1..])).unwrap();
    let local = SignatureStore::open(&folder.path().display().to_string(), &quick()).unwrap();
    let finding = local.signature(digest(), 1).await.unwrap_err();
    assert_eq!(finding.problem, "it cannot be read: it is not a file");
}

#[tokio::test]
async fn of_what_is_too_large_one_byte_too_many_is_read() {
    let server = Server::always(vec![head("200 OK", ""), Step::Endless(vec![b'x'; 64])]);
    assert_eq!(
        store(&server)
            .signature(digest(), 1)
            .await
            .unwrap()
            .unwrap()
            .len(),
        1_001
    );
    let folder = tempfile::tempdir().unwrap();
    SignatureStore::cache(folder.path())
        .keep(digest(), &[b'x'; 5_000])
        .unwrap();
    let local = SignatureStore::open(&folder.path().display().to_string(), &quick()).unwrap();
    assert_eq!(
        local.signature(digest(), 1).await.unwrap().unwrap().len(),
        1_001
    );
}

#[tokio::test]
async fn a_server_that_stalls() {
    let within = "it does not answer in time";
    assert_eq!(problem(&Server::always(vec![Step::Stall])).await, within);
    assert_eq!(
        problem(&Server::always(vec![
            Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec()),
            Step::Stall
        ]))
        .await,
        within
    );
    let body = vec![
        head("200 OK", "Content-Length: 100\r\n"),
        Step::Send(b"half".to_vec()),
        Step::Stall,
    ];
    assert_eq!(problem(&Server::always(body)).await, within);
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    for (status, requests) in [
        ("401 Unauthorized", 1),
        ("403 Forbidden", 1),
        ("429 Too Many Requests", 3),
    ] {
        let server = Server::always(answer(status, b""));
        assert_eq!(problem(&server).await, format!("it answers {status}"));
        assert_eq!(server.paths().len(), requests, "{status}");
    }
    let server = Server::new(|_, number| match number {
        0 => answer("500 Internal Server Error", b""),
        1 => Vec::new(),
        _ => answer("200 OK", b"signed"),
    });
    assert_eq!(
        store(&server).signature(digest(), 1).await,
        Ok(Some(b"signed".to_vec()))
    );
}

#[tokio::test]
async fn what_is_cut_short_is_not_known() {
    let server = Server::always(vec![
        head("200 OK", "Content-Length: 100\r\n"),
        Step::Send(vec![b'x'; 99]),
    ]);
    assert!(!problem(&server).await.is_empty());
    assert_eq!(server.paths().len(), 3);
}

#[tokio::test]
async fn redirects_end() {
    let server = Server::always(redirect("/again"));
    assert!(!problem(&server).await.is_empty());
    assert!(server.paths().len() <= 5, "{:?}", server.paths());
}

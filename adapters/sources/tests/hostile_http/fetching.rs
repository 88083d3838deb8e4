//! `fetch` against servers that misbehave. What only time ends is tried with the signature store, whose times are short.

use towpath_sources::{FetchResponse, fetch};

use towpath_testing_services::scripted::*;

async fn told(server: &Server, path: &str) -> Result<FetchResponse, String> {
    let told = fetch(&server.url(path), (None, None), None, 1_000).await;
    told.map_err(|finding| {
        assert_eq!(
            (finding.code, &*finding.place.file),
            ("http", server.url(path).as_str())
        );
        assert!(!finding.problem.is_empty() && !finding.remedy.is_empty());
        finding.problem
    })
}

#[tokio::test]
async fn a_status_is_an_answer() {
    for status in [200u16, 401, 404, 429, 500, 503] {
        let server = Server::always(answer(&format!("{status} Whatever"), b"text"));
        assert_eq!(
            told(&server, "/").await,
            Ok(FetchResponse {
                status,
                body: b"text".to_vec()
            })
        );
        assert_eq!(server.paths().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_body_that_is_cut_short() {
    let server = Server::always(vec![
        head("200 OK", "Content-Length: 100\r\n"),
        Step::Send(vec![b'x'; 99]),
    ]);
    assert!(told(&server, "/").await.is_err());
    let chunked = head("200 OK", "Transfer-Encoding: chunked\r\n");
    let server = Server::always(vec![chunked, Step::Send(b"5\r\nhello\r\n5\r\nwo".to_vec())]);
    assert!(told(&server, "/").await.is_err());
}

#[tokio::test]
async fn a_head_that_is_cut_short() {
    for bytes in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-Le", b"hello\r\n\r\n"] {
        let server = Server::always(vec![Step::Send(bytes.to_vec())]);
        assert!(told(&server, "/").await.is_err(), "{bytes:?}");
    }
}

#[tokio::test]
async fn more_than_was_announced_is_not_read() {
    let server = Server::always(vec![
        head("200 OK", "Content-Length: 3\r\n"),
        Step::Send(b"abcdef".to_vec()),
    ]);
    assert_eq!(told(&server, "/").await.unwrap().body, b"abc");
}

#[tokio::test]
async fn a_length_that_is_no_length() {
    for headers in [
        "Content-Length: -1\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n",
    ] {
        let server = Server::always(vec![head("200 OK", headers), Step::Send(b"abc".to_vec())]);
        assert!(told(&server, "/").await.is_err(), "{headers}");
    }
}

#[tokio::test]
async fn a_body_without_end() {
    for headers in ["", "Content-Length: 99999999999\r\n"] {
        let server = Server::always(vec![head("200 OK", headers), Step::Endless(vec![b'x'; 64])]);
        assert_eq!(
            told(&server, "/").await,
            Err("the answer is longer than 1000 bytes".to_owned())
        );
    }
}

#[tokio::test]
async fn a_head_without_end() {
    let server = Server::always(vec![
        Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec()),
        Step::Endless(b"X-Padding: xxxxxxxxxxxxxxxx\r\n".to_vec()),
    ]);
    assert!(told(&server, "/").await.is_err());
}

#[tokio::test]
async fn redirects_end() {
    let server = Server::always(redirect("/again"));
    assert!(told(&server, "/").await.is_err());
    assert!(server.paths().len() <= 5, "{:?}", server.paths());
}

#[tokio::test]
async fn a_redirect_to_another_host_is_followed_without_saying_who_sent_us() {
    let there = Server::always(answer("200 OK", b"there"));
    let to = there.url("/there");
    let here = Server::new(move |_, _| redirect(&to));
    assert_eq!(told(&here, "/").await.unwrap().body, b"there");
    let heads = there.requests().concat().to_lowercase();
    assert!(
        heads.starts_with("get /there ") && !heads.contains("referer"),
        "{heads}"
    );
    let nowhere = Server::always(redirect("http://127.0.0.1:1/"));
    assert!(told(&nowhere, "/").await.is_err());
    for odd in ["ftp://127.0.0.1/", "file:///etc/passwd", "javascript:1"] {
        let server = Server::always(redirect(odd));
        // An answer that leads nowhere, or a failure; never what is there.
        if let Ok(fetched) = told(&server, "/").await {
            assert_eq!((fetched.status, fetched.body.len()), (302, 0), "{odd}");
        }
    }
}

/// We ask for no compression, so what comes compressed is passed on as it is: there is nothing to inflate.
#[tokio::test]
async fn compression_that_nobody_asked_for() {
    let gzip = [31u8, 139, 8, 0, 0, 0, 0, 0, 0, 3];
    let headers = format!(
        "Content-Encoding: gzip\r\nContent-Length: {}\r\n",
        gzip.len()
    );
    let server = Server::always(vec![head("200 OK", &headers), Step::Send(gzip.to_vec())]);
    assert_eq!(told(&server, "/").await.unwrap().body, gzip);
}

#[tokio::test]
async fn nobody_is_there() {
    let finding = fetch("http://127.0.0.1:1/", (None, None), None, 1_000)
        .await
        .unwrap_err();
    assert_eq!(finding.code, "http");
}

//! A Cincinnati service that answers more than is taken.

use towpath_core::finding::Finding;
use towpath_sources::{Http, HttpAccess, Upstream};

use towpath_testing_services::scripted::*;

fn upstream(server: &Server, channels: usize, max_bytes: usize) -> Upstream {
    let channels: Vec<String> = (0..channels).map(|at| format!("c-{at}")).collect();
    let http = Http::new(&HttpAccess::default()).unwrap();
    Upstream::new(
        http,
        &server.url("/graph"),
        &channels,
        &["amd64".to_owned()],
    )
    .bounded(max_bytes)
}

async fn read(upstream: &mut Upstream) -> Result<usize, String> {
    let read = upstream.read().await;
    read.map(|files| files.len())
        .map_err(|finding: Finding| finding.problem)
}

#[tokio::test]
async fn all_answers_share_one_allowance() {
    let server = Server::always(answer("200 OK", [b'x'; 1_000]));
    assert_eq!(read(&mut upstream(&server, 10, 10_000)).await, Ok(10));
    let too_long = Err("the answers are longer than 9999 bytes together".to_owned());
    assert_eq!(read(&mut upstream(&server, 10, 9_999)).await, too_long);
}

#[tokio::test]
async fn it_is_counted_while_they_come() {
    let endless = vec![head("200 OK", ""), Step::Endless(vec![b'x'; 64])];
    let server = Server::always(endless);
    let too_long = Err("the answers are longer than 100000 bytes together".to_owned());
    assert_eq!(read(&mut upstream(&server, 4, 100_000)).await, too_long);
}

#[tokio::test]
async fn what_did_not_change_counts_as_well() {
    // The first five are as they were; the last is longer each time.
    let server = Server::by_path(|path, number| match (path.contains("c-5"), number < 6) {
        (false, true) => {
            vec![
                head("200 OK", "ETag: \"x\"\r\nContent-Length: 1000\r\n"),
                Step::Send(vec![b'x'; 1_000]),
            ]
        }
        (false, false) => vec![head("304 Not Modified", "")],
        (true, true) => answer("200 OK", [b'x'; 1_000]),
        (true, false) => answer("200 OK", [b'x'; 1_001]),
    });
    let mut upstream = upstream(&server, 6, 6_000);
    assert_eq!(read(&mut upstream).await, Ok(6));
    assert_eq!(
        read(&mut upstream).await,
        Err("the answers are longer than 6000 bytes together".to_owned())
    );
}

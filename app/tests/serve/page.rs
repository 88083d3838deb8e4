//! The page: every address of it is one HTML file, its assets are compressed and have tags, and nothing comes from elsewhere.

use towpath_testing_services::{Response, Towpath};

const ADDRESSES: [&str; 9] = [
    "/",
    "/graph?channel=stable-4.20&from=4.20.3&to=4.20.4&at=2026-11-17T00:00:00Z",
    "/rollouts",
    "/fleet?view=matrix&held-by=soak&anything=%3Cscript%3E",
    "/fleet/clusters/0b5b8d2e-0000-4000-8000-000000000000",
    "/nodes",
    "/log",
    "/log/17",
    "/sources",
];

fn get(towpath: &Towpath, method: &str, target: &str, headers: &str) -> Response {
    let request = format!(
        "{method} {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n"
    );
    Response::read(&mut towpath.send(request.as_bytes()), method == "HEAD")
}

/// The first asset that the page refers to.
fn an_asset(index: &Response) -> String {
    let text = String::from_utf8(index.body.clone()).expect("UTF-8");
    let (_, rest) = text.split_once("\"/assets/").expect("an asset");
    format!("/assets/{}", rest.split('"').next().expect("its end"))
}

#[test]
fn every_address_of_the_page_answers_with_the_same_html() {
    let towpath = Towpath::serve(&[]);
    let index = get(&towpath, "GET", "/", "");
    for address in ADDRESSES {
        let answer = get(&towpath, "GET", address, "");
        assert_eq!(
            (answer.status, &answer.body),
            (200, &index.body),
            "{address}"
        );
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"));
        assert!(policy.ends_with("frame-ancestors 'none'"));
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("cache-control"), "no-cache");
    }
    let post = get(&towpath, "POST", "/", "content-length: 0\r\n");
    assert_eq!((post.status, post.header("allow")), (405, "GET, HEAD"));
    let head = get(&towpath, "HEAD", "/rollouts", "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), index.body.len().to_string());
}

#[test]
fn files_have_tags_and_are_compressed_for_those_who_take_it() {
    let towpath = Towpath::serve(&[]);
    let index = get(&towpath, "GET", "/", "");
    let asset = an_asset(&index);
    for (target, caching) in [
        ("/graph", "no-cache"),
        (&asset, "public, max-age=31536000, immutable"),
    ] {
        let plain = get(&towpath, "GET", target, "");
        let packed = get(&towpath, "GET", target, "accept-encoding: br, gzip\r\n");
        assert_eq!((plain.status, packed.status), (200, 200), "{target}");
        assert_eq!(plain.header("cache-control"), caching);
        assert_eq!(plain.header("vary"), "Accept-Encoding");
        if packed.headers.contains_key("content-encoding") {
            assert_ne!(plain.header("etag"), packed.header("etag"));
            assert!(packed.body.len() < plain.body.len());
        }
        let known = format!(
            "accept-encoding: gzip\r\nif-none-match: W/{}\r\n",
            packed.header("etag")
        );
        let again = get(&towpath, "GET", target, &known);
        assert_eq!((again.status, again.body.len()), (304, 0), "{target}");
        assert_eq!(again.header("etag"), packed.header("etag"));
    }
}

#[test]
fn an_unknown_asset_is_refused_in_json() {
    let towpath = Towpath::serve(&[]);
    for target in [
        "/assets/none-00000000.js",
        "/assets/..%2Findex.html",
        "/assets/",
    ] {
        let answer = get(&towpath, "GET", target, "");
        assert_eq!(
            (answer.status, answer.kind()),
            (404, "does_not_exist".to_owned()),
            "{target}"
        );
    }
}

#[test]
fn graphs_under_another_prefix_stay_graphs() {
    let towpath = Towpath::serve(&["--path-prefix", "/fleet"]);
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    let graph = towpath.get("/fleet/graph?channel=stable-4.20");
    assert_eq!(graph.status, 200);
    assert!(graph.json()["nodes"].is_array());
    let page = towpath.get("/fleet/clusters");
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
}

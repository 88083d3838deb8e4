//! By which names the service may be called, and what every answer has.

use towpath_testing_services::{Response, Towpath};

fn status(towpath: &Towpath, head: &str) -> (u16, String) {
    let response = Response::read(
        &mut towpath.send(format!("{head}\r\nconnection: close\r\n\r\n").as_bytes()),
        false,
    );
    let kind = if response.status == 200 {
        String::new()
    } else {
        response.kind()
    };
    (response.status, kind)
}

#[test]
fn a_request_has_one_host() {
    let towpath = Towpath::serve(&[]);
    let bad = (400, "bad_host".to_owned());
    assert_eq!(status(&towpath, "GET /livez HTTP/1.1"), bad);
    assert_eq!(
        status(
            &towpath,
            "GET /livez HTTP/1.1\r\nhost: localhost\r\nhost: localhost"
        ),
        bad
    );
    assert_eq!(status(&towpath, "GET /livez HTTP/1.1\r\nhost: "), bad);
    assert_eq!(
        status(&towpath, "GET /livez HTTP/1.1\r\nhost: localhost"),
        (200, String::new())
    );
    assert_eq!(
        status(&towpath, "GET /livez HTTP/1.0"),
        (200, String::new()),
        "HTTP/1.0 has none"
    );
}

#[test]
fn a_page_cannot_read_it_by_pointing_a_name_at_it() {
    let towpath = Towpath::serve(&[]);
    let port = towpath.address.port();
    for path in [
        "/api/v1/fleet/plan",
        "/api/upgrades_info/graph?channel=stable-4.20",
        "/readyz",
        "/metrics",
    ] {
        let head = format!("GET {path} HTTP/1.1\r\nhost: rebound.example:{port}");
        assert_eq!(
            status(&towpath, &head),
            (421, "host_not_allowed".to_owned()),
            "{path}"
        );
    }
    for host in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        "[::1]".to_owned(),
    ] {
        assert_eq!(
            status(&towpath, &format!("GET /livez HTTP/1.1\r\nhost: {host}")).0,
            200,
            "{host}"
        );
    }
    let named = Towpath::serve(&["--allowed-hosts", "updates.example.com"]);
    assert_eq!(
        status(&named, "GET /livez HTTP/1.1\r\nhost: updates.example.com").0,
        200
    );
    assert_eq!(
        status(&named, "GET /livez HTTP/1.1\r\nhost: other.example.com").0,
        421
    );
    let any = Towpath::serve(&["--allowed-hosts", "*"]);
    assert_eq!(
        status(&any, "GET /livez HTTP/1.1\r\nhost: other.example.com").0,
        200
    );
}

#[test]
fn off_loopback_any_name_will_do_unless_some_are_given() {
    let towpath = Towpath::serve_at("0.0.0.0:0", &["--insecure-http"]);
    assert_eq!(
        status(&towpath, "GET /livez HTTP/1.1\r\nhost: towpath.svc").0,
        200
    );
    let options = ["--insecure-http", "--allowed-hosts", "updates.example.com"];
    let named = Towpath::serve_at("0.0.0.0:0", &options);
    assert_eq!(
        status(&named, "GET /livez HTTP/1.1\r\nhost: towpath.svc").0,
        421
    );
    assert_eq!(
        status(&named, "GET /livez HTTP/1.1\r\nhost: 10.0.0.7:8080").0,
        200,
        "a kubelet's probe"
    );
}

#[test]
fn no_answer_is_taken_for_another_kind_of_content() {
    let towpath = Towpath::serve(&[]);
    for path in [
        "/livez",
        "/readyz",
        "/metrics",
        "/api/upgrades_info/graph?channel=x",
        "/nothing",
        "/api/v1/fleet/plan",
    ] {
        assert_eq!(
            towpath.get(path).header("x-content-type-options"),
            "nosniff",
            "{path}"
        );
    }
    assert_eq!(
        towpath
            .get_with("/livez", &[("host", "two")])
            .header("x-content-type-options"),
        "nosniff"
    );
}

#[test]
fn a_secret_file_that_others_can_read_is_told_and_used() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("token-keys");
    std::fs::write(&keys, "0123456789abcdef0123456789abcdef\n").expect("keys");
    std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o644)).expect("its mode");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_towpath"));
    command
        .args(["fleet", "token", "--reload", "--keys"])
        .arg(&keys);
    let done = command.output().expect("towpath runs");
    assert!(
        done.status.success() && done.stdout.starts_with(b"tp2_"),
        "{done:?}"
    );
    let warning = "everybody on this machine can use this secret file";
    assert!(
        String::from_utf8_lossy(&done.stderr).contains(warning),
        "{done:?}"
    );
    std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o600)).expect("its mode");
    let done = command.output().expect("towpath runs");
    assert!(
        done.status.success() && !String::from_utf8_lossy(&done.stderr).contains(warning),
        "{done:?}"
    );
}

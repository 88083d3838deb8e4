//! What the service tells systemd, and what it does without git.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use towpath_testing_services::{Towpath, binary};

/// Hears what is said until a line comes up; everything, in order.
fn hear(socket: &UnixDatagram, line: &str) -> Vec<String> {
    let (mut told, mut heard) = ([0; 4096], Vec::new());
    while !heard.iter().any(|one| one == line) {
        let length = socket
            .recv(&mut told)
            .unwrap_or_else(|error| panic!("{line} after {heard:?}: {error}"));
        let text = std::str::from_utf8(&told[..length]).expect("text");
        heard.extend(text.lines().map(str::to_owned));
    }
    heard
}

fn patient(socket: UnixDatagram) -> UnixDatagram {
    let patience = Some(Duration::from_secs(60));
    socket.set_read_timeout(patience).expect("a timeout");
    socket
}

fn notifying(name: &str) -> Command {
    let mut command = Command::new(binary());
    command.env("NOTIFY_SOCKET", name);
    command
}

#[test]
fn it_is_ready_only_once_there_is_a_graph_and_says_when_it_stops() {
    let folder = Towpath::demo();
    let releases = folder.path().join("releases.json");
    let away = folder.path().join("away.json");
    std::fs::rename(&releases, &away).expect("it is there");
    let path = folder.path().join("notify");
    let socket = patient(UnixDatagram::bind(&path).expect("a socket"));
    std::fs::write(&releases, "{").expect("a file");
    let files = Towpath::files(folder.path());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let command = notifying(path.to_str().expect("UTF-8"));
    let mut towpath = Towpath::serve_by(command, "127.0.0.1:0", &files);
    towpath.until("it has tried", |it| {
        it.get("/readyz")
            .text()
            .contains("no graph could be loaded")
    });
    let before = hear(&socket, "STATUS=not ready: there is no graph yet");
    assert!(before.iter().all(|line| line != "READY=1"), "{before:?}");
    std::fs::rename(&away, &releases).expect("it is back");
    towpath.signal(Signal::HUP);
    hear(&socket, "READY=1");
    assert_eq!(towpath.get("/readyz").status, 200);
    towpath.signal(Signal::TERM);
    hear(&socket, "STOPPING=1");
    assert!(towpath.child.wait().expect("it ends").success());
}

#[test]
fn a_socket_without_a_file_is_told_too() {
    let name = format!("towpath-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("an address");
    let socket = patient(UnixDatagram::bind_addr(&address).expect("a socket"));
    let _towpath = Towpath::serve_by(notifying(&format!("@{name}")), "127.0.0.1:0", &[]);
    hear(&socket, "READY=1");
}

#[test]
fn a_socket_that_is_not_there_stops_nobody() {
    let towpath = Towpath::serve_by(notifying("/nowhere/notify"), "127.0.0.1:0", &[]);
    let line = towpath.log_line("systemd cannot be told");
    assert_eq!(line["level"], "WARN");
    towpath.until("it is ready", |it| it.get("/readyz").status == 200);
}

#[test]
fn without_git_a_git_address_ends_the_start_and_says_which_image_has_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let serve = |graph_data: &str| {
        let mut command = Command::new(binary());
        command.env("PATH", folder.path());
        command.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--graph-data",
            graph_data,
        ]);
        command.args([
            "--releases",
            "https://127.0.0.1:1/graph#channels=stable-4.20",
        ]);
        let output = command.output().expect("it runs");
        (
            output.status.code(),
            String::from_utf8(output.stderr).expect("text"),
        )
    };
    let (code, told) = serve("git+https://user:secret@127.0.0.1:1/data.git#main");
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("use the image whose tag ends in -git"),
        "{told}"
    );
    assert!(
        told.contains("--graph-data git+https://") && !told.contains("secret"),
        "{told}"
    );
}

#[test]
fn every_answer_is_counted_and_timed() {
    let towpath = Towpath::serve(&[]);
    towpath.until("it is ready", |it| it.get("/readyz").status == 200);
    for (target, status) in [
        (
            "/api/v1/path?from=4.20.1&to=4.20.3&channels=stable-4.20",
            400,
        ),
        ("/api/v1/explain?channel=stable-4.20&from=4.20.1", 200),
        ("/api/v1/channels", 200),
        ("/api/v1/fleet/status", 404),
        ("/nowhere", 404),
        ("/", 200),
    ] {
        assert_eq!(towpath.get(target).status, status, "{target}");
    }
    let strange = towpath.get_with("/api/v1/lint", &[("host", "elsewhere.example")]);
    assert_eq!(strange.status, 400, "two hosts");
    let text = towpath.get("/metrics").text();
    let value = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is not in\n{text}"))
            .to_owned()
    };
    for (endpoint, status) in [
        ("path", 400),
        ("explain", 200),
        ("channels", 200),
        ("status", 404),
        ("", 404),
        ("lint", 400),
    ] {
        let counted =
            format!("towpath_requests_total{{endpoint=\"{endpoint}\",status=\"{status}\"}}");
        assert_eq!(value(&counted), "1", "{counted}");
        let timed = format!("towpath_request_duration_seconds_count{{endpoint=\"{endpoint}\"}}");
        assert_eq!(value(&timed), "1", "{timed}");
    }
}

//! Which copies are not taken while it serves, which always are, and that no secret of a source is told.

use std::fs;

use crate::sources::{BLOCK, Behaviour, Server, Site, archive, offers, reads, source};
use towpath_testing_services::Towpath;

/// So many hours after the time at which [`Site::git`] begins.
fn hours_until_now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_second() - 1_700_000_000).expect("later") / 3_600
}

/// The kind of what is wrong with a source, once it is shown.
pub(crate) fn problem(towpath: &Towpath, name: &str) -> String {
    let readiness = towpath.get("/readyz").json();
    let is_it = |source: &&serde_json::Value| source["name"] == name;
    let source = readiness["sources"]
        .as_array()
        .and_then(|sources| sources.iter().find(is_it));
    source
        .and_then(|source| source["problem"]["kind"].as_str())
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_branch_that_is_pushed_back_is_refused_until_somebody_allows_it() {
    let site = Site::new();
    let repository = site.repository();
    fs::write(site.block(), BLOCK).unwrap();
    site.commit(60);
    let towpath = site.serve(&repository, &site.text("releases.json"), &[]);
    assert!(!offers(&towpath));
    site.git(120, &["reset", "-q", "--hard", "HEAD~1"]);
    site.read(&towpath, "graph-data", "refused");
    assert_eq!(
        source(&towpath, "graph-data")["problem"]["kind"],
        "back-in-time"
    );
    assert!(!offers(&towpath), "the block stays");
    let allow = r#"{"source":"graph-data","allow":["back"]}"#;
    assert_eq!(
        site.reload(&towpath, allow).status,
        403,
        "whoever may only wake readers allows nothing"
    );
    let allowed = site.reload_as(&site.token("--admin"), &towpath, allow);
    assert_eq!(allowed.status, 202);
    towpath.until("the older commit is taken", offers);
    // Once is once.
    site.git(30, &["reset", "-q", "--hard"]);
    fs::write(site.block(), BLOCK).unwrap();
    site.commit(90);
    site.read(&towpath, "graph-data", "changed");
    site.git(120, &["reset", "-q", "--hard", "HEAD~1"]);
    site.read(&towpath, "graph-data", "refused");
}

#[test]
fn what_is_allowed_is_the_copy_that_was_refused() {
    let site = Site::new();
    let repository = site.repository();
    fs::write(site.block(), BLOCK).unwrap();
    site.commit(60);
    let towpath = site.serve(&repository, &site.text("releases.json"), &[]);
    site.git(120, &["reset", "-q", "--hard", "HEAD~1"]);
    site.read(&towpath, "graph-data", "refused");
    // Before anybody allows it, something else is there that has to be refused too.
    fs::write(
        site.path("graph-data/blocked-edges/4.20.2-more.yaml"),
        "to: 4.20.2\nfrom: 4[.]18.*\n",
    )
    .unwrap();
    site.commit(1);
    let before = reads(&towpath, "graph-data", "refused");
    let allow = r#"{"source":"graph-data","allow":["back"]}"#;
    assert_eq!(
        site.reload_as(&site.token("--admin"), &towpath, allow)
            .status,
        202
    );
    towpath.until("it is refused", |t| {
        reads(t, "graph-data", "refused") > before
    });
    assert!(!offers(&towpath), "nobody has looked at that one");
    site.git(120, &["reset", "-q", "--hard", "HEAD~1"]);
    site.read(&towpath, "graph-data", "changed");
    towpath.until("what was allowed is served", offers);
}

#[test]
fn a_block_gets_through_whatever_the_clock_of_its_author_says() {
    let site = Site::new();
    let repository = site.repository();
    site.commit(60);
    let towpath = site.serve(&repository, &site.text("releases.json"), &[]);
    assert!(offers(&towpath));
    fs::write(site.block(), BLOCK).unwrap();
    site.commit(1);
    site.read(&towpath, "graph-data", "changed");
    towpath.until("the block holds", |t| !offers(t));
}

#[test]
fn a_commit_from_the_future_does_not_block_later_ones() {
    let site = Site::new();
    let repository = site.repository();
    fs::write(site.block(), BLOCK).unwrap();
    site.commit(hours_until_now() + 24 * 365);
    let towpath = site.serve(&repository, &site.text("releases.json"), &[]);
    assert!(!offers(&towpath));
    fs::remove_file(site.block()).unwrap();
    site.commit(hours_until_now());
    site.read(&towpath, "graph-data", "changed");
    towpath.until("the block is gone, as its author meant", offers);
}

#[test]
fn blocks_that_go_one_by_one_are_missed_also_across_a_restart() {
    let site = Site::new();
    let block =
        |number: u32| site.path(&format!("graph-data/blocked-edges/4.20.1-{number:02}.yaml"));
    // About releases that nobody has yet, so that each is in effect.
    let text = |number: u32| format!("to: 4.20.{}\nfrom: .*\n", number + 100);
    let folder = site.path("graph-data/blocked-edges");
    fs::read_dir(&folder)
        .unwrap()
        .for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
    (0..20).for_each(|number| fs::write(block(number), text(number)).unwrap());
    let (data, releases, state) = (
        site.text("graph-data"),
        site.text("releases.json"),
        site.text("state"),
    );
    let serve = || site.serve(&data, &releases, &["--state", &state]);
    let towpath = serve();
    for number in [18, 19] {
        fs::remove_file(block(number)).unwrap();
    }
    towpath.until("two of twenty may go", |t| {
        t.get("/readyz").json()["graph"]["blocks"] == 18
    });
    // A read that comes later is taken in after all of that was kept.
    site.read(&towpath, "graph-data", "unchanged");
    drop(towpath);
    let again = serve();
    fs::remove_file(block(17)).unwrap();
    again.until("the third is missed", |t| {
        problem(t, "graph-data") == "shrinks"
    });
    assert_eq!(
        again.get("/readyz").json()["graph"]["blocks"],
        18,
        "what is served stays"
    );
    fs::write(block(17), text(17)).unwrap();
    again.until("all is well again", |t| problem(t, "graph-data").is_empty());
}

#[test]
fn blocks_that_are_rewritten_to_match_nothing_are_missed() {
    let site = Site::new();
    let folder = site.path("graph-data/blocked-edges");
    fs::read_dir(&folder)
        .unwrap()
        .for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
    let block = |number: u32| folder.join(format!("{number}.yaml"));
    for (number, platform) in [(1, "AWS"), (2, "GCP"), (3, "Azure")] {
        fs::write(
            block(number),
            format!("to: 4.20.1\nfrom: .*\nclusters: {{platforms: [{platform}]}}\n"),
        )
        .unwrap();
    }
    let (repository, releases) = (site.repository(), site.text("releases.json"));
    let towpath = site.serve(&repository, &releases, &[]);
    assert!(!offers(&towpath));
    for (round, text) in [
        (1, "to: 4.20.1\nfrom: ^9[.]9\n"),
        (2, "to: 9.9.9\nfrom: .*\n"),
    ] {
        (1..=3).for_each(|number| fs::write(block(number), text).unwrap());
        site.commit(round);
        site.read(&towpath, "graph-data", "refused");
        assert_eq!(source(&towpath, "graph-data")["problem"]["kind"], "shrinks");
        assert!(!offers(&towpath), "{text}");
    }
}

#[test]
fn an_urgent_block_holds_though_its_copy_is_refused_or_has_a_mistake() {
    let site = Site::new();
    let triage = |number: u32| site.path(&format!("graph-data/blocked-edges/triage-{number}.yaml"));
    let folder = site.path("graph-data/blocked-edges");
    fs::read_dir(&folder)
        .unwrap()
        .for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
    for (number, platform) in [(1, "AWS"), (2, "Azure"), (3, "OpenStack")] {
        fs::write(
            triage(number),
            format!("to: 4.20.1\nfrom: .*\nclusters: {{platforms: [{platform}]}}\n"),
        )
        .unwrap();
    }
    let (repository, state) = (site.repository(), site.text("state"));
    let serve = || {
        site.serve(
            &repository,
            &site.text("releases.json"),
            &["--state", &state],
        )
    };
    let towpath = serve();
    assert!(offers(&towpath));
    (1..=3).for_each(|number| fs::remove_file(triage(number)).unwrap());
    site.commit(1);
    site.read(&towpath, "graph-data", "refused");
    assert!(offers(&towpath));
    // Of one platform more, and with a mistake elsewhere, as an urgent block may be.
    let urgent = "to: 4.20.1\nfrom: .*\nclusters: {platforms: [GCP]}\n";
    fs::write(site.block(), urgent).unwrap();
    site.commit(2);
    site.read(&towpath, "graph-data", "refused");
    towpath.until("the urgent block holds", |t| !offers(t));
    assert_eq!(source(&towpath, "graph-data")["problem"]["kind"], "shrinks");
    let parts = |towpath: &Towpath| {
        source(towpath, "graph-data")["stricterParts"]
            .as_array()
            .unwrap()
            .clone()
    };
    let name = "blocked-edges/4.20.1-new.yaml";
    assert_eq!(
        (parts(&towpath).len(), parts(&towpath)[0]["name"].as_str()),
        (1, Some(name))
    );
    let passed_on = towpath.get("/api/upgrades_info/graph-data");
    assert_eq!(passed_on.status, 200);
    // It survives a restart, also without its source.
    site.read(&towpath, "graph-data", "refused");
    drop(towpath);
    fs::rename(site.path("graph-data"), site.path("away")).unwrap();
    let towpath = serve();
    assert!(!offers(&towpath));
    assert_eq!(parts(&towpath).len(), 1);
    fs::rename(site.path("away"), site.path("graph-data")).unwrap();
    // A person discards it by name, and the same copy does not bring it back.
    let discard = format!(r#"{{"source":"graph-data","discard":["{name}"]}}"#);
    assert_eq!(
        site.reload(&towpath, &discard).status,
        403,
        "whoever may only wake readers discards nothing"
    );
    let admin = site.token("--admin");
    let unknown = r#"{"source":"graph-data","discard":["blocked-edges/none.yaml"]}"#;
    assert_eq!(site.reload_as(&admin, &towpath, unknown).status, 404);
    assert_eq!(site.reload_as(&admin, &towpath, &discard).status, 202);
    towpath.until("it is discarded", offers);
    site.read(&towpath, "graph-data", "refused");
    assert!(offers(&towpath) && parts(&towpath).is_empty());
    // A mistake in another file does not keep a block out either.
    fs::write(site.path("graph-data/channels/broken.yaml"), "name: [").unwrap();
    fs::write(site.path("graph-data/blocked-edges/urgent.yaml"), BLOCK).unwrap();
    site.commit(3);
    site.read(&towpath, "graph-data", "failed");
    towpath.until("the urgent block holds", |t| !offers(t));
}

#[test]
fn links_out_of_the_directory_show_nothing_and_keep_no_block_out() {
    let site = Site::new();
    let data = site.text("graph-data");
    let towpath = site.serve(&data, &site.text("releases.json"), &[]);
    assert!(offers(&towpath));
    fs::remove_file(site.path("graph-data/version")).unwrap();
    std::os::unix::fs::symlink(site.path("keys"), site.path("graph-data/version")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", site.path("graph-data/blocked-edges/zero.yaml"))
        .unwrap();
    fs::write(site.block(), BLOCK).unwrap();
    towpath.until("the link is told", |t| {
        problem(t, "graph-data") == "link-outside"
    });
    towpath.until("the block holds", |t| !offers(t));
    let told = [towpath.get("/readyz").text(), towpath.logged()].concat();
    assert!(!told.contains("0123456789abcdef"), "{told}");
}

#[test]
fn a_link_in_an_archive_or_a_repository_keeps_no_block_out() {
    let site = Site::new();
    let repository = site.repository();
    let server = Server::start(Behaviour::Send(archive(site.folder.path())));
    let releases = site.text("releases.json");
    let from_archive = site.serve(
        &format!("http://{}/g.tar.gz", server.address),
        &releases,
        &[],
    );
    let from_git = site.serve(&repository, &releases, &[]);
    assert!(offers(&from_archive) && offers(&from_git));
    std::os::unix::fs::symlink(
        "/etc/passwd",
        site.path("graph-data/blocked-edges/link.yaml"),
    )
    .unwrap();
    fs::write(site.block(), BLOCK).unwrap();
    site.commit(1);
    server.behave(Behaviour::Send(archive(site.folder.path())));
    for (towpath, kind) in [(from_archive, "bad-archive"), (from_git, "git")] {
        site.read(&towpath, "graph-data", "failed");
        towpath.until("the link is told", |t| problem(t, "graph-data") == kind);
        towpath.until("the block holds", |t| !offers(t));
    }
}

#[test]
fn no_secret_of_an_address_is_told() {
    let site = Site::new();
    let server = Server::start(Behaviour::Send(archive(site.folder.path())));
    let (secrets, state) = (["s3cret-pass", "t0k3n", "a1b2c3sig"], site.text("state"));
    let [password, token, signature] = secrets;
    let address = server.address;
    let url = format!(
        "http://user:{password}@{address}/g.tar.gz?token={token}&X-Amz-Signature={signature}"
    );
    let upstream = format!("http://{address}/graph?token={token}#channels=fast-4.20&name=up");
    let towpath = Towpath::serve(&[
        "--graph-data",
        &url,
        "--releases",
        &upstream,
        "--state",
        &state,
    ]);
    towpath.until("the service is not understood", |t| {
        !problem(t, "up").is_empty()
    });
    let releases = site.text("releases.json");
    let other = site.serve(&url, &releases, &["--state", &site.text("other")]);
    for behaviour in [
        Behaviour::Status(500),
        Behaviour::Status(401),
        Behaviour::HangUp,
        Behaviour::RedirectForEver,
        Behaviour::Send(b"no archive".to_vec()),
    ] {
        server.behave(behaviour);
        site.read(&other, "graph-data", "failed");
        let told = [
            other.get("/readyz").text(),
            towpath.get("/readyz").text(),
            other.get("/metrics").text(),
        ]
        .concat();
        assert!(
            secrets.iter().all(|secret| !told.contains(secret)),
            "{told}"
        );
    }
    assert_eq!(
        source(&other, "graph-data")["location"],
        format!("http://…@{address}/g.tar.gz?token=…&X-Amz-Signature=…")
    );
    let kept = fs::read(site.path("other/current")).unwrap();
    let told = [
        towpath.logged(),
        other.logged(),
        String::from_utf8_lossy(&kept).into_owned(),
    ]
    .concat();
    assert!(told.contains("the server answered 500"), "{told}");
    assert!(
        secrets.iter().all(|secret| !told.contains(secret)),
        "{told}"
    );
}

//! The fleet's commands act on what they were told, and on nothing else.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn towpath(folder: &Path, command: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(command.split(' '))
        .current_dir(folder)
        .output()
        .expect("it runs")
}

fn refused(folder: &Path, command: &str) -> String {
    let told = towpath(folder, command);
    let text = String::from_utf8(told.stderr.clone()).expect("text");
    assert_eq!(told.status.code(), Some(2), "{command}: {told:?}");
    text
}

fn succeeds(folder: &Path, command: &str) {
    let told = towpath(folder, command);
    assert_eq!(told.status.code(), Some(0), "{command}: {told:?}");
}

/// A folder with the example's files.
fn site() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    succeeds(folder.path(), "example .");
    folder
}

#[test]
fn a_flag_that_a_command_does_not_honour_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    for (command, flag) in [
        ("fleet run --once --org acme", "--org"),
        ("fleet run --once --sector prod", "--sector"),
        ("fleet run --once --workload w", "--workload"),
        ("fleet run --once --held-by soak", "--held-by"),
        ("fleet run --once --limit 3", "--limit"),
        ("fleet run --once --output json", "--output"),
        ("fleet lint --org acme", "--org"),
        ("fleet why shop-eu --sector prod", "--sector"),
    ] {
        let text = refused(folder.path(), command);
        let expected = format!("unexpected argument '{flag}' found");
        assert!(text.contains(&expected), "{command}: {text}");
    }
    for (command, problem) in [
        ("fleet run --once --every 5", "cannot be used with"),
        ("fleet run --every 0", "0 is not in 1..=86400"),
        ("fleet plan --limit 0", "number would be zero"),
        (
            "fleet plan --output markdown",
            "possible values: text, json",
        ),
        (
            "duration estimate 4.14.30 4.15.20 --max-unavailable 3",
            "--nodes",
        ),
        ("fleet pause --sector prod --why INC-7", "--fleet"),
    ] {
        let text = refused(folder.path(), command);
        assert!(text.contains(problem), "{command}: {text}");
    }
}

#[test]
fn no_command_but_those_that_fill_a_store_makes_one() {
    let site = site();
    for command in [
        "fleet pause --why INC-7",
        "fleet resume",
        "fleet approve 4.20.5 --org acme",
        "fleet acknowledge gate-1 --cluster c",
        "fleet forget c",
        "fleet check",
        "fleet backup copy.db",
        "fleet upgrades",
        "fleet replay",
        "fleet plan --fleet fleet",
        "fleet status --fleet fleet",
        "fleet why shop-eu --fleet fleet",
        "fleet history --fleet fleet",
        "fleet forecast --fleet fleet",
        "fleet lint --fleet fleet",
    ] {
        let text = refused(site.path(), &format!("{command} --store sqlite:typo.db"));
        assert!(
            text.contains("there is no store at sqlite:typo.db"),
            "{command}: {text}"
        );
        assert!(!site.path().join("typo.db").exists(), "{command}");
        assert!(!site.path().join("copy.db").exists(), "{command}");
    }
    // What is somebody else's is not taken for a store either, and stays as it is.
    let folder = site.path();
    std::fs::create_dir(folder.join("dir")).unwrap();
    std::fs::write(folder.join("text"), "abc").unwrap();
    std::fs::write(folder.join("empty.db"), "").unwrap();
    for (name, mode) in [("dir", 0o755), ("text", 0o644), ("empty.db", 0o644)] {
        let path = folder.join(name);
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        for command in ["fleet check", "fleet import clusters.json"] {
            if (name, command) != ("empty.db", "fleet import clusters.json") {
                refused(folder, &format!("{command} --store sqlite:{name}"));
                assert_eq!(
                    std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                    mode,
                    "{name}"
                );
            }
        }
    }
    assert_eq!(std::fs::read(folder.join("empty.db")).unwrap(), b"");
    assert_eq!(std::fs::read(folder.join("text")).unwrap(), b"abc");
    let text = refused(folder, "fleet check --store sqlite:empty.db");
    assert!(
        text.contains("there is no store at sqlite:empty.db"),
        "{text}"
    );
}

#[test]
fn another_file_is_no_empty_list_of_clusters() {
    let site = site();
    let folder = site.path();
    let files = "--fleet fleet --store sqlite:fleet.db --now 2026-11-18T12:00:00Z";
    succeeds(
        folder,
        &format!("fleet run --once --clusters clusters.json {files}"),
    );
    let told = towpath(
        folder,
        &format!("fleet run --once --clusters fleet/organisation.yaml {files}"),
    );
    let told = format!("{told:?}");
    assert!(told.contains("this is not a list of clusters"), "{told}");
    refused(folder, "fleet import releases.json --store sqlite:other.db");
    assert!(!folder.join("other.db").exists());
    let upgrades = towpath(folder, "fleet upgrades --store sqlite:fleet.db");
    let upgrades = String::from_utf8(upgrades.stdout).unwrap();
    assert!(
        upgrades.contains("planned") && !upgrades.contains("cancelled"),
        "{upgrades}"
    );
}

#[test]
fn what_concerns_nobody_is_refused_and_changes_nothing() {
    let site = site();
    let folder = site.path();
    succeeds(folder, "fleet import clusters.json --store sqlite:fleet.db");
    for (command, problem) in [
        (
            "fleet pause --org acem --why INC-7",
            "no known cluster is in organisation acem; known organisations: ",
        ),
        (
            "fleet approve 4.20.5 --org acem",
            "no known cluster is in organisation acem",
        ),
        (
            "fleet approve 4.20.5 --org acme --cluster nobody",
            "acme has no cluster nobody; its clusters: ",
        ),
        (
            "fleet acknowledge gate-1 --cluster 99999999-0000-4000-8000-000000000005",
            "no cluster has the id 99999999",
        ),
    ] {
        let text = refused(folder, &format!("{command} --store sqlite:fleet.db"));
        assert!(
            text.contains("nobody is concerned") && text.contains(problem),
            "{command}: {text}"
        );
    }
    // To pause is the safe side: a policy that cannot be read does not stand in the way.
    std::fs::write(folder.join("fleet/broken.yaml"), "sectors: [").unwrap();
    for policy in ["nowhere", "fleet"] {
        let told = towpath(
            folder,
            &format!(
                "fleet pause --org acme --sector prod --fleet {policy} --why INC-7 --store sqlite:fleet.db"
            ),
        );
        let text = String::from_utf8(told.stdout).unwrap();
        assert_eq!(told.status.code(), Some(1), "{policy}: {text}");
        assert!(
            text.contains("Paused in sector prod") && text.contains("could not be checked"),
            "{policy}: {text}"
        );
    }
    let told = towpath(folder, "fleet resume --org acem --store sqlite:fleet.db");
    let text = String::from_utf8(told.stdout).unwrap();
    assert!(
        text.starts_with("Nothing was paused in organisation acem.\n  paused in sector prod"),
        "{text}"
    );
}

/// The versions that a list offers stay known: a later pass without the list judges by them.
#[test]
fn a_plan_that_was_made_with_a_list_stands_when_the_list_is_gone() {
    let folder = site();
    let policy = "{name: a, orgId: a, upgradePolicyClusters: [{name: shop, upgradePolicy: {workloads: [web], schedule: '* * * * *', conditions: {soakDays: 0}}}]}";
    let list = r#"[{"id": "aaaaaaaa-0000-4000-8000-000000000001", "name": "shop", "organisation": "a", "version": "4.20.2", "availableUpgrades": ["4.20.4"]}]"#;
    std::fs::create_dir(folder.path().join("own")).unwrap();
    std::fs::write(folder.path().join("own/a.yaml"), policy).unwrap();
    std::fs::write(folder.path().join("list.json"), list).unwrap();
    let pass = |more: &str, now: &str| {
        let command =
            format!("fleet run --once --fleet own --store sqlite:own.db{more} --now {now}");
        let told = towpath(folder.path(), &command);
        assert!(told.status.success(), "{told:?}");
        String::from_utf8(told.stdout).unwrap()
    };
    let first = pass(" --clusters list.json", "2026-11-16T12:00Z");
    assert!(first.contains("1 planned"), "{first}");
    assert!(first.contains("at most 30 minutes apart"), "{first}");
    let second = pass("", "2026-11-16T13:00Z");
    assert!(second.contains("1 began, 0 ended, 0 cancelled"), "{second}");
    let third = pass(
        " --graph-data graph-data --releases releases.json",
        "2026-11-16T13:01Z",
    );
    assert!(third.contains("0 cancelled"), "{third}");
}

#[test]
fn a_fleet_without_clusters_is_no_answer() {
    let folder = site();
    for command in ["plan", "status", "history", "forecast"] {
        let text = refused(folder.path(), &format!("fleet {command} --fleet fleet"));
        assert!(text.contains("no cluster is known"), "{command}: {text}");
    }
}

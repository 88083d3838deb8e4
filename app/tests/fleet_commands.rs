//! The fleet's commands act on what they were told, and on nothing else.

#[path = "fleet_commands/acts.rs"]
mod acts;
#[path = "fleet_commands/look.rs"]
mod look;

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
        ("fleet run --once --every 5s", "cannot be used with"),
        (
            "fleet run --every 0s",
            "passEvery is 0s; it must be between 1s and 1d",
        ),
        (
            "fleet run --every 60",
            "\"60\" has no unit; write 60s for seconds",
        ),
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
        "fleet audit-log",
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
        &format!("fleet run --once --rehearse --clusters clusters.json {files}"),
    );
    let told = towpath(
        folder,
        &format!("fleet run --once --rehearse --clusters fleet/organisation.yaml {files}"),
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
            r#"nothing was paused: no cluster has the organisation "acem"; there are: acme"#,
        ),
        (
            "fleet approve 4.20.5 --org acem",
            r#"nothing was approved: no cluster has the organisation "acem"; there are: acme"#,
        ),
        (
            "fleet approve 4.20.5 --org acme --cluster nobody",
            r#"no cluster has the name or id "nobody"; there are: bank, shop-eu"#,
        ),
        (
            "fleet acknowledge gate-1 --cluster 99999999-0000-4000-8000-000000000005",
            r#"nothing was acknowledged: no cluster has the name or id "99999999-"#,
        ),
    ] {
        let text = refused(folder, &format!("{command} --store sqlite:fleet.db"));
        assert!(text.contains(problem), "{command}: {text}");
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
    let text = refused(folder, "fleet resume --org acem --store sqlite:fleet.db");
    let expected =
        "there is no pause of organisation acem; these are the pauses:\n  paused in sector prod";
    assert!(text.contains(expected), "{text}");
    let text = refused(folder, "fleet resume --store sqlite:fleet.db");
    assert!(
        text.contains("there is no pause of the whole fleet"),
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
        let command = format!(
            "fleet run --once --rehearse --fleet own --store sqlite:own.db{more} --now {now}"
        );
        let told = towpath(folder.path(), &command);
        assert!(told.status.success(), "{told:?}");
        String::from_utf8(told.stdout).unwrap()
    };
    let first = pass(" --clusters list.json", "2026-11-16T12:00Z");
    assert!(first.contains("1 planned"), "{first}");
    assert!(first.contains("at most 30 minutes apart"), "{first}");
    let plan = "fleet plan --fleet own --store sqlite:own.db --now 2026-11-16T12:30Z";
    let warned = String::from_utf8(towpath(folder.path(), plan).stderr).unwrap();
    assert!(warned.contains("[list-is-gone]"), "{warned}");
    let second = pass("", "2026-11-16T13:00Z");
    assert!(second.contains("1 began, 0 ended, 0 cancelled"), "{second}");
    let third = pass(
        " --graph-data graph-data --releases releases.json",
        "2026-11-16T13:01Z",
    );
    assert!(third.contains("0 cancelled"), "{third}");
}

/// What the list told besides the clusters counts until there is another list: its soak, and its gates above all.
#[test]
fn the_soak_and_the_gates_of_a_list_count_when_the_list_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let cluster = |name: &str| {
        format!(
            "{{name: {name}, upgradePolicy: {{workloads: [web], schedule: '* * * * *', conditions: {{soakDays: 3}}}}}}"
        )
    };
    std::fs::create_dir(folder.path().join("own")).unwrap();
    let clusters = [cluster("patch"), cluster("minor")].join(", ");
    write(
        "own/a.yaml",
        &format!("{{name: a, orgId: a, upgradePolicyClusters: [{clusters}]}}"),
    );
    write(
        "list.json",
        r#"{"clusters": [
            {"id": "1", "name": "patch", "organisation": "a", "version": "4.12.1", "availableUpgrades": ["4.12.2"]},
            {"id": "2", "name": "minor", "organisation": "a", "version": "4.12.1", "availableUpgrades": ["4.13.0"]}],
            "versionGates": [{"id": "g", "versionPrefix": "4.13", "label": "api.openshift.com/gate-ocp"}],
            "soak": [{"organisation": "a", "workload": "web", "version": "4.12.2", "days": 5},
                     {"organisation": "a", "workload": "web", "version": "4.13.0", "days": 5}]}"#,
    );
    let pass = "fleet run --once --rehearse --fleet own --store sqlite:own.db";
    let (first, _) = told(
        folder.path(),
        &format!("{pass} --clusters list.json --now 2026-11-16T12:00Z"),
    );
    assert!(first.contains("1 planned"), "{first}");
    let (second, _) = told(folder.path(), &format!("{pass} --now 2026-11-16T12:10Z"));
    assert!(
        second.contains("0 planned, 1 began, 0 ended, 0 cancelled"),
        "{second}"
    );
    let (why, _) = told(
        folder.path(),
        "fleet why minor --fleet own --store sqlite:own.db --now 2026-11-16T12:10Z",
    );
    assert!(why.contains("[GateClosed]"), "{why}");
}

#[test]
fn a_fleet_without_clusters_is_no_answer() {
    let folder = site();
    for command in ["plan", "status", "history", "forecast"] {
        let text = refused(folder.path(), &format!("fleet {command} --fleet fleet"));
        assert!(text.contains("no cluster is known"), "{command}: {text}");
    }
}

/// A folder with a policy that wants four soak days, and a list of one cluster behind it.
fn soaking_site() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("written");
    };
    std::fs::create_dir(folder.path().join("fleet")).expect("a folder");
    write(
        "fleet/org.yaml",
        "name: org\norgId: org\nupgradePolicyClusters:\n- {name: prod, upgradePolicy: {workloads: [web], schedule: '* * * * *', conditions: {soakDays: 4}}}\n",
    );
    write(
        "clusters.json",
        r#"{"clusters": [{"id": "1", "name": "prod", "organisation": "org", "version": "4.12.1", "availableUpgrades": ["4.12.2"]}]}"#,
    );
    write(
        "aus.json",
        r#"{"check_in": "2026-01-05T12:00:00", "stats": {"min_version": "4.12.1"},
            "versions": {"4.12.2": {"workloads": {"web": {"soak_days": 4.25, "reporting": ["stage"]}}}}}"#,
    );
    folder
}

fn told(folder: &Path, command: &str) -> (String, String) {
    let told = towpath(folder, command);
    assert_eq!(told.status.code(), Some(0), "{command}: {told:?}");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (text(told.stdout), text(told.stderr))
}

#[test]
fn soak_days_of_aus_are_kept_in_the_store_and_count_once() {
    let site = soaking_site();
    let starts = |list: &str| {
        let plan = format!("fleet plan -o json --fleet fleet --clusters {list}");
        let plan: serde_json::Value =
            serde_json::from_str(&told(site.path(), &plan).0).expect("JSON");
        plan["starts"].as_array().expect("a list").len()
    };
    assert_eq!(starts("clusters.json"), 0, "nothing has soaked");
    let import = "fleet import --aus-state aus.json --org org";
    assert!(
        told(site.path(), import)
            .0
            .contains("4.2 soak days recorded")
    );
    assert_eq!(starts("clusters.json"), 1);
    told(site.path(), import);
    let history = "fleet history -o json --fleet fleet --clusters clusters.json";
    let history = told(site.path(), history).0;
    assert!(history.contains("4.25"), "once, and not twice: {history}");
    let text = refused(site.path(), "fleet import --aus-state aus.json");
    assert!(text.contains("--org"), "{text}");
    let text = refused(
        site.path(),
        "fleet import --aus-state clusters.json --org org",
    );
    assert!(text.contains("this is not the state of AUS"), "{text}");
}

#[test]
fn the_soak_of_an_imported_list_stays_when_the_list_goes() {
    let site = soaking_site();
    let list = std::fs::read_to_string(site.path().join("clusters.json")).expect("read");
    let soak = r#", "soak": [{"organisation": "org", "workload": "web", "version": "4.12.2", "days": 5}]}"#;
    let with_soak = list.strip_suffix('}').expect("an object").to_owned() + soak;
    std::fs::write(site.path().join("with-soak.json"), with_soak).expect("written");
    succeeds(site.path(), "fleet import with-soak.json");
    for list in [
        "",
        " --clusters clusters.json",
        " --clusters with-soak.json",
    ] {
        let history = told(site.path(), &format!("fleet history --fleet fleet{list}")).0;
        let row = history.lines().find(|row| row.contains("4.12.2"));
        let cells: Vec<&str> = row.expect("a row").split_whitespace().collect();
        assert_eq!(
            cells,
            ["org", "4.12.2", "web", "5", "-"],
            "{list}: {history}"
        );
    }
}

#[test]
fn a_plan_says_what_its_list_does_not_tell() {
    let site = soaking_site();
    let plan = "fleet plan --fleet fleet --clusters ";
    let (_, warnings) = told(site.path(), &format!("{plan}clusters.json"));
    for part in ["`versionGates`", "`upgrades`"] {
        assert!(warnings.contains(part), "{warnings}");
    }
    assert!(!warnings.contains("nodePools"), "{warnings}");
    let hosted = r#"{"clusters": [{"id": "1", "name": "prod", "organisation": "org", "version": "4.12.1", "hostedControlPlane": true}],
        "versionGates": [], "upgrades": []}"#;
    std::fs::write(site.path().join("hosted.json"), hosted).expect("written");
    let (_, warnings) = told(site.path(), &format!("{plan}hosted.json"));
    assert!(warnings.contains("`nodePools`"), "{warnings}");
    assert!(!warnings.contains("`upgrades`"), "{warnings}");
}

#[test]
fn each_cluster_is_shown_with_its_policy_and_no_blocked_version_soaks() {
    let site = soaking_site();
    let policy = "name: org\norgId: org\nblockedVersions: ['^4\\.12\\.3$']\nsectors: [{name: late}]\nupgradePolicyClusters:\n\
        - {name: prod, upgradePolicy: {workloads: [web], schedule: '0 10 * * 1-5', conditions: {soakDays: 4, mutexes: [m], sector: late}}}\n\
        - {name: stage, upgradePolicy: {workloads: [web], schedule: '* * * * *', conditions: {soakDays: 0}}}\n";
    let list = r#"{"clusters": [
        {"id": "2", "name": "stage", "organisation": "org", "version": "4.12.3"},
        {"id": "3", "name": "stray", "organisation": "org", "version": "4.12.2"},
        {"id": "4", "name": "ghost", "organisation": "other", "version": "4.12.2"},
        {"id": "1", "name": "prod", "organisation": "org", "version": "4.12.1", "channel": "stable-4.12", "availableUpgrades": ["4.12.2", "4.12.3"]}]}"#;
    std::fs::write(site.path().join("fleet/org.yaml"), policy).expect("written");
    std::fs::write(site.path().join("clusters.json"), list).expect("written");
    let ask = |command: &str| {
        let command = format!("fleet {command} -o json --fleet fleet --clusters clusters.json");
        serde_json::from_str::<serde_json::Value>(&told(site.path(), &command).0).expect("JSON")
    };
    let expected = serde_json::json!({
        "cluster": "1", "name": "prod", "organisation": "org", "version": "4.12.1", "channel": "stable-4.12",
        "noPolicy": null, "schedule": "0 10 * * 1-5", "sector": "late", "mutexes": ["m"], "soakDays": 4,
        "workloads": ["web"], "soaking": ["4.12.2"], "healthy": true, "answer": "wait", "to": "4.12.2",
        "underWay": null,
    });
    for command in [
        "clusters --sector late",
        "clusters --limit 1",
        "clusters --search PRO",
    ] {
        let row = &ask(command)["clusters"][0];
        let expected = expected.as_object().expect("an object").iter();
        for (name, value) in expected {
            assert_eq!(row[name], *value, "{command}: {name}: {row}");
        }
        let held = row["heldBy"].as_array().expect("a list");
        assert!(held.contains(&"soak".into()), "{row}");
    }
    let names = |command: &str| {
        let told = ask(command);
        let names: Vec<String> = told["clusters"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|row| row["name"].as_str().expect("a name").to_owned())
            .collect();
        (
            told["total"].as_u64(),
            told["matching"].as_u64(),
            names.join(" "),
        )
    };
    assert_eq!(
        names("clusters"),
        (Some(4), Some(4), "prod stage stray ghost".into())
    );
    assert_eq!(names("clusters --sort version").2, "prod stray ghost stage");
    assert_eq!(
        names("clusters --version 4.12.3"),
        (Some(4), Some(1), "stage".into())
    );
    assert_eq!(names("clusters --held-by soak").2, "prod");
    assert_eq!(names("clusters --silent-since 2020-01-01").1, Some(0));
    let (text, _) = told(
        site.path(),
        "fleet clusters --search stray --fleet fleet --clusters clusters.json",
    );
    assert!(
        text.contains("no policy") && text.contains("1 of 4 clusters"),
        "{text}"
    );
    let of = |search: &str| ask(&format!("clusters --search {search}"))["clusters"][0].clone();
    assert_eq!(of("stray")["noPolicy"]["code"], "NotSelected");
    assert_eq!(of("ghost")["noPolicy"]["code"], "NoOrganisation");
    assert_eq!(ask("clusters --org other")["clusters"][0]["name"], "ghost");
    let soaking = &ask("status --sector late")["entries"][0]["soaking"];
    assert_eq!(soaking[0]["version"], "4.12.2");
    assert_eq!(soaking.as_array().expect("a list").len(), 1, "{soaking}");
    let (table, _) = told(
        site.path(),
        "fleet clusters --fleet fleet --clusters clusters.json",
    );
    assert!(
        table.contains("CHANNEL") && table.contains("stable-4.12"),
        "{table}"
    );
    let why = "No policy, 1 cluster: no policy file is about the organisation.\n";
    assert!(
        table.contains(" no policy ") && table.contains(why),
        "{table}"
    );
}

#[test]
fn soak_is_not_imported_while_nobody_knows_what_own_time_counts_for() {
    let site = soaking_site();
    let write = |seen: &str| {
        let list = format!(
            r#"{{"clusters": [{{"id": "2", "name": "stage", "organisation": "org", "version": "4.12.2", "lastSeen": "{seen}"}}]}}"#
        );
        std::fs::write(site.path().join("stage.json"), list).expect("written");
        succeeds(site.path(), "fleet import stage.json");
    };
    write("2026-01-05T12:00:00Z");
    write("2026-01-05T12:30:00Z");
    let import = "fleet import --aus-state aus.json --org org";
    let text = refused(site.path(), import);
    assert!(text.contains("nobody knows its workloads"), "{text}");
    let policy = "name: org\norgId: org\nupgradePolicyClusters:\n- {name: stage, upgradePolicy: {workloads: [web], schedule: '* * * * *'}}\n";
    std::fs::write(site.path().join("fleet/org.yaml"), policy).expect("written");
    let (said, _) = told(site.path(), &format!("{import} --fleet fleet"));
    assert!(said.contains("already"), "half an hour counts once: {said}");
    let history = "fleet history -o json --fleet fleet --clusters stage.json";
    let history: serde_json::Value =
        serde_json::from_str(&told(site.path(), history).0).expect("JSON");
    assert_eq!(
        history["entries"][0]["soakSeconds"], 367_200,
        "4.25 days: {history}"
    );
}

#[test]
fn a_name_that_no_cluster_has_is_no_answer() {
    let folder = site();
    for command in ["plan", "status", "history", "forecast", "clusters"] {
        for (flag, expected) in [
            (
                "--org nope",
                r#"no cluster has the organisation "nope"; there are: acme"#,
            ),
            (
                "--sector nope",
                r#"no cluster has the sector "nope"; there are: production, stage"#,
            ),
            (
                "--workload nope",
                r#"no cluster has the workload "nope"; there are: payments, web"#,
            ),
        ] {
            let text = refused(
                folder.path(),
                &format!("fleet {command} {flag} --fleet fleet --clusters clusters.json"),
            );
            assert!(text.contains(expected), "{command}: {text}");
        }
    }
}

/// What was last listed for a cluster counts only where there is no list at all.
#[test]
fn a_cluster_that_left_the_list_is_offered_nothing() {
    let site = soaking_site();
    let entry = |id: &str, name: &str| {
        format!(
            r#"{{"id": "{id}", "name": "{name}", "organisation": "org", "version": "4.12.1", "availableUpgrades": ["4.12.2"]}}"#
        )
    };
    let list = |entries: &[String]| format!(r#"{{"clusters": [{}]}}"#, entries.join(","));
    let write = |name: &str, text: String| std::fs::write(site.path().join(name), text).unwrap();
    let policy = |name: &str| {
        format!(
            "- {{name: {name}, upgradePolicy: {{workloads: [web], schedule: '* * * * *', conditions: {{soakDays: 0}}}}}}\n"
        )
    };
    let policies = policy("stays") + &policy("left");
    write(
        "fleet/org.yaml",
        format!("name: org\norgId: org\nupgradePolicyClusters:\n{policies}"),
    );
    write(
        "both.json",
        list(&[entry("1", "stays"), entry("2", "left")]),
    );
    write("one.json", list(&[entry("1", "stays")]));
    succeeds(site.path(), "fleet import both.json --store sqlite:a.db");
    let starts = |more: &str| {
        let command = format!("fleet plan -o json --fleet fleet --store sqlite:a.db{more}");
        let plan: serde_json::Value =
            serde_json::from_str(&told(site.path(), &command).0).expect("JSON");
        plan["starts"].as_array().expect("a list").len()
    };
    assert_eq!(starts(""), 2, "there is no list, so the last one counts");
    assert_eq!(starts(" --clusters one.json"), 1);
}

#[test]
fn a_misspelt_field_of_a_cluster_is_told() {
    let site = soaking_site();
    let list = r#"[{"id": "1", "name": "prod", "organisation": "org", "version": "4.12.1", "helthy": false}]"#;
    std::fs::write(site.path().join("clusters.json"), list).expect("written");
    let (_, warned) = told(
        site.path(),
        "fleet plan --fleet fleet --clusters clusters.json",
    );
    assert!(
        warned.contains(r#"a cluster has no field "helthy"; it is ignored"#),
        "{warned}"
    );
    let text = refused(site.path(), "fleet import clusters.json --org org");
    assert!(text.contains("--org"), "{text}");
}

#[test]
fn a_preflight_is_asked_of_clusters_that_are_offered_the_version_and_of_nobody_by_mistake() {
    let folder = site();
    let at = folder.path();
    succeeds(at, "fleet import clusters.json --store sqlite:t.db");
    let fleet = "--fleet fleet --clusters clusters.json --store sqlite:t.db";
    for (command, problem) in [
        ("4.20.3 --sector nowhere", "no cluster has the sector"),
        ("4.20.3 --cluster nobody", "there is no cluster nobody"),
        ("4.11.9", "nothing was asked"),
        ("--at-once 3", "required arguments were not provided"),
        ("4.20.3 --at-once 0", "0 is not in 1..=10000"),
    ] {
        let text = refused(at, &format!("fleet preflight {command} {fleet}"));
        assert!(text.contains(problem), "{command}: {text}");
    }
    let text = |command: &str| {
        let told = towpath(at, &format!("fleet {command} {fleet}"));
        assert_eq!(told.status.code(), Some(0), "{command}: {told:?}");
        String::from_utf8(told.stdout).expect("text")
    };
    let json = |command: &str| -> serde_json::Value {
        serde_json::from_str(&text(command)).expect("JSON")
    };
    assert_eq!(
        json("preflight -o json"),
        serde_json::json!({"preflights": []})
    );
    let asked = json("preflight 4.20.3 --at-once 2 -o json");
    let clusters = asked["clusters"].as_u64().expect("a count");
    assert!(clusters > 0, "{asked}");
    let listed = json("preflight -o json");
    let listed = listed["preflights"].as_array().expect("a list");
    assert_eq!(listed.len() as u64, clusters);
    assert_eq!(listed[0]["state"], "asked");
    let by = listed[0]["by"].as_str().expect("a name");
    assert!(
        by.starts_with("local:"),
        "the operating system's user: {by}"
    );
    let name = listed[0]["name"].as_str().expect("a name");
    assert!(text("preflight").contains("asked"));
    let why = json(&format!("why {name} -o json"));
    assert_eq!(why["preflights"][0]["version"], "4.20.3");
    assert!(text(&format!("why {name}")).contains("its preflights:"));
}

//! What people do, and what a pass may do: nothing at a false time, nothing about what nobody knows, and it is told as JSON, too.

use serde_json::{Value, json};

use super::{Path, refused, site, soaking_site, succeeds, told, towpath};

fn done(folder: &Path, command: &str) -> Value {
    serde_json::from_str(&told(folder, &format!("{command} -o json")).0).expect("JSON")
}

#[test]
fn a_pass_at_another_time_than_the_clocks_is_a_rehearsal() {
    let site = site();
    let pass = "fleet run --once --fleet fleet --clusters clusters.json --store sqlite:f.db";
    for command in [
        format!("{pass} --now 2026-11-18T12:00Z"),
        format!("{pass} --rehearse"),
    ] {
        let text = refused(site.path(), &command);
        assert!(text.contains("acts for real"), "{command}: {text}");
    }
    let by_environment = std::process::Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(pass.split(' '))
        .env("TOWPATH_NOW", "+1d")
        .current_dir(site.path())
        .output()
        .expect("it runs");
    assert_eq!(by_environment.status.code(), Some(2), "{by_environment:?}");
    assert!(!site.path().join("f.db").exists(), "nothing was done");
    succeeds(
        site.path(),
        &format!("{pass} --rehearse --now 2026-11-18T12:00Z"),
    );
}

#[test]
fn a_pass_that_cannot_be_made_fails_and_leaves_no_store() {
    let site = site();
    let folder = site.path();
    std::fs::create_dir(folder.join("empty")).expect("a folder");
    std::fs::write(folder.join("broken.json"), "[{").expect("written");
    for (arguments, problem) in [
        (
            "--fleet empty --clusters clusters.json",
            "no file in this directory is a policy",
        ),
        ("--fleet fleet --clusters broken.json", "broken.json"),
        ("--fleet nowhere", "nowhere"),
    ] {
        let text = refused(
            folder,
            &format!("fleet run --once --store sqlite:new.db {arguments}"),
        );
        assert!(text.contains(problem), "{arguments}: {text}");
        let left = std::fs::read_dir(folder).expect("a folder");
        let left = left.filter_map(|entry| entry.expect("an entry").file_name().into_string().ok());
        let left: Vec<String> = left.filter(|name| name.starts_with("new.db")).collect();
        assert_eq!(left, [""; 0], "{arguments}");
    }
    // One that was there stays.
    succeeds(folder, "fleet import clusters.json --store sqlite:old.db");
    refused(
        folder,
        "fleet run --once --store sqlite:old.db --fleet empty",
    );
    succeeds(folder, "fleet check --store sqlite:old.db");
}

#[test]
fn versions_and_gates_that_nobody_knows_are_refused() {
    let site = site();
    let folder = site.path();
    succeeds(folder, "fleet import clusters.json --store sqlite:fleet.db");
    let text = refused(
        folder,
        "fleet approve 4.20.55 --org acme --store sqlite:fleet.db",
    );
    let expected = "nothing was approved: nobody knows a version 4.20.55; available are: 4.21.0-rc.1, 4.20.5, ";
    assert!(text.contains(expected), "{text}");
    let text = refused(
        folder,
        "fleet acknowledge gate-9 --cluster bank --store sqlite:fleet.db",
    );
    assert!(
        text.contains(r#"there is no gate "gate-9"; no list"#),
        "{text}"
    );
    // A gate is known once a pass has read it from a list, and a version if the graph has it.
    let list = std::fs::read_to_string(folder.join("clusters.json")).expect("read");
    let gates = r#", "versionGates": [{"id": "gate-1", "versionPrefix": "4.21", "label": "api.openshift.com/gate-ocp"}]}"#;
    let with_gates = list
        .trim_end()
        .strip_suffix('}')
        .expect("an object")
        .to_owned()
        + gates;
    std::fs::write(folder.join("gates.json"), with_gates).expect("written");
    succeeds(
        folder,
        "fleet run --once --fleet fleet --clusters gates.json --store sqlite:fleet.db",
    );
    let text = refused(
        folder,
        "fleet acknowledge gate-9 --cluster bank --store sqlite:fleet.db",
    );
    assert!(text.contains("there are: gate-1"), "{text}");
    let approve = "fleet approve 4.19.16 --org acme --store sqlite:fleet.db";
    refused(folder, approve);
    succeeds(
        folder,
        &format!("{approve} --graph-data graph-data --releases releases.json"),
    );
    let bank = "11111111-0000-4000-8000-000000000005";
    for whose in ["bank", bank] {
        let command = format!("fleet acknowledge gate-1 --cluster {whose} --store sqlite:fleet.db");
        let expected =
            json!({"kind": "acknowledged", "gate": "gate-1", "cluster": bank, "name": "bank"});
        assert_eq!(done(folder, &command), expected);
    }
}

#[test]
fn what_was_done_is_told_as_json() {
    let site = site();
    let folder = site.path();
    let act = |command: &str| done(folder, &format!("{command} --store sqlite:fleet.db"));
    let imported = act("fleet import clusters.json");
    assert_eq!(
        (
            &imported["kind"],
            &imported["clusters"],
            &imported["changed"]
        ),
        (&json!("imported"), &json!(5), &json!(5))
    );
    let paused = act("fleet pause --org acme --why INC-1");
    assert_eq!(
        (&paused["kind"], &paused["organisation"]),
        (&json!("paused"), &json!("acme"))
    );
    let resumed = act("fleet resume --org acme");
    assert_eq!(
        (&resumed["kind"], &resumed["pauses"]),
        (&json!("resumed"), &json!(1))
    );
    let approved = act("fleet approve 4.20.4 --org acme --cluster bank");
    assert_eq!(
        approved,
        json!({"kind": "approved", "version": "4.20.4", "organisation": "acme", "cluster": "bank", "clusters": 1})
    );
    assert_eq!(act("fleet forget bank")["kind"], "forgotten");
    let text = refused(folder, "fleet forget bank --store sqlite:fleet.db");
    assert!(
        text.contains(r#"nothing was forgotten: no cluster has the name or id "bank""#),
        "{text}"
    );
}

#[test]
fn upgrades_of_one_cluster_by_name_or_id() {
    let site = soaking_site();
    let folder = site.path();
    let policy = "name: org\norgId: org\nupgradePolicyClusters:\n- {name: prod, upgradePolicy: {workloads: [web], schedule: '* * * * *', conditions: {soakDays: 0}}}\n- {name: other, upgradePolicy: {workloads: [web], schedule: '* * * * *', conditions: {soakDays: 0}}}\n";
    std::fs::write(folder.join("fleet/org.yaml"), policy).expect("written");
    let cluster = |id: &str, name: &str| json!({"id": id, "name": name, "organisation": "org", "version": "4.12.1", "availableUpgrades": ["4.12.2"]});
    let list = json!([cluster("1", "prod"), cluster("2", "other")]).to_string();
    std::fs::write(folder.join("clusters.json"), list).expect("written");
    succeeds(
        folder,
        "fleet run --once --fleet fleet --clusters clusters.json --store sqlite:f.db",
    );
    let upgrades = |more: &str| {
        let all = done(folder, &format!("fleet upgrades --store sqlite:f.db{more}"));
        let names = all["entries"].as_array().expect("a list").iter();
        let mut names: Vec<Value> = names.map(|upgrade| upgrade["name"].clone()).collect();
        names.sort_by_key(Value::to_string);
        names
    };
    assert_eq!(upgrades(""), ["other", "prod"]);
    assert_eq!(upgrades(" --cluster prod"), ["prod"]);
    assert_eq!(upgrades(" --cluster 2"), ["other"]);
    let text = refused(
        folder,
        "fleet upgrades --cluster nobody --store sqlite:f.db",
    );
    assert!(text.contains("there are: other, prod"), "{text}");
    assert_eq!(towpath(folder, "fleet upgrades").status.code(), Some(2));
}

/// A day with one cancelled upgrade: it never starts, nobody else waits, and it is planned again once somebody lifts that.
#[test]
fn a_cancelled_upgrade_never_starts_and_one_that_runs_is_not_cancelled() {
    let site = soaking_site();
    let folder = site.path();
    let policy = "name: org\norgId: org\nupgradePolicyClusters:\n- {name: prod, upgradePolicy: {workloads: [web], schedule: '* * * * *', conditions: {soakDays: 0}}}\n- {name: other, upgradePolicy: {workloads: [web], schedule: '* * * * *', conditions: {soakDays: 0}}}\n";
    std::fs::write(folder.join("fleet/org.yaml"), policy).expect("written");
    let cluster = |id: &str, name: &str| json!({"id": id, "name": name, "organisation": "org", "version": "4.12.1", "availableUpgrades": ["4.12.2"]});
    let list = json!([cluster("a-1", "prod"), cluster("b-2", "other")]).to_string();
    std::fs::write(folder.join("clusters.json"), list).expect("written");
    let pass = |minute: &str| {
        succeeds(
            folder,
            &format!(
                "fleet run --once --rehearse --now 2026-01-05T{minute}Z --fleet fleet --clusters clusters.json --store sqlite:f.db"
            ),
        );
    };
    let states = || {
        let all = done(folder, "fleet upgrades --store sqlite:f.db");
        let entries = all["entries"].as_array().expect("a list").iter();
        let mut states: Vec<String> = entries
            .map(|one| {
                format!(
                    "{} {}",
                    one["name"].as_str().expect("a name"),
                    one["state"].as_str().expect("a state")
                )
            })
            .collect();
        states.sort();
        states
    };
    pass("09:00");
    assert_eq!(states(), ["other planned", "prod planned"]);
    let cancelled = done(folder, "fleet cancel prod --why INC-1 --store sqlite:f.db");
    assert_eq!(
        (&cancelled["kind"], &cancelled["name"]),
        (&json!("cancelled"), &json!("prod"))
    );
    let again = told(folder, "fleet cancel prod --why INC-1 --store sqlite:f.db").0;
    assert!(again.contains("was cancelled before, by local:"), "{again}");
    // Its time has come.
    pass("09:08");
    assert_eq!(states(), ["other started", "prod cancelled"]);
    pass("09:20");
    assert_eq!(
        states(),
        ["other started", "prod cancelled"],
        "it is not planned again"
    );
    let look = "--now 2026-01-05T09:20Z --fleet fleet --clusters clusters.json --store sqlite:f.db";
    let why = towpath(folder, &format!("fleet why prod 4.12.2 {look}"));
    let said = String::from_utf8(why.stdout).expect("text");
    assert_eq!(why.status.code(), Some(1), "{said}");
    assert!(
        said.contains("cancelled this upgrade") && said.contains("INC-1"),
        "{said}"
    );

    let late = refused(folder, "fleet cancel other --why INC-2 --store sqlite:f.db");
    assert!(
        late.contains("is under way since") && late.contains("`towpath fleet pause`"),
        "{late}"
    );
    let nothing = refused(folder, "fleet cancel prod --why INC-2 --store sqlite:f.db");
    assert!(
        nothing.contains("no upgrade of prod is planned"),
        "{nothing}"
    );
    let unknown = refused(folder, "fleet cancel 99 --why INC-2 --store sqlite:f.db");
    assert!(unknown.contains("there is no upgrade 99"), "{unknown}");

    let lifted = told(
        folder,
        "fleet resume --cluster prod --why fixed --store sqlite:f.db",
    )
    .0;
    assert_eq!(lifted, "prod may be planned to 4.12.2 again.\n");
    let twice = refused(folder, "fleet resume --cluster prod --store sqlite:f.db");
    assert!(twice.contains("no upgrade of prod is cancelled"), "{twice}");
    pass("09:30");
    assert_eq!(
        states(),
        ["other started", "prod cancelled", "prod planned"]
    );
    let acts = told(folder, &format!("fleet acts {look}")).0;
    assert!(
        acts.contains("cancelled: prod to 4.12.2 (upgrade") && acts.contains("lifted"),
        "{acts}"
    );
    let standing = told(folder, &format!("fleet acts --standing {look}")).0;
    assert!(standing.starts_with("Nobody has paused"), "{standing}");
}

#[test]
fn an_approval_is_withdrawn_where_it_was_given_and_the_answer_says_what_stands() {
    let site = site();
    let folder = site.path();
    succeeds(folder, "fleet import clusters.json --store sqlite:fleet.db");
    for whom in ["", " --cluster bank"] {
        succeeds(
            folder,
            &format!("fleet approve 4.20.4 --org acme{whom} --why tested --store sqlite:fleet.db"),
        );
    }
    let withdraw = "fleet withdraw approval 4.20.4 --org acme --why INC-1 --store sqlite:fleet.db";
    let withdrawn = told(folder, withdraw).0;
    assert!(
        withdrawn.starts_with("The approval of 4.20.4 for all of acme by local:"),
        "{withdrawn}"
    );
    assert!(
        withdrawn.contains("Still in force: the approval of 4.20.4 for bank, by local:"),
        "{withdrawn}"
    );
    let problem = refused(folder, withdraw);
    assert!(problem.contains("there is no approval of 4.20.4 for all of acme; there are: the approval of 4.20.4 for bank"), "{problem}");
    let problem = refused(
        folder,
        "fleet withdraw acknowledgement gate-1 --cluster bank --why INC-1 --store sqlite:fleet.db",
    );
    assert!(
        problem.contains("nobody has acknowledged gate gate-1 for bank here"),
        "{problem}"
    );
    let problem = refused(
        folder,
        "fleet approve 4.20.4 --org acme --by eve --store sqlite:fleet.db",
    );
    assert!(problem.contains("--by"), "{problem}");
}

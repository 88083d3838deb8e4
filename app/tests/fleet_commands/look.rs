//! What those who look are told: what starts and when, what is on its way, who waits or never starts, and why.

use serde_json::{Value, json};

use super::{Path, refused, site, told, towpath};

const NOON: &str = "--now 2026-11-18T12:00Z";

/// A folder with a policy and a list.
fn fleet_of(policies: &[(&str, &str)], list: &Value) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = |(name, more): &(&str, &str)| {
        format!(
            "- {{name: {name}, upgradePolicy: {{workloads: [web], schedule: '* * * * *', {more}}}}}\n"
        )
    };
    let policies: String = policies.iter().map(policy).collect();
    let organisation = format!(
        "name: org\norgId: org\nsectors: [{{name: early}}, {{name: late, dependencies: [{{name: early}}]}}]\nupgradePolicyClusters:\n{policies}"
    );
    std::fs::create_dir(folder.path().join("fleet")).expect("a folder");
    std::fs::write(folder.path().join("fleet/org.yaml"), organisation).expect("written");
    std::fs::write(folder.path().join("clusters.json"), list.to_string()).expect("written");
    folder
}

fn cluster(id: &str, name: &str) -> Value {
    json!({"id": id, "name": name, "organisation": "org", "version": "4.12.1", "availableUpgrades": ["4.12.2"]})
}

fn asked(folder: &Path, command: &str) -> Value {
    let look = format!("fleet {command} -o json --fleet fleet --clusters clusters.json");
    serde_json::from_str(&told(folder, &look).0).expect("JSON")
}

#[test]
fn a_list_with_entries_that_cannot_be_read_is_no_whole_answer() {
    let list = json!([cluster("1", "good"), {"id": "2", "name": "bad", "organisation": "org", "version": "four"}]);
    let site = fleet_of(
        &[
            ("good", "conditions: {soakDays: 9}"),
            ("bad", "conditions: {soakDays: 0}"),
        ],
        &list,
    );
    for command in ["plan", "status", "clusters", "history", "forecast"] {
        let answer = towpath(
            site.path(),
            &format!("fleet {command} --fleet fleet --clusters clusters.json"),
        );
        let warned = String::from_utf8(answer.stderr).expect("text");
        assert_eq!(answer.status.code(), Some(1), "{command}: {warned}");
        let expected = "1 entry of the list cannot be read, so its cluster is not in this answer";
        assert!(warned.contains(expected), "{command}: {warned}");
    }
    std::fs::write(site.path().join("clusters.json"), "[{").expect("written");
    let text = refused(
        site.path(),
        "fleet plan --fleet fleet --clusters clusters.json",
    );
    assert!(text.contains("clusters.json"), "{text}");
}

/// 0: the next pass starts it. 1: it does not. 2: nobody can say.
#[test]
fn the_exit_code_of_why_says_whether_a_version_starts() {
    let site = site();
    let look = |question: &str, more: &str| {
        let command =
            format!("fleet why {question} --fleet fleet --clusters clusters.json {NOON}{more}");
        let answer = towpath(site.path(), &command);
        let text = String::from_utf8([answer.stdout, answer.stderr].concat()).expect("text");
        (answer.status.code(), text)
    };
    assert_eq!(look("shop-eu 4.20.3", "").0, Some(0));
    assert_eq!(look("shop-eu 4.20.4", "").0, Some(1), "it has not soaked");
    assert_eq!(
        look("shop-eu", "").0,
        Some(0),
        "without a version it is only looked at"
    );
    for (version, code, sentence) in [
        ("4.20.2", "AlreadyThere", "the cluster runs 4.20.2 already"),
        (
            "4.20.0",
            "WouldGoBack",
            "the cluster runs 4.20.2, and Towpath never goes back",
        ),
        (
            "4.22.0",
            "NotOffered",
            "no edge leads there from 4.20.2; available are 4.21.0-rc.1, 4.20.5",
        ),
    ] {
        let (exit, text) = look(&format!("shop-eu {version}"), "");
        assert!(
            exit == Some(1) && text.contains(sentence),
            "{version}: {text}"
        );
        let facts: Value =
            serde_json::from_str(&look(&format!("shop-eu {version}"), " -o json").1).expect("JSON");
        let verdict = &facts["candidates"][0]["verdict"];
        assert_eq!(
            (&verdict["answer"], &verdict["reasons"][0]["code"]),
            (&json!("no"), &json!(code))
        );
    }
    let (exit, text) = look("nobody 4.20.3", "");
    assert!(
        exit == Some(2) && text.contains("`towpath fleet clusters` lists them"),
        "{text}"
    );
}

/// Waiting does not help against what a person has to decide.
#[test]
fn what_nobody_approved_is_no_and_never() {
    let site = fleet_of(
        &[("bank", "approval: true")],
        &json!({"clusters": [cluster("1", "bank")], "versionGates": [], "upgrades": []}),
    );
    let (why, _) = told(
        site.path(),
        "fleet why bank --fleet fleet --clusters clusters.json",
    );
    assert!(
        why.contains("4.12.2  no      nobody has approved it"),
        "{why}"
    );
    assert_eq!(
        asked(site.path(), "why bank")["candidates"][0]["verdict"]["answer"],
        "no"
    );
    let (plan, _) = told(
        site.path(),
        "fleet plan --fleet fleet --clusters clusters.json",
    );
    let row = plan
        .lines()
        .find(|line| line.contains("bank"))
        .expect("a row");
    assert!(
        row.contains("never") && row.contains("nobody has approved it"),
        "{plan}"
    );
    assert_eq!(
        asked(site.path(), "plan")["waiting"][0]["verdict"]["answer"],
        "no"
    );
}

#[test]
fn a_cluster_whose_channel_nobody_has_told_says_so() {
    let site = fleet_of(
        &[("lost", "conditions: {soakDays: 0}")],
        &json!([{"id": "1", "name": "lost", "organisation": "org", "version": "4.12.1"}]),
    );
    let (why, _) = told(
        site.path(),
        "fleet why lost --fleet fleet --clusters clusters.json",
    );
    assert!(
        why.contains("nobody has said which channel the cluster follows")
            && why.contains("write `channel`"),
        "{why}"
    );
    assert_eq!(
        asked(site.path(), "why lost")["nothing"]["code"],
        "ChannelUnknown"
    );
    let outlook = asked(site.path(), "forecast");
    assert_eq!(
        outlook["idle"][0]["verdict"]["reasons"][0]["code"],
        "ChannelUnknown"
    );
}

/// One starts soon, one is planned, one runs, one waits for soak, and one for the other's sector.
#[test]
fn a_plan_tells_apart_what_starts_what_is_planned_and_who_waits() {
    let names = ["soon", "planned", "running", "soaks", "follows"];
    let clusters: Vec<Value> = names
        .iter()
        .enumerate()
        .map(|(number, name)| cluster(&number.to_string(), name))
        .collect();
    let list = json!({
        "clusters": clusters,
        "versionGates": [],
        "upgrades": [
            {"cluster": "1", "to": "4.12.2", "state": "planned", "startAt": "2026-11-18T13:00:00Z"},
            {"cluster": "2", "to": "4.12.2", "state": "started", "startAt": "2026-11-18T11:30:00Z"},
        ],
    });
    let early = |name| (name, "conditions: {soakDays: 0, sector: early}");
    let site = fleet_of(
        &[
            early("soon"),
            early("planned"),
            early("running"),
            ("soaks", "conditions: {soakDays: 1}"),
            ("follows", "conditions: {soakDays: 0, sector: late}"),
        ],
        &list,
    );
    let look = format!("fleet plan --fleet fleet --clusters clusters.json {NOON}");
    let (plan, _) = told(site.path(), &look);
    for part in [
        "1 upgrade starts in 7 min:\n",
        "1 upgrade is planned already:\n",
        "1 upgrade runs:\n",
        "2 clusters could go further, and wait:\n",
        "HELD BY",
    ] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    assert!(!plan.contains("starts now"), "{plan}");
    let facts = asked(site.path(), &format!("plan {NOON}"));
    let names = |list: &str| -> Vec<String> {
        let entries = facts[list].as_array().expect("a list").iter();
        entries
            .map(|one| one["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    assert_eq!(names("starts"), ["soon"]);
    assert_eq!(
        (names("planned"), names("underWay")),
        (vec!["planned".to_owned()], vec!["running".to_owned()])
    );
    assert_eq!(names("waiting"), ["follows", "soaks"]);
    assert_eq!(facts["holds"], json!({"sector": 1, "soak": 1}));
    // Nothing soaks yet and nobody can say when the sector is there, but the forecast can.
    let starts = asked(site.path(), &format!("forecast {NOON}"))["starts"].clone();
    for waiting in facts["waiting"].as_array().expect("a list") {
        let mut starts = starts.as_array().expect("a list").iter();
        let first = starts
            .find(|start| start["name"] == waiting["name"])
            .expect("it starts");
        assert_eq!(waiting["expected"]["at"], first["at"], "{waiting}");
        let minute = first["at"].as_str().expect("a time")[..16].replace('T', " ");
        assert!(plan.contains(&minute), "{minute} in {plan}");
    }
    let (without, _) = told(site.path(), &format!("{look} --days 0"));
    assert!(without.contains(" -  "), "{without}");
}

#[test]
fn a_forecast_names_those_who_do_not_start() {
    let site = fleet_of(
        &[
            ("goes", "conditions: {soakDays: 0}"),
            ("bank", "approval: true"),
        ],
        &json!({"clusters": [cluster("1", "goes"), cluster("2", "bank")], "versionGates": [], "upgrades": []}),
    );
    let (text, _) = told(
        site.path(),
        "fleet forecast --days 3 --fleet fleet --clusters clusters.json",
    );
    assert!(
        text.contains("1 cluster does not start within 3 days:")
            && text.contains("nobody has approved it"),
        "{text}"
    );
    let facts = asked(site.path(), "forecast --days 3");
    assert_eq!(facts["starts"][0]["name"], "goes");
    assert_eq!(
        (&facts["idle"][0]["name"], &facts["idleLeftOut"]),
        (&json!("bank"), &json!(0))
    );
    assert_eq!(
        facts["idle"][0]["verdict"]["reasons"][0]["code"],
        "NotApproved"
    );
}

//! Policy files: what is wrong with them, what that holds back, and what they mean.
//!
//! Each row of a table is one edit of a good file, shown above: `what stood there => what stands there now`. Below it is
//! everything that is said, and who is held back by it.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use towpath_core::fleet::Parallel;
use towpath_formats::SourceFile;
use towpath_formats::fleet::policy::{self, PolicyRead};

const ORGANISATION: &str = r#"$schema: /openshift/openshift-cluster-manager-1.yml
name: one
orgId: org-1
environment: production
blockedVersions:
- ^.*-rc\..*$
upgradePolicyAllowedWorkloads: [web, batch]
upgradePolicyAllowedMutexes: [m1, m2]
sectors:
- name: stage
- name: prod
  maxParallelUpgrades: 50%
  dependencies:
  - name: stage
upgradePolicyClusters:
- name: stage-1
  upgradePolicy:
    workloads: [web, batch]
    schedule: 0 10 * * 1-5
    conditions:
      soakDays: 0
      sector: stage
- name: prod-1
  upgradePolicy:
    workloads:
    - web
    schedule: 0 10 * * 1-5
    conditions:
      soakDays: 3
      mutexes: [m1]
      sector: prod
      blockedVersions: [^4\.13\.1$]
      preflight: required
    versionGateApprovals: [api.openshift.com/gate-ocp]
    maintenanceWindows:
    - start: 0 22 * * 1-5
      duration: PT4H
      timeZone: Europe/Berlin
    exclusions:
    - from: 2026-12-20T00:00
      until: 2027-01-03
      reason: quiet weeks
    approval: true
    pin: 4.16.3
    channel: {follow: eus}
    acceptedRisks:
    - {name: SlowStart, reason: we wait for it, owner: ada, until: 2027-01-31}
upgradePolicyDefaults:
- name: rest
  matchLabels:
    tier: dev
  upgradePolicy:
    workloads: [batch]
    schedule: "* * * * *"
    conditions:
      sector: stage
"#;

const CLUSTER: &str = r#"$schema: /openshift/cluster-1.yml
name: prod-2
description: none of our business
ocm:
  $ref: /ocm/one.yml
spec:
  id: 1abc
  external_id: 0f3a
  version: 4.16.1
upgradePolicy:
  workloads: [web]
  schedule: 0 10 * * 1-5
  conditions:
    soakDays: 3
    sector: prod
"#;

// What they mean

#[test]
fn a_good_organisation() {
    let read = read_all(&[
        ("data/ocm/one.yml", ORGANISATION),
        ("data/clusters/prod-2.yml", CLUSTER),
    ]);
    assert_eq!((read.findings, read.unreadable), (vec![], vec![]));
    let organisation = &read.policy.organisations["org-1"];
    assert_eq!(
        (&*organisation.name, organisation.environment.as_deref()),
        ("one", Some("production"))
    );
    assert_eq!(
        organisation.sectors["prod"].max_parallel,
        Some(Parallel::Percent(50))
    );
    assert_eq!(organisation.sectors["prod"].depends_on, ["stage".into()]);
    let names: Vec<&str> = organisation
        .clusters
        .iter()
        .map(|cluster| &*cluster.name)
        .collect();
    assert_eq!(names, ["prod-1", "prod-2", "stage-1"]);
    let ids: Vec<Option<&str>> = organisation
        .clusters
        .iter()
        .map(|c| c.id.as_ref().map(|id| id.as_str()))
        .collect();
    assert_eq!(ids, [None, Some("0f3a"), None]);
    expect![[r#"
        UpgradePolicy {
            workloads: {
                "web",
            },
            schedule: Some(
                "0 10 * * 1-5",
            ),
            soak_days: Some(
                3,
            ),
            mutexes: {
                "m1",
            },
            sector: Some(
                "prod",
            ),
            blocked_versions: [
                "^4\\.13\\.1$",
            ],
            gate_approvals: {
                "api.openshift.com/gate-ocp",
            },
            windows: [
                MaintenanceWindow {
                    begins: "0 22 * * 1-5",
                    lasts: 14400s,
                    time_zone: Zone(
                        TimeZone(
                            TZif(
                                "Europe/Berlin",
                            ),
                        ),
                    ),
                },
            ],
            exclusions: [
                Exclusion {
                    from: 2026-12-20T00:00:00,
                    until: 2027-01-03T00:00:00,
                    time_zone: Zone(
                        TimeZone(
                            UTC,
                        ),
                    ),
                    why: Some(
                        "quiet weeks",
                    ),
                },
            ],
            needs_approval: true,
            pin: Some(
                Version(
                    Version {
                        major: 4,
                        minor: 16,
                        patch: 3,
                    },
                ),
            ),
            accepted_risks: {
                AcceptedRisk {
                    name: "SlowStart",
                    reason: Some(
                        "we wait for it",
                    ),
                    owner: Some(
                        "ada",
                    ),
                    until: At(
                        2027-01-31T00:00:00Z,
                    ),
                },
            },
            follows: Some(
                "eus",
            ),
            preflight: Required,
        }
    "#]]
    .assert_debug_eq(&organisation.clusters[0].policy);
}

#[test]
fn numbers_may_be_in_quotes() {
    for (before, after) in [
        ("soakDays: 3", "soakDays: \"3\""),
        ("maxParallelUpgrades: 50%", "maxParallelUpgrades: 2"),
        ("maxParallelUpgrades: 50%", "maxParallelUpgrades: \"2\""),
        ("maxParallelUpgrades: 50%", "maxParallelUpgrades: \"100%\""),
        ("soakDays: 3", "soakDays: ~"),
        ("  - name: stage\nupgrade", "  - stage\nupgrade"),
    ] {
        assert!(ORGANISATION.contains(before), "{before}");
        let read = read_all(&[("ocm/one.yml", &ORGANISATION.replacen(before, after, 1))]);
        assert_eq!(read.findings, vec![], "{before} => {after}");
    }
}

#[test]
fn the_order_of_files_does_not_matter() {
    let other = ORGANISATION
        .replace("org-1", "org-2")
        .replace("name: one", "name: two");
    let twice = CLUSTER.replace("/ocm/one.yml", "/ocm/two.yml");
    let files = [
        ("ocm/one.yml", ORGANISATION),
        ("c/1.yml", CLUSTER),
        ("ocm/two.yml", &other),
        ("c/2.yml", &twice),
        ("c/3.yml", &twice),
        ("ocm/zwei.yml", &other),
    ];
    let expected = read_all(&files);
    assert!(!expected.findings.is_empty());
    for shift in 1..files.len() {
        let mut files = files.to_vec();
        files.rotate_left(shift);
        let read = read_all(&files);
        assert_eq!(
            (read.policy, read.findings),
            (expected.policy.clone(), expected.findings.clone())
        );
    }
}

#[test]
fn organisations_that_are_switched_off() {
    for (integration, expected) in [
        ("ocm-upgrade-scheduler-org", true),
        ("aus-upgrade-scheduler", true),
        ("advanced-upgrade-service", true),
        ("ocm-groups", false),
        ("slack-usergroups", false),
    ] {
        let text = format!("{ORGANISATION}disable:\n  integrations: [{integration}]\n");
        let read = read_all(&[("o.yml", &text)]);
        assert_eq!(read.findings, vec![]);
        assert_eq!(
            read.policy.organisations["org-1"].disabled, expected,
            "{integration}"
        );
    }
}

#[test]
fn a_cluster_whose_file_disables_the_scheduler_is_left_alone() {
    let left_alone = |disable: &str| {
        let text = format!("{CLUSTER}disable: {disable}\n");
        let read = read_all(&[("ocm/one.yml", ORGANISATION), ("c/prod-2.yml", &text)]);
        let clusters = &read.policy.organisations["org-1"].clusters;
        let entry = clusters
            .iter()
            .find(|entry| &*entry.name == "prod-2")
            .expect("it is there");
        let left = entry
            .left_alone
            .as_ref()
            .map(|left| (left.integration.to_string(), left.origin.to_string()));
        (left, entry.problems.len())
    };
    for name in [
        "ocm-upgrade-scheduler",
        "ocm-upgrade-scheduler-org",
        "advanced-upgrade-scheduler",
        "aus-cluster",
    ] {
        let (left, problems) = left_alone(&format!("{{integrations: [ocm-clusters, {name}]}}"));
        assert_eq!((left.expect("left alone").0.as_str(), problems), (name, 0));
    }
    let (left, _) = left_alone("{integrations: [ocm-upgrade-scheduler]}");
    assert!(left.is_some_and(|(_, place)| place.starts_with("c/prod-2.yml:")));
    assert_eq!(left_alone("{integrations: [ocm-clusters]}"), (None, 0));
    assert_eq!(left_alone("{}"), (None, 0));
    assert_eq!(left_alone("{e2eTests: [create-namespace]}"), (None, 0));
    for not_understood in [
        "[ocm-upgrade-scheduler]",
        "{integration: [ocm-upgrade-scheduler]}",
        "{integrations: ocm-upgrade-scheduler}",
        "{integrations: [7]}",
    ] {
        let expected = (None, 1);
        assert_eq!(
            left_alone(not_understood),
            expected,
            "{not_understood}: it is held"
        );
    }
    let (left, _) = left_alone("{integrations: [OCM-Upgrade-Scheduler]}");
    assert!(left.is_some(), "upper and lower case are the same");
}

#[test]
fn what_a_cluster_file_does_not_have_is_a_warning() {
    let warned = |more: &str| {
        let text = format!("{CLUSTER}{more}\n");
        let read = read_all(&[("ocm/one.yml", ORGANISATION), ("c/prod-2.yml", &text)]);
        let said = read.findings.iter();
        said.map(|finding| (finding.code, finding.is_error(), finding.place.line))
            .collect::<Vec<_>>()
    };
    let line = CLUSTER.lines().count() as u32 + 1;
    for field in ["unknownCluster: hold", "upgradePolcy: {}", "disabled: {}"] {
        assert_eq!(warned(field), [("unknown-field", false, line)], "{field}");
    }
    for field in [
        "network: {}",
        "labels: {}",
        "peering: {}",
        "unknownClusters: hold",
    ] {
        assert_eq!(warned(field), [], "{field}");
    }
    assert_eq!(warned("name: again"), [("duplicate-field", true, line)]);
}

#[test]
fn the_id_of_a_cluster_file_stands_at_its_top_or_in_its_spec() {
    let id = |told: &str| {
        let text = format!(
            "name: c\nocm: org-1\n{told}\nupgradePolicy: {{workloads: [web], schedule: '* * * * *'}}\n"
        );
        let organisation = "name: one\norgId: org-1\n";
        let read = read_all(&[("one.yml", organisation), ("c.yml", &text)]);
        let ids = read
            .policy
            .named_ids()
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        (ids.join(" "), read.unreadable.len())
    };
    for (told, expected) in [
        ("id: own", "own"),
        ("id: own\nspec: {id: of-its-api}", "own"),
        ("id: own\nspec: {external_id: own}", "own"),
        ("spec: {id: of-its-api}", "of-its-api"),
        ("spec: {id: of-its-api, external_id: sent}", "sent"),
    ] {
        assert_eq!(id(told), (expected.to_owned(), 0), "{told}");
    }
    let two = "id: one\nspec: {external_id: another}";
    assert_eq!(id(two), (String::new(), 1), "nobody knows which it is");
}

#[test]
fn a_cluster_that_is_left_alone_needs_no_policy_and_gets_no_default() {
    let organisation = "name: one\norgId: org-1\nupgradePolicyDefaults:\n- name: all\n  matchLabels: {tier: prod}\n  \
                        upgradePolicy: {workloads: [web], schedule: '* * * * *', conditions: {soakDays: 0}}\n";
    let entries = |cluster: &str| {
        let read = read_all(&[
            ("one.yml", organisation),
            ("c.yml", &format!("name: c\nocm: org-1\n{cluster}")),
        ]);
        let entries = read.policy.organisations["org-1"].clusters.clone();
        entries
            .iter()
            .map(|entry| (entry.left_alone.is_some(), entry.problems.is_empty()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        entries("disable: {integrations: [ocm-upgrade-scheduler]}\n"),
        [(true, true)]
    );
    assert_eq!(
        entries("disable: [ocm-upgrade-scheduler]\n"),
        [(false, false)],
        "not understood, so it is held"
    );
    assert_eq!(
        entries("disable: {integrations: [ocm-clusters]}\n"),
        [],
        "none of our business"
    );
    assert_eq!(entries(""), []);
}

#[test]
fn files_in_folders_are_part_and_those_of_tools_are_not() {
    for path in [
        "a.yaml",
        "a.yml",
        "a.json",
        "teams/",
        "teams/a/",
        "teams/a/b.yaml",
        "c.YAML",
        "c.Yml",
        "C.JSON",
    ] {
        assert!(policy::is_part(path), "{path}");
    }
    for path in [
        "README.md",
        ".git/",
        ".git/x.yaml",
        "teams/.x/",
        "teams/.x/a.yaml",
        ".a.yaml",
        "lost+found/",
        "yaml",
    ] {
        assert!(!policy::is_part(path), "{path}");
    }
}

#[test]
fn version_data_is_inherited_where_both_sides_say_so() {
    let organisation = |id: &str, rest: &str| format!("name: n-{id}\norgId: {id}\n{rest}");
    let one = organisation("a", "inheritVersionData: [{name: n-b}, {orgId: c}, d]\n");
    let two = organisation("b", "publishVersionData:\n- orgId: a\n- orgId: c\n");
    let three = organisation("c", "publishVersionData: [{$ref: /x/a.yml}]\n");
    let read = read_all(&[("x/a.yml", &one), ("x/b.yml", &two), ("x/c.yml", &three)]);
    let inherits: Vec<&str> = read.policy.organisations["a"]
        .inherits_from
        .iter()
        .map(|id| &**id)
        .collect();
    assert_eq!(inherits, ["b", "c"]);
    assert!(read.policy.organisations["c"].inherits_from.is_empty());
    expect![[r#"
        it says
            [one-sided-inheritance] warning: x/a.yml:3:47: version data is inherited from "d", and there is no such organisation; add `publishVersionData` with "a" there, or remove this
            [one-sided-inheritance] warning: x/b.yml:5:3: version data is published to "c", which does not say so too; it has no effect; add `inheritVersionData` with "b" there, or remove this
    "#]].assert_eq(&format!("it says\n{}", said(&read)));
}

// What is wrong

#[test]
fn entries_of_clusters() {
    check_edits(
        &[
            ("    workloads:\n    - web\n", ""),
            ("    workloads:\n    - web\n", "    workloads: []\n"),
            ("    workloads:\n    - web\n", "    workloads: web\n"),
            ("    - web\n", "    - wbe\n"),
            ("    - web\n", "    - 12\n"),
            ("    - web\n", "    - \"\"\n"),
            ("    - web\n    schedule: 0 10 * * 1-5\n", "    - web\n"),
            (
                "    - web\n    schedule: 0 10 * * 1-5\n",
                "    - web\n    schedule: 0 10 * *\n",
            ),
            (
                "    - web\n    schedule: 0 10 * * 1-5\n",
                "    - web\n    schedule: 0 25 * * *\n",
            ),
            (
                "    - web\n    schedule: 0 10 * * 1-5\n",
                "    - web\n    schedule: 0 0 31 2 *\n",
            ),
            (
                "    - web\n    schedule: 0 10 * * 1-5\n",
                "    - web\n    schedule: 5\n",
            ),
            ("channel: {follow: eus}", "channel: {follow: stabel}"),
            ("channel: {follow: eus}", "channel: {}"),
            ("soakDays: 3", "soakDays: -1"),
            ("soakDays: 3", "soakDays: 1.5"),
            ("soakDays: 3", "soakDays: three"),
            ("mutexes: [m1]", "mutexes: [m3]"),
            ("mutexes: [m1]", "mutex: [m1]"),
            ("sector: prod", "sector: prodd"),
            (r"[^4\.13\.1$]", "['4.13(']"),
            (r"[^4\.13\.1$]", "[4.13]"),
            (r"[^4\.13\.1$]", "4.13.1"),
            ("    approval: true", "    approval: \"yes\""),
            ("    approval: true", "    aproval: true"),
            ("    approval: true", "    pin: 4.16.4"),
            ("pin: 4.16.3", "pin: 4.16"),
            ("pin: 4.16.3", "pin: v4.16.3"),
            ("- name: prod-1\n", "- name:\n"),
            ("- name: prod-1\n", "- name: prod-1\n  note: x\n"),
            ("start: 0 22 * * 1-5", "start: at night"),
            ("duration: PT4H", "duration: 4x"),
            ("duration: PT4H", "duration: P8D"),
            ("duration: PT4H", "duration: P1M"),
            ("duration: PT4H", "duration: PT0S"),
            ("Europe/Berlin", "Europe/Berin"),
            ("      timeZone: Europe/Berlin", "      zone: Europe/Berlin"),
            ("from: 2026-12-20T00:00", "from: 2026-12-20T00:00Z"),
            ("from: 2026-12-20T00:00", "from: 2027-12-20T00:00"),
            ("      until: 2027-01-03\n", ""),
            ("    tier: dev", "    tier: 1"),
            ("    workloads: [batch]", "    workloads: [bach]"),
        ],
        expect![[r#"
            workloads:\n  - web => (nothing)
                [missing-field] one.yml:25:5: an upgrade policy has no `workloads`; add `workloads:` with a list of what runs on the cluster
                held back: prod-1
            workloads:\n  - web => workloads: []
                [missing-field] one.yml:25:16: there are no workloads; name at least one: soak days count per workload
                held back: prod-1
            workloads:\n  - web => workloads: web
                [wrong-kind] one.yml:25:16: workloads is a list, and this is "web"; write each on a line of its own, after `- `
                held back: prod-1
            - web => - wbe
                [unknown-workload] one.yml:26:7: there is no workload "wbe" in this organisation; correct its name, or allow it; there are: batch, web
                [no-first-cluster] warning: one.yml:23:3: workload "wbe" can never start: none of its clusters has soakDays 0; give one of its clusters `soakDays: 0`, so that the others have something to wait for
                held back: prod-1
            - web => - 12
                [wrong-kind] one.yml:26:7: a workload's name is a text, and this is the number 12; put it in quotes
                held back: prod-1
            - web => - ""
                [bad-name] one.yml:26:7: "" cannot be a workload's name; use 1 to 256 bytes on one line
                held back: prod-1
            - web\n  schedule: 0 10 * * 1-5 => - web
                [missing-field] one.yml:25:5: an upgrade policy has no `schedule`; add `schedule: "0 10 * * 1-5"`, or the like
                held back: prod-1
            - web\n  schedule: 0 10 * * 1-5 => - web\n  schedule: 0 10 * *
                [bad-schedule] one.yml:27:15: "0 10 * *" is not a schedule: it has 4 fields, and a schedule has five; write minute, hour, day of month, month, day of week: `0 10 * * 1-5`
                held back: prod-1
            - web\n  schedule: 0 10 * * 1-5 => - web\n  schedule: 0 25 * * *
                [bad-schedule] one.yml:27:15: "0 25 * * *" is not a schedule: Component error: Number out of bounds; write minute, hour, day of month, month, day of week: `0 10 * * 1-5`
                held back: prod-1
            - web\n  schedule: 0 10 * * 1-5 => - web\n  schedule: 0 0 31 2 *
                [bad-schedule] one.yml:27:15: "0 0 31 2 *" is not a schedule: it never fires: there is no such day; write minute, hour, day of month, month, day of week: `0 10 * * 1-5`
                held back: prod-1
            - web\n  schedule: 0 10 * * 1-5 => - web\n  schedule: 5
                [wrong-kind] one.yml:27:15: a schedule is a text, and this is the number 5; put it in quotes
                held back: prod-1
            channel: {follow: eus} => channel: {follow: stabel}
                [unknown-channel-group] one.yml:45:23: "stabel" is no group of channels; write one of stable, fast, candidate, eus
                held back: prod-1
            channel: {follow: eus} => channel: {}
                [missing-field] one.yml:45:14: channel has no `follow`; add `follow` with one of stable, fast, candidate, eus
                held back: prod-1
            soakDays: 3 => soakDays: -1
                [bad-number] one.yml:29:17: soakDays is a whole number, and this is the number -1; write a number from 0 to 1000000
                held back: prod-1
            soakDays: 3 => soakDays: 1.5
                [bad-number] one.yml:29:17: soakDays is a whole number, and this is the number 1.5; write a number from 0 to 1000000
                held back: prod-1
            soakDays: 3 => soakDays: three
                [bad-number] one.yml:29:17: soakDays is a whole number, and this is "three"; write a number from 0 to 1000000
                held back: prod-1
            mutexes: [m1] => mutexes: [m3]
                [unknown-mutex] one.yml:30:17: there is no mutex "m3" in this organisation; correct its name, or allow it; there are: m1, m2
                held back: prod-1
            mutexes: [m1] => mutex: [m1]
                [unknown-field] one.yml:30:7: `conditions` has no field "mutex"; correct its name, or remove it
                [limit-without-mutex] warning: one.yml:11:3: the limit of sector "prod" has no effect: none of its clusters has mutexes; give its clusters a mutex: the limit counts those that share one
                held back: prod-1
            sector: prod => sector: prodd
                [unknown-sector] one.yml:31:15: there is no sector "prodd" in this organisation; correct its name, or declare it; there are: prod, stage
                [unused-sector] warning: one.yml:11:3: no cluster is in sector "prod"; put clusters in it, or remove it
                held back: prod-1
            [^4\.13\.1$] => ['4.13(']
                [bad-pattern] one.yml:32:25: "4.13(" is not a pattern: unclosed group; write a regular expression: ^4\.12\.1$
                held back: prod-1
            [^4\.13\.1$] => [4.13]
                [wrong-kind] one.yml:32:25: a pattern is a text, and this is the number 4.13; put it in quotes
                held back: prod-1
            [^4\.13\.1$] => 4.13.1
                [wrong-kind] one.yml:32:24: blockedVersions is a list, and this is "4.13.1"; write each on a line of its own, after `- `
                held back: prod-1
            approval: true => approval: "yes"
                [wrong-kind] one.yml:43:15: approval is true or false, and this is "yes"; write `true` or `false`, without quotes
                held back: prod-1
            approval: true => aproval: true
                [unknown-field] one.yml:43:5: an upgrade policy has no field "aproval"; correct its name, or remove it
                held back: prod-1
            approval: true => pin: 4.16.4
                [duplicate-field] one.yml:44:5: "pin" is given twice; keep one of them
                held back: prod-1
            pin: 4.16.3 => pin: 4.16
                [wrong-kind] one.yml:44:10: a version is a text, and this is the number 4.16; put it in quotes
                held back: prod-1
            pin: 4.16.3 => pin: v4.16.3
                [bad-version] one.yml:44:10: "v4.16.3" is not a version: leave out the v; write it as in 4.16.3
                held back: prod-1
            - name: prod-1 => - name:
                [missing-field] one.yml:23:3: a cluster has no `name`; add `name: <cluster>`
                [unused-sector] warning: one.yml:11:3: no cluster is in sector "prod"; put clusters in it, or remove it
            - name: prod-1 => - name: prod-1\n note: x
                [unknown-field] one.yml:24:3: a cluster has no field "note"; correct its name, or remove it
                held back: prod-1
            start: 0 22 * * 1-5 => start: at night
                [bad-window] one.yml:36:14: "at night" is not a schedule: it has 2 fields, and a schedule has five; write minute, hour, day of month, month, day of week: `0 22 * * 1-5`
                held back: prod-1
            duration: PT4H => duration: 4x
                [bad-window] one.yml:37:17: "4x" is not a length of a maintenance window; write it as in 4h or PT4H, at most 168h
                held back: prod-1
            duration: PT4H => duration: P8D
                [bad-window] one.yml:37:17: "P8D" is not a length of a maintenance window; write it as in 4h or PT4H, at most 168h
                held back: prod-1
            duration: PT4H => duration: P1M
                [bad-window] one.yml:37:17: "P1M" is not a length of a maintenance window; write it as in 4h or PT4H, at most 168h
                held back: prod-1
            duration: PT4H => duration: PT0S
                [bad-window] one.yml:37:17: "PT0S" is not a length of a maintenance window; write it as in 4h or PT4H, at most 168h
                held back: prod-1
            Europe/Berlin => Europe/Berin
                [bad-time-zone] one.yml:38:17: there is no time zone "Europe/Berin"; write its name: UTC, Europe/Berlin, America/New_York
                held back: prod-1
            timeZone: Europe/Berlin => zone: Europe/Berlin
                [unknown-field] one.yml:38:7: a maintenance window has no field "zone"; correct its name, or remove it
                held back: prod-1
            from: 2026-12-20T00:00 => from: 2026-12-20T00:00Z
                [bad-exclusion] one.yml:40:13: "2026-12-20T00:00Z" is not a local time; write it as in 2026-12-20T00:00; the zone is in `timeZone`
                held back: prod-1
            from: 2026-12-20T00:00 => from: 2027-12-20T00:00
                [bad-exclusion] one.yml:40:7: it ends at 2027-01-03 00:00, which is not after its beginning at 2027-12-20 00:00; correct `from` or `until`
                held back: prod-1
            until: 2027-01-03 => (nothing)
                [missing-field] one.yml:40:7: an exclusion has no `until`; add `until: 2026-12-20T00:00`, or the like
                held back: prod-1
            tier: dev => tier: 1
                [wrong-kind] one.yml:51:11: the value of a label is a text, and this is the number 1; put it in quotes
                held back: rest
            workloads: [batch] => workloads: [bach]
                [unknown-workload] one.yml:53:17: there is no workload "bach" in this organisation; correct its name, or allow it; there are: batch, web
                held back: rest
        "#]],
    );
}

#[test]
fn sectors() {
    check_edits(
        &[
            ("maxParallelUpgrades: 50%", "maxParallelUpgrades: 0"),
            ("maxParallelUpgrades: 50%", "maxParallelUpgrades: 0%"),
            ("maxParallelUpgrades: 50%", "maxParallelUpgrades: 150%"),
            ("maxParallelUpgrades: 50%", "maxParallelUpgrades: half"),
            ("maxParallelUpgrades: 50%", "maxParalelUpgrades: 50%"),
            ("maxParallelUpgrades: 50%", "maxFailures: 0"),
            ("maxParallelUpgrades: 50%", "stragglerDays: -1"),
            ("  - name: stage\nupgrade", "  - name: stge\nupgrade"),
            ("  - name: stage\nupgrade", "  - name: prod\nupgrade"),
            (
                "- name: stage\n- name",
                "- name: stage\n  dependencies: [{name: prod}]\n- name",
            ),
            (
                "- name: stage\n- name",
                "- name: stage\n  dependencies: [{name: dev}]\n- name",
            ),
            (
                "- name: stage\n- name",
                "- name: stage\n  dependencies: [{name: a}]\n- {name: a, dependencies: [b]}\n- {name: b, dependencies: [a]}\n- name",
            ),
            (
                "- name: stage\n- name",
                "- name: stage\n- name: stage\n- name",
            ),
            ("- name: stage\n- name", "- name: stage\n- {}\n- name"),
            (
                "- name: stage\n- name",
                "- name: stage\n- name: dev\n- name",
            ),
            ("mutexes: [m1]", "mutexes: []"),
            ("soakDays: 0", "soakDays: 1"),
        ],
        expect![[r#"
            maxParallelUpgrades: 50% => maxParallelUpgrades: 0
                [bad-limit] one.yml:12:24: the number 0 is not a limit of parallel upgrades; write a number from 1 on, or a share from "1%" to "100%"
                held back: prod-1
            maxParallelUpgrades: 50% => maxParallelUpgrades: 0%
                [bad-limit] one.yml:12:24: "0%" is not a limit of parallel upgrades; write a number from 1 on, or a share from "1%" to "100%"
                held back: prod-1
            maxParallelUpgrades: 50% => maxParallelUpgrades: 150%
                [bad-limit] one.yml:12:24: "150%" is not a limit of parallel upgrades; write a number from 1 on, or a share from "1%" to "100%"
                held back: prod-1
            maxParallelUpgrades: 50% => maxParallelUpgrades: half
                [bad-limit] one.yml:12:24: "half" is not a limit of parallel upgrades; write a number from 1 on, or a share from "1%" to "100%"
                held back: prod-1
            maxParallelUpgrades: 50% => maxParalelUpgrades: 50%
                [unknown-field] one.yml:12:3: a sector has no field "maxParalelUpgrades"; correct its name, or remove it
                held back: prod-1
            maxParallelUpgrades: 50% => maxFailures: 0
                [bad-number] one.yml:12:16: maxFailures is a whole number, and this is the number 0; write a number from 1 to 1000000
                held back: prod-1
            maxParallelUpgrades: 50% => stragglerDays: -1
                [bad-number] one.yml:12:18: stragglerDays is a whole number, and this is the number -1; write a number from 1 to 3650
                held back: prod-1
            - name: stage\nupgrade => - name: stge\nupgrade
                [unknown-sector] one.yml:14:5: sector "prod" depends on "stge", and there is no such sector; correct the name, or declare the sector
                held back: prod-1
            - name: stage\nupgrade => - name: prod\nupgrade
                [sector-loop] one.yml:11:3: sectors depend on each other in a loop: prod -> prod; remove one of these dependencies
                held back: prod-1
            - name: stage\n- name => - name: stage\n dependencies: [{name: prod}]\n- name
                [sector-loop] one.yml:12:3: sectors depend on each other in a loop: prod -> stage -> prod; remove one of these dependencies
                held back: prod-1, stage-1, rest
            - name: stage\n- name => - name: stage\n dependencies: [{name: dev}]\n- name
                [unknown-sector] one.yml:11:18: sector "stage" depends on "dev", and there is no such sector; correct the name, or declare the sector
                held back: prod-1, stage-1, rest
            - name: stage\n- name => - name: stage\n dependencies: [{name: a}]\n- {name: a, dependencies: [b]}\n- {name: b, dependencies: [a]}\n- name
                [sector-loop] one.yml:12:3: sectors depend on each other in a loop: a -> b -> a; remove one of these dependencies
                [unused-sector] warning: one.yml:12:3: no cluster is in sector "a"; put clusters in it, or remove it
                [unused-sector] warning: one.yml:13:3: no cluster is in sector "b"; put clusters in it, or remove it
                held back: prod-1, stage-1, rest
            - name: stage\n- name => - name: stage\n- name: stage\n- name
                [duplicate-sector] one.yml:11:3: sector "stage" is declared here and at one.yml:10:3; keep one of them
                held back: stage-1, rest
            - name: stage\n- name => - name: stage\n- {}\n- name
                [missing-field] one.yml:11:3: a sector has no `name`; add `name: <sector>`
            - name: stage\n- name => - name: stage\n- name: dev\n- name
                [unused-sector] warning: one.yml:11:3: no cluster is in sector "dev"; put clusters in it, or remove it
            mutexes: [m1] => mutexes: []
                [limit-without-mutex] warning: one.yml:11:3: the limit of sector "prod" has no effect: none of its clusters has mutexes; give its clusters a mutex: the limit counts those that share one
            soakDays: 0 => soakDays: 1
                [no-first-cluster] warning: one.yml:23:3: workload "web" can never start: none of its clusters has soakDays 0; give one of its clusters `soakDays: 0`, so that the others have something to wait for
        "#]],
    );
}

#[test]
fn organisations() {
    check_edits(
        &[
            ("orgId: org-1\n", ""),
            ("orgId: org-1", "orgId: 12"),
            ("name: one\n", ""),
            ("name: one\n", "name: [one]\n"),
            (r"- ^.*-rc\..*$", "- '['"),
            ("environment:", "enviroment:"),
            ("environment: production", "orgId: org-2"),
            ("[web, batch]\nupgrade", "web\nupgrade"),
            (
                "upgradePolicyDefaults:",
                "upgradePolicyDefaults: {}\nother:",
            ),
            ("name: one\n", "name: one\n  - x"),
            (ORGANISATION, "hello: there\n"),
            (ORGANISATION, "- a list\n"),
            (ORGANISATION, ""),
            (ORGANISATION, "orgId: a\n---\norgId: b\n"),
            (ORGANISATION, "a: &a [*a]\n"),
        ],
        expect![[r#"
            orgId: org-1 => (nothing)
                [missing-field] one.yml:1:1: an organisation has no `orgId`; add `orgId: <the organisation's id>`
                one.yml is not read
            orgId: org-1 => orgId: 12
                [wrong-kind] one.yml:3:8: an organisation's id is a text, and this is the number 12; put it in quotes
                one.yml is not read
            name: one => (nothing)
            name: one => name: [one]
                [wrong-kind] one.yml:2:7: an organisation's name is a text, and this is a list; write one text
                held back: prod-1, stage-1, rest
            - ^.*-rc\..*$ => - '['
                [bad-pattern] one.yml:6:3: "[" is not a pattern: unclosed character class; write a regular expression: ^4\.12\.1$
                held back: prod-1, stage-1, rest
            environment: => enviroment:
                [unknown-field] warning: one.yml:4:1: an organisation has no field "enviroment"; it is ignored; correct its name, or remove it
            environment: production => orgId: org-2
                [duplicate-field] one.yml:4:1: "orgId" is given twice; keep one of them
                held back: prod-1, stage-1, rest
            [web, batch]\nupgrade => web\nupgrade
                [wrong-kind] one.yml:7:32: upgradePolicyAllowedWorkloads is a list, and this is "web"; write each on a line of its own, after `- `
                held back: prod-1, stage-1, rest
            upgradePolicyDefaults: => upgradePolicyDefaults: {}\nother:
                [wrong-kind] one.yml:48:24: upgradePolicyDefaults is a list, and this is a mapping; write each on a line of its own, after `- `
                [unknown-field] warning: one.yml:49:1: an organisation has no field "other"; it is ignored; correct its name, or remove it
            name: one => name: one\n - x
                [bad-yaml] one.yml:3:11: mapping values are not allowed in this context; correct the file
                one.yml is not read
            (all) => hello: there
                [not-a-policy] one.yml: this is neither an organisation (`orgId`) nor a cluster (`upgradePolicy`); complete the file, or keep it elsewhere
                one.yml is not read
            (all) => - a list
                [not-a-policy] one.yml: this is neither an organisation (`orgId`) nor a cluster (`upgradePolicy`); complete the file, or keep it elsewhere
                one.yml is not read
            (all) => (nothing)
                [bad-yaml] one.yml: the file is empty; write it, or remove it
                one.yml is not read
            (all) => orgId: a\n---\norgId: b
                [bad-yaml] one.yml:2:1: there is more than one document in this file; one document per file
                one.yml is not read
            (all) => a: &a [*a]
                [bad-yaml] one.yml:1:8: recursive references require weak recursion types; correct the file
                one.yml is not read
        "#]],
    );
}

#[test]
fn several_files() {
    let file = |text: &str, before: &str, after: &str| {
        assert!(text.contains(before), "{before}");
        text.replacen(before, after, 1)
    };
    let one = ("ocm/one.yml", ORGANISATION);
    for (what, files, expected) in [
        (
            "a cluster in two files",
            vec![one, ("c/a.yml", CLUSTER), ("c/b.yml", CLUSTER)],
            expect![[r#"
            a cluster in two files
                [duplicate-cluster] c/a.yml:1:1: cluster "prod-2" stands here and at c/b.yml:1:1; keep one of them
                [duplicate-cluster] c/a.yml:1:1: the id "0f3a" stands here and at c/b.yml:1:1; keep one of them
                [duplicate-cluster] c/b.yml:1:1: cluster "prod-2" stands here and at c/a.yml:1:1; keep one of them
                [duplicate-cluster] c/b.yml:1:1: the id "0f3a" stands here and at c/a.yml:1:1; keep one of them
                held back: prod-2, prod-2
        "#]],
        ),
        (
            "a cluster in both kinds of file",
            vec![one, ("c/a.yml", &*file(CLUSTER, "prod-2", "prod-1"))],
            expect![[r#"
            a cluster in both kinds of file
                [duplicate-cluster] c/a.yml:1:1: cluster "prod-1" stands here and at ocm/one.yml:23:3; keep one of them
                [duplicate-cluster] ocm/one.yml:23:3: cluster "prod-1" stands here and at c/a.yml:1:1; keep one of them
                held back: prod-1, prod-1
        "#]],
        ),
        (
            "one id, two names",
            vec![
                one,
                ("c/a.yml", CLUSTER),
                ("c/b.yml", &*file(CLUSTER, "prod-2", "prod-3")),
            ],
            expect![[r#"
                one id, two names
                    [duplicate-cluster] c/a.yml:1:1: the id "0f3a" stands here and at c/b.yml:1:1; keep one of them
                    [duplicate-cluster] c/b.yml:1:1: the id "0f3a" stands here and at c/a.yml:1:1; keep one of them
                    held back: prod-2, prod-3
            "#]],
        ),
        (
            "an organisation in two files",
            vec![one, ("ocm/two.yml", ORGANISATION)],
            expect![[r#"
            an organisation in two files
                [duplicate-organisation] ocm/two.yml:1:1: organisation "org-1" is declared here and at ocm/one.yml:1:1; keep one of them; until then none of its clusters is started
                ocm/two.yml is not read
                held back: prod-1, stage-1, rest
        "#]],
        ),
        (
            "an organisation that is not there",
            vec![
                one,
                ("c/a.yml", &*file(CLUSTER, "/ocm/one.yml", "/ocm/two.yml")),
            ],
            expect![[r#"
                an organisation that is not there
                    [unknown-organisation] c/a.yml:5:3: there is no organisation "/ocm/two.yml", or there are several; correct it, or add the organisation's file
            "#]],
        ),
        (
            "no organisation",
            vec![
                one,
                (
                    "c/a.yml",
                    &*file(CLUSTER, "ocm:\n  $ref: /ocm/one.yml\n", ""),
                ),
            ],
            expect![[r#"
            no organisation
                [missing-field] c/a.yml:1:1: the cluster has a policy or is disabled, and has no organisation; add `ocm:` with the organisation's id, name or file
                c/a.yml is not read
        "#]],
        ),
        (
            "no policy",
            vec![one, ("c/a.yml", &*file(CLUSTER, "upgradePolicy", "policy"))],
            expect![[r#"
                no policy
                    [unknown-field] warning: c/a.yml:10:1: a cluster file has no field "policy"; it is ignored; correct its name, or remove it
            "#]],
        ),
        (
            "a cluster whose file is not right",
            vec![
                one,
                ("c/a.yml", &*file(CLUSTER, "sector: prod", "sector: prd")),
            ],
            expect![[r#"
                a cluster whose file is not right
                    [unknown-sector] c/a.yml:15:13: there is no sector "prd" in this organisation; correct its name, or declare it; there are: prod, stage
                    held back: prod-2
            "#]],
        ),
    ] {
        let read = read_all(&files);
        expected.assert_eq(&format!("{what}\n{}", said(&read)));
    }
}

#[test]
fn many_schedules_that_never_fire_take_no_longer_than_a_few() {
    let mut text = "orgId: o\nupgradePolicyClusters:\n".to_owned();
    for number in 0..3_000 {
        let (minute, hour, day) = (number % 60, number / 60 % 24, 30 + number % 2);
        let months = if day == 31 { "2,4,6,9,11" } else { "2" };
        let schedule = format!("{minute} {hour} {day} {months} {}", number % 7);
        let policy = format!("{{workloads: [w], schedule: \"{schedule}\"}}");
        let _ = writeln!(text, "- name: c{number}\n  upgradePolicy: {policy}");
    }
    let read = read_all(&[("o.yml", &text)]);
    assert_eq!(
        read.findings
            .iter()
            .filter(|finding| finding.code == "bad-schedule")
            .count(),
        3_000
    );
}

#[test]
fn a_hundred_thousand_clusters_in_one_file() {
    let mut text = "orgId: o\nname: o\nsectors: [{name: s}]\nupgradePolicyClusters:\n".to_owned();
    for number in 0..100_000 {
        let _ = write!(
            text,
            "- name: cluster-{number}\n  upgradePolicy:\n    workloads:\n    - web\n    schedule: 0 10 * * 1-5\n    conditions:\n      soakDays: {}\n      mutexes: [m-{}]\n      sector: s\n      blockedVersions:\n      - ^.*-rc\\..*$\n",
            number % 8,
            number % 100,
        );
    }
    let read = read_all(&[("o.yml", &text)]);
    assert_eq!(read.findings, vec![]);
    assert_eq!(read.policy.organisations["o"].clusters.len(), 100_000);
}

// Helpers

fn read_all(files: &[(&str, &str)]) -> PolicyRead {
    let file = |(path, text): &(&str, &str)| SourceFile {
        path: (*path).into(),
        bytes: text.as_bytes().into(),
    };
    policy::read(&files.iter().map(file).collect::<Vec<_>>())
}

/// The good organisation with one edit each.
fn check_edits(edits: &[(&str, &str)], expected: Expect) {
    let mut table = String::new();
    for (before, after) in edits {
        assert!(
            ORGANISATION.contains(before),
            "{before:?} does not stand in the good file"
        );
        let whole = if *before == ORGANISATION {
            "(all)".to_owned()
        } else {
            shown(before)
        };
        let _ = writeln!(table, "{whole} => {}", shown(after));
        table += &said(&read_all(&[(
            "one.yml",
            &ORGANISATION.replacen(before, after, 1),
        )]));
    }
    expected.assert_eq(&table);
}

/// Everything that is said, and who is held back.
fn said(read: &PolicyRead) -> String {
    let mut said = String::new();
    for finding in &read.findings {
        let severity = if finding.is_error() { "" } else { "warning: " };
        let _ = writeln!(said, "    [{}] {severity}{finding}", finding.code);
    }
    for path in &read.unreadable {
        let _ = writeln!(said, "    {path} is not read");
    }
    for organisation in read.policy.organisations.values() {
        let clusters = organisation
            .clusters
            .iter()
            .map(|entry| (&entry.name, entry.problems.is_empty()));
        let defaults = organisation
            .defaults
            .iter()
            .map(|entry| (&entry.name, entry.problems.is_empty()));
        let held = clusters
            .chain(defaults)
            .filter(|(_, is_well)| !is_well)
            .map(|(name, _)| &**name);
        let held: Vec<&str> = held.collect();
        if !held.is_empty() {
            let _ = writeln!(said, "    held back: {}", held.join(", "));
        }
    }
    said
}

fn shown(text: &str) -> String {
    match text.trim().replace('\n', "\\n").replace("  ", " ") {
        nothing if nothing.is_empty() => "(nothing)".to_owned(),
        line => line,
    }
}

/// Every field that AUS's schemas have (`app/tests/real_data.rs` holds it against them).
const ALL_OF_AUS: &str = include_str!("aus_organisation.yml");

#[test]
fn a_file_with_every_field_of_aus_holds_nobody() {
    let read = read_all(&[("aus.yml", ALL_OF_AUS)]);
    let told: Vec<String> = read.findings.iter().map(ToString::to_string).collect();
    assert!(
        !read.findings.iter().any(|finding| finding.is_error()),
        "{told:#?}"
    );
    for organisation in read.policy.organisations.values() {
        for entry in &organisation.clusters {
            assert_eq!(entry.problems, [], "{}", entry.name);
        }
        let held: Vec<(&str, usize)> = organisation
            .defaults
            .iter()
            .map(|default| (&*default.name, default.problems.len()))
            .collect();
        assert_eq!(held, [("plain", 0), ("templated", 1)]);
    }
    for field in [
        "ausClusterHealthChecks",
        "addonManagedUpgrades",
        "addonUpgradeTests",
        "recommendedVersions",
        "recommendedVersionWeight",
        "allowedClusterExternalConfigLabels",
        "externalOrgId",
        "accessTokenClientId",
        "accessTokenUrl",
        "accessTokenClientSecret",
        "spec.id",
        "upgradePolicyTemplate",
        "ocm",
    ] {
        let is_told = |text: &&String| text.contains(&format!("`{field}`"));
        assert_eq!(told.iter().filter(is_told).count(), 1, "{field}: {told:#?}");
    }
    assert!(
        !told.iter().any(|text| text.contains("schedule_type")),
        "{told:#?}"
    );
}

#[test]
fn a_schedule_type_that_aus_does_not_have_holds_its_cluster() {
    let text = ALL_OF_AUS.replacen("schedule_type: automatic", "schedule_type: manual", 1);
    let read = read_all(&[("aus.yml", &text)]);
    let organisation = read.policy.organisations.values().next().unwrap();
    let held: Vec<usize> = organisation
        .clusters
        .iter()
        .map(|entry| entry.problems.len())
        .collect();
    assert_eq!(held, [0, 1], "prod-1, stage-1");
}

#[test]
fn accepted_risks_have_a_reason_an_owner_and_an_end() {
    let entry = "    - {name: SlowStart, reason: we wait for it, owner: ada, until: 2027-01-31}\n";
    let told = |after: &str| {
        assert!(ORGANISATION.contains(entry));
        let text = ORGANISATION.replacen(entry, after, 1);
        let read = read_all(&[("one.yml", &text)]);
        let findings = read.findings.iter().map(|finding| {
            let kind = if finding.is_error() {
                "error"
            } else {
                "warning"
            };
            format!("{kind} {}: {}", finding.code, finding.problem)
        });
        let policy = &read.policy.organisations["org-1"].clusters[0];
        let risks = policy.policy.accepted_risks.iter();
        let risks = risks.map(|risk| format!("{} {:?}", risk.name, risk.until));
        let held = if policy.problems.is_empty() {
            ""
        } else {
            "held"
        };
        findings
            .chain(risks)
            .chain([held.to_owned()])
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let with = |until: &str| told(&entry.replace("2027-01-31", until));
    assert_eq!(with("2027-01-31"), "SlowStart At(2027-01-31T00:00:00Z)");
    assert_eq!(
        with("2027-01-31T12:00:00+02:00"),
        "SlowStart At(2027-01-31T10:00:00Z)"
    );
    assert_eq!(with("fixed"), "SlowStart Fixed");
    // The short form counts, and somebody should say why and until when.
    assert_eq!(
        told("    - SlowStart\n"),
        "warning risk-without-end: the risk \"SlowStart\" is accepted without an end\nSlowStart Open"
    );
    // What is not understood accepts nothing, and holds the cluster.
    for (after, problem) in [
        (
            entry.replace("2027-01-31", "soon"),
            "error bad-time: \"soon\" is no end of an acceptance",
        ),
        (
            entry.replace(", until: 2027-01-31", ""),
            "error missing-field: an accepted risk has no `until`",
        ),
        (
            entry.replace("reason: we wait for it, ", ""),
            "error missing-field: an accepted risk has no `reason`",
        ),
        (
            entry.replace("owner: ada", "owner: \"\""),
            "error bad-name: ",
        ),
        (
            entry.replace("owner", "owned"),
            "error unknown-field: an accepted risk has no field \"owned\"",
        ),
    ] {
        let told = told(&after);
        assert!(told.contains(problem) && told.ends_with("held"), "{told}");
        assert!(!told.contains("SlowStart "), "{told}");
    }
    let twice = told(&entry.repeat(2));
    assert!(twice.contains("error duplicate-risk"), "{twice}");
}

#[test]
fn a_demand_for_preflights_that_is_not_understood_is_the_strictest() {
    for (after, problem) in [
        ("preflight: where-supported", None),
        ("preflight: none", None),
        (
            "preflight: sometimes",
            Some("\"sometimes\", which is not known"),
        ),
        ("preflights: required", Some("no field \"preflights\"")),
    ] {
        let text = ORGANISATION.replacen("preflight: required", after, 1);
        let read = read_all(&[("one.yml", &text)]);
        let cluster = &read.policy.organisations["org-1"].clusters[0];
        let is_held = !cluster.problems.is_empty();
        assert_eq!(is_held, problem.is_some(), "{after}: {:?}", read.findings);
        if let Some(problem) = problem {
            assert!(
                read.findings[0].problem.contains(problem),
                "{:?}",
                read.findings
            );
        }
    }
}

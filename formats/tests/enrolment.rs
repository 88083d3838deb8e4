//! Who is held before anybody knows it: what policy files say of unknown clusters, and the ids that files name in whatever state they are.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use expect_test::{Expect, expect};
use towpath_core::finding::Place;
use towpath_core::fleet::UnknownClusters;
use towpath_formats::SourceFile;
use towpath_formats::fleet::cluster_list;
use towpath_formats::fleet::policy::{self, PolicyRead};

/// Organisation files, each with these lines more.
fn read(files: &[&str]) -> PolicyRead {
    let file = |(number, more): (usize, &&str)| SourceFile {
        path: format!("org-{number}.yaml"),
        bytes: format!("orgId: org-{number}\n{more}\n").into_bytes().into(),
    };
    policy::read(&files.iter().enumerate().map(file).collect::<Vec<_>>())
}

fn check(files: &[&str], unknown_clusters: Option<UnknownClusters>, said: Expect) {
    let read = read(files);
    assert_eq!(read.unknown_clusters, unknown_clusters, "{files:?}");
    let lines: Vec<String> = read.findings.iter().map(ToString::to_string).collect();
    said.assert_eq(&lines.join("\n"));
}

#[test]
fn files_say_what_unknown_clusters_see_and_hold_wins() {
    let (hold, serve) = (Some(UnknownClusters::Hold), Some(UnknownClusters::Serve));
    check(&["", ""], None, expect![[""]]);
    check(&["unknownClusters: serve", ""], serve, expect![[""]]);
    check(
        &["unknownClusters: serve", "unknownClusters: serve"],
        serve,
        expect![[""]],
    );
    check(&["unknownClusters: hold"], hold, expect![[""]]);
    check(
        &["unknownClusters: serve", "unknownClusters: hold"],
        hold,
        expect![
            "org-1.yaml:2:18: `unknownClusters` is hold here and serve at org-0.yaml:2:18; hold counts; write the same in all files"
        ],
    );
    check(
        &[
            "unknownClusters: hold",
            "unknownClusters: serve",
            "unknownClusters: serve",
        ],
        hold,
        expect![[r#"
        org-1.yaml:2:18: `unknownClusters` is serve here and hold at org-0.yaml:2:18; hold counts; write the same in all files
        org-2.yaml:2:18: `unknownClusters` is serve here and hold at org-0.yaml:2:18; hold counts; write the same in all files"#]],
    );
    check(
        &["unknownClusters: Serve"],
        hold,
        expect![[
            r#"org-0.yaml:2:18: `unknownClusters` is "Serve"; unknown clusters are held; write `hold` or `serve`"#
        ]],
    );
    check(
        &["unknownClusters: [serve]"],
        hold,
        expect!["org-0.yaml:2:18: `unknownClusters` is a text, and this is a list; write one text"],
    );
}

#[test]
fn an_entry_that_lacks_its_name_still_holds_the_cluster_with_its_id() {
    let entry =
        "upgradePolicyClusters: [{id: a, upgradePolicy: {workloads: [w], schedule: '* * * * *'}}]";
    let read = read(&[entry]);
    assert_eq!(
        read.policy
            .named_ids()
            .map(|id| id.as_str())
            .collect::<Vec<_>>(),
        ["a"]
    );
    assert!(
        !read.policy.organisations["org-0"].clusters[0]
            .problems
            .is_empty()
    );
}

#[test]
fn a_cluster_file_without_an_organisation_that_exists_still_names_its_id() {
    let text = "name: shop\nspec: {external_id: a}\nocm: {orgId: nobody}\nupgradePolicy: {workloads: [w], schedule: '* * * * *'}\n";
    let read = policy::read(&[SourceFile {
        path: "shop.yaml".into(),
        bytes: text.as_bytes().into(),
    }]);
    assert_eq!(
        read.strays.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
        ["a"]
    );
}

#[test]
fn a_list_names_also_the_clusters_that_it_fails_to_describe() {
    let list = |text: &str| {
        let (list, _) = cluster_list::read(
            &Place::file("list"),
            text.as_bytes(),
            "2026-11-16T12:00:00Z".parse().unwrap(),
        );
        let ids: Vec<String> = list.left_out.iter().map(ToString::to_string).collect();
        (ids.join(" "), list.unread)
    };
    let good = "{\"id\": \"a\", \"organisation\": \"o\", \"version\": \"4.20.1\"}";
    assert_eq!(list(&format!("[{good}]")), (String::new(), 0));
    assert_eq!(
        list(&format!(
            "[{good}, {{\"id\": \"b\", \"version\": \"4.20.1\"}}]"
        )),
        ("b".into(), 0)
    );
    assert_eq!(
        list(&format!(
            "[{good}, {{\"id\": \"b\", \"organisation\": \"o\", \"version\": \"x\"}}]"
        )),
        ("b".into(), 0)
    );
    assert_eq!(
        list(&format!("[{good}, {{\"organisation\": \"o\"}}]")),
        (String::new(), 1)
    );
    assert_eq!(list(&format!("[{good}")), (String::new(), 1));
    assert_eq!(list("{\"clusters\": 1}"), (String::new(), 1));
}

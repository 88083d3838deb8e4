//! The table of minor versions: the built-in one, and files that correct or confirm it.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use expect_test::{Expect, expect};
use towpath_core::finding::Place;
use towpath_core::version::{Minor, Minors};
use towpath_formats::minors::{MAX_BYTES, built_in, read, with_releases_of};
use towpath_testing_graphs::pieces;

fn minor(text: &str) -> Minor {
    Minor::parse(text).unwrap()
}

fn read_text(text: &str) -> Result<Minors, String> {
    read(&Place::file("minors.yaml"), text.as_bytes()).map_err(|findings| {
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        lines.join("\n") + "\n"
    })
}

fn check_wrong(text: &str, expected: Expect) {
    expected.assert_eq(&read_text(text).unwrap_err());
}

/// For 4.1 to 4.22 it is what arithmetic said before there was a table.
#[test]
fn the_built_in_table_is_what_tests_of_the_core_use() {
    assert_eq!(built_in(), towpath_testing_graphs::minors());
    for (openshift, kubernetes) in [
        ("4.1", "1.13"),
        ("4.2", "1.14"),
        ("4.3", "1.16"),
        ("4.6", "1.19"),
        ("4.9", "1.22"),
        ("4.22", "1.35"),
    ] {
        let ships = built_in().kubernetes(minor(openshift)).unwrap();
        assert_eq!((ships.minor, ships.is_verified), (minor(kubernetes), true));
    }
    for unknown in ["4.0", "5.3", "5.9", "3.11"] {
        assert_eq!(built_in().kubernetes(minor(unknown)), None, "{unknown}");
    }
}

#[test]
fn a_file_confirms_a_row_and_adds_one() {
    let minors = read_text(
        "minors:
        - {minor: '5.0', next: ['5.1'], kubernetes: '1.36', kubeletSkew: 1}
        - {minor: '6.0', kubernetes: '1.50'}",
    )
    .unwrap();
    assert!(minors.kubernetes(minor("5.0")).unwrap().is_verified);
    assert_eq!(minors.unverified(minor("5.0")).count(), 0);
    // The row is taken as a whole, so the skip is gone.
    assert!(minors.rows()[&minor("5.0")].skips.is_empty());
    assert!(minors.kubernetes(minor("6.0")).is_some());
    // Where nobody says how far kubelets may be behind, it is one.
    assert_eq!(minors.kubelet_skew(minor("6.0")), 1);
    // Nobody has confirmed more for hosted control planes, so they have the same limit.
    let hosted = |minor: &str, minors: &Minors| {
        let minor = self::minor(minor);
        (
            minors.hosted_kubelet_skew(minor),
            minors.kubelet_skew(minor),
        )
    };
    assert_eq!(hosted("4.21", &minors), (1, 1));
    let confirmed = read_text(
        "minors: [{minor: '4.21', next: ['4.22'], kubernetes: '1.34', kubeletSkew: 1, hostedKubeletSkew: 3}]",
    );
    assert_eq!(hosted("4.21", &confirmed.unwrap()), (3, 1));
    // All else is as before.
    assert_eq!(
        minors.rows()[&minor("5.1")],
        built_in().rows()[&minor("5.1")]
    );
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_place() {
    check_wrong(
        "minors:
- {minor: 5.0, next: ['5.1']}
- {next: ['5.1']}
- {minor: '5.1', next: ['5.1', '5.0', 'x', '5.2', '5.2'], kubeletSkew: 9, eus: maybe}
- {minor: '5.2', unverified: [everything], color: red}
- {minor: '5.3'}
- {minor: '5.3'}
",
        expect![[r#"
            minors.yaml:2:11: a minor version is a text, and this is the number 5; put it in quotes
            minors.yaml:3:3: a minor version has no `minor`; write a minor version in quotes: "4.22"
            minors.yaml:4:25: 5.1 does not come after 5.1; name a later minor version
            minors.yaml:4:32: 5.0 does not come after 5.1; name a later minor version
            minors.yaml:4:39: "x" is not a minor version; write a minor version in quotes: "4.22"
            minors.yaml:4:51: 5.2 is listed twice; keep one of them
            minors.yaml:4:72: kubeletSkew is a whole number, and this is the number 9; write a number from 1 to 3
            minors.yaml:4:80: eus is true or false, and this is "maybe"; write `true` or `false`, without quotes
            minors.yaml:5:31: "everything" is not a fact about a minor version; use one of next, skips, kubernetes, kubeletSkew, hostedKubeletSkew, eus
            minors.yaml:5:44: a minor version has no field "color"; correct its name, or remove it
            minors.yaml:7:3: 5.3 has two rows; keep one of them
        "#]],
    );
    check_wrong(
        "rows: []\n",
        expect![[r#"
        minors.yaml:1:1: a file of minor versions has no `minors`; add the list `minors`, with a row for each minor version
        minors.yaml:1:1: a file of minor versions has no field "rows"; correct its name, or remove it
    "#]],
    );
    check_wrong(
        "",
        expect![[r#"
        minors.yaml: the file is empty; write it, or remove it
    "#]],
    );
    let long = format!("# {}\nminors: []\n", "x".repeat(MAX_BYTES));
    check_wrong(
        &long,
        expect![[r#"
        minors.yaml: the file is larger than 262144 bytes; leave out minor versions that nobody has
    "#]],
    );
}

#[test]
fn a_release_that_names_its_kubernetes_is_believed() {
    let release = |version: &str, versions: Option<&str>| {
        let mut release = pieces::release(&version.parse().unwrap());
        let named = versions.map(|it| ("io.openshift.build.versions".to_owned(), it.to_owned()));
        release.metadata.extend(named);
        release
    };
    let releases = towpath_core::graph::Releases {
        releases: vec![
            release("5.0.0-ec.6", Some("cli=5.0, kubernetes=1.37.2")),
            release("5.0.0-ec.5", Some("kubernetes=new")),
            release("5.0.0-ec.4", None),
        ],
        edges: Vec::new(),
    };
    let graph = towpath_core::graph::Graph::build(Default::default(), releases).0;
    let minors = with_releases_of(&built_in(), &graph);
    let kubernetes = |version: &str| {
        let ships = minors.kubernetes_of(&version.parse().unwrap()).unwrap();
        (ships.minor.to_string(), ships.is_verified)
    };
    assert_eq!(kubernetes("5.0.0-ec.6"), ("1.37".to_owned(), true));
    assert_eq!(kubernetes("5.0.0-ec.5"), ("1.36".to_owned(), false));
    assert_eq!(kubernetes("5.0.0-ec.4"), ("1.36".to_owned(), false));
}

//! How sources are written, and how they are shown.

use super::*;

fn parse(role: Role, text: &str) -> anyhow::Result<SourceSpec> {
    let intervals = Intervals {
        local: Duration::from_secs(30),
        remote: Duration::from_secs(300),
        graph_data_image: Duration::from_secs(30),
    };
    SourceSpec::parse(role, text, "default", intervals, false)
}

fn told(role: Role, text: &str) -> String {
    match parse(role, text) {
        Ok(spec) => {
            format!(
                "{} {} {} every {}",
                spec.name,
                spec.location.kind(),
                spec.location,
                spec.every.as_secs()
            )
        }
        Err(error) => format!("{error:#}"),
    }
}

#[test]
fn sources_are_named_by_one_string() {
    for (text, expected) in [
        ("/srv/a b#c", "default path /srv/a b#c every 30"),
        (
            "git+https://host/r.git",
            "default git git+https://host/r.git#HEAD: every 300",
        ),
        (
            "git+https://host/r.git#main",
            "default git git+https://host/r.git#main: every 300",
        ),
        (
            "git+file:///r#v1:a/b&name=x&every=60s",
            "x git git+file:///r#v1:a/b every 60",
        ),
        (
            "https://u:p@host/x.tar.gz",
            "default archive https://…@host/x.tar.gz every 300",
        ),
        (
            "https://host/x.tar.gz?token=a&ref=b",
            "default archive https://host/x.tar.gz?token=…&ref=… every 300",
        ),
        (
            "http://127.0.0.1:80/x",
            "default archive http://127.0.0.1:80/x every 300",
        ),
        (
            "oci://quay.io/a/b:1#every=PT10M",
            "default registry oci://quay.io/a/b:1 every 600",
        ),
        (
            "oci+http://127.0.0.1:5000/a/b:1",
            "default registry oci+http://127.0.0.1:5000/a/b:1 every 30",
        ),
    ] {
        assert_eq!(told(Role::GraphData, text), expected);
    }
    let upstream = "https://api.openshift.com/api/upgrades_info/graph#channels=stable-4.20,fast-4.20&arch=amd64,arm64";
    assert_eq!(
        told(Role::Releases, upstream),
        format!("default upstream {upstream} every 300")
    );
    let shown = told(
        Role::Releases,
        "https://h/graph?token=secret#channels=stable-4.20",
    );
    assert_eq!(
        shown,
        "default upstream https://h/graph?token=…#channels=stable-4.20&arch=amd64 every 300"
    );
    for registry in ["oci://quay.io/a/b", "oci://quay.io/a/b#arch=amd64,arm64"] {
        assert_eq!(
            told(Role::Releases, registry),
            format!("default registry {registry} every 300")
        );
    }
}

#[test]
fn copies_of_other_places_are_told_apart_without_their_secrets() {
    let identity = |text: &str| {
        parse(Role::GraphData, text)
            .expect("a source")
            .location
            .identity()
    };
    assert_eq!(
        identity("https://u:p@h/x"),
        identity("https://u:q@h/x"),
        "a password may change"
    );
    assert_ne!(identity("https://h/x?ref=a"), identity("https://h/x?ref=b"));
    assert!(!identity("https://h/x?token=secret").contains("secret"));
}

#[test]
fn edges_of_a_registry_can_be_left_out() {
    let edges = |text: &str| parse(Role::Releases, text).expect("a source").edges;
    assert_eq!(
        (
            edges("oci://quay.io/a/b"),
            edges("oci://quay.io/a/b#edges=no")
        ),
        (Edges::Offered, Edges::LeftOut)
    );
}

#[test]
fn what_cannot_be_meant_is_told() {
    for (role, text, expected) in [
        (Role::GraphData, "http://example.com/x", "plain HTTP"),
        (
            Role::GraphData,
            "git+http://u:secret@example.com/x",
            "plain HTTP",
        ),
        (Role::GraphData, "oci+http://example.com/x/y", "plain HTTP"),
        (Role::Releases, "oci://quay.io/a/b:tag", "repository"),
        (
            Role::Releases,
            "oci://quay.io/a/b#arch=a/b",
            "not an architecture",
        ),
        (
            Role::Releases,
            "oci://quay.io/a/b#edges=yes",
            "only edges=no is possible",
        ),
        (
            Role::Releases,
            "https://h/graph?token=secret#channels=c&edges=no",
            "for the release images of a registry",
        ),
        (
            Role::GraphData,
            "git+ssh://host/x",
            "name a path, git+https",
        ),
        (
            Role::GraphData,
            "git+https://h/x#--upload-pack=x",
            "is not an option",
        ),
        (
            Role::GraphData,
            "git+https://h/x#-x",
            "not the name of a branch",
        ),
        (
            Role::GraphData,
            "https://h/x#main",
            "only git has revisions",
        ),
        (Role::GraphData, "https://h/x#every=0s", "between 1s and 1d"),
        (
            Role::GraphData,
            "https://h/x#every=60",
            "\"60\" has no unit; write 60s for seconds",
        ),
        (
            Role::GraphData,
            "https://h/x#name=A",
            "cannot be a source's name",
        ),
        (Role::Releases, "https://h/graph", "say which channels"),
        (
            Role::Releases,
            "https://h/graph#channels=A",
            "cannot be a channel's name",
        ),
        (Role::Releases, "git+https://h/x", "name a path, https"),
        (Role::Platforms, "https://h/x", "name a path"),
    ] {
        let told = told(role, text);
        assert!(
            told.contains(expected) && !told.contains("secret"),
            "{text}: {told}"
        );
    }
}

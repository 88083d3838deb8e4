//! Which image a version is: what is signed, what sources dispute, and what a later copy may not change.

use towpath_core::graph::{Declares, Trust};
use towpath_core::version::Version;

use super::*;
use crate::guards::{codes, strict};

fn digest(of: u8) -> String {
    format!("p@sha256:{of:064x}")
}

fn signed(version: &str, payload: &str) -> DeclaredRelease {
    DeclaredRelease {
        trust: Trust::Verified,
        ..release(version, payload)
    }
}

/// 4.9.0, and 4.9.1 as a source has it.
fn source(name: &str, release_in_question: DeclaredRelease) -> Supply {
    supply(
        name,
        vec![release("4.9.0", "p@sha256:0"), release_in_question],
        vec![edge(0, 1)],
    )
}

fn findings(united: &UnitedReleases) -> Vec<String> {
    united
        .findings
        .iter()
        .map(|finding| format!("{} {finding}", finding.code))
        .collect()
}

/// All orders of up to three.
fn orders<T: Clone>(all: &[T]) -> Vec<Vec<T>> {
    let mut orders = vec![all.to_vec()];
    for (a, b) in [(0, 1), (1, 2), (0, 1), (1, 2), (0, 1)] {
        let mut next = orders[orders.len() - 1].clone();
        if b < next.len() {
            next.swap(a, b);
            orders.push(next);
        }
    }
    orders
}

#[test]
fn what_is_signed_overrules_what_is_not() {
    let (good, bad) = (
        source("a", signed("4.9.1", "p@sha256:1")),
        source("b", release("4.9.1", "p@sha256:bad")),
    );
    for supplies in orders(&[good, bad]) {
        let united = unite(supplies);
        assert_eq!(
            findings(&united),
            [
                "payload-overruled b: 4.9.1 for amd64 has the payload p@sha256:1 in a, which is signed, and p@sha256:bad in b, which is not; \
                 the signed one counts; find out who changed it in this source, and correct it or leave the source out"
            ]
        );
        let release = united
            .releases
            .releases
            .iter()
            .find(|release| release.version.patch() == 1)
            .unwrap();
        assert_eq!(
            (release.payload.as_str(), release.trust),
            ("p@sha256:1", Trust::Verified)
        );
        assert_eq!(told(&graph(united), "4.9.0"), ["4.9.1 true: "]);
    }
}

#[test]
fn nothing_of_an_overruled_image_is_kept_but_the_risks() {
    let mut bad = release("4.9.1", "p@sha256:bad");
    bad.metadata
        .insert("url".into(), "https://example.org/bad".into());
    bad.declares = Some(Declares {
        previous: ["4.8.0".parse().unwrap()].into(),
        next: Default::default(),
    });
    let bad = supply(
        "b",
        vec![release("4.9.0", "p@sha256:0"), bad],
        vec![risky(0, 1, "Known")],
    );
    for supplies in orders(&[source("a", signed("4.9.1", "p@sha256:1")), bad]) {
        let united = unite(supplies);
        let release = united
            .releases
            .releases
            .iter()
            .find(|release| release.version.patch() == 1)
            .unwrap();
        assert!(
            release.metadata.is_empty() && release.declares.is_none(),
            "{release:?}"
        );
        assert!(told(&graph(united), "4.9.0")[0].contains("the risk Known"));
    }
}

#[test]
fn two_that_are_signed_stay_disputed_and_two_unsigned_ones_are_nothing_beside_a_signed_one() {
    let (a, b) = (
        source("a", signed("4.9.1", "p@sha256:1")),
        source("b", signed("4.9.1", "p@sha256:2")),
    );
    for supplies in orders(&[a.clone(), b, source("c", release("4.9.1", "p@sha256:3"))]) {
        let united = unite(supplies);
        let codes: Vec<&str> = united.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(
            codes
                .iter()
                .filter(|code| **code == "payload-disputed")
                .count(),
            1,
            "{codes:?}"
        );
        assert_eq!(
            codes
                .iter()
                .filter(|code| **code == "payload-overruled")
                .count(),
            1,
            "{codes:?}"
        );
        assert!(told(&graph(united), "4.9.0")[0].starts_with("4.9.1 false: "));
    }
    let (c, d) = (
        source("c", release("4.9.1", "p@sha256:3")),
        source("d", release("4.9.1", "p@sha256:4")),
    );
    for supplies in orders(&[a, c, d]) {
        assert_eq!(told(&graph(unite(supplies)), "4.9.0"), ["4.9.1 true: "]);
    }
}

#[test]
fn two_payloads_from_one_source_are_disputed_as_from_two() {
    let releases = vec![
        release("4.9.0", "p@sha256:0"),
        release("4.9.1", "p@sha256:1"),
        release("4.9.1", "p@sha256:bad"),
    ];
    let united = unite(vec![supply("a", releases, vec![edge(0, 1), edge(0, 2)])]);
    assert_eq!(united.findings.len(), 1);
    assert_eq!(
        told(&graph(united), "4.9.0"),
        ["4.9.1 false: not offered to anybody, because a names two payloads for it (a)"]
    );
}

#[test]
fn no_update_leads_to_versions_that_share_a_payload() {
    let all = || {
        vec![
            release("4.9.0", "p@sha256:0"),
            release("4.9.1", "p@sha256:1"),
            release("4.9.2", "q@sha256:1"),
        ]
    };
    let edges = || vec![edge(0, 1), edge(0, 2)];
    let united = unite(vec![supply("a", all(), edges())]);
    assert_eq!(
        findings(&united),
        [
            "payload-shared a: 4.9.1 (a) and 4.9.2 (a) for amd64 have one payload, sha256:1; no update leads to them; \
             find out which of them is right, and correct the other source or leave it out"
        ]
    );
    assert_eq!(
        told(&graph(united), "4.9.0"),
        [
            "4.9.2 false: not offered to anybody, because 4.9.1 is said to have the same payload (a)",
            "4.9.1 false: not offered to anybody, because 4.9.2 is said to have the same payload (a)"
        ]
    );
    // Signed or not, and from whichever source.
    let split = |trust: Trust| {
        let mut parts = all();
        parts.iter_mut().for_each(|release| release.trust = trust);
        let last = parts.split_off(2);
        unite(vec![
            supply("a", parts, vec![edge(0, 1)]),
            supply("b", last, vec![]),
        ])
    };
    for trust in [Trust::Verified, Trust::Unverified] {
        assert_eq!(
            (split(trust).findings.len(), split(trust).blocks.len()),
            (1, 2)
        );
    }
}

#[test]
fn one_payload_may_be_of_several_architectures_and_tags_prove_nothing() {
    let multi = DeclaredRelease {
        arch: Arch::new("arm64"),
        ..release("4.9.2", "p@sha256:1")
    };
    let releases = vec![
        release("4.9.1", "p@sha256:1"),
        multi,
        release("4.9.3", "p:tag"),
        release("4.9.4", "p:tag"),
    ];
    let united = unite(vec![supply("a", releases, vec![])]);
    assert_eq!((united.findings.len(), united.blocks.len()), (0, 0));
}

fn copy(releases: &[(&str, u8)]) -> Summary {
    let releases = releases
        .iter()
        .map(|(version, of)| release(version, &digest(*of)))
        .collect();
    Summary::of_releases(&Releases {
        releases,
        edges: vec![],
    })
}

#[test]
fn a_version_that_is_known_may_not_become_another_image() {
    let before = copy(&[("4.9.0", 0), ("4.9.1", 1)]);
    for (after, expected) in [
        (copy(&[("4.9.0", 0), ("4.9.1", 1)]), &[][..]),
        (copy(&[("4.9.0", 0), ("4.9.1", 1), ("4.9.2", 2)]), &[]),
        (copy(&[("4.9.1", 1)]), &[]),
        (copy(&[("4.9.0", 0), ("4.9.1", 9)]), &["payload-changed"]),
        (
            copy(&[("4.9.0", 0), ("4.9.1", 1), ("4.9.1", 9)]),
            &["payload-changed"],
        ),
        (copy(&[("4.9.0", 1), ("4.9.1", 0)]), &["payload-changed"]),
    ] {
        assert_eq!(codes(&before, &after, &strict()), expected, "{after:?}");
    }
    let allowed = Allowances {
        allowed: [CopyObjection::named("payload").unwrap()].into(),
        ..strict()
    };
    assert_eq!(
        codes(&before, &copy(&[("4.9.0", 7), ("4.9.1", 8)]), &allowed),
        [""; 0]
    );
}

#[test]
fn a_version_may_gain_a_digest_and_not_lose_it() {
    let as_tag = |payload: &str| {
        let releases = vec![release("4.9.1", payload)];
        Summary::of_releases(&Releases {
            releases,
            edges: vec![],
        })
    };
    for without in [
        "evil.example/x:4.9.1",
        "p@sha512:00",
        &format!("p@sha256:{:064X}", 0xa),
    ] {
        assert_eq!(
            codes(&copy(&[("4.9.1", 1)]), &as_tag(without), &strict()),
            ["payload-changed"],
            "{without}"
        );
        assert_eq!(
            codes(&as_tag(without), &copy(&[("4.9.1", 1)]), &strict()),
            [""; 0],
            "{without}"
        );
    }
}

#[test]
fn a_mirror_has_the_same_images_under_another_name() {
    let at = |registry: &str| {
        let releases = vec![release("4.9.1", &format!("{registry}@sha256:{:064x}", 1))];
        Summary::of_releases(&Releases {
            releases,
            edges: vec![],
        })
    };
    assert_eq!(codes(&at("quay.io/x"), &at("mirror/x"), &strict()), [""; 0]);
}

#[test]
fn of_many_changed_payloads_the_first_are_named() {
    let of = |add: u8| {
        let releases: Vec<(String, u8)> = (0..9)
            .map(|patch| (format!("4.9.{patch}"), patch + add))
            .collect();
        copy(
            &releases
                .iter()
                .map(|(version, of)| (version.as_str(), *of))
                .collect::<Vec<_>>(),
        )
    };
    let problem = payload_changed(&of(0).payloads, &of(100).payloads).unwrap();
    assert!(
        problem.starts_with("the payload has changed: 4.9.0 for amd64 (sha256:0000"),
        "{problem}"
    );
    assert!(problem.ends_with(" and 6 more"), "{problem}");
}

fn at(day: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * (20_000 + day))
}

#[test]
fn a_version_that_went_may_not_come_back_as_another_image() {
    let (first, without) = (copy(&[("4.9.0", 0), ("4.9.1", 1)]), copy(&[("4.9.0", 0)]));
    let mut vanished = WithdrawnReleases::default();
    vanished.note(&first.payloads, &without.payloads, at(0));
    // A restart in between.
    let kept = vanished
        .entries()
        .map(|(day, version, arch, digest)| (day, version.clone(), arch.clone(), digest));
    let mut vanished = WithdrawnReleases::of(kept.collect::<Vec<_>>());
    let codes_at = |vanished: &WithdrawnReleases, after: &Summary, day: i64| {
        let payloads = vanished.beside(&without.payloads, at(day));
        codes(
            &Summary {
                payloads,
                ..without.clone()
            },
            after,
            &strict(),
        )
    };
    let (same, other) = (
        copy(&[("4.9.0", 0), ("4.9.1", 1)]),
        copy(&[("4.9.0", 0), ("4.9.1", 9)]),
    );
    assert_eq!(codes_at(&vanished, &same, 1), [""; 0]);
    assert_eq!(codes_at(&vanished, &other, 6), ["payload-changed"]);
    assert_eq!(
        codes_at(&vanished, &other, 7),
        [""; 0],
        "a week later nobody remembers"
    );
    assert_eq!(
        codes_at(&vanished, &copy(&[("4.9.0", 9)]), 1),
        ["payload-changed"],
        "what is in use counts first"
    );
    vanished.forget(&other.payloads);
    assert_eq!(
        vanished,
        WithdrawnReleases::default(),
        "it was allowed, and is what it is"
    );
}

#[test]
fn of_what_went_so_much_is_remembered_and_the_latest_of_it() {
    let many = |minor: u32, count: u32| {
        let releases = (0..count)
            .map(|patch| release(&format!("4.{minor}.{patch}"), &digest(1)))
            .collect();
        Summary::of_releases(&Releases {
            releases,
            edges: vec![],
        })
        .payloads
    };
    let mut vanished = WithdrawnReleases::default();
    vanished.note(&many(9, 6_000), &Payloads::default(), at(0));
    vanished.note(&many(1, 6_000), &Payloads::default(), at(1));
    let versions: Vec<&Version> = vanished
        .entries()
        .map(|(_, version, _, _)| version)
        .collect();
    assert_eq!(versions.len(), 10_000);
    assert_eq!(
        versions
            .iter()
            .filter(|version| version.minor() == 1)
            .count(),
        6_000,
        "those that went last"
    );
    assert!(
        versions
            .iter()
            .all(|version| version.minor() == 1 || version.patch() >= 2_000)
    );
    vanished.note(&Payloads::default(), &Payloads::default(), at(7));
    assert_eq!(vanished.entries().count(), 6_000);
}

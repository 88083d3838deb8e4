//! Signatures of releases: the policy, applied; and who says that there is an edge.
#![allow(clippy::unwrap_used)]

use expect_test::{Expect, expect};
use proptest::prelude::*;
use towpath_core::finding::Finding;
use towpath_core::graph::{
    DeclaredEdge, DeclaredRelease, Declares, End, Graph, GraphData, Provenance, Releases, Trust,
};
use towpath_core::intake::{Measure, Supply};
use towpath_core::signatures::{
    MAX_NAMED, PayloadDigest, Refusal, SignaturePolicy, SignatureVerdict, Signer, Verdicts,
    leave_out, mark, verified_summary, wanted,
};
use towpath_testing_graphs::pieces;

/// The policy applied to one source.
fn apply(
    policy: SignaturePolicy,
    releases: Releases,
    verdicts: &Verdicts,
) -> (Releases, Vec<Finding>) {
    let mut supplies = [Supply {
        source: "releases".into(),
        releases,
    }];
    let findings = mark(policy, &mut supplies, verdicts);
    let [Supply { releases, .. }] = supplies;
    (leave_out(policy, releases), findings)
}

fn digest(patch: usize) -> PayloadDigest {
    PayloadDigest::parse(&format!("sha256:{patch:064x}")).unwrap()
}

/// 4.9.<patch>, with what its image declares: patches before it, and patches after it.
fn release(patch: usize, declared: Option<(&[usize], &[usize])>) -> DeclaredRelease {
    let versions = |patches: &[usize]| {
        patches
            .iter()
            .map(|patch| format!("4.9.{patch}").parse().unwrap())
            .collect()
    };
    DeclaredRelease {
        payload: format!("registry/release@{}", digest(patch)),
        declares: declared.map(|(before, after)| Declares {
            previous: versions(before),
            next: versions(after),
        }),
        ..pieces::release(&format!("4.9.{patch}").parse().unwrap())
    }
}

fn edge(from: u32, to: u32) -> DeclaredEdge {
    DeclaredEdge {
        from,
        to,
        risks: None,
    }
}

fn signer() -> Signer {
    Signer {
        fingerprint: "F".into(),
        user_id: "ann".into(),
        signed_at: jiff::Timestamp::UNIX_EPOCH,
        until: None,
    }
}

fn verified(patches: &[usize]) -> Verdicts {
    patches
        .iter()
        .map(|patch| (digest(*patch), SignatureVerdict::Verified(signer())))
        .collect()
}

/// 4.9.0 is verified; of the others each is not for another reason.
fn mixed() -> (Releases, Verdicts) {
    let mut releases = Releases {
        releases: (0..5).map(|patch| release(patch, None)).collect(),
        edges: Vec::new(),
    };
    releases.releases[4].payload = "registry/release:4.9.4".into();
    releases.edges = vec![edge(0, 1), edge(1, 2), edge(0, 4)];
    let mut verdicts = verified(&[0]);
    let refusal = Refusal::UnknownKey {
        issuer: "key E".into(),
    };
    verdicts.insert(digest(1), SignatureVerdict::Refused(refusal));
    verdicts.insert(digest(2), SignatureVerdict::Missing);
    verdicts.insert(
        digest(3),
        SignatureVerdict::NotKnown("store: it does not answer in time".into()),
    );
    (releases, verdicts)
}

fn check(policy: SignaturePolicy, expected: Expect) {
    let (releases, verdicts) = mixed();
    let (left, findings) = apply(policy, releases, &verdicts);
    let short = |text: String| text.replace(&format!("{:060}", 0), "…");
    let kept = left
        .releases
        .iter()
        .map(|release| format!("{} {:?}\n", release.version, release.trust));
    let told = findings
        .iter()
        .map(|finding| short(format!("{} {finding}\n", finding.code)));
    assert!(!findings.iter().any(Finding::is_error));
    expected.assert_eq(&format!(
        "{}{} edges\n{}",
        kept.collect::<String>(),
        left.edges.len(),
        told.collect::<String>()
    ));
}

#[test]
fn require_leaves_out_what_is_not_verified() {
    check(
        SignaturePolicy::Require,
        expect![[r#"
        4.9.0 Verified
        0 edges
        no-digest signatures: 4.9.4 of amd64 is left out: its payload "registry/release:4.9.4" has no digest that could be signed; name the payload by digest: registry/release@sha256:…
        no-signature signatures: 4.9.2 of amd64 is left out: there is no signature for it (sha256:…0002); copy its signature into a store, or leave the release out
        signature-not-known signatures: 4.9.3 of amd64 is left out: whether there is a signature is not known now: store: it does not answer in time (sha256:…0003); see that the signature store can be reached
        unknown-key signatures: 4.9.1 of amd64 is left out: it was signed with key E, which is not in the keyring (sha256:…0001); add the signer's key to the keyring if you trust it
    "#]],
    );
}

#[test]
fn warn_keeps_it_and_tells() {
    check(
        SignaturePolicy::Warn,
        expect![[r#"
        4.9.0 Verified
        4.9.1 Unverified
        4.9.2 Unverified
        4.9.3 Unverified
        4.9.4 Unverified
        3 edges
        no-digest signatures: 4.9.4 of amd64 is not verified: its payload "registry/release:4.9.4" has no digest that could be signed; name the payload by digest: registry/release@sha256:…
        no-signature signatures: 4.9.2 of amd64 is not verified: there is no signature for it (sha256:…0002); copy its signature into a store, or leave the release out
        signature-not-known signatures: 4.9.3 of amd64 is not verified: whether there is a signature is not known now: store: it does not answer in time (sha256:…0003); see that the signature store can be reached
        unknown-key signatures: 4.9.1 of amd64 is not verified: it was signed with key E, which is not in the keyring (sha256:…0001); add the signer's key to the keyring if you trust it
    "#]],
    );
}

#[test]
fn off_asks_nothing() {
    check(
        SignaturePolicy::Off,
        expect![[r#"
        4.9.0 Unverified
        4.9.1 Unverified
        4.9.2 Unverified
        4.9.3 Unverified
        4.9.4 Unverified
        3 edges
    "#]],
    );
    assert!(wanted(SignaturePolicy::Off, &mixed().0).is_empty());
    assert_eq!(wanted(SignaturePolicy::Warn, &mixed().0).len(), 4);
}

#[test]
fn what_nobody_looked_for_is_not_verified() {
    let releases = Releases {
        releases: vec![release(0, None)],
        edges: Vec::new(),
    };
    let (left, findings) = apply(SignaturePolicy::Require, releases, &Verdicts::new());
    assert_eq!(
        (left.releases.len(), findings[0].code),
        (0, "signature-not-known")
    );
}

#[test]
fn an_old_mark_does_not_outlive_its_signature() {
    let mut old = release(0, None);
    old.trust = Trust::Verified;
    let releases = Releases {
        releases: vec![old],
        edges: Vec::new(),
    };
    let (left, _) = apply(SignaturePolicy::Warn, releases, &Verdicts::new());
    assert_eq!(left.releases[0].trust, Trust::Unverified);
}

#[test]
fn of_many_the_first_are_named_and_the_others_counted() {
    let releases = Releases {
        releases: (0..1_000).map(|patch| release(patch, None)).collect(),
        edges: Vec::new(),
    };
    let verdicts = (0..1_000)
        .map(|patch| (digest(patch), SignatureVerdict::Missing))
        .collect();
    let (_, findings) = apply(SignaturePolicy::Require, releases, &verdicts);
    assert_eq!(findings.len(), MAX_NAMED + 1);
    assert!(
        findings
            .iter()
            .any(|f| f.problem == "980 more releases are not verified (no-signature)"),
        "{findings:?}"
    );
}

#[test]
fn what_two_sources_have_is_told_once() {
    let of = |source: &str| Supply {
        source: source.into(),
        releases: Releases {
            releases: (0..3).map(|patch| release(patch, None)).collect(),
            edges: Vec::new(),
        },
    };
    let mut supplies = [of("a"), of("b")];
    supplies[1].releases.releases[2].payload = format!("registry/release@{}", digest(7));
    let findings = mark(SignaturePolicy::Require, &mut supplies, &verified(&[0]));
    assert_eq!(
        findings.len(),
        3,
        "4.9.1 once, and each payload of 4.9.2: {findings:?}"
    );
}

#[test]
fn the_guard_sees_what_is_left_after_verification() {
    let releases = |patches: std::ops::Range<usize>| Releases {
        releases: patches.map(|patch| release(patch, None)).collect(),
        edges: Vec::new(),
    };
    let verdicts = verified(&(0..20).collect::<Vec<_>>());
    let left = |policy, patches| verified_summary(policy, &releases(patches), &verdicts);
    let count = |patches| left(SignaturePolicy::Require, patches).counts[&Measure::Verified];
    assert_eq!((count(0..20), count(10..30), count(20..40)), (20, 10, 0));
    assert!(
        left(SignaturePolicy::Warn, 0..20).counts.is_empty()
            && left(SignaturePolicy::Off, 0..20).counts.is_empty()
    );
}

fn provenance(releases: Vec<DeclaredRelease>, verdicts: &Verdicts) -> Provenance {
    let releases = Releases {
        releases,
        edges: vec![edge(0, 1)],
    };
    let (releases, _) = apply(SignaturePolicy::Warn, releases, verdicts);
    let (graph, _) = Graph::build(GraphData::default(), releases);
    graph.provenance(graph.edges()[0])
}

#[test]
fn an_edge_is_signed_if_a_verified_release_declares_it() {
    let (silent, elsewhere) = (None, Some((&[7][..], &[8][..])));
    let (next, previous) = (Some((&[][..], &[1][..])), Some((&[0][..], &[][..])));
    for (from, to, signed, expected) in [
        (silent, silent, &[0, 1][..], Provenance::Claimed),
        (elsewhere, elsewhere, &[0, 1], Provenance::Claimed),
        (next, silent, &[], Provenance::Declared(End::Source)),
        (next, silent, &[1], Provenance::Declared(End::Source)),
        (next, silent, &[0], Provenance::Signed(End::Source)),
        (silent, previous, &[], Provenance::Declared(End::Target)),
        (silent, previous, &[0], Provenance::Declared(End::Target)),
        (elsewhere, previous, &[1], Provenance::Signed(End::Target)),
        (next, previous, &[], Provenance::Declared(End::Both)),
        (next, previous, &[0], Provenance::Signed(End::Source)),
        (next, previous, &[1], Provenance::Signed(End::Target)),
        (next, previous, &[0, 1], Provenance::Signed(End::Both)),
        // What is declared the wrong way round says nothing about this edge.
        (previous, next, &[0, 1], Provenance::Claimed),
    ] {
        let told = provenance(vec![release(0, from), release(1, to)], &verified(signed));
        assert_eq!(told, expected, "{from:?} {to:?} {signed:?}");
    }
}

#[test]
fn an_edge_that_administrators_add_is_a_claim() {
    let mut to = release(1, Some((&[], &[])));
    to.metadata.insert(
        "io.openshift.upgrades.graph.previous.add".into(),
        "4.9.0".into(),
    );
    assert_eq!(
        provenance(vec![release(0, Some((&[], &[]))), to], &verified(&[0, 1])),
        Provenance::Claimed
    );
}

/// Two sources know a release: one from a registry, with what its image says; one from a server, without.
#[test]
fn of_one_image_every_word_counts_and_of_another_none() {
    let both = |first: DeclaredRelease, second: DeclaredRelease| {
        let releases = Releases {
            releases: vec![first, release(1, None), second],
            edges: vec![edge(0, 1)],
        };
        let (releases, _) = apply(SignaturePolicy::Warn, releases, &verified(&[0, 1]));
        let (graph, _) = Graph::build(GraphData::default(), releases);
        graph.provenance(graph.edges()[0])
    };
    let mut mirrored = release(0, Some((&[], &[1])));
    mirrored.payload = mirrored.payload.replace("registry/", "mirror.example.org/");
    assert_eq!(
        both(release(0, None), mirrored.clone()),
        Provenance::Signed(End::Source)
    );
    assert_eq!(
        both(mirrored.clone(), release(0, None)),
        Provenance::Signed(End::Source)
    );
    mirrored.payload = format!("registry/release@{}", digest(1));
    assert_eq!(both(release(0, None), mirrored), Provenance::Claimed);
}

proptest! {
    /// Whatever is verified: no edge is more than it was without verification, unless an end of it is.
    #[test]
    fn verification_of_others_changes_no_edge(
        declared in prop::collection::vec(prop::option::of((prop::collection::vec(0usize..6, 0..6), prop::collection::vec(0usize..6, 0..6))), 6),
        edges in prop::collection::vec((0u32..6, 0u32..6), 0..20),
        signed in prop::collection::btree_set(0usize..6, 0..6),
    ) {
        let releases = Releases {
            releases: declared
                .iter()
                .enumerate()
                .map(|(patch, one)| release(patch, one.as_ref().map(|(before, after)| (&before[..], &after[..]))))
                .collect(),
            edges: edges.iter().map(|(from, to)| edge(*from, *to)).collect(),
        };
        let marked = |patches: &[usize]| {
            let (releases, _) = apply(SignaturePolicy::Warn, releases.clone(), &verified(patches));
            Graph::build(GraphData::default(), releases).0
        };
        let (without, with) = (marked(&[]), marked(&signed.iter().copied().collect::<Vec<_>>()));
        for edge in without.edges() {
            let (before, after) = (without.provenance(*edge), with.provenance(*edge));
            let patches = [edge.from, edge.to].map(|id| without.release(id).version.patch() as usize);
            match after {
                Provenance::Signed(_) => {
                    prop_assert!(patches.iter().any(|patch| signed.contains(patch)));
                    prop_assert!(matches!(before, Provenance::Declared(_)));
                }
                same => prop_assert_eq!(same, before),
            }
        }
        // Require leaves nothing that is not verified, and keeps every edge between those that are.
        let all = verified(&signed.iter().copied().collect::<Vec<_>>());
        let (left, _) = apply(SignaturePolicy::Require, releases.clone(), &all);
        let names = |releases: &Releases, edge: &DeclaredEdge| {
            [edge.from, edge.to].map(|at| releases.releases[at as usize].version.patch() as usize)
        };
        let kept: Vec<_> = left.edges.iter().map(|edge| names(&left, edge)).collect();
        let expected = releases.edges.iter().map(|edge| names(&releases, edge));
        let expected: Vec<_> = expected.filter(|ends| ends.iter().all(|patch| signed.contains(patch))).collect();
        prop_assert_eq!(kept, expected);
        prop_assert!(left.releases.iter().all(|release| release.trust == Trust::Verified));
    }
}

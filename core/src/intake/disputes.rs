//! Disputes: what is reported, and done, when nobody can tell which image a version is.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::unite::{Claim, NamedPayload, UnitedReleases};
use crate::finding::{Finding, Place};
use crate::graph::{Audience, Block, DeclaredRelease, Pattern};
use crate::version::{Arch, ReleaseName, Version};

const REMEDY: &str =
    "find out which of them is right, and correct the other source or leave it out";

/// Two payloads of one release, from two sources or from one: no update leads to it.
pub(super) fn two_payloads(
    declared_by: &Arc<str>,
    first: &DeclaredRelease,
    other: &Claim,
    united: &mut UnitedReleases,
) {
    let (version, arch, source) = (&first.version, &first.arch, &other.source);
    let what = match declared_by == source {
        true => format!("{source} names two payloads for it"),
        false => format!("{declared_by} and {source} name different payloads for it"),
    };
    let problem = format!(
        "{version} for {arch} has the payload {} in {declared_by}, and {} in {source}; no update leads to it",
        first.payload, other.release.payload
    );
    let origin = Place::file(source.clone());
    united.findings.push(Finding::warning(
        "payload-disputed",
        origin.clone(),
        problem,
        REMEDY,
    ));
    united.blocks.push(block(version, arch, what, origin));
}

/// One payload that goes by several versions: an image is one release, so that no update leads to any of them.
pub(super) fn shared_payload(
    versions: &BTreeMap<Version, NamedPayload>,
    united: &mut UnitedReleases,
) {
    let Some(last) = versions.values().last() else {
        return;
    };
    let (arch, digest) = (&last.arch, &last.digest);
    let all: Vec<String> = versions
        .values()
        .map(|one| format!("{} ({})", one.version, one.source))
        .collect();
    let problem = format!(
        "{} for {arch} have one payload, {digest}; no update leads to them",
        all.join(" and ")
    );
    let origin = Place::file(last.source.clone());
    united
        .findings
        .push(Finding::warning("payload-shared", origin, problem, REMEDY));
    for one in versions.values() {
        let others: Vec<String> = versions
            .keys()
            .filter(|version| **version != one.version)
            .map(ToString::to_string)
            .collect();
        let what = format!("{} is said to have the same payload", others.join(", "));
        united.blocks.push(block(
            &one.version,
            arch,
            what,
            Place::file(one.source.clone()),
        ));
    }
}

/// A payload that is not signed, where another of the same release is.
pub(super) fn overruled(signed_by: &Arc<str>, signed: &DeclaredRelease, other: &Claim) -> Finding {
    let problem = format!(
        "{} for {} has the payload {} in {signed_by}, which is signed, and {} in {}, which is not; the signed one counts",
        signed.version, signed.arch, signed.payload, other.release.payload, other.source
    );
    let remedy = "find out who changed it in this source, and correct it or leave the source out";
    Finding::warning(
        "payload-overruled",
        Place::file(other.source.clone()),
        problem,
        remedy,
    )
}

fn block(version: &Version, arch: &Arch, what: String, origin: Place) -> Block {
    Block {
        to: ReleaseName {
            version: version.clone(),
            arch: Some(arch.clone()),
        },
        from: Pattern::new(".*").expect("a valid pattern"),
        stops: Some(Audience::Disputed(what)),
        risk: None,
        halt: None,
        origin,
    }
}

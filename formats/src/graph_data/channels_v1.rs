//! Channels of schema 1.x: a file each, a list of releases that have always been there.

use std::collections::BTreeSet;

use serde::de::{IgnoredAny, MapAccess};
use serde_saphyr::Spanned;
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{ChannelName, ChannelSpec, Member};
use towpath_core::version::ReleaseName;

use crate::yaml::{self, Fields, Record, at};

#[derive(Debug, Default)]
struct ChannelFile {
    name: Option<Spanned<String>>,
    versions: Option<Vec<Spanned<String>>>,
}

impl Record for ChannelFile {
    const WHAT: &'static str = "a channel";

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: &mut A,
    ) -> Result<bool, A::Error> {
        match name {
            "name" => self.name = Some(value.next_value()?),
            // Nothing after the colon is not an empty list.
            "versions" => self.versions = value.next_value()?,
            // For promotion tooling; no business of a service.
            "feeder" | "tombstones" => drop(value.next_value::<IgnoredAny>()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

pub(super) fn read(
    place: &Place,
    bytes: &[u8],
    findings: &mut Vec<Finding>,
) -> Option<ChannelSpec> {
    let file: Fields<ChannelFile> = yaml::read(place, bytes)
        .map_err(|finding| findings.push(finding))
        .ok()?;
    findings.extend(file.unknown.iter().map(|field| {
        let problem = format!("a channel has no field {:?}; it is ignored", field.value);
        Finding::warning(
            "unknown-field",
            at(place, field.defined),
            problem,
            "correct its name, or remove it",
        )
    }));
    let name = channel_name(place, file.known.name.as_ref(), findings);
    let Some(versions) = file.known.versions else {
        let problem = "the channel has no `versions`";
        findings.push(Finding::error(
            "missing-field",
            place.clone(),
            problem,
            "list its releases, or write `versions: []`",
        ));
        return None;
    };
    let members = members(place, &versions, findings);
    Some(ChannelSpec {
        name: name?,
        rollouts: Vec::new(),
        members,
        origin: place.at(1, 0),
    })
}

/// The name of a channel, or a finding.
pub(super) fn channel_name(
    place: &Place,
    name: Option<&Spanned<String>>,
    findings: &mut Vec<Finding>,
) -> Option<ChannelName> {
    let Some(name) = name else {
        findings.push(Finding::error(
            "missing-field",
            place.clone(),
            "the channel has no name",
            "add `name: <channel>`",
        ));
        return None;
    };
    let known = ChannelName::new(&name.value);
    if known.is_none() {
        let problem = format!("{:?} cannot be a channel's name", name.value);
        let remedy = "use lower-case letters, digits, `-` and `.`";
        findings.push(Finding::error(
            "bad-channel-name",
            at(place, name.defined),
            problem,
            remedy,
        ));
    }
    known
}

/// A release's name, or a finding.
pub(super) fn release_name(
    place: &Place,
    name: &Spanned<String>,
    findings: &mut Vec<Finding>,
) -> Option<ReleaseName> {
    let wrong = |e: towpath_core::version::number::NotAVersion| {
        Finding::error(
            "bad-version",
            at(place, name.defined),
            e.to_string(),
            "write it as in 4.9.7 or 4.9.7+amd64",
        )
    };
    ReleaseName::parse(&name.value)
        .map_err(|e| findings.push(wrong(e)))
        .ok()
}

fn members(
    place: &Place,
    versions: &[Spanned<String>],
    findings: &mut Vec<Finding>,
) -> Vec<Member> {
    let mut seen = BTreeSet::new();
    let mut members = Vec::new();
    for version in versions {
        let Some(name) = release_name(place, version, findings) else {
            continue;
        };
        if !seen.insert(name.clone()) {
            let problem = format!("{name} is listed twice");
            findings.push(Finding::warning(
                "duplicate-version",
                at(place, version.defined),
                problem,
                "remove one of them",
            ));
        }
        let origin = at(place, version.defined);
        members.push(Member {
            name,
            start: None,
            locked: false,
            replaces: None,
            origin,
        });
    }
    members
}

//! Channels of schema 2.0.0: several that share releases, each with its own way of phasing them in.
//!
//! A field that we do not know is an error here: it could change when clusters are shown an edge.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::{IgnoredAny, MapAccess};
use serde_saphyr::Spanned;
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{ChannelSpec, FromVersion, Member, Ramp, RolloutRule};
use towpath_core::version::{ReleaseName, Version};

use super::channels_v1::{channel_name, release_name};
use super::time::{parse_duration, parse_time};
use crate::yaml::{self, Fields, Record, at};

#[derive(Debug, Default)]
struct ChannelsFile {
    channels: Option<Vec<Spanned<Fields<ChannelEntry>>>>,
    versions: Listed<VersionEntry>,
}

/// An optional list: absent, or given, and then with something after the colon.
type Listed<T> = Option<Spanned<Option<Vec<Spanned<Fields<T>>>>>>;

#[derive(Debug, Default)]
struct ChannelEntry {
    name: Option<Spanned<String>>,
    phased_rollouts: Listed<RuleEntry>,
}

#[derive(Debug, Default)]
struct RuleEntry {
    duration: Option<Spanned<String>>,
    from_version: Option<Spanned<String>>,
    ramp: Option<Spanned<String>>,
}

#[derive(Debug, Default)]
struct VersionEntry {
    name: Option<Spanned<String>>,
    start: Option<Spanned<String>>,
    locked: bool,
    replaces: Option<Spanned<String>>,
}

impl Record for ChannelsFile {
    const WHAT: &'static str = "a file of channels";

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: &mut A,
    ) -> Result<bool, A::Error> {
        match name {
            "channels" => self.channels = value.next_value()?,
            "versions" => self.versions = Some(value.next_value()?),
            // For promotion tooling; no business of a service.
            "feeder" | "tombstones" => drop(value.next_value::<IgnoredAny>()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Record for ChannelEntry {
    const WHAT: &'static str = "a channel";

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: &mut A,
    ) -> Result<bool, A::Error> {
        match name {
            "name" => self.name = Some(value.next_value()?),
            "phasedRollouts" => self.phased_rollouts = Some(value.next_value()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Record for RuleEntry {
    const WHAT: &'static str = "a rollout rule";

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: &mut A,
    ) -> Result<bool, A::Error> {
        match name {
            "duration" => self.duration = Some(value.next_value()?),
            "fromVersion" => self.from_version = Some(value.next_value()?),
            "ramp" => self.ramp = Some(value.next_value()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Record for VersionEntry {
    const WHAT: &'static str = "a release of a channel";

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: &mut A,
    ) -> Result<bool, A::Error> {
        match name {
            "name" => self.name = Some(value.next_value()?),
            "start" => self.start = Some(value.next_value()?),
            "locked" => self.locked = value.next_value()?,
            "replaces" => self.replaces = Some(value.next_value()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

pub(super) fn read(place: &Place, bytes: &[u8], findings: &mut Vec<Finding>) -> Vec<ChannelSpec> {
    let file: Fields<ChannelsFile> = match yaml::read(place, bytes) {
        Ok(file) => file,
        Err(finding) => {
            findings.push(finding);
            return Vec::new();
        }
    };
    let mut reader = Reader { place, findings };
    reader.refuse_unknown("a file of channels", &file.unknown);
    let versions = reader.listed("versions", &file.known.versions);
    let members = reader.members(versions);
    let Some(channels) = &file.known.channels else {
        let remedy = "add `channels:` with a list of names; schema 2.0.0 has no `name` at the top";
        findings.push(Finding::error(
            "missing-field",
            place.clone(),
            "the file has no `channels`",
            remedy,
        ));
        return Vec::new();
    };
    channels
        .iter()
        .filter_map(|entry| reader.channel(entry, &members))
        .collect()
}

struct Reader<'a> {
    place: &'a Place,
    findings: &'a mut Vec<Finding>,
}

impl Reader<'_> {
    fn error(
        &mut self,
        code: &'static str,
        location: serde_saphyr::Location,
        problem: String,
        remedy: &str,
    ) {
        self.findings.push(Finding::error(
            code,
            at(self.place, location),
            problem,
            remedy,
        ));
    }

    /// The items of an optional list. One with nothing after its colon is more likely a mistake than an empty list.
    fn listed<'f, T>(&mut self, name: &str, list: &'f Listed<T>) -> &'f [Spanned<Fields<T>>] {
        match list {
            None => &[],
            Some(Spanned {
                value: Some(items), ..
            }) => items,
            Some(Spanned {
                value: None,
                defined,
                ..
            }) => {
                self.error(
                    "missing-field",
                    *defined,
                    format!("`{name}` has nothing in it"),
                    "list something, or write `[]`",
                );
                &[]
            }
        }
    }

    fn refuse_unknown(&mut self, what: &str, unknown: &[Spanned<String>]) {
        for field in unknown {
            let problem = format!("{what} has no field {:?}", field.value);
            self.error(
                "unknown-field",
                field.defined,
                problem,
                "correct its name, or remove it",
            );
        }
    }

    fn channel(
        &mut self,
        entry: &Spanned<Fields<ChannelEntry>>,
        members: &[Member],
    ) -> Option<ChannelSpec> {
        self.refuse_unknown("a channel", &entry.value.unknown);
        let origin = at(self.place, entry.defined);
        let name = channel_name(&origin, entry.value.known.name.as_ref(), self.findings);
        let rules = self.listed("phasedRollouts", &entry.value.known.phased_rollouts);
        let rollouts = self.rollouts(rules);
        Some(ChannelSpec {
            name: name?,
            rollouts,
            members: members.to_vec(),
            origin,
        })
    }

    fn rollouts(&mut self, entries: &[Spanned<Fields<RuleEntry>>]) -> Vec<RolloutRule> {
        let mut seen: BTreeSet<Option<FromVersion>> = BTreeSet::new();
        let mut rules = Vec::new();
        for entry in entries {
            let Some(rule) = self.rollout(entry) else {
                continue;
            };
            if !seen.insert(rule.from_version.clone()) {
                let problem = match &rule.from_version {
                    None => "there are two rules with only a duration".to_owned(),
                    Some(criterion) => {
                        format!("there are two rules for fromVersion {}", shown(criterion))
                    }
                };
                self.error("duplicate-rule", entry.defined, problem, "keep one of them");
            }
            rules.push(rule);
        }
        rules
    }

    fn rollout(&mut self, entry: &Spanned<Fields<RuleEntry>>) -> Option<RolloutRule> {
        let rule = &entry.value.known;
        let Some(duration) = &rule.duration else {
            self.error(
                "missing-field",
                entry.defined,
                "the rollout rule has no duration".into(),
                "add `duration: P2D`, or the like",
            );
            return None;
        };
        let span = match parse_duration(&duration.value) {
            Ok(span) => Some(span),
            Err(problem) => {
                self.error(
                    "bad-duration",
                    duration.defined,
                    problem,
                    "write it as in P2D or PT48H, at most P366D",
                );
                None
            }
        };
        let ramp = match rule
            .ramp
            .as_ref()
            .map(|ramp| (ramp.value.as_str(), ramp.defined))
        {
            None | Some(("linear", _)) => Some(Ramp::Linear),
            Some(("exponential", _)) => Some(Ramp::Exponential),
            Some((other, defined)) => {
                self.error(
                    "bad-ramp",
                    defined,
                    format!("{other:?} is not a ramp"),
                    "use linear or exponential",
                );
                None
            }
        };
        let from_version = self.criterion(entry);
        let origin = at(self.place, entry.defined);
        Some(RolloutRule {
            from_version,
            duration: span?,
            ramp: ramp?,
            origin,
        })
    }

    /// What the rule matches. A criterion of a later schema is acceptable and matches nothing.
    fn criterion(&mut self, entry: &Spanned<Fields<RuleEntry>>) -> Option<FromVersion> {
        for field in &entry.value.unknown {
            let problem = format!(
                "a rollout rule has no field {:?}; the rule matches nothing",
                field.value
            );
            let place = at(self.place, field.defined);
            self.findings.push(Finding::warning(
                "unknown-criterion",
                place,
                problem,
                "correct its name, or remove the rule",
            ));
        }
        if let Some(field) = entry.value.unknown.first() {
            return Some(FromVersion::Other(format!(
                "{}:{}:{}",
                field.value,
                field.defined.line(),
                field.defined.column()
            )));
        }
        let text = entry.value.known.from_version.as_ref()?;
        Some(match text.value.as_str() {
            "minor" => FromVersion::Minor,
            "patch" => FromVersion::Patch,
            other => {
                let problem =
                    format!("fromVersion {other:?} is acceptable, and the rule matches nothing");
                let remedy = "minor and patch match edges; without a default rule, the others are there at once";
                self.findings.push(Finding::warning(
                    "unknown-criterion",
                    at(self.place, text.defined),
                    problem,
                    remedy,
                ));
                FromVersion::Other(other.to_owned())
            }
        })
    }

    fn members(&mut self, entries: &[Spanned<Fields<VersionEntry>>]) -> Vec<Member> {
        let mut seen: BTreeMap<Version, Vec<ReleaseName>> = BTreeMap::new();
        let mut members = Vec::new();
        for entry in entries {
            self.refuse_unknown("a release of a channel", &entry.value.unknown);
            let Some(member) = self.member(entry) else {
                continue;
            };
            let earlier = seen.entry(member.name.version.clone()).or_default();
            if earlier.iter().any(|name| overlap(name, &member.name)) {
                let problem = format!("{} is listed twice, so its start is not clear", member.name);
                self.error(
                    "duplicate-version",
                    entry.defined,
                    problem,
                    "keep one of them",
                );
            }
            earlier.push(member.name.clone());
            members.push(member);
        }
        self.check_replacements(entries, &members);
        members
    }

    fn member(&mut self, entry: &Spanned<Fields<VersionEntry>>) -> Option<Member> {
        let VersionEntry {
            name,
            start,
            locked,
            replaces,
        } = &entry.value.known;
        let Some(name) = name else {
            self.error(
                "missing-field",
                entry.defined,
                "the release has no name".into(),
                "add `name: <version>`",
            );
            return None;
        };
        let parsed = release_name(self.place, name, self.findings);
        let Some(start) = start else {
            let problem = format!("version {} has no start", name.value);
            self.error(
                "missing-field",
                entry.defined,
                problem,
                "add `start: <RFC 3339 time>`",
            );
            return None;
        };
        let time = parse_time(&start.value).map_err(|problem| {
            self.error(
                "bad-time",
                start.defined,
                problem,
                "write it as in 2020-05-12T00:00Z",
            );
        });
        let replaces = match replaces {
            None => Some(None),
            Some(replaced) => {
                release_name(self.place, replaced, self.findings).map(|name| Some(name.version))
            }
        };
        let origin = at(self.place, name.defined);
        Some(Member {
            name: parsed?,
            start: Some(time.ok()?),
            locked: *locked,
            replaces: replaces?,
            origin,
        })
    }

    /// A replacement must be of an earlier entry of the same file, so that there can be no loop.
    fn check_replacements(
        &mut self,
        entries: &[Spanned<Fields<VersionEntry>>],
        members: &[Member],
    ) {
        let starts: BTreeMap<&Version, _> =
            members.iter().map(|m| (&m.name.version, m.start)).collect();
        let given = entries
            .iter()
            .filter_map(|entry| entry.value.known.name.as_ref());
        let given: BTreeSet<&str> = given.map(|name| name.value.as_str()).collect();
        for entry in entries {
            let known = &entry.value.known;
            let (Some(name), Some(replaced)) = (&known.name, &known.replaces) else {
                continue;
            };
            let start = |text: &str| {
                ReleaseName::parse(text)
                    .ok()
                    .and_then(|name| starts.get(&name.version).copied().flatten())
            };
            let fits = match (start(&replaced.value), start(&name.value)) {
                (Some(first), Some(second)) => first < second,
                // One of them has been reported already.
                (None, Some(_)) => given.contains(replaced.value.as_str()),
                (_, None) => true,
            };
            if !fits {
                let problem = format!("{} cannot replace {}", name.value, replaced.value);
                let remedy = "name a release of this file with an earlier start";
                self.error("bad-replacement", replaced.defined, problem, remedy);
            }
        }
    }
}

/// Whether both names mean a common release.
fn overlap(a: &ReleaseName, b: &ReleaseName) -> bool {
    a.version == b.version && (a.arch.is_none() || b.arch.is_none() || a.arch == b.arch)
}

fn shown(criterion: &FromVersion) -> &str {
    match criterion {
        FromVersion::Minor => "minor",
        FromVersion::Patch => "patch",
        FromVersion::Other(other) => other,
    }
}

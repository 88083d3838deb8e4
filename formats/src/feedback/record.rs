//! A watch's decision as the log keeps it: all that it depended on, and what came out. From the first, the second follows bit for bit.
//!
//! The inputs are two parts. `watch/attempts` has the attempts with a table of each name, in the order of the case. `watch/case` has the
//! rest. The order of reports does not show: equal cases are equal bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::feedback::{
    Attempt, Ending, FailureRate, HaltScope, HaltsSoFar, History, Mode, Outcome, PastOutcomes,
    UpdateGroup, WatchCase, WatchJudgement, WatchSettings,
};
use towpath_core::fleet::Name;
use towpath_core::version::{Arch, Minor, Version};

use super::json::{halt, of_assessment};

/// The names of the parts.
pub const ATTEMPTS: &str = "watch/attempts";
pub const CASE: &str = "watch/case";
/// The format of both parts and of the decision.
const FORMAT: u64 = 1;
/// Which kind of decision it is: the log has those of the scheduler too.
const KIND: &str = "watch";

/// Whether a decision of the log with these inputs is a watch's.
pub fn is_of_a_watch<'n>(mut inputs: impl Iterator<Item = &'n str>) -> bool {
    inputs.any(|name| name == CASE)
}

/// A decision as the log keeps it.
pub fn logged(judgement: &WatchJudgement) -> Value {
    json!({
        "format": FORMAT,
        "kind": KIND,
        "assessment": of_assessment(&judgement.assessment),
        "act": judgement.act.code(),
        "halts": judgement.act.halts().iter().map(halt).collect::<Vec<_>>(),
    })
}

/// Makes a decision again from its inputs, and says whether it is the same to the bit.
pub fn replay<'p>(
    parts: impl IntoIterator<Item = (&'p str, &'p [u8])>,
    logged_before: &[u8],
) -> Result<bool, String> {
    let stored: Value = serde_json::from_slice(logged_before).map_err(|error| error.to_string())?;
    if stored["format"] != json!(FORMAT) {
        return Err(format!(
            "it has the format {}, and this towpath speaks {FORMAT}",
            stored["format"]
        ));
    }
    let again = logged(&from_parts(parts)?.judge());
    Ok(again.to_string().as_bytes() == logged_before)
}

/// In a few words, if the decision is a watch's.
pub(crate) fn words(body: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned).unwrap_or_default();
    let told = &body["assessment"];
    (body["kind"] == KIND).then(|| {
        super::text::logged_words(
            &text(&told["release"]),
            &text(&told["answer"]),
            &text(&body["act"]),
            body["halts"].as_array().map_or(0, Vec::len),
        )
    })
}

/// A value as its text.
pub(super) struct AsText<T>(pub(super) T);

impl<T: Display> Serialize for AsText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for AsText<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text).map(Self).map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CasePart {
    format: u64,
    release: AsText<Version>,
    at: AsText<Timestamp>,
    settings: SettingsPart,
    history: Vec<GroupPart>,
    made: Vec<ScopePart>,
    proposed: Vec<ScopePart>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SettingsPart {
    mode: String,
    alpha: u32,
    base_rate: u32,
    tolerated_rate: u32,
    organisations: u8,
    horizon: AsText<SignedDuration>,
    delay: AsText<SignedDuration>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GroupPart {
    is_minor_update: bool,
    from: String,
    platform: Option<String>,
    arch: String,
    attempts: u64,
    failed: u64,
    degraded: u64,
    usual_limit: Option<AsText<SignedDuration>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ScopePart {
    from: Option<String>,
    platform: Option<String>,
    arch: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AttemptsPart {
    format: u64,
    organisations: Vec<String>,
    versions: Vec<String>,
    platforms: Vec<String>,
    arches: Vec<String>,
    attempts: Vec<AttemptRow>,
}

/// The cluster, its organisation, from, to, platform and architecture by their numbers, its start, its completion, and its end.
#[derive(Serialize, Deserialize)]
struct AttemptRow(
    String,
    usize,
    usize,
    usize,
    Option<usize>,
    usize,
    AsText<Timestamp>,
    Option<AsText<Timestamp>>,
    Option<(AsText<Timestamp>, String)>,
);

/// Writes the parts of a case, each with its name, in the order of their names.
pub fn parts(case: &WatchCase) -> [(&'static str, Vec<u8>); 2] {
    [
        (ATTEMPTS, bytes(&attempts_part(&case.attempts))),
        (CASE, bytes(&case_part(case))),
    ]
}

/// Reads what [`parts`] has written, in any order.
pub fn from_parts<'p>(
    parts: impl IntoIterator<Item = (&'p str, &'p [u8])>,
) -> Result<WatchCase, String> {
    let mut known: BTreeMap<&str, &[u8]> = BTreeMap::new();
    for (name, bytes) in parts {
        if !matches!(name, ATTEMPTS | CASE) {
            return Err(format!("there is no part {name:?}"));
        }
        if known.insert(name, bytes).is_some() {
            return Err(format!("the part {name:?} is there twice"));
        }
    }
    let case: CasePart = part(&known, CASE)?;
    let attempts: AttemptsPart = part(&known, ATTEMPTS)?;
    for format in [case.format, attempts.format] {
        if format != FORMAT {
            return Err(format!(
                "an input has the format {format}, and this towpath speaks {FORMAT}"
            ));
        }
    }
    let groups = case.history.into_iter().map(group);
    Ok(WatchCase {
        release: case.release.0,
        settings: settings(case.settings)?,
        history: History {
            groups: groups.collect::<Result<_, String>>()?,
        },
        attempts: attempts_of(attempts)?,
        so_far: HaltsSoFar {
            made: scopes(case.made)?,
            proposed: scopes(case.proposed)?,
        },
        at: case.at.0,
    })
}

fn part<'p, T: Deserialize<'p>>(parts: &BTreeMap<&str, &'p [u8]>, name: &str) -> Result<T, String> {
    let bytes = parts.get(name);
    let bytes = bytes.ok_or_else(|| format!("the part {name:?} is missing"))?;
    serde_json::from_slice(bytes).map_err(|error| format!("{name}: {error}"))
}

fn case_part(case: &WatchCase) -> CasePart {
    let settings = &case.settings;
    let group = |(group, past): (&UpdateGroup, &PastOutcomes)| GroupPart {
        is_minor_update: group.is_minor_update,
        from: group.from.to_string(),
        platform: group
            .platform
            .as_ref()
            .map(|platform| platform.as_str().to_owned()),
        arch: group.arch.as_str().to_owned(),
        attempts: past.attempts,
        failed: past.failed,
        degraded: past.degraded,
        usual_limit: past.usual_limit.map(AsText),
    };
    let scopes = |all: &BTreeSet<HaltScope>| all.iter().map(scope_part).collect();
    CasePart {
        format: FORMAT,
        release: AsText(case.release.clone()),
        at: AsText(case.at),
        settings: SettingsPart {
            mode: settings.mode.code().to_owned(),
            alpha: settings.alpha.parts(),
            base_rate: settings.base_rate.parts(),
            tolerated_rate: settings.tolerated_rate.parts(),
            organisations: settings.organisations,
            horizon: AsText(settings.horizon),
            delay: AsText(settings.delay),
        },
        history: case.history.groups.iter().map(group).collect(),
        made: scopes(&case.so_far.made),
        proposed: scopes(&case.so_far.proposed),
    }
}

fn settings(part: SettingsPart) -> Result<WatchSettings, String> {
    let mode = Mode::of_code(&part.mode);
    Ok(WatchSettings {
        mode: mode.ok_or_else(|| format!("{:?} is no mode", part.mode))?,
        alpha: FailureRate::per_million(part.alpha),
        base_rate: FailureRate::per_million(part.base_rate),
        tolerated_rate: FailureRate::per_million(part.tolerated_rate),
        organisations: part.organisations,
        horizon: part.horizon.0,
        delay: part.delay.0,
    })
}

fn group(part: GroupPart) -> Result<(UpdateGroup, PastOutcomes), String> {
    let group = UpdateGroup {
        is_minor_update: part.is_minor_update,
        from: minor(&part.from)?,
        platform: part.platform.as_deref().map(platform).transpose()?,
        arch: Arch::new(part.arch),
    };
    let past = PastOutcomes {
        attempts: part.attempts,
        failed: part.failed,
        degraded: part.degraded,
        usual_limit: part.usual_limit.map(|limit| limit.0),
    };
    Ok((group, past))
}

pub(super) fn scope_part(scope: &HaltScope) -> ScopePart {
    ScopePart {
        from: scope.from.map(|minor| minor.to_string()),
        platform: scope
            .platform
            .as_ref()
            .map(|platform| platform.as_str().to_owned()),
        arch: scope.arch.as_ref().map(|arch| arch.as_str().to_owned()),
    }
}

pub(super) fn scopes(parts: Vec<ScopePart>) -> Result<BTreeSet<HaltScope>, String> {
    let scope = |part: ScopePart| {
        Ok(HaltScope {
            from: part.from.as_deref().map(minor).transpose()?,
            platform: part.platform.as_deref().map(platform).transpose()?,
            arch: part.arch.map(Arch::new),
        })
    };
    parts.into_iter().map(scope).collect()
}

fn attempts_part(attempts: &[Attempt]) -> AttemptsPart {
    let organisations = table(attempts.iter().map(|one| one.organisation.to_string()));
    let versions = attempts.iter().flat_map(|one| [&one.from, &one.to]);
    let versions = table(versions.map(ToString::to_string));
    let known = |one: &Attempt| {
        one.platform
            .known()
            .map(|platform| platform.as_str().to_owned())
    };
    let platforms = table(attempts.iter().filter_map(known));
    let arches = table(attempts.iter().map(|one| one.arch.as_str().to_owned()));
    let place = |table: &[String], text: &str| {
        table
            .binary_search_by(|other| other.as_str().cmp(text))
            .unwrap_or_default()
    };
    let row = |one: &Attempt| {
        AttemptRow(
            one.cluster.as_str().to_owned(),
            place(&organisations, &one.organisation),
            place(&versions, &one.from.to_string()),
            place(&versions, &one.to.to_string()),
            known(one).map(|name| place(&platforms, &name)),
            place(&arches, one.arch.as_str()),
            AsText(one.started_at),
            one.completed_at.map(AsText),
            one.ending
                .map(|ending| (AsText(ending.known_at), ending.outcome.code().to_owned())),
        )
    };
    AttemptsPart {
        format: FORMAT,
        attempts: attempts.iter().map(row).collect(),
        organisations,
        versions,
        platforms,
        arches,
    }
}

/// Each text once, in order.
fn table(texts: impl Iterator<Item = String>) -> Vec<String> {
    texts.collect::<BTreeSet<_>>().into_iter().collect()
}

fn attempts_of(part: AttemptsPart) -> Result<Vec<Attempt>, String> {
    let organisations: Vec<Name> = part
        .organisations
        .iter()
        .map(|name| name.as_str().into())
        .collect();
    let versions = part.versions.iter().map(|text| parse::<Version>(text));
    let versions: Vec<Version> = versions.collect::<Result<_, _>>()?;
    let platforms = part.platforms.iter().map(|name| platform(name));
    let platforms: Vec<Platform> = platforms.collect::<Result<_, _>>()?;
    let arches: Vec<Arch> = part.arches.into_iter().map(Arch::new).collect();
    let attempt = |row: AttemptRow| {
        let AttemptRow(
            id,
            organisation,
            from,
            to,
            platform,
            arch,
            started_at,
            completed_at,
            ending,
        ) = row;
        let cluster = ClusterId::as_recorded(&id);
        let ending = ending.map(|(known_at, code)| {
            let outcome = Outcome::of_code(&code);
            let outcome = outcome.ok_or_else(|| format!("{code:?} is no outcome"))?;
            let known_at = known_at.0;
            Ok::<_, String>(Ending { known_at, outcome })
        });
        Ok(Attempt {
            cluster: cluster.ok_or_else(|| format!("{id:?} is no cluster's id"))?,
            organisation: numbered(&organisations, organisation)?,
            from: numbered(&versions, from)?,
            to: numbered(&versions, to)?,
            platform: Fact::from(
                platform
                    .map(|number| numbered(&platforms, number))
                    .transpose()?,
            ),
            arch: numbered(&arches, arch)?,
            started_at: started_at.0,
            completed_at: completed_at.map(|at| at.0),
            ending: ending.transpose()?,
        })
    };
    part.attempts.into_iter().map(attempt).collect()
}

fn numbered<T: Clone>(table: &[T], number: usize) -> Result<T, String> {
    let value = table.get(number).cloned();
    value.ok_or_else(|| format!("there is no name {number} in a table of {}", table.len()))
}

fn platform(name: &str) -> Result<Platform, String> {
    Platform::new(name).ok_or_else(|| format!("{name:?} is no platform"))
}

fn minor(text: &str) -> Result<Minor, String> {
    Minor::parse(text).ok_or_else(|| format!("{text:?} is no minor version"))
}

fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{text:?}: {error}"))
}

fn bytes(value: &impl Serialize) -> Vec<u8> {
    // Texts, numbers and lists: there is nothing in them that JSON cannot say.
    serde_json::to_vec(value).unwrap_or_default()
}

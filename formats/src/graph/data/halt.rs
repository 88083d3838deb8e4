//! The section `halt:` of a block: who stopped a release, when, for which clusters, on what evidence.
//!
//! A service that does not know the section ignores it (Cincinnati) or stops everybody (older versions of Towpath). So a halt
//! never does less there. Here it must agree with the block's own `from` and `clusters`, which decide.

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::cluster::Platform;
use towpath_core::feedback::HaltScope;
use towpath_core::graph::{Audience, DeclaredHalt, ObservedFailures, Pattern};
use towpath_core::version::{Arch, Minor, Version};

use super::parse_time;
use crate::read::{self, Node, Reader, Record};

/// The name of a halt's block, if nobody gives another.
pub const HALTED: &str = "RolloutHalted";
const CODE: &str = "bad-halt";

/// Where the file of a halt belongs.
pub fn path(to: &Version, scope: &HaltScope) -> String {
    let from = scope.from.map(|from| format!("-from-{from}"));
    let platform = scope.platform.as_ref();
    let platform = platform.map(|platform| format!("-on-{}", plain(platform.as_str())));
    let arch = scope.arch.as_ref();
    let arch = arch.map(|arch| format!("-with-{}", plain(arch.as_str())));
    let parts: String = [from, platform, arch].into_iter().flatten().collect();
    format!("blocked-edges/{to}-halted{parts}.yaml")
}

/// A name as part of a file's name.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    name.chars().map(plain).collect()
}

/// The file of a halt. A text in quotes is the same in JSON and YAML.
pub fn write(to: &Version, halt: &DeclaredHalt, name: Option<&str>, url: Option<&str>) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let usual = format!("The rollout of {to} was halted.");
    let message = halt.why.as_deref().unwrap_or(&usual);
    let mut text = format!(
        "# This halts the rollout. Deleting this file resumes it.\nto: {to}\nfrom: {}\nname: {}\nmessage: {}\n",
        quoted(halt.scope.pattern().as_str()),
        quoted(name.unwrap_or(HALTED)),
        quoted(message),
    );
    if let Some(url) = url {
        text += &format!("url: {}\n", quoted(url));
    }
    if let Some(platform) = &halt.scope.platform {
        text += &format!("clusters: {}\n", json!({"platforms": [platform.as_str()]}));
    }
    text += &format!(
        "halt:\n  by: {}\n  at: {}\n",
        quoted(&halt.by),
        quoted(&halt.at.to_string())
    );
    if !halt.scope.is_all() {
        text += &format!("  scope: {}\n", scope_json(&halt.scope));
    }
    if let Some(evidence) = &halt.evidence {
        text += &format!("  evidence: {}\n", evidence_json(evidence));
    }
    text
}

/// A scope, as graph data and JSON answers have it. For all clusters it is empty.
pub fn scope_json(scope: &HaltScope) -> Value {
    let mut told = serde_json::Map::new();
    let mut put = |name: &str, value: Option<String>| {
        told.extend(value.map(|value| (name.to_owned(), value.into())));
    };
    put("from", scope.from.map(|from| from.to_string()));
    let platform = scope.platform.as_ref();
    put("platform", platform.map(|one| one.as_str().to_owned()));
    put("arch", scope.arch.as_ref().map(ToString::to_string));
    told.into()
}

/// Evidence, as graph data and JSON answers have it.
pub fn evidence_json(evidence: &ObservedFailures) -> Value {
    json!({
        "attempts": evidence.attempts,
        "known": evidence.known,
        "failed": evidence.failed,
        "degraded": evidence.degraded,
        "text": evidence.sentence,
    })
}

/// A scope of these parts, or which of them is wrong.
pub fn scope(
    from: Option<&str>,
    platform: Option<&str>,
    arch: Option<&str>,
) -> Result<HaltScope, String> {
    let from = from.map(|text| {
        Minor::parse(text).ok_or_else(|| format!("{:?} is not a minor version", read::shown(text)))
    });
    let platform = platform.map(|text| {
        let platform = Platform::new(text).filter(Platform::is_known);
        let named = platform.map(|platform| {
            let mut known = Platform::KNOWN
                .iter()
                .filter(|name| platform.is_named(name));
            known
                .next()
                .and_then(|name| Platform::new(name))
                .unwrap_or(platform)
        });
        named.ok_or_else(|| format!("{:?} is not a platform of OpenShift", read::shown(text)))
    });
    let arch = arch.map(|text| {
        let is_name = !text.is_empty()
            && text.len() <= 32
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        match is_name {
            true => Ok(Arch::new(text)),
            false => Err(format!("{:?} is not an architecture", read::shown(text))),
        }
    });
    Ok(HaltScope {
        from: from.transpose()?,
        platform: platform.transpose()?,
        arch: arch.transpose()?,
    })
}

/// Reads the section, beside the block that it stands in. `None`: something is wrong with it, and was told.
pub(super) fn read(
    reader: &mut Reader,
    node: &Node,
    why: Option<&str>,
    block: (Option<&Pattern>, Option<&Audience>),
) -> Option<DeclaredHalt> {
    let record = reader.open_record(node, "`halt`")?;
    reader.warn_unknown(record, &["by", "at", "scope", "evidence"]);
    let by = name(reader, record, node)?;
    let at = time(reader, record, node)?;
    let scope = match record.given("scope") {
        Some(node) => read_scope(reader, node)?,
        None => HaltScope::default(),
    };
    agree(reader, node, &scope, block)?;
    let evidence = match record.given("evidence") {
        Some(node) => Some(read_evidence(reader, node)?),
        None => None,
    };
    let why = why.filter(|why| why.len() <= DeclaredHalt::MAX_TEXT_BYTES);
    Some(DeclaredHalt {
        by,
        at,
        scope,
        why: why.map(|why| why.trim().to_owned()),
        evidence,
    })
}

fn name(reader: &mut Reader, record: Record<'_>, node: &Node) -> Option<String> {
    let given = reader.given_text(record, "by").map(|(_, by)| by.to_owned());
    let fits = |by: &String| {
        !by.trim().is_empty()
            && by.len() <= DeclaredHalt::MAX_NAME_BYTES
            && !by.contains(char::is_control)
    };
    let by = given.filter(fits);
    if by.is_none() {
        let problem = "the halt does not say who made it";
        reader.error(CODE, node, problem, "add `by: <name>`, on one line");
    }
    by
}

fn time(reader: &mut Reader, record: Record<'_>, node: &Node) -> Option<Timestamp> {
    let given = reader.given_text(record, "at").map(|(_, at)| at.to_owned());
    let at = given.and_then(|at| parse_time(&at).ok());
    if at.is_none() {
        let problem = "the halt does not say when it was made";
        let remedy = "add `at: <RFC 3339 time>`, as in 2026-11-18T12:00:00Z";
        reader.error(CODE, node, problem, remedy);
    }
    at
}

fn read_scope(reader: &mut Reader, node: &Node) -> Option<HaltScope> {
    let record = reader.open_record(node, "`scope`")?;
    let unknown: Vec<String> = record
        .unknown(&["from", "platform", "arch"])
        .map(|field| field.text.to_string())
        .collect();
    if let Some(field) = unknown.first() {
        let problem = format!("the scope of a halt has no part {:?}", read::shown(field));
        reader.error(CODE, node, problem, "use from, platform and arch");
        return None;
    }
    let mut part = |name| {
        reader
            .given_text(record, name)
            .map(|(_, text)| text.to_owned())
    };
    let [from, platform, arch] = ["from", "platform", "arch"].map(&mut part);
    let read = scope(from.as_deref(), platform.as_deref(), arch.as_deref());
    read.map_err(|problem| {
        let remedy = "write it as in `scope: {from: \"4.19\", platform: AWS, arch: arm64}`";
        reader.error(CODE, node, problem, remedy);
    })
    .ok()
}

/// What the halt says of itself must be what its block does, or people would be told something else than what holds.
fn agree(
    reader: &mut Reader,
    node: &Node,
    scope: &HaltScope,
    (from, stops): (Option<&Pattern>, Option<&Audience>),
) -> Option<()> {
    let is_same = |stops: &Audience| {
        matches!(stops, Audience::NotUnderstood(_)) || *stops == scope.audience()
    };
    if from.is_some_and(|from| *from != scope.pattern()) || !stops.is_none_or(is_same) {
        let problem = format!("the halt is for {scope}, and the block says something else");
        let pattern = scope.pattern();
        let clusters = match &scope.platform {
            Some(platform) => format!("`clusters: {{platforms: [{}]}}`", platform.as_str()),
            None => "no `clusters`".to_owned(),
        };
        let remedy = format!("write `from: \"{}\"` and {clusters}", pattern.as_str());
        reader.error(CODE, node, problem, &remedy);
        return None;
    }
    Some(())
}

fn read_evidence(reader: &mut Reader, node: &Node) -> Option<ObservedFailures> {
    let record = reader.open_record(node, "`evidence`")?;
    reader.warn_unknown(record, &["attempts", "known", "failed", "degraded", "text"]);
    let number = |name| match &record.get(name)?.value {
        read::Value::Whole(number) => u64::try_from(*number).ok(),
        _ => None,
    };
    let numbers = ["attempts", "known", "failed", "degraded"].map(number);
    let text = record.get("text").and_then(Node::as_text).unwrap_or("");
    match (numbers, text.len() <= DeclaredHalt::MAX_TEXT_BYTES) {
        ([Some(attempts), Some(known), Some(failed), Some(degraded)], true) => {
            Some(ObservedFailures {
                attempts,
                known,
                failed,
                degraded,
                sentence: text.trim().to_owned(),
            })
        }
        _ => {
            let problem = "the evidence of a halt cannot be read";
            let remedy = "write attempts, known, failed and degraded as numbers, and a short text; or remove it";
            reader.error(CODE, node, problem, remedy);
            None
        }
    }
}

//! A file of attempts at updates, for clusters that do not report: one JSON object on each line.
//!
//! ```text
//! {"cluster": "…", "organisation": "acme", "from": "4.20.3", "to": "4.20.4", "platform": "AWS", "arch": "amd64",
//!  "startedAt": "2026-11-16T11:00:00Z", "completedAt": null, "failedAt": "2026-11-16T11:40:00Z", "degradedAt": null}
//! ```
//!
//! Each line is read by itself: one that is wrong is a finding and is left out. An attempt that nobody saw start, or that begins in the
//! future, would count for nothing, so it is wrong too.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::feedback::{KEPT_FOR, Testimony, TimeLimits, UpdateEvidence, UpdateStart};
use towpath_core::finding::{Finding, Place};
use towpath_core::version::{Arch, Version};

use super::wrong_entries::WrongEntries;
use crate::graph::data::parse_time;
use crate::read::too_large;

/// The largest file.
pub const MAX_BYTES: usize = 64 << 20;
/// The most attempts in a file.
const MAX_ATTEMPTS: usize = 200_000;
/// The longest name of an organisation or architecture, in bytes.
const MAX_NAME_BYTES: usize = 256;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AttemptLine {
    cluster: String,
    organisation: String,
    from: String,
    to: String,
    platform: Option<String>,
    arch: Option<String>,
    started_at: String,
    completed_at: Option<String>,
    failed_at: Option<String>,
    degraded_at: Option<String>,
}

/// What the lines tell, and what is wrong with others. What is older than attempts are kept is left out.
pub fn read(
    place: &Place,
    bytes: &[u8],
    limits: &Arc<TimeLimits>,
    now: Timestamp,
) -> (Vec<Testimony>, Vec<Finding>) {
    let (mut told, mut findings) = (Vec::new(), Vec::new());
    if bytes.len() > MAX_BYTES {
        let problem = format!("it is larger than {MAX_BYTES} bytes");
        let remedy = "leave out attempts that are older than 90 days";
        return (told, vec![too_large(place, problem, remedy)]);
    }
    let remedy = "correct the line; docs/rollouts.md has an example";
    let mut wrong = WrongEntries::new("bad-attempt", remedy);
    let oldest = now.checked_sub(KEPT_FOR).unwrap_or(Timestamp::MIN);
    let is_kept = |known: &UpdateEvidence| known.first_at() >= Some(oldest);
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if told.len() == MAX_ATTEMPTS {
            let problem =
                format!("there are more than {MAX_ATTEMPTS} attempts; the rest is left out");
            findings.push(too_large(place, problem, "leave out those that are old"));
            break;
        }
        match testimony(line, limits, now) {
            Ok(one) if one.evidence.iter().any(is_kept) => told.push(one),
            Ok(_) => {}
            Err(problem) => wrong.add(|| place.at(number, 0), problem),
        }
    }
    findings.extend(wrong.findings(place, "lines"));
    (told, findings)
}

fn testimony(line: &[u8], limits: &Arc<TimeLimits>, now: Timestamp) -> Result<Testimony, String> {
    let line: AttemptLine = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let release = |field: &str, text: &str| {
        text.parse::<Version>()
            .map_err(|error| format!("{field} {text:?} is no version: {error}"))
    };
    let (from, to) = (release("from", &line.from)?, release("to", &line.to)?);
    if from >= to {
        return Err(format!("from {from} to {to} is no update"));
    }
    let time = |field: &str, text: &str| -> Result<Timestamp, String> {
        let at = parse_time(text).map_err(|error| format!("{field}: {error}"))?;
        match at <= now {
            true => Ok(at),
            false => Err(format!("{field} {at} is in the future")),
        }
    };
    let started_at = time("startedAt", &line.started_at)?;
    let later = |field: &str, text: &Option<String>| -> Result<Option<Timestamp>, String> {
        let Some(text) = text else { return Ok(None) };
        let at = time(field, text)?;
        match at >= started_at {
            true => Ok(Some(at)),
            false => Err(format!("{field} {at} is before startedAt")),
        }
    };
    let platform = line.platform.as_deref().map(|name| {
        Platform::new(name).ok_or_else(|| format!("platform {name:?} is no name of a platform"))
    });
    let arch = line.arch.as_deref().unwrap_or(Arch::DEFAULT);
    for (field, name) in [("organisation", line.organisation.as_str()), ("arch", arch)] {
        let is_name =
            (1..=MAX_NAME_BYTES).contains(&name.len()) && !name.contains(char::is_control);
        if !is_name {
            return Err(format!("{field} {name:?} is no name"));
        }
    }
    Ok(Testimony {
        cluster: ClusterId::new(&line.cluster)
            .ok_or_else(|| format!("cluster {:?} is no id", line.cluster))?,
        organisation: line.organisation.as_str().into(),
        platform: Fact::from(platform.transpose()?),
        arch: Arch::new(arch),
        evidence: vec![UpdateEvidence {
            start: Some(UpdateStart {
                at: started_at,
                from,
            }),
            failed_at: later("failedAt", &line.failed_at)?,
            completed_at: later("completedAt", &line.completed_at)?,
            degraded_at: later("degradedAt", &line.degraded_at)?,
            ..UpdateEvidence::of(to)
        }],
        limits: limits.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::wrong_entries::MAX_SHOWN;
    use super::*;

    fn reading(lines: &[&str]) -> (Vec<Testimony>, Vec<String>) {
        let now = "2026-11-16T12:00:00Z".parse().unwrap();
        let text = lines.join("\n");
        let (told, findings) = read(
            &Place::file("attempts.jsonl"),
            text.as_bytes(),
            &Arc::default(),
            now,
        );
        (told, findings.iter().map(ToString::to_string).collect())
    }

    const GOOD: &str = r#"{"cluster": "c1", "organisation": "acme", "from": "4.20.3", "to": "4.20.4", "platform": "AWS", "startedAt": "2026-11-16T11:00:00Z", "failedAt": "2026-11-16T11:40:00Z"}"#;

    #[test]
    fn a_line_is_an_attempt() {
        let (told, findings) = reading(&[GOOD, "", &GOOD.replace("2026-11", "2026-01")]);
        assert_eq!(findings, [""; 0]);
        assert_eq!(told.len(), 1, "one is too old to be kept");
        let known = &told[0].evidence[0];
        let started = known.start.as_ref().unwrap();
        assert_eq!(
            (started.from.to_string(), known.to.to_string()),
            ("4.20.3".to_owned(), "4.20.4".to_owned())
        );
        assert_eq!(
            (known.failed_at.unwrap().to_string(), known.completed_at),
            ("2026-11-16T11:40:00Z".to_owned(), None)
        );
        assert_eq!(told[0].arch.as_str(), "amd64");
    }

    #[test]
    fn a_wrong_line_is_a_finding_with_its_place_and_the_others_count() {
        for (what, line, problem) in [
            ("no JSON", "{", "EOF"),
            (
                "unknown name",
                r#"{"clutser": "c1"}"#,
                "unknown field `clutser`",
            ),
            (
                "rollback",
                &GOOD.replace("4.20.4", "4.20.2"),
                "is no update",
            ),
            (
                "no version",
                &GOOD.replace("4.20.4", "new"),
                "to \"new\" is no version",
            ),
            (
                "future",
                &GOOD.replace("T11:40", "T12:40"),
                "is in the future",
            ),
            (
                "order",
                &GOOD.replace("T11:40", "T10:40"),
                "before startedAt",
            ),
            (
                "platform",
                &GOOD.replace("AWS", "A WS"),
                "is no name of a platform",
            ),
            (
                "nobody's",
                &GOOD.replace("acme", ""),
                "organisation \"\" is no name",
            ),
            ("cluster", &GOOD.replace("c1", ""), "is no id"),
        ] {
            let (told, findings) = reading(&[GOOD, line]);
            assert_eq!((told.len(), findings.len()), (1, 1), "{what}: {findings:?}");
            assert!(
                findings[0].contains("attempts.jsonl:2") && findings[0].contains(problem),
                "{what}: {findings:?}"
            );
        }
    }

    #[test]
    fn what_is_wrong_in_many_lines_is_counted() {
        let (told, findings) = reading(&["x"; 50]);
        assert_eq!((told.len(), findings.len()), (0, MAX_SHOWN + 1));
        assert!(findings[MAX_SHOWN].contains("30 more lines are wrong"));
    }
}

//! The result of a migration, as text and as JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::finding::{Finding, escaped};
use towpath_core::graph::ChannelName;
use towpath_core::version::ReleaseName;

use super::{Migrated, Migration, Stays, Tally};
use crate::words::{joined, second};
use crate::{SourceFile, findings};

/// How many releases are named where many could be.
const NAMED: usize = 8;

/// What came of a migration.
pub struct MigrationReport<'a> {
    pub migration: &'a Migration,
    pub stays: &'a Stays,
    /// The files that it began with.
    pub old: &'a [SourceFile],
    /// Where it was written, if it was.
    pub out: Option<&'a Path>,
}

/// Why there is no migration.
pub fn refused_text(findings: &[Finding]) -> String {
    let lines = findings.iter().map(|finding| format!("{finding}\n"));
    lines.collect::<String>() + "Nothing was written.\n"
}

pub fn refused_json(findings: &[Finding]) -> Value {
    json!({"written": null, "findings": findings::json(findings)})
}

pub fn migration_json(report: &MigrationReport<'_>) -> Value {
    let (migration, stays) = (report.migration, report.stays);
    let names = |names: &BTreeSet<ReleaseName>| -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    };
    let file = |file: &Migrated| {
        json!({
            "path": file.path,
            "channels": file.channels.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
            "from": file.from,
            "releases": file.releases,
            "promoted": names(&file.promoted),
        })
    };
    let starts = &migration.starts;
    json!({
        "written": report.out.map(|out| out.display().to_string()),
        "channelFiles": migration.channels.iter().map(file).collect::<Vec<_>>(),
        "starts": {
            "fromHistory": starts.from_history,
            "fromOldestCommit": starts.from_oldest_commit,
            "oldestCommit": stays.oldest().map(|time| time.to_string()),
            "setBack": names(&starts.set_back.releases),
            "promoted": names(&starts.promoted.releases),
            "unknown": names(&starts.unknown.releases),
        },
        "copied": migration.files.len() - migration.channels.len() - 1,
        "findings": findings::json(&migration.findings),
    })
}

pub fn migration_text(report: &MigrationReport<'_>) -> String {
    let migration = report.migration;
    let mut text = String::new();
    channels(&mut text, migration);
    starts(&mut text, migration, report.stays);
    let copied = copied(migration, report.old);
    let _ = writeln!(text, "\nCopied as they are: {copied}");
    let mut findings: Vec<&Finding> = migration.findings.iter().collect();
    findings.sort_by(|a, b| {
        let (a, b) = (channel(a), channel(b));
        a.as_ref()
            .map(ChannelName::display_order)
            .cmp(&b.as_ref().map(ChannelName::display_order))
    });
    let (apart, others): (Vec<&Finding>, Vec<&Finding>) = findings
        .into_iter()
        .partition(|finding| finding.code == "kept-apart");
    list(
        &mut text,
        "Kept apart:",
        apart
            .iter()
            .map(|finding| escaped(&finding.problem).into_owned()),
    );
    list(
        &mut text,
        "Look at:",
        others.iter().map(ToString::to_string),
    );
    let _ = match report.out {
        Some(out) => writeln!(
            text,
            "\nWritten to {0}. Next: towpath graph lint {0}",
            out.display()
        ),
        None => writeln!(text, "\nThis was a dry run: nothing was written."),
    };
    text
}

fn list(text: &mut String, title: &str, lines: impl ExactSizeIterator<Item = String>) {
    if lines.len() > 0 {
        let _ = writeln!(text, "\n{title}");
    }
    for line in lines {
        let _ = writeln!(text, "  {line}");
    }
}

/// The channel that a finding is about, by its file; for an order that people expect.
fn channel(finding: &Finding) -> Option<ChannelName> {
    ChannelName::new(
        finding
            .place
            .file
            .strip_prefix("channels/")?
            .trim_end_matches(".yaml"),
    )
}

fn channels(text: &mut String, migration: &Migration) {
    let (shared, single): (Vec<&Migrated>, Vec<&Migrated>) = migration
        .channels
        .iter()
        .partition(|file| file.channels.len() > 1);
    let names = |file: &Migrated| joined(&file.channels, "");
    let widths = (
        shared.iter().map(|file| file.path.len()).max().unwrap_or(0),
        shared
            .iter()
            .map(|file| names(file).len())
            .max()
            .unwrap_or(0),
    );
    let mut shared: Vec<&&Migrated> = shared.iter().collect();
    shared.sort_by(|a, b| {
        a.channels[0]
            .display_order()
            .cmp(&b.channels[0].display_order())
    });
    if !shared.is_empty() {
        text.push_str("Channels that share a file now:\n");
    }
    for file in shared {
        let promoted = match file.promoted.len() {
            0 => String::new(),
            _ => format!(", promoted now: {}", named(&file.promoted)),
        };
        let _ = writeln!(
            text,
            "  {:1$}  {2:3$}  {4} releases{promoted}",
            file.path,
            widths.0,
            names(file),
            widths.1,
            file.releases
        );
    }
    let all: usize = migration
        .channels
        .iter()
        .map(|file| file.channels.len())
        .sum();
    let _ = writeln!(
        text,
        "{all} channels in {} files; {} have one to themselves.",
        migration.channels.len(),
        single.len()
    );
}

fn starts(text: &mut String, migration: &Migration, stays: &Stays) {
    let starts = &migration.starts;
    let oldest = stays.oldest().map(second).unwrap_or_default();
    let unknown = second(Timestamp::UNIX_EPOCH);
    let releases = |tally: &Tally| named(&tally.releases);
    let lines = [
        (
            starts.from_history,
            "the commit that brought the release".to_owned(),
        ),
        (
            starts.from_oldest_commit,
            format!("the oldest commit, {oldest}: there since then at the latest"),
        ),
        (
            starts.set_back.entries,
            format!(
                "earlier than the commit, so that no cluster waits for what it has seen, and promotion stays in order: {}",
                releases(&starts.set_back)
            ),
        ),
        (
            starts.promoted.entries,
            format!("now, since it is promoted: {}", releases(&starts.promoted)),
        ),
        (
            starts.unknown.entries,
            format!(
                "{unknown} (always), because no commit tells: {}",
                releases(&starts.unknown)
            ),
        ),
    ];
    text.push_str("\nStarts:\n");
    for (count, what) in lines.iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "  {count:6}  {what}");
    }
    if stays.unreadable() > 0 {
        let _ = writeln!(
            text,
            "  ({} old versions of files were not understood and passed over)",
            stays.unreadable()
        );
    }
}

/// How many files of which folder; those at the top by name.
fn copied(migration: &Migration, old: &[SourceFile]) -> String {
    let before: BTreeSet<&str> = old.iter().map(|file| file.path.as_str()).collect();
    let same = |path: &str| before.contains(path) && path != "version";
    let written: BTreeSet<&str> = migration
        .channels
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in migration.files.iter().map(|file| file.path.as_str()) {
        if same(path) && !written.contains(path) {
            *counts
                .entry(path.split_inclusive('/').next().unwrap_or(path))
                .or_default() += 1;
        }
    }
    let shown = counts
        .iter()
        .map(|(name, count)| match name.ends_with('/') {
            true => format!("{name} ({count})"),
            false => (*name).to_owned(),
        });
    joined(shown, "nothing")
}

fn named(releases: &BTreeSet<ReleaseName>) -> String {
    let shown = |count: usize| joined(releases.iter().take(count), "");
    match releases.len() <= NAMED {
        true => shown(NAMED),
        false => format!("{} releases ({}, …)", releases.len(), shown(2)),
    }
}

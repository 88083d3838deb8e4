//! A group of channels as the text of a 2.0.0 file.
//!
//! The lines look as YAML tools write them, so that the next tool changes only what it means to.
//! The first channel's order and comments come first. What only another channel has goes with the
//! same release, or with that channel.

use std::collections::BTreeMap;
use std::fmt::Write;

use jiff::Timestamp;
use towpath_core::graph::{ChannelName, Ramp};
use towpath_core::version::ReleaseName;

use super::join::{ChannelFile, Group};
use super::rollout::Rollout;
use super::text::{Content, Entry, Section};

/// When a release starts, and what is to be said about it.
pub(super) struct Start {
    pub(super) at: Timestamp,
    pub(super) remark: Option<String>,
}

/// The text of a group's file.
pub(super) fn file(
    group: &Group,
    rollouts: &dyn Fn(&ChannelName) -> Vec<Rollout>,
    start: &dyn Fn(&ReleaseName) -> Start,
) -> String {
    let [first, others @ ..] = group.files.as_slice() else {
        return String::new();
    };
    let mut out = String::new();
    if let Some(marker) = &first.text.marker {
        let _ = writeln!(out, "{marker}");
    }
    for section in &first.text.sections {
        lines(&mut out, &section.above);
        match &section.content {
            Content::Name(_) => channels(&mut out, first, others, rollouts),
            Content::Verbatim {
                lines: verbatim, ..
            } => lines(&mut out, verbatim),
            Content::Versions { beside, entries } => {
                let empty = if entries.is_empty() { " []" } else { "" };
                let _ = writeln!(out, "versions:{empty}{}", comment(beside.as_ref()));
                let others: Vec<_> = others.iter().map(by_name).collect();
                for entry in entries {
                    release(&mut out, entry, &others, start);
                }
            }
        }
    }
    lines(&mut out, &first.text.end);
    out
}

fn channels(
    out: &mut String,
    first: &ChannelFile,
    others: &[ChannelFile],
    rollouts: &dyn Fn(&ChannelName) -> Vec<Rollout>,
) {
    out.push_str("channels:\n");
    for file in std::iter::once(first).chain(others) {
        if file.path != first.path {
            lines(out, &of_its_own(file, first));
        }
        if let Some(name) = file.text.name() {
            let _ = writeln!(
                out,
                "- name: {}{}",
                name.written,
                comment(name.beside.as_ref())
            );
        }
        let rollouts = rollouts(&file.spec.name);
        if !rollouts.is_empty() {
            out.push_str("  phasedRollouts:\n");
        }
        for rollout in rollouts {
            let duration = &rollout.duration;
            let _ = match rollout.criterion {
                Some(criterion) => writeln!(
                    out,
                    "  - fromVersion: {criterion}\n    duration: {duration}"
                ),
                None => writeln!(out, "  - duration: {duration}"),
            };
            if rollout.ramp == Ramp::Exponential {
                out.push_str("    ramp: exponential\n");
            }
        }
    }
}

/// What a file says that is joined to the first, as comments: its own remarks, and sections that differ from the first's.
fn of_its_own(file: &ChannelFile, first: &ChannelFile) -> Vec<String> {
    let known = remarks(first);
    let mut own: Vec<String> = remarks(file)
        .into_iter()
        .filter(|remark| !known.contains(remark))
        .collect();
    for section in &file.text.sections {
        if let Content::Verbatim { key, lines } = &section.content
            && first.text.verbatim(key) != Some(lines)
        {
            own.push(format!(
                "# {} had a {key} of its own, and shares these releases now:",
                file.spec.name
            ));
            own.extend(
                lines
                    .iter()
                    .map(|line| format!("# {line}").trim_end().to_owned()),
            );
        }
    }
    own
}

/// The channels whose feeder became a comment.
pub(super) fn feeders_left(group: &Group) -> impl Iterator<Item = &ChannelName> {
    let first = group.files.first().and_then(feeder);
    let left = group
        .files
        .iter()
        .filter(move |file| feeder(file).is_some_and(|lines| Some(lines) != first));
    left.map(|file| &file.spec.name)
}

fn feeder(file: &ChannelFile) -> Option<&[String]> {
    file.text.verbatim("feeder")
}

/// Comments that belong to no release.
fn remarks(file: &ChannelFile) -> Vec<String> {
    let beside = |section: &Section| match &section.content {
        Content::Versions { beside, .. } => beside.clone(),
        _ => None,
    };
    let of_sections = file
        .text
        .sections
        .iter()
        .flat_map(|section| section.above.iter().cloned().chain(beside(section)));
    let all = of_sections.chain(file.text.end.iter().cloned());
    all.map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

type ByName<'a> = BTreeMap<Option<&'a ReleaseName>, &'a Entry>;

fn by_name(file: &ChannelFile) -> ByName<'_> {
    file.text
        .entries()
        .iter()
        .map(|entry| (entry.name.as_ref(), entry))
        .collect()
}

fn release(
    out: &mut String,
    entry: &Entry,
    others: &[ByName<'_>],
    start: &dyn Fn(&ReleaseName) -> Start,
) {
    lines(out, &entry.above);
    let mut said = vec![entry];
    for theirs in others
        .iter()
        .filter_map(|other| other.get(&entry.name.as_ref()).copied())
    {
        // A remark is repeated unless it is the same as a whole.
        if said
            .iter()
            .all(|other| other.words_above().ne(theirs.words_above()))
        {
            lines(out, theirs.words_above());
        }
        if said
            .iter()
            .all(|other| other.scalar.beside != theirs.scalar.beside)
        {
            lines(out, &theirs.scalar.beside);
        }
        said.push(theirs);
    }
    let _ = writeln!(
        out,
        "- name: {}{}",
        entry.scalar.written,
        comment(entry.scalar.beside.as_ref())
    );
    if let Some(name) = &entry.name {
        let Start { at, remark } = start(name);
        let _ = writeln!(out, "  start: {at}{}", comment(remark.as_ref()));
    }
}

fn lines<'a>(out: &mut String, lines: impl IntoIterator<Item = &'a String>) {
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
}

fn comment(text: Option<&String>) -> String {
    text.map(|text| format!("  {text}")).unwrap_or_default()
}

//! Edits of a channel file: one value on a line becomes another, and everything else stays as people wrote it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use towpath_core::change::{RuleLength, StretchedFile};
use towpath_core::finding::Place;
use towpath_core::graph::{ChannelSpec, GraphData, Ramp, RingId};

use super::FileChange;
use crate::SourceFile;
use crate::graph::data;

/// The text with the new starts and durations.
pub(super) fn edited(text: &str, changes: &StretchedFile) -> Result<String, String> {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    for changed in &changes.durations {
        let (key, value) = (field_name(changed.field), duration(changed.new));
        replace(&mut lines, &changed.origin, key, &value)?;
    }
    for moved in &changes.starts {
        replace(&mut lines, &moved.origin, "start", &moved.new.to_string())?;
    }
    Ok(lines.join("\n"))
}

fn field_name(length: RuleLength) -> &'static str {
    match length {
        RuleLength::After => "after",
        RuleLength::Duration => "duration",
    }
}

/// Reads the change back: it must mean the new starts and durations, and nothing else.
pub(super) fn check(
    files: &[SourceFile],
    change: &FileChange,
    old: &GraphData,
    changes: &StretchedFile,
) -> Result<(), String> {
    let others = files.iter().filter(|file| file.path != change.path);
    let new = change.new.as_ref();
    let new = new.map(|text| SourceFile::new(change.path.clone(), text.as_bytes()));
    let after: Vec<SourceFile> = others.cloned().chain(new).collect();
    let by_hand = || {
        format!(
            "{} is written in a way that cannot be edited safely; change its starts and durations by hand",
            change.path
        )
    };
    let (new, _) = data::read(&after).map_err(|findings| match findings.first() {
        Some(finding) => format!("the changed file would be wrong: {finding}"),
        None => by_hand(),
    })?;
    match meaning(&new, &StretchedFile::default()) == meaning(old, changes) {
        true => Ok(()),
        false => Err(by_hand()),
    }
}

type Release = (String, Option<Timestamp>, [bool; 2], Option<String>);
type Rule = (
    String,
    Option<Timestamp>,
    [SignedDuration; 2],
    Ramp,
    Vec<Turn>,
);
type Turn = (RingId, [SignedDuration; 2], Ramp);

/// What the channels of these data say, with the changes.
fn meaning(
    data: &GraphData,
    changes: &StretchedFile,
) -> BTreeMap<String, (Vec<Release>, Vec<Rule>)> {
    let starts: BTreeMap<&Place, Timestamp> = changes
        .starts
        .iter()
        .map(|moved| (&moved.origin, moved.new))
        .collect();
    let durations: BTreeMap<(&Place, RuleLength), SignedDuration> = changes
        .durations
        .iter()
        .map(|changed| ((&changed.origin, changed.field), changed.new))
        .collect();
    let about = Timestamp::UNIX_EPOCH;
    let channel = |channel: &ChannelSpec| {
        let releases = channel.members.iter().map(|member| {
            (
                member.name.to_string(),
                starts.get(&member.origin).copied().or(member.start),
                [member.locked, member.held],
                member.replaces.as_ref().map(ToString::to_string),
            )
        });
        let rules = channel.rollouts.iter().map(|rule| {
            let opens = rule.opens(about);
            let lengths = |ring, origin| {
                let window = rule.window_of(ring, opens);
                let after = window.start.duration_since(opens);
                let length = window.end.duration_since(window.start);
                let new = |field, old| durations.get(&(origin, field)).copied().unwrap_or(old);
                [
                    new(RuleLength::After, after),
                    new(RuleLength::Duration, length),
                ]
            };
            let turns = rule.rings.turns.iter();
            let turns = turns.map(|turn| (turn.ring, lengths(turn.ring, &turn.origin), turn.ramp));
            (
                format!("{:?}", rule.edges),
                rule.start
                    .map(|start| starts.get(&rule.origin).copied().unwrap_or(start)),
                lengths(RingId::REST, &rule.origin),
                rule.ramp,
                turns.collect(),
            )
        });
        (releases.collect(), rules.collect())
    };
    data.channels
        .iter()
        .map(|one| (one.name.to_string(), channel(one)))
        .collect()
}

/// Replaces the value of a field in the item of a list that this place is in.
fn replace(lines: &mut [String], place: &Place, key: &str, value: &str) -> Result<(), String> {
    let not_found =
        || format!("{place}: there is no `{key}` that can be changed here; change it by hand");
    let at = (place.line as usize).checked_sub(1).ok_or_else(not_found)?;
    let line = lines.get(at).ok_or_else(not_found)?;
    // On one line, as in {name: 4.20.3, start: 2026-11-01T00:00Z}.
    let open = line[..column(line, place)].rfind('{');
    if let Some(open) = open {
        let close = line[open..].find('}').ok_or_else(not_found)? + open;
        let new = replaced(&line[open..close], key, value).ok_or_else(not_found)?;
        lines[at] = format!("{}{new}{}", &line[..open], &line[close..]);
        return Ok(());
    }
    let number = item(lines, at)
        .find(|number| {
            // What begins further to the right belongs to something inside the item.
            let line = lines[*number].trim_start_matches([' ', '-']);
            let is_own = lines[*number].len() - line.len() == indent(lines, at);
            is_own && line.starts_with(key) && replaced(&lines[*number], key, value).is_some()
        })
        .ok_or_else(not_found)?;
    lines[number] = replaced(&lines[number], key, value).ok_or_else(not_found)?;
    Ok(())
}

/// Where the column of a place is in its line, in bytes.
fn column(line: &str, place: &Place) -> usize {
    let characters = place.column.max(1) as usize;
    let at = line.char_indices().nth(characters - 1);
    // The place may be the brace itself.
    at.map_or(line.len(), |(at, first)| at + first.len_utf8())
}

/// Where the fields of the item begin that this line is in.
fn indent(lines: &[String], at: usize) -> usize {
    let first = &lines[item(lines, at).start];
    first.len() - first.trim_start_matches([' ', '-']).len()
}

/// The lines of the item of a block list that this line is in.
fn item(lines: &[String], at: usize) -> std::ops::Range<usize> {
    let is_dash = |line: &String| line.trim_start().starts_with("- ");
    let first = (0..=at).rev().find(|number| is_dash(&lines[*number]));
    let first = first.unwrap_or(at);
    let indent = lines[first].len() - lines[first].trim_start().len();
    let is_outside = |line: &String| {
        let text = line.trim_start();
        !text.is_empty() && !text.starts_with('#') && line.len() - text.len() <= indent
    };
    let end = (first + 1..lines.len()).find(|number| is_outside(&lines[*number]));
    first..end.unwrap_or(lines.len())
}

/// The line with another value of the field; none if it does not have the field.
fn replaced(line: &str, key: &str, value: &str) -> Option<String> {
    let begin = line
        .match_indices(key)
        .find(|(at, _)| {
            let before = line[..*at].chars().next_back();
            let is_begun = before.is_none_or(|before| " {,".contains(before));
            let is_comment = line[..*at].contains(" #") || line.trim_start().starts_with('#');
            is_begun && !is_comment && line[at + key.len()..].starts_with(':')
        })?
        .0;
    let after = begin + key.len() + 1;
    let old = line[after..].trim_start();
    let begin = line.len() - old.len();
    let (quote, length) = match old.chars().next()? {
        quote @ ('"' | '\'') => (Some(quote), old[1..].find(quote)? + 2),
        _ => (None, old.find([' ', ',', '}', '\r']).unwrap_or(old.len())),
    };
    if length == 0 {
        return None;
    }
    let quote = quote.map(String::from).unwrap_or_default();
    let rest = &line[begin + length..];
    Some(format!("{}{quote}{value}{quote}{rest}", &line[..begin]))
}

/// A duration as graph data has it: `P8D`, `PT36H`.
fn duration(length: SignedDuration) -> String {
    let seconds = length.as_secs();
    let (days, hours) = (seconds / 86_400, seconds % 86_400 / 3_600);
    let (minutes, rest) = (seconds % 3_600 / 60, seconds % 60);
    let part = |number: i64, unit: &str| match number {
        0 => String::new(),
        number => format!("{number}{unit}"),
    };
    let of_day = [part(hours, "H"), part(minutes, "M"), part(rest, "S")].concat();
    let time = match of_day.is_empty() {
        true => String::new(),
        false => format!("T{of_day}"),
    };
    format!("P{}{time}", part(days, "D"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_changes_and_the_rest_of_the_line_stays() {
        for (line, expected) in [
            ("  start: 2026-11-01T00:00Z", Some("  start: X")),
            (
                "- start:   \"2026\"  # later: start: 1",
                Some("- start:   \"X\"  # later: start: 1"),
            ),
            (
                "  {name: 4.9.0, start: '2026', locked: true",
                Some("  {name: 4.9.0, start: 'X', locked: true"),
            ),
            ("  restart: 1", None),
            ("  # start: 1", None),
            ("  start:", None),
            ("  name: start", None),
        ] {
            assert_eq!(replaced(line, "start", "X").as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn durations_are_written_as_graph_data_has_them() {
        for (seconds, expected) in [
            (8 * 86_400, "P8D"),
            (36 * 3_600, "P1DT12H"),
            (5_400, "PT1H30M"),
            (86_401, "P1DT1S"),
        ] {
            let length = SignedDuration::from_secs(seconds);
            assert_eq!(duration(length), expected);
            let span: jiff::Span = data::parse_duration(expected).unwrap();
            let back = span
                .to_duration(jiff::SpanRelativeTo::days_are_24_hours())
                .unwrap();
            assert_eq!(back, length);
        }
    }
}

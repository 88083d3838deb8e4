//! Words that all answers share: times, counts with their nouns, lines wrapped at the margin.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::{Fact, Platform};
use towpath_core::graph::Graph;
use towpath_core::moment::ShownTime;
use towpath_core::path::RiskPolicy;
use towpath_core::verdict::Answer;

use crate::room::{BELOW, Tone, toned};

/// Where a cluster runs, as part of a sentence.
pub(crate) fn on_platform(platform: &Fact<Platform>) -> String {
    match platform {
        Fact::Known(platform) => format!("on {platform}"),
        Fact::Unknown => "on an unknown platform".to_owned(),
    }
}

/// What is said to somebody who asks about a platform that OpenShift does not have.
pub fn platform_warning(platform: &Fact<Platform>) -> Option<String> {
    let platform = platform.known().filter(|platform| !platform.is_known())?;
    Some(format!(
        "{platform} is not a platform of OpenShift, so blocks for any platform hold; there are {}",
        Platform::KNOWN.join(", ")
    ))
}

/// A sentence of a draft. [`Room::fit`] breaks it into lines: the first after `start`, the others below it.
///
/// [`Room::fit`]: crate::room::Room::fit
pub(crate) fn wrapped(start: &str, text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    format!("{start}{BELOW}{}\n", words.join(" "))
}

/// The word of an answer, in its colour.
pub(crate) fn answer_word(answer: &Answer) -> String {
    toned(tone(answer), answer.word())
}

/// Green for what may be taken, yellow for what needs a look or time, red for what must not be.
pub(crate) fn tone(answer: &Answer) -> Tone {
    match answer {
        Answer::Recommend => Tone::Good,
        Answer::RecommendUnless(_) | Answer::Wait { .. } => Tone::Careful,
        Answer::Refuse => Tone::Bad,
    }
}

/// A text from outside on one line, as it is but for what a terminal would obey: control characters, and those that turn the direction
/// of writing. They become `\u{1b}`.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, is_obeyed)
}

/// The same for a text of several lines, which stay lines.
pub(crate) fn plain_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && is_obeyed(c))
}

fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| {
        if is_escaped(c) {
            c.escape_unicode().to_string()
        } else {
            c.to_string()
        }
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// A line for each name that was accepted and that no risk has: it was misspelt, or is of yesterday.
pub(crate) fn no_such_risks(graph: &Graph, taken: &RiskPolicy) -> String {
    let RiskPolicy::Accepted(names) = taken else {
        return String::new();
    };
    let risks = graph.blocks().iter().filter_map(|block| block.risk);
    let known: BTreeSet<&str> = risks.map(|id| graph.risk(id).name.as_str()).collect();
    let unknown = names.iter().filter(|name| !known.contains(name.as_str()));
    unknown
        .map(|name| {
            format!(
                "No risk is called {}; accepting it changes nothing.\n",
                plain(name)
            )
        })
        .collect()
}

/// A time, cut to the minute: for tables, and where seconds do not matter.
pub fn minute(at: Timestamp) -> String {
    let seconds = SignedDuration::from_secs(at.as_second().rem_euclid(60));
    ShownTime(at.checked_sub(seconds).unwrap_or(at)).to_string()
}

/// A time to the second, if it has seconds.
pub fn second(at: Timestamp) -> String {
    ShownTime(at).to_string()
}

/// Names with commas between them, or what is said of none.
pub(crate) fn joined(names: impl IntoIterator<Item = impl ToString>, none: &str) -> String {
    let names = names.into_iter().map(|name| name.to_string());
    let names: Vec<String> = names.collect();
    match names.is_empty() {
        true => none.to_owned(),
        false => names.join(", "),
    }
}

/// The first few names, and how many more there are.
pub(crate) fn first_names(names: impl IntoIterator<Item = impl ToString>, most: usize) -> String {
    let mut names = names.into_iter();
    let first = joined(names.by_ref().take(most), "");
    first + &beyond(names.count(), 0, |more| format!(" and {more} more"))
}

/// What is said of those that there is no room for.
pub(crate) fn beyond(all: usize, most: usize, say: impl FnOnce(usize) -> String) -> String {
    match all.saturating_sub(most) {
        0 => String::new(),
        more => say(more),
    }
}

/// `1 node`, `3 nodes`.
pub fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        assert_eq!(
            plain("a\u{1b}[31m\n\u{202e}b"),
            "a\\u{1b}[31m\\u{a}\\u{202e}b"
        );
        assert_eq!(plain_lines("a\nb\r\n"), "a\nb\\u{d}\n");
        assert!(matches!(plain("größer ü"), Cow::Borrowed("größer ü")));
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(
            [0, 1, 2].map(|number| counted(number, "node")),
            ["0 nodes", "1 node", "2 nodes"]
        );
    }
}

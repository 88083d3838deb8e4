//! Verdicts and reasons as JSON and as text: one shape and one set of words in every command,
//! endpoint, Event and condition.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Map, Value as Json, json};
use towpath_core::graph::Share;
use towpath_core::verdict::{Reason, Value, Verdict};

use crate::words::{plain, wrapped};

/// An answer with all its reasons.
pub fn verdict(verdict: &Verdict) -> Json {
    json!({
        "answer": verdict.answer.word(),
        "until": verdict.answer.until().map(|until| until.to_string()),
        "reasons": reasons(&verdict.reasons),
    })
}

pub fn reasons<'a>(reasons: impl IntoIterator<Item = &'a Reason>) -> Json {
    reasons.into_iter().map(reason).collect()
}

pub fn reason(reason: &Reason) -> Json {
    let facts: Map<String, Json> = reason
        .facts()
        .iter()
        .map(|(name, fact)| ((*name).to_owned(), value(fact)))
        .collect();
    json!({
        "code": reason.code().name,
        "text": reason.text(),
        "help": reason.help(),
        "command": reason.command(),
        "check": reason.check(),
        "object": reason.object(),
        "note": reason.code().is_note,
        "until": reason.ends().map(|until| until.to_string()),
        "place": reason.place().map(ToString::to_string),
        "facts": facts,
    })
}

fn value(of: &Value) -> Json {
    match of {
        Value::Missing => Json::Null,
        Value::Text(text) => json!(**text),
        Value::Command(command) => json!(command),
        Value::Number(number) => json!(number),
        Value::Seconds(seconds) => days(*seconds),
        Value::Time(time) => json!(time.to_string()),
        Value::Share(of) => share(*of),
        Value::List(values) => values.iter().map(value).collect(),
        Value::Thing { fields, .. } => fields
            .iter()
            .map(|(name, field)| ((*name).to_owned(), value(field)))
            .collect::<Map<String, Json>>()
            .into(),
    }
}

/// A share to four digits, which are enough for a person.
pub(crate) fn share(share: Share) -> Json {
    json!((share.as_fraction() * 10_000.0).round() / 10_000.0)
}

/// A span in days, rounded down as people read it: 6.999 days are not seven.
pub(crate) fn days(seconds: i64) -> Json {
    json!((seconds * 100 / 86_400) as f64 / 100.0)
}

/// A reason on one line: the sentence, its place, and its code.
pub fn line(reason: &Reason) -> String {
    let note = if reason.code().is_note { "note: " } else { "" };
    plain(&format!("{note}{reason} [{}]", reason.code().name)).into_owned()
}

/// A reason as a point of a list, with what helps below it.
pub fn point(first: &str, reason: &Reason) -> String {
    HelpOnce::default().point(first, reason)
}

/// What helps is told once in a text, however many reasons say the same.
#[derive(Default)]
pub struct HelpOnce(BTreeSet<(String, Option<String>)>);

impl HelpOnce {
    /// A reason as a point of a list, with what helps below it unless it was told before.
    pub fn point(&mut self, first: &str, reason: &Reason) -> String {
        self.point_of(first, reason, &line(reason))
    }

    /// The same, in other words.
    pub(crate) fn point_of(&mut self, first: &str, reason: &Reason, said: &str) -> String {
        let mut text = wrapped(first, said);
        let (help, command) = (reason.help(), reason.command());
        if self.0.insert((help.clone(), command.clone())) {
            let indent = " ".repeat(first.chars().count());
            text.push_str(&wrapped(&format!("{indent}→ "), &plain(&help)));
            if let Some(command) = command {
                let _ = writeln!(text, "{indent}  $ {}", plain(&command));
            }
        }
        text
    }
}

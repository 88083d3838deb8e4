//! Offers, and what the graph says against them: as it is written today, and as the first format had it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use towpath_core::graph::Share;
use towpath_core::graph::rules::RECORDED;
use towpath_core::verdict::{self, Answer, Value, Verdict, code_named};
use towpath_core::{finding, fleet as core};

use super::records::Place;
use super::stored::{Join, Stored, Tables, Text, parse, said, text};

const FINAL_IN_FIRST_FORMAT: [&str; 5] = [
    "HardBlock",
    "BlockNotUnderstood",
    "PlatformBlocked",
    "PlatformUnknown",
    "PayloadDisputed",
];

#[derive(Serialize, Deserialize)]
pub(super) struct Offer<'a> {
    version: Text<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    channel: Option<Text<'a>>,
    /// As the first format had it.
    #[serde(default, skip_serializing)]
    hold: Option<OfferHold<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    objection: Option<Objection<'a>>,
}

#[derive(Serialize, Deserialize)]
struct Objection<'a> {
    /// Whether it is a no; else it waits.
    is_no: bool,
    until: Option<Text<'a>>,
    risks: Vec<Text<'a>>,
    reasons: Vec<Reason<'a>>,
}

#[derive(Serialize, Deserialize)]
struct Reason<'a> {
    code: Text<'a>,
    facts: Vec<(Text<'a>, FactValue<'a>)>,
    place: Option<Place<'a>>,
    until: Option<Text<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum FactValue<'a> {
    Text(Text<'a>),
    Number(u64),
    Seconds(i64),
    Time(Text<'a>),
    /// In parts of 2^64.
    Share(Text<'a>),
    List(Vec<FactValue<'a>>),
}

#[derive(Deserialize)]
struct OfferHold<'a> {
    until: Option<Text<'a>>,
    risks: Vec<Text<'a>>,
    reasons: Vec<(Text<'a>, Text<'a>)>,
}

/// The first format has a reason's code and sentence, and says nothing of the answer: these codes, and a risk, were a no.
impl<'a> From<OfferHold<'a>> for Objection<'a> {
    fn from(hold: OfferHold<'a>) -> Self {
        let is_no = |(code, _): &(Text<'_>, Text<'_>)| FINAL_IN_FIRST_FORMAT.contains(&&**code);
        let recorded = |(code, sentence)| Reason {
            code: text(RECORDED.name),
            facts: vec![
                (text("code"), FactValue::Text(code)),
                (text("text"), FactValue::Text(sentence)),
            ],
            place: None,
            until: None,
        };
        Self {
            is_no: hold.reasons.iter().any(is_no) || !hold.risks.is_empty(),
            until: hold.until,
            risks: hold.risks,
            reasons: hold.reasons.into_iter().map(recorded).collect(),
        }
    }
}

impl<'a> Stored<'a, core::Offer> for Offer<'a> {
    fn store(from: &'a core::Offer, tables: &Tables<'a>) -> Self {
        Self {
            version: Stored::store(&from.version, tables),
            channel: Stored::store(&from.channel, tables),
            hold: None,
            objection: Stored::store(&from.objection, tables),
        }
    }
    fn restore(self, join: &mut Join) -> Result<core::Offer, String> {
        Ok(core::Offer {
            version: self.version.restore(join)?,
            channel: self.channel.restore(join)?,
            objection: self
                .objection
                .or(self.hold.map(Objection::from))
                .restore(join)?,
        })
    }
}

impl<'a> Stored<'a, Box<core::GraphObjection>> for Objection<'a> {
    fn store(from: &'a Box<core::GraphObjection>, tables: &Tables<'a>) -> Self {
        Self {
            is_no: from.verdict.answer == Answer::Refuse,
            until: from.until().as_ref().map(said),
            risks: Stored::store(&from.risks, tables),
            reasons: Stored::store(&from.verdict.reasons, tables),
        }
    }
    fn restore(self, join: &mut Join) -> Result<Box<core::GraphObjection>, String> {
        let until = self.until.restore(join)?;
        let verdict = Verdict {
            answer: match self.is_no {
                true => Answer::Refuse,
                false => Answer::Wait { until },
            },
            reasons: self.reasons.restore(join)?,
        };
        Ok(Box::new(core::GraphObjection {
            verdict,
            risks: self.risks.restore(join)?,
        }))
    }
}

impl<'a> Stored<'a, verdict::Reason> for Reason<'a> {
    fn store(from: &'a verdict::Reason, tables: &Tables<'a>) -> Self {
        let facts = from.facts().iter();
        Self {
            code: text(from.code().name),
            facts: facts
                .map(|(name, fact)| (text(name), Stored::store(fact, tables)))
                .collect(),
            place: from.place().map(|place| Stored::store(place, tables)),
            until: from.ends().as_ref().map(said),
        }
    }
    fn restore(self, join: &mut Join) -> Result<verdict::Reason, String> {
        let code =
            code_named(&self.code).ok_or_else(|| format!("there is no reason {:?}", self.code))?;
        let until: Option<Timestamp> = self.until.restore(join)?;
        let place: Option<finding::Place> = self.place.restore(join)?;
        let facts = self.facts.into_iter();
        let facts = facts.map(|(name, fact)| Ok((name.into_owned(), fact.restore(join)?)));
        let reason = code
            .recorded(facts.collect::<Result<_, String>>()?)
            .ok_or_else(|| format!("a reason {:?} has facts that none has", self.code))?
            .until(until);
        Ok(match place {
            Some(place) => reason.at(&place),
            None => reason,
        })
    }
}

impl<'a> Stored<'a, Value> for FactValue<'a> {
    fn store(from: &'a Value, tables: &Tables<'a>) -> Self {
        match from {
            Value::Text(from) => Self::Text(text(from)),
            Value::Number(number) => Self::Number(*number),
            Value::Seconds(seconds) => Self::Seconds(*seconds),
            Value::Time(time) => Self::Time(said(time)),
            Value::Share(share) => Self::Share(said(&share.parts())),
            Value::List(values) => Self::List(Stored::store(values, tables)),
            // The graph's reasons have none of these; their words are kept.
            Value::Missing | Value::Command(_) | Value::Thing { .. } => Self::Text(said(from)),
        }
    }
    fn restore(self, join: &mut Join) -> Result<Value, String> {
        Ok(match self {
            Self::Text(text) => (&*text).into(),
            Self::Number(number) => Value::Number(number),
            Self::Seconds(seconds) => Value::Seconds(seconds),
            Self::Time(time) => Value::Time(parse(&time)?),
            Self::Share(parts) => Value::Share(Share::of_parts(parse(&parts)?)),
            Self::List(values) => Value::List(values.restore(join)?),
        })
    }
}

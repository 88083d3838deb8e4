//! What is remembered of a run, as it is written on the pool.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use towpath_core::fleet::Name;
use towpath_core::nodes::run::{RebootRecord, SetAside};
use towpath_core::verdict::{Reason, Value, code_named};

use crate::read::shown;

/// The longest record. Kubernetes allows 256 KiB for all annotations of an object.
const MAX_BYTES: usize = 128 << 10;

/// As in RFC 3339.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
struct WrittenTime(Timestamp);

impl From<WrittenTime> for String {
    fn from(time: WrittenTime) -> Self {
        time.0.to_string()
    }
}

impl TryFrom<String> for WrittenTime {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let read = text.parse().map(Self);
        read.map_err(|_| format!("{:?} is no time", shown(&text)))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenRecord {
    to: Name,
    started: WrittenTime,
    was_paused: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    began: BTreeMap<Name, WrittenTime>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    refused: BTreeMap<Name, WrittenTime>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    handed: BTreeMap<Name, WrittenTime>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    set_aside: BTreeMap<Name, WrittenAside>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stopped: Option<WrittenReason>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenAside {
    until: WrittenTime,
    times: u32,
    why: WrittenReason,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenReason {
    code: String,
    facts: BTreeMap<String, WrittenFact>,
}

/// Reasons of a run have no other facts.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenFact {
    Number(u64),
    Text(String),
}

pub fn written_record(record: &RebootRecord) -> String {
    let RebootRecord {
        to,
        started,
        was_paused,
        began,
        refused,
        handed,
        set_aside,
        stopped,
    } = record.clone();
    let aside = |(name, aside): (Name, SetAside)| {
        let written = WrittenAside {
            until: WrittenTime(aside.until),
            times: aside.times,
            why: WrittenReason::of(&aside.why),
        };
        (name, written)
    };
    let written = WrittenRecord {
        to,
        started: WrittenTime(started),
        was_paused,
        began: times(began, WrittenTime),
        refused: times(refused, WrittenTime),
        handed: times(handed, WrittenTime),
        set_aside: set_aside.into_iter().map(aside).collect(),
        stopped: stopped.as_ref().map(WrittenReason::of),
    };
    serde_json::to_string(&written).unwrap_or_default()
}

pub fn read_record(text: &str) -> Result<RebootRecord, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("it is longer than {MAX_BYTES} bytes"));
    }
    let written: WrittenRecord = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let WrittenRecord {
        to,
        started,
        was_paused,
        began,
        refused,
        handed,
        set_aside,
        stopped,
    } = written;
    let aside = |(name, aside): (Name, WrittenAside)| {
        let WrittenAside { until, times, why } = aside;
        let until = until.0;
        let why = why.restored()?;
        Ok::<_, String>((name, SetAside { until, times, why }))
    };
    Ok(RebootRecord {
        to,
        started: started.0,
        was_paused,
        began: times(began, |time| time.0),
        refused: times(refused, |time| time.0),
        handed: times(handed, |time| time.0),
        set_aside: set_aside.into_iter().map(aside).collect::<Result<_, _>>()?,
        stopped: stopped.map(WrittenReason::restored).transpose()?,
    })
}

fn times<F, T>(of: BTreeMap<Name, F>, each: impl Fn(F) -> T) -> BTreeMap<Name, T> {
    of.into_iter()
        .map(|(name, time)| (name, each(time)))
        .collect()
}

impl WrittenReason {
    fn of(reason: &Reason) -> Self {
        let fact = |(name, value): &(&'static str, Value)| {
            let written = match value {
                Value::Number(number) => WrittenFact::Number(*number),
                other => WrittenFact::Text(other.to_string()),
            };
            ((*name).to_owned(), written)
        };
        Self {
            code: reason.code().name.to_owned(),
            facts: reason.facts().iter().map(fact).collect(),
        }
    }

    fn restored(self) -> Result<Reason, String> {
        let said = shown(&self.code);
        let code = code_named(&self.code).ok_or_else(|| format!("there is no reason {said:?}"))?;
        let facts = self.facts.into_iter().map(|(name, fact)| {
            let value = match fact {
                WrittenFact::Number(number) => Value::Number(number),
                WrittenFact::Text(text) => Value::text(text),
            };
            (name, value)
        });
        code.recorded(facts.collect())
            .ok_or_else(|| format!("a reason {said:?} has facts that none has"))
    }
}

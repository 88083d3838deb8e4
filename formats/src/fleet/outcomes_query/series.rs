//! The answer of Prometheus' API to an instant query, as far as it is needed. Labels that nobody knows are kept for the finding.

use std::borrow::Cow;
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::MAX_SERIES;

/// The longest text of a server that is shown, in characters.
const MAX_SHOWN_CHARS: usize = 200;
/// How far a cluster's clock may be ahead.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_mins(5);

/// An answer that can be used.
pub(super) struct Answer<'a> {
    pub(super) series: Vec<Series<'a>>,
    /// Whether there were more series than are looked at.
    pub(super) is_full: bool,
    pub(super) warnings: Vec<String>,
}

/// One series: its labels, and its value.
#[derive(Debug, Default)]
pub(super) struct Series<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    /// As ACM's observability names it.
    pub(super) cluster_id: Option<Cow<'a, str>>,
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) version: Option<Cow<'a, str>>,
    pub(super) from_version: Option<Cow<'a, str>>,
    pub(super) platform: Option<Cow<'a, str>>,
    pub(super) arch: Option<Cow<'a, str>>,
    pub(super) organisation: Option<Cow<'a, str>>,
    /// The first label that is none of these.
    pub(super) unknown: Option<String>,
    pub(super) value: String,
}

/// What is wrong with an answer, and what helps.
type Wrong = (String, &'static str);

#[derive(Deserialize)]
struct Envelope<'a> {
    status: String,
    #[serde(borrow)]
    data: Option<Data<'a>>,
    #[serde(rename = "errorType")]
    error_type: Option<String>,
    error: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(rename = "resultType")]
    result_type: String,
    /// It has another form where it is no vector.
    #[serde(borrow)]
    result: &'a RawValue,
}

/// Up to [`MAX_SERIES`] series.
struct Sampled<'a> {
    series: Vec<Series<'a>>,
    is_full: bool,
}

#[derive(Deserialize)]
struct Sample<'a> {
    #[serde(borrow)]
    metric: Labels<'a>,
    value: (IgnoredAny, String),
}

struct Labels<'a>(Series<'a>);

impl<'a> Answer<'a> {
    pub(super) fn read(status: u16, body: &'a [u8]) -> Result<Self, Wrong> {
        let parsed: Result<Envelope<'a>, _> = serde_json::from_slice(body);
        let envelope = match parsed {
            Ok(envelope) => envelope,
            Err(_) if status != 200 => return Err(refused(status)),
            Err(error) => return Err(no_answer(&error)),
        };
        if envelope.status == "error" {
            return Err(of_prometheus(&envelope));
        }
        let data = envelope.data.filter(|_| status == 200);
        let Some(data) = data else {
            return Err(refused(status));
        };
        if data.result_type != "vector" {
            let problem = format!(
                "the query has a {} as its answer, and an instant vector is needed",
                clip(&data.result_type)
            );
            return Err((problem, "correct --outcomes-query"));
        }
        let sampled: Sampled<'a> =
            serde_json::from_str(data.result.get()).map_err(|error| no_answer(&error))?;
        Ok(Self {
            series: sampled.series,
            is_full: sampled.is_full,
            warnings: envelope.warnings,
        })
    }
}

fn no_answer(error: &serde_json::Error) -> Wrong {
    let problem = format!("this is no answer of Prometheus' API: {error}");
    (problem, "name the address of a Prometheus, without /api/v1")
}

fn refused(status: u16) -> Wrong {
    match status {
        401 | 403 => (
            format!("the server answered {status}: it rejects our credentials"),
            "name a token that may read the metric with --outcomes-token",
        ),
        status => (
            format!("the server answered {status}"),
            "check the address, and that Prometheus is up",
        ),
    }
}

fn of_prometheus(envelope: &Envelope<'_>) -> Wrong {
    let kind = envelope.error_type.as_deref().unwrap_or_default();
    let words = envelope.error.as_deref();
    let words = clip(words.unwrap_or("it does not say why"));
    match kind {
        "bad_data" => (
            format!("Prometheus refuses the query: {words}"),
            "correct --outcomes-query",
        ),
        "execution" => (
            format!("Prometheus cannot execute the query: {words}"),
            "correct --outcomes-query, or ask for less",
        ),
        "timeout" => (
            format!("Prometheus gave up on the query: {words}"),
            "ask for less, or give Prometheus more time",
        ),
        _ => (
            format!("Prometheus answers with an error: {words}"),
            "look at that Prometheus",
        ),
    }
}

impl Series<'_> {
    /// The cluster's id. Two that differ are none.
    pub(super) fn cluster(&self) -> Result<&str, String> {
        if let Some(label) = &self.unknown {
            return Err(format!(
                "the label {:?} is unknown; aggregate it away: min by (_id, type, version, from_version) (…)",
                clip(label)
            ));
        }
        match (&self.id, &self.cluster_id) {
            (Some(one), Some(other)) if one != other => Err(format!(
                "_id {:?} and clusterID {:?} differ",
                clip(one),
                clip(other)
            )),
            (Some(id), _) | (None, Some(id)) => Ok(id),
            (None, None) => Err("a series has neither the label _id nor clusterID".to_owned()),
        }
    }

    /// The value: seconds since 1970. 0 is what the operator writes where it does not know the time.
    pub(super) fn time(&self, now: Timestamp) -> Result<Option<Timestamp>, String> {
        let wrong = || format!("the value {:?} is no time in seconds", clip(&self.value));
        let (whole, part) = self.value.split_once('.').unwrap_or((&self.value, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(part) {
            return Err(wrong());
        }
        let seconds: i64 = whole.parse().map_err(|_| wrong())?;
        if seconds == 0 {
            return Ok(None);
        }
        let at = Timestamp::from_second(seconds).map_err(|_| wrong())?;
        match at.duration_since(now) > CLOCKS_DIFFER {
            true => Err(format!("the value {at} is in the future")),
            false => Ok(Some(at.min(now))),
        }
    }
}

/// The beginning of a text that came from elsewhere.
pub(super) fn clip(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARS).collect()
}

impl<'de: 'a, 'a> Deserialize<'de> for Sampled<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Sampled<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of series")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
                let (mut series, mut is_full) = (Vec::new(), false);
                while series.len() < MAX_SERIES
                    && let Some(Sample { metric, value }) = all.next_element()?
                {
                    let value = value.1;
                    series.push(Series { value, ..metric.0 });
                }
                while all.next_element::<IgnoredAny>()?.is_some() {
                    is_full = true;
                }
                Ok(Sampled { series, is_full })
            }
        }
        deserializer.deserialize_seq(All)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Labels<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Known;
        impl<'de> Visitor<'de> for Known {
            type Value = Labels<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the labels of a series")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
                let mut known = Series::default();
                while let Some(Text(name)) = all.next_key()? {
                    let Text(text) = all.next_value()?;
                    // An empty label is the same as none.
                    if text.is_empty() {
                        continue;
                    }
                    let place = match &*name {
                        "__name__" => continue,
                        "_id" => &mut known.id,
                        "clusterID" => &mut known.cluster_id,
                        "type" => &mut known.kind,
                        "version" => &mut known.version,
                        "from_version" => &mut known.from_version,
                        "platform" => &mut known.platform,
                        "arch" => &mut known.arch,
                        "organisation" => &mut known.organisation,
                        _ => {
                            known.unknown.get_or_insert_with(|| name.into_owned());
                            continue;
                        }
                    };
                    *place = Some(text);
                }
                Ok(Labels(known))
            }
        }
        deserializer.deserialize_map(Known)
    }
}

/// A text that is borrowed if it can be.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

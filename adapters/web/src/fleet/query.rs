//! Parses queries and bodies strictly, so that a misspelt filter does not show the whole fleet.

use std::borrow::Cow;

use http::request::Parts;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{Cursor, Filter};
use towpath_core::version::Version;
use towpath_formats::agent::stamp::Nonce;
use towpath_formats::fleet::cursor;

use super::FleetRequest;
use crate::refusal::{OrRefusal, Refusal};

/// The longest text in a query or a body.
const MAX_TEXT_BYTES: usize = 256;
/// The most entries of a page.
const MAX_LIMIT: usize = 1_000;
/// The default length of a forecast, in days.
const FORECAST_DAYS: u32 = 14;
/// The longest forecast, in days.
const MAX_FORECAST_DAYS: u32 = 366;
/// How many preflights run at once, if nobody says, …
const PREFLIGHTS_AT_ONCE: u32 = 10;
/// … and the most.
const MAX_AT_ONCE: u32 = 10_000;

/// The parameters of endpoints that answer with pages, …
const PAGE: &str = "org, sector, workload, cluster, held-by, limit, after";
/// … of those whose answer is one count, …
const COUNT: &str = "org, sector, workload, cluster, held-by";
/// … of lists that are whole, …
const PART: &str = "org, sector, workload, cluster";
/// … and of forecasts.
const FORECAST: &str = "days, org, sector, workload, cluster, held-by, limit, after";

// Each reads what its endpoint asks for, or says in a sentence what is wrong.

pub(crate) fn why(cluster: &str, query: &str) -> Result<FleetRequest, String> {
    let Parameters { version, .. } = Parameters::read("version", query)?;
    let cluster = named(cluster)?;
    Ok(FleetRequest::Why { cluster, version })
}

pub(crate) fn status(_: &str, query: &str) -> Result<FleetRequest, String> {
    Ok(FleetRequest::Status(Parameters::read(PAGE, query)?.filter))
}

pub(crate) fn plan(_: &str, query: &str) -> Result<FleetRequest, String> {
    Ok(FleetRequest::Plan(Parameters::read(PAGE, query)?.filter))
}

pub(crate) fn upgrades(_: &str, query: &str) -> Result<FleetRequest, String> {
    let filter = Parameters::read(PAGE, query)?.filter;
    Ok(FleetRequest::Upgrades(filter))
}

pub(crate) fn holds(_: &str, query: &str) -> Result<FleetRequest, String> {
    Ok(FleetRequest::Holds(Parameters::read(COUNT, query)?.filter))
}

pub(crate) fn history(_: &str, query: &str) -> Result<FleetRequest, String> {
    Ok(FleetRequest::History(Parameters::read(PAGE, query)?.filter))
}

pub(crate) fn preflights(_: &str, query: &str) -> Result<FleetRequest, String> {
    let filter = Parameters::read(PART, query)?.filter;
    Ok(FleetRequest::Preflights(filter))
}

pub(crate) fn forecast(_: &str, query: &str) -> Result<FleetRequest, String> {
    let Parameters { filter, days, .. } = Parameters::read(FORECAST, query)?;
    let days = days.unwrap_or(FORECAST_DAYS);
    Ok(FleetRequest::Forecast { days, filter })
}

// Each reads the body of a change that people make, or says in a sentence what is wrong.

pub(crate) fn pause(body: &str) -> Result<FleetRequest, String> {
    let body: PauseBody = body_of(body)?;
    Ok(FleetRequest::Pause {
        organisation: optional("organisation", body.organisation)?,
        sector: optional("sector", body.sector)?,
        by: text("by", body.by)?,
        why: text("why", body.why)?,
    })
}

pub(crate) fn resume(body: &str) -> Result<FleetRequest, String> {
    let body: ResumeBody = body_of(body)?;
    Ok(FleetRequest::Resume {
        organisation: optional("organisation", body.organisation)?,
        sector: optional("sector", body.sector)?,
    })
}

pub(crate) fn approve(body: &str) -> Result<FleetRequest, String> {
    let body: ApproveBody = body_of(body)?;
    Ok(FleetRequest::Approve {
        organisation: text("organisation", body.organisation)?,
        cluster: optional("cluster", body.cluster)?,
        version: version(&body.version)?,
        by: text("by", body.by)?,
    })
}

pub(crate) fn acknowledge(body: &str) -> Result<FleetRequest, String> {
    let body: AcknowledgeBody = body_of(body)?;
    Ok(FleetRequest::Acknowledge {
        gate: text("gate", body.gate)?,
        cluster: id(body.cluster)?,
        by: text("by", body.by)?,
    })
}

pub(crate) fn forget(body: &str) -> Result<FleetRequest, String> {
    let body: ForgetBody = body_of(body)?;
    Ok(FleetRequest::Forget {
        cluster: id(body.cluster)?,
    })
}

pub(crate) fn preflight(body: &str) -> Result<FleetRequest, String> {
    let body: PreflightBody = body_of(body)?;
    let at_once = body.at_once.unwrap_or(PREFLIGHTS_AT_ONCE);
    if !(1..=MAX_AT_ONCE).contains(&at_once) {
        return Err(format!(
            "atOnce is {at_once}; it must be a number from 1 to {MAX_AT_ONCE}"
        ));
    }
    Ok(FleetRequest::Preflight {
        version: version(&body.version)?,
        filter: Filter {
            organisation: optional("organisation", body.organisation)?,
            sector: optional("sector", body.sector)?,
            workload: optional("workload", body.workload)?,
            cluster: optional("cluster", body.cluster)?,
            ..Filter::default()
        },
        at_once,
        by: text("by", body.by)?,
    })
}

/// The list itself is read where it is recorded.
pub(crate) fn import(body: &str) -> Result<FleetRequest, String> {
    Ok(FleetRequest::Import { list: body.into() })
}

fn id(cluster: String) -> Result<ClusterId, String> {
    let cluster = text("cluster", cluster)?;
    ClusterId::new(&cluster).ok_or_else(|| "cluster is not a cluster's id".to_owned())
}

/// The cluster's id or name in a path.
pub(super) fn named(in_path: &str) -> Result<String, String> {
    let decoded = percent_decode_str(in_path)
        .decode_utf8()
        .map_err(|_| "the cluster's name is not UTF-8".to_owned())?;
    text("the cluster's name", decoded.into_owned())
}

/// The nonce of a request for a stamp.
pub(super) fn nonce(query: &str) -> Result<Nonce, String> {
    let Parameters { nonce, .. } = Parameters::read("nonce", query)?;
    nonce.ok_or_else(|| "parameter nonce is missing; add nonce=".to_owned())
}

/// Checks that a request has no parameters.
pub(crate) fn nothing(head: &Parts) -> OrRefusal<()> {
    match head.uri.query() {
        None | Some("") => Ok(()),
        Some(_) => Err(Refusal::invalid_params(
            "this path takes no query parameters; leave them out".to_owned(),
        )),
    }
}

#[derive(Debug, Default)]
struct Parameters {
    filter: Filter,
    days: Option<u32>,
    version: Option<Version>,
    nonce: Option<Nonce>,
}

impl Parameters {
    /// Parses a query with these parameters (separated by commas), each at most once.
    fn read(known: &str, query: &str) -> Result<Self, String> {
        let mut parameters = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            if !known.split(", ").any(|name| name == key) {
                let key = shown(&key);
                return Err(format!(
                    "there is no parameter {key:?} here; there are: {known}"
                ));
            }
            parameters.take(&key, value)?;
        }
        Ok(parameters)
    }

    fn take(&mut self, key: &str, value: Cow<'_, str>) -> Result<(), String> {
        let filter = &mut self.filter;
        match key {
            "version" => once(key, &mut self.version, version(&value)?),
            "nonce" => once(key, &mut self.nonce, read_nonce(&value)?),
            "days" => once(key, &mut self.days, number(key, &value, MAX_FORECAST_DAYS)?),
            "org" => once(key, &mut filter.organisation, text(key, value.into())?),
            "sector" => once(key, &mut filter.sector, text(key, value.into())?),
            "workload" => once(key, &mut filter.workload, text(key, value.into())?),
            "cluster" => once(key, &mut filter.cluster, text(key, value.into())?),
            "held-by" => once(key, &mut filter.held_by, text(key, value.into())?),
            "limit" => once(key, &mut filter.limit, number(key, &value, MAX_LIMIT)?),
            "after" => once(key, &mut filter.after, cursor(&value)?),
            _ => unreachable!("{key} is not read"),
        }
    }
}

fn read_nonce(value: &str) -> Result<Nonce, String> {
    Nonce::new(value).ok_or_else(|| {
        "nonce must have 16 to 64 characters of base64url; make a new one up".to_owned()
    })
}

fn cursor(value: &str) -> Result<Cursor, String> {
    let problem = || {
        "after is not the `next` of an answer; leave it out to begin with the first page".to_owned()
    };
    cursor::read(value).ok_or_else(problem)
}

/// Refuses a second value of a parameter.
fn once<T>(key: &str, place: &mut Option<T>, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("parameter {key} stands twice; give it once")),
    }
}

fn number<T: std::str::FromStr + PartialOrd + From<u8> + std::fmt::Display>(
    key: &str,
    value: &str,
    most: T,
) -> Result<T, String> {
    let read = value
        .parse()
        .ok()
        .filter(|number: &T| *number >= T::from(1) && *number <= most);
    read.ok_or_else(|| {
        format!(
            "{key} is {:?}; it must be a number from 1 to {most}",
            shown(value)
        )
    })
}

fn version(value: &str) -> Result<Version, String> {
    value.parse::<Version>().map_err(|error| error.to_string())
}

fn optional(what: &str, value: Option<String>) -> Result<Option<String>, String> {
    value.map(|value| text(what, value)).transpose()
}

fn text(what: &str, value: String) -> Result<String, String> {
    let fits = (1..=MAX_TEXT_BYTES).contains(&value.len()) && !value.chars().any(char::is_control);
    match fits {
        true => Ok(value),
        false => Err(format!(
            "{what} is {:?}; it must have 1 to {MAX_TEXT_BYTES} bytes on one line",
            shown(&value)
        )),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}

fn body_of<T: DeserializeOwned>(body: &str) -> Result<T, String> {
    serde_json::from_str(body).map_err(|error| format!("the body is not right: {error}"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a pause: an object")]
struct PauseBody {
    organisation: Option<String>,
    sector: Option<String>,
    by: String,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "what to resume: an object")]
struct ResumeBody {
    organisation: Option<String>,
    sector: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an approval: an object")]
struct ApproveBody {
    organisation: String,
    cluster: Option<String>,
    version: String,
    by: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an acknowledgement: an object")]
struct AcknowledgeBody {
    gate: String,
    cluster: String,
    by: String,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    rename_all = "camelCase",
    expecting = "a preflight: an object"
)]
struct PreflightBody {
    version: String,
    organisation: Option<String>,
    sector: Option<String>,
    workload: Option<String>,
    cluster: Option<String>,
    at_once: Option<u32>,
    by: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "whom to forget: an object")]
struct ForgetBody {
    cluster: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters() {
        let after = Cursor(["o", "id"].map(str::to_owned).into());
        let query = &format!(
            "org=a%20b&sector=s&workload=w&cluster=c&held-by=soak&limit=5&after={}",
            cursor::write(&after)
        );
        let some = |text: &str| Some(text.to_owned());
        let filter = Filter {
            organisation: some("a b"),
            sector: some("s"),
            workload: some("w"),
            cluster: some("c"),
            held_by: some("soak"),
            limit: Some(5),
            after: Some(after),
        };
        assert_eq!(status("", query), Ok(FleetRequest::Status(filter.clone())));
        assert_eq!(holds("", ""), Ok(FleetRequest::Holds(Filter::default())));
        let forecast = super::forecast("", &format!("days=30&{query}"));
        assert_eq!(forecast, Ok(FleetRequest::Forecast { days: 30, filter }));
        let expected = FleetRequest::Why {
            cluster: "a/b+c".into(),
            version: Some("4.16.1".parse().unwrap()),
        };
        assert_eq!(super::why("a%2Fb+c", "version=4.16.1"), Ok(expected));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        type Reader = fn(&str, &str) -> Result<FleetRequest, String>;
        let cases: [(Reader, &str, &str); 11] = [
            (
                status,
                "organisation=a",
                "there is no parameter \"organisation\" here; there are: org, sector",
            ),
            (status, "days=3", "there is no parameter \"days\""),
            (status, "sector=a&sector=b", "parameter sector stands twice"),
            (status, "sector=", "sector is \"\""),
            (status, "limit=0", "a number from 1 to 1000"),
            (status, "limit=-1", "limit is \"-1\""),
            (
                status,
                "after=nonsense",
                "after is not the `next` of an answer",
            ),
            (holds, "limit=3", "there is no parameter \"limit\""),
            (forecast, "days=400", "a number from 1 to 366"),
            (why, "sector=a", "there are: version"),
            (why, "version=4", "\"4\" is not a version"),
        ];
        for (read, query, expected) in cases {
            let error = read("c", query).unwrap_err();
            assert!(error.contains(expected), "{error} / {expected}");
        }
        assert!(why("%ff", "").is_err() && why("a%0a", "").is_err());
    }

    #[test]
    fn bodies() {
        let paused = pause(r#"{"organisation": "o", "by": "me", "why": "etcd"}"#);
        let (organisation, by, why) = (Some("o".into()), "me".into(), "etcd".into());
        assert_eq!(
            paused,
            Ok(FleetRequest::Pause {
                organisation,
                sector: None,
                by,
                why
            })
        );
        assert_eq!(
            resume("{}"),
            Ok(FleetRequest::Resume {
                organisation: None,
                sector: None
            })
        );
        type BodyReader = fn(&str) -> Result<FleetRequest, String>;
        let cases: [(BodyReader, &str, &str); 6] = [
            (pause, r#"{"by": "me"}"#, "missing field `why`"),
            (
                pause,
                r#"{"by": "me", "why": "", "sector": null}"#,
                "why is \"\"",
            ),
            (
                resume,
                r#"{"organization": "o"}"#,
                "unknown field `organization`",
            ),
            (
                approve,
                r#"{"organisation": "o", "version": "4.16", "by": "me"}"#,
                "\"4.16\" is not a version",
            ),
            (approve, "[]", "an approval: an object"),
            (approve, "{", "EOF"),
        ];
        for (read, body, expected) in cases {
            let error = read(body).unwrap_err();
            assert!(error.contains(expected), "{error} / {expected}");
        }
    }
}

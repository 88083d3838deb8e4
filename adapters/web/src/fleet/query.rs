//! Queries and bodies: what is asked for, read strictly. A misspelt filter must not show the whole fleet.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use towpath_core::fleet::{Cursor, Filter};
use towpath_core::version::Version;
use towpath_formats::fleet::cursor;
use towpath_formats::stamp::Nonce;

use super::FleetRequest;
use super::routes::Route;

/// The longest text in a query or a body.
const MAX_TEXT_BYTES: usize = 256;
/// The most entries that can be asked for: those of one page.
const MAX_LIMIT: usize = 1_000;
/// For how many days a forecast is made unless the query says.
const FORECAST_DAYS: u32 = 14;
/// For how many it can be made.
const MAX_FORECAST_DAYS: u32 = 366;

/// Reads what a route that takes no body asks for, or says in a sentence what is wrong.
pub(super) fn question(route: Route, cluster: &str, query: &str) -> Result<FleetRequest, String> {
    let asked = Asked::read(route, query)?;
    let filter = asked.filter;
    Ok(match route {
        Route::Why => FleetRequest::Why {
            cluster: named(cluster)?,
            version: asked.version,
        },
        Route::Status => FleetRequest::Status(filter),
        Route::Plan => FleetRequest::Plan(filter),
        Route::Upgrades => FleetRequest::Upgrades(filter),
        Route::Holds => FleetRequest::Holds(filter),
        Route::History => FleetRequest::History(filter),
        Route::Forecast => FleetRequest::Forecast {
            days: asked.days.unwrap_or(FORECAST_DAYS),
            filter,
        },
        Route::OpenApi
        | Route::Report
        | Route::Stamp
        | Route::Pause
        | Route::Resume
        | Route::Approve => {
            unreachable!("{route:?} is not a question for the desk")
        }
    })
}

/// Reads the body of a change that people make, or says in a sentence what is wrong.
pub(super) fn change(route: Route, body: &str) -> Result<FleetRequest, String> {
    Ok(match route {
        Route::Pause => {
            let PauseBody {
                organisation,
                sector,
                by,
                why,
            } = body_of(body)?;
            let (organisation, sector) = (
                optional("organisation", organisation)?,
                optional("sector", sector)?,
            );
            FleetRequest::Pause {
                organisation,
                sector,
                by: text("by", by)?,
                why: text("why", why)?,
            }
        }
        Route::Resume => {
            let ResumeBody {
                organisation,
                sector,
            } = body_of(body)?;
            let (organisation, sector) = (
                optional("organisation", organisation)?,
                optional("sector", sector)?,
            );
            FleetRequest::Resume {
                organisation,
                sector,
            }
        }
        Route::Approve => {
            let ApproveBody {
                organisation,
                cluster,
                version,
                by,
            } = body_of(body)?;
            let (organisation, cluster) = (
                text("organisation", organisation)?,
                optional("cluster", cluster)?,
            );
            let version = self::version(&version)?;
            FleetRequest::Approve {
                organisation,
                cluster,
                version,
                by: text("by", by)?,
            }
        }
        _ => unreachable!("{route:?} is not a change that people make"),
    })
}

/// A cluster's id or name as a path has it.
pub(super) fn named(in_path: &str) -> Result<String, String> {
    let decoded = percent_decode_str(in_path)
        .decode_utf8()
        .map_err(|_| "the cluster's name is not UTF-8".to_owned())?;
    text("the cluster's name", decoded.into_owned())
}

/// The nonce that a stamp is asked for with, and nothing else.
pub(super) fn nonce(query: &str) -> Result<Nonce, String> {
    let mut found = None;
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*key {
            "nonce" => once(&key, &mut found, value.into_owned())?,
            _ => return Err(unknown(&key, "nonce")),
        }
    }
    let text = found.ok_or_else(|| "parameter nonce is missing; add nonce=".to_owned())?;
    Nonce::new(&text).ok_or_else(|| {
        "nonce must have 16 to 64 characters of base64url; make a new one up".to_owned()
    })
}

/// That a route which takes no parameters was given none.
pub(super) fn nothing(query: &str) -> Result<(), String> {
    match query {
        "" => Ok(()),
        _ => Err("this path takes no query parameters; leave them out".to_owned()),
    }
}

#[derive(Debug, Default)]
struct Asked {
    filter: Filter,
    days: Option<u32>,
    version: Option<Version>,
}

impl Asked {
    fn read(route: Route, query: &str) -> Result<Self, String> {
        let mut asked = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            asked.take(route, &key, value)?;
        }
        Ok(asked)
    }

    fn take(&mut self, route: Route, key: &str, value: Cow<'_, str>) -> Result<(), String> {
        let filter = &mut self.filter;
        match (route, key) {
            (Route::Why, "version") => once(key, &mut self.version, version(&value)?),
            (Route::Forecast, "days") => {
                once(key, &mut self.days, number(key, &value, MAX_FORECAST_DAYS)?)
            }
            (Route::Why, _) => Err(unknown(key, "version")),
            (_, "organisation") => once(key, &mut filter.organisation, text(key, value.into())?),
            (_, "sector") => once(key, &mut filter.sector, text(key, value.into())?),
            (_, "workload") => once(key, &mut filter.workload, text(key, value.into())?),
            (_, "cluster") => once(key, &mut filter.cluster, text(key, value.into())?),
            (_, "heldBy") => once(key, &mut filter.held_by, text(key, value.into())?),
            (Route::Holds, _) => Err(unknown(
                key,
                "organisation, sector, workload, cluster, heldBy",
            )),
            (_, "limit") => once(key, &mut filter.limit, number(key, &value, MAX_LIMIT)?),
            (_, "after") => once(key, &mut filter.after, cursor(&value)?),
            (Route::Forecast, _) => Err(unknown(key, &format!("days, {FILTERS}"))),
            _ => Err(unknown(key, FILTERS)),
        }
    }
}

const FILTERS: &str = "organisation, sector, workload, cluster, heldBy, limit, after";

fn cursor(value: &str) -> Result<Cursor, String> {
    let problem = || {
        "after is not the `next` of an answer; leave it out to begin with the first page".to_owned()
    };
    cursor::read(value).ok_or_else(problem)
}

/// Of two values, which one was meant is a guess; so there is one.
fn once<T>(key: &str, place: &mut Option<T>, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("parameter {key} stands twice; give it once")),
    }
}

fn unknown(key: &str, known: &str) -> String {
    format!(
        "there is no parameter {:?} here; there are: {known}",
        shown(key)
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters() {
        let after = Cursor(["o", "id"].map(str::to_owned).into());
        let query = &format!(
            "organisation=a%20b&sector=s&workload=w&cluster=c&heldBy=soak&limit=5&after={}",
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
        assert_eq!(
            question(Route::Status, "", query),
            Ok(FleetRequest::Status(filter.clone()))
        );
        assert_eq!(
            question(Route::Holds, "", ""),
            Ok(FleetRequest::Holds(Filter::default()))
        );
        let forecast = question(Route::Forecast, "", &format!("days=30&{query}"));
        assert_eq!(forecast, Ok(FleetRequest::Forecast { days: 30, filter }));
        let why = FleetRequest::Why {
            cluster: "a/b+c".into(),
            version: Some("4.16.1".parse().unwrap()),
        };
        assert_eq!(question(Route::Why, "a%2Fb+c", "version=4.16.1"), Ok(why));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (route, query, expected) in [
            (
                Route::Status,
                "organization=a",
                "there is no parameter \"organization\" here",
            ),
            (Route::Status, "days=3", "there is no parameter \"days\""),
            (
                Route::Status,
                "sector=a&sector=b",
                "parameter sector stands twice",
            ),
            (Route::Status, "sector=", "sector is \"\""),
            (Route::Status, "limit=0", "a number from 1 to 1000"),
            (Route::Status, "limit=-1", "limit is \"-1\""),
            (
                Route::Status,
                "after=nonsense",
                "after is not the `next` of an answer",
            ),
            (Route::Holds, "limit=3", "there is no parameter \"limit\""),
            (Route::Forecast, "days=400", "a number from 1 to 366"),
            (Route::Why, "sector=a", "there are: version"),
            (Route::Why, "version=4", "\"4\" is not a version"),
        ] {
            let error = question(route, "c", query).unwrap_err();
            assert!(error.contains(expected), "{error} / {expected}");
        }
        assert!(
            question(Route::Why, "%ff", "").is_err() && question(Route::Why, "a%0a", "").is_err()
        );
    }

    #[test]
    fn bodies() {
        let pause = change(
            Route::Pause,
            r#"{"organisation": "o", "by": "me", "why": "etcd"}"#,
        );
        let (organisation, by, why) = (Some("o".into()), "me".into(), "etcd".into());
        assert_eq!(
            pause,
            Ok(FleetRequest::Pause {
                organisation,
                sector: None,
                by,
                why
            })
        );
        assert_eq!(
            change(Route::Resume, "{}"),
            Ok(FleetRequest::Resume {
                organisation: None,
                sector: None
            })
        );
        for (route, body, expected) in [
            (Route::Pause, r#"{"by": "me"}"#, "missing field `why`"),
            (
                Route::Pause,
                r#"{"by": "me", "why": "", "sector": null}"#,
                "why is \"\"",
            ),
            (
                Route::Resume,
                r#"{"organization": "o"}"#,
                "unknown field `organization`",
            ),
            (
                Route::Approve,
                r#"{"organisation": "o", "version": "4.16", "by": "me"}"#,
                "\"4.16\" is not a version",
            ),
            (Route::Approve, "[]", "an approval: an object"),
            (Route::Approve, "{", "EOF"),
        ] {
            let error = change(route, body).unwrap_err();
            assert!(error.contains(expected), "{error} / {expected}");
        }
    }
}

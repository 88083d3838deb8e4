//! Parses queries and bodies strictly, so that a misspelt filter does not show the whole fleet.

use std::borrow::Cow;

use http::StatusCode;
use http::request::Parts;
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use towpath_core::access::Identity;
use towpath_core::agent::OrdersUse;
use towpath_core::fleet::{ClusterSort, Cursor, Filter, MatrixBy};
use towpath_core::version::Version;
use towpath_formats::agent::stamp::Nonce;
use towpath_formats::fleet::cursor;
use towpath_formats::graph::data::{self, parse_time};

use super::{FleetForm, FleetRequest, RevokeWhich, UpgradeChoice};
use crate::refusal::{OrRefusal, Refusal};

/// The longest text in a query or a body, in characters.
const MAX_TEXT: usize = 256;
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
/// … and of those that look ahead.
const PLAN: &str = "days, org, sector, workload, cluster, held-by, limit, after";
const FORECAST: &str = "days, now, org, sector, workload, cluster, held-by, limit, after";
const CLUSTERS: &str =
    "search, org, sector, workload, cluster, held-by, version, silent-since, sort, limit, after";
const MATRIX: &str = "by, org, sector, workload, cluster, held-by, limit, after";
const CALENDAR: &str = "from, until, org, sector, workload, cluster, held-by, limit, after";
const ACTS: &str = "org, cluster, standing, limit, after";
const LOG: &str = "before, limit";
const AUDIT_LOG: &str = "since, until, after-entry, limit";
/// What is said to who asks for something sealed without a nonce.
const NO_NONCE: &str = "parameter nonce is missing; add nonce=";
/// What is said to who asks for a page that none of our answers named.
const NO_CURSOR: &str =
    "after is not the `next` of an answer; leave it out to begin with the first page";
/// What every endpoint has besides: how the answer is written.
const FORM: [&str; 2] = ["format", "width"];
/// What somebody is told who asks for another time.
const NO_NOW: &str = "this answer is of the last pass, so it takes no now; /api/v1/fleet/forecast takes a time to come, and /api/v1/fleet/decisions has what was decided before";
/// The narrowest and the widest terminal that tables are made for.
const WIDTHS: std::ops::RangeInclusive<u16> = 20..=1_000;

// Each reads what its endpoint asks for, or says in a sentence what is wrong.

pub(crate) fn why(cluster: &str, query: &str) -> Result<FleetRequest, String> {
    let Parameters { version, .. } = Parameters::read("version", query)?;
    let cluster = named(cluster)?;
    Ok(FleetRequest::Why { cluster, version })
}

pub(crate) fn cluster(cluster: &str, query: &str) -> Result<FleetRequest, String> {
    Parameters::read("", query)?;
    let cluster = named(cluster)?;
    Ok(FleetRequest::Cluster { cluster })
}

pub(crate) fn status(_: &str, query: &str) -> Result<FleetRequest, String> {
    Ok(FleetRequest::Status(Parameters::read(PAGE, query)?.filter))
}

pub(crate) fn plan(_: &str, query: &str) -> Result<FleetRequest, String> {
    let Parameters { filter, days, .. } = Parameters::read(PLAN, query)?;
    Ok(FleetRequest::Plan { filter, days })
}

pub(crate) fn clusters(_: &str, query: &str) -> Result<FleetRequest, String> {
    let Parameters {
        filter,
        sort,
        version,
        ..
    } = Parameters::read(CLUSTERS, query)?;
    let sort = sort.unwrap_or_default();
    let filter = Filter { version, ..filter };
    Ok(FleetRequest::Clusters { filter, sort })
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
    let Parameters {
        filter, days, now, ..
    } = Parameters::read(FORECAST, query)?;
    Ok(FleetRequest::Forecast {
        days: days.unwrap_or(FORECAST_DAYS),
        from: now,
        filter,
    })
}

pub(crate) fn sectors(_: &str, query: &str) -> Result<FleetRequest, String> {
    Ok(FleetRequest::Sectors(Parameters::read(PAGE, query)?.filter))
}

pub(crate) fn matrix(_: &str, query: &str) -> Result<FleetRequest, String> {
    let Parameters { filter, by, .. } = Parameters::read(MATRIX, query)?;
    let by = by.unwrap_or_default();
    Ok(FleetRequest::Matrix { by, filter })
}

pub(crate) fn calendar(_: &str, query: &str) -> Result<FleetRequest, String> {
    let Parameters {
        filter,
        from,
        until,
        ..
    } = Parameters::read(CALENDAR, query)?;
    Ok(FleetRequest::Calendar {
        filter,
        from,
        until,
    })
}

pub(crate) fn acts(_: &str, query: &str) -> Result<FleetRequest, String> {
    let Parameters {
        filter, standing, ..
    } = Parameters::read(ACTS, query)?;
    let standing = standing.unwrap_or(false);
    Ok(FleetRequest::Acts { filter, standing })
}

pub(crate) fn watch(_: &str, query: &str) -> Result<FleetRequest, String> {
    let release = Parameters::read("version", query)?.version;
    Ok(FleetRequest::Watch { release })
}

pub(crate) fn decisions(_: &str, query: &str) -> Result<FleetRequest, String> {
    let Parameters { filter, before, .. } = Parameters::read(LOG, query)?;
    let limit = filter.limit;
    Ok(FleetRequest::Decisions { before, limit })
}

pub(crate) fn audit_log(_: &str, query: &str) -> Result<FleetRequest, String> {
    let Parameters {
        filter,
        since,
        until,
        after_entry,
        ..
    } = Parameters::read(AUDIT_LOG, query)?;
    if let (Some(since), Some(until)) = (since, until)
        && until <= since
    {
        return Err(format!(
            "until is {until}, and since is {since}; until must be later"
        ));
    }
    Ok(FleetRequest::AuditLog {
        after: after_entry.unwrap_or(0),
        since,
        until,
        limit: filter.limit,
    })
}

pub(crate) fn decision(number: &str, query: &str) -> Result<FleetRequest, String> {
    let cluster = Parameters::read("cluster", query)?.filter.cluster;
    let number = self::number("the decision", number, i64::MAX)?;
    Ok(FleetRequest::Decision { number, cluster })
}

// Each reads the body of a change that people make, or says in a sentence what is wrong.

pub(crate) fn pause(_: &str, body: &str, by: &Identity) -> Result<FleetRequest, String> {
    let body: PauseBody = body_of(body)?;
    Ok(FleetRequest::Pause {
        organisation: optional("organisation", body.organisation)?,
        sector: optional("sector", body.sector)?,
        actor: by.into(),
        why: text("why", body.why)?,
    })
}

pub(crate) fn resume(_: &str, body: &str, by: &Identity) -> Result<FleetRequest, String> {
    let body: ResumeBody = body_of(body)?;
    let why = reason(body.why)?;
    let (organisation, sector) = (body.organisation, body.sector);
    match (body.cluster, body.version) {
        (None, None) => Ok(FleetRequest::Resume {
            organisation: optional("organisation", organisation)?,
            sector: optional("sector", sector)?,
            actor: by.into(),
            why,
        }),
        (Some(cluster), to) if organisation.is_none() && sector.is_none() => {
            Ok(FleetRequest::Lift {
                cluster: text("cluster", cluster)?,
                version: to.as_deref().map(version).transpose()?,
                actor: by.into(),
                why,
            })
        }
        (Some(_), _) => Err("the body has a cluster and a place; give the cluster to let its cancelled upgrades be planned again, or the place to end its pause".to_owned()),
        (None, Some(_)) => Err("the body has a version without its cluster; add \"cluster\"".to_owned()),
    }
}

pub(crate) fn halts(_: &str, query: &str) -> Result<FleetRequest, String> {
    match form_urlencoded::parse(query.as_bytes()).next() {
        None => Ok(FleetRequest::Halts),
        Some((key, _)) => Err(no_parameter(&key, "")),
    }
}

pub(crate) fn halt(_: &str, body: &str, by: &Identity) -> Result<FleetRequest, String> {
    let body: HaltBody = body_of(body)?;
    let HaltScopeBody {
        from,
        platform,
        arch,
    } = body.scope;
    let scope = data::halt_scope(from.as_deref(), platform.as_deref(), arch.as_deref())?;
    Ok(FleetRequest::Halt {
        release: version(&body.release)?,
        scope,
        why: text("why", body.why)?,
        by: by.name.to_string(),
    })
}

pub(crate) fn undo_halt(halt: &str, body: &str, by: &Identity) -> Result<FleetRequest, String> {
    let NothingBody {} = body_of(body)?;
    let halt = halt.parse::<i64>().ok().filter(|number| *number > 0);
    let halt =
        halt.ok_or("the path names a halt by its number, as in /api/v1/rollouts/halts/7/undo")?;
    let by = by.name.to_string();
    Ok(FleetRequest::UndoHalt { halt, by })
}

pub(crate) fn approve(_: &str, body: &str, by: &Identity) -> Result<FleetRequest, String> {
    let body: ApproveBody = body_of(body)?;
    Ok(FleetRequest::Approve {
        organisation: text("organisation", body.organisation)?,
        cluster: optional("cluster", body.cluster)?,
        version: version(&body.version)?,
        actor: by.into(),
        why: reason(body.why)?,
    })
}

pub(crate) fn withdraw(_: &str, body: &str, by: &Identity) -> Result<FleetRequest, String> {
    let body: WithdrawBody = body_of(body)?;
    let why = text("why", body.why)?;
    let missing =
        |field: &str| format!("the body has no {field}; add it, to say what is withdrawn");
    let surplus = |field: &str, act: &str| {
        Err(format!(
            "the body has the field {field}, which is not part of an {act}; leave it out"
        ))
    };
    match &*body.act {
        "approval" if body.gate.is_some() => surplus("gate", &body.act),
        "approval" => {
            let organisation = body.organisation.ok_or_else(|| missing("organisation"))?;
            Ok(FleetRequest::WithdrawApproval {
                organisation: text("organisation", organisation)?,
                cluster: optional("cluster", body.cluster)?,
                version: version(&body.version.ok_or_else(|| missing("version"))?)?,
                actor: by.into(),
                why,
            })
        }
        "acknowledgement" if body.version.is_some() => surplus("version", &body.act),
        "acknowledgement" if body.organisation.is_some() => surplus("organisation", &body.act),
        "acknowledgement" => Ok(FleetRequest::WithdrawAcknowledgement {
            gate: text("gate", body.gate.ok_or_else(|| missing("gate"))?)?,
            cluster: text("cluster", body.cluster.ok_or_else(|| missing("cluster"))?)?,
            actor: by.into(),
            why,
        }),
        other => Err(format!(
            "act is {:?}; it must be approval or acknowledgement (a pause or a cancellation ends with /api/v1/fleet/resume)",
            shown(other)
        )),
    }
}

pub(crate) fn cancel(_: &str, body: &str, by: &Identity) -> Result<FleetRequest, String> {
    let body: CancelBody = body_of(body)?;
    let which = match (body.cluster, body.upgrade) {
        (Some(cluster), None) => UpgradeChoice::Of(text("cluster", cluster)?),
        (None, Some(upgrade)) if upgrade > 0 => UpgradeChoice::Number(upgrade),
        (None, Some(upgrade)) => {
            return Err(format!(
                "upgrade is {upgrade}; it must be the number of an upgrade, as /api/v1/fleet/upgrades has it"
            ));
        }
        _ => return Err("the body must have a cluster or an upgrade, and not both".to_owned()),
    };
    Ok(FleetRequest::Cancel {
        which,
        actor: by.into(),
        why: text("why", body.why)?,
    })
}

pub(crate) fn acknowledge(_: &str, body: &str, by: &Identity) -> Result<FleetRequest, String> {
    let body: AcknowledgeBody = body_of(body)?;
    Ok(FleetRequest::Acknowledge {
        gate: text("gate", body.gate)?,
        cluster: text("cluster", body.cluster)?,
        actor: by.into(),
        why: reason(body.why)?,
    })
}

pub(crate) fn forget(_: &str, body: &str, by: &Identity) -> Result<FleetRequest, String> {
    let body: ForgetBody = body_of(body)?;
    Ok(FleetRequest::Forget {
        cluster: text("cluster", body.cluster)?,
        actor: by.into(),
    })
}

pub(crate) fn revocations(_: &str, query: &str) -> Result<FleetRequest, String> {
    match form_urlencoded::parse(query.as_bytes()).next() {
        None => Ok(FleetRequest::Revocations),
        Some((key, _)) => Err(no_parameter(&key, "")),
    }
}

pub(crate) fn revoke(_: &str, body: &str, by: &Identity) -> Result<FleetRequest, String> {
    let body: RevokeBody = body_of(body)?;
    let which = match (body.serial, body.person) {
        (Some(serial), None) => RevokeWhich::Serial(text("serial", serial)?),
        (None, Some(person)) => RevokeWhich::Person(text("person", person)?),
        _ => return Err("name one token with serial, or a person with person".to_owned()),
    };
    Ok(FleetRequest::Revoke {
        which,
        why: text("why", body.why)?,
        by: by.name.to_string(),
    })
}

pub(crate) fn preflight(_: &str, body: &str, by: &Identity) -> Result<FleetRequest, String> {
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
        actor: by.into(),
    })
}

/// The list itself is read where it is recorded.
pub(crate) fn import(_: &str, body: &str, by: &Identity) -> Result<FleetRequest, String> {
    Ok(FleetRequest::Import {
        list: body.into(),
        actor: by.into(),
    })
}

/// The cluster's id or name in a path.
pub(crate) fn named(in_path: &str) -> Result<String, String> {
    let decoded = percent_decode_str(in_path)
        .decode_utf8()
        .map_err(|_| "the cluster's name is not UTF-8".to_owned())?;
    text("the cluster's name", decoded.into_owned())
}

/// How the answer is to be written, and the rest of the query. `usual` is what the `Accept` header says.
pub(super) fn form(
    query: &str,
    usual: FleetForm,
    has_markdown: bool,
) -> Result<(FleetForm, String), String> {
    let (mut output, mut width) = (None, None);
    let mut rest = form_urlencoded::Serializer::new(String::new());
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*key {
            "format" => once(&key, &mut output, value.into_owned())?,
            "width" => once(&key, &mut width, columns(&value)?)?,
            _ => drop(rest.append_pair(&key, &value)),
        }
    }
    let form = match (output.as_deref(), usual) {
        (Some("json"), _) | (None, FleetForm::Json) => FleetForm::Json,
        (Some("text"), _) | (None, FleetForm::Text { .. }) => FleetForm::Text { width },
        (Some("markdown"), _) if has_markdown => FleetForm::Markdown,
        (None, FleetForm::Markdown) => FleetForm::Markdown,
        (Some(other), _) => {
            let known = match has_markdown {
                true => "json, text or markdown",
                false => "json or text",
            };
            return Err(format!("format is {:?}; it must be {known}", shown(other)));
        }
    };
    Ok((form, rest.finish()))
}

fn columns(value: &str) -> Result<u16, String> {
    let read = value.parse().ok().filter(|width| WIDTHS.contains(width));
    let (least, most) = (WIDTHS.start(), WIDTHS.end());
    read.ok_or_else(|| {
        let value = shown(value);
        format!("width is {value:?}; it must be a number from {least} to {most}")
    })
}

/// What a cluster asks for its orders with.
pub(super) fn orders(query: &str) -> Result<(Nonce, OrdersUse), String> {
    let Parameters { nonce, dry_run, .. } = Parameters::read("nonce, dry-run", query)?;
    let purpose = match dry_run {
        Some(true) => OrdersUse::Look,
        Some(false) | None => OrdersUse::Act,
    };
    Ok((nonce.ok_or(NO_NONCE)?, purpose))
}

/// The nonce of a request for a stamp.
pub(super) fn nonce(query: &str) -> Result<Nonce, String> {
    let Parameters { nonce, .. } = Parameters::read("nonce", query)?;
    nonce.ok_or_else(|| NO_NONCE.to_owned())
}

/// Checks that a request has no parameters.
pub(crate) fn nothing(head: &Parts) -> OrRefusal<()> {
    nothing_left(head.uri.query().unwrap_or_default())
}

/// Checks that a body is an empty object.
pub(crate) fn empty_body(body: &str) -> Result<(), String> {
    let NothingBody {} = body_of(body)?;
    Ok(())
}

/// The same of what is left of a query.
pub(crate) fn nothing_left(query: &str) -> OrRefusal<()> {
    match query {
        "" => Ok(()),
        _ => Err(Refusal::invalid_params(
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
    dry_run: Option<bool>,
    standing: Option<bool>,
    by: Option<MatrixBy>,
    sort: Option<ClusterSort>,
    now: Option<Timestamp>,
    from: Option<Timestamp>,
    until: Option<Timestamp>,
    before: Option<i64>,
    since: Option<Timestamp>,
    after_entry: Option<i64>,
}

impl Parameters {
    /// Parses a query with these parameters (separated by commas), each at most once.
    fn read(known: &str, query: &str) -> Result<Self, String> {
        let mut parameters = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            if key.is_empty() || !known.split(", ").any(|name| name == key) {
                return Err(no_parameter(&key, known));
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
            "dry-run" => once(key, &mut self.dry_run, flag(key, &value)?),
            "standing" => once(key, &mut self.standing, flag(key, &value)?),
            "days" => once(key, &mut self.days, number(key, &value, MAX_FORECAST_DAYS)?),
            "search" => once(key, &mut filter.search, text(key, value.into())?),
            "silent-since" => once(key, &mut filter.silent_since, time(key, &value)?),
            "sort" => once(key, &mut self.sort, cluster_sort(&value)?),
            "by" => once(key, &mut self.by, matrix_by(&value)?),
            "now" => once(key, &mut self.now, time(key, &value)?),
            "from" => once(key, &mut self.from, time(key, &value)?),
            "until" => once(key, &mut self.until, time(key, &value)?),
            "before" => once(key, &mut self.before, number(key, &value, i64::MAX)?),
            "since" => once(key, &mut self.since, time(key, &value)?),
            "after-entry" => once(key, &mut self.after_entry, number(key, &value, i64::MAX)?),
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

fn no_parameter(key: &str, known: &str) -> String {
    if key == "now" {
        return NO_NOW.to_owned();
    }
    let known = known.split(", ").filter(|name| !name.is_empty());
    let known: Vec<&str> = known.chain(FORM).collect();
    let (key, known) = (shown(key), known.join(", "));
    format!("there is no parameter {key:?} here; there are: {known}")
}

fn matrix_by(value: &str) -> Result<MatrixBy, String> {
    MatrixBy::named(value).ok_or_else(|| {
        let there: Vec<&str> = MatrixBy::ALL.map(MatrixBy::name).into();
        let value = shown(value);
        format!("by is {value:?}; it must be one of {}", there.join(", "))
    })
}

fn cluster_sort(value: &str) -> Result<ClusterSort, String> {
    ClusterSort::named(value).ok_or_else(|| {
        let there: Vec<&str> = ClusterSort::ALL.map(ClusterSort::word).into();
        let value = shown(value);
        format!("sort is {value:?}; it must be one of {}", there.join(", "))
    })
}

fn time(key: &str, value: &str) -> Result<Timestamp, String> {
    parse_time(value).map_err(|problem| format!("{key}: {problem}"))
}

fn read_nonce(value: &str) -> Result<Nonce, String> {
    Nonce::new(value).ok_or_else(|| {
        "nonce must have 16 to 64 characters of base64url; make a new one up".to_owned()
    })
}

fn flag(key: &str, value: &str) -> Result<bool, String> {
    let read = value.parse();
    read.map_err(|_| format!("{key} must be true or false"))
}

fn cursor(value: &str) -> Result<Cursor, String> {
    cursor::read(value).ok_or_else(|| NO_CURSOR.to_owned())
}

/// Refuses a word that looks like a cursor and is none of ours: it can be read, and there is no such place.
pub(super) fn place(query: &str) -> OrRefusal<()> {
    let is_word = |text: &str| {
        let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        !text.is_empty() && text.bytes().all(inside)
    };
    let mut given = form_urlencoded::parse(query.as_bytes());
    match given.find(|(key, value)| key == "after" && is_word(value)) {
        Some((_, value)) if cursor::read(&value).is_none() => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            Err(Refusal::new(status, "unknown_cursor", NO_CURSOR))
        }
        _ => Ok(()),
    }
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

/// Why somebody acts, where nobody has to say.
fn reason(why: Option<String>) -> Result<String, String> {
    let why = optional("why", why)?;
    Ok(why.unwrap_or_else(|| "no reason was given".to_owned()))
}

fn optional(what: &str, value: Option<String>) -> Result<Option<String>, String> {
    value.map(|value| text(what, value)).transpose()
}

fn text(what: &str, value: String) -> Result<String, String> {
    let fits =
        (1..=MAX_TEXT).contains(&value.chars().count()) && !value.chars().any(char::is_control);
    match fits {
        true => Ok(value),
        false => Err(format!(
            "{what} is {:?}; it must have 1 to {MAX_TEXT} characters on one line",
            shown(&value)
        )),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}

fn body_of<T: DeserializeOwned>(body: &str) -> Result<T, String> {
    serde_json::from_str(body).map_err(|error| {
        let error = error.to_string();
        match error.starts_with("unknown field `by`") {
            true => "the body has the field by; leave it out: the name is the one of your token"
                .to_owned(),
            false => format!("the body is not right: {error}"),
        }
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a halt: an object")]
struct HaltBody {
    release: String,
    why: String,
    #[serde(default)]
    scope: HaltScopeBody,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a scope: an object")]
struct HaltScopeBody {
    from: Option<String>,
    platform: Option<String>,
    arch: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an empty object")]
struct NothingBody {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a pause: an object")]
struct PauseBody {
    organisation: Option<String>,
    sector: Option<String>,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "what to resume: an object")]
struct ResumeBody {
    organisation: Option<String>,
    sector: Option<String>,
    cluster: Option<String>,
    version: Option<String>,
    why: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "what to withdraw: an object")]
struct WithdrawBody {
    act: String,
    organisation: Option<String>,
    cluster: Option<String>,
    version: Option<String>,
    gate: Option<String>,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "what to cancel: an object")]
struct CancelBody {
    cluster: Option<String>,
    upgrade: Option<i64>,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an approval: an object")]
struct ApproveBody {
    organisation: String,
    cluster: Option<String>,
    version: String,
    why: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an acknowledgement: an object")]
struct AcknowledgeBody {
    gate: String,
    cluster: String,
    why: Option<String>,
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
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "whom to forget: an object")]
struct ForgetBody {
    cluster: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "tokens to revoke: an object")]
struct RevokeBody {
    serial: Option<String>,
    person: Option<String>,
    why: String,
}

#[cfg(test)]
mod tests {
    use towpath_core::access::Source;

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
            ..Filter::default()
        };
        assert_eq!(status("", query), Ok(FleetRequest::Status(filter.clone())));
        assert_eq!(holds("", ""), Ok(FleetRequest::Holds(Filter::default())));
        let forecast = super::forecast("", &format!("days=30&{query}"));
        assert_eq!(
            forecast,
            Ok(FleetRequest::Forecast {
                days: 30,
                from: None,
                filter
            })
        );
        let expected = FleetRequest::Why {
            cluster: "a/b+c".into(),
            version: Some("4.16.1".parse().unwrap()),
        };
        assert_eq!(super::why("a%2Fb+c", "version=4.16.1"), Ok(expected));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        type Reader = fn(&str, &str) -> Result<FleetRequest, String>;
        let cases: [(Reader, &str, &str); 12] = [
            (
                status,
                "organisation=a",
                "there is no parameter \"organisation\" here; there are: org,",
            ),
            (status, "days=3", "there is no parameter \"days\""),
            (status, "now=2026-11-18T12:00Z", "it takes no now"),
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
    fn the_form_is_read_apart_from_the_question() {
        let text = |width| FleetForm::Text { width };
        for (query, usual, form, rest) in [
            ("", FleetForm::Json, FleetForm::Json, ""),
            (
                "format=text&org=a%20b",
                FleetForm::Json,
                text(None),
                "org=a+b",
            ),
            ("width=80", text(None), text(Some(80)), ""),
            ("format=json&width=80", text(None), FleetForm::Json, ""),
            ("format=markdown", FleetForm::Json, FleetForm::Markdown, ""),
        ] {
            let read = super::form(query, usual, true);
            assert_eq!(read, Ok((form, rest.to_owned())), "{query}");
        }
        for (query, problem) in [
            ("format=markdown", "it must be json or text"),
            ("format=text&format=text", "parameter format stands twice"),
            ("width=3", "a number from 20 to 1000"),
        ] {
            let error = super::form(query, FleetForm::Json, false).unwrap_err();
            assert!(error.contains(problem), "{error} / {problem}");
        }
    }

    #[test]
    fn bodies() {
        let ada = &Identity {
            name: "ada".into(),
            source: Source::Store,
        };
        let paused = pause("", r#"{"organisation": "o", "why": "etcd"}"#, ada);
        let (organisation, actor, why) = (Some("o".into()), ada.into(), "etcd".into());
        assert_eq!(
            paused,
            Ok(FleetRequest::Pause {
                organisation,
                sector: None,
                actor,
                why
            })
        );
        assert_eq!(
            resume("", "{}", ada),
            Ok(FleetRequest::Resume {
                organisation: None,
                sector: None,
                actor: ada.into(),
                why: "no reason was given".into(),
            })
        );
        assert_eq!(
            resume(
                "",
                r#"{"cluster": "c", "version": "4.16.1", "why": "ok"}"#,
                ada
            ),
            Ok(FleetRequest::Lift {
                cluster: "c".into(),
                version: Some("4.16.1".parse().unwrap()),
                actor: ada.into(),
                why: "ok".into(),
            })
        );
        assert_eq!(
            cancel("", r#"{"upgrade": 7, "why": "INC-1"}"#, ada),
            Ok(FleetRequest::Cancel {
                which: UpgradeChoice::Number(7),
                actor: ada.into(),
                why: "INC-1".into(),
            })
        );
        assert_eq!(
            withdraw(
                "",
                r#"{"act": "acknowledgement", "gate": "g", "cluster": "c", "why": "INC-1"}"#,
                ada
            ),
            Ok(FleetRequest::WithdrawAcknowledgement {
                gate: "g".into(),
                cluster: "c".into(),
                actor: ada.into(),
                why: "INC-1".into(),
            })
        );
        type BodyReader = fn(&str, &str, &Identity) -> Result<FleetRequest, String>;
        let cases: [(BodyReader, &str, &str); 16] = [
            (pause, "{}", "missing field `why`"),
            (pause, r#"{"why": "", "sector": null}"#, "why is \"\""),
            (
                pause,
                r#"{"by": "me", "why": "etcd"}"#,
                "the body has the field by; leave it out: the name is the one of your token",
            ),
            (
                resume,
                r#"{"organization": "o"}"#,
                "unknown field `organization`",
            ),
            (
                resume,
                r#"{"version": "4.16.1"}"#,
                "a version without its cluster",
            ),
            (
                resume,
                r#"{"cluster": "c", "sector": "s"}"#,
                "a cluster and a place",
            ),
            (
                approve,
                r#"{"organisation": "o", "version": "4.16"}"#,
                "\"4.16\" is not a version",
            ),
            (approve, "[]", "an approval: an object"),
            (approve, "{", "EOF"),
            (
                withdraw,
                r#"{"act": "approval", "organisation": "o", "version": "4.16.1"}"#,
                "missing field `why`",
            ),
            (
                withdraw,
                r#"{"act": "approval", "version": "4.16.1", "why": "w"}"#,
                "no organisation; add it",
            ),
            (
                withdraw,
                r#"{"act": "approval", "gate": "g", "why": "w"}"#,
                "the field gate, which is not part of an approval",
            ),
            (
                withdraw,
                r#"{"act": "acknowledgement", "gate": "g", "why": "w"}"#,
                "no cluster; add it",
            ),
            (
                withdraw,
                r#"{"act": "pause", "why": "w"}"#,
                "ends with /api/v1/fleet/resume",
            ),
            (
                cancel,
                r#"{"why": "w"}"#,
                "a cluster or an upgrade, and not both",
            ),
            (cancel, r#"{"upgrade": 0, "why": "w"}"#, "upgrade is 0"),
        ];
        for (read, body, expected) in cases {
            let error = read("", body, ada).unwrap_err();
            assert!(error.contains(expected), "{error} / {expected}");
        }
    }
}

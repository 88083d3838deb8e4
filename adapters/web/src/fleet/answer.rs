//! Answers one request to the fleet API.

use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, Response, StatusCode, header};
use hyper::body::Incoming;
use jiff::Timestamp;
use tokio::sync::OwnedSemaphorePermit;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{Actor, Authority};
use towpath_formats::agent::orders;
use towpath_formats::fleet::report::{self, Report};
use towpath_formats::fleet::token::{Enrolment, Grant};
use towpath_formats::graph::explain::Form;

use super::tokens::{Holder, Purpose, Speaker, Token, TokenProblem};
use super::{Fleet, FleetAnswer, FleetForm, FleetRequest, Reads, Sight, TokenKeys, query, receive};
use crate::body::{self, AnswerBody};
use crate::refusal::{OrRefusal, Refusal, whole_seconds};
use crate::routes::{Cost, Handler, Route, RouteMatch, Who};
use crate::workers::Surroundings;
use crate::{Service, explain};

/// How long the fleet may take. Clients give up earlier.
const DESK_TIMEOUT: Duration = Duration::from_secs(60);
/// The most fleet answers in progress at once. A page has a few megabytes at most.
pub(crate) const MAX_ANSWERS: usize = 64;
/// The error kind of a report that contradicts its cluster's binding.
const NOT_AS_BOUND: &str = "not_as_bound";
const NO_FLEET: &str = "there is no fleet here; start the service with --fleet";
const NO_KEYS: &str =
    "no key is configured to check tokens with; start the service with --token-keys";
const UNNAMED: &str = "this takes an administrator's token with a person's name; make one with `towpath fleet token --admin --name NAME`";
const NO_TOKEN: &str = "send Authorization: Bearer and a token";

/// Passes a question, a change or a report to the fleet.
pub(crate) async fn answer(
    service: &Service,
    head: &Parts,
    found: RouteMatch<'_>,
    incoming: &mut Incoming,
    around: &Surroundings,
) -> OrRefusal<Response<AnswerBody>> {
    let no_fleet = || Refusal::new(StatusCode::NOT_FOUND, "no_fleet", NO_FLEET);
    let fleet = service.fleet.load_full().ok_or_else(no_fleet)?;
    let (route, headers, now) = (found.route, &head.headers, service.now());
    let (query, cluster) = (head.uri.query().unwrap_or_default(), found.named());
    let (mut place, mut seal, mut form) = (None, None, FleetForm::Json);
    let formed = || {
        let usual = match explain::accepted(head) {
            Form::Text => FleetForm::Text { width: None },
            Form::Json => FleetForm::Json,
        };
        query::form(query, usual, route.label == "history").map_err(Refusal::invalid_params)
    };
    // What may be 64 KiB of JSON is no reading for a thread that answers graphs.
    let request: Box<dyn FnOnce() -> OrRefusal<FleetRequest> + Send> = match route.handler {
        Handler::Read(read) => {
            permitted(&fleet, route.who, headers, now)?;
            place = Some(place_for_an_answer(service)?);
            let (asked, query) = formed()?;
            form = asked;
            let request = read(cluster, &query).map_err(Refusal::invalid_params)?;
            Box::new(|| Ok(request))
        }
        Handler::Signed(read) => {
            permitted(&fleet, route.who, headers, now)?;
            let (asked, rest) = formed()?;
            form = asked;
            let text = received(&rest, head, incoming, around).await?;
            let named = cluster.to_owned();
            let person = person(&fleet, route, headers, now)?;
            Box::new(move || read(&named, &text, person).map_err(Refusal::invalid_body))
        }
        Handler::Orders => {
            let (id, speaker) = speaking(fleet.keys.as_ref(), cluster, headers, now)?;
            let (nonce, purpose) = query::orders(query).map_err(Refusal::invalid_params)?;
            place = Some(place_for_an_answer(service)?);
            let (cluster, token) = (id.clone(), speaker.token);
            seal = Some(move |text: &str| orders::seal(&token, &id, &nonce, text));
            Box::new(move || Ok(FleetRequest::Orders { cluster, purpose }))
        }
        _ => {
            let (id, speaker) = speaking(fleet.keys.as_ref(), cluster, headers, now)?;
            service.count_report(&id).map_err(too_often)?;
            let text = received(query, head, incoming, around).await?;
            let received = service.now();
            Box::new(move || reported(id, speaker.enrolment, text, received))
        }
    };
    // Nor is the desk any work for it.
    let working = around.runtime.spawn(async move {
        let answer = tokio::time::timeout(DESK_TIMEOUT, fleet.desk.answer(request()?, form)).await;
        let late = "the fleet's state could not be had in time; try again";
        OrRefusal::Ok(answer.unwrap_or_else(|_| FleetAnswer::Unavailable(late.to_owned())))
    });
    match working.await {
        // Its place is free again when its last byte is written, or the client has gone.
        Ok(answer) => {
            let answer = match (answer?, seal) {
                (FleetAnswer::Json(text), Some(seal)) => FleetAnswer::Json(seal(&text)),
                (answer, _) => answer,
            };
            Ok(answered(route, answer)?.map(|body| body.holding(place)))
        }
        Err(error) => {
            let endpoint = route.label;
            tracing::error!(%error, endpoint, "a request to the fleet could not be answered");
            Err(Refusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "failed_fleet",
                "the answer could not be prepared",
            ))
        }
    }
}

fn place_for_an_answer(service: &Service) -> OrRefusal<OwnedSemaphorePermit> {
    let places = service.fleet_answers.clone();
    places.try_acquire_owned().map_err(|_| {
        let sentence =
            "too many answers about the fleet are being written; try again in a few seconds";
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", sentence)
    })
}

/// The body of a request. What is left of its query must be nothing.
async fn received(
    query: &str,
    head: &Parts,
    incoming: &mut Incoming,
    around: &Surroundings,
) -> OrRefusal<String> {
    query::nothing_left(query)?;
    receive::text(&head.headers, incoming, around.body_timeout).await
}

fn reported(
    cluster: ClusterId,
    enrolment: Option<Enrolment>,
    text: String,
    received: Timestamp,
) -> OrRefusal<FleetRequest> {
    let mut report = Box::new(report::read(text.as_bytes()).map_err(Refusal::invalid_body)?);
    let authority = match enrolment {
        Some(enrolment) => as_enrolled(&mut report, enrolment)?,
        None => Authority::Claim,
    };
    Ok(FleetRequest::Report {
        cluster,
        authority,
        report,
        body: text.into(),
        received,
    })
}

/// Checks that a report names the organisation and name of its token.
fn as_enrolled(report: &mut Report, enrolment: Enrolment) -> OrRefusal<Authority> {
    let other_name = report
        .name
        .as_deref()
        .is_some_and(|name| name != enrolment.name);
    if *report.organisation != *enrolment.organisation || other_name {
        let Enrolment {
            organisation, name, ..
        } = enrolment;
        let sentence = format!(
            "the token is for {name:?} of organisation {organisation:?}, and the report says something else; report that, or make another token with `towpath fleet token`"
        );
        return Err(Refusal::new(StatusCode::FORBIDDEN, NOT_AS_BOUND, sentence));
    }
    report.name = Some(enrolment.name.into());
    Ok(Authority::Token)
}

/// Checks that the caller may see this cluster: readers of the fleet and the cluster itself may. Otherwise it refuses.
pub(crate) fn may_ask_about(
    service: &Service,
    headers: &HeaderMap,
    id: &ClusterId,
) -> OrRefusal<()> {
    let Some(fleet) = service.fleet.load_full() else {
        return Ok(());
    };
    let is_its_own = |keys: &TokenKeys| {
        bearer(headers).is_some_and(|token| keys.speaker(&token, id, service.now()).is_ok())
    };
    match fleet.keys.as_ref().is_some_and(is_its_own) {
        true => Ok(()),
        false => permitted(&fleet, Who::Reader, headers, service.now()),
    }
}

/// The same check without a refusal: other callers get an answer without the cluster's data.
pub(crate) fn sight_of(service: &Service, headers: &HeaderMap, id: &ClusterId) -> Sight {
    may_ask_about(service, headers, id).map_or(Sight::Nameless, |()| Sight::Whole)
}

/// How much of the whole fleet the caller sees.
pub(crate) fn sight(service: &Service, headers: &HeaderMap) -> Sight {
    match service.fleet.load_full() {
        Some(fleet) => permitted(&fleet, Who::Reader, headers, service.now())
            .map_or(Sight::Nameless, |()| Sight::Whole),
        None => Sight::Whole,
    }
}

/// Checks that the request has the token that the route needs.
fn permitted(fleet: &Fleet, who: Who, headers: &HeaderMap, now: Timestamp) -> OrRefusal<()> {
    let purpose = match who {
        Who::Reader if fleet.reads == Reads::Open || fleet.keys.is_none() => return Ok(()),
        Who::Reader => Purpose::Read,
        _ => Purpose::Admin,
    };
    check_token(fleet.keys.as_ref(), purpose, headers, now)
}

/// Whose administrator's token it is. What takes two people needs a name; a token without one acts as "administrator".
fn person(fleet: &Fleet, route: &Route, headers: &HeaderMap, now: Timestamp) -> OrRefusal<Actor> {
    let (keys, token) = (some_keys(fleet.keys.as_ref())?, token(headers)?);
    let name = keys.person(&token, now).map_err(not_taken)?;
    let name = match name {
        None if matches!(route.label, "haltRollout" | "undoHalt") => {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "unnamed_token",
                UNNAMED,
            ));
        }
        name => name.unwrap_or_else(|| "administrator".to_owned()),
    };
    Ok(Actor {
        name: name.into(),
        known_by: "token".into(),
    })
}

/// Whether a request has a token for this purpose.
pub(crate) fn check_token(
    keys: Option<&TokenKeys>,
    purpose: Purpose,
    headers: &HeaderMap,
    now: Timestamp,
) -> OrRefusal<()> {
    let (keys, token) = (some_keys(keys)?, token(headers)?);
    keys.permits(&token, purpose, now).map_err(not_taken)
}

/// The cluster in the path, if the caller has its token.
pub(super) fn speaking(
    keys: Option<&TokenKeys>,
    cluster: &str,
    headers: &HeaderMap,
    now: Timestamp,
) -> OrRefusal<(ClusterId, Speaker)> {
    let keys = some_keys(keys)?;
    let token = token(headers)?;
    let name = query::named(cluster).map_err(Refusal::invalid_params)?;
    let id = ClusterId::new(&name)
        .ok_or_else(|| Refusal::invalid_params("the cluster's id is too long".to_owned()))?;
    let speaker = keys.speaker(&token, &id, now).map_err(not_taken)?;
    Ok((id, speaker))
}

fn some_keys(keys: Option<&TokenKeys>) -> OrRefusal<&TokenKeys> {
    keys.ok_or_else(|| Refusal::new(StatusCode::FORBIDDEN, "no_token_key", NO_KEYS))
}

fn token(headers: &HeaderMap) -> OrRefusal<Token> {
    bearer(headers).ok_or_else(|| Refusal::new(StatusCode::UNAUTHORIZED, "no_token", NO_TOKEN))
}

/// The token of a request, if one of our keys made it and it has not ended.
pub(crate) fn genuine_token(service: &Service, headers: &HeaderMap) -> Option<String> {
    let Token::Second(token) = bearer(headers)? else {
        return None;
    };
    let keys = service.token_keys()?;
    keys.has_made(&token, service.now())
        .then(|| token.text().to_owned())
}

/// The cluster that a token claims to be of.
pub(crate) enum ClaimedCluster {
    Id(String),
    /// A token of the first version does not say.
    Unsaid,
}

/// The cluster that the token of a request claims, valid or not; none if it is no cluster's.
pub(crate) fn claimed_cluster(headers: &HeaderMap) -> Option<ClaimedCluster> {
    match bearer(headers)? {
        Token::Second(token) => match &token.claims().grant {
            Grant::Cluster(enrolment) => Some(ClaimedCluster::Id(enrolment.id.as_str().to_owned())),
            Grant::Admin | Grant::NamedAdmin(_) | Grant::Reload | Grant::Read => None,
        },
        Token::First { holder, .. } => {
            (holder == Holder::Cluster).then_some(ClaimedCluster::Unsaid)
        }
        Token::Malformed(_) => None,
    }
}

/// The token of a request, valid or not.
fn bearer(headers: &HeaderMap) -> Option<Token> {
    let credentials = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let bearer = credentials
        .and_then(|text| text.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let token = bearer.map(|(_, token)| token.trim());
    let token = token.filter(|token| !token.is_empty());
    token.map(|token| Token::parse(token).unwrap_or_else(Token::foreign))
}

fn not_taken(problem: TokenProblem) -> Refusal {
    Refusal::new(problem.status(), problem.kind(), problem.to_string())
}

/// The refusal of a cluster that reports too often.
fn too_often(wait: Duration) -> Refusal {
    let seconds = whole_seconds(wait);
    let sentence = format!("this cluster reports too often; send the next report in {seconds} s");
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too_many_reports", sentence).with(seconds.into())
}

fn answered(route: &Route, answer: FleetAnswer) -> OrRefusal<Response<AnswerBody>> {
    Err(match answer {
        FleetAnswer::Json(text) => {
            let status = match route.cost() {
                Cost::Report => StatusCode::ACCEPTED,
                _ => StatusCode::OK,
            };
            return Ok(body::json(status, text));
        }
        FleetAnswer::Accepted(text) => return Ok(body::json(StatusCode::ACCEPTED, text)),
        FleetAnswer::Text(text) => return Ok(explain::plain(text)),
        FleetAnswer::NotFound(sentence) => {
            Refusal::new(StatusCode::NOT_FOUND, "not_found", sentence)
        }
        FleetAnswer::Refused { kind, sentence } => {
            Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, kind, sentence)
        }
        FleetAnswer::Forbidden { kind, sentence } => {
            Refusal::new(StatusCode::FORBIDDEN, kind, sentence)
        }
        FleetAnswer::Unavailable(sentence) => {
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", sentence)
        }
    })
}

//! One request to the fleet, from its head to its answer.

use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use hyper::body::Incoming;
use jiff::Timestamp;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::Authority;
use towpath_formats::report::{self, Report};
use towpath_formats::token::Enrolment;

use super::routes::{Access, Route};
use super::tokens::{Purpose, Speaker, Token, TokenProblem};
use super::{
    Fleet, FleetAnswer, FleetRequest, Reads, Sight, TokenKeys, openapi, query, receive, routes,
    stamp,
};
use crate::Service;
use crate::body::{self, AnswerBody};
use crate::workers::Surroundings;

/// How long a desk may take; a client has given up before.
const DESK_TIMEOUT: Duration = Duration::from_secs(60);
/// So many answers about the fleet are made or written at once; a page of one has some megabytes at most.
pub(crate) const MAX_ANSWERS: usize = 64;
/// When a client may try again, in seconds.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");
/// The kind of a report that says something else than its cluster is bound to.
const NOT_AS_BOUND: &str = "not_as_bound";
const NO_FLEET: &str = "there is no fleet here; start the service with --fleet";
const NO_KEYS: &str =
    "no key is configured to check tokens with; start the service with --token-keys";
const NO_TOKEN: &str = "send Authorization: Bearer and a token";

/// An answer that is not the desk's.
pub(super) struct Refusal {
    status: StatusCode,
    kind: &'static str,
    sentence: String,
    retry_after: HeaderValue,
}

pub(super) type Refused<T> = Result<T, Refusal>;

/// Answers a request whose path begins with [`routes::PREFIX`].
pub(crate) async fn answer(
    service: &Service,
    request: &Parts,
    mut incoming: Incoming,
    around: &Surroundings,
) -> Response<AnswerBody> {
    let Some((route, cluster)) = routes::find(request.uri.path()) else {
        let sentence = "there is nothing here; /api/v1/openapi.json lists what there is";
        return refused(Refusal::new(
            StatusCode::NOT_FOUND,
            "does_not_exist",
            sentence,
        ));
    };
    let response =
        match answer_route(service, request, &mut incoming, around, (route, cluster)).await {
            Ok(response) => response,
            Err(refusal) => {
                let has_time = refusal.status != StatusCode::REQUEST_TIMEOUT;
                if has_time && !matches!(request.method, Method::GET | Method::HEAD) {
                    receive::discard(&request.headers, &mut incoming).await;
                }
                refused(refusal)
            }
        };
    if route == Route::Report {
        service.metrics.reports.count(response.status());
    }
    allowing(route, response)
}

/// Whether whoever asks may know what the fleet knows of this cluster: who may look at the fleet, and the cluster itself. Else the
/// answer that says why not.
pub(crate) fn may_ask_about(
    service: &Service,
    headers: &HeaderMap,
    id: &ClusterId,
) -> Result<(), Box<Response<AnswerBody>>> {
    let Some(fleet) = service.fleet.load_full() else {
        return Ok(());
    };
    let is_its_own = |keys: &TokenKeys| {
        bearer(headers).is_some_and(|token| keys.speaker(&token, id, service.now()).is_ok())
    };
    match fleet.keys.as_ref().is_some_and(is_its_own) {
        true => Ok(()),
        false => permitted(&fleet, Route::Why, "", headers, service.now())
            .map(drop)
            .map_err(|refusal| Box::new(refused(refusal))),
    }
}

/// The same where nobody is turned away: who may not know is answered without.
pub(crate) fn sight_of(service: &Service, headers: &HeaderMap, id: &ClusterId) -> Sight {
    may_ask_about(service, headers, id).map_or(Sight::Nameless, |()| Sight::Whole)
}

/// What whoever asks is shown of the fleet as a whole.
pub(crate) fn sight(service: &Service, headers: &HeaderMap) -> Sight {
    match service.fleet.load_full() {
        Some(fleet) => permitted(&fleet, Route::Status, "", headers, service.now())
            .map_or(Sight::Nameless, |_| Sight::Whole),
        None => Sight::Whole,
    }
}

async fn answer_route(
    service: &Service,
    request: &Parts,
    incoming: &mut Incoming,
    around: &Surroundings,
    (route, cluster): (Route, &str),
) -> Refused<Response<AnswerBody>> {
    if !route.allows(&request.method) {
        let sentence = format!("use {}", route.allowed().replace(", ", " or "));
        return Err(Refusal::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            sentence,
        ));
    }
    if route == Route::OpenApi {
        return Ok(body::json(StatusCode::OK, openapi::TEXT.to_owned()));
    }
    if route == Route::Stamp {
        let keys = service.token_keys();
        let (cluster, speaker) = speaking(keys.as_ref(), cluster, &request.headers, service.now())?;
        let nonce =
            query::nonce(request.uri.query().unwrap_or_default()).map_err(invalid_params)?;
        return stamp::answer(service, &cluster, &speaker, &nonce)
            .map(|text| body::json(StatusCode::OK, text));
    }
    let no_fleet = || Refusal::new(StatusCode::NOT_FOUND, "no_fleet", NO_FLEET);
    let fleet = service.fleet.load_full().ok_or_else(no_fleet)?;
    let asked_by = permitted(&fleet, route, cluster, &request.headers, service.now())?;
    if let (Route::Report, Some((cluster, _))) = (route, &asked_by) {
        service.count_report(cluster).map_err(Refusal::too_often)?;
    }
    let place = match route.is_write() {
        true => None,
        false => Some(service.fleet_answers.clone().try_acquire_owned().map_err(|_| {
            let sentence = "too many answers about the fleet are being written; try again in a few seconds";
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", sentence)
        })?),
    };
    let query = request.uri.query().unwrap_or_default();
    let asked = match route.is_write() {
        false => Asked::Whole(query::question(route, cluster, query).map_err(invalid_params)?),
        true => {
            query::nothing(query).map_err(invalid_params)?;
            let text = receive::text(&request.headers, incoming, around.body_timeout).await;
            let text =
                text.map_err(|why| Refusal::new(why.status(), why.kind(), why.sentence()))?;
            Asked::Sent {
                route,
                cluster: asked_by,
                text,
                received: service.now(),
            }
        }
    };
    // The desk, and the reading of what may be 64 KiB of JSON, are no work for a thread that answers graphs.
    let working = around.runtime.spawn(async move {
        let request = asked.read()?;
        match tokio::time::timeout(DESK_TIMEOUT, fleet.desk.answer(request)).await {
            Ok(answer) => Ok(answer),
            Err(_) => Ok(FleetAnswer::Unavailable(
                "the fleet's state could not be had in time; try again".to_owned(),
            )),
        }
    });
    match working.await {
        // Its place is free again when its last byte is written, or the client has gone.
        Ok(answer) => answer.map(|answer| answered(route, answer).map(|body| body.holding(place))),
        Err(error) => {
            tracing::error!(%error, ?route, "a request to the fleet could not be answered");
            Err(Refusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "failed_fleet",
                "the answer could not be prepared",
            ))
        }
    }
}

/// What is asked for, as far as it has been read.
enum Asked {
    Whole(FleetRequest),
    Sent {
        route: Route,
        cluster: Option<(ClusterId, Option<Enrolment>)>,
        text: String,
        received: Timestamp,
    },
}

impl Asked {
    fn read(self) -> Refused<FleetRequest> {
        let invalid =
            |sentence: String| Refusal::new(StatusCode::BAD_REQUEST, "invalid_body", sentence);
        match self {
            Self::Whole(request) => Ok(request),
            Self::Sent {
                cluster: Some((cluster, enrolment)),
                text,
                received,
                ..
            } => {
                let mut report = Box::new(report::read(text.as_bytes()).map_err(invalid)?);
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
            Self::Sent {
                route,
                cluster: None,
                text,
                ..
            } => query::change(route, &text).map_err(invalid),
        }
    }
}

/// A report is for the organisation and name that its token was made for. What it says itself must be the same.
fn as_enrolled(report: &mut Report, enrolment: Enrolment) -> Refused<Authority> {
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

/// Checks the token that a route needs. The cluster, if it is one that speaks for itself, and who it was enrolled as.
fn permitted(
    fleet: &Fleet,
    route: Route,
    cluster: &str,
    headers: &HeaderMap,
    now: Timestamp,
) -> Refused<Option<(ClusterId, Option<Enrolment>)>> {
    match route.access() {
        Access::Read if fleet.reads == Reads::Open || fleet.keys.is_none() => Ok(None),
        Access::Open => Ok(None),
        Access::Read | Access::Admin => {
            let keys = some_keys(fleet.keys.as_ref())?;
            let purpose = if route.access() == Access::Read {
                Purpose::Read
            } else {
                Purpose::Admin
            };
            keys.permits(&token(headers)?, purpose, now)
                .map(|()| None)
                .map_err(not_taken)
        }
        Access::Cluster => speaking(fleet.keys.as_ref(), cluster, headers, now)
            .map(|(id, speaker)| Some((id, speaker.enrolment))),
    }
}

/// The cluster that a path names, if whoever asks has its token.
fn speaking(
    keys: Option<&TokenKeys>,
    cluster: &str,
    headers: &HeaderMap,
    now: Timestamp,
) -> Refused<(ClusterId, Speaker)> {
    let keys = some_keys(keys)?;
    let token = token(headers)?;
    let name = query::named(cluster).map_err(invalid_params)?;
    let id = ClusterId::new(&name)
        .ok_or_else(|| invalid_params("the cluster's id is too long".to_owned()))?;
    let speaker = keys.speaker(&token, &id, now).map_err(not_taken)?;
    Ok((id, speaker))
}

fn some_keys(keys: Option<&TokenKeys>) -> Refused<&TokenKeys> {
    keys.ok_or_else(|| Refusal::new(StatusCode::FORBIDDEN, "no_token_key", NO_KEYS))
}

fn token(headers: &HeaderMap) -> Refused<Token> {
    bearer(headers).ok_or_else(|| Refusal::new(StatusCode::UNAUTHORIZED, "no_token", NO_TOKEN))
}

/// The token that a request brings, ours or not.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<Token> {
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

fn invalid_params(sentence: String) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, "invalid_params", sentence)
}

impl Refusal {
    pub(super) fn new(status: StatusCode, kind: &'static str, sentence: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            sentence: sentence.into(),
            retry_after: RETRY_AFTER,
        }
    }

    /// A cluster reports more often than any agent does.
    fn too_often(wait: Duration) -> Self {
        // Rounded up: who comes back early is refused again.
        let seconds = wait.as_millis().div_ceil(1_000);
        let sentence =
            format!("this cluster reports too often; send the next report in {seconds} s");
        let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_reports", sentence);
        let retry_after = HeaderValue::from_str(&seconds.to_string()).unwrap_or(RETRY_AFTER);
        Self {
            retry_after,
            ..refusal
        }
    }
}

fn answered(route: Route, answer: FleetAnswer) -> Response<AnswerBody> {
    let refusal = match answer {
        FleetAnswer::Json(text) => {
            let status = if route == Route::Report {
                StatusCode::ACCEPTED
            } else {
                StatusCode::OK
            };
            return body::json(status, text);
        }
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
    };
    refused(refusal)
}

fn refused(refusal: Refusal) -> Response<AnswerBody> {
    let mut response = body::error(refusal.status, refusal.kind, &refusal.sentence);
    let headers = response.headers_mut();
    match refusal.status {
        StatusCode::UNAUTHORIZED => {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"towpath\""),
            );
        }
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
            headers.insert(header::RETRY_AFTER, refusal.retry_after);
        }
        // What is left of the body would be taken for the next request.
        StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE => {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    response
}

fn allowing(route: Route, mut response: Response<AnswerBody>) -> Response<AnswerBody> {
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        response
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static(route.allowed()));
    }
    response
}

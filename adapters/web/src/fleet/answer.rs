//! Answers one request to the fleet API.

use std::time::Duration;

use http::request::Parts;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use jiff::Timestamp;
use tokio::sync::OwnedSemaphorePermit;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::Authority;
use towpath_formats::agent::orders;
use towpath_formats::fleet::report::{self, Report};
use towpath_formats::fleet::token::Enrolment;
use towpath_formats::graph::explain::Form;

use super::{FleetAnswer, FleetForm, FleetRequest, query, receive};
use crate::access::{self, Admitted};
use crate::body::{self, AnswerBody};
use crate::refusal::{OrRefusal, Refusal, whole_seconds};
use crate::routes::{Cost, Handler, Route, RouteMatch};
use crate::workers::Surroundings;
use crate::{Service, explain};

/// How long the fleet may take. Clients give up earlier.
const DESK_TIMEOUT: Duration = Duration::from_secs(60);
/// The most fleet answers in progress at once. A page has a few megabytes at most.
pub(crate) const MAX_ANSWERS: usize = 64;
/// The error kind of a report that contradicts its cluster's binding.
const NOT_AS_BOUND: &str = "not_as_bound";
const NO_FLEET: &str = "there is no fleet here; start the service with --fleet";
/// Passes a question, a change or a report to the fleet.
pub(crate) async fn answer(
    service: &Service,
    head: &Parts,
    found: RouteMatch<'_>,
    admitted: Option<Admitted>,
    incoming: &mut Incoming,
    around: &Surroundings,
) -> OrRefusal<Response<AnswerBody>> {
    let fleet = service.fleet.load_full().ok_or_else(no_fleet)?;
    let (route, headers) = (found.route, &head.headers);
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
            place = Some(place_for_an_answer(service)?);
            let (asked, query) = formed()?;
            form = asked;
            query::place(&query)?;
            let request = read(cluster, &query).map_err(Refusal::invalid_params)?;
            Box::new(|| Ok(request))
        }
        Handler::Change(read) => {
            let identity = admitted.as_ref().and_then(|one| one.identity.clone());
            let identity = identity.ok_or_else(nobody)?;
            let (asked, rest) = formed()?;
            form = asked;
            let text = received(&rest, head, incoming, around).await?;
            let named = cluster.to_owned();
            Box::new(move || read(&named, &text, &identity).map_err(Refusal::invalid_body))
        }
        Handler::Orders => {
            let (id, speaker) = access::speaking(service, cluster, headers)?;
            let (nonce, purpose) = query::orders(query).map_err(Refusal::invalid_params)?;
            place = Some(place_for_an_answer(service)?);
            let (cluster, token) = (id.clone(), speaker.token);
            seal = Some(move |text: &str| orders::seal(&token, &id, &nonce, text));
            Box::new(move || Ok(FleetRequest::Orders { cluster, purpose }))
        }
        _ => {
            let (id, speaker) = access::speaking(service, cluster, headers)?;
            service.count_report(&id).map_err(too_often)?;
            let text = received(query, head, incoming, around).await?;
            let received = service.now();
            Box::new(move || reported(id, speaker.enrolment(), text, received))
        }
    };
    let caller = admitted.unwrap_or_else(Admitted::cluster);
    // Nor is the desk any work for it.
    let working = around.runtime.spawn(async move {
        let request = request()?.within(&caller);
        let who = caller.identity.as_ref();
        let request = request.map_err(|refusal| access::forbidden(&refusal, who))?;
        let answer = fleet.desk.answer(request, caller, form);
        let answer = tokio::time::timeout(DESK_TIMEOUT, answer).await;
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

/// The refusal where there is no fleet.
pub(crate) fn no_fleet() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "no_fleet", NO_FLEET)
}

/// Every change has somebody who answers for it.
fn nobody() -> Refusal {
    let sentence =
        "this takes somebody with a name; send Authorization: Bearer and a person's token";
    Refusal::new(StatusCode::UNAUTHORIZED, "no_token", sentence)
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

//! The path of one request: check the Host header, take a place for its client, and answer.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};
use hyper::body::Incoming;

use crate::Service;
use crate::admission::Admission;
use crate::body::AnswerBody;
use crate::fleet::receive;
use crate::places::{NoPlace, Place};
use crate::refusal::Refusal;
use crate::routes::{self, Cost, Route, RouteMatch};
use crate::workers::Surroundings;

const EXPOSED: &str = "over plain HTTP this service answers its --trusted-proxies alone: use https, or go through one of them";

pub(crate) async fn answer(
    service: &Arc<Service>,
    (head, mut incoming): (Parts, Incoming),
    around: &Surroundings,
    admission: &Admission,
    place: &Place,
) -> Response<AnswerBody> {
    let contract = service.contract.load_full();
    let found = routes::find_under(contract.prefix(), head.uri.path());
    let admitted = match admission.refusal(&head) {
        Some(refusal) => {
            service
                .metrics
                .answered(found, refusal.status(), Duration::ZERO);
            Err(refusal)
        }
        None if around.is_exposed && !is_harmless(&head, found) => Err(exposed(service)),
        None => let_in(place, &head, found).map_err(|why| no_place(service, why)),
    };
    let (response, client) = match admitted {
        Ok(client) => (
            service.answer(&head, found, incoming, around, place).await,
            client,
        ),
        Err(refusal) => {
            if !matches!(head.method, Method::GET | Method::HEAD) {
                receive::discard(&head.headers, &mut incoming).await;
            }
            (refusal, None)
        }
    };
    service.dressed(&head, response, client)
}

/// Whether it may go over plain HTTP from anywhere: it asks how the service is, as a kubelet does, and shows no token.
fn is_harmless(head: &Parts, found: Option<RouteMatch<'_>>) -> bool {
    let cost = found.map(|found| found.route.cost());
    matches!(cost, Some(Cost::Probe | Cost::Scrape))
        && !head.headers.contains_key(header::AUTHORIZATION)
}

fn exposed(service: &Service) -> Response<AnswerBody> {
    service.metrics.connection_closed("plain_http");
    let status = StatusCode::MISDIRECTED_REQUEST;
    closing(Refusal::new(status, "plain_http", EXPOSED).response())
}

/// Takes a place for the request and for the client that a proxy names.
fn let_in(
    place: &Place,
    head: &Parts,
    found: Option<RouteMatch<'_>>,
) -> Result<Option<IpAddr>, NoPlace> {
    let place = match place {
        Place::Full(place) => return place.asks(&head.headers),
        Place::Probe(place) => place,
    };
    let route = found
        .map(|found| found.route)
        .filter(|route| route.takes(&head.method));
    match route.map(Route::cost) {
        Some(Cost::Probe) => Ok(None),
        Some(Cost::Scrape) => place.scrape().map(|()| None),
        _ => Err(place.why),
    }
}

fn no_place(service: &Service, why: NoPlace) -> Response<AnswerBody> {
    service.metrics.connection_closed(why.reason());
    let (status, kind) = (StatusCode::SERVICE_UNAVAILABLE, "too_many_connections");
    closing(Refusal::new(status, kind, why.sentence()).response())
}

fn closing(mut response: Response<AnswerBody>) -> Response<AnswerBody> {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}

impl NoPlace {
    /// As the label of a metric.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::All => "too_many",
            Self::Address => "too_many_of_address",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::All => "try again in a few seconds",
            Self::Address => {
                "this address has too many connections: close some, or try again in a few seconds"
            }
        }
    }
}

//! One request at the door: does it call us by our name, is there a place for whom it asks, and then its answer.

use std::net::IpAddr;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};
use hyper::body::Incoming;

use crate::Service;
use crate::admission::Admission;
use crate::body::{self, AnswerBody};
use crate::fleet::receive;
use crate::metrics::ReasonLabels;
use crate::places::{NoPlace, Place};
use crate::workers::Surroundings;

/// When somebody who found no place may come back, in seconds.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");

pub(crate) async fn answer(
    service: &Arc<Service>,
    (head, mut incoming): (Parts, Incoming),
    around: &Surroundings,
    admission: &Admission,
    place: &Place,
) -> Response<AnswerBody> {
    let admitted = match admission.refusal(&head) {
        Some(refusal) => Err(refusal),
        None => let_in(place, &head).map_err(|why| no_place(service, why)),
    };
    let (response, client) = match admitted {
        Ok(client) => (service.answer(&head, incoming, around).await, client),
        Err(refusal) => {
            if !matches!(head.method, Method::GET | Method::HEAD) {
                receive::discard(&head.headers, &mut incoming).await;
            }
            (refusal, None)
        }
    };
    service.dressed(&head, response, client)
}

/// Whether there is a place for the question, and for whom a proxy asks it.
fn let_in(place: &Place, head: &Parts) -> Result<Option<IpAddr>, NoPlace> {
    match (place, &head.method, head.uri.path()) {
        (Place::Full(place), _, _) => place.asks(&head.headers),
        (Place::Probe(_), &Method::GET | &Method::HEAD, "/livez" | "/readyz") => Ok(None),
        (Place::Probe(place), &Method::GET | &Method::HEAD, "/metrics") => {
            place.scrape().map(|()| None)
        }
        (Place::Probe(place), _, _) => Err(place.why),
    }
}

fn no_place(service: &Service, why: NoPlace) -> Response<AnswerBody> {
    service
        .metrics
        .connections_closed
        .get_or_create(&ReasonLabels {
            reason: why.reason(),
        })
        .inc();
    let mut response = body::error(
        StatusCode::SERVICE_UNAVAILABLE,
        "too_many_connections",
        why.sentence(),
    );
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, RETRY_AFTER);
    response
        .headers_mut()
        .insert(header::CONNECTION, HeaderValue::from_static("close"));
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

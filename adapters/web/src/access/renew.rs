//! `POST /api/v1/clusters/{cluster}/token`: a cluster whose token soon ends gets a new one.
//!
//! It is for the same cluster, lives as long as the old one did, and keeps its serial: whoever revokes the serial ends the
//! whole line. The old token stays good until its own end. It needs the keys of tokens, but no fleet.

use http::request::Parts;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use serde_json::json;
use towpath_core::access::{Renewal, renewal};
use towpath_core::moment::ShownTime;
use towpath_formats::fleet::token::Claims;

use super::speaking;
use crate::Service;
use crate::body::{self, AnswerBody};
use crate::fleet::{query, receive};
use crate::refusal::{OrRefusal, Refusal};
use crate::workers::Surroundings;

const UNBOUND: &str =
    "tokens of the first version are not renewed; make a new one with `towpath fleet token`";

pub(crate) async fn answer(
    service: &Service,
    head: &Parts,
    cluster: &str,
    incoming: &mut Incoming,
    around: &Surroundings,
) -> OrRefusal<Response<AnswerBody>> {
    let (_, speaker) = speaking(service, cluster, &head.headers)?;
    query::nothing(head)?;
    let text = receive::text(&head.headers, incoming, around.body_timeout).await?;
    query::empty_body(&text).map_err(Refusal::invalid_body)?;
    let unbound = || Refusal::new(StatusCode::FORBIDDEN, "unbound_token", UNBOUND);
    let old = speaker.claims.ok_or_else(unbound)?;
    let now = service.now();
    let end = match renewal(old.made, old.end, now) {
        Renewal::Until(end) => end,
        Renewal::From(due) => {
            let (due, end) = (ShownTime(due), ShownTime(old.end));
            let sentence =
                format!("the token is good until {end}; ask for a new one from {due} on");
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return Err(Refusal::new(status, "too_early", sentence));
        }
    };
    let new = Claims {
        made: Some(now),
        end,
        ..old
    };
    let keys = service.access.keys.load();
    let token = keys.reissue(&new).map_err(|problem| {
        tracing::error!(problem, "a token could not be renewed");
        let sentence = "the token could not be made; see the service's log";
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "failed_token", sentence)
    })?;
    tracing::info!(cluster, serial = new.serial, %end, "a cluster's token was renewed");
    let text = json!({"token": token, "end": end.to_string()});
    Ok(body::json(StatusCode::OK, format!("{text}\n")))
}

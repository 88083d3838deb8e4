//! `GET /api/v1/session`: what the caller may do here, and what there is. The page asks it first.

use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};
use serde_json::{Value, json};

use crate::Service;
use crate::body::{self, AnswerBody};
use crate::fleet::{self, Purpose, Sight, check_token, query};
use crate::refusal::{OrRefusal, Refusal};

pub(crate) fn answer(service: &Service, head: &Parts, _: &str) -> OrRefusal<Response<AnswerBody>> {
    query::nothing(head)?;
    let headers = &head.headers;
    let administrates = holds(service, Purpose::Admin, headers);
    let has_fleet = service.fleet.load().is_some();
    let reads = fleet::sight(service, headers) == Sight::Whole;
    let role = match (administrates.is_ok(), reads) {
        (true, _) => "administrator",
        (false, true) => "reader",
        (false, false) => "nobody",
    };
    let (commit, example) = service.build.more.get().cloned().unwrap_or_default();
    let text = json!({
        "readOnly": !(administrates.is_ok() && has_fleet),
        "role": role,
        "tokenProblem": token_problem(service, headers, administrates.err()),
        "needsToken": fleet::sight(service, &HeaderMap::new()) != Sight::Whole,
        "login": service.login_offer(),
        "hasFleet": has_fleet,
        "example": example,
        "version": service.build.version,
        "commit": commit,
    });
    Ok(body::json(StatusCode::OK, format!("{text:#}\n")))
}

fn holds(service: &Service, purpose: Purpose, headers: &HeaderMap) -> OrRefusal<()> {
    check_token(
        service.token_keys().as_ref(),
        purpose,
        headers,
        service.now(),
    )
}

/// Why the token that was sent gives nothing; null without one, and for one that does.
fn token_problem(service: &Service, headers: &HeaderMap, as_admin: Option<Refusal>) -> Value {
    let was_sent = headers.contains_key(http::header::AUTHORIZATION);
    match as_admin {
        Some(refusal) if was_sent && holds(service, Purpose::Read, headers).is_err() => {
            refusal.told()
        }
        _ => Value::Null,
    }
}

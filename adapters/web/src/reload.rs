//! `POST /api/v1/reload`: look at the sources now. For whoever has just changed one of them, and has a token that says so.
//!
//! It wakes the readers and does not wait for them; calls that come while one of them reads are one more read afterwards.

use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};
use hyper::body::Incoming;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use towpath_core::intake::CopyObjection;

use crate::Service;
use crate::body::{self, AnswerBody};
use crate::fleet::{Purpose, Token, TokenKeys, TokenProblem, bearer, receive};
use crate::workers::Surroundings;

pub(crate) const PATH: &str = "/api/v1/reload";

/// Who may wake the readers, and how.
pub struct ReloadDoor {
    /// The keys of those who may; without any, nobody may.
    pub keys: Option<TokenKeys>,
    pub wake: Box<dyn Fn(&ReloadRequest) -> Woken + Send + Sync>,
}

/// What somebody who may wants to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloadRequest {
    pub source: Option<String>,
    /// What its next copy is allowed, once.
    pub allow: Vec<CopyObjection>,
    /// The stricter parts of it that are to hold no more, by name.
    pub discard: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Woken {
    Sources(Vec<String>),
    /// None: there is no source of that name. These there are.
    NoSuchSource(Vec<String>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Body {
    source: Option<String>,
    allow: Vec<String>,
    discard: Vec<String>,
}

/// Answers a request to this path.
pub(crate) async fn answer(
    service: &Service,
    request: &Parts,
    mut incoming: Incoming,
    around: &Surroundings,
) -> Response<AnswerBody> {
    match answered(service, request, &mut incoming, around).await {
        Ok(response) => response,
        Err(response) => {
            receive::discard(&request.headers, &mut incoming).await;
            *response
        }
    }
}

async fn answered(
    service: &Service,
    request: &Parts,
    incoming: &mut Incoming,
    around: &Surroundings,
) -> Result<Response<AnswerBody>, Box<Response<AnswerBody>>> {
    if request.method != Method::POST {
        let mut response = body::error(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "use POST",
        );
        response
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static("POST"));
        return Err(Box::new(response));
    }
    let door = service.reload_door.load_full();
    let keys = door.as_ref().and_then(|door| door.keys.as_ref());
    let (Some(door), Some(keys)) = (&door, keys) else {
        let sentence =
            "no key is configured to check tokens with; start the service with --token-keys";
        return Err(refused(StatusCode::FORBIDDEN, "no_token_key", sentence));
    };
    let now = service.now();
    let token = permitted(keys, bearer(&request.headers), now)?;
    let text = match receive::is_empty(incoming) {
        true => "{}".to_owned(),
        false => receive::text(&request.headers, incoming, around.body_timeout)
            .await
            .map_err(|why| refused(why.status(), why.kind(), why.sentence()))?,
    };
    let wanted = read(&text)
        .map_err(|sentence| refused(StatusCode::BAD_REQUEST, "invalid_body", &sentence))?;
    let only_wakes = wanted.allow.is_empty() && wanted.discard.is_empty();
    if !only_wakes && keys.permits(&token, Purpose::Admin, now).is_err() {
        let sentence = "to allow what was refused, or to discard a block, takes the administrator's token: this one only wakes readers";
        return Err(refused(StatusCode::FORBIDDEN, "wrong_token", sentence));
    }
    if let Some(name) = unknown_part(service, &wanted) {
        let sentence =
            format!("there is no stricter part {name:?} of that source; /readyz lists them");
        return Err(refused(StatusCode::NOT_FOUND, "not_found", &sentence));
    }
    match (door.wake)(&wanted) {
        Woken::Sources(names) => Ok(body::json(
            StatusCode::ACCEPTED,
            json!({ "woken": names }).to_string(),
        )),
        Woken::NoSuchSource(names) => {
            let sentence = format!("there is no such source; there are {}", names.join(", "));
            Err(refused(StatusCode::NOT_FOUND, "not_found", &sentence))
        }
    }
}

/// The first name of a stricter part that there is none of.
fn unknown_part<'a>(service: &Service, wanted: &'a ReloadRequest) -> Option<&'a String> {
    let sources = service.sources.load();
    let sources = sources.iter().flat_map(|sources| sources.iter());
    let meant = sources.filter(|source| wanted.source.as_deref() == Some(&*source.name));
    let names: Vec<&String> = meant
        .flat_map(|source| &source.stricter)
        .map(|part| &part.name)
        .collect();
    wanted.discard.iter().find(|name| !names.contains(name))
}

fn permitted(
    keys: &TokenKeys,
    token: Option<Token>,
    now: Timestamp,
) -> Result<Token, Box<Response<AnswerBody>>> {
    let Some(token) = token else {
        return Err(refused(
            StatusCode::UNAUTHORIZED,
            "no_token",
            "send Authorization: Bearer and a token",
        ));
    };
    match keys.permits(&token, Purpose::Reload, now) {
        Ok(()) => Ok(token),
        Err(TokenProblem::WrongRole) => {
            let sentence =
                "this token is not for this; `towpath fleet token --reload` makes one that is";
            Err(refused(StatusCode::FORBIDDEN, "wrong_token", sentence))
        }
        Err(problem) => Err(refused(
            problem.status(),
            problem.kind(),
            &problem.to_string(),
        )),
    }
}

fn read(text: &str) -> Result<ReloadRequest, String> {
    let body: Body = serde_json::from_str(text)
        .map_err(|error| format!("the body cannot be understood: {error}"))?;
    let allow = body.allow.iter().map(|name| {
        CopyObjection::named(name).ok_or_else(|| {
            format!("{name:?} cannot be allowed; empty, shrink, back and payload can")
        })
    });
    let allow: Vec<CopyObjection> = allow.collect::<Result<_, _>>()?;
    match (allow.is_empty() && body.discard.is_empty(), &body.source) {
        (false, None) => Err("say which source is meant, with \"source\"".to_owned()),
        _ => Ok(ReloadRequest {
            source: body.source,
            allow,
            discard: body.discard,
        }),
    }
}

fn refused(status: StatusCode, kind: &str, sentence: &str) -> Box<Response<AnswerBody>> {
    let mut response = body::error(status, kind, sentence);
    if status == StatusCode::UNAUTHORIZED {
        let wanted = HeaderValue::from_static("Bearer realm=\"towpath\"");
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, wanted);
    }
    Box::new(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_read_and_what_is_not_understood_is_refused() {
        assert_eq!(read("{}"), Ok(ReloadRequest::default()));
        let both = read(r#"{"source":"releases","allow":["shrink","back"]}"#);
        let allow = vec![CopyObjection::Shrink, CopyObjection::Back];
        assert_eq!(
            both,
            Ok(ReloadRequest {
                source: Some("releases".into()),
                allow,
                discard: vec![]
            })
        );
        let discard = vec!["blocked-edges/a.yaml".to_owned()];
        let wanted = ReloadRequest {
            source: Some("data".into()),
            allow: vec![],
            discard,
        };
        assert_eq!(
            read(r#"{"source":"data","discard":["blocked-edges/a.yaml"]}"#),
            Ok(wanted)
        );
        for (text, expected) in [
            (r#"{"allow":["shrink"]}"#, "say which source"),
            (r#"{"discard":["a"]}"#, "say which source"),
            (r#"{"source":"x","allow":["all"]}"#, "cannot be allowed"),
            (r#"{"sources":[]}"#, "unknown field"),
            ("[", "cannot be understood"),
        ] {
            assert!(read(text).unwrap_err().contains(expected), "{text}");
        }
    }
}

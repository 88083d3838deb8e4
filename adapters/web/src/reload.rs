//! `POST /api/v1/reload`: read the sources now. For pipelines that have just changed one, with a token.
//!
//! It wakes the readers and does not wait for them. Calls during a read cause one more read afterwards.

use std::sync::Arc;

use http::request::Parts;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::json;
use towpath_core::access::Permission;
use towpath_core::intake::CopyObjection;

use crate::Service;
use crate::access::{self, Admitted, Caller};
use crate::body::{self, AnswerBody};
use crate::fleet::{FleetAnswer, FleetForm, FleetRequest, query, receive};
use crate::refusal::{OrRefusal, Refusal};
use crate::workers::Surroundings;

/// How to wake the readers.
pub struct ReloadDoor {
    pub wake: Arc<dyn Fn(&ReloadRequest) -> WakeOutcome + Send + Sync>,
}

/// An authorised request to reload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloadRequest {
    pub source: Option<String>,
    /// The checks that its next copy may fail, once.
    pub allow: Vec<CopyObjection>,
    /// Its stricter parts to discard, by name.
    pub discard: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WakeOutcome {
    Sources(Vec<String>),
    /// There is no source of that name; these exist.
    NoSuchSource(Vec<String>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Body {
    source: Option<String>,
    allow: Vec<String>,
    discard: Vec<String>,
}

pub(crate) async fn answer(
    service: &Service,
    head: &Parts,
    admitted: Option<Admitted>,
    incoming: &mut Incoming,
    around: &Surroundings,
) -> OrRefusal<Response<AnswerBody>> {
    let (door, headers, caller) = (
        service.reload_door.load_full(),
        &head.headers,
        Caller::of(head),
    );
    access::may_everywhere(service, &caller, Permission::Reload)?;
    query::nothing(head)?;
    let text = match receive::is_empty(incoming) {
        true => "{}".to_owned(),
        false => receive::text(headers, incoming, around.body_timeout).await?,
    };
    let wanted = read(&text).map_err(Refusal::invalid_body)?;
    let only_wakes = wanted.allow.is_empty() && wanted.discard.is_empty();
    if !only_wakes {
        access::may_everywhere(service, &caller, Permission::OverruleSource)?;
    }
    if let Some(name) = unknown_part(service, &wanted) {
        let sentence =
            format!("there is no stricter part {name:?} of that source; /readyz lists them");
        return Err(not_found(sentence));
    }
    if let (false, Some(admitted)) = (only_wakes, admitted) {
        written_down(service, &wanted, admitted, around).await?;
    }
    match door.map(|door| (door.wake)(&wanted)) {
        Some(WakeOutcome::Sources(names)) => Ok(body::json(
            StatusCode::ACCEPTED,
            json!({ "woken": names }).to_string(),
        )),
        Some(WakeOutcome::NoSuchSource(names)) => Err(not_found(format!(
            "there is no such source; there are {}",
            names.join(", ")
        ))),
        None => Err(not_found("there are no sources yet; try again".to_owned())),
    }
}

/// Overruling a check is in the audit log before it is done. Where there is no fleet, there is no log but the service's own.
async fn written_down(
    service: &Service,
    wanted: &ReloadRequest,
    admitted: Admitted,
    around: &Surroundings,
) -> OrRefusal<()> {
    let (Some(fleet), Some(identity)) = (service.fleet.load_full(), &admitted.identity) else {
        return Ok(());
    };
    let request = FleetRequest::Overrule {
        reload: wanted.clone(),
        actor: identity.into(),
    };
    let answer = around
        .runtime
        .spawn(async move { fleet.desk.answer(request, admitted, FleetForm::Json).await });
    let problem = match answer.await {
        Ok(FleetAnswer::Json(_)) => return Ok(()),
        Ok(FleetAnswer::Unavailable(sentence)) => sentence,
        Ok(_) | Err(_) => "it could not be written to the audit log".to_owned(),
    };
    let sentence = format!(
        "nothing was overruled: {problem}. Overruling a check is written to the audit log first; bring the store back, or correct the source"
    );
    Err(Refusal::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "unavailable",
        sentence,
    ))
}

fn not_found(sentence: String) -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "not_found", sentence)
}

/// The first name that is not an existing stricter part.
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

fn read(text: &str) -> Result<ReloadRequest, String> {
    let body: Body = serde_json::from_str(text)
        .map_err(|error| format!("the body cannot be understood: {error}"))?;
    let allow = body.allow.iter().map(|name| {
        CopyObjection::named(name).ok_or_else(|| {
            format!("{name:?} cannot be allowed; empty, shrink, back, payload and window can")
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

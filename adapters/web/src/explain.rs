//! `GET /api/v1/explain`: why an update is, or is not, offered to a cluster, and when it will be.
//! `GET /api/v1/rollouts`: every window that is running or to come.
//!
//! Answers are text (`Accept: text/plain`, or `format=text`) or JSON. For a cluster of a fleet, the answer includes the
//! fleet's verdict.

use std::sync::{Arc, Mutex};

use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::Fact;
use towpath_core::graph::rules::{Edges, Enrolled};
use towpath_core::graph::{Situation, explain, rollouts};
use towpath_core::rules::Rule;
use towpath_core::version::Minors;
use towpath_formats::graph::explain::{self as format, ExplainReport, ExplainRequest, Form};
use towpath_formats::graph::rollouts as told_rollouts;
use towpath_formats::room::Room;

use crate::body::{self, AnswerBody};
use crate::enrolment::{ClusterView, View};
use crate::managed::platform_of;
use crate::questions::Work;
use crate::refusal::{OrRefusal, Refusal};
use crate::{Service, Snapshot, fleet, locked};

/// How long an answer about rollouts is cached.
const KEPT_FOR: SignedDuration = SignedDuration::from_secs(1);

/// A question with everything that another thread needs to answer it.
struct ExplainQuestion {
    snapshot: Arc<Snapshot>,
    managed: Option<Arc<View>>,
    asked: ExplainRequest,
    /// Whether the caller may see what we know of the cluster.
    sight: fleet::Sight,
    form: Form,
    /// Which minor version follows which.
    minors: Minors,
    now: Timestamp,
}

/// Reads the question, or refuses it.
pub(crate) fn question(service: &Arc<Service>, request: &Parts) -> OrRefusal<Work> {
    let asked = format::read(request.uri.query().unwrap_or_default())?;
    let snapshot = service.snapshot().ok_or_else(not_ready)?;
    let form = asked.form.unwrap_or_else(|| accepted(request));
    let now = asked.at.unwrap_or_else(|| service.now());
    let managed = service.enrolment.load_full();
    let sight = match (&asked.cluster.id, &managed) {
        (Fact::Unknown, _) => fleet::Sight::Whole,
        // The answer tells what the fleet knows of this cluster.
        (Fact::Known(id), Some(_)) => {
            fleet::may_ask_about(service, &request.headers, id)?;
            fleet::Sight::Whole
        }
        (Fact::Known(id), None) => fleet::sight_of(service, &request.headers, id),
    };
    let question = ExplainQuestion {
        snapshot,
        managed,
        asked,
        sight,
        form,
        minors: service.minors(),
        now,
    };
    Ok(Box::new(move |_| question.answer()))
}

/// Asks for every window that is running or to come.
pub(crate) fn rollouts_question(service: &Arc<Service>, request: &Parts) -> OrRefusal<Work> {
    fleet::query::nothing(request)?;
    let snapshot = service.snapshot().ok_or_else(not_ready)?;
    let service = service.clone();
    Ok(Box::new(move |_| {
        service.rollouts.answer(&snapshot, service.now())
    }))
}

/// The refusal where no graph is loaded.
pub(crate) fn not_ready() -> Refusal {
    let sentence = "no graph has been loaded; /readyz says why";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", sentence)
}

/// Every window that is running or to come. Finding them visits every edge, so an answer is cached for a second.
#[derive(Default)]
pub(crate) struct Rollouts(pub(crate) Mutex<Option<CachedRollouts>>);

pub(crate) struct CachedRollouts {
    digest: String,
    at: Timestamp,
    text: String,
}

impl Rollouts {
    pub(crate) fn answer(&self, snapshot: &Snapshot, now: Timestamp) -> Response<AnswerBody> {
        // Whoever comes meanwhile waits for this answer instead of making one.
        let mut kept = locked(&self.0);
        let is_fresh = |kept: &&mut CachedRollouts| {
            let age = kept.at.duration_until(now);
            kept.digest == snapshot.digest && !age.is_negative() && age < KEPT_FOR
        };
        let text = match kept.as_mut().filter(is_fresh) {
            Some(kept) => kept.text.clone(),
            None => {
                let told = told_rollouts::json(&rollouts(snapshot.graph(), now), now);
                let text = format!("{told:#}\n");
                *kept = Some(CachedRollouts {
                    digest: snapshot.digest.clone(),
                    at: now,
                    text: text.clone(),
                });
                text
            }
        };
        body::json(StatusCode::OK, text)
    }
}

/// Text if the request asks for it, otherwise JSON.
pub(crate) fn accepted(request: &Parts) -> Form {
    let accept = request
        .headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if accept.trim_start().starts_with("text/plain") {
        Form::Text
    } else {
        Form::Json
    }
}

impl ExplainQuestion {
    fn answer(self) -> Response<AnswerBody> {
        let Self {
            snapshot,
            managed,
            asked,
            sight,
            form,
            minors,
            now,
        } = self;
        let ExplainRequest {
            mut cluster,
            from,
            to,
            ..
        } = asked;
        let id = cluster.id.known();
        let allowed = managed
            .as_ref()
            .zip(id)
            .and_then(|(managed, id)| managed.allowed(id));
        if cluster.platform == Fact::Unknown && sight == fleet::Sight::Whole {
            cluster.platform = Fact::from(platform_of(&snapshot, allowed, id).cloned());
        }
        let rule: Option<Box<dyn Rule<Edges>>> = match managed
            .as_ref()
            .zip(id)
            .map(|(managed, id)| managed.sees(id))
        {
            None | Some(ClusterView::Graph) => None,
            Some(ClusterView::Allowed(allowed)) => Some(Box::new(allowed.rule.clone())),
            Some(ClusterView::Nothing(unplaced)) => Some(Box::new(Enrolled { unplaced })),
        };
        let at = Situation {
            graph: snapshot.graph(),
            cluster: &cluster,
            now,
        };
        let more: Vec<&dyn Rule<Edges>> = rule.as_deref().into_iter().collect();
        let explanation = explain(&at, &from, to.as_ref(), &minors, &more);
        let told = ExplainReport {
            at: &at,
            from: &from,
            explanation: &explanation,
        };
        match form {
            Form::Json => body::json(StatusCode::OK, format!("{:#}\n", format::json(&told))),
            Form::Text => plain(format::text(&told, Room::default())),
        }
    }
}

pub(crate) fn plain(text: String) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::from(text));
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

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
use serde_json::Value;
use towpath_core::cluster::{ClusterId, Fact, Groups, Platform};
use towpath_core::feedback::FleetOutcomes;
use towpath_core::graph::rules::{Edges, Enrolled};
use towpath_core::graph::{Situation, explain, rollouts};
use towpath_core::rules::Rule;
use towpath_core::version::Minors;
use towpath_formats::graph::explain::{self as format, ExplainReport, ExplainRequest, Form};
use towpath_formats::graph::rollouts::{self as told_rollouts, OutcomeDetail};
use towpath_formats::room::Room;

use crate::body::{self, AnswerBody};
use crate::enrolment::{ClusterView, View};
use crate::managed::{groups_of, platform_of};
use crate::questions::Work;
use crate::refusal::{OrRefusal, Refusal};
use crate::sources::changed_windows;
use crate::{Service, Snapshot, access, fleet, locked};

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
    let sight = sight(
        service,
        request,
        asked.cluster.id.known(),
        managed.is_some(),
    )?;
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

/// What a caller may learn of a cluster; a refusal if the answer would tell what the fleet knows of one that it may not ask about.
pub(crate) fn sight(
    service: &Arc<Service>,
    request: &Parts,
    id: Option<&ClusterId>,
    is_fleet_known: bool,
) -> OrRefusal<fleet::Sight> {
    match (id, is_fleet_known) {
        (None, _) => Ok(fleet::Sight::Whole),
        (Some(id), true) => {
            access::may_ask_about(service, request, id)?;
            Ok(fleet::Sight::Whole)
        }
        (Some(id), false) => Ok(access::sight_of(service, request, id)),
    }
}

/// The platform that was said, else the one that we know of the cluster, where the caller may see that.
pub(crate) fn known_platform(
    said: Fact<Platform>,
    snapshot: &Snapshot,
    managed: Option<&View>,
    id: Option<&ClusterId>,
    sight: fleet::Sight,
) -> Fact<Platform> {
    match (said, sight) {
        (Fact::Unknown, fleet::Sight::Whole) => {
            let allowed = managed
                .zip(id)
                .and_then(|(managed, id)| managed.allowed(id));
            Fact::from(platform_of(snapshot, allowed, id).cloned())
        }
        (said, _) => said,
    }
}

/// How we know the cluster to be sorted, where the caller may see that. Nobody can say it in a question.
pub(crate) fn known_groups(
    snapshot: &Snapshot,
    managed: Option<&View>,
    id: Option<&ClusterId>,
    sight: fleet::Sight,
) -> Fact<Arc<Groups>> {
    match sight {
        fleet::Sight::Whole => {
            let allowed = managed
                .zip(id)
                .and_then(|(managed, id)| managed.allowed(id));
            Fact::from(groups_of(snapshot, allowed, id).cloned())
        }
        fleet::Sight::Nameless => Fact::Unknown,
    }
}

/// Asks for every window that is running or to come.
pub(crate) fn rollouts_question(service: &Arc<Service>, request: &Parts) -> OrRefusal<Work> {
    let asked = told_rollouts::read(request.uri.query().unwrap_or_default())?;
    let snapshot = service.snapshot().ok_or_else(not_ready)?;
    let service = service.clone();
    let form = asked.form.unwrap_or_else(|| accepted(request));
    // Outcomes are of now; a question about another time has none.
    let outcomes = match asked.now {
        None => service.outcomes.load_full(),
        Some(_) => None,
    };
    Ok(Box::new(move |_| {
        let now = asked.now.unwrap_or_else(|| service.now());
        let is_plain = (
            asked.now.is_none(),
            asked.to.is_none(),
            asked.fleet_size.is_none(),
        );
        if (form, is_plain) == (Form::Json, (true, true, true)) {
            return service.rollouts.answer(&service, &snapshot, outcomes, now);
        }
        let mut rows = rollouts(snapshot.graph(), now);
        rows.retain(|row| asked.to.as_ref().is_none_or(|to| row.to == *to));
        let detail = match asked.to {
            Some(_) => OutcomeDetail::Classes,
            None => OutcomeDetail::Releases,
        };
        match form {
            Form::Text => {
                let mut text = told_rollouts::text(&rows, now, asked.bars, asked.room);
                text += &told_rollouts::halts_text(snapshot.graph());
                if asked.to.is_some() || outcomes.is_some() {
                    text += &told_rollouts::outcomes_text(
                        &rows,
                        outcomes.as_deref(),
                        detail,
                        asked.room,
                    );
                }
                if let Some(clusters) = asked.fleet_size {
                    text += &told_rollouts::power_text(&rows, clusters, &service.feedback());
                }
                plain(text)
            }
            Form::Json => {
                let told = told_rollouts::json(&rows, outcomes.as_deref(), now);
                let told = told_rollouts::with_halts(told, snapshot.graph());
                let mut told = with_changed_windows(told, &service);
                if let Some(clusters) = asked.fleet_size {
                    let cards = told_rollouts::power_json(&rows, clusters, &service.feedback());
                    told["power"] = cards;
                }
                body::json(StatusCode::OK, format!("{told:#}\n"))
            }
        }
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
    outcomes: Option<Arc<FleetOutcomes>>,
    at: Timestamp,
    text: String,
}

impl Rollouts {
    pub(crate) fn answer(
        &self,
        service: &Service,
        snapshot: &Snapshot,
        outcomes: Option<Arc<FleetOutcomes>>,
        now: Timestamp,
    ) -> Response<AnswerBody> {
        // Whoever comes meanwhile waits for this answer instead of making one.
        let mut kept = locked(&self.0);
        let is_fresh = |kept: &&mut CachedRollouts| {
            let age = kept.at.duration_until(now);
            let same_outcomes = match (&kept.outcomes, &outcomes) {
                (Some(kept), Some(now)) => Arc::ptr_eq(kept, now),
                (kept, now) => kept.is_none() && now.is_none(),
            };
            let is_same = kept.digest == snapshot.digest && same_outcomes;
            is_same && !age.is_negative() && age < KEPT_FOR
        };
        let text = match kept.as_mut().filter(is_fresh) {
            Some(kept) => kept.text.clone(),
            None => {
                let rows = rollouts(snapshot.graph(), now);
                let told = told_rollouts::json(&rows, outcomes.as_deref(), now);
                let told = told_rollouts::with_halts(told, snapshot.graph());
                let told = with_changed_windows(told, service);
                let text = format!("{told:#}\n");
                *kept = Some(CachedRollouts {
                    digest: snapshot.digest.clone(),
                    outcomes,
                    at: now,
                    text: text.clone(),
                });
                text
            }
        };
        body::json(StatusCode::OK, text)
    }
}

/// Beside the windows: what the newest copies of the sources did to them, or would do.
fn with_changed_windows(mut told: Value, service: &Service) -> Value {
    let sources = service.sources.load();
    let sources = sources.as_ref().map_or(&[][..], |sources| sources);
    told["changedWindows"] = changed_windows(sources, service.now());
    told
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
        let (id, managed) = (cluster.id.known(), managed.as_deref());
        cluster.groups = known_groups(&snapshot, managed, id, sight);
        cluster.platform = known_platform(cluster.platform, &snapshot, managed, id, sight);
        let rule = fleet_rule(managed, id);
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

/// What the fleet holds against a cluster's edges; none if it is not the fleet's.
pub(crate) fn fleet_rule(
    managed: Option<&View>,
    id: Option<&ClusterId>,
) -> Option<Box<dyn Rule<Edges>>> {
    match managed?.sees(id?) {
        ClusterView::Graph => None,
        ClusterView::Allowed(allowed) => Some(Box::new(allowed.rule.clone())),
        ClusterView::Nothing(unplaced) => Some(Box::new(Enrolled { unplaced })),
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

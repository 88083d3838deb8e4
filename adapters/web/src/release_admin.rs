//! What release administrators ask about the graph that is being served: `GET /api/v1/lint`, `GET /api/v1/audit`, and
//! `GET /api/v1/rollouts/change`: the change of graph data that steers a rollout. Nothing here changes anything.

use std::sync::{Arc, Mutex, OnceLock};

use http::request::Parts;
use http::{Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use towpath_core::audit::{Scope, audit, strandings};
use towpath_core::finding::Finding;
use towpath_core::graph::{Graph, Releases};
use towpath_formats::SourceFile;
use towpath_formats::audit::request as audit_request;
use towpath_formats::audit::{self as told_audit, AuditReport};
use towpath_formats::change::steering::{self, SteerRequest};
use towpath_formats::findings;
use towpath_formats::graph::data;
use towpath_formats::graph::lint::lint;

use crate::body::{self, AnswerBody};
use crate::fleet::query;
use crate::questions::Work;
use crate::refusal::OrRefusal;
use crate::{Service, Snapshot, explain, locked};

/// The most findings in an answer; the rest is counted.
const MAX_FINDINGS: usize = 1_000;
/// How long an audit is cached.
const KEPT_FOR: SignedDuration = SignedDuration::from_secs(60);

/// Answers about one snapshot, which need not be made again.
#[derive(Default)]
pub(crate) struct CheckedAnswers {
    linted: OnceLock<Vec<Finding>>,
    /// The last audit: of what, when, and the answer.
    audited: Mutex<Option<(Scope, Timestamp, String)>>,
}

pub(crate) fn lint_question(service: &Arc<Service>, request: &Parts) -> OrRefusal<Work> {
    query::nothing(request)?;
    let (snapshot, now) = (snapshot(service)?, service.now());
    Ok(Box::new(move |_| answer_lint(&snapshot, now)))
}

pub(crate) fn audit_question(service: &Arc<Service>, request: &Parts) -> OrRefusal<Work> {
    let snapshot = snapshot(service)?;
    let query = request.uri.query().unwrap_or_default();
    let (scope, now) = audit_request::read(query, snapshot.graph())?;
    let now = now.unwrap_or_else(|| service.now());
    Ok(Box::new(move |_| answer_audit(&snapshot, scope, now)))
}

pub(crate) fn steering_question(service: &Arc<Service>, request: &Parts) -> OrRefusal<Work> {
    let (asked, now) = steering::read(request.uri.query().unwrap_or_default())?;
    let snapshot = snapshot(service)?;
    let now = now.unwrap_or_else(|| service.now());
    Ok(Box::new(move |_| {
        answer_steering(&snapshot, &asked, now).unwrap_or_else(|sentence| {
            body::error(StatusCode::UNPROCESSABLE_ENTITY, "not_steerable", &sentence)
        })
    }))
}

fn snapshot(service: &Service) -> OrRefusal<Arc<Snapshot>> {
    service.snapshot().ok_or_else(explain::not_ready)
}

fn answer_lint(snapshot: &Snapshot, now: Timestamp) -> Response<AnswerBody> {
    let files = snapshot.graph_data.files();
    if files.is_empty() {
        return no_graph_data();
    }
    let found = snapshot
        .checked
        .linted
        .get_or_init(|| lint(files, Some(snapshot.graph().declared())).findings);
    let errors = found.iter().filter(|finding| finding.is_error()).count();
    let shown = &found[..found.len().min(MAX_FINDINGS)];
    let told = json!({
        "at": now.to_string(),
        "digest": snapshot.digest,
        "counts": {"error": errors, "warning": found.len() - errors},
        "findings": findings::json(shown),
        "leftOut": found.len() - shown.len(),
    });
    body::json(StatusCode::OK, format!("{told:#}\n"))
}

fn answer_audit(snapshot: &Snapshot, scope: Scope, now: Timestamp) -> Response<AnswerBody> {
    // Whoever comes meanwhile waits for this answer instead of making one.
    let mut kept = locked(&snapshot.checked.audited);
    if let Some((of, at, text)) = &*kept
        && *of == scope
        && at.duration_until(now).abs() < KEPT_FOR
    {
        return body::json(StatusCode::OK, text.clone());
    }
    let graph = snapshot.graph();
    let audited = audit(graph, &scope, now);
    let report = AuditReport {
        graph,
        audit: &audited,
        strandings: &strandings(graph, &audited, None),
        arrivals: None,
    };
    let text = format!("{:#}\n", told_audit::json(&report, None));
    *kept = Some((scope, now, text.clone()));
    body::json(StatusCode::OK, text)
}

fn answer_steering(
    snapshot: &Snapshot,
    asked: &SteerRequest,
    now: Timestamp,
) -> Result<Response<AnswerBody>, String> {
    let files = snapshot.graph_data.files();
    if files.is_empty() {
        return Ok(no_graph_data());
    }
    let plan = steering::plan(files, asked, now)?;
    let releases = snapshot.graph().declared();
    let before = graph_of(files, releases.clone())?;
    let after = graph_of(&plan.applied(files), releases)?;
    let told = steering::json(&plan, &plan.effect(&before, &after));
    Ok(body::json(StatusCode::OK, format!("{told:#}\n")))
}

impl Snapshot {
    /// The graph with one more file of graph data; none where there is no graph data, or it cannot be read.
    pub fn graph_with(&self, file: SourceFile) -> Option<Graph> {
        let known = self.graph_data.files();
        if known.is_empty() {
            return None;
        }
        let others = known.iter().filter(|one| one.path != file.path).cloned();
        let files: Vec<SourceFile> = others.chain([file.clone()]).collect();
        graph_of(&files, self.graph().declared()).ok()
    }
}

fn graph_of(files: &[SourceFile], releases: Releases) -> Result<Graph, String> {
    let (data, _) = data::read(files).map_err(|findings| {
        let first = findings.first().map(ToString::to_string);
        first.unwrap_or_default()
    })?;
    Ok(Graph::build(data, releases).0)
}

fn no_graph_data() -> Response<AnswerBody> {
    let sentence =
        "this service has no graph data of its own; ask the one in front of which it sits";
    body::error(StatusCode::NOT_FOUND, "does_not_exist", sentence)
}

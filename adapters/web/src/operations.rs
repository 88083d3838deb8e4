//! Endpoints for operators: liveness, readiness, metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::json;
use towpath_core::finding::Finding;
use towpath_formats::findings;

use crate::access::{self, Caller};
use crate::body::{self, AnswerBody};
use crate::ending::Stage;
use crate::fleet::query;
use crate::outcome_series::OutcomesCollector;
use crate::questions::Work;
use crate::refusal::OrRefusal;
use crate::watch_series::WatchCollector;
use crate::{Reload, ReloadResult, Service, Snapshot, fleet, signatures, sources};

/// How many findings a readiness answer shows.
const MAX_FINDINGS: usize = 50;
const DRAINING: &str = "not ready: draining, the service is about to stop";

pub(crate) fn liveness(_: &Service, head: &Parts, _: &str) -> OrRefusal<Response<AnswerBody>> {
    query::nothing(head)?;
    let text = json!({"status": "alive"}).to_string();
    Ok(body::json(StatusCode::OK, text))
}

/// Ready once there is a graph, until the service is told to stop. A failed reload is shown, but the service stays ready.
pub(crate) fn readiness(
    service: &Service,
    head: &Parts,
    _: &str,
) -> OrRefusal<Response<AnswerBody>> {
    query::nothing(head)?;
    let snapshot = service.snapshot();
    let reload = service.reload.load();
    let graph = snapshot.as_ref().map(|snapshot| {
        json!({
            "loadedAt": snapshot.loaded_at.to_string(),
            "ageSeconds": service.graph_age_seconds(),
            "digest": snapshot.digest,
            "releases": snapshot.graph().releases().len(),
            "edges": snapshot.graph().edges().len(),
            "channels": snapshot.graph().channels().len(),
            "blocks": snapshot.graph().blocks().len(),
            "halts": snapshot.graph().blocks().iter().filter(|block| block.halt.is_some()).count(),
        })
    });
    let is_draining = service.ending.has_come_to(Stage::Draining);
    let is_ready = graph.is_some() && !is_draining;
    let status = if is_ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let health = service.sources.load();
    let health = health.as_deref().map(Vec::as_slice).unwrap_or_default();
    let complaint = sources::complaint(health, service.now()).filter(|_| graph.is_some());
    let text = json!({
        "status": match is_draining {
            true => DRAINING.to_owned(),
            false => complaint.unwrap_or_else(|| word(graph.is_some(), &reload).to_owned()),
        },
        "graph": graph,
        "sources": sources::told(health, service.now()),
        "tls": service.tls.load().as_ref().map(|tls| tls.told()),
        "login": service.issuer_told(),
        "setup": findings::json(&service.setup_findings()),
        "signatures": signatures::told(service.signatures.load().as_deref(), service.now()),
        "lastReload": last_reload(&reload),
        "fleet": fleet_health(service, &Caller::of(head)),
    });
    Ok(body::json(status, format!("{text:#}\n")))
}

/// The fleet's state is only shown: graphs do not depend on it.
fn fleet_health(service: &Service, caller: &Caller) -> serde_json::Value {
    let health = service.fleet_health.load();
    match (service.fleet.load().is_some(), &*health) {
        (false, _) => json!({"configured": false}),
        (true, None) => json!({"configured": true, "store": "not looked at yet"}),
        (true, Some(health)) => json!({
            "configured": true,
            "store": if health.store_problem.is_none() { "reachable" } else { "unreachable" },
            "problem": health.store_problem.as_ref().or(health.pass_problem.as_ref()),
            "checkedAt": health.checked_at.to_string(),
            "lastPass": health.last_pass.map(|at| at.to_string()),
            "isScheduler": health.is_scheduler,
            "findings": findings(&health.findings, access::sight(service, caller) == fleet::Sight::Whole),
        }),
    }
}

/// The number of findings of each kind. Readers of the fleet also get the first ones, with names.
fn findings(findings: &[Finding], may_read: bool) -> serde_json::Value {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for finding in findings {
        *kinds.entry(finding.code).or_default() += 1;
    }
    let errors = findings.iter().filter(|finding| finding.is_error()).count();
    let mut told = json!({"errors": errors, "warnings": findings.len() - errors, "kinds": kinds});
    if may_read {
        let shown = &findings[..findings.len().min(MAX_FINDINGS)];
        told["shown"] = findings::json(shown);
        told["leftOut"] = json!(findings.len() - shown.len());
    }
    told
}

fn word(has_graph: bool, reload: &Reload) -> &'static str {
    match (has_graph, reload.result) {
        (true, ReloadResult::Failed) => "ready, serving the last good graph",
        (true, _) => "ready",
        (false, ReloadResult::Pending) => "not ready: the graph is being loaded",
        (false, _) => "not ready: no graph could be loaded",
    }
}

fn last_reload(reload: &Reload) -> serde_json::Value {
    let shown = &reload.findings[..reload.findings.len().min(MAX_FINDINGS)];
    json!({
        "at": reload.at.to_string(),
        "result": reload.result.as_str(),
        "findings": findings::json(shown),
        "findingsLeftOut": reload.findings.len().saturating_sub(MAX_FINDINGS),
    })
}

/// There may be thousands of series.
pub(crate) fn metrics(service: &Arc<Service>, head: &Parts) -> OrRefusal<Work> {
    query::nothing(head)?;
    let (service, sight) = (service.clone(), access::sight(service, &Caller::of(head)));
    Ok(Box::new(move |_| written(&service, sight)))
}

pub(crate) fn written(service: &Service, sight: fleet::Sight) -> Response<AnswerBody> {
    let fleet = service
        .fleet_metrics
        .load_full()
        .map(|metrics| (metrics, sight));
    let (snapshot, now) = (service.snapshot(), service.now());
    let outcomes = service.outcomes.load_full().map(|outcomes| {
        let windows = snapshot.as_deref().map_or(&[][..], Snapshot::rollouts);
        OutcomesCollector::new(outcomes, windows, now)
    });
    let health = (
        fleet,
        service.sources.load_full(),
        service.signatures.load_full(),
        outcomes,
        WatchCollector {
            watch: service.watch_metrics.load_full(),
            query: service.query_metrics.load_full(),
            log: service.log_metrics.load_full(),
        },
        service.tls.load_full(),
        service.issuer_collector(),
    );
    let age = service.graph_age_seconds();
    let Ok(text) = service.metrics.write(snapshot, health, age, now) else {
        return body::error(
            StatusCode::INTERNAL_SERVER_ERROR,
            "failed_metrics",
            "the metrics could not be written",
        );
    };
    let mut response = Response::new(AnswerBody::from(text));
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

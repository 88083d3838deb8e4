//! An audit as JSON: every certificate, and every stranded release.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use towpath_core::audit::{
    GoalOutcome, Reachability, ReleaseReport, Section, StrandedReleases, Stranding, StrandingCause,
};
use towpath_core::graph::{BlockId, ClientClass, Graph, ReleaseId};
use towpath_core::version::Version;

use super::AuditReport;

/// Everything that was found, or the ways of one release only.
pub fn json(report: &AuditReport<'_>, only: Option<&Version>) -> Value {
    let AuditReport { graph, audit, .. } = report;
    json!({
        "at": audit.at.to_string(),
        "sections": audit.sections.iter().map(|one| section(graph, one, only)).collect::<Vec<_>>(),
        "stranded": report.strandings.iter().map(|one| stranding(report, one)).collect::<Vec<_>>(),
    })
}

fn section(graph: &Graph, section: &Section, only: Option<&Version>) -> Value {
    let tally = section.tally();
    let wanted = |standing: &&ReleaseReport| {
        only.is_none_or(|only| graph.release(standing.release).version == *only)
    };
    let releases = section.releases.iter().filter(wanted).map(|standing| {
        json!({
            "version": version(graph, standing.release),
            "minor": outlook(graph, &standing.minor),
            "head": outlook(graph, &standing.head),
        })
    });
    json!({
        "channel": section.channel.as_str(),
        "arch": section.arch.as_str(),
        "clients": clients(&section.clients),
        "tally": {"plain": tally.plain, "conditional": tally.conditional, "stranded": tally.stranded},
        "releases": releases.collect::<Vec<_>>(),
    })
}

fn outlook(graph: &Graph, outlook: &Reachability) -> Value {
    let mut value =
        json!({"goal": version(graph, outlook.goal), "grade": outlook.outcome.grade().code()});
    match &outlook.outcome {
        GoalOutcome::Way(way) => {
            value["way"] = versions(graph, &way.releases);
            value["risks"] = way
                .risks
                .iter()
                .map(|risk| json!(graph.risk(*risk).name))
                .collect();
        }
        GoalOutcome::Stranded(StrandingCause::Blocks { blocks, way }) => {
            value["cause"] = json!("blocks");
            value["blocks"] = files(graph, blocks);
            value["wayWithoutThem"] = versions(graph, way);
        }
        GoalOutcome::Stranded(StrandingCause::NoEdgeLeaves) => {
            value["cause"] = json!("noEdgeLeaves")
        }
        GoalOutcome::Stranded(StrandingCause::NoEdgeReaches) => {
            value["cause"] = json!("noEdgeReaches")
        }
    }
    value
}

fn stranding(report: &AuditReport<'_>, stranding: &Stranding) -> Value {
    let graph = report.graph;
    let arrivals = report.arrivals;
    let since = arrivals.and_then(|arrivals| stranding.barrier.since(graph, arrivals));
    let spot = |spot: &StrandedReleases| {
        json!({
            "channel": spot.channel.as_str(),
            "arch": spot.arch.as_str(),
            "clients": clients(&spot.clients),
            "goal": version(graph, spot.goal),
            "releases": versions(graph, &spot.releases),
        })
    };
    json!({
        "cause": stranding.barrier.code(),
        "blocks": stranding.barrier.blocks().map(|blocks| files(graph, blocks)),
        "since": since.map(|since| since.to_string()),
        "spots": stranding.spots.iter().map(spot).collect::<Vec<_>>(),
    })
}

fn clients(classes: &BTreeSet<ClientClass>) -> Value {
    classes.iter().map(|class| json!(class.code())).collect()
}

fn files(graph: &Graph, blocks: &BTreeSet<BlockId>) -> Value {
    blocks
        .iter()
        .map(|block| json!(graph.block(*block).origin.file))
        .collect()
}

fn versions(graph: &Graph, releases: &[ReleaseId]) -> Value {
    releases
        .iter()
        .map(|release| version(graph, *release))
        .collect()
}

fn version(graph: &Graph, release: ReleaseId) -> Value {
    json!(graph.release(release).version.to_string())
}

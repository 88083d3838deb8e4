//! Estimates and fits as JSON. Field names are stable, and durations are whole seconds.

use serde_json::{Value, json};
use towpath_core::duration::{
    Calibration, CalibrationVerdict, Estimate, FittedGroup, Spread, UpdateShare, path_duration,
};

use super::{Estimated, Fitted};

/// How long each update takes, and all of them.
pub fn estimate_json(told: &Estimated<'_>) -> Value {
    let (control_plane, total) = path_duration(told.hops);
    let hops = told.versions.windows(2).zip(told.hops);
    json!({
        "hops": hops.map(|(ends, estimate)| {
            let mut value = self::estimate(estimate);
            value["from"] = ends[0].to_string().into();
            value["to"] = ends[1].to_string().into();
            value
        }).collect::<Vec<_>>(),
        "controlPlaneSeconds": spread_json(control_plane),
        "totalSeconds": spread_json(total),
    })
}

/// What was learnt from histories, without the parameters themselves.
pub fn fit_json(told: &Fitted<'_>) -> Value {
    let Fitted {
        fit,
        operators,
        counts,
        findings,
    } = told;
    let operators = operators.iter().map(|phase| {
        json!({
            "operator": phase.operator,
            "clusters": phase.clusters,
            "restsAfterPermille": spread_json(phase.rests_after),
        })
    });
    let left_out = counts
        .left_out
        .iter()
        .map(|(reason, count)| (reason.code().to_owned(), json!(count)));
    json!({
        "clusterVersions": counts.cluster_versions,
        "storeUpdates": counts.attempts,
        "updates": fit.calibration.p50.of,
        "leftOut": left_out.collect::<serde_json::Map<_, _>>(),
        "groups": fit.groups.iter().map(group).collect::<Vec<_>>(),
        "growth": fit.parameters.growth.as_ref().map(|growth| json!({
            "permillePerHundredNodes": growth.permille,
            "upToNodes": growth.up_to,
        })),
        "operators": operators.collect::<Vec<_>>(),
        "heldOut": calibration(&fit.calibration),
        "before": calibration(&fit.before),
        "findings": crate::findings::json(findings),
    })
}

pub fn spread_json(spread: Spread) -> Value {
    json!({"low": spread.low, "likely": spread.likely, "high": spread.high})
}

/// How long one update takes.
pub(crate) fn estimate(estimate: &Estimate) -> Value {
    let pool = |pool: &towpath_core::duration::PoolEstimate| {
        json!({
            "name": pool.name,
            "atOnce": pool.at_once,
            "iterations": pool.iterations,
            "seconds": spread_json(pool.spread),
        })
    };
    json!({
        "controlPlaneSeconds": spread_json(estimate.control_plane),
        "controlPlaneNodesSeconds": spread_json(estimate.masters),
        "daemonSetSeconds": estimate.waves,
        "workerPoolsSeconds": spread_json(estimate.workers),
        "workerPools": estimate.pools.iter().map(pool).collect::<Vec<_>>(),
        "totalSeconds": spread_json(estimate.total),
        "basis": estimate.basis.to_string(),
        "origin": {"kind": estimate.origin.kind.code(), "note": estimate.origin.note},
    })
}

fn group(group: &FittedGroup) -> Value {
    json!({
        "basis": group.basis.to_string(),
        "updates": group.updates,
        "measuredSeconds": spread_json(group.measured),
        "fittedSeconds": spread_json(group.fitted),
    })
}

fn calibration(calibration: &Calibration) -> Value {
    let hundredths = |number: f64| (number * 100.0).round() / 100.0;
    let share = |share: UpdateShare| {
        json!({
            "within": share.within,
            "of": share.of,
            "expected": share.expected,
            "verdict": match share.verdict() {
                CalibrationVerdict::TooFew => "tooFew",
                CalibrationVerdict::Fits => "fits",
                CalibrationVerdict::TooShort => "tooShort",
                CalibrationVerdict::TooLong => "tooLong",
            },
        })
    };
    json!({
        "p10": share(calibration.p10),
        "p50": share(calibration.p50),
        "p90": share(calibration.p90),
        "typicalFactor": hundredths(calibration.typical_factor),
    })
}

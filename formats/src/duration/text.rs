//! Estimates and fits as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use towpath_core::duration::{
    Calibration, CalibrationVerdict, Estimate, Ground, MaxUnavailable, NodeGrowth, OperatorPhase,
    PoolShape, Rollout, Seconds, Shape, Spread, UpdateShare, path_duration,
};
use towpath_core::finding::Finding;

use super::{Estimated, Fitted};
use crate::words::{beyond, counted};

/// How many steps and pairs are shown; the file of parameters has all of them.
const MAX_GROUPS: usize = 30;
/// How many findings are shown.
const MAX_FINDINGS: usize = 20;

/// How long each update takes, and all of them.
pub fn estimate_text(told: &Estimated<'_>) -> String {
    let mut text = format!("{}\n\n", described(told.shape));
    let mut rows = vec![[
        "".to_owned(),
        "control plane".to_owned(),
        "worker pools".to_owned(),
        "all in all".to_owned(),
    ]];
    for (ends, estimate) in told.versions.windows(2).zip(told.hops) {
        let workers = match estimate.pools.is_empty() {
            true => "none".to_owned(),
            false => spread_text(estimate.workers),
        };
        let update = format!("{} to {}", ends[0], ends[1]);
        rows.push([
            update,
            spread_text(estimate.control_plane),
            workers,
            spread_text(estimate.total),
        ]);
    }
    if told.hops.len() > 1 {
        let (control_plane, total) = path_duration(told.hops);
        rows.push([
            "together".to_owned(),
            spread_text(control_plane),
            String::new(),
            spread_text(total),
        ]);
    }
    text.push_str(&table(&rows));
    text.push_str("\nEstimates: likely (low to high). The control plane excludes worker pools, which update beside its nodes.\n");
    for line in explained(told) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// What was learnt from histories.
pub fn fit_text(told: &Fitted<'_>) -> String {
    let Fitted {
        fit,
        operators,
        counts,
        findings,
    } = told;
    let updates = fit.calibration.p50.of;
    let read = counts.sources();
    let mut text = unread(findings);
    let _ = write!(text, "{} in {read}", counted(updates, "completed update"));
    let left_out: Vec<String> = counts
        .left_out
        .iter()
        .map(|(reason, count)| format!("{count} {}", reason.noun(*count)))
        .collect();
    let _ = match left_out.is_empty() {
        true => writeln!(text, "."),
        false => writeln!(text, "; left out: {}.", left_out.join(", ")),
    };
    if updates == 0 {
        return text + "There is nothing to learn from.\n";
    }
    let mut rows = vec![["", "updates", "P50", "P90", "taken as P50", "P90"].map(str::to_owned)];
    for group in fit.groups.iter().take(MAX_GROUPS) {
        let [own, own_high, taken, taken_high] = [
            group.measured.likely,
            group.measured.high,
            group.fitted.likely,
            group.fitted.high,
        ]
        .map(short);
        rows.push([
            group.basis.to_string(),
            group.updates.to_string(),
            own,
            own_high,
            taken,
            taken_high,
        ]);
    }
    let _ = write!(text, "\n{}", table(&rows));
    text += &beyond(fit.groups.len(), MAX_GROUPS, |more| {
        format!("and {more} more; the file of parameters has all\n")
    });
    text.push_str(&grown(fit.parameters.growth.as_ref()));
    text.push_str(&phases(operators));
    text.push_str("\nEach cluster predicted from the updates of others:\n");
    text.push_str(&calibrated(&fit.calibration));
    text.push_str("\nThe same updates, predicted with the earlier parameters:\n");
    text + &calibrated(&fit.before)
}

/// The control plane by operator.
fn phases(operators: &[OperatorPhase]) -> String {
    if operators.is_empty() {
        return String::new();
    }
    let percent = |permille: Seconds| format!("{} %", (permille + 5) / 10);
    let head = ["operator", "clusters", "at rest after P50", "P10", "P90"];
    let mut rows = vec![head.map(str::to_owned)];
    for phase in operators {
        let Spread { low, likely, high } = phase.rests_after;
        rows.push([
            phase.operator.clone(),
            phase.clusters.to_string(),
            percent(likely),
            percent(low),
            percent(high),
        ]);
    }
    format!(
        "\nWhen operators come to rest, of the control plane's time:\n{}",
        table(&rows)
    )
}

/// What was learnt of the number of nodes.
fn grown(growth: Option<&NodeGrowth>) -> String {
    match growth {
        None => "\nHow many nodes the clusters have is not known of enough of them, or differs too little to learn from.\n"
            .to_owned(),
        Some(NodeGrowth {
            permille, up_to, ..
        }) => format!(
            "\nA hundred nodes more add {}.{} %, as clusters of up to {} show.\n",
            permille / 10,
            permille % 10,
            counted(*up_to as usize, "node")
        ),
    }
}

pub(super) fn unread(findings: &[Finding]) -> String {
    let shown = findings.iter().take(MAX_FINDINGS);
    let text: String = shown.map(|finding| format!("{finding}\n")).collect();
    text + &beyond(findings.len(), MAX_FINDINGS, |more| {
        format!("and {more} more like these\n")
    })
}

/// `1h 10m (1h 0m to 3h 31m)`.
pub fn spread_text(spread: Spread) -> String {
    match spread.low == spread.high {
        true => short(spread.likely),
        false => format!(
            "{} ({} to {})",
            short(spread.likely),
            short(spread.low),
            short(spread.high)
        ),
    }
}

/// To the minute, rounded: `1h 10m`; below a minute to the second.
pub(crate) fn short(seconds: Seconds) -> String {
    if seconds < 60 {
        return format!("{seconds}s");
    }
    let minutes = (seconds + 30) / 60;
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes}m"),
        (hours, minutes) => format!("{hours}h {minutes:02}m"),
    }
}

pub(crate) fn described(shape: &Shape) -> String {
    let ground = |ground: Ground| match ground {
        Ground::Cloud => "in a cloud",
        Ground::Metal => "on metal",
    };
    let pools: Vec<String> = shape
        .pools
        .iter()
        .map(|pool| pool_text(pool, ground(pool.machines.ground)))
        .collect();
    let masters = counted(shape.control_plane.nodes as usize, "control-plane node");
    let ground = ground(shape.control_plane.machines.ground);
    match pools.is_empty() {
        true => format!("{masters} {ground}, no worker pools."),
        false => format!("{masters} {ground}; {}.", pools.join("; ")),
    }
}

fn pool_text(pool: &PoolShape, ground: &str) -> String {
    let nodes = counted(pool.nodes as usize, "node");
    let setting = match pool.max_unavailable {
        MaxUnavailable::Count(_) => String::new(),
        MaxUnavailable::Percent(percent) => format!(" ({percent} %)"),
    };
    match pool.rollout {
        Rollout::Paused => format!("pool {}: {nodes} {ground}, paused", pool.name),
        Rollout::Runs => format!(
            "pool {}: {nodes} {ground}, {} at a time{setting}",
            pool.name,
            pool.at_once()
        ),
    }
}

/// What the figures are made of.
fn explained(told: &Estimated<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(first) = told.hops.first() {
        lines.extend(made_of(first));
    }
    let mut bases: BTreeMap<String, String> = BTreeMap::new();
    for hop in told.hops {
        bases.insert(
            hop.basis.to_string(),
            format!("{} ({})", hop.origin.note, hop.origin.kind.code()),
        );
    }
    lines.extend(
        bases
            .into_iter()
            .map(|(basis, origin)| format!("Based on {basis}: {origin}.")),
    );
    lines
}

fn made_of(hop: &Estimate) -> Vec<String> {
    let mut lines = vec![format!(
        "Each update has in it, of the control plane's nodes: {}.",
        spread_text(hop.masters)
    )];
    if hop.waves > 0 {
        lines.push(format!(
            "With this many nodes, DaemonSets add {}.",
            short(hop.waves)
        ));
    }
    for pool in &hop.pools {
        let rounds = counted(pool.iterations as usize, "round");
        lines.push(format!(
            "Pool {}: {rounds} of up to {}: {}.",
            pool.name,
            counted(pool.at_once as usize, "node"),
            spread_text(pool.spread)
        ));
    }
    lines
}

fn calibrated(calibration: &Calibration) -> String {
    let mut text = String::new();
    let shares = [
        ("low bound", calibration.p10),
        ("P50", calibration.p50),
        ("P90", calibration.p90),
    ];
    for (name, share) in shares {
        let _ = writeln!(text, "  {}", share_text(name, share));
    }
    let _ = writeln!(
        text,
        "  half of them within a factor of {:.2} of the P50",
        calibration.typical_factor
    );
    text
}

fn share_text(name: &str, share: UpdateShare) -> String {
    let percent = |fraction: f64| (fraction * 100.0).round();
    let verdict = match share.verdict() {
        CalibrationVerdict::TooFew => "too few to tell".to_owned(),
        CalibrationVerdict::Fits => "as it should be".to_owned(),
        CalibrationVerdict::TooShort => format!("the {name} is too short"),
        CalibrationVerdict::TooLong => format!("the {name} is too long"),
    };
    format!(
        "{} of {} within the {name}: {} %; expected {} %, give or take {} by chance: {verdict}",
        share.within,
        share.of,
        percent(share.fraction()),
        percent(share.expected),
        percent(share.chance()),
    )
}

/// Columns side by side; the first and what has no digits to compare to the left.
pub(super) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        let _ = writeln!(text, "{}", cells.join("   ").trim_end());
    }
    text
}

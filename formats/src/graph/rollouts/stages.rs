//! Stages of a window, for people, for JSON, and as graph data has them.

use jiff::SignedDuration;
use serde_json::{Value, json};
use towpath_core::graph::{Share, Window};

/// When each stage begins, counted from the window's start, and how much of the fleet has begun with it. Nothing for other ramps.
pub(super) fn stages(window: &Window) -> impl Iterator<Item = (SignedDuration, Share)> {
    let shares = window.ramp.stages();
    let shares: Vec<Share> = shares.iter().flat_map(|stages| stages.shares()).collect();
    let after = window.bends().map(|at| at.duration_since(window.start));
    after.zip(shares)
}

pub(super) fn stages_json(window: &Window) -> Value {
    stages(window)
        .map(|(after, share)| json!({"after": after.to_string(), "share": share.as_fraction()}))
        .collect()
}

/// The field of a rule that says so: `stages: [0.5%, 12%]`.
pub(super) fn stages_field(window: &Window) -> Option<String> {
    let stages = window.ramp.stages()?;
    let percent = |share: &u16| match (share / 100, share % 100) {
        (whole, 0) => format!("{whole}%"),
        (whole, part) if part % 10 == 0 => format!("{whole}.{}%", part / 10),
        (whole, part) => format!("{whole}.{part:02}%"),
    };
    let percents: Vec<String> = stages.hundredths().iter().map(percent).collect();
    Some(format!("stages: [{}]", percents.join(", ")))
}

//! A drawing in DOT, the language of Graphviz. Releases have their places (`neato -n` keeps them); `dot` makes its own layout.

use std::fmt::Write;

use towpath_core::graph::EdgeStatus;

use super::sketch::Sketch;
use crate::words::plain;

/// The distances between releases, in points.
const COLUMN: u32 = 90;
const LANE: u32 = 120;

/// The drawing, as a whole file.
pub(super) fn dot(sketch: &Sketch) -> String {
    let mut dot = format!(
        "digraph towpath {{\n  graph [label={}, labelloc=t, rankdir=LR, fontname=\"monospace\"];\n  \
         node [shape=box, style=rounded, fontname=\"monospace\", fontsize=10];\n  edge [fontname=\"monospace\", fontsize=8];\n",
        quoted(&sketch.title)
    );
    let lowest = (sketch.lanes.len() as u32).saturating_sub(1);
    for (lane, name) in (0..).zip(&sketch.lanes) {
        let _ = writeln!(
            dot,
            "  subgraph cluster_{lane} {{\n    label={};",
            quoted(name)
        );
        let releases = sketch.releases.iter().enumerate();
        for (number, release) in releases.filter(|(_, release)| release.place.lane == lane) {
            let (x, y) = (release.place.x * COLUMN, (lowest - lane) * LANE);
            let tooltip = release.note.as_deref().unwrap_or(&release.version);
            let _ = writeln!(
                dot,
                "    r{number} [label={}, tooltip={}, pos=\"{x},{y}\"];",
                quoted(&release.version),
                quoted(tooltip)
            );
        }
        dot.push_str("  }\n");
    }
    for link in &sketch.links {
        let _ = writeln!(
            dot,
            "  r{} -> r{} [class={}, {}, tooltip={}];",
            link.from,
            link.to,
            quoted(link.kind.name()),
            style(link.kind),
            quoted(&sketch.words(link))
        );
    }
    dot.push_str("}\n");
    dot
}

/// The line of a kind: colour, and something that is seen without colours.
fn style(kind: EdgeStatus) -> &'static str {
    match kind {
        EdgeStatus::Offered => "color=\"#0969da\"",
        EdgeStatus::Conditional => "color=\"#9a6700\", style=dashed",
        EdgeStatus::Skipped => "color=\"#8250df\", style=dotted, arrowhead=odot",
        EdgeStatus::Phasing => "color=\"#0e7c86\", style=dashed, penwidth=2.5, arrowhead=empty",
        EdgeStatus::Entering => "color=\"#0e7c86\", style=dotted, arrowhead=empty",
        EdgeStatus::Held => "color=\"#6e7781\", penwidth=2, arrowhead=obox",
        EdgeStatus::Stale => "color=\"#6e7781\", style=dashed, arrowhead=obox",
        EdgeStatus::NotForPlatform => "color=\"#cf222e\", style=dashed, arrowhead=tee",
        EdgeStatus::Blocked => "color=\"#cf222e\", style=dotted, arrowhead=tee",
        EdgeStatus::NotInChannel | EdgeStatus::NoEdge => {
            "color=\"#6e7781\", style=dotted, arrowhead=none"
        }
    }
}

/// A text as a string of DOT. A backslash would begin one of its own sequences.
fn quoted(text: &str) -> String {
    let text = plain(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

//! A drawing in Mermaid, for pages that draw it, such as those of code forges.

use std::collections::BTreeMap;
use std::fmt::Write;

use towpath_core::graph::EdgeStatus;

use super::sketch::Sketch;
use crate::words::plain;

/// The drawing, as a whole text.
pub(super) fn mermaid(sketch: &Sketch) -> String {
    let mut text = format!(
        "flowchart LR\n  accTitle: {}\n  accDescr: {}\n",
        escaped(&sketch.title),
        escaped(&sketch.description)
    );
    for (lane, name) in (0..).zip(&sketch.lanes) {
        let _ = writeln!(text, "  subgraph lane{lane}[\"{}\"]", escaped(name));
        let releases = sketch.releases.iter().enumerate();
        for (number, release) in releases.filter(|(_, release)| release.place.lane == lane) {
            let _ = writeln!(text, "    r{number}[\"{}\"]", escaped(&release.version));
        }
        text.push_str("  end\n");
    }
    let mut drawn: BTreeMap<EdgeStatus, Vec<String>> = BTreeMap::new();
    for (number, link) in sketch.links.iter().enumerate() {
        let label = link
            .note
            .iter()
            .map(|note| format!("|\"{}\"|", escaped(note)));
        let label: String = label.collect();
        let _ = writeln!(
            text,
            "  r{} {}{label} r{}",
            link.from,
            arrow(link.kind),
            link.to
        );
        drawn.entry(link.kind).or_default().push(number.to_string());
    }
    for (kind, numbers) in drawn {
        let _ = writeln!(
            text,
            "  linkStyle {} stroke:{}",
            numbers.join(","),
            colour(kind)
        );
    }
    text
}

/// The line of a kind: full, dotted or thick; with a cross where it is not for this cluster.
fn arrow(kind: EdgeStatus) -> &'static str {
    match kind {
        EdgeStatus::Offered => "-->",
        EdgeStatus::Conditional | EdgeStatus::Entering => "-.->",
        EdgeStatus::Phasing => "==>",
        EdgeStatus::Skipped => "-.-o",
        EdgeStatus::Held | EdgeStatus::Stale => "--o",
        EdgeStatus::NotForPlatform => "-.-x",
        EdgeStatus::Blocked => "--x",
        EdgeStatus::NotInChannel | EdgeStatus::NoEdge => "-.-",
    }
}

fn colour(kind: EdgeStatus) -> &'static str {
    match kind {
        EdgeStatus::Offered => "#0969da",
        EdgeStatus::Conditional => "#9a6700",
        EdgeStatus::Skipped => "#8250df",
        EdgeStatus::Phasing | EdgeStatus::Entering => "#0e7c86",
        EdgeStatus::NotForPlatform | EdgeStatus::Blocked => "#cf222e",
        EdgeStatus::Held | EdgeStatus::Stale | EdgeStatus::NotInChannel | EdgeStatus::NoEdge => {
            "#6e7781"
        }
    }
}

/// A text with every character by its number that may mean something to Mermaid: quotes, brackets, and `%%{`, which begins a directive
/// wherever it stands.
fn escaped(text: &str) -> String {
    let is_safe = |c: char| {
        c.is_alphanumeric() || matches!(c, ' ' | '.' | ',' | ':' | '-' | '_' | '/' | '(' | ')')
    };
    let mut escaped = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match is_safe(c) {
            true => escaped.push(c),
            false => {
                let _ = write!(escaped, "#{};", u32::from(c));
            }
        }
    }
    escaped
}

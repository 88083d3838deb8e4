//! The plan as SVG that stands alone: a row for each wave, a bar for when it goes, and what moves. Words say what colours say.
//!
//! The bars are as long as a wave likely takes, one after the other.

use std::fmt::Write;

use towpath_core::nodes::{Model, Move, PlannedWave, PoolOutlook, PoolPlan};

use super::{PlanReport, node_name, pod_name, zone_name};
use crate::picture::escaped;
use crate::words::{counted, first_names};

const ROW: usize = 22;
const TOP: usize = 64;
/// Where the bars begin, and how wide all of them are together.
const LEFT: usize = 330;
const BARS: usize = 640;
const RIGHT: usize = 330;
/// The most rows. A plan of more waves says how many are left out.
const MAX_ROWS: usize = 500;
/// How many names stand in a row, and how many moves in its title.
const SHOWN_NAMES: usize = 3;
const SHOWN_MOVES: usize = 40;
/// Zones share these colours.
const ZONES: usize = 6;

const STYLE: &str = "\
text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328}.title{font-size:14px;font-weight:600}.pool{font-weight:600}\
.paper{fill:#ffffff}\
.zone0{fill:#0969da}.zone1{fill:#9a6700}.zone2{fill:#0e7c86}.zone3{fill:#8250df}.zone4{fill:#bf3989}.zone5{fill:#57606a}\
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}}";

/// A row: what goes, when, and what it does.
struct Row {
    name: String,
    class: String,
    /// Which of all waves it is; none for what is not a wave.
    wave: Option<usize>,
    says: String,
    /// Shown when somebody points at it.
    title: String,
}

/// The drawing, as a whole file.
pub fn drawing(told: &PlanReport<'_>) -> String {
    let model = &told.plan.model;
    let waves: usize = told.plan.pools.iter().map(|pool| pool.waves.len()).sum();
    let mut rows = Vec::new();
    let mut before = 0;
    for pool in &told.plan.pools {
        rows.extend(of_pool(model, pool, before));
        before += pool.waves.len();
    }
    let left_out = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    let minutes = told.plan.takes.likely.div_ceil(60);
    let title = format!(
        "{} in about {}",
        counted(waves, "wave"),
        counted(minutes as usize, "minute")
    );
    let outcome = &told.plan.outcome;
    let description = format!(
        "{} move, {} of them more than once",
        counted(outcome.moved, "pod"),
        outcome.moved_again
    );
    let (width, height) = (LEFT + BARS + RIGHT, TOP + (rows.len() + 2) * ROW);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title description\">\n\
         <title id=\"title\">{}</title>\n<desc id=\"description\">{}</desc>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
         <text class=\"title\" x=\"16\" y=\"28\">{}</text>\n<text x=\"16\" y=\"46\">{}</text>\n",
        escaped(&title),
        escaped(&description),
        escaped(&title),
        escaped(&description)
    );
    for (at, row) in rows.iter().enumerate() {
        draw(&mut svg, row, TOP + at * ROW, waves);
    }
    if left_out > 0 {
        let y = TOP + (rows.len() + 1) * ROW;
        let _ = writeln!(
            svg,
            "<text x=\"16\" y=\"{y}\">and {left_out} more rows</text>"
        );
    }
    svg + "</svg>\n"
}

fn draw(svg: &mut String, row: &Row, y: usize, waves: usize) {
    let base = y + ROW - 7;
    let _ = writeln!(svg, "<g><title>{}</title>", escaped(&row.title));
    let class = if row.wave.is_none() {
        " class=\"pool\""
    } else {
        ""
    };
    let _ = writeln!(
        svg,
        "<text{class} x=\"16\" y=\"{base}\">{}</text>",
        escaped(&row.name)
    );
    let mut after = LEFT;
    if let Some(wave) = row.wave {
        let (from, to) = (BARS * wave / waves.max(1), BARS * (wave + 1) / waves.max(1));
        let (x, long) = (LEFT + from, (to - from).max(2));
        let _ = writeln!(
            svg,
            "<rect class=\"{}\" x=\"{x}\" y=\"{}\" width=\"{long}\" height=\"{}\" rx=\"2\"/>",
            row.class,
            y + 3,
            ROW - 6
        );
        after = x + long;
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{base}\">{}</text></g>",
        after + 8,
        escaped(&row.says)
    );
}

fn of_pool(model: &Model, pool: &PoolPlan, before: usize) -> Vec<Row> {
    let says = match pool.state {
        PoolOutlook::Goes => format!("at most {} away", pool.most_away),
        PoolOutlook::Paused => "is paused and stays".to_owned(),
        PoolOutlook::NoSlot => "no node can go".to_owned(),
    };
    let plain_row = |name: String, says: String, title: String| Row {
        name,
        class: String::new(),
        wave: None,
        says,
        title,
    };
    let head = plain_row(format!("pool {}", pool.name), says.clone(), says);
    let waves = pool.waves.iter().enumerate();
    let waves = waves.map(|(at, wave)| of_wave(model, wave, before + at));
    let held = pool.held.iter().map(|held| {
        let pods = held.pods.iter().map(|pod| pod_name(model, *pod));
        let says = format!("held by {}", first_names(pods, SHOWN_NAMES));
        plain_row(node_name(model, held.node).to_owned(), says.clone(), says)
    });
    let even = (!pool.rebalanced.is_empty()).then(|| {
        let says = format!(
            "{} move so that nodes are even",
            counted(pool.rebalanced.len(), "pod")
        );
        plain_row(
            "at the end".to_owned(),
            says,
            titled(model, &pool.rebalanced),
        )
    });
    [head]
        .into_iter()
        .chain(waves)
        .chain(held)
        .chain(even)
        .collect()
}

fn of_wave(model: &Model, wave: &PlannedWave, at: usize) -> Row {
    let nodes = wave.nodes.iter().map(|node| node_name(model, *node));
    let zone = zone_name(model, wave).map_or(String::new(), |zone| format!(" in {zone}"));
    let mut says = counted(wave.drain.moves.len(), "move");
    if wave.drain.softened > 0 {
        says.push_str(&format!(", {} to nodes not updated", wave.drain.softened));
    }
    if !wave.drain.waiting.is_empty() {
        says.push_str(&format!(
            ", {} waiting",
            counted(wave.drain.waiting.len(), "pod")
        ));
    }
    Row {
        name: first_names(nodes, SHOWN_NAMES) + &zone,
        class: format!("zone{}", wave.zone.map_or(0, |zone| zone as usize % ZONES)),
        wave: Some(at),
        says,
        title: titled(model, &wave.drain.moves),
    }
}

fn titled(model: &Model, moves: &[Move]) -> String {
    let one = |one: &Move| {
        let to = one.to.map_or("nowhere", |to| node_name(model, to));
        format!(
            "{} from {} to {to}",
            pod_name(model, one.pod),
            node_name(model, one.from)
        )
    };
    match moves {
        [] => "no pod moves".to_owned(),
        moves => first_names(moves.iter().map(one), SHOWN_MOVES),
    }
}

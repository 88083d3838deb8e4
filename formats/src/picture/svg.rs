//! A drawing as SVG that stands alone: its own styles, for light and dark; a title; words at every release and update.
//!
//! All coordinates are whole numbers. A line's dashes and width tell kinds apart as its colour does.

use std::fmt::Write;

use towpath_core::graph::EdgeStatus;
use towpath_core::picture::GridPlace;

use super::sketch::{Sketch, SketchLink};
use crate::words::plain;

const COLUMN: u32 = 84;
const LANE: u32 = 110;
const LEFT: u32 = 90;
const TOP: u32 = 80;
const RADIUS: u32 = 6;
/// The height of a line of the legend.
const LEGEND: u32 = 20;
/// An arc within a lane is at most so high.
const HIGHEST_ARC: u32 = 60;

/// The drawing, as a whole file.
pub(super) fn svg(sketch: &Sketch) -> String {
    let kinds = sketch.kinds();
    let lanes = sketch.lanes.len() as u32;
    let width = LEFT + sketch.width.max(6) * COLUMN;
    let height = TOP + lanes * LANE + (kinds.len() as u32 + 1) * LEGEND;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title description\">\n\
         <title id=\"title\">{}</title>\n<desc id=\"description\">{}</desc>\n<style>{STYLE}</style>\n",
        escaped(&sketch.title),
        escaped(&sketch.description)
    );
    for kind in kinds.keys() {
        svg.push_str(&arrow(*kind));
    }
    line(
        &mut svg,
        format_args!("<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>"),
    );
    line(
        &mut svg,
        format_args!(
            "<text class=\"title\" x=\"16\" y=\"28\">{}</text>",
            escaped(&sketch.title)
        ),
    );
    for (lane, name) in (0..).zip(&sketch.lanes) {
        let y = y_of(lane);
        line(
            &mut svg,
            format_args!(
                "<text class=\"lane\" x=\"16\" y=\"{}\">{}</text>",
                y + 4,
                escaped(name)
            ),
        );
        line(
            &mut svg,
            format_args!(
                "<line class=\"lane\" x1=\"{}\" y1=\"{y}\" x2=\"{width}\" y2=\"{y}\"/>",
                LEFT - 20
            ),
        );
    }
    for link in &sketch.links {
        update(&mut svg, sketch, link);
    }
    for release in &sketch.releases {
        let (x, y) = (x_of(release.place), y_of(release.place.lane));
        let version = escaped(&release.version);
        let note = release
            .note
            .iter()
            .map(|note| format!(" ({})", escaped(note)));
        let note: String = note.collect();
        line(
            &mut svg,
            format_args!(
                "<g class=\"release\"><title>{version}{note}</title><circle cx=\"{x}\" cy=\"{y}\" r=\"{RADIUS}\"/><text x=\"{x}\" y=\"{}\">{version}</text></g>",
                y + 20
            ),
        );
    }
    for (number, (kind, count)) in (0..).zip(&kinds) {
        let y = TOP + lanes * LANE + number * LEGEND;
        line(
            &mut svg,
            format_args!(
                "<line class=\"{}\" x1=\"16\" y1=\"{y}\" x2=\"64\" y2=\"{y}\"/><text class=\"legend\" x=\"76\" y=\"{}\">{} ({count})</text>",
                kind.name(),
                y + 4,
                escaped(kind.text())
            ),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

const STYLE: &str = "\
text{font:10px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328}\
.title{font-size:14px;font-weight:600}.lane{font-size:12px}.legend{font-size:12px}\
.release text{text-anchor:middle}.release circle{fill:#ffffff;stroke:#1f2328;stroke-width:2}\
.paper{fill:#ffffff}line.lane{stroke:#d1d9e0}\
path,line{fill:none;stroke-width:1.5}\
.offered{stroke:#0969da}.conditional{stroke:#9a6700;stroke-dasharray:7 3}.skipped{stroke:#8250df;stroke-dasharray:1 4}\
.phasing{stroke:#0e7c86;stroke-width:4;stroke-dasharray:3 3}.entering{stroke:#0e7c86;stroke-dasharray:2 6}\
.held{stroke:#6e7781;stroke-width:3}.stale{stroke:#6e7781;stroke-dasharray:4 4}\
.notForPlatform{stroke:#cf222e;stroke-dasharray:9 3 2 3}.blocked{stroke:#cf222e;stroke-width:2.5;stroke-dasharray:2 3}\
.notInChannel,.noEdge{stroke:#6e7781;stroke-dasharray:1 6}\
marker path{stroke:none}marker .offered{fill:#0969da}marker .conditional{fill:#9a6700}marker .skipped{fill:#8250df}\
marker .phasing,marker .entering{fill:#0e7c86}marker .notForPlatform,marker .blocked{fill:#cf222e}\
marker .held,marker .stale,marker .notInChannel,marker .noEdge{fill:#6e7781}\
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}.release circle{fill:#0d1117;stroke:#e6edf3}line.lane{stroke:#30363d}\
.offered{stroke:#58a6ff}.conditional{stroke:#d29922}.skipped{stroke:#bc8cff}.phasing,.entering{stroke:#39c5cf}\
.held,.stale,.notInChannel,.noEdge{stroke:#8b949e}.notForPlatform,.blocked{stroke:#ff7b72}\
marker .offered{fill:#58a6ff}marker .conditional{fill:#d29922}marker .skipped{fill:#bc8cff}marker .phasing,marker .entering{fill:#39c5cf}\
marker .held,marker .stale,marker .notInChannel,marker .noEdge{fill:#8b949e}marker .notForPlatform,marker .blocked{fill:#ff7b72}}";

fn arrow(kind: EdgeStatus) -> String {
    let name = kind.name();
    format!(
        "<marker id=\"to-{name}\" viewBox=\"0 0 8 8\" refX=\"13\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"{name}\" d=\"M0 0L8 4L0 8z\"/></marker>\n"
    )
}

/// An update: an arc within a lane, a curve between two.
fn update(svg: &mut String, sketch: &Sketch, link: &SketchLink) {
    let [from, to] = [link.from, link.to].map(|end| sketch.releases[end].place);
    let ([x1, y1], [x2, y2]) = ([x_of(from), y_of(from.lane)], [x_of(to), y_of(to.lane)]);
    let [c1, c2] = match from.lane == to.lane {
        true => {
            let high = (10 + 8 * from.x.abs_diff(to.x)).min(HIGHEST_ARC);
            [y1 - high, y2 - high]
        }
        false => {
            let middle = u32::midpoint(y1, y2);
            [middle, middle]
        }
    };
    let name = link.kind.name();
    line(
        svg,
        format_args!(
            "<path class=\"{name}\" marker-end=\"url(#to-{name})\" d=\"M{x1} {y1}C{x1} {c1} {x2} {c2} {x2} {y2}\"><title>{}</title></path>",
            escaped(&sketch.words(link))
        ),
    );
}

fn x_of(place: GridPlace) -> u32 {
    LEFT + place.x * COLUMN + COLUMN / 4
}

fn y_of(lane: u32) -> u32 {
    TOP + lane * LANE + LANE / 3
}

fn line(svg: &mut String, written: std::fmt::Arguments<'_>) {
    let _ = writeln!(svg, "{written}");
}

/// A text as XML takes it, in elements and in attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // XML has no such characters.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

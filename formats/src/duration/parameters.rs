//! Parameters as a YAML file: `towpath duration fit` writes it, `--parameters` reads it, and
//! people may edit it.
//!
//! A figure that the file leaves out has its default. Every figure can name its origin.

use std::collections::BTreeMap;
use std::fmt::Write;

use jiff::SignedDuration;
use towpath_core::duration::{
    Figure, MaxUnavailable, MinorStep, NodeGrowth, NodeTimes, Origin, OriginKind, Parameters,
    Reference, Seconds, Spread, UsualDaemonSet, WaveCost,
};
use towpath_core::finding::{Finding, Place};
use towpath_core::version::Version;

use super::times::{duration, max_unavailable, spread};
use crate::read::{Node, Reader, Record, Value, shown};

const MAX_BYTES: usize = 16 << 20;
/// The most steps, and the most pairs.
const MAX_FIGURES: usize = 100_000;
/// The most nodes of the reference cluster.
const MAX_NODES: u32 = 20_000;
/// The most that a hundred nodes may add, in thousandths.
const MAX_GROWTH: u32 = 20_000;

/// Reads parameters. What the file leaves out is as usual.
pub fn read(place: &Place, bytes: &[u8]) -> Result<Parameters, Vec<Finding>> {
    let limit = ("file", MAX_BYTES, "fit it to fewer updates");
    Reader::whole(place, bytes, limit, parameters)
}

/// The whole of the parameters, with their origins.
pub fn write(parameters: &Parameters) -> String {
    let mut text =
        "# How long updates take. See docs/duration.md for what each figure means.\n".to_owned();
    text.push_str("controlPlane:\n");
    figure_line(&mut text, 2, "patch", &parameters.patch);
    figure_line(&mut text, 2, "minor", &parameters.minor);
    if !parameters.steps.is_empty() {
        text.push_str("  steps:\n");
    }
    for (step, figure) in &parameters.steps {
        let ends = format!(
            "from: \"{}.{}\", to: \"{}.{}\"",
            step.from.0, step.from.1, step.to.0, step.to.1
        );
        let _ = writeln!(text, "    - {{{ends}, {}}}", inner(figure));
    }
    if !parameters.pairs.is_empty() {
        text.push_str("  pairs:\n");
    }
    for ((from, to), figure) in &parameters.pairs {
        let _ = writeln!(
            text,
            "    - {{from: \"{from}\", to: \"{to}\", {}}}",
            inner(figure)
        );
    }
    let reference = &parameters.reference;
    let _ = writeln!(
        text,
        "reference: {{controlPlaneNodes: {}, nodes: {}, origin: {}}}",
        reference.control_plane_nodes,
        reference.nodes,
        origin(&reference.origin)
    );
    text.push_str("nodes:\n");
    for (name, times) in [("cloud", &parameters.cloud), ("metal", &parameters.metal)] {
        let _ = writeln!(text, "  {name}:");
        for (name, figure) in [
            ("drain", &times.drain),
            ("reboot", &times.reboot),
            ("ready", &times.ready),
        ] {
            figure_line(&mut text, 4, name, figure);
        }
    }
    let WaveCost {
        r0,
        r1,
        beta,
        origin: said,
    } = &parameters.wave;
    let _ = writeln!(
        text,
        "wave: {{r0: {r0}s, r1: {r1}s, beta: {beta:?}, origin: {}}}",
        origin(said)
    );
    let at_once = match parameters.daemon_set.max_unavailable {
        MaxUnavailable::Count(count) => count.to_string(),
        MaxUnavailable::Percent(percent) => format!("{percent}%"),
    };
    let said = origin(&parameters.daemon_set.origin);
    let _ = writeln!(
        text,
        "daemonSet: {{maxUnavailable: {at_once}, origin: {said}}}"
    );
    if let Some(growth) = &parameters.growth {
        let NodeGrowth {
            permille, up_to, ..
        } = growth;
        let said = origin(&growth.origin);
        let _ = writeln!(
            text,
            "growth: {{permillePerHundredNodes: {permille}, upToNodes: {up_to}, origin: {said}}}"
        );
    }
    text
}

fn figure_line(text: &mut String, indent: usize, name: &str, figure: &Figure) {
    let _ = writeln!(text, "{:indent$}{name}: {{{}}}", "", inner(figure));
}

fn inner(figure: &Figure) -> String {
    let Spread { low, likely, high } = figure.spread;
    let [low, likely, high] = [low, likely, high].map(written);
    format!(
        "low: {low}, likely: {likely}, high: {high}, origin: {}",
        origin(&figure.origin)
    )
}

/// `1h 10m`, as it is read.
fn written(seconds: Seconds) -> String {
    format!(
        "{:#}",
        SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX))
    )
}

/// A kind and a note. A text in quotes as JSON has them is one in YAML too.
fn origin(origin: &Origin) -> String {
    format!(
        "{{kind: {}, note: {}}}",
        origin.kind.code(),
        serde_json::Value::from(&*origin.note)
    )
}

/// Less than was written only if there are findings.
fn parameters(reader: &mut Reader, node: &Node) -> Option<Parameters> {
    let usual = Parameters::usual();
    let known = [
        "controlPlane",
        "reference",
        "nodes",
        "wave",
        "daemonSet",
        "growth",
    ];
    let record = reader.record(node, "a file of parameters", &known)?;
    let mut parameters = usual;
    if let Some(node) = record.get("controlPlane") {
        control_plane(reader, node, &mut parameters);
    }
    if let Some(node) = record.get("reference") {
        parameters.reference = reference(reader, node).unwrap_or(parameters.reference);
    }
    if let Some(node) = record.get("nodes") {
        let record = reader.record(node, "`nodes`", &["cloud", "metal"]);
        for (name, times) in [
            ("cloud", &mut parameters.cloud),
            ("metal", &mut parameters.metal),
        ] {
            if let Some(node) = record.and_then(|record| record.get(name)) {
                node_times(reader, node, times);
            }
        }
    }
    if let Some(node) = record.get("wave") {
        parameters.wave = wave(reader, node).unwrap_or(parameters.wave);
    }
    if let Some(node) = record.get("daemonSet") {
        parameters.daemon_set = daemon_set(reader, node).unwrap_or(parameters.daemon_set);
    }
    if let Some(node) = record.get("growth") {
        parameters.growth = growth(reader, node);
    }
    Some(parameters)
}

fn control_plane(reader: &mut Reader, node: &Node, parameters: &mut Parameters) {
    let known = ["patch", "minor", "steps", "pairs"];
    let Some(record) = reader.record(node, "`controlPlane`", &known) else {
        return;
    };
    let Parameters {
        patch,
        minor: of_minor,
        ..
    } = parameters;
    figures(reader, record, [("patch", patch), ("minor", of_minor)]);
    parameters.steps = between(reader, record, "steps", |reader, from, to| {
        Some(MinorStep {
            from: minor(reader, from)?,
            to: minor(reader, to)?,
        })
    });
    parameters.pairs = between(reader, record, "pairs", |reader, from, to| {
        Some((version(reader, from)?, version(reader, to)?))
    });
}

/// Figures with two ends, none of them twice.
fn between<K: Ord>(
    reader: &mut Reader,
    record: Record<'_>,
    list: &str,
    ends: impl Fn(&mut Reader, &Node, &Node) -> Option<K>,
) -> BTreeMap<K, Figure> {
    let mut figures = BTreeMap::new();
    let nodes = record
        .get(list)
        .map_or(&[][..], |node| reader.list(node, list, MAX_FIGURES));
    for node in nodes {
        let known = ["from", "to", "low", "likely", "high", "origin"];
        let Some(record) = reader.record(node, "a figure with two ends", &known) else {
            continue;
        };
        let from = reader.required(record, "from", "add it");
        let to = reader.required(record, "to", "add it");
        let (Some(from), Some(to)) = (from, to) else {
            continue;
        };
        let Some(key) = ends(reader, from, to) else {
            continue;
        };
        let Some(spread) = three(reader, record) else {
            continue;
        };
        let origin = origin_of(reader, record);
        if figures.insert(key, Figure { spread, origin }).is_some() {
            reader.error(
                "duplicate-figure",
                node,
                "there are two figures with these ends",
                "keep one of them",
            );
        }
    }
    figures
}

/// Low, likely and high of a record that has other fields too.
fn three(reader: &mut Reader, record: Record<'_>) -> Option<Spread> {
    let only = ["low", "likely", "high"].map(|name| Some((name, record.get(name)?.clone())));
    let fields = only.into_iter().flatten().collect::<Vec<_>>();
    let Node { line, column, .. } = *record.node;
    spread(
        reader,
        &Node {
            line,
            column,
            ..Node::map(fields)
        },
        "a figure",
    )
}

fn figure(reader: &mut Reader, node: &Node, what: &'static str) -> Option<Figure> {
    let spread = spread(reader, node, what)?;
    let said = node.get("origin").map(|said| read_origin(reader, said));
    Some(Figure {
        spread,
        origin: said.unwrap_or_else(unsaid),
    })
}

fn node_times(reader: &mut Reader, node: &Node, times: &mut NodeTimes) {
    let Some(record) = reader.record(node, "the times of a node", &["drain", "reboot", "ready"])
    else {
        return;
    };
    let NodeTimes {
        drain,
        reboot,
        ready,
    } = times;
    let named = [("drain", drain), ("reboot", reboot), ("ready", ready)];
    figures(reader, record, named);
}

/// Those of these figures that the record has.
fn figures<const N: usize>(
    reader: &mut Reader,
    record: Record<'_>,
    named: [(&'static str, &mut Figure); N],
) {
    for (name, place) in named {
        if let Some(read) = record.get(name).and_then(|node| figure(reader, node, name)) {
            *place = read;
        }
    }
}

fn reference(reader: &mut Reader, node: &Node) -> Option<Reference> {
    let record = reader.record(
        node,
        "`reference`",
        &["controlPlaneNodes", "nodes", "origin"],
    )?;
    let mut count = |name: &str| {
        let node = reader.required(record, name, "add it")?;
        reader.count(node, name, 1..=MAX_NODES)
    };
    let (control_plane_nodes, nodes) = (count("controlPlaneNodes"), count("nodes"));
    Some(Reference {
        control_plane_nodes: control_plane_nodes?,
        nodes: nodes?,
        origin: origin_of(reader, record),
    })
}

fn wave(reader: &mut Reader, node: &Node) -> Option<WaveCost> {
    let record = reader.record(node, "`wave`", &["r0", "r1", "beta", "origin"])?;
    let mut seconds = |name: &str| {
        let node = reader.required(record, name, "write it as in 9s or 10.2s")?;
        duration(reader, node, name).map(|duration| duration.as_secs_f64())
    };
    let (r0, r1) = (seconds("r0"), seconds("r1"));
    let beta_node = reader.required(record, "beta", "write it as in 0.5")?;
    let beta = match beta_node.value {
        Value::Fraction(number) => Some(number),
        Value::Whole(0) => Some(0.0),
        Value::Whole(1) => Some(1.0),
        _ => None,
    };
    let beta = beta.filter(|beta| (0.0..=1.0).contains(beta));
    if beta.is_none() {
        // Above 1, a rollout with more pods at once would be said to take longer.
        reader.error(
            "bad-number",
            beta_node,
            "beta is a number from 0 to 1",
            "write it as in 0.5",
        );
    }
    Some(WaveCost {
        r0: r0?,
        r1: r1?,
        beta: beta?,
        origin: origin_of(reader, record),
    })
}

fn daemon_set(reader: &mut Reader, node: &Node) -> Option<UsualDaemonSet> {
    let record = reader.record(node, "`daemonSet`", &["maxUnavailable", "origin"])?;
    let origin = origin_of(reader, record);
    let setting = reader.required(record, "maxUnavailable", "write it as in 10%")?;
    Some(UsualDaemonSet {
        max_unavailable: max_unavailable(reader, setting)?,
        origin,
    })
}

fn growth(reader: &mut Reader, node: &Node) -> Option<NodeGrowth> {
    let known = ["permillePerHundredNodes", "upToNodes", "origin"];
    let record = reader.record(node, "`growth`", &known)?;
    let origin = origin_of(reader, record);
    let mut count = |name: &str, most: u32| {
        let node = reader.required(record, name, "add it")?;
        reader.count(node, name, 0..=most)
    };
    let permille = count("permillePerHundredNodes", MAX_GROWTH);
    let up_to = count("upToNodes", MAX_NODES);
    Some(NodeGrowth {
        permille: permille?,
        up_to: up_to?,
        origin,
    })
}

fn origin_of(reader: &mut Reader, record: Record<'_>) -> Origin {
    record
        .get("origin")
        .map_or_else(unsaid, |node| read_origin(reader, node))
}

fn unsaid() -> Origin {
    Origin::new(
        OriginKind::Assumed,
        "the file of parameters does not say where it is from",
    )
}

fn read_origin(reader: &mut Reader, node: &Node) -> Origin {
    let Some(record) = reader.record(node, "an origin", &["kind", "note"]) else {
        return unsaid();
    };
    let note = record
        .get("note")
        .and_then(|node| reader.text(node, "note"))
        .unwrap_or_default();
    let Some(kind_node) =
        reader.required(record, "kind", "write docs, measured, fitted or assumed")
    else {
        return unsaid();
    };
    let text = reader.text(kind_node, "kind").unwrap_or_default();
    match OriginKind::ALL.into_iter().find(|kind| kind.code() == text) {
        Some(kind) => Origin::new(kind, note),
        None => {
            let problem = format!("{:?} is not a kind of origin", shown(text));
            reader.error(
                "bad-origin",
                kind_node,
                problem,
                "write docs, measured, fitted or assumed",
            );
            unsaid()
        }
    }
}

fn version(reader: &mut Reader, node: &Node) -> Option<Version> {
    let parsed = reader.text(node, "a version")?.parse::<Version>();
    parsed
        .map_err(|why| {
            reader.error(
                "bad-version",
                node,
                why.to_string(),
                "write it as in \"4.16.3\"",
            )
        })
        .ok()
}

/// `4.16`, in quotes, for 4.10 is not 4.1.
fn minor(reader: &mut Reader, node: &Node) -> Option<(u64, u64)> {
    let text = reader.text(node, "a minor version")?;
    let digits = |part: &str| crate::read::whole(part).map(u64::from);
    let parsed = text
        .split_once('.')
        .and_then(|(major, minor)| Some((digits(major)?, digits(minor)?)));
    if parsed.is_none() {
        let problem = format!("{:?} is no minor version", shown(text));
        reader.error("bad-version", node, problem, "write it as in \"4.16\"");
    }
    parsed
}

//! The table of minor versions as a YAML file: the built-in one, and one of `--minors` that puts
//! rows in place of those.
//!
//! A row is taken as a whole. What it does not list as unverified is confirmed. Also here: the
//! Kubernetes that a release names in its metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{Graph, Release};
use towpath_core::version::{Minor, MinorFact, MinorRow, Minors};

use crate::read::{Node, Reader, Record, shown};

/// The largest file.
pub const MAX_BYTES: usize = 256 << 10;
const MAX_ROWS: usize = 500;
/// The most minor versions that follow one.
const MAX_NEXT: usize = 8;
/// The largest kubelet skew that Kubernetes itself supports.
const MAX_SKEW: u32 = 3;
/// Where a release's metadata has the versions of its parts, as in `kubernetes=1.31.6`.
const BUILD_VERSIONS: &str = "io.openshift.build.versions";
const AS_TEXT: &str = "write a minor version in quotes: \"4.22\"";

static BUILT_IN: LazyLock<Minors> = LazyLock::new(|| {
    let place = Place::file("minors.yaml");
    let rows = rows(&place, include_bytes!("minors.yaml"));
    Minors::new(rows.expect("a test reads the built-in table"))
});

/// What is in force where nobody says otherwise.
pub fn built_in() -> Minors {
    BUILT_IN.clone()
}

/// Reads a file over the built-in table. Either the table, or everything that is wrong with the file.
pub fn read(place: &Place, bytes: &[u8]) -> Result<Minors, Vec<Finding>> {
    Ok(built_in().with_rows(&rows(place, bytes)?))
}

/// The same table, with the Kubernetes that releases of a graph name themselves.
pub fn with_releases_of(minors: &Minors, graph: &Graph) -> Minors {
    let releases = graph.releases().iter();
    let named =
        releases.filter_map(|release| Some((release.version.clone(), kubernetes(release)?)));
    minors.with_releases(named)
}

/// The Kubernetes that a release names.
fn kubernetes(release: &Release) -> Option<Minor> {
    let versions = release.metadata.get(BUILD_VERSIONS)?;
    let mut parts = versions.split(',').map(str::trim);
    let version = parts.find_map(|part| part.strip_prefix("kubernetes="))?;
    let mut numbers = version.splitn(3, '.');
    Minor::parse(&format!("{}.{}", numbers.next()?, numbers.next()?))
}

fn rows(place: &Place, bytes: &[u8]) -> Result<BTreeMap<Minor, MinorRow>, Vec<Finding>> {
    let limit = (
        "file",
        MAX_BYTES,
        "leave out minor versions that nobody has",
    );
    Reader::whole(place, bytes, limit, table)
}

/// Less than was written only if there are findings.
fn table(reader: &mut Reader, node: &Node) -> Option<BTreeMap<Minor, MinorRow>> {
    let record = reader.record(node, "a file of minor versions", &["minors"])?;
    let remedy = "add the list `minors`, with a row for each minor version";
    let nodes = reader.required(record, "minors", remedy)?;
    let mut rows = BTreeMap::new();
    for node in reader.list(nodes, "`minors`", MAX_ROWS) {
        let Some((minor, row)) = row(reader, node) else {
            continue;
        };
        if rows.insert(minor, row).is_some() {
            let problem = format!("{minor} has two rows");
            reader.error("duplicate-entry", node, problem, "keep one of them");
        }
    }
    Some(rows)
}

fn row(reader: &mut Reader, node: &Node) -> Option<(Minor, MinorRow)> {
    let known = [
        "minor",
        "next",
        "skips",
        "kubernetes",
        "kubeletSkew",
        "hostedKubeletSkew",
        "eus",
        "unverified",
    ];
    let record = reader.record(node, "a minor version", &known)?;
    let named = reader.required(record, "minor", AS_TEXT)?;
    let minor = minor(reader, named)?;
    let kubernetes = record.get("kubernetes");
    let mut skew = |name: &str| {
        let count = record
            .get(name)
            .and_then(|node| reader.count(node, name, 1..=MAX_SKEW));
        count.and_then(|skew| u8::try_from(skew).ok())
    };
    let (kubelet_skew, hosted_kubelet_skew) = (skew("kubeletSkew"), skew("hostedKubeletSkew"));
    let row = MinorRow {
        next: later(reader, record, "next", minor),
        skips: later(reader, record, "skips", minor),
        kubernetes: kubernetes.and_then(|node| self::minor(reader, node)),
        kubelet_skew,
        hosted_kubelet_skew,
        is_eus: record
            .get("eus")
            .and_then(|node| reader.flag(node, "eus"))
            .unwrap_or(false),
        unverified: unverified(reader, record),
    };
    Some((minor, row))
}

/// Minor versions that come after one.
fn later(reader: &mut Reader, record: Record<'_>, name: &str, than: Minor) -> BTreeSet<Minor> {
    let mut all = BTreeSet::new();
    let nodes = record
        .get(name)
        .map_or(&[][..], |node| reader.list(node, name, MAX_NEXT));
    for node in nodes {
        let Some(minor) = minor(reader, node) else {
            continue;
        };
        if minor <= than {
            let problem = format!("{minor} does not come after {than}");
            reader.error("bad-value", node, problem, "name a later minor version");
        } else if !all.insert(minor) {
            let problem = format!("{minor} is listed twice");
            reader.error("duplicate-entry", node, problem, "keep one of them");
        }
    }
    all
}

fn unverified(reader: &mut Reader, record: Record<'_>) -> BTreeSet<MinorFact> {
    let nodes = record.get("unverified").map_or(&[][..], |node| {
        reader.list(node, "unverified", MinorFact::ALL.len())
    });
    let mut facts = BTreeSet::new();
    for node in nodes {
        let Some(text) = reader.text(node, "the name of a fact") else {
            continue;
        };
        match MinorFact::ALL.into_iter().find(|fact| fact.name() == text) {
            Some(fact) => {
                facts.insert(fact);
            }
            None => {
                let problem = format!("{:?} is not a fact about a minor version", shown(text));
                let names = MinorFact::ALL.map(MinorFact::name).join(", ");
                reader.error("bad-value", node, problem, &format!("use one of {names}"));
            }
        }
    }
    facts
}

fn minor(reader: &mut Reader, node: &Node) -> Option<Minor> {
    let text = reader.text(node, "a minor version")?;
    let minor = Minor::parse(text);
    if minor.is_none() {
        let problem = format!("{:?} is not a minor version", shown(text));
        reader.error("bad-version", node, problem, AS_TEXT);
    }
    minor
}

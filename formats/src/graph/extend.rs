//! Copies of blocks for newer releases: the files themselves, and what is said about them.
//!
//! A copy is the newest file of a risk with another release in `to`. Comments, order and layout stay as people wrote them. Each copy is
//! read back: it has to mean the same as its original, or nothing is copied.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Value, json};
use towpath_core::change::{Diff, ExtendedRisks, OpenRisk, open_risks, risk_names_in};
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{Block, Graph};
use towpath_core::lint::{Extent, Field, Notes, Subject};
use towpath_core::version::{ReleaseName, Version};

use super::data;
use crate::SourceFile;
use crate::change;
use crate::tables::{shown, table};
use crate::words::{counted, first_names, joined, plain};

/// The most releases that are named in a row.
const MAX_NAMED: usize = 8;

/// A block for a newer release.
#[derive(Debug, Clone)]
pub struct BlockCopy {
    pub risk: String,
    /// The file that was copied.
    pub original: String,
    pub to: Version,
    pub file: SourceFile,
}

/// Which risks of these files are open, and the copies that extend the chosen ones.
#[derive(Debug, Clone)]
pub struct RiskExtension {
    pub rows: Vec<OpenRiskRow>,
    pub copies: Vec<BlockCopy>,
    /// What the copies may change for clients.
    pub given: ExtendedRisks,
}

/// A risk in one minor version, and the releases that lack it.
#[derive(Debug, Clone)]
pub struct OpenRiskRow {
    pub risk: String,
    pub minor: String,
    pub newest: String,
    pub lacking: Vec<String>,
}

/// What the copies change, and everything else that changes, which has to be nothing.
#[derive(Debug, Clone)]
pub struct ExtensionProof {
    pub meant: Diff,
    pub other: Diff,
}

/// What became of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    No,
    Yes,
}

/// Reads files of graph data, and copies the newest blocks of these risks to the releases that lack them. Without names it only lists.
pub fn extend(files: &[SourceFile], names: &[String]) -> Result<RiskExtension, Vec<Finding>> {
    let (data, _) = data::read(files)?;
    let (notes, _) = data::notes(files);
    let subject = Subject {
        data: &data,
        notes: &notes,
        graph: None,
        extent: Extent::Whole,
    };
    let open = open_risks(&subject);
    check_names(names, &subject, &open)?;
    let mut extension = RiskExtension {
        rows: open.iter().map(row).collect(),
        copies: Vec::new(),
        given: ExtendedRisks::default(),
    };
    let chosen = |risk: &str| names.iter().any(|name| name == risk);
    let mut findings = Vec::new();
    for risk in open.iter().filter(|risk| chosen(risk.name)) {
        for (block, to) in risk
            .lacking
            .iter()
            .flat_map(|to| risk.blocks.iter().map(move |block| (*block, *to)))
        {
            match copy(files, &notes, block, to) {
                Ok(copy) => {
                    extension.given.add(to, block);
                    extension.copies.push(copy);
                }
                Err(finding) => findings.push(finding),
            }
        }
    }
    if !names.is_empty() {
        extension.rows.retain(|row| chosen(&row.risk));
    }
    match findings.is_empty() {
        true => Ok(extension),
        false => Err(findings),
    }
}

fn check_names(
    names: &[String],
    subject: &Subject<'_>,
    open: &[OpenRisk<'_>],
) -> Result<(), Vec<Finding>> {
    let known = risk_names_in(subject);
    let open: BTreeSet<&str> = open.iter().map(|risk| risk.name).collect();
    let unknown = names.iter().filter(|name| !known.contains(name.as_str()));
    let unknown: Vec<Finding> = unknown
        .map(|name| {
            let problem = format!("no block declares a risk {:?}", plain(name));
            let remedy = match open.is_empty() {
                true => "correct its name; no risk lacks a newer release".to_owned(),
                false => format!(
                    "correct its name; newer releases lack {}",
                    first_names(&open, MAX_NAMED)
                ),
            };
            Finding::error(
                "unknown-risk",
                Place::file("blocked-edges"),
                problem,
                remedy,
            )
        })
        .collect();
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(unknown),
    }
}

fn row(risk: &OpenRisk<'_>) -> OpenRiskRow {
    OpenRiskRow {
        risk: risk.name.to_owned(),
        minor: risk.minor.to_string(),
        newest: risk.newest.to_string(),
        lacking: risk.lacking.iter().map(ToString::to_string).collect(),
    }
}

/// The file of a block, for another release.
fn copy(
    files: &[SourceFile],
    notes: &Notes,
    block: &Block,
    to: &Version,
) -> Result<BlockCopy, Finding> {
    let by_hand = |problem: &str| {
        let remedy = format!("write the block for {to} by hand");
        Finding::error("not-copied", block.origin.clone(), problem, remedy)
    };
    let path = &*block.origin.file;
    let original = files.iter().find(|file| file.path == path);
    let original = original.ok_or_else(|| by_hand("its file is not there"))?;
    let place = notes.blocks.get(&block.origin.file);
    let place = place.and_then(|notes| notes.places.get(&Field::To));
    let name = ReleaseName {
        version: to.clone(),
        arch: block.to.arch.clone(),
    };
    let text = std::str::from_utf8(&original.bytes).ok();
    let text = text
        .zip(place)
        .and_then(|(text, place)| replaced(text, place, &block.to, &name))
        .ok_or_else(|| by_hand("`to` does not stand in it as plain text"))?;
    let file = SourceFile::new(copied_path(path, block, &name), text.into_bytes());
    if files.iter().any(|known| known.path == file.path) {
        let problem = format!("{} exists already, and is not about this risk", file.path);
        return Err(by_hand(&problem));
    }
    let risk = block.risk.as_ref().map_or("", |risk| &risk.name).to_owned();
    match means_the_same(files, &file, block, &name) {
        true => Ok(BlockCopy {
            risk,
            original: path.to_owned(),
            to: to.clone(),
            file,
        }),
        false => Err(by_hand("a copy of it would mean something else")),
    }
}

/// The text with another release in the place of `to`.
fn replaced(text: &str, place: &Place, old: &ReleaseName, new: &ReleaseName) -> Option<String> {
    let line = text
        .split_inclusive('\n')
        .nth(place.line.checked_sub(1)? as usize)?;
    let column = place.column.checked_sub(1)? as usize;
    let begin = line.char_indices().nth(column)?.0;
    let old = old.to_string();
    let at = line[begin..].find(&old)? + begin;
    // Only a quotation mark may stand before it.
    let is_plain = line[begin..at].chars().all(|c| c == '"' || c == '\'');
    let offset = line.as_ptr() as usize - text.as_ptr() as usize + at;
    is_plain.then(|| format!("{}{new}{}", &text[..offset], &text[offset + old.len()..]))
}

/// The name of the original with the other release in it.
fn copied_path(path: &str, block: &Block, to: &ReleaseName) -> String {
    let old = block.to.version.to_string();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("blocked-edges", path));
    let risk = block.risk.as_ref().map_or("", |risk| &risk.name);
    match name.strip_prefix(&old) {
        Some(rest) => format!("{folder}/{}{rest}", to.version),
        None => format!("{folder}/{}-{risk}.yaml", to.version),
    }
}

fn means_the_same(
    files: &[SourceFile],
    copy: &SourceFile,
    original: &Block,
    to: &ReleaseName,
) -> bool {
    let schema = files.iter().filter(|file| file.path == "version");
    let files: Vec<SourceFile> = schema.chain([copy]).cloned().collect();
    let blocks = data::Memory::default().read_blocks(&files);
    matches!(&blocks[..], [block]
        if block.to == *to
            && block.from == original.from
            && block.stops == original.stops
            && block.risk == original.risk)
}

impl RiskExtension {
    /// Leaves out copies that no edge of the graph with all of them is concerned by, and names them.
    pub fn without_idle(&mut self, graph: &Graph) -> Vec<String> {
        let in_use: BTreeSet<&str> = graph
            .edges()
            .iter()
            .flat_map(|edge| graph.blocks_on(*edge))
            .map(|block| &*block.origin.file)
            .collect();
        let copies = std::mem::take(&mut self.copies);
        let (copies, idle): (Vec<_>, Vec<_>) = copies
            .into_iter()
            .partition(|copy| in_use.contains(copy.file.path.as_str()));
        self.copies = copies;
        idle.into_iter().map(|copy| copy.file.path).collect()
    }
}

impl ExtensionProof {
    pub fn holds(&self) -> bool {
        self.other.is_empty()
    }

    fn edges(&self) -> usize {
        let mut distinct = BTreeSet::new();
        for channel in &self.meant.channels {
            for change in &channel.edges {
                let from = change.from.iter();
                distinct.extend(from.map(|from| (&channel.arch, from, &change.to)));
            }
        }
        distinct.len()
    }

    fn channels(&self) -> usize {
        let channels: BTreeSet<_> = self.meant.channels.iter().map(|c| &c.channel).collect();
        channels.len()
    }
}

/// The list of open risks.
pub fn list_text(extension: &RiskExtension) -> String {
    if extension.rows.is_empty() {
        return "No risk is open: each is fixed, or declared for the newest release of its minor version.\n".to_owned();
    }
    let mut rows = table([
        "RISK",
        "MINOR",
        "DECLARED UP TO",
        "NEWER RELEASES WITHOUT IT",
    ]);
    for row in &extension.rows {
        let lacking = first_names(&row.lacking, MAX_NAMED);
        let risk = plain(&row.risk);
        rows.add_row([&*risk, &row.minor, &row.newest, &lacking]);
    }
    shown(&rows)
        + "\nNo file says that these risks are fixed. Extend one with `towpath graph extend RISK`, or add `fixedIn` to its newest file.\n"
}

/// What is copied, what that changes, and that nothing else does.
pub fn text(
    extension: &RiskExtension,
    idle: &[String],
    proof: &ExtensionProof,
    written: Written,
) -> String {
    let mut text = String::new();
    if extension.copies.is_empty() && idle.is_empty() {
        return "Nothing to extend: each of these risks is fixed, or declared for the newest release of its minor version.\n".to_owned();
    }
    for copy in &extension.copies {
        let (path, original) = (plain(&copy.file.path), plain(&copy.original));
        let _ = writeln!(text, "{path}  copied from {original}");
    }
    for path in idle {
        let _ = writeln!(
            text,
            "{}  left out: no edge matches its `from`",
            plain(path)
        );
    }
    text.push('\n');
    if !proof.holds() {
        text += "Something else would change, so nothing is written:\n";
        let nothing = BTreeSet::new();
        return text + &change::text(&proof.other, None, &nothing, change::Details::Shown);
    }
    let risks: BTreeSet<&str> = extension.copies.iter().map(|c| &*c.risk).collect();
    let _ = writeln!(
        text,
        "{} in {} now {} {}. Nothing else changes: no release, no other edge, no window.",
        counted(proof.edges(), "edge"),
        counted(proof.channels(), "channel"),
        if proof.edges() == 1 { "has" } else { "have" },
        joined(risks, "no risk"),
    );
    text += match (extension.copies.is_empty(), written) {
        (true, _) => "",
        (false, Written::Yes) => "The files are written. Look at them, and commit them.\n",
        (false, Written::No) => "No file is written; --write writes them.\n",
    };
    text
}

/// The same for machines, with the files' content.
pub fn json(
    extension: &RiskExtension,
    idle: &[String],
    proof: Option<&ExtensionProof>,
    written: Written,
) -> Value {
    let row = |row: &OpenRiskRow| {
        json!({
            "risk": row.risk,
            "minor": row.minor,
            "declaredUpTo": row.newest,
            "lacking": row.lacking,
        })
    };
    let copy = |copy: &BlockCopy| {
        json!({
            "risk": copy.risk,
            "to": copy.to.to_string(),
            "path": copy.file.path,
            "copiedFrom": copy.original,
            "content": String::from_utf8_lossy(&copy.file.bytes),
        })
    };
    let nothing = BTreeSet::new();
    json!({
        "openRisks": extension.rows.iter().map(row).collect::<Vec<_>>(),
        "files": extension.copies.iter().map(copy).collect::<Vec<_>>(),
        "leftOut": idle,
        "nothingElseChanges": proof.map(ExtensionProof::holds),
        "changes": proof.map(|proof| change::json(&proof.meant, None, &nothing)["channels"].clone()),
        "otherChanges": proof.map(|proof| change::json(&proof.other, None, &nothing)["channels"].clone()),
        "written": written == Written::Yes,
    })
}

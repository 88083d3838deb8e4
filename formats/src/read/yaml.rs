//! YAML, within limits, as a tree, and the parser's errors in our own words.

use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Options};
use towpath_core::finding::{Finding, Place};

use super::tree::{Node, PlacedNode};
use super::{json, too_large};

/// The largest file that is read: an organisation of a hundred thousand clusters has some thirty megabytes.
pub(crate) const MAX_FILE_BYTES: usize = 128 << 20;
/// The most values in a file.
const MAX_VALUES: usize = 8_000_000;
/// The most values that aliases may stand for in a file.
const MAX_ALIASED_VALUES: usize = 1_000_000;
/// The largest file of graph data.
const MAX_STRICT_FILE_BYTES: usize = 4 << 20;
/// The most values in a file of graph data.
const MAX_STRICT_VALUES: usize = 200_000;
const MAX_DEPTH: usize = 32;
/// The most documents of a file that may have several.
const MAX_DOCUMENTS: usize = 100_000;

/// Reads one document.
pub(crate) fn tree(place: &Place, bytes: &[u8]) -> Result<Node, Finding> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        // The reader of an entry reports a field that the entry has twice. Other entries are not affected.
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_ALIASED_VALUES,
        },
        budget: serde_saphyr::budget! {
            max_events: 2 * MAX_VALUES,
            max_nodes: MAX_VALUES,
            max_depth: MAX_DEPTH,
            max_documents: 1,
            max_total_scalar_bytes: MAX_FILE_BYTES,
        },
    };
    parse(place, text(place, bytes, MAX_FILE_BYTES)?, options)
}

/// Reads one document of graph data: no aliases, and no field twice anywhere.
pub(super) fn strict_tree(place: &Place, bytes: &[u8]) -> Result<Node, Finding> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_events: 2 * MAX_STRICT_VALUES,
            max_nodes: MAX_STRICT_VALUES,
            max_depth: MAX_DEPTH,
            max_aliases: 0,
            max_anchors: 0,
            max_documents: 1,
            max_total_scalar_bytes: MAX_STRICT_FILE_BYTES,
        },
    };
    parse(place, text(place, bytes, MAX_STRICT_FILE_BYTES)?, options)
}

/// Reads the objects that a cluster printed: JSON, or YAML of several documents. They come one at a time.
pub(crate) fn documents(
    place: &Place,
    bytes: &[u8],
    max_bytes: usize,
    remedy: &str,
    mut take: impl FnMut(Node),
) -> Result<(), Finding> {
    let text = text(place, bytes, max_bytes)?;
    if text.trim_start().starts_with(['{', '[']) {
        take(json::tree(text).map_err(|error| json::finding(place, &error, remedy))?);
        return Ok(());
    }
    let documents = split(text);
    if documents.len() > MAX_DOCUMENTS {
        let problem = format!("there are more than {MAX_DOCUMENTS} documents in this file");
        return Err(too_large(place, problem, "split it"));
    }
    for (lines_before, document) in documents {
        let mut node = tree(place, document.as_bytes()).map_err(|mut finding| {
            if finding.place.line > 0 {
                finding.place.line = finding.place.line.saturating_add(lines_before);
            }
            finding
        })?;
        node.move_down(lines_before);
        take(node);
    }
    Ok(())
}

/// The documents of a YAML text that say something, each with the lines before it. By YAML's rules `---` at the start
/// of a line is never part of a value.
fn split(text: &str) -> Vec<(u32, &str)> {
    let is_marker = |line: &str| {
        line.strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    };
    let says_something = |line: &str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && line != "---"
    };
    let (mut documents, mut start, mut lines_before, mut offset) = (Vec::new(), 0, 0, 0);
    for (number, line) in (0u32..).zip(text.split_inclusive('\n')) {
        if is_marker(line) {
            documents.push((lines_before, &text[start..offset]));
            (start, lines_before) = (offset, number);
        }
        offset += line.len();
    }
    documents.push((lines_before, &text[start..]));
    documents.retain(|(_, document)| document.lines().any(says_something));
    documents
}

fn parse(place: &Place, text: &str, options: Options) -> Result<Node, Finding> {
    serde_saphyr::from_str_with_options::<PlacedNode<true>>(text, options)
        .map(|PlacedNode(node)| node)
        .map_err(|error| finding(place, &error))
}

/// The text of a file that is not empty, and not too large.
fn text<'b>(place: &Place, bytes: &'b [u8], max_bytes: usize) -> Result<&'b str, Finding> {
    let error =
        |problem: String, remedy: &str| Finding::error("bad-yaml", place.clone(), problem, remedy);
    if bytes.len() > max_bytes {
        return Err(error(
            format!("the file is larger than {max_bytes} bytes"),
            "split it",
        ));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(error("the file is empty".into(), "write it, or remove it"));
    }
    std::str::from_utf8(bytes)
        .map_err(|_| error("the file is not UTF-8 text".into(), "save it as UTF-8"))
}

/// Turns the parser's error into ours: the place in front, words that an administrator has a use for.
fn finding(place: &Place, error: &Error) -> Finding {
    let number = |n: u64| u32::try_from(n).unwrap_or(0);
    let place = error.location().map_or_else(
        || place.clone(),
        |at| place.at(number(at.line()), number(at.column())),
    );
    let full = error.without_snippet().to_string();
    let theirs = full.split(" at line ").next().unwrap_or(&full);
    let (problem, remedy) = match TRANSLATIONS
        .iter()
        .find(|(part, _, _)| theirs.contains(part))
    {
        Some((_, problem, remedy)) => (*problem, *remedy),
        None => (theirs, "correct the file"),
    };
    let named = theirs
        .split_once(": ")
        .or(theirs.split_once('['))
        .map_or("", |(_, rest)| rest);
    let name = named.split([',', ']']).next().unwrap_or_default();
    Finding::error("bad-yaml", place, problem.replace("{name}", name), remedy)
}

/// What the parser says (a part of it), what we say, and what helps.
const TRANSLATIONS: [(&str, &str, &str); 8] = [
    (
        "duplicate mapping key",
        "{name} is given twice",
        "keep one of them",
    ),
    (
        "Documents",
        "there is more than one document in this file",
        "one document per file",
    ),
    (
        "multiple YAML documents",
        "there is more than one document in this file",
        "one document per file",
    ),
    (
        "Anchors",
        "anchors are not supported here",
        "write the value out",
    ),
    (
        "Aliases",
        "aliases are not supported here",
        "write the value out",
    ),
    (
        "anchor or alias",
        "`*` and `&` begin aliases and anchors, which are not supported here",
        "put the text in quotes; a pattern for every release is `.*`",
    ),
    ("Depth", "it is nested too deeply", "correct the file"),
    (
        "budget breached",
        "there are too many values in this file",
        "split the file",
    ),
];

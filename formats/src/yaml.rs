//! YAML with places: every record knows its unknown fields, every problem its line.

use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde_saphyr::{Error, Location, Spanned};
use towpath_core::finding::{Finding, Place};

/// The largest YAML file that we read.
pub(crate) const MAX_FILE_BYTES: usize = 4 << 20;

/// Reads one document. Numbers and booleans do not pass for strings: they must be quoted.
pub(crate) fn read<T: DeserializeOwned>(place: &Place, bytes: &[u8]) -> Result<T, Finding> {
    let text = text(place, bytes, MAX_FILE_BYTES)?;
    let options = serde_saphyr::options! {
        no_schema: true,
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_events: 400_000,
            max_nodes: 200_000,
            max_depth: 32,
            max_aliases: 0,
            max_anchors: 0,
            max_documents: 1,
            max_total_scalar_bytes: MAX_FILE_BYTES,
        },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|e| finding(place, &e))
}

/// The text of a file that is not empty, and not too large.
pub(crate) fn text<'b>(
    place: &Place,
    bytes: &'b [u8],
    max_bytes: usize,
) -> Result<&'b str, Finding> {
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

/// The last line of a file that does not end its last line.
///
/// A block scalar that ends there has no last line break, by YAML's rules; our parser adds one. Whoever needs a text to
/// the letter takes it off again with [`without_added_break`].
pub(crate) fn unended_line(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let last = text.rsplit('\n').next()?.trim_start();
    (!last.is_empty()).then_some(last)
}

/// The text without the line break that the parser added at the end of a file.
pub(crate) fn without_added_break<'t>(text: &'t str, unended_line: Option<&str>) -> &'t str {
    let added = |last: &str| {
        text.strip_suffix('\n')
            .filter(|ended| ended.ends_with(last))
    };
    unended_line.and_then(added).unwrap_or(text)
}

/// Where a spanned value stands.
pub(crate) fn at(place: &Place, location: Location) -> Place {
    place.at(
        u32::try_from(location.line()).unwrap_or(0),
        u32::try_from(location.column()).unwrap_or(0),
    )
}

/// Turns the parser's error into ours: the place in front, words that an administrator has a use for.
pub(crate) fn finding(place: &Place, error: &Error) -> Finding {
    let place = error
        .location()
        .map_or_else(|| place.clone(), |location| at(place, location));
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
const TRANSLATIONS: [(&str, &str, &str); 14] = [
    (
        "duplicate mapping key",
        "{name} is given twice",
        "keep one of them",
    ),
    (
        "must be quoted",
        "{name} is read as a number or a boolean, and a text belongs here",
        "put it in quotes, or write it out: a version as in 4.9.7, a duration as in P2D",
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
        "anchors are not taken here",
        "write the value out",
    ),
    (
        "Aliases",
        "aliases are not taken here",
        "write the value out",
    ),
    (
        "anchor or alias",
        "`*` and `&` begin aliases and anchors, which are not taken here",
        "put the text in quotes; a pattern for every release is `.*`",
    ),
    (
        "Depth",
        "it is nested deeper than anything that belongs here",
        "correct the file",
    ),
    (
        "budget breached",
        "there are more values in this file than are taken",
        "split the file",
    ),
    ("null into string", "there is no value here", "give it one"),
    (
        "expected mapping start",
        "a mapping (`name: value`) belongs here",
        "correct the file",
    ),
    (
        "expected sequence start",
        "a list (`- item`) belongs here",
        "write each value on a line of its own, after `- `",
    ),
    (
        "expected string scalar",
        "a single text belongs here",
        "write one value",
    ),
    (
        "invalid boolean",
        "`true` or `false` belongs here",
        "write one of them",
    ),
];

/// A mapping with known fields.
pub(crate) trait Record: Default {
    /// What the mapping is, for the error where it is something else.
    const WHAT: &'static str;

    /// Reads the value of a field that it knows; says `false`, and reads nothing, for any other.
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, value: &mut A)
    -> Result<bool, A::Error>;
}

/// A record, and the fields it did not know.
#[derive(Debug, Default)]
pub(crate) struct Fields<T> {
    pub(crate) known: T,
    pub(crate) unknown: Vec<Spanned<String>>,
}

impl<'de, T: Record> Deserialize<'de> for Fields<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor(PhantomData))
    }
}

struct FieldsVisitor<T>(PhantomData<T>);

impl<'de, T: Record> Visitor<'de> for FieldsVisitor<T> {
    type Value = Fields<T>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(T::WHAT)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<T>, A::Error> {
        let mut fields = Fields {
            known: T::default(),
            unknown: Vec::new(),
        };
        while let Some(name) = map.next_key::<Spanned<String>>()? {
            if !fields.known.read(&name.value, &mut map)? {
                map.next_value::<IgnoredAny>()?;
                fields.unknown.push(name);
            }
        }
        Ok(fields)
    }
}

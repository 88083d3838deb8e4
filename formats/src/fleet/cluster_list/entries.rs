//! The entries of a list, one after the other. Only one at a time is held in memory as a tree.

use serde_json::value::RawValue;
use towpath_core::finding::{Finding, Place};

use super::{ListSection, SECTIONS};
use crate::read::{Node, Unique, Value, json};

/// What helps where a machine wrote the list.
const ANEW: &str = "write the list again from its source";
const REMEDIES: json::Remedies = json::Remedies {
    form: "give a list of clusters, as docs/fleet.md describes it; `towpath fleet export` writes one",
    other: &[],
    part: ANEW,
};

/// The entries of one part of a list, each with the name it stands under, if it does.
pub(super) enum Entries<'b> {
    /// Of JSON, not yet looked into, and the whole text that they stand in.
    Json {
        whole: &'b [u8],
        entries: Vec<(Option<Box<str>>, &'b RawValue)>,
    },
    Yaml(Vec<(Option<Box<str>>, Node)>),
}

/// An entry: its place, its name if it has one, and what it says.
pub(super) type ListEntry = (Place, Option<Box<str>>, Node);

impl Entries<'_> {
    /// An empty entry in the place of an unreadable part. The caller decides what that means.
    fn unread() -> Self {
        Self::Yaml(vec![(None, Node::placeless(Value::Nothing))])
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Json { entries, .. } => entries.len(),
            Self::Yaml(entries) => entries.len(),
        }
    }

    pub(super) fn for_each(self, place: &Place, mut take: impl FnMut(Result<ListEntry, Finding>)) {
        match self {
            Self::Yaml(entries) => {
                for (key, node) in entries {
                    take(Ok((node.at(place), key, node)));
                }
            }
            Self::Json { whole, entries } => {
                let mut lines = Lines {
                    whole,
                    offset: 0,
                    line: 1,
                    line_start: 0,
                };
                for (key, raw) in entries {
                    let origin = lines.place(place, raw.get());
                    let node = json::tree(raw.get());
                    take(
                        node.map(|node| (origin.clone(), key, node))
                            .map_err(|error| {
                                let finding = json::finding(place, &error, ANEW);
                                Finding {
                                    place: origin,
                                    ..finding
                                }
                            }),
                    );
                }
            }
        }
    }
}

/// Finds the parts of a JSON list.
pub(super) fn of_json<'b>(
    place: &Place,
    bytes: &'b [u8],
) -> Result<(Vec<ListSection<'b>>, Vec<Finding>), Finding> {
    if bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[') {
        let clusters: Vec<&RawValue> = json::read(place, bytes, &REMEDIES)?;
        let entries = clusters.into_iter().map(|raw| (None, raw)).collect();
        return Ok((
            vec![(
                "clusters",
                Entries::Json {
                    whole: bytes,
                    entries,
                },
            )],
            Vec::new(),
        ));
    }
    let Unique(mut parts) = json::read::<Unique<&RawValue>>(place, bytes, &REMEDIES)?;
    let (mut sections, mut findings) = (Vec::new(), Vec::new());
    for name in SECTIONS {
        let Some(part) = parts.remove(name).filter(|part| part.get() != "null") else {
            continue;
        };
        let entries = match name {
            "inherited" => {
                serde_json::from_str::<Unique<&RawValue>>(part.get()).map(|Unique(map)| {
                    map.into_iter()
                        .map(|(key, raw)| (Some(key.into()), raw))
                        .collect()
                })
            }
            _ => serde_json::from_str::<Vec<&RawValue>>(part.get())
                .map(|list| list.into_iter().map(|raw| (None, raw)).collect()),
        };
        match entries {
            Ok(entries) => sections.push((
                name,
                Entries::Json {
                    whole: bytes,
                    entries,
                },
            )),
            Err(_) => {
                findings.push(wrong_part(place, name));
                if name == "versionGates" {
                    sections.push((name, Entries::unread()));
                }
            }
        }
    }
    findings.extend(parts.keys().map(|name| unknown_part(place, name)));
    Ok((sections, findings))
}

/// Finds the parts of a YAML list.
pub(super) fn of_yaml(
    place: &Place,
    node: Node,
) -> Result<(Vec<ListSection<'static>>, Vec<Finding>), Finding> {
    let unnamed = |list: Vec<Node>| list.into_iter().map(|node| (None, node)).collect();
    let fields = match node.value {
        Value::List(clusters) => {
            return Ok((
                vec![("clusters", Entries::Yaml(unnamed(clusters)))],
                Vec::new(),
            ));
        }
        Value::Map(fields) => fields,
        _ => {
            let problem = "this is not a list of clusters";
            return Err(Finding::error(
                "wrong-kind",
                place.clone(),
                problem,
                "write `clusters:` with a list",
            ));
        }
    };
    let (mut sections, mut findings) = (Vec::new(), Vec::new());
    for (key, node) in fields {
        let Some(name) = SECTIONS.into_iter().find(|name| *name == &*key.text) else {
            findings.push(unknown_part(&key.at(place), &key.text));
            continue;
        };
        if sections.iter().any(|(earlier, _)| *earlier == name) {
            let problem = format!("{name:?} is given twice");
            let place = key.at(place);
            return Err(Finding::error(
                "duplicate-field",
                place,
                problem,
                "keep one of them",
            ));
        }
        match (name, node.value) {
            (_, Value::Nothing) => {}
            ("inherited", Value::Map(map)) => {
                let entries = map
                    .into_iter()
                    .map(|(key, node)| (Some(key.text), node))
                    .collect();
                sections.push((name, Entries::Yaml(entries)));
            }
            (_, Value::List(list)) if name != "inherited" => {
                sections.push((name, Entries::Yaml(unnamed(list))))
            }
            _ => {
                findings.push(wrong_part(&key.at(place), name));
                if name == "versionGates" {
                    sections.push((name, Entries::unread()));
                }
            }
        }
    }
    sections.sort_by_key(|(name, _)| SECTIONS.iter().position(|section| section == name));
    Ok((sections, findings))
}

fn wrong_part(place: &Place, name: &str) -> Finding {
    let kind = if name == "inherited" {
        "an object"
    } else {
        "a list"
    };
    Finding::error(
        "wrong-kind",
        place.clone(),
        format!("`{name}` is {kind}, and this is something else"),
        ANEW,
    )
}

fn unknown_part(place: &Place, name: &str) -> Finding {
    let problem = format!(
        "a list of clusters has no part {:?}; it is ignored",
        crate::read::shown(name)
    );
    Finding::warning(
        "unknown-field",
        place.clone(),
        problem,
        "correct its name, or remove it",
    )
}

/// Finds lines in a text, for places that mostly come one after the other.
struct Lines<'b> {
    whole: &'b [u8],
    offset: usize,
    line: u32,
    line_start: usize,
}

impl Lines<'_> {
    /// Where a part of the text begins.
    fn place(&mut self, place: &Place, part: &str) -> Place {
        let offset = (part.as_ptr() as usize).wrapping_sub(self.whole.as_ptr() as usize);
        if offset > self.whole.len() {
            return place.clone();
        }
        if offset < self.offset {
            *self = Lines {
                whole: self.whole,
                offset: 0,
                line: 1,
                line_start: 0,
            };
        }
        for (at, byte) in self.whole[self.offset..offset].iter().enumerate() {
            if *byte == b'\n' {
                self.line = self.line.saturating_add(1);
                self.line_start = self.offset + at + 1;
            }
        }
        self.offset = offset;
        place.at(
            self.line,
            u32::try_from(offset - self.line_start + 1).unwrap_or(0),
        )
    }
}

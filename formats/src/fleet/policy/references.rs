//! How files name an organisation: by id, by name, or by its file.

use std::collections::{BTreeMap, BTreeSet};

use towpath_core::finding::Place;
use towpath_core::fleet::Name;

use super::known::SharedValues;
use crate::read::{Node, Reader, Value};

/// An organisation, as a file names it, and where.
#[derive(Debug, Clone)]
pub(crate) struct PolicyReference {
    pub(crate) by: By,
    pub(crate) place: Place,
}

/// What an organisation is named by.
#[derive(Debug, Clone)]
pub(crate) enum By {
    Id(Name),
    Name(Name),
    /// Its id or its name.
    Either(Name),
    /// The path of its file.
    Path(Name),
}

impl PolicyReference {
    /// Reads a text, or a mapping with `orgId`, `name` or `$ref`.
    pub(crate) fn read(reader: &mut Reader, known: &mut SharedValues, node: &Node) -> Option<Self> {
        let place = reader.at(node);
        if let Value::Text(_) = node.value {
            let name = reader.name(node, "an organisation's id or name")?;
            return Some(Self {
                by: By::Either(known.name(name)),
                place,
            });
        }
        let record = reader.open_record(node, "an organisation's id or name")?;
        for field in ["orgId", "name", "$ref"] {
            let Some(node) = record.get(field) else {
                continue;
            };
            let name = known.name(reader.name(node, "an organisation's id or name")?);
            let by = match field {
                "orgId" => By::Id(name),
                "name" => By::Name(name),
                _ => By::Path(name),
            };
            return Some(Self { by, place });
        }
        let problem = "this names no organisation";
        reader.error(
            "missing-field",
            node,
            problem,
            "name it: `orgId: <id>`, `name: <name>` or `$ref: <file>`",
        );
        None
    }

    pub(crate) fn shown(&self) -> &str {
        match &self.by {
            By::Id(text) | By::Name(text) | By::Either(text) | By::Path(text) => text,
        }
    }
}

/// The organisations that there are, by whatever they are named by.
#[derive(Debug, Default)]
pub(super) struct Directory {
    ids: BTreeSet<Name>,
    by_name: BTreeMap<Name, BTreeSet<Name>>,
    /// By the last part of the path: the whole path, and the id.
    by_file: BTreeMap<String, Vec<(String, Name)>>,
}

impl Directory {
    pub(super) fn add(&mut self, id: &Name, name: &Name, path: &str) {
        self.ids.insert(id.clone());
        self.by_name
            .entry(name.clone())
            .or_default()
            .insert(id.clone());
        self.by_file
            .entry(last_part(path).to_owned())
            .or_default()
            .push((path.to_owned(), id.clone()));
    }

    /// The id of the one organisation that is meant.
    pub(super) fn find(&self, reference: &PolicyReference) -> Option<Name> {
        match &reference.by {
            By::Id(id) => self.ids.get(id).cloned(),
            By::Name(name) => self.named(name),
            By::Either(text) => self.ids.get(text).cloned().or_else(|| self.named(text)),
            By::Path(path) => self.in_file(path),
        }
    }

    fn named(&self, name: &Name) -> Option<Name> {
        let ids = self.by_name.get(name).filter(|ids| ids.len() == 1)?;
        ids.first().cloned()
    }

    /// A reference counts from a root that we may not know: `/aus/org.yml` is `data/aus/org.yml`.
    fn in_file(&self, path: &str) -> Option<Name> {
        let path = path.trim_start_matches('/');
        let ends = |whole: &str| {
            whole == path
                || whole
                    .strip_suffix(path)
                    .is_some_and(|root| root.ends_with('/'))
        };
        let mut found = self
            .by_file
            .get(last_part(path))?
            .iter()
            .filter(|(whole, _)| ends(whole));
        let (_, id) = found.next()?;
        found.all(|(_, other)| other == id).then(|| id.clone())
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

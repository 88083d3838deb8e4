//! Edits: edges that a release's metadata adds or takes away.
//!
//! Keys under `io.openshift.upgrades.graph.`: `previous.add`, `previous.remove`, `next.add`, `next.remove` (comma lists of
//! versions; `*` removes all), `previous.remove_regex` (a pattern). What anyone removes stays removed.

use super::Pattern;
use crate::version::ReleaseName;

#[derive(Debug, Clone)]
pub struct EdgeEdit {
    /// Which of the release's edges it is about.
    pub side: Side,
    pub change: EditAction,
}

/// Edges into a release, or out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Previous,
    Next,
}

#[derive(Debug, Clone)]
pub enum EditAction {
    /// Edges from or to these appear.
    Add(Vec<ReleaseName>),
    /// Edges from or to these go.
    Remove(Vec<ReleaseName>),
    /// Edges from or to whatever the pattern finds go.
    RemoveMatching(Pattern),
    RemoveAll,
}

/// An edit that cannot be understood, and what is done instead so that nothing opens by mistake.
#[derive(Debug, Clone)]
pub struct NotAnEdit {
    /// What is wrong with it.
    pub problem: String,
    /// Removes everything where something was to be removed; none where something was to be added.
    pub instead: Option<EdgeEdit>,
}

impl EdgeEdit {
    /// Reads a piece of metadata; none if it is not about edges.
    pub fn read(key: &str, value: &str) -> Option<Result<Self, NotAnEdit>> {
        let (side, verb) = match key
            .strip_prefix("io.openshift.upgrades.graph.")?
            .split_once('.')?
        {
            ("previous", verb) => (Side::Previous, verb),
            ("next", verb) => (Side::Next, verb),
            _ => return None,
        };
        let change = match verb {
            "add" => list(value).map(EditAction::Add),
            "remove" if value.trim() == "*" => Ok(EditAction::RemoveAll),
            "remove" => list(value).map(EditAction::Remove),
            "remove_regex" => Pattern::new(value)
                .map(EditAction::RemoveMatching)
                .map_err(|e| format!("{value:?}: {e}")),
            _ => return None,
        };
        let instead = (verb != "add").then_some(Self {
            side,
            change: EditAction::RemoveAll,
        });
        Some(
            change
                .map(|change| Self { side, change })
                .map_err(|problem| NotAnEdit { problem, instead }),
        )
    }
}

fn list(value: &str) -> Result<Vec<ReleaseName>, String> {
    let names = value
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    names
        .map(|name| ReleaseName::parse(name).map_err(|e| e.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_removes_everything_and_adds_nothing() {
        let read = |key: &str, value: &str| {
            EdgeEdit::read(&format!("io.openshift.upgrades.graph.{key}"), value)
        };
        for (key, value) in [
            ("previous.remove", "4.9.x"),
            ("next.remove", "4.9.1,?"),
            ("previous.remove_regex", "("),
        ] {
            let wrong = read(key, value).unwrap().unwrap_err();
            assert!(
                matches!(
                    wrong.instead,
                    Some(EdgeEdit {
                        change: EditAction::RemoveAll,
                        ..
                    })
                ),
                "{key}"
            );
        }
        assert!(
            read("previous.add", "4.9.x")
                .unwrap()
                .unwrap_err()
                .instead
                .is_none()
        );
        assert!(matches!(
            read("previous.remove", " * "),
            Some(Ok(EdgeEdit {
                change: EditAction::RemoveAll,
                ..
            }))
        ));
        assert!(read("release.arch", "amd64").is_none() && EdgeEdit::read("url", "x").is_none());
    }
}

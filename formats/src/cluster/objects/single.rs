//! Parts of objects that a program has read from the API itself, rather than from files.

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::cluster::health::{DisruptionBudget, Selector};
use towpath_core::finding::{Finding, Place};

use super::pods;
use crate::SourceFile;
use crate::read::{Reader, json::tree};

/// A selector of labels. None selects nothing.
pub(crate) fn selector_of(selector: Option<&Value>) -> Result<Selector, String> {
    let text = selector.unwrap_or(&Value::Null).to_string();
    let node = tree(&text).map_err(|error| error.to_string())?;
    let mut reader = Reader::new(&Place::file("nodeSelector"));
    let read = pods::selector(&mut reader, Some(&node));
    match reader.findings.first() {
        None => Ok(read),
        Some(finding) => Err(finding.problem.clone()),
    }
}

/// PodDisruptionBudgets, each with its `apiVersion`.
pub(crate) fn budgets_of(budgets: &[Value]) -> Result<Vec<DisruptionBudget>, Vec<Finding>> {
    let list = json!({"kind": "List", "apiVersion": "v1", "items": budgets});
    let file = SourceFile::new("poddisruptionbudgets.json", list.to_string().into_bytes());
    let (read, _) = super::read(&[file], Timestamp::UNIX_EPOCH)?;
    let known = read.facts.health.budgets.known();
    Ok(known.cloned().unwrap_or_default())
}

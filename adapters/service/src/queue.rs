//! Reports that wait to be sent, in order and within bounds; on disk, if there is a folder for them.
//!
//! When there is no more room, the oldest reports that only tell of a state go first: a newer one says the same and more. Those that tell what became of
//! an update go last.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use towpath_core::finding::{Finding, Place};
use towpath_formats::fleet::report;

use crate::folder::Folder;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The most reports.
    pub reports: usize,
    /// The most bytes of all of them.
    pub bytes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    pub id: Arc<str>,
    pub bytes: Arc<[u8]>,
    worth: Worth,
}

/// What would be lost with a report; the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    State,
    Outcome,
}

#[derive(Debug)]
pub struct Queue {
    /// By number, oldest first.
    waiting: BTreeMap<u64, Queued>,
    next: u64,
    bytes: usize,
    bounds: Bounds,
    folder: Option<Folder>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            reports: 1_000,
            bytes: 16 << 20,
        }
    }
}

impl Queue {
    /// One that is lost with the process.
    pub fn in_memory(bounds: Bounds) -> Self {
        Self {
            waiting: BTreeMap::new(),
            next: 0,
            bytes: 0,
            bounds,
            folder: None,
        }
    }

    /// The queue of a folder that nobody else uses; it is made if need be. What waits there is taken up again; what is broken is set aside, and told.
    pub fn open(folder: &Path, bounds: Bounds) -> Result<(Self, Vec<Finding>), Finding> {
        let folder = Folder::open(folder)?;
        let (found, mut findings) = folder.load();
        let mut queue = Self::in_memory(bounds);
        queue.folder = Some(folder);
        for (number, id, bytes) in found {
            queue.add(number, Queued::new(&id, bytes));
        }
        findings.extend(queue.make_room());
        Ok((queue, findings))
    }

    /// Adds a report, once for each name. Says what was lost for it, and what could not be written; such a report waits in memory.
    pub fn push(&mut self, id: &str, bytes: &[u8]) -> Vec<Finding> {
        if self.waiting.values().any(|waiting| &*waiting.id == id) {
            return Vec::new();
        }
        if bytes.len() > report::MAX_BYTES || !is_name(id) {
            let problem = format!(
                "report {:?} is too large, or has no name, and cannot be sent",
                clip(id)
            );
            return vec![Finding::error(
                "bad-report",
                self.place(),
                problem,
                "this is a mistake of ours: report it",
            )];
        }
        let number = self.next;
        self.add(number, Queued::new(id, bytes.into()));
        let mut findings = Vec::new();
        if let Some(folder) = &self.folder {
            findings.extend(folder.write(number, id, bytes).err());
        }
        findings.extend(self.make_room());
        findings
    }

    /// The one to be sent next.
    pub fn oldest(&self) -> Option<&Queued> {
        self.waiting.values().next()
    }

    /// It was taken or refused. One that has been dropped meanwhile is not missed.
    pub fn done(&mut self, id: &str) {
        let found = self
            .waiting
            .iter()
            .find(|(_, waiting)| &*waiting.id == id)
            .map(|(number, _)| *number);
        if let Some(number) = found {
            self.remove(number);
        }
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn add(&mut self, number: u64, queued: Queued) {
        self.bytes += queued.bytes.len();
        self.waiting.insert(number, queued);
        self.next = self.next.max(number.saturating_add(1));
    }

    fn remove(&mut self, number: u64) {
        let Some(removed) = self.waiting.remove(&number) else {
            return;
        };
        self.bytes -= removed.bytes.len();
        if let Some(folder) = &self.folder {
            folder.remove(number);
        }
    }

    /// Drops what is worth least, until the rest fits.
    fn make_room(&mut self) -> Option<Finding> {
        let mut dropped: Vec<Queued> = Vec::new();
        while self.waiting.len() > self.bounds.reports || self.bytes > self.bounds.bytes {
            let least = self
                .waiting
                .iter()
                .min_by_key(|(number, queued)| (queued.worth, **number));
            let Some((number, queued)) = least.map(|(number, queued)| (*number, queued.clone()))
            else {
                break;
            };
            dropped.push(queued);
            self.remove(number);
        }
        let outcomes = dropped
            .iter()
            .filter(|queued| queued.worth == Worth::Outcome)
            .count();
        let told = |first: &Queued| {
            let problem = format!(
                "{} reports that nobody took were dropped for newer ones, {outcomes} of them with an update's outcome; the first is {}",
                dropped.len(),
                clip(&first.id)
            );
            let remedy = "see why the service is away, and for how long";
            Finding::warning("reports-dropped", self.place(), problem, remedy)
        };
        dropped.first().map(told)
    }

    fn place(&self) -> Place {
        match &self.folder {
            Some(folder) => folder.place(),
            None => Place::file("the queue of reports"),
        }
    }
}

impl Queued {
    fn new(id: &str, bytes: Arc<[u8]>) -> Self {
        let has_outcome = report::read(&bytes).is_ok_and(|report| !report.updates.is_empty());
        Self {
            id: id.into(),
            bytes,
            worth: if has_outcome {
                Worth::Outcome
            } else {
                Worth::State
            },
        }
    }
}

/// Whether a report can have that name.
pub(crate) fn is_name(id: &str) -> bool {
    (1..=report::MAX_ID_CHARACTERS).contains(&id.chars().count())
        && !id.chars().any(char::is_control)
}

fn clip(id: &str) -> String {
    id.chars().take(report::MAX_ID_CHARACTERS).collect()
}

#[cfg(test)]
mod tests;

//! A bounded queue of reports that wait to be sent, in memory or on disk.
//!
//! When the queue is full, it first drops the oldest reports that only hold a state: newer ones replace them.
//! Reports with the outcome of an update are dropped last.

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
    /// The most bytes of all reports.
    pub bytes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedReport {
    pub id: Arc<str>,
    pub bytes: Arc<[u8]>,
    worth: Worth,
}

/// How much a dropped report would lose; the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    State,
    Outcome,
}

#[derive(Debug)]
pub struct Queue {
    /// By number, oldest first.
    waiting: BTreeMap<u64, QueuedReport>,
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
    /// A queue in memory, lost with the process.
    pub fn in_memory(bounds: Bounds) -> Self {
        Self {
            waiting: BTreeMap::new(),
            next: 0,
            bytes: 0,
            bounds,
            folder: None,
        }
    }

    /// Opens the queue of a folder, and creates it if needed. Reports on disk wait again.
    /// Broken ones are set aside with a finding.
    pub fn open(folder: &Path, bounds: Bounds) -> Result<(Self, Vec<Finding>), Finding> {
        let folder = Folder::open(folder)?;
        let (found, mut findings) = folder.load();
        let mut queue = Self::in_memory(bounds);
        queue.folder = Some(folder);
        for (number, id, bytes) in found {
            queue.add(number, QueuedReport::new(&id, bytes));
        }
        findings.extend(queue.make_room());
        Ok((queue, findings))
    }

    /// Adds a report, once for each name. Returns findings for dropped reports and for failed writes.
    /// A report that could not be written waits in memory.
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
                "this is a bug in Towpath: please report it",
            )];
        }
        let number = self.next;
        self.add(number, QueuedReport::new(id, bytes.into()));
        let mut findings = Vec::new();
        if let Some(folder) = &self.folder {
            findings.extend(folder.write(number, id, bytes).err());
        }
        findings.extend(self.make_room());
        findings
    }

    /// The next report to send.
    pub fn oldest(&self) -> Option<&QueuedReport> {
        self.waiting.values().next()
    }

    /// Removes a report that was accepted or refused. It may have been dropped meanwhile.
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

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn add(&mut self, number: u64, queued: QueuedReport) {
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

    /// Drops the least valuable reports until the rest fits.
    fn make_room(&mut self) -> Option<Finding> {
        let mut dropped: Vec<QueuedReport> = Vec::new();
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
        let told = |first: &QueuedReport| {
            let problem = format!(
                "the queue is full: {} unsent reports were dropped, {outcomes} of them with an update's outcome; the first is {}",
                dropped.len(),
                clip(&first.id)
            );
            let remedy = "check why the service does not accept reports";
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

impl QueuedReport {
    fn new(id: &str, bytes: Arc<[u8]>) -> Self {
        let has_outcome = report::read(&bytes)
            .is_ok_and(|report| !report.updates.is_empty() || !report.preflights.is_empty());
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

/// Whether a name is valid for a report.
pub(crate) fn is_name(id: &str) -> bool {
    (1..=report::MAX_ID_CHARACTERS).contains(&id.chars().count())
        && !id.chars().any(char::is_control)
}

fn clip(id: &str) -> String {
    id.chars().take(report::MAX_ID_CHARACTERS).collect()
}

#[cfg(test)]
mod tests;

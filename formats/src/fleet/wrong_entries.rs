//! What is wrong with entries of a long list: the first are shown, the others are counted.

use towpath_core::finding::{Finding, Place};

/// How many are shown.
pub(super) const MAX_SHOWN: usize = 20;

/// Problems of one code.
pub(super) struct WrongEntries {
    code: &'static str,
    remedy: &'static str,
    findings: Vec<Finding>,
    more: usize,
}

impl WrongEntries {
    pub(super) fn new(code: &'static str, remedy: &'static str) -> Self {
        Self {
            code,
            remedy,
            findings: Vec::new(),
            more: 0,
        }
    }

    pub(super) fn add(&mut self, place: impl FnOnce() -> Place, problem: String) {
        match self.findings.len() < MAX_SHOWN {
            true => {
                let finding = Finding::error(self.code, place(), problem, self.remedy);
                self.findings.push(finding);
            }
            false => self.more += 1,
        }
    }

    /// The findings; `entries` is what there are more of.
    pub(super) fn findings(mut self, place: &Place, entries: &str) -> Vec<Finding> {
        if self.more > 0 {
            let problem = format!("{} more {entries} are wrong", self.more);
            let remedy = "correct those that are shown first";
            let finding = Finding::error(self.code, place.clone(), problem, remedy);
            self.findings.push(finding);
        }
        self.findings
    }
}

//! A pass over the DaemonSets in waves, as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};
use towpath_core::finding::Finding;
use towpath_core::fleet::Name;
use towpath_core::verdict::Reason;

use crate::verdict;
use crate::words::{counted, plain};

/// What came of one DaemonSet.
#[derive(Debug, Clone)]
pub enum Waved {
    Told {
        reason: Box<Reason>,
        /// Pods that were deleted, or would be.
        deleted: Vec<Name>,
        /// The revision whose template was set, or would be.
        rolled_back_to: Option<Name>,
    },
    /// It changed while it was looked at. The next pass looks again.
    Changed,
    /// What it says cannot be followed.
    Refused(Vec<Finding>),
    /// The API did not answer, or refused.
    Failed(String),
}

/// One pass: each DaemonSet by its full name.
#[derive(Debug, Clone, Default)]
pub struct WavePass {
    pub sets: Vec<(Name, Waved)>,
    pub is_dry_run: bool,
}

impl WavePass {
    /// Whether nobody has to look.
    pub fn is_well(&self) -> bool {
        self.sets.iter().all(|(_, waved)| match waved {
            Waved::Told { reason, .. } => reason.code().is_note,
            Waved::Changed => true,
            Waved::Refused(_) | Waved::Failed(_) => false,
        })
    }
}

pub fn pass_json(pass: &WavePass) -> Value {
    let sets = pass.sets.iter().map(|(name, waved)| {
        let mut value = match waved {
            Waved::Told {
                reason,
                deleted,
                rolled_back_to,
            } => json!({
                "outcome": "told",
                "reason": verdict::reason(reason),
                "deleted": deleted,
                "rolledBackTo": rolled_back_to,
            }),
            Waved::Changed => json!({"outcome": "changed"}),
            Waved::Refused(findings) => json!({
                "outcome": "refused",
                "findings": crate::findings::json(findings),
            }),
            Waved::Failed(problem) => json!({"outcome": "failed", "problem": problem}),
        };
        value["daemonSet"] = json!(name);
        value
    });
    json!({"dryRun": pass.is_dry_run, "daemonSets": sets.collect::<Vec<_>>()})
}

pub fn pass_text(pass: &WavePass) -> String {
    let mut text = String::new();
    if pass.sets.is_empty() {
        text.push_str("No DaemonSet has opted in to waves: towpath.dev/waves: \"true\".\n");
    }
    for (name, waved) in &pass.sets {
        let name = plain(name);
        match waved {
            Waved::Told {
                reason,
                deleted,
                rolled_back_to,
            } => {
                let _ = writeln!(text, "{name}: {}", verdict::line(reason));
                if let Some(revision) = rolled_back_to {
                    let did = done(pass, "goes back", "would go back");
                    let _ = writeln!(text, "  {did} to revision {}", plain(revision));
                }
                if !deleted.is_empty() {
                    let did = done(pass, "deleted", "would delete");
                    let pods = counted(deleted.len(), "pod");
                    let _ = writeln!(text, "  {did} {pods}: {}", plain(&deleted.join(", ")));
                }
            }
            Waved::Changed => {
                let _ = writeln!(
                    text,
                    "{name}: it changed meanwhile; the next pass looks again"
                );
            }
            Waved::Refused(findings) => {
                for finding in findings {
                    let _ = writeln!(text, "{finding}");
                }
            }
            Waved::Failed(problem) => {
                let _ = writeln!(text, "{name}: {}", plain(problem));
            }
        }
    }
    text
}

fn done<'w>(pass: &WavePass, did: &'w str, would: &'w str) -> &'w str {
    match pass.is_dry_run {
        true => would,
        false => did,
    }
}

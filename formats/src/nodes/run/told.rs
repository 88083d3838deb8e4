//! A pass over the pools that reboot calmly, as text and as JSON; and what is told on each pool.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use towpath_core::finding::Finding;
use towpath_core::fleet::Name;
use towpath_core::nodes::run::{NodeAct, NodeMark};
use towpath_core::verdict::Reason;

use crate::verdict;
use crate::words::plain;

/// The most reasons that are written on a pool. A pass tells them all.
const MAX_REASONS: usize = 20;
/// How many acts are listed in a text.
const MAX_ACTS: usize = 20;

/// What came of one pool.
#[derive(Debug, Clone)]
pub enum Rebooted {
    Told {
        /// How far it is.
        progress: Box<Reason>,
        /// Why nodes that could begin do not.
        reasons: Vec<Reason>,
        /// What was done, or would be.
        acts: Vec<NodeAct>,
        /// What was to be done, and what the API said to it.
        failed: Vec<String>,
    },
    /// It changed while it was looked at. The next pass looks again.
    Changed,
    /// What it says cannot be followed.
    Refused(Vec<Finding>),
    /// The API did not answer, or refused.
    Failed(String),
}

/// One pass: each pool by its name.
#[derive(Debug, Clone, Default)]
pub struct RebootPass {
    pub pools: Vec<(Name, Rebooted)>,
    pub is_dry_run: bool,
}

impl RebootPass {
    /// Whether nobody has to look: everything goes on, or waits for what ends by itself.
    pub fn is_well(&self) -> bool {
        let ends = |reason: &Reason| reason.ends().is_some();
        self.pools.iter().all(|(_, rebooted)| match rebooted {
            Rebooted::Told {
                progress,
                reasons,
                failed,
                ..
            } => {
                let waits = !reasons.is_empty() && reasons.iter().all(ends);
                failed.is_empty() && (progress.code().is_note || waits)
            }
            Rebooted::Changed => true,
            Rebooted::Refused(_) | Rebooted::Failed(_) => false,
        })
    }

    /// Whether anything was done, or would be.
    pub fn has_acted(&self) -> bool {
        let acts = |rebooted: &Rebooted| matches!(rebooted, Rebooted::Told { acts, .. } if !acts.is_empty());
        self.pools.iter().any(|(_, rebooted)| acts(rebooted))
    }

    /// Whether every pool has come to this.
    pub fn all_are(&self, code: &str) -> bool {
        self.pools.iter().all(|(_, rebooted)| {
            matches!(rebooted, Rebooted::Told { progress, .. } if progress.code().name == code)
        })
    }
}

/// What we last told on a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolStatus {
    pub code: String,
    pub text: String,
    pub help: String,
    /// Why nodes that could begin do not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ToldReason>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldReason {
    pub code: String,
    pub text: String,
    pub help: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl PoolStatus {
    pub fn of(progress: &Reason, reasons: &[Reason]) -> Self {
        let told = |reason: &Reason| ToldReason {
            code: reason.code().name.to_owned(),
            text: reason.text(),
            help: reason.help(),
            until: reason.ends().map(|until| until.to_string()),
        };
        Self {
            code: progress.code().name.to_owned(),
            text: progress.text(),
            help: progress.help(),
            reasons: reasons.iter().take(MAX_REASONS).map(told).collect(),
        }
    }

    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub fn written(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether it tells of this kind of reason already.
    pub fn tells(&self, code: &str) -> bool {
        self.code == code || self.reasons.iter().any(|reason| reason.code == code)
    }
}

/// What is done, in a few words.
pub fn act_text(act: &NodeAct) -> String {
    match act {
        NodeAct::Pause(true) => "pause the pool".to_owned(),
        NodeAct::Pause(false) => "unpause the pool".to_owned(),
        NodeAct::Cordon(node) => format!("cordon {node}"),
        NodeAct::Uncordon(node) => format!("uncordon {node}"),
        NodeAct::Evict {
            node,
            namespace,
            pod,
        } => format!("evict {namespace}/{pod} from {node}"),
        NodeAct::Mark(node, NodeMark::None) => format!("take the mark off {node}"),
        NodeAct::Mark(node, NodeMark::Avoid) => format!("mark {node} as one to avoid"),
        NodeAct::Mark(node, NodeMark::KeepOut) => format!("close {node} to new pods"),
        NodeAct::HandOver(node) => format!("hand {node} over to the machine-config operator"),
        NodeAct::TakeBack(node) => format!("take {node} back into its pool"),
    }
}

pub fn pass_json(pass: &RebootPass) -> Value {
    let pools = pass.pools.iter().map(|(name, rebooted)| {
        let mut value = match rebooted {
            Rebooted::Told {
                progress,
                reasons,
                acts,
                failed,
            } => json!({
                "outcome": "told",
                "progress": verdict::reason(progress),
                "reasons": verdict::reasons(reasons),
                "acts": acts.iter().map(act_text).collect::<Vec<_>>(),
                "failed": failed,
            }),
            Rebooted::Changed => json!({"outcome": "changed"}),
            Rebooted::Refused(findings) => json!({
                "outcome": "refused",
                "findings": crate::findings::json(findings),
            }),
            Rebooted::Failed(problem) => json!({"outcome": "failed", "problem": problem}),
        };
        value["pool"] = json!(name);
        value
    });
    json!({"dryRun": pass.is_dry_run, "pools": pools.collect::<Vec<_>>()})
}

pub fn pass_text(pass: &RebootPass) -> String {
    let mut text = String::new();
    if pass.pools.is_empty() {
        text.push_str("No MachineConfigPool has opted in: towpath.dev/reboots: \"true\".\n");
    }
    for (name, rebooted) in &pass.pools {
        let name = plain(name);
        match rebooted {
            Rebooted::Told {
                progress,
                reasons,
                acts,
                failed,
            } => {
                let _ = writeln!(text, "{name}: {}", verdict::line(progress));
                let mut help = verdict::HelpOnce::default();
                for reason in reasons {
                    text.push_str(&help.point("  - ", reason));
                }
                let would = if pass.is_dry_run { "would " } else { "" };
                for act in acts.iter().take(MAX_ACTS) {
                    let _ = writeln!(text, "  {would}{}", plain(&act_text(act)));
                }
                if let more @ 1.. = acts.len().saturating_sub(MAX_ACTS) {
                    let _ = writeln!(text, "  and {more} more; JSON has all");
                }
                for problem in failed {
                    let _ = writeln!(text, "  {}", plain(problem));
                }
            }
            Rebooted::Changed => {
                let _ = writeln!(
                    text,
                    "{name}: it changed meanwhile; the next pass looks again"
                );
            }
            Rebooted::Refused(findings) => {
                for finding in findings {
                    let _ = writeln!(text, "{finding}");
                }
            }
            Rebooted::Failed(problem) => {
                let _ = writeln!(text, "{name}: {}", plain(problem));
            }
        }
    }
    text
}

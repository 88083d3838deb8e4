//! The catalogue: every kind of reason, collected from the rules' own files.
//!
//! `docs/reasons.md` and `towpath reason` are made from it.

use super::Code;
use crate::agent::rules::agent_codes;
use crate::cluster::rules::cluster_codes;
use crate::fleet::{ABSENCE_CODES, PLAN_CODES, fleet_codes};
use crate::graph::rules::edge_codes;
use crate::nodes::{advice_codes, drain_codes, run_codes, wave_codes};

/// A part of the catalogue: what is asked, and the reasons there are, each with the rule that gives it.
pub struct Chapter {
    pub title: &'static str,
    pub asked: &'static str,
    pub codes: Vec<&'static Code>,
}

/// Every kind of reason, by question.
pub fn catalogue() -> Vec<Chapter> {
    let fleet = fleet_codes().into_iter().map(|(_, code)| code);
    [
        (
            "The graph",
            "May this client take this edge now?",
            edge_codes(),
        ),
        (
            "The fleet",
            "May this cluster start, and go to this version, now?",
            fleet.chain(PLAN_CODES).chain(ABSENCE_CODES).collect(),
        ),
        (
            "The agent",
            "Does this cluster take this offer by itself?",
            agent_codes(),
        ),
        (
            "The cluster",
            "What do the cluster's own objects have against this update?",
            cluster_codes(),
        ),
        (
            "Nodes",
            "May these nodes be drained, and do their pods have a place?",
            drain_codes(),
        ),
        (
            "Reboots of a pool",
            "How far is a pool that has opted in to `towpath nodes run`, and why does no node begin?",
            run_codes(),
        ),
        (
            "DaemonSets",
            "What slows the rollout of a DaemonSet down, and what helps?",
            advice_codes(),
        ),
        (
            "DaemonSets in waves",
            "How far is a DaemonSet that has opted in to waves?",
            wave_codes(),
        ),
    ]
    .map(|(title, asked, codes)| Chapter {
        title,
        asked,
        codes,
    })
    .into()
}

/// The kind of reason of that name.
pub fn code_named(name: &str) -> Option<&'static Code> {
    let mut codes = catalogue().into_iter().flat_map(|chapter| chapter.codes);
    codes.find(|code| code.name == name)
}

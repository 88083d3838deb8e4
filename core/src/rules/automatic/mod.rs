//! What keeps a cluster from taking an update by itself: one rule a file, each from an offer and the moment to a verdict.
//!
//! What is not known is never taken for good. A person's own choice always wins: while one is open, nothing else starts.

mod advice;
mod at_rest;
mod failures;
mod forwards;
mod gates;
mod graph_age;
mod interval;
mod opted_in;
mod pin;
mod proof;
mod request;
mod taken_back;
mod windows;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::domain::automatic::{
    AutomaticPolicy, AutomaticReason, Evidence, Memory, Offer, Stamp, Standing,
};
use crate::domain::fleet::Name;
use crate::domain::readiness::Facts;
use crate::domain::{Fact, Reason, Verdict};

/// All that is known at a moment.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    pub standing: &'a Standing,
    /// What its objects say about whether it can be updated.
    pub facts: &'a Facts,
    pub policy: &'a AutomaticPolicy,
    pub memory: &'a Memory,
    /// What was found out about offers, by image.
    pub evidence: &'a BTreeMap<Name, Evidence>,
    /// How old the graph is.
    pub stamp: &'a Fact<Stamp>,
    pub now: Timestamp,
}

/// What all rules say about an offer.
pub fn judge(offer: &Offer, at: &Moment<'_>) -> Verdict {
    let rules: [fn(&Offer, &Moment<'_>) -> Verdict; 13] = [
        advice::judge,
        at_rest::judge,
        failures::judge,
        forwards::judge,
        gates::judge,
        graph_age::judge,
        interval::judge,
        opted_in::judge,
        pin::judge,
        proof::judge,
        request::judge,
        taken_back::judge,
        windows::judge,
    ];
    rules.into_iter().map(|rule| rule(offer, at)).collect()
}

fn refuse(reason: AutomaticReason) -> Verdict {
    Verdict::refuse(Reason::Automatic(Box::new(reason)))
}

fn wait(until: Option<Timestamp>, reason: AutomaticReason) -> Verdict {
    let reason = Reason::Automatic(Box::new(reason));
    match until {
        Some(until) => Verdict::wait_until(until, reason),
        None => Verdict::wait(reason),
    }
}

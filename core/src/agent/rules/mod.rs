//! What keeps a cluster from updating itself. Each file is one rule: an offer and the time in, a
//! verdict out.
//!
//! Unknown facts never loosen an answer. A person's own choice always wins: while it is open,
//! nothing else starts.

mod advice;
mod at_rest;
mod channel_order;
mod failures;
mod forwards;
mod gates;
mod graph_age;
mod interval;
mod open_preflight;
mod opted_in;
mod ordered;
mod pin;
mod proof;
mod request;
mod taken_back;
mod windows;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

pub use advice::MAX_ACCEPTED;
pub use failures::TOO_MANY_FAILURES;
pub use graph_age::{GRAPH_AGE_UNKNOWN, GRAPH_WENT_BACK};
pub use opted_in::NOT_OPTED_IN;
pub use proof::{NOT_PROVED, NOT_SIGNED, ONLY_CLAIMED, OTHER_ARCH, OTHER_RELEASE};

use crate::agent::{
    Advice, AutomaticPolicy, ClusterStanding, Evidence, FleetOrders, Memory, Stamp, UpdateOffer,
};
use crate::cluster::Fact;
use crate::cluster::objects::Facts;
use crate::fleet::Name;
use crate::rules::{PlainRule, Policy, Question, Rule};
use crate::verdict::{Code, Verdict};
use crate::version::{Minors, Version};

/// Questions about offers.
pub struct Offers;

impl Question for Offers {
    type At<'a> = OfferQuestion<'a>;
}

type OfferRule = PlainRule<Offers>;

/// Does this cluster take this offer by itself, now?
#[derive(Debug, Clone, Copy)]
pub struct OfferQuestion<'a> {
    pub offer: &'a UpdateOffer,
    /// All that is known at the moment.
    pub at: &'a Moment<'a>,
}

/// All that is known at a moment.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    pub standing: &'a ClusterStanding,
    /// What its objects say about whether it can be updated.
    pub facts: &'a Facts,
    /// What its administrators allow.
    pub policy: &'a AutomaticPolicy,
    /// Which minor version follows which.
    pub minors: &'a Minors,
    /// What is remembered.
    pub memory: &'a Memory,
    /// What was found out about offers, by image.
    pub evidence: &'a BTreeMap<Name, Evidence>,
    /// How old the graph is.
    pub stamp: &'a Fact<Stamp>,
    /// What the fleet asks of the cluster; nothing if its service cannot be asked.
    pub orders: &'a FleetOrders,
    pub now: Timestamp,
}

static AGENT: Policy<Offers> = Policy(&[
    &advice::RULE,
    &at_rest::RULE,
    &failures::RULE,
    &forwards::RULE,
    &gates::RULE,
    &graph_age::RULE,
    &interval::RULE,
    &opted_in::RULE,
    &ordered::RULE,
    &pin::RULE,
    &proof::RULE,
    &request::RULE,
    &taken_back::RULE,
    &windows::RULE,
]);

/// What a preflight depends on. It changes nothing, so it needs no more.
static PREFLIGHT: Policy<Offers> = Policy(&[
    &at_rest::RULE,
    &open_preflight::RULE,
    &opted_in::RULE,
    &proof::RULE,
    &request::RULE,
    &windows::RULE,
]);

/// What setting a channel for an update depends on: all that can be said about the update before it is offered.
static CHANNEL: Policy<Offers> = Policy(&[
    &at_rest::RULE,
    &channel_order::RULE,
    &failures::RULE,
    &forwards::RULE,
    &gates::RULE,
    &graph_age::RULE,
    &interval::RULE,
    &opted_in::RULE,
    &pin::RULE,
    &request::RULE,
    &taken_back::RULE,
    &windows::RULE,
]);

/// What is said about setting the channel that the fleet orders for an update.
pub fn judge_channel(update: &Version, at: &Moment<'_>) -> Verdict {
    let offer = UpdateOffer {
        version: update.clone(),
        image: "".into(),
        advice: Advice::Recommended,
        risks: BTreeSet::new(),
    };
    CHANNEL.judge(&OfferQuestion { offer: &offer, at })
}

/// What is said about a preflight of a release.
pub fn judge_preflight(release: &UpdateOffer, at: &Moment<'_>) -> Verdict {
    PREFLIGHT.judge(&OfferQuestion { offer: release, at })
}

/// What all rules say about an offer.
pub fn judge(offer: &UpdateOffer, at: &Moment<'_>) -> Verdict {
    AGENT.judge(&OfferQuestion { offer, at })
}

/// Every kind of reason of the agent's own rules.
pub fn agent_codes() -> Vec<&'static Code> {
    let mut codes = AGENT.codes();
    codes.extend(open_preflight::RULE.codes());
    codes.extend(channel_order::RULE.codes());
    codes
}

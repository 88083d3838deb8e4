//! Blind windows: a release that fails for one cluster in five would not be seen before a tenth of the fleet has it.
//!
//! It depends on the fleet's size and on how long feedback takes, which graph data does not say. So this check runs only
//! where somebody names the size.

use jiff::Timestamp;

use crate::feedback::{FailureRate, FeedbackPolicy, WatchSettings, power_card};
use crate::finding::Finding;
use crate::graph::{ChannelName, EdgeMatch, FromVersion, GraphData, RolloutRule, Share};

const MUST_BE_SEEN: FailureRate = FailureRate::per_million(200_000);

/// Every rule whose windows are too fast for a fleet of this size.
pub fn blind_windows(
    data: &GraphData,
    clusters: u64,
    policy: &FeedbackPolicy,
    now: Timestamp,
) -> Vec<Finding> {
    let rules = data.channels.iter().flat_map(|channel| {
        let rules = channel.rollouts.iter();
        rules.map(move |rule| (&channel.name, rule))
    });
    rules
        .filter(|(_, rule)| !matches!(rule.edges, EdgeMatch::Kind(FromVersion::Other(_))))
        .filter_map(|(channel, rule)| blind(channel, rule, clusters, policy.of(channel), now))
        .collect()
}

fn blind(
    channel: &ChannelName,
    rule: &RolloutRule,
    clusters: u64,
    settings: &WatchSettings,
    now: Timestamp,
) -> Option<Finding> {
    let card = power_card(&rule.window(now), clusters, settings);
    let row = card.before(before())?;
    if row.seen.is_some_and(|seen| seen <= MUST_BE_SEEN) {
        return None;
    }
    let seen = match row.seen {
        Some(seen) => format!("only a failure rate of {seen} or more"),
        None => "no failure rate at all".to_owned(),
    };
    let problem = format!(
        "{channel}: before {} of {clusters} clusters have a release, this window shows {seen}; {} outcomes are known by then, and feedback takes {:#}",
        row.exposed, row.known, card.delay,
    );
    let remedy = "make it longer, use `ramp: exponential` or `stages`, or bring feedback sooner";
    Some(Finding::warning(
        "rollout-blind",
        rule.origin.clone(),
        problem,
        remedy,
    ))
}

fn before() -> Share {
    Share::thousandths(100)
}

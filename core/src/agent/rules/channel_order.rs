//! Channel order: the agent sets the channel that the fleet orders, but never over a person's later
//! choice.

use super::{OfferQuestion, OfferRule};
use crate::verdict::{Code, Value, Verdict};

static CHANNEL_UNWANTED: Code = Code::new(
    "ChannelUnwanted",
    "the agent has set {channel} before, and somebody has replaced it, or the API refused it",
    "if it is right after all, set it yourself: `oc adm upgrade channel {channel}`",
)
.with(&[("channel", "stable-4.21")]);

/// Somebody has changed it since the fleet last heard of the cluster.
static OTHER_CHANNEL: Code = Code::new(
    "OtherChannel",
    "the cluster is in {channel}, and the fleet decided when it was in {known}",
    "nothing; the agent reports the channel, and the fleet decides again",
)
.with(&[("channel", "fast-4.20"), ("known", "stable-4.20")]);

pub(super) static RULE: OfferRule = OfferRule::new(&[&CHANNEL_UNWANTED, &OTHER_CHANNEL], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    let (standing, memory) = (q.at.standing, q.at.memory);
    let update = q.at.orders.update.as_ref();
    let Some(order) = update.and_then(|update| update.channel.as_ref()) else {
        return Verdict::recommend();
    };
    if memory.unwanted_channel.as_ref() == Some(&order.to) {
        let channel = ("channel", order.to.as_str().into());
        return Verdict::refuse(CHANNEL_UNWANTED.because([channel]));
    }
    if standing.channel == order.from {
        return Verdict::recommend();
    }
    let told = |channel: &Option<crate::graph::ChannelName>| match channel {
        Some(channel) => Value::text(channel),
        None => Value::text("no channel"),
    };
    Verdict::wait(OTHER_CHANNEL.because([
        ("channel", told(&standing.channel)),
        ("known", told(&order.from)),
    ]))
}

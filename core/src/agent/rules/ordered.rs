//! Ordered: in a channel that the agent has set, only the fleet says which minor version is next.
//!
//! The channel was set for one update. Without this rule the agent would take the highest release
//! of the next minor version there, and no rule of the fleet would have judged that.

use super::{OfferQuestion, OfferRule};
use crate::agent::ChannelCourse;
use crate::verdict::{Code, Verdict};
use crate::version::Minor;

static WAITS_FOR_CHANNEL: Code = Code::new(
    "WaitsForChannel",
    "the agent has set {channel} for the update to {to}, and nothing else starts before that",
    "nothing; after two hours without that offer the agent goes on, and says so",
)
.with(&[("channel", "stable-4.21"), ("to", "4.21.3")]);

static NOT_ORDERED: Code = Code::new(
    "NotOrdered",
    "the agent has set {channel} for an update of the fleet, and the fleet has not started this one",
    "wait for the fleet (`towpath fleet why`), or take it by hand",
)
.with(&[("channel", "stable-4.21")]);

pub(super) static RULE: OfferRule = OfferRule::new(&[&WAITS_FOR_CHANNEL, &NOT_ORDERED], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    let (standing, version) = (q.at.standing, &q.offer.version);
    let set = q.at.memory.set_channel.as_ref();
    let Some(set) = set.filter(|set| standing.channel.as_ref() == Some(&set.channel)) else {
        return Verdict::recommend();
    };
    let ordered = q.at.orders.update.as_ref();
    if ordered.is_some_and(|update| update.to == *version) {
        return Verdict::recommend();
    }
    let channel = ("channel", set.channel.as_str().into());
    let is_higher = |current| Minor::of(version) > Minor::of(current);
    match set.course {
        ChannelCourse::Waiting => {
            Verdict::wait(WAITS_FOR_CHANNEL.because([channel, ("to", (&set.update).into())]))
        }
        ChannelCourse::Over if standing.current().is_none_or(is_higher) => {
            Verdict::wait(NOT_ORDERED.because([channel]))
        }
        ChannelCourse::Over => Verdict::recommend(),
    }
}

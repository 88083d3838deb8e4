//! Channels: a release that is only in another channel needs that channel to be open to the cluster.
//!
//! Whether the cluster may be switched at all is its policy's to say. Without that the release is no
//! candidate.

use std::collections::BTreeSet;

use super::StartRule;
use crate::fleet::roster::StartQuestion;
use crate::graph::ChannelName;
use crate::verdict::{Code, Verdict};

static CHANNEL_NOT_AVAILABLE: Code = Code::new(
    "ChannelNotAvailable",
    "it is only in {channel}, which is not available to the cluster",
    "have the channel opened to the cluster where it is managed (OCM: available_channels)",
)
.with(&[("channel", "stable-4.21")]);

pub(super) static RULE: StartRule =
    StartRule::new(&[&CHANNEL_NOT_AVAILABLE], judge).holding(|q| closed(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let wait = |channel: &ChannelName| {
        let facts = [("channel", channel.as_str().into())];
        Verdict::wait(CHANNEL_NOT_AVAILABLE.because(facts))
    };
    closed(q).map(wait).into_iter().collect()
}

/// The channel that it would have to be switched to, if that is not open to it. While nobody tells which are, all are.
fn closed<'a>(q: &StartQuestion<'a>) -> Option<&'a ChannelName> {
    let state = &q.member.state;
    let channel = state.offers[q.candidate?.offer.at()].channel.as_ref()?;
    let open: &BTreeSet<ChannelName> = state.available_channels.known()?;
    (!open.contains(channel)).then_some(channel)
}

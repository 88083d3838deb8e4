//! Why is a version no candidate of a cluster? Candidates are the versions that the graph or the list offers it.

use crate::fleet::ClusterState;
use crate::verdict::{Code, Reason, Value};
use crate::version::Version;

static CHANNEL_UNKNOWN: Code = Code::new(
    "ChannelUnknown",
    "nobody has said which channel the cluster follows, so no version is available to it",
    "let it report its `channel`, or write `channel` (or `availableUpgrades`) into its entry of the list and import the list again",
);

static NOTHING_OFFERED: Code = Code::new(
    "NothingOffered",
    "no newer version is available to the cluster[ in channel {channel}]",
    "nothing; if one should be, see `towpath explain --channel CHANNEL --from VERSION`",
)
.with(&[("channel", "stable-4.20")]);

static ALREADY_THERE: Code = Code::new(
    "AlreadyThere",
    "the cluster runs {version} already",
    "ask about a higher version",
)
.with(&[("version", "4.20.3")]);

static WOULD_GO_BACK: Code = Code::new(
    "WouldGoBack",
    "the cluster runs {version}, and Towpath never goes back",
    "ask about a higher version",
)
.with(&[("version", "4.20.3")]);

static NOT_OFFERED: Code = Code::new(
    "NotOffered",
    "no edge leads there from {version}; available are {there}",
    "`towpath path` finds the way there, hop by hop",
)
.with(&[("version", "4.20.3"), ("there", "4.20.5, 4.20.4")]);

/// Why a version is no candidate.
pub(crate) const ABSENCE_CODES: [&Code; 5] = [
    &CHANNEL_UNKNOWN,
    &NOTHING_OFFERED,
    &ALREADY_THERE,
    &WOULD_GO_BACK,
    &NOT_OFFERED,
];

/// Why a cluster has no candidate at all.
pub(super) fn nothing(state: &ClusterState) -> Reason {
    match &state.channel {
        None => CHANNEL_UNKNOWN.alone(),
        Some(channel) => NOTHING_OFFERED.because([("channel", channel.as_str().into())]),
    }
}

/// Why this version is not among the candidates, which are these, highest first.
pub(super) fn of_version<'a>(
    state: &ClusterState,
    to: &Version,
    candidates: impl Iterator<Item = &'a Version>,
) -> Reason {
    let runs = || [("version", (&state.version).into())];
    if *to == state.version {
        return ALREADY_THERE.because(runs());
    }
    if *to < state.version {
        return WOULD_GO_BACK.because(runs());
    }
    match Value::list(candidates) {
        Value::Missing => nothing(state),
        there => NOT_OFFERED.because([("version", (&state.version).into()), ("there", there)]),
    }
}

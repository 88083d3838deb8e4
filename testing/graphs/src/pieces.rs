//! The parts of a graph, with defaults for what a test does not care about.

use std::collections::BTreeMap;

use jiff::Timestamp;
use towpath_core::feedback::HaltScope;
use towpath_core::finding::Place;
use towpath_core::graph::{
    ChannelName, ChannelSpec, DeclaredEdge, DeclaredHalt, DeclaredRelease, MatchingRule, Member,
    ObservedFailures, Risk, Trust,
};
use towpath_core::version::{Arch, ReleaseName, Version};

/// A release that nobody has signed, for the usual architecture.
pub fn release(version: &Version) -> DeclaredRelease {
    DeclaredRelease {
        version: version.clone(),
        arch: Arch::default(),
        payload: format!("registry/{version}"),
        metadata: BTreeMap::new(),
        declares: None,
        trust: Trust::Unverified,
    }
}

pub fn edge(from: u32, to: u32) -> DeclaredEdge {
    DeclaredEdge {
        from,
        to,
        risks: None,
    }
}

/// A release that has always been in its channel.
pub fn member(name: ReleaseName) -> Member {
    Member {
        name,
        start: None,
        locked: false,
        held: false,
        replaces: None,
        origin: Place::file("c"),
    }
}

/// A channel without rollouts.
pub fn channel(name: &str, members: Vec<Member>) -> ChannelSpec {
    ChannelSpec {
        name: ChannelName::new(name).unwrap(),
        rings: Vec::new(),
        rollouts: Vec::new(),
        members,
        origin: Place::file("c"),
    }
}

pub fn risk(name: &str, matching_rules: Vec<MatchingRule>) -> Risk {
    Risk {
        name: name.to_owned(),
        url: "https://example.com".into(),
        message: "m".into(),
        matching_rules,
    }
}

/// A halt for every cluster, with evidence.
pub fn halt(by: &str) -> DeclaredHalt {
    DeclaredHalt {
        by: by.to_owned(),
        at: Timestamp::UNIX_EPOCH,
        scope: HaltScope::default(),
        why: Some("Nodes stay NotReady.".to_owned()),
        evidence: Some(ObservedFailures {
            attempts: 41,
            known: 36,
            failed: 6,
            degraded: 0,
            sentence: "At most 1 in 1,000 good releases looks so bad.".to_owned(),
        }),
    }
}

//! A cluster that would take an update by itself, to be spoiled in one point.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use towpath_core::agent::rules::Moment;
use towpath_core::agent::{
    Advice, AutomaticPolicy, Choice, ClusterStanding, Condition, Evidence, FleetOrders,
    ImageDeclaration, Memory, OptIn, Past, Stamp, Status, UpdateOffer, UpdateTarget, Witness,
    choose,
};
use towpath_core::cluster::Fact;
use towpath_core::cluster::objects::{Facts, HistoryEntry, MachineConfigPool, Node, Progress};
use towpath_core::fleet::Name;
use towpath_core::graph::ChannelName;
use towpath_core::signatures::{SignatureVerdict, Signer};
use towpath_core::verdict::Answer;
use towpath_core::version::{Arch, Minor, Minors, Version};
use towpath_testing_graphs::minors;

/// All that a decision depends on.
#[derive(Debug, Clone)]
pub(crate) struct Story {
    pub(crate) standing: ClusterStanding,
    pub(crate) facts: Facts,
    pub(crate) policy: AutomaticPolicy,
    pub(crate) memory: Memory,
    pub(crate) evidence: BTreeMap<Name, Evidence>,
    pub(crate) stamp: Fact<Stamp>,
    pub(crate) orders: FleetOrders,
    pub(crate) now: Timestamp,
    pub(crate) minors: Minors,
}

pub(crate) fn version(text: &str) -> Version {
    text.parse().unwrap()
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The image of a release: its digest is made of its version.
pub(crate) fn image(version: &str) -> Name {
    let digits: String = version.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("quay.io/o/release@sha256:{digits:0<64}").into()
}

pub(crate) fn verified() -> SignatureVerdict {
    let signed_at = at("2026-01-01T00:00Z");
    SignatureVerdict::Verified(Signer {
        fingerprint: "AB".into(),
        user_id: "release".into(),
        signed_at,
        until: None,
    })
}

/// A signed image that says these things.
pub(crate) fn witness(is: &str, previous: &[&str], next: &[&str]) -> Witness {
    let versions = |list: &[&str]| list.iter().map(|text| version(text)).collect();
    let declared = ImageDeclaration {
        version: is.into(),
        arch: Arch::default(),
        previous: versions(previous),
        next: versions(next),
    };
    Witness {
        signature: verified(),
        declared: Fact::Known(declared),
    }
}

pub(crate) fn offer(to: &str) -> UpdateOffer {
    UpdateOffer {
        version: version(to),
        image: image(to),
        advice: Advice::Recommended,
        risks: BTreeSet::new(),
    }
}

pub(crate) fn asked(to: &str) -> UpdateTarget {
    UpdateTarget {
        version: Some(version(to)),
        image: Some(image(to)),
        ..UpdateTarget::default()
    }
}

pub(crate) fn condition(status: Status) -> Condition {
    Condition {
        status,
        reason: "Reason".into(),
        message: "in its own words".into(),
        since: None,
    }
}

impl Story {
    /// On 4.20.1 since ten days ago, opted in, at rest, ready; offered 4.20.3, which is signed and names 4.20.1.
    pub(crate) fn new() -> Self {
        let now = at("2026-11-16T12:00Z");
        let conditions = [
            ("Available", Status::True),
            ("Progressing", Status::False),
            ("Failing", Status::False),
            ("RetrievedUpdates", Status::True),
        ];
        let entry = HistoryEntry {
            version: version("4.20.1"),
            progress: Progress::Completed,
        };
        let worker = |kubelet| Node {
            name: "w1".into(),
            pool: Fact::Known("worker".into()),
            kubelet: Fact::Known(Minor::new(1, kubelet)),
        };
        let facts = Facts {
            history: Fact::Known(vec![entry]),
            objections: Fact::Known(Vec::new()),
            operator_objections: Fact::Known(Vec::new()),
            failures: Fact::Known(Vec::new()),
            operator_failures: Fact::Known(Vec::new()),
            nodes: Fact::Known(vec![worker(33)]),
            pools: Fact::Known(vec![MachineConfigPool {
                name: "worker".into(),
                is_paused: false,
            }]),
            operators: Fact::Known(Vec::new()),
            apis: Fact::Known(Vec::new()),
            gates: Fact::Known([].into()),
            acks: Fact::Known([].into()),
            ..Facts::default()
        };
        let past = Past {
            version: version("4.20.1"),
            progress: Progress::Completed,
            started: Some(at("2026-11-06T10:00Z")),
            ended: Some(at("2026-11-06T12:00Z")),
        };
        let standing = ClusterStanding {
            opt_in: OptIn::Wanted,
            channel: ChannelName::new("stable-4.20"),
            desired: Some(asked("4.20.1")),
            asked: None,
            preflight: None,
            is_observed: true,
            accepted_risks: BTreeSet::new(),
            risks: BTreeMap::new(),
            conditions: conditions
                .map(|(name, status)| (name.into(), condition(status)))
                .into(),
            past: vec![past],
            offers: vec![offer("4.20.3")],
        };
        let source = witness("4.20.1", &[], &[]);
        let proof = |to: &str| Evidence {
            target: witness(to, &["4.20.1"], &[]),
            source: source.clone(),
        };
        let evidence = ["4.20.3", "4.20.2", "4.21.0"].map(|to| (image(to), proof(to)));
        let policy = AutomaticPolicy {
            max_graph_age: Some(SignedDuration::from_hours(1)),
            ..AutomaticPolicy::usual()
        };
        let good_at = at("2026-11-16T11:50Z");
        let stamp = Fact::Known(Stamp {
            good_at,
            stamped_at: at("2026-11-16T11:59Z"),
        });
        Self {
            standing,
            facts,
            policy,
            memory: Memory::default(),
            evidence: evidence.into(),
            stamp,
            orders: FleetOrders::default(),
            minors: minors(),
            now,
        }
    }

    pub(crate) fn but(change: impl FnOnce(&mut Self)) -> Self {
        let mut story = Self::new();
        change(&mut story);
        story
    }

    pub(crate) fn choice(&self) -> Choice {
        choose(&self.moment())
    }

    pub(crate) fn moment(&self) -> Moment<'_> {
        let Self {
            standing,
            facts,
            policy,
            memory,
            evidence,
            stamp,
            orders,
            minors,
            now,
        } = self;
        Moment {
            standing,
            facts,
            policy,
            minors,
            memory,
            evidence,
            stamp,
            orders,
            now: *now,
        }
    }

    /// What is taken, or all codes that speak against the highest offer, and until when it waits.
    pub(crate) fn told(&self) -> String {
        let choice = self.choice();
        if let Some(offer) = choice.takes() {
            return format!("takes {}", offer.version);
        }
        let Some((_, verdict)) = choice.judged.first() else {
            return "nothing is offered".to_owned();
        };
        let codes: Vec<&str> = verdict
            .reasons
            .iter()
            .filter(|reason| !reason.code().is_note)
            .map(|one| one.code().name)
            .collect();
        let how = match verdict.answer {
            Answer::Wait { until: Some(until) } => format!("waits until {until}"),
            Answer::Wait { until: None } => "waits".to_owned(),
            _ => "refuses".to_owned(),
        };
        format!("{how}: {}", codes.join(" "))
    }
}

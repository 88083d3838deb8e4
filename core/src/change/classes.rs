//! Classes of clients: whom blocks can tell apart. Nobody else needs to be asked about.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;

use crate::domain::{
    Answer, Arch, Audience, ChannelName, Cluster, Edge, Fact, Graph, Platform, Risk, Situation,
};
use crate::rules::{Policy, Rule};

/// Clients that blocks cannot tell apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// On a platform that some block names.
    Platform(Platform),
    OtherPlatforms,
    /// On a platform that nobody knows.
    Unknown,
}

/// For whom something is so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whom {
    Everybody,
    Some {
        on: BTreeSet<Class>,
        not_on: BTreeSet<Class>,
    },
}

/// What a client is offered once its windows are over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Offer<'a> {
    No,
    Open,
    Unless(BTreeSet<&'a Risk>),
}

/// All classes of two graphs, each with a client of it.
pub(super) struct Classes {
    policy: Policy,
    clients: Vec<(Class, Cluster)>,
}

impl Classes {
    pub(super) fn of(base: &Graph, new: &Graph) -> Self {
        let stops = base
            .blocks()
            .iter()
            .chain(new.blocks())
            .filter_map(|block| block.stops.as_ref());
        let mut named: BTreeSet<Platform> = BTreeSet::new();
        for audience in stops {
            match audience {
                Audience::Platforms(platforms) => named.extend(platforms.iter().cloned()),
                Audience::Everybody | Audience::NotUnderstood(_) | Audience::Disputed(_) => {}
            }
        }
        let other = unnamed(&named);
        let listed = named
            .into_iter()
            .map(|platform| (Class::Platform(platform.clone()), Fact::Known(platform)));
        let further = [
            (Class::OtherPlatforms, Fact::Known(other)),
            (Class::Unknown, Fact::Unknown),
        ];
        let anywhere = ChannelName::new("any").expect("a well-formed name");
        let client = |platform| Cluster {
            platform,
            ..Cluster::anonymous(anywhere.clone(), Arch::default())
        };
        let clients = listed
            .chain(further)
            .map(|(class, platform)| (class, client(platform)))
            .collect();
        Self {
            policy: Policy::standing(),
            clients,
        }
    }

    /// Each class, with what its clients are offered of an edge in each graph; no edge is no offer.
    pub(super) fn offers<'g>(
        &self,
        asked: [(&'g Graph, Option<Edge>); 2],
    ) -> impl Iterator<Item = (&Class, [Offer<'g>; 2])> {
        self.clients.iter().map(move |(class, client)| {
            let offer = |(graph, edge): (&'g Graph, Option<Edge>)| {
                edge.map_or(Offer::No, |edge| offer(&self.policy, graph, edge, client))
            };
            (class, asked.map(offer))
        })
    }

    /// Those classes, seen beside all there are.
    pub(super) fn whom(&self, on: BTreeSet<Class>) -> Whom {
        let all = self.clients.iter().map(|(class, _)| class);
        let not_on: BTreeSet<Class> = all.filter(|class| !on.contains(*class)).cloned().collect();
        if not_on.is_empty() {
            Whom::Everybody
        } else {
            Whom::Some { on, not_on }
        }
    }
}

fn offer<'g>(policy: &Policy, graph: &'g Graph, edge: Edge, client: &Cluster) -> Offer<'g> {
    // Standing rules do not look at the time.
    let at = Situation {
        graph,
        cluster: client,
        now: Timestamp::UNIX_EPOCH,
    };
    match policy.judge(edge, &at).answer {
        Answer::Recommend => Offer::Open,
        Answer::RecommendUnless(risks) => {
            Offer::Unless(risks.into_iter().map(|risk| graph.risk(risk)).collect())
        }
        Answer::Wait { .. } | Answer::Refuse => Offer::No,
    }
}

/// A platform that no block names.
fn unnamed(named: &BTreeSet<Platform>) -> Platform {
    let candidates =
        (0..=named.len()).filter_map(|number| Platform::new(&format!("other-{number}")));
    let mut free = candidates.filter(|platform| !named.contains(platform));
    free.next()
        .expect("one of more names than there are platforms is free")
}

impl<'a> Offer<'a> {
    pub(super) fn risks(&self) -> BTreeSet<&'a Risk> {
        match self {
            Self::Unless(risks) => risks.clone(),
            Self::No | Self::Open => BTreeSet::new(),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Platform(platform) => platform.fmt(f),
            Self::OtherPlatforms => f.write_str("other platforms"),
            Self::Unknown => f.write_str("unknown platforms"),
        }
    }
}

/// As part of a sentence: `on AWS and unknown platforms`, or `except on AWS`.
impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |classes: &BTreeSet<Class>| {
            let names: Vec<String> = classes.iter().map(ToString::to_string).collect();
            match names.split_last() {
                Some((last, [])) => last.clone(),
                Some((last, others)) => format!("{} and {last}", others.join(", ")),
                None => "nothing".to_owned(),
            }
        };
        match self {
            Self::Everybody => f.write_str("for everybody"),
            Self::Some { on, not_on } if on.contains(&Class::OtherPlatforms) => {
                write!(f, "except on {}", listed(not_on))
            }
            Self::Some { on, .. } => write!(f, "on {}", listed(on)),
        }
    }
}

//! Who is affected by a change: the kinds of clients that blocks of either graph tell apart.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::graph_pair::Pair;
use crate::cluster::Platform;
use crate::graph::{
    ClientClass, Edge, Graph, Risk, StandingRules, client_classes, named_platforms,
};

/// The clients that something concerns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whom {
    Everybody,
    Some {
        on: BTreeSet<ClientClass>,
        not_on: BTreeSet<ClientClass>,
    },
}

/// The risks with which a client is offered an edge once its windows are over; none if it is not.
pub(super) type ClassOffer<'a> = Option<BTreeSet<&'a Risk>>;

/// To whom an edge is offered on each side, with risks or without.
#[derive(Debug, Clone)]
pub(super) struct ClassAccess {
    pub(super) offered: Pair<bool>,
    pub(super) whom: Whom,
}

/// The standing rules of two graphs, asked for the same kinds of clients.
pub(super) struct RulesPair<'a> {
    graphs: Pair<&'a Graph>,
    rules: Pair<StandingRules<'a>>,
}

impl<'a> RulesPair<'a> {
    pub(super) fn of(graphs: Pair<&'a Graph>) -> Self {
        let platforms = platforms(graphs);
        let rules = graphs.map(|graph| StandingRules::new(graph, client_classes(&platforms)));
        Self { graphs, rules }
    }

    /// The rules on blocks alone: a source that is too old hides no change.
    pub(super) fn of_blocks_alone(graphs: Pair<&'a Graph>) -> Self {
        let platforms = platforms(graphs);
        let rules =
            graphs.map(|graph| StandingRules::of_blocks_alone(graph, client_classes(&platforms)));
        Self { graphs, rules }
    }

    /// To whom an edge is offered on which sides: at most four rows.
    pub(super) fn access(&self, sides: Pair<Option<Edge>>) -> Vec<ClassAccess> {
        let mut alike: BTreeMap<Pair<bool>, BTreeSet<ClientClass>> = BTreeMap::new();
        for (class, offers) in self.offers(sides) {
            let offered = offers.map(|offer| offer.is_some());
            alike.entry(offered).or_default().insert(class.clone());
        }
        let row = |(offered, on)| ClassAccess {
            offered,
            whom: self.whom(on),
        };
        alike.into_iter().map(row).collect()
    }

    /// Each kind of client, with what it is offered of an edge in each graph.
    pub(super) fn offers(
        &self,
        sides: Pair<Option<Edge>>,
    ) -> impl Iterator<Item = (&ClientClass, Pair<ClassOffer<'a>>)> {
        let base = offers(self.graphs.base, &self.rules.base, sides.base);
        let new = offers(self.graphs.new, &self.rules.new, sides.new);
        let pairs = base.zip(new).map(|(base, new)| Pair { base, new });
        self.rules.base.classes().zip(pairs)
    }

    /// Those kinds of clients, seen beside all there are.
    pub(super) fn whom(&self, on: BTreeSet<ClientClass>) -> Whom {
        let others = self
            .rules
            .base
            .classes()
            .filter(|class| !on.contains(*class));
        let not_on: BTreeSet<ClientClass> = others.cloned().collect();
        if not_on.is_empty() {
            Whom::Everybody
        } else {
            Whom::Some { on, not_on }
        }
    }
}

/// The platforms that a block of either graph names.
fn platforms(graphs: Pair<&Graph>) -> Vec<Platform> {
    named_platforms(graphs.base.blocks().iter().chain(graphs.new.blocks()))
}

/// What each kind of client is offered of an edge; no edge is no offer.
fn offers<'g>(
    graph: &'g Graph,
    rules: &StandingRules<'g>,
    edge: Option<Edge>,
) -> impl Iterator<Item = ClassOffer<'g>> {
    let verdicts = edge.map(|edge| rules.verdicts(edge.blocks));
    let known = verdicts.into_iter().flatten().map(move |verdict| {
        let risks = verdict.risks()?.iter();
        Some(risks.map(|risk| graph.risk(*risk)).collect())
    });
    known.chain(std::iter::repeat(None))
}

/// As part of a sentence: `on AWS and unknown platforms`, or `except on AWS`.
impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |classes: &BTreeSet<ClientClass>| {
            let name = |class: &ClientClass| match class {
                ClientClass::Unknown => "unknown platforms".to_owned(),
                named => named.to_string(),
            };
            let names: Vec<String> = classes.iter().map(name).collect();
            match names.split_last() {
                Some((last, [])) => last.clone(),
                Some((last, others)) => format!("{} and {last}", others.join(", ")),
                None => "nothing".to_owned(),
            }
        };
        match self {
            Self::Everybody => f.write_str("for everybody"),
            Self::Some { on, not_on } if on.contains(&ClientClass::OnAnother) => {
                write!(f, "except on {}", listed(not_on))
            }
            Self::Some { on, .. } => write!(f, "on {}", listed(on)),
        }
    }
}

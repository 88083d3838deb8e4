//! Names that more than one cluster of an organisation has. Policies find clusters by name, so
//! such a name is ambiguous.
//!
//! If all of these clusters are bound, or none is, the name is disputed and all of them are held.
//! An unbound cluster never disputes a bound one: the unbound one is held, and the bound one goes
//! on.

use std::collections::BTreeMap;

use super::{Binding, ClusterState};
use crate::cluster::ClusterId;
use crate::finding::{Finding, Place};

/// What is wrong with a cluster's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameClash {
    /// Other clusters of its standing have it too.
    Disputed {
        /// The first of the others, by id.
        other: ClusterId,
        /// How many others there are.
        others: u32,
    },
    /// It is the name of a cluster that is bound, and this one is not.
    Taken {
        /// The cluster whose name it is; the first by id, if even that is disputed.
        by: ClusterId,
    },
}

/// The clusters whose names clash. Which of two comes first in the input makes no difference.
pub fn name_clashes<'a>(
    clusters: impl IntoIterator<Item = &'a ClusterState>,
) -> BTreeMap<ClusterId, NameClash> {
    let mut clashes = BTreeMap::new();
    for group in namesakes(clusters) {
        let bound: Vec<&ClusterState> = group
            .iter()
            .copied()
            .filter(|state| state.binding.is_bound())
            .collect();
        let rivals = if bound.is_empty() { &group } else { &bound };
        for state in &group {
            let mut others = rivals.iter().filter(|rival| rival.id != state.id);
            let Some(first) = others.next() else { continue };
            let clash = match (state.binding, bound.is_empty()) {
                (Binding::Unbound, false) => NameClash::Taken {
                    by: first.id.clone(),
                },
                _ => NameClash::Disputed {
                    other: first.id.clone(),
                    others: 1 + others.count() as u32,
                },
            };
            clashes.insert(state.id.clone(), clash);
        }
    }
    clashes
}

/// The same for people: one finding a name.
pub fn name_findings<'a>(clusters: impl IntoIterator<Item = &'a ClusterState>) -> Vec<Finding> {
    let finding = |group: Vec<&ClusterState>| {
        let (name, organisation) = (&group[0].name, &group[0].organisation);
        let ids = |binding: Binding| {
            let ids = group
                .iter()
                .filter(|state| state.binding == binding)
                .map(|state| state.id.as_str());
            ids.take(5).collect::<Vec<_>>().join(", ")
        };
        let place = Place::file(format!("organisation {organisation}"));
        match group
            .iter()
            .filter(|state| state.binding.is_bound())
            .count()
        {
            1 => {
                let (owner, others) = (ids(Binding::Bound), ids(Binding::Unbound));
                let problem = format!(
                    "{name} is the name of cluster {owner}; {others} reports the same name and is not bound, so it is held"
                );
                let remedy = "if it is yours, give it a name of its own and a token for that (`towpath fleet token`); else find out who has its token";
                Finding::error("name-taken", place, problem, remedy)
            }
            bound => {
                let ids = if bound == 0 {
                    ids(Binding::Unbound)
                } else {
                    ids(Binding::Bound)
                };
                let problem =
                    format!("{name} is the name of several clusters ({ids}); all of them are held");
                let remedy = "`towpath fleet forget ID` the one that is gone, or give each a name of its own";
                Finding::error("name-disputed", place, problem, remedy)
            }
        }
    };
    namesakes(clusters).into_iter().map(finding).collect()
}

/// The clusters of one organisation and name, where there is more than one; by id.
fn namesakes<'a>(
    clusters: impl IntoIterator<Item = &'a ClusterState>,
) -> Vec<Vec<&'a ClusterState>> {
    let mut all: Vec<&ClusterState> = clusters.into_iter().collect();
    let key = |state: &ClusterState| (state.organisation.clone(), state.name.clone());
    all.sort_unstable_by(|a, b| {
        (&a.organisation, &a.name, &a.id).cmp(&(&b.organisation, &b.name, &b.id))
    });
    all.dedup_by(|a, b| a.id == b.id && key(a) == key(b));
    let groups = all.chunk_by(|a, b| a.organisation == b.organisation && a.name == b.name);
    groups
        .filter(|group| group.len() > 1)
        .map(<[_]>::to_vec)
        .collect()
}

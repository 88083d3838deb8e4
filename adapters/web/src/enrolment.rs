//! Enrolment: what the fleet's last pass decided for each cluster, and which clusters wait for the next pass.
//!
//! A pass places clusters. Between two passes, new clusters report and policies name new ones. They get no updates until a
//! later pass is published. Requests read an immutable view without a lock; a change makes a new view.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};

use arc_swap::{ArcSwapOption, Guard};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{UnknownClusters, UnplacedReason};

use crate::locked;
use crate::managed::{AllowedUpdates, ClusterPlace, Managed};

/// The most new clusters that are kept by id. Beyond that, every unknown cluster is held.
const MAX_REPORTED: usize = 10_000;

/// The number of a pass, counted from the start of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PassNumber(u64);

/// Which clusters are placed, and which are held. Without a fleet there is no view, and everybody sees the graph.
#[derive(Default)]
pub struct Enrolment {
    view: ArcSwapOption<View>,
    changing: Mutex<()>,
}

/// The state at one moment.
#[derive(Clone)]
pub(crate) struct View {
    managed: Arc<Managed>,
    waiting: Arc<HashMap<ClusterId, HeldCluster>>,
    /// More clusters reported than we keep; the last of them during this pass.
    overflowed: Option<PassNumber>,
    state: FleetState,
    /// The newest pass that began.
    begun: PassNumber,
}

/// A cluster that is held until a pass has placed it.
#[derive(Debug, Clone, Copy)]
struct HeldCluster {
    why: UnplacedReason,
    /// The newest pass that had begun then. It may miss the cluster; the next one will not.
    since: PassNumber,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FleetState {
    Read,
    Unread,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClusterView<'a> {
    /// The whole graph, as without a fleet.
    Graph,
    /// The updates that its policy allows.
    Allowed(&'a AllowedUpdates),
    /// No edges: no pass has placed it yet.
    Nothing(UnplacedReason),
}

impl Enrolment {
    /// Starts with a fleet whose members are unknown: every cluster with an id is held.
    pub fn start(&self) {
        self.change(|_| {});
    }

    /// Whether there is a fleet.
    pub fn is_started(&self) -> bool {
        self.view.load().is_some()
    }

    /// A pass begins. It sees everything that the store has now.
    pub fn pass_begins(&self) -> PassNumber {
        self.change(|view| view.begun = PassNumber(view.begun.0 + 1))
            .begun
    }

    /// Publishes a pass. Releases clusters that it has placed, and those that came before it began.
    pub fn publish(&self, managed: Arc<Managed>, pass: PassNumber) {
        self.change(|view| {
            if view
                .waiting
                .iter()
                .any(|(id, waiting)| !waiting.is_still(pass, &managed, id))
            {
                let still = view
                    .waiting
                    .iter()
                    .filter(|(id, waiting)| waiting.is_still(pass, &managed, id));
                view.waiting =
                    Arc::new(still.map(|(id, waiting)| (id.clone(), *waiting)).collect());
            }
            view.overflowed = view.overflowed.filter(|since| *since >= pass);
            view.state = FleetState::Read;
            view.managed = managed;
        });
    }

    /// A pass failed. Known clusters keep their state; others are held.
    pub fn fleet_is_unread(&self) {
        self.change(|view| view.state = FleetState::Unread);
    }

    /// The files were read. Clusters that policies name are held, unless a policy already decides for them. Listed clusters are
    /// held unless they are known.
    pub fn hold_named<'a>(
        &self,
        by_policies: impl Iterator<Item = &'a ClusterId>,
        by_lists: impl Iterator<Item = &'a ClusterId>,
    ) {
        let _one_at_a_time = locked(&self.changing);
        let mut view = self.now();
        let managed = view.managed.clone();
        let is_free = |id: &&ClusterId| {
            matches!(
                managed.clusters.get(*id),
                None | Some(ClusterPlace::Unmanaged)
            )
        };
        let is_new = |id: &&ClusterId| !managed.clusters.contains_key(*id);
        let new: Vec<&ClusterId> = by_policies
            .filter(is_free)
            .chain(by_lists.filter(is_new))
            .collect();
        if !new.is_empty() {
            let waiting = Arc::make_mut(&mut view.waiting);
            for id in new {
                waiting.insert(
                    id.clone(),
                    HeldCluster {
                        why: UnplacedReason::Named,
                        since: view.begun,
                    },
                );
            }
            self.view.store(Some(Arc::new(view)));
        }
    }

    /// These clusters have reported, and the store has their reports. Those without a place are held.
    pub fn hold_reported<'a>(&self, ids: impl Iterator<Item = &'a ClusterId>) {
        let managed = self.view.load_full();
        let placed = |id: &&ClusterId| {
            managed
                .as_ref()
                .is_some_and(|view| view.managed.clusters.contains_key(*id))
        };
        let new: Vec<&ClusterId> = ids.filter(|id| !placed(id)).collect();
        if new.is_empty() {
            return;
        }
        self.change(|view| {
            let waiting = Arc::make_mut(&mut view.waiting);
            for id in new {
                let room = waiting.len() < MAX_REPORTED;
                match (waiting.entry(id.clone()), room) {
                    (Entry::Occupied(mut known), _) => known.get_mut().since = view.begun,
                    (Entry::Vacant(place), true) => {
                        place.insert(HeldCluster {
                            why: UnplacedReason::Reported,
                            since: view.begun,
                        });
                    }
                    (Entry::Vacant(_), false) => view.overflowed = Some(view.begun),
                }
            }
        });
    }

    /// The current view, for one request; none without a fleet.
    pub(crate) fn load(&self) -> Guard<Option<Arc<View>>> {
        self.view.load()
    }

    /// The current view, to keep.
    pub(crate) fn load_full(&self) -> Option<Arc<View>> {
        self.view.load_full()
    }

    fn now(&self) -> View {
        self.view
            .load()
            .as_ref()
            .map_or_else(View::unread, |view| (**view).clone())
    }

    fn change(&self, make: impl FnOnce(&mut View)) -> Arc<View> {
        let _one_at_a_time = locked(&self.changing);
        let mut view = self.now();
        make(&mut view);
        let view = Arc::new(view);
        self.view.store(Some(view.clone()));
        view
    }
}

impl HeldCluster {
    fn is_still(self, pass: PassNumber, managed: &Managed, id: &ClusterId) -> bool {
        self.since >= pass && !managed.clusters.contains_key(id)
    }
}

impl View {
    fn unread() -> Self {
        Self {
            managed: Arc::new(Managed {
                clusters: HashMap::new(),
                others: UnknownClusters::Hold,
            }),
            waiting: Arc::default(),
            overflowed: None,
            state: FleetState::Unread,
            begun: PassNumber(0),
        }
    }

    /// What the cluster with this id sees. Ids are compared byte by byte.
    pub(crate) fn sees(&self, id: &ClusterId) -> ClusterView<'_> {
        if let Some(waiting) = self.waiting.get(id) {
            return ClusterView::Nothing(waiting.why);
        }
        match self.managed.clusters.get(id) {
            Some(ClusterPlace::Managed(allowed)) => ClusterView::Allowed(allowed),
            Some(ClusterPlace::Unmanaged) => ClusterView::Graph,
            Some(ClusterPlace::NotEnrolled) => ClusterView::Nothing(UnplacedReason::Named),
            None => match (self.state, self.overflowed, self.managed.others) {
                (FleetState::Unread, ..) => ClusterView::Nothing(UnplacedReason::FleetUnread),
                (FleetState::Read, Some(_), _) => ClusterView::Nothing(UnplacedReason::Reported),
                (FleetState::Read, None, UnknownClusters::Hold) => {
                    ClusterView::Nothing(UnplacedReason::Unknown)
                }
                (FleetState::Read, None, UnknownClusters::Serve) => ClusterView::Graph,
            },
        }
    }

    /// The updates that a managed cluster may take.
    pub(crate) fn allowed(&self, id: &ClusterId) -> Option<&AllowedUpdates> {
        match self.managed.clusters.get(id) {
            Some(ClusterPlace::Managed(allowed)) => Some(allowed),
            Some(ClusterPlace::NotEnrolled | ClusterPlace::Unmanaged) | None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ClusterId {
        ClusterId::new(text).unwrap()
    }

    fn managed(others: UnknownClusters, clusters: &[(&str, ClusterPlace)]) -> Arc<Managed> {
        Arc::new(Managed {
            clusters: clusters
                .iter()
                .map(|(name, placed)| (id(name), placed.clone()))
                .collect(),
            others,
        })
    }

    fn policy() -> ClusterPlace {
        ClusterPlace::Managed(AllowedUpdates {
            rule: towpath_core::graph::rules::Managed {
                from: "4.9.1".parse().unwrap(),
                to: [].into(),
            },
            platform: None,
            groups: None,
        })
    }

    /// What each of these ids sees.
    fn seen(enrolment: &Enrolment, ids: &str) -> String {
        let view = enrolment.load_full().expect("there is a fleet");
        let word = |name: &str| match view.sees(&id(name)) {
            ClusterView::Graph => format!("{name} graph"),
            ClusterView::Allowed(_) => format!("{name} policy"),
            ClusterView::Nothing(why) => format!("{name} {why:?}"),
        };
        ids.split(' ').map(word).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn everybody_is_held_until_the_fleet_was_read_and_while_it_cannot_be() {
        let enrolment = Enrolment::default();
        assert!(enrolment.load().is_none(), "without a fleet, nobody is");
        enrolment.start();
        assert_eq!(
            seen(&enrolment, "a b c"),
            "a FleetUnread, b FleetUnread, c FleetUnread"
        );
        let pass = enrolment.pass_begins();
        enrolment.publish(
            managed(
                UnknownClusters::Serve,
                &[("a", policy()), ("b", ClusterPlace::Unmanaged)],
            ),
            pass,
        );
        assert_eq!(seen(&enrolment, "a b c"), "a policy, b graph, c graph");
        enrolment.pass_begins();
        enrolment.fleet_is_unread();
        assert_eq!(
            seen(&enrolment, "a b c"),
            "a policy, b graph, c FleetUnread"
        );
        let pass = enrolment.pass_begins();
        enrolment.publish(
            managed(UnknownClusters::Hold, &[("b", ClusterPlace::Unmanaged)]),
            pass,
        );
        assert_eq!(seen(&enrolment, "a b"), "a Unknown, b graph");
    }

    #[test]
    fn an_id_is_held_from_the_moment_a_policy_names_it() {
        let enrolment = Enrolment::default();
        enrolment.start();
        let pass = enrolment.pass_begins();
        enrolment.publish(
            managed(
                UnknownClusters::Serve,
                &[("a", policy()), ("b", ClusterPlace::Unmanaged)],
            ),
            pass,
        );
        let pass = enrolment.pass_begins();
        let (by_policies, by_lists) = ([id("a"), id("b"), id("c")], [id("b"), id("d")]);
        enrolment.hold_named(by_policies.iter(), by_lists.iter());
        assert_eq!(
            seen(&enrolment, "a b c d e"),
            "a policy, b Named, c Named, d Named, e graph"
        );
        enrolment.hold_named([].iter(), [id("b")].iter());
        // The pass fails: what was named stays held, although the next pass begins.
        enrolment.fleet_is_unread();
        assert_eq!(
            seen(&enrolment, "b c d e"),
            "b Named, c Named, d Named, e FleetUnread"
        );
        let placed = [
            ("b", ClusterPlace::NotEnrolled),
            ("c", ClusterPlace::NotEnrolled),
            ("d", ClusterPlace::Unmanaged),
        ];
        enrolment.publish(managed(UnknownClusters::Serve, &placed), pass);
        assert_eq!(
            seen(&enrolment, "b c d e"),
            "b Named, c Named, d graph, e graph"
        );
        assert!(enrolment.load_full().unwrap().waiting.is_empty());
    }

    #[test]
    fn a_listed_cluster_without_a_policy_is_not_held_in_every_pass() {
        let enrolment = Enrolment::default();
        let pass = enrolment.pass_begins();
        enrolment.publish(
            managed(UnknownClusters::Serve, &[("b", ClusterPlace::Unmanaged)]),
            pass,
        );
        enrolment.hold_named([].iter(), [id("b")].iter());
        assert_eq!(seen(&enrolment, "b"), "b graph");
    }

    #[test]
    fn a_first_report_is_held_until_a_pass_that_began_after_it() {
        let enrolment = Enrolment::default();
        let nobody = || managed(UnknownClusters::Serve, &[]);
        let first = enrolment.pass_begins();
        enrolment.publish(nobody(), first);
        let second = enrolment.pass_begins();
        enrolment.hold_reported([id("a"), id("b")].iter());
        assert_eq!(seen(&enrolment, "a b c"), "a Reported, b Reported, c graph");
        enrolment.publish(managed(UnknownClusters::Serve, &[("b", policy())]), second);
        assert_eq!(seen(&enrolment, "a b c"), "a Reported, b policy, c graph");
        // It has been forgotten meanwhile: nobody knows it any more, and it is unknown like others.
        let third = enrolment.pass_begins();
        enrolment.publish(nobody(), third);
        assert_eq!(seen(&enrolment, "a c"), "a graph, c graph");
    }

    #[test]
    fn too_many_first_reports_hold_every_unknown_cluster() {
        let enrolment = Enrolment::default();
        let known = managed(
            UnknownClusters::Serve,
            &[("known", ClusterPlace::Unmanaged)],
        );
        let first = enrolment.pass_begins();
        enrolment.publish(known.clone(), first);
        let ids: Vec<ClusterId> = (0..=MAX_REPORTED)
            .map(|number| id(&number.to_string()))
            .collect();
        enrolment.hold_reported(ids[..MAX_REPORTED].iter());
        assert_eq!(seen(&enrolment, "x"), "x graph");
        enrolment.hold_reported(ids.iter());
        assert_eq!(enrolment.load_full().unwrap().waiting.len(), MAX_REPORTED);
        assert_eq!(
            seen(&enrolment, "10000 x known"),
            "10000 Reported, x Reported, known graph"
        );
        enrolment.publish(known.clone(), first);
        assert_eq!(
            seen(&enrolment, "10000 x"),
            "10000 Reported, x Reported",
            "that pass may have missed it"
        );
        let second = enrolment.pass_begins();
        enrolment.publish(known, second);
        assert_eq!(seen(&enrolment, "10000 x"), "10000 graph, x graph");
    }
}

//! Which minor version follows which, and what each of them ships: a table, not arithmetic.
//!
//! 4.22 is followed by 4.23 and by 5.0, and both are followed by 5.1. So nobody computes a minor
//! version from another. What the table does not have is unknown, and unknown holds. A fact that
//! nobody has verified may make an answer stricter, never looser.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::{Minor, Version};

/// The most ways through the table that are looked at.
const MAX_ROUTES: usize = 16;
/// How far kubelets may be behind where nobody has verified more.
const STRICTEST_SKEW: u64 = 1;

/// The table, and what else is known about minor versions. Cheap to copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Minors {
    rows: Arc<BTreeMap<Minor, MinorRow>>,
    /// The Kubernetes of releases whose own metadata names it. It comes before the table.
    releases: Arc<BTreeMap<Version, Minor>>,
    /// One limit for all minor versions, if a person has set it.
    max_skew: Option<u8>,
}

/// What is known about one minor version of OpenShift.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MinorRow {
    /// The minor versions that follow it directly.
    pub next: BTreeSet<Minor>,
    /// Later ones that clusters may go to directly, if the graph has such an update.
    pub skips: BTreeSet<Minor>,
    /// The Kubernetes that it ships.
    pub kubernetes: Option<Minor>,
    /// How many minor versions of Kubernetes a kubelet may be older than its API server.
    pub kubelet_skew: Option<u8>,
    /// The same where the control plane is hosted elsewhere.
    pub hosted_kubelet_skew: Option<u8>,
    /// Whether it has extended update support.
    pub is_eus: bool,
    pub unverified: BTreeSet<MinorFact>,
}

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MinorFact {
    Next,
    Skips,
    Kubernetes,
    KubeletSkew,
    HostedKubeletSkew,
    Eus,
}

/// How one minor version comes after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Succession {
    /// They are the same.
    Patch,
    Next,
    /// The table says that it is the next, and nobody has verified that.
    NextUnverified,
    /// It leaves out these minor versions, and clusters may.
    Skip(Vec<Minor>),
    /// It leaves out these minor versions, and clusters refuse that.
    LeavesOut(Vec<Minor>),
    /// No sequence of updates leads there.
    NoWay,
    /// The table does not have this one.
    Unknown(Minor),
}

/// The Kubernetes of a release or of a minor version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShippedKubernetes {
    pub minor: Minor,
    pub is_verified: bool,
}

impl Minors {
    pub fn new(rows: BTreeMap<Minor, MinorRow>) -> Self {
        Self {
            rows: Arc::new(rows),
            ..Self::default()
        }
    }

    /// The same, with these rows in place of its own.
    pub fn with_rows(&self, rows: &BTreeMap<Minor, MinorRow>) -> Self {
        let mut all = (*self.rows).clone();
        all.extend(rows.iter().map(|(minor, row)| (*minor, row.clone())));
        Self {
            rows: Arc::new(all),
            ..self.clone()
        }
    }

    /// The same, with the Kubernetes that releases themselves name.
    pub fn with_releases(&self, releases: impl IntoIterator<Item = (Version, Minor)>) -> Self {
        Self {
            releases: Arc::new(releases.into_iter().collect()),
            ..self.clone()
        }
    }

    /// The same, with one limit for all kubelets, if one is given.
    pub fn with_max_skew(&self, max_skew: Option<u8>) -> Self {
        Self {
            max_skew,
            ..self.clone()
        }
    }

    pub fn rows(&self) -> &BTreeMap<Minor, MinorRow> {
        &self.rows
    }

    /// The minor versions that follow one directly. None are known of one that the table does not have.
    pub fn next(&self, minor: Minor) -> impl Iterator<Item = Minor> {
        self.rows
            .get(&minor)
            .into_iter()
            .flat_map(|row| row.next.iter().copied())
    }

    /// How one comes after the other.
    pub fn succession(&self, from: Minor, to: Minor) -> Succession {
        let row = match (self.rows.get(&from), self.rows.contains_key(&to)) {
            _ if from == to => return Succession::Patch,
            (None, _) => return Succession::Unknown(from),
            (_, false) => return Succession::Unknown(to),
            (Some(row), true) => row,
        };
        let between = || {
            let route = self.routes(from, to).into_iter().next();
            route.map(|mut route| {
                route.pop();
                route
            })
        };
        match row.next.contains(&to) {
            true if row.is_verified(MinorFact::Next) => Succession::Next,
            true => Succession::NextUnverified,
            false if row.may_skip_to(to) => Succession::Skip(between().unwrap_or_default()),
            false => between().map_or(Succession::NoWay, Succession::LeavesOut),
        }
    }

    /// The first minor version that an update leaves out and that clusters do not skip.
    pub fn left_out(&self, from: &Version, to: &Version) -> Option<Minor> {
        match self.succession(Minor::of(from), Minor::of(to)) {
            Succession::LeavesOut(between) => between.first().copied(),
            _ => None,
        }
    }

    /// Whether clusters take such an update, as far as the table knows. Where it does not, the graph's word counts, and the
    /// cluster's rules hold.
    pub fn may_follow(&self, from: Minor, to: Minor) -> bool {
        match (self.rows.get(&from), self.rows.contains_key(&to)) {
            _ if from == to => true,
            (Some(row), true) => row.next.contains(&to) || row.may_skip_to(to),
            (None, _) | (_, false) => true,
        }
    }

    /// The shortest sequences of minor versions from one to another, without the first and with the last.
    pub fn routes(&self, from: Minor, to: Minor) -> Vec<Vec<Minor>> {
        let mut routes = vec![vec![]];
        // Each round is one minor version longer, so this ends.
        for _ in 0..=self.rows.len() {
            let at = |route: &Vec<Minor>| route.last().copied().unwrap_or(from);
            if routes.iter().any(|route| at(route) == to) {
                routes.retain(|route| at(route) == to);
                return routes;
            }
            let longer = routes.iter().flat_map(|route| {
                let ahead = self.next(at(route)).filter(|next| *next <= to);
                ahead.map(|next| [route.as_slice(), &[next]].concat())
            });
            routes = longer.take(MAX_ROUTES).collect();
        }
        Vec::new()
    }

    pub fn kubernetes(&self, minor: Minor) -> Option<ShippedKubernetes> {
        let row = self.rows.get(&minor)?;
        Some(ShippedKubernetes {
            minor: row.kubernetes?,
            is_verified: row.is_verified(MinorFact::Kubernetes),
        })
    }

    /// What the release says itself, else what the table says about its minor version.
    pub fn kubernetes_of(&self, release: &Version) -> Option<ShippedKubernetes> {
        match self.releases.get(release) {
            Some(minor) => Some(ShippedKubernetes {
                minor: *minor,
                is_verified: true,
            }),
            None => self.kubernetes(Minor::of(release)),
        }
    }

    /// How many minor versions of Kubernetes a kubelet may be older than an API server of that minor version of OpenShift.
    pub fn kubelet_skew(&self, minor: Minor) -> u64 {
        let verified = |row: &&MinorRow| row.is_verified(MinorFact::KubeletSkew);
        let row = self.rows.get(&minor).filter(verified);
        self.max_skew
            .or(row.and_then(|row| row.kubelet_skew))
            .map_or(STRICTEST_SKEW, u64::from)
    }

    /// The same where the control plane is hosted. What nobody has verified is no looser than elsewhere.
    pub fn hosted_kubelet_skew(&self, minor: Minor) -> u64 {
        let elsewhere = self.kubelet_skew(minor);
        let row = self.rows.get(&minor).filter(|_| self.max_skew.is_none());
        let hosted = row.and_then(|row| Some((row, u64::from(row.hosted_kubelet_skew?))));
        match hosted {
            Some((row, hosted)) if row.is_verified(MinorFact::HostedKubeletSkew) => hosted,
            Some((_, hosted)) => hosted.min(elsewhere),
            None => elsewhere,
        }
    }

    /// Whether a minor version is known to have extended update support.
    pub fn is_eus(&self, minor: Minor) -> bool {
        let row = self.rows.get(&minor);
        row.is_some_and(|row| row.is_eus && row.is_verified(MinorFact::Eus))
    }

    /// What nobody has verified about a minor version.
    pub fn unverified(&self, minor: Minor) -> impl Iterator<Item = MinorFact> {
        let row = self.rows.get(&minor);
        row.into_iter()
            .flat_map(|row| row.unverified.iter().copied())
    }

    /// Whether kubelets of one release may run with an API server of another.
    pub fn lets_lag(&self, workers: &Version, control_plane: &Version) -> bool {
        self.lets_kubelet_lag(self.kubernetes_of(workers), control_plane)
    }

    /// The same of kubelets of any release of a minor version.
    pub fn lets_minor_lag(&self, workers: Minor, control_plane: &Version) -> bool {
        self.lets_kubelet_lag(self.kubernetes(workers), control_plane)
    }

    fn lets_kubelet_lag(
        &self,
        kubelet: Option<ShippedKubernetes>,
        control_plane: &Version,
    ) -> bool {
        let ends = kubelet.zip(self.kubernetes_of(control_plane));
        let known =
            ends.filter(|(kubelet, api_server)| kubelet.is_verified && api_server.is_verified);
        known.is_some_and(|(kubelet, api_server)| {
            kubelet.minor <= api_server.minor
                && kubelet.minor.behind(api_server.minor)
                    <= self.kubelet_skew(Minor::of(control_plane))
        })
    }
}

impl MinorRow {
    fn is_verified(&self, fact: MinorFact) -> bool {
        !self.unverified.contains(&fact)
    }

    fn may_skip_to(&self, to: Minor) -> bool {
        self.skips.contains(&to) && self.is_verified(MinorFact::Skips)
    }
}

impl MinorFact {
    pub const ALL: [Self; 6] = [
        Self::Next,
        Self::Skips,
        Self::Kubernetes,
        Self::KubeletSkew,
        Self::HostedKubeletSkew,
        Self::Eus,
    ];

    /// The stable name, as files have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Skips => "skips",
            Self::Kubernetes => "kubernetes",
            Self::KubeletSkew => "kubeletSkew",
            Self::HostedKubeletSkew => "hostedKubeletSkew",
            Self::Eus => "eus",
        }
    }
}

impl fmt::Display for MinorFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

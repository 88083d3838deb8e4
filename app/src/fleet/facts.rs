//! The facts about a fleet: what people want, what is known, what the graph offers, brought together as one input.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use jiff::Timestamp;
use towpath_core::decide::{Ledger, OfferBook, Tenure};
use towpath_core::domain::fleet::upgrade::REFUSAL_MEMORY;
use towpath_core::domain::fleet::{
    Approval, ClusterState, FleetInput, FleetPolicy, Pause, UnknownClusters, Upgrade,
};
use towpath_core::domain::{ClusterId, Graph};
use towpath_core::finding::{Finding, Place};
use towpath_formats::SourceFile;
use towpath_formats::cluster_list::{self, ClusterList, labels};
use towpath_formats::fleet_policy::{self, PolicyRead};
use towpath_sources::{Directory, read_file};
use towpath_store::{Store, Which};

use crate::example;

/// The policy files, and the list of clusters beside them, read again and again.
pub(crate) struct Files {
    policy: Option<(PathBuf, Directory)>,
    list: Option<PathBuf>,
    /// The newest bytes of each file that could be read, so that one that breaks keeps its last meaning.
    last_good: BTreeMap<String, SourceFile>,
}

/// What the files say.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) policy: Arc<FleetPolicy>,
    pub(crate) list: ClusterList,
    pub(crate) findings: Vec<Finding>,
    /// Whether a file could not be read as a whole: a cluster that no policy is about may be in it.
    pub(crate) is_partial: bool,
    /// What clusters see that nobody knows.
    pub(crate) unknown_clusters: UnknownClusters,
    /// Ids that policy files name for no organisation that exists.
    pub(crate) strays: BTreeSet<ClusterId>,
}

/// What the files say, before clusters that are read elsewhere join the list.
pub(crate) struct Raw {
    read: PolicyRead,
    pub(crate) list: ClusterList,
    findings: Vec<Finding>,
    /// Where the policy files are looked for.
    directory: Option<Place>,
}

impl Default for Read {
    /// Nothing has been read, so nobody is served.
    fn default() -> Self {
        Self {
            policy: Arc::default(),
            list: ClusterList::default(),
            findings: Vec::new(),
            is_partial: false,
            unknown_clusters: UnknownClusters::Hold,
            strays: BTreeSet::new(),
        }
    }
}

impl Raw {
    /// The ids that policies name.
    pub(crate) fn named_by_policies(&self) -> impl Iterator<Item = &ClusterId> {
        self.read.policy.named_ids().chain(&self.read.strays)
    }

    /// The ids that the list names, also those of entries that could not be read.
    pub(crate) fn named_by_list(&self) -> impl Iterator<Item = &ClusterId> {
        self.list
            .clusters
            .iter()
            .map(|state| &state.id)
            .chain(&self.list.left_out)
    }

    /// With what the labels of listed clusters and organisations say.
    pub(crate) fn finish(mut self) -> Read {
        self.findings
            .extend(labels::policies(&self.list, &mut self.read));
        let is_partial = !self.read.unreadable.is_empty();
        let PolicyRead {
            policy,
            findings: of_policy,
            unknown_clusters,
            strays,
            ..
        } = self.read;
        // Whoever is named where nothing could be read looks like an unknown cluster.
        let unknown_clusters = match is_partial || self.list.unread > 0 {
            true => UnknownClusters::Hold,
            false => UnknownClusters::in_force(unknown_clusters, &policy),
        };
        self.findings.extend(of_policy);
        if let (true, Some(directory)) = (policy.organisations.is_empty(), self.directory) {
            let problem = "no file in this directory is a policy, so no cluster has one";
            let remedy = "put an organisation's file (`orgId: …`) there, or correct --fleet";
            self.findings
                .push(Finding::error("no-policy", directory, problem, remedy));
        }
        self.findings.sort();
        self.findings.dedup();
        Read {
            policy: Arc::new(policy),
            list: self.list,
            findings: self.findings,
            is_partial,
            unknown_clusters,
            strays,
        }
    }
}

/// What a store knows.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) clusters: BTreeMap<ClusterId, ClusterState>,
    pub(crate) tenures: BTreeMap<ClusterId, Tenure>,
    pub(crate) ledger: Ledger,
    pub(crate) upgrades: Vec<Upgrade>,
    pub(crate) approvals: Vec<Approval>,
    pub(crate) pauses: Vec<Pause>,
}

impl Files {
    /// Files on disk.
    pub(crate) fn new(policy: &Path, list: Option<&Path>) -> Self {
        let policy = Some((
            policy.to_owned(),
            Directory::new(policy, fleet_policy::is_part),
        ));
        Self {
            policy,
            list: list.map(Path::to_owned),
            last_good: BTreeMap::new(),
        }
    }

    /// The built-in example.
    pub(crate) fn example() -> Self {
        Self {
            policy: None,
            list: None,
            last_good: BTreeMap::new(),
        }
    }

    /// Reads what is there now, labels included.
    pub(crate) fn read(&mut self, now: Timestamp) -> Result<Read, Finding> {
        self.read_raw(now).map(Raw::finish)
    }

    /// Reads what is there now. What is wrong with entries is told and holds them back; only a directory or list that is
    /// not there is an error.
    pub(crate) fn read_raw(&mut self, now: Timestamp) -> Result<Raw, Finding> {
        let (files, list) = match &mut self.policy {
            None => (vec![example::fleet_policy()], Some(example::clusters())),
            Some((_, directory)) => (
                directory.read()?,
                self.list.as_deref().map(list_file).transpose()?,
            ),
        };
        let mut read = fleet_policy::read(&files);
        if !read.unreadable.is_empty() {
            read = self.read_with_last_good(&files, read);
        }
        let broken: BTreeSet<&str> = read.unreadable.iter().map(String::as_str).collect();
        let good = files
            .iter()
            .filter(|file| !broken.contains(file.path.as_str()));
        let fresh: Vec<(String, SourceFile)> =
            good.map(|file| (file.path.clone(), file.clone())).collect();
        let gone = |path: &String| !files.iter().any(|file| file.path == *path);
        self.last_good.retain(|path, _| !gone(path));
        self.last_good.extend(fresh);
        let (list, findings) = match list {
            Some(file) => cluster_list::read(&Place::file(file.path.as_str()), &file.bytes, now),
            None => (ClusterList::default(), Vec::new()),
        };
        let directory = self
            .policy
            .as_ref()
            .map(|(path, _)| Place::file(path.display().to_string()));
        Ok(Raw {
            read,
            list,
            findings,
            directory,
        })
    }

    /// Reads again with broken files as they were when they were last good.
    fn read_with_last_good(&self, files: &[SourceFile], first: PolicyRead) -> PolicyRead {
        let broken = |file: &&SourceFile| first.unreadable.contains(&file.path);
        let old = files
            .iter()
            .filter(broken)
            .filter_map(|file| self.last_good.get(&file.path))
            .cloned();
        let good = files.iter().filter(|file| !broken(file)).cloned();
        let mut second = fleet_policy::read(&good.chain(old).collect::<Vec<_>>());
        let about_broken = |finding: &Finding| {
            first
                .unreadable
                .iter()
                .any(|path| **path == *finding.place.file)
        };
        second
            .findings
            .extend(first.findings.into_iter().filter(about_broken));
        second.unreadable = first.unreadable;
        second
    }
}

fn list_file(path: &Path) -> Result<SourceFile, Finding> {
    let bytes = read_file(path, cluster_list::MAX_BYTES as u64)?;
    Ok(SourceFile {
        path: path.display().to_string(),
        bytes: bytes.into(),
    })
}

impl Known {
    /// Everything that the store knows now.
    pub(crate) async fn read(store: &Store, now: Timestamp) -> anyhow::Result<Self> {
        let mut known = Self::default();
        for stored in store.clusters().await? {
            known.note(stored);
        }
        for departed in store.departed().await? {
            let tenure = Tenure {
                organisation: departed.organisation,
                workloads: departed.workloads,
            };
            known.tenures.insert(departed.id, tenure);
        }
        for (cluster, version, seconds) in store.soak_totals().await? {
            known.ledger.set(&cluster, &version, seconds);
        }
        known.read_small(store, now).await?;
        Ok(known)
    }

    /// What is small enough to be read in every pass.
    pub(crate) async fn read_small(&mut self, store: &Store, now: Timestamp) -> anyhow::Result<()> {
        self.upgrades = store.upgrades(&Which::Active).await?;
        self.upgrades.extend(store.newest_failures().await?);
        if let Ok(since) = now.checked_sub(REFUSAL_MEMORY) {
            self.upgrades.extend(store.refusals(since).await?);
        }
        self.approvals = store.approvals().await?;
        self.pauses = store.pauses().await?;
        Ok(())
    }

    /// Takes note of a cluster.
    pub(crate) fn note(&mut self, stored: towpath_store::StoredCluster) {
        let organisation = stored.state.organisation.clone();
        self.tenures.insert(
            stored.state.id.clone(),
            Tenure {
                organisation,
                workloads: stored.workloads,
            },
        );
        self.clusters.insert(stored.state.id.clone(), stored.state);
    }
}

/// Brings everything together. Clusters of the list win over what the store last heard of them.
pub(crate) fn input(
    read: &Read,
    known: &Known,
    graph: Option<&Graph>,
    now: Timestamp,
) -> FleetInput {
    let mut clusters = known.clusters.clone();
    for state in &read.list.clusters {
        let mut state = state.clone();
        if let Some(old) = known.clusters.get(&state.id) {
            state
                .acknowledged_gates
                .extend(old.acknowledged_gates.iter().cloned());
            if old.version == state.version {
                state.version_since = old.version_since.min(state.version_since);
            }
        }
        clusters.insert(state.id.clone(), state);
    }
    let mut book = graph.map(|graph| OfferBook::new(graph, now));
    for state in clusters.values_mut() {
        offer(state, book.as_mut());
    }
    let mut soak = known
        .ledger
        .sums(&read.policy, clusters.values(), &known.tenures);
    soak.extend(read.list.soak.iter().cloned());
    let running = known
        .upgrades
        .iter()
        .filter(|upgrade| upgrade.state.is_active());
    let active = running
        .map(|upgrade| (&upgrade.cluster, &upgrade.pool))
        .collect::<BTreeSet<_>>();
    let others = read
        .list
        .upgrades
        .iter()
        .filter(|upgrade| !active.contains(&(&upgrade.cluster, &upgrade.pool)));
    let mut input = FleetInput {
        policy: (*read.policy).clone(),
        clusters: clusters.into_values().collect(),
        upgrades: known.upgrades.iter().chain(others).cloned().collect(),
        soak,
        gates: read.list.gates.clone(),
        approvals: known.approvals.clone(),
        pauses: known.pauses.clone(),
        inherited: read.list.inherited.clone(),
    };
    towpath_formats::fleet_input::sort(&mut input);
    input
}

/// What the cluster could go to: what was listed for it, else what the graph says.
pub(crate) fn offer(state: &mut ClusterState, book: Option<&mut OfferBook<'_>>) {
    if let (true, Some(book)) = (state.offers.is_empty(), book) {
        state.offers = book.offers(state);
    }
}

/// A graph from files, for commands that look at a fleet once.
pub(crate) fn graph(
    settings: &crate::config::Settings,
    now: Timestamp,
) -> anyhow::Result<Option<Graph>> {
    if settings.sources.is_example() {
        return Ok(None);
    }
    let graph = crate::sources::read_once(&settings.sources, now);
    let told = |findings: Vec<Finding>| {
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        anyhow!("{}", lines.join("\n"))
    };
    Ok(Some(
        graph.map_err(told).context("the graph cannot be used")?,
    ))
}

/// A cluster's name or id, as a person types it.
pub(crate) fn is_called(state: &ClusterState, name: &str) -> bool {
    *state.name == *name || state.id.as_str() == name
}

//! The facts about a fleet: its policy, the state in the store, and what the graph offers, brought together as one input.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use jiff::Timestamp;
use towpath_core::cluster::ClusterId;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::upgrade::REFUSAL_MEMORY;
use towpath_core::fleet::{
    Approval, ChannelFollowers, ClusterState, FleetInput, FleetPolicy, Ledger, Name, OfferBook,
    Pause, Preflight, SoakSum, TakenBack, Tenure, UnknownClusters, Upgrade, beyond_own, told_once,
};
use towpath_core::graph::Graph;
use towpath_core::version::Minors;
use towpath_formats::SourceFile;
use towpath_formats::fleet::cluster_list::{
    self, CHANNEL_NOT_FOLLOWED, ClusterList, LIST_IS_GONE, labels,
};
use towpath_formats::fleet::policy::{self, PolicyRead};
use towpath_formats::words::counted;
use towpath_sources::{Contents, Directory};
use towpath_store::{ActMark, Store, StoreError, UpgradeSelection};

use crate::example;
use crate::input::read_input;
use crate::sources::Sources;

/// A folder in which no file is a policy.
pub(crate) const NO_POLICY: &str = "no-policy";

/// The policy files, and the list of clusters beside them, read again and again.
pub(crate) struct Files {
    policy: Option<(PathBuf, Directory)>,
    list: Option<PathBuf>,
    /// The newest bytes of each file that could be read, so that one that breaks keeps its last meaning.
    last_good: BTreeMap<String, SourceFile>,
    /// The list as it was last read, and when: what is not seen any more must not count as seen now.
    last_list: Option<(SourceFile, Timestamp)>,
}

/// What there is to read now.
struct PolicyFiles {
    files: Vec<SourceFile>,
    /// Paths below the policy directory that cannot be read; the empty one is the directory itself.
    missing: Vec<String>,
    /// Why they cannot be read.
    findings: Vec<Finding>,
}

/// What the files say.
#[derive(Debug)]
pub(crate) struct FleetReading {
    pub(crate) policy: Arc<FleetPolicy>,
    pub(crate) list: ClusterList,
    /// Whether there is a list. If not, what the store has kept of the last one counts.
    pub(crate) has_list: bool,
    /// Whether an API that manages the clusters tells the list.
    pub(crate) has_hands: bool,
    pub(crate) findings: Vec<Finding>,
    /// Whether a file could not be read as a whole: a cluster that no policy is about may be in it.
    pub(crate) is_partial: bool,
    /// What clusters see that nobody knows.
    pub(crate) unknown_clusters: UnknownClusters,
    /// Ids that policy files name for no organisation that exists.
    pub(crate) strays: BTreeSet<ClusterId>,
}

impl FleetReading {
    /// The list whose gates, soak and lowest versions count: the one there is, else the last one.
    pub(crate) fn list_in_force<'a>(&'a self, known: &'a StoredFleet) -> &'a ClusterList {
        match self.has_list {
            true => &self.list,
            false => &known.kept,
        }
    }

    /// What is kept of the list for the time when there is none.
    pub(crate) fn list_to_keep(&self) -> Option<String> {
        let kept = ClusterList {
            gates: self.list.gates.clone(),
            soak: self.list.soak.clone(),
            inherited: self.list.inherited.clone(),
            ..ClusterList::default()
        };
        self.has_list.then(|| cluster_list::json(&kept).to_string())
    }
}

/// What the files say, before clusters that are read elsewhere join the list.
pub(crate) struct RawReading {
    read: PolicyRead,
    pub(crate) list: ClusterList,
    pub(crate) findings: Vec<Finding>,
    /// Where the policy files are looked for.
    directory: Option<Place>,
    /// Whether the clusters are listed somewhere: in a file, or by an API.
    pub(crate) has_list: bool,
    /// Whether an API that manages the clusters lists them.
    pub(crate) has_hands: bool,
}

impl Default for FleetReading {
    /// Nothing has been read, so nobody is served.
    fn default() -> Self {
        Self {
            policy: Arc::default(),
            list: ClusterList::default(),
            has_list: false,
            has_hands: false,
            findings: Vec::new(),
            is_partial: false,
            unknown_clusters: UnknownClusters::Hold,
            strays: BTreeSet::new(),
        }
    }
}

impl RawReading {
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
    pub(crate) fn finish(mut self) -> FleetReading {
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
        let is_list_partial = self.list.unread > 0 || !self.list.not_understood.is_empty();
        let unknown_clusters = match is_partial || is_list_partial {
            true => UnknownClusters::Hold,
            false => UnknownClusters::in_force(unknown_clusters, &policy),
        };
        self.findings.extend(of_policy);
        if let (true, Some(directory)) = (policy.organisations.is_empty(), self.directory) {
            let problem = "no file in this directory is a policy, so no cluster has one";
            let remedy = "put an organisation's file (`orgId: …`) there, or correct --fleet";
            self.findings
                .push(Finding::error(NO_POLICY, directory, problem, remedy));
        }
        self.findings.sort();
        self.findings.dedup();
        FleetReading {
            policy: Arc::new(policy),
            list: self.list,
            has_list: self.has_list,
            has_hands: self.has_hands,
            findings: self.findings,
            is_partial,
            unknown_clusters,
            strays,
        }
    }
}

/// What a store knows.
#[derive(Debug, Default)]
pub(crate) struct StoredFleet {
    pub(crate) clusters: BTreeMap<ClusterId, ClusterState>,
    pub(crate) tenures: BTreeMap<ClusterId, Tenure>,
    pub(crate) ledger: Ledger,
    /// Soak that another system has counted.
    pub(crate) imported: Vec<SoakSum>,
    /// What the last list told besides the clusters.
    pub(crate) kept: ClusterList,
    pub(crate) upgrades: Vec<Upgrade>,
    /// Up to where it is known what people did.
    pub(crate) acts: ActMark,
    pub(crate) approvals: Vec<Approval>,
    pub(crate) taken_back: TakenBack,
    pub(crate) pauses: Vec<Pause>,
    pub(crate) preflights: Vec<Preflight>,
}

impl Files {
    /// Files on disk.
    pub(crate) fn new(policy: &Path, list: Option<&Path>) -> Self {
        let policy = Some((policy.to_owned(), Directory::new(policy, policy::is_part)));
        Self {
            policy,
            list: list.map(Path::to_owned),
            last_good: BTreeMap::new(),
            last_list: None,
        }
    }

    /// The built-in example.
    pub(crate) fn example() -> Self {
        Self {
            policy: None,
            list: None,
            last_good: BTreeMap::new(),
            last_list: None,
        }
    }

    /// Reads what is there now, labels included.
    pub(crate) fn read(&mut self, now: Timestamp) -> Result<FleetReading, Finding> {
        self.read_raw(now).map(RawReading::finish)
    }

    /// Reads what is there now. What is wrong is told, and holds back whom it may be about. A file, a folder or a list that can no
    /// longer be read keeps its last meaning. It is an error only if the directory or the list was never read.
    pub(crate) fn read_raw(&mut self, now: Timestamp) -> Result<RawReading, Finding> {
        let PolicyFiles {
            files,
            missing,
            mut findings,
        } = self.found()?;
        let list = self.read_list(now, &mut findings)?;
        let there: BTreeSet<&str> = files.iter().map(|file| &*file.path).collect();
        let is_missing = |path: &str| {
            !there.contains(path) && missing.iter().any(|missing| is_within(path, missing))
        };
        let kept = self.last_good.values();
        let kept: Vec<SourceFile> = kept
            .filter(|file| is_missing(&file.path))
            .cloned()
            .collect();
        let files: Vec<SourceFile> = files.into_iter().chain(kept).collect();
        let mut read = policy::read(&files);
        if !read.unreadable.is_empty() {
            read = self.read_with_last_good(&files, read);
        }
        let broken: BTreeSet<&str> = read.unreadable.iter().map(String::as_str).collect();
        let good = files
            .iter()
            .filter(|file| !broken.contains(file.path.as_str()));
        let fresh: Vec<(String, SourceFile)> =
            good.map(|file| (file.path.clone(), file.clone())).collect();
        let there: BTreeSet<&str> = files.iter().map(|file| &*file.path).collect();
        self.last_good.retain(|path, _| there.contains(&**path));
        self.last_good.extend(fresh);
        read.unreadable.extend(missing);
        let directory = self
            .policy
            .as_ref()
            .map(|(path, _)| Place::file(path.display().to_string()));
        Ok(RawReading {
            read,
            list,
            findings,
            directory,
            has_list: self.list.is_some() || self.policy.is_none(),
            has_hands: false,
        })
    }

    /// The files, and what of them cannot be read.
    fn found(&mut self) -> Result<PolicyFiles, Finding> {
        let Some((root, directory)) = &mut self.policy else {
            return Ok(PolicyFiles {
                files: vec![example::fleet_policy()],
                missing: Vec::new(),
                findings: Vec::new(),
            });
        };
        match directory.read_partly() {
            Ok(Contents { files, unread }) => Ok(PolicyFiles {
                files,
                missing: unread.iter().map(|finding| below(root, finding)).collect(),
                findings: unread,
            }),
            Err(finding) if self.last_good.is_empty() => Err(finding),
            Err(finding) => Ok(PolicyFiles {
                files: Vec::new(),
                missing: vec![String::new()],
                findings: vec![Finding {
                    problem: format!("{}; what was read last counts", finding.problem),
                    ..finding
                }],
            }),
        }
    }

    /// The list of clusters. One that can no longer be read says what it said last, and may lack clusters.
    fn read_list(
        &mut self,
        now: Timestamp,
        findings: &mut Vec<Finding>,
    ) -> Result<ClusterList, Finding> {
        let file = match (&self.policy, &self.list) {
            (None, _) => Ok(example::clusters()),
            (Some(_), Some(path)) => list_file(path),
            (Some(_), None) => return Ok(ClusterList::default()),
        };
        let read = |file: &SourceFile, at: Timestamp| {
            let place = Place::file(file.path.as_str());
            let (list, found) = cluster_list::read(&place, &file.bytes, at);
            match found.iter().find(|finding| finding.is_error()) {
                Some(finding) if list.is_unusable => Err(finding.clone()),
                _ => Ok((list, found)),
            }
        };
        let fresh = file.and_then(|file| Ok((read(&file, now)?, file)));
        let ((list, found), file, read_at) = match (fresh, self.last_list.take()) {
            (Ok((list, file)), _) => (list, file, now),
            (Err(finding), Some((file, read_at))) => {
                findings.push(finding);
                let (mut list, found) = read(&file, read_at)?;
                list.unread += 1;
                ((list, found), file, read_at)
            }
            (Err(finding), None) => return Err(finding),
        };
        findings.extend(found);
        self.last_list = Some((file, read_at));
        Ok(list)
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
        let mut second = policy::read(&good.chain(old).collect::<Vec<_>>());
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

/// Where it stands, as seen from the policy directory.
fn below(root: &Path, finding: &Finding) -> String {
    let path = Path::new(&*finding.place.file).strip_prefix(root);
    path.map(|path| path.display().to_string())
        .unwrap_or_default()
}

/// Whether a path is that file, or is in that folder. Everything is in the empty one.
fn is_within(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder);
    folder.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn list_file(path: &Path) -> Result<SourceFile, Finding> {
    let bytes = read_input(path, cluster_list::MAX_BYTES as u64)?;
    Ok(SourceFile::new(path.display().to_string(), bytes))
}

impl StoredFleet {
    /// Everything that the store knows now.
    pub(crate) async fn read(store: &Store, now: Timestamp) -> towpath_store::Result<Self> {
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
        known.imported = store.imported_soak().await?;
        if let Some(body) = store.kept_list().await? {
            let place = Place::file("the list that the store has kept");
            // A gate with an error in its entry holds, and other entries with errors are left out.
            let (list, findings) = cluster_list::read(&place, body.as_bytes(), now);
            if let (true, Some(finding)) = (list.is_unusable, findings.first()) {
                return Err(StoreError::Corrupt(finding.to_string()));
            }
            known.kept = list;
        }
        known.read_small(store, now).await?;
        Ok(known)
    }

    /// What another system has counted beyond what the store has observed itself. It cannot be told while the store has time of
    /// clusters whose workloads nobody knows: returns the first of them.
    pub(crate) fn beyond_own(
        &self,
        theirs: Vec<SoakSum>,
        policy: &FleetPolicy,
    ) -> Result<Vec<SoakSum>, &ClusterState> {
        let told_of: BTreeSet<&Name> = theirs.iter().map(|sum| &sum.organisation).collect();
        let mut unknown = self
            .ledger
            .without_workloads(policy, &self.clusters, &self.tenures);
        if let Some(first) = unknown.find(|state| told_of.contains(&state.organisation)) {
            return Err(first);
        }
        let own = self
            .ledger
            .sums(policy, self.clusters.values(), &self.tenures);
        Ok(beyond_own(theirs, &own))
    }

    /// What is small enough to be read in every pass.
    pub(crate) async fn read_small(
        &mut self,
        store: &Store,
        now: Timestamp,
    ) -> towpath_store::Result<()> {
        self.upgrades = store.upgrades(&UpgradeSelection::Active).await?;
        self.upgrades.extend(store.newest_failures().await?);
        if let Ok(since) = now.checked_sub(REFUSAL_MEMORY) {
            self.upgrades.extend(store.refusals(since).await?);
        }
        // The mark first: what is withdrawn while the rest is read stops the starts of this pass.
        self.acts = store.act_mark().await?;
        self.approvals = store.approvals().await?;
        self.taken_back = store.taken_back().await?;
        self.pauses = store.pauses().await?;
        self.preflights = store.preflights().await?;
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
    read: &FleetReading,
    known: &StoredFleet,
    graph: Option<&Graph>,
    minors: &Minors,
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
    stand_in(&read.list.not_understood, &mut clusters);
    let mut book = graph.map(|graph| OfferBook::new(graph, now).sorted_by(&read.policy));
    let followers = ChannelFollowers::of(&read.policy);
    let listed: BTreeSet<&ClusterId> = read.list.clusters.iter().map(|state| &state.id).collect();
    for (id, state) in &mut clusters {
        let source = match listed.contains(id) {
            true => Offers::Listed,
            false => Offers::of_unlisted(read.has_list),
        };
        offer(state, source, book.as_mut());
        let by_hands = read.has_hands && source == Offers::Listed;
        if by_hands || state.sets_channels() {
            offer_elsewhere(state, followers.as_ref(), minors, book.as_mut());
        }
    }
    let mut soak = known
        .ledger
        .sums(&read.policy, clusters.values(), &known.tenures);
    let list = read.list_in_force(known);
    soak.extend(told_once(&known.imported, &list.soak));
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
        gates: list.gates.clone(),
        approvals: known.approvals.clone(),
        taken_back: known.taken_back.clone(),
        pauses: known.pauses.clone(),
        preflights: known.preflights.clone(),
        inherited: list.inherited.clone(),
        minors: Some(Minors::new(minors.rows().clone())),
    };
    towpath_formats::fleet::input::sort(&mut input);
    input
}

/// Adds clusters that could not be understood. One that the store knows by its name counts as it was last seen.
fn stand_in(not_understood: &[ClusterState], clusters: &mut BTreeMap<ClusterId, ClusterState>) {
    let name = |state: &ClusterState| (state.organisation.clone(), state.name.clone());
    let known: BTreeSet<_> = clusters.values().map(name).collect();
    let unknown = not_understood
        .iter()
        .filter(|state| !known.contains(&name(state)));
    clusters.extend(unknown.map(|state| (state.id.clone(), state.clone())));
}

/// Where the versions come from that a cluster could go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offers {
    /// From the list; from the graph if the list names none.
    Listed,
    /// From the graph alone: there is a list, and the cluster is not in it.
    Graph,
    /// There is no list. From the graph; where it does not know the cluster's channel or release, from the last list.
    LastListed,
}

impl Offers {
    /// For a cluster that no list names now.
    pub(crate) fn of_unlisted(has_list: bool) -> Self {
        match has_list {
            true => Self::Graph,
            false => Self::LastListed,
        }
    }
}

/// What the cluster could go to.
pub(crate) fn offer(state: &mut ClusterState, source: Offers, book: Option<&mut OfferBook<'_>>) {
    if source == Offers::Graph {
        state.offers = Arc::new([]);
    }
    let Some(book) = book else { return };
    let knows_better = source == Offers::LastListed && book.knows(state);
    if state.offers.is_empty() || knows_better {
        state.offers = book.offers(state);
    }
}

/// Adds what the cluster could go to in channels that its policy lets it be switched to.
pub(crate) fn offer_elsewhere(
    state: &mut ClusterState,
    followers: Option<&ChannelFollowers<'_>>,
    minors: &Minors,
    book: Option<&mut OfferBook<'_>>,
) {
    if let (Some(followers), Some(book)) = (followers, book) {
        let channels = followers.channels(state, minors);
        book.add_offers_in(state, &channels);
    }
}

/// What policies want in vain: which releases another channel has is in the graph alone, and only who manages a cluster, or its
/// agent, can switch it.
pub(crate) fn channels_in_vain(
    read: &FleetReading,
    graph: Option<&Graph>,
    clusters: &[ClusterState],
    policy: &Path,
) -> Option<Finding> {
    let followers = ChannelFollowers::of(&read.policy)?;
    let listed: BTreeSet<&ClusterId> = read.list.clusters.iter().map(|state| &state.id).collect();
    let is_switched = |state: &ClusterState| {
        state.sets_channels() || (read.has_hands && listed.contains(&state.id))
    };
    let following = clusters
        .iter()
        .filter(|state| followers.group(state).is_some());
    let stay: Vec<&ClusterState> = following.filter(|state| !is_switched(state)).collect();
    let (problem, remedy) = match (graph, stay.as_slice()) {
        (None, _) => (
            "no cluster is switched: there is no graph that tells what the next channel has"
                .to_owned(),
            "name the graph data (--graph-data, --releases), or remove `channel` from the policies",
        ),
        (Some(_), []) => return None,
        (Some(_), [first, ..]) => (
            format!(
                "nobody switches {}: neither OCM nor ACM nor an agent; {} is one",
                counted(stay.len(), "cluster"),
                first.name
            ),
            "name who manages the clusters (--ocm, --acm), have their agents report here and switch automatic updates on, or remove `channel` from the policies",
        ),
    };
    let problem = format!("policies follow channels from minor to minor, but {problem}");
    let place = Place::from(policy);
    Some(Finding::warning(
        CHANNEL_NOT_FOLLOWED,
        place,
        problem,
        remedy,
    ))
}

/// What no longer counts if clusters of the store were last seen in a list, and there is no list now.
pub(crate) fn list_is_gone(
    read: &FleetReading,
    known: &StoredFleet,
    policy: &Path,
) -> Option<Finding> {
    let was_listed = |state: &&ClusterState| !state.offers.is_empty();
    let listed = known.clusters.values().filter(was_listed).count();
    let is_gone = listed > 0 && !read.has_list;
    let problem = format!(
        "{} of the store were last seen in a list, and no list is named: they are judged as they were then, by the list's last gates and soak; its upgrades of others and policies in labels do not count",
        counted(listed, "cluster")
    );
    let remedy = "name the list (--clusters, --ocm or --acm), or let them report";
    is_gone.then(|| Finding::warning(LIST_IS_GONE, Place::from(policy), problem, remedy))
}

/// A graph from files, for commands that look at a fleet once.
pub(crate) fn graph(
    settings: &crate::config::Settings,
    now: Timestamp,
) -> anyhow::Result<Option<Graph>> {
    if settings.sources.is_example() {
        return Ok(None);
    }
    // Readers have runtimes of their own.
    let read = || Sources::read(settings.sources.clone(), now)?.graph();
    let graph = tokio::task::block_in_place(read).context("the graph cannot be used")?;
    Ok(Some(graph))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    type Change = fn(&Path);
    type Breaker = Box<dyn Fn(&Path)>;

    const ID: &str = "bbbbbbbb-0000-4000-8000-000000000001";
    const OTHER: &str = "bbbbbbbb-0000-4000-8000-000000000002";

    fn policy(name: &str, id: &str) -> String {
        format!(
            "name: {name}\norgId: {name}\nunknownClusters: serve\nupgradePolicyClusters:\n- {{name: shop, id: {id}, upgradePolicy: {{workloads: [web], schedule: '* * * * *'}}}}\n"
        )
    }

    /// A policy in a folder, and a change that makes part of it unreadable.
    fn broken_by(change: impl FnOnce(&Path)) -> (FleetReading, FleetReading) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("policy");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(root.join("a.yaml"), policy("a", ID)).unwrap();
        fs::write(root.join("sub/b.yaml"), policy("b", ID)).unwrap();
        let mut files = Files::new(&root, None);
        let before = files.read(Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(before.unknown_clusters, UnknownClusters::Serve);
        change(&root);
        (before, files.read(Timestamp::UNIX_EPOCH).unwrap())
    }

    #[track_caller]
    fn is_told_and_holds(after: &FleetReading, code: &str) {
        let codes: Vec<&str> = after.findings.iter().map(|finding| finding.code).collect();
        assert!(codes.contains(&code), "{codes:?}");
        assert_eq!(
            (after.is_partial, after.unknown_clusters),
            (true, UnknownClusters::Hold)
        );
    }

    #[test]
    fn what_cannot_be_read_freezes_nothing_else() {
        let outside = tempfile::tempdir().unwrap();
        let fifo = |path: PathBuf| {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.is_ok_and(|made| made.success()));
        };
        let mut breakers: Vec<(&str, Breaker)> = vec![
            (
                "unreadable",
                Box::new(|root| symlink("gone", root.join("x.yaml")).unwrap()),
            ),
            (
                "unreadable",
                Box::new(move |root| fifo(root.join("x.yaml"))),
            ),
            (
                "too-deep",
                Box::new(|root| fs::create_dir_all(root.join("1/2/3/4/5/6/7/8/9")).unwrap()),
            ),
        ];
        let target = outside.path().to_owned();
        breakers.push((
            "link-outside",
            Box::new(move |root| symlink(&target, root.join("x")).unwrap()),
        ));
        for (code, change) in breakers {
            let (_, after) = broken_by(|root| {
                change(root);
                fs::write(root.join("a.yaml"), policy("a", OTHER)).unwrap();
            });
            is_told_and_holds(&after, code);
            let named: Vec<&str> = after.policy.named_ids().map(ClusterId::as_str).collect();
            assert!(
                named.contains(&OTHER),
                "{code}: the other file was read: {named:?}"
            );
        }
    }

    #[test]
    fn what_can_no_longer_be_read_keeps_its_last_meaning() {
        let changes: [(&str, Change); 3] = [
            ("unreadable", |root| fs::remove_dir_all(root).unwrap()),
            ("unreadable", |root| {
                fs::remove_dir_all(root.join("sub")).unwrap();
                symlink("gone", root.join("sub")).unwrap();
            }),
            ("link-outside", |root| {
                fs::remove_file(root.join("sub/b.yaml")).unwrap();
                symlink("/dev/zero", root.join("sub/b.yaml")).unwrap();
            }),
        ];
        for (code, change) in changes {
            let (before, after) = broken_by(change);
            is_told_and_holds(&after, code);
            assert_eq!(after.policy, before.policy);
        }
    }

    #[test]
    fn a_list_that_can_no_longer_be_read_says_what_it_said_and_sees_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let (root, list) = (
            folder.path().join("policy"),
            folder.path().join("list.json"),
        );
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a.yaml"), policy("a", ID)).unwrap();
        fs::write(
            &list,
            format!("[{{\"id\": \"{ID}\", \"organisation\": \"a\", \"version\": \"4.9.1\"}}]"),
        )
        .unwrap();
        let mut files = Files::new(&root, Some(&list));
        let before = files.read("2026-01-01T00:00Z".parse().unwrap()).unwrap();
        fs::remove_file(&list).unwrap();
        let after = files.read("2026-01-02T00:00Z".parse().unwrap()).unwrap();
        assert_eq!(
            after.list.clusters, before.list.clusters,
            "seen a day ago, and not now"
        );
        assert_eq!(after.unknown_clusters, UnknownClusters::Hold);
        assert_eq!(after.findings[0].code, "unreadable");
        let mut never_read = Files::new(&root, Some(&list));
        assert!(never_read.read(Timestamp::UNIX_EPOCH).is_err());
    }
}

//! The real graph across the border of majors: every edge of `candidate-5.0` is planned, judged and explained, and nothing else
//! is offered that was held before there was a table of minor versions.
//!
//! The data is not part of this repository. Where `TOWPATH_REAL_DATA` names it these tests run; elsewhere each
//! is listed as ignored.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test reads files, and a panic is the finding"
)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use libtest_mimic::{Arguments, Failed, Trial};
use towpath_core::cluster::objects::{Facts, HistoryEntry, Node, Progress};
use towpath_core::cluster::rules::judge;
use towpath_core::cluster::way::{Stop, Way};
use towpath_core::cluster::{Cluster, Fact};
use towpath_core::duration::Rollout;
use towpath_core::finding::Place;
use towpath_core::graph::{Channel, ChannelName, Edge, Graph, ReleaseId, Situation, explain};
use towpath_core::path::{Asker, Goal, Preference, Request, RiskPolicy, paths, pools, rollouts};
use towpath_core::version::{Arch, Minor, Minors, Version};
use towpath_formats::SourceFile;
use towpath_formats::graph::explain::{ExplainReport, text};
use towpath_formats::graph::{data, releases};
use towpath_formats::minors::built_in;

const NOW: &str = "2026-08-21T12:00Z";

/// The edges that were held because 5.0 was unknown, and are not any more: every pre-release of 5.0 with the releases before it.
const NOW_OFFERED: [(&str, &str); 6] = [
    ("5.0.0-ec.1", "4.22.0-rc.0 4.22.0-rc.1 4.22.0-rc.2"),
    (
        "5.0.0-ec.2",
        "4.22.0-rc.0 4.22.0-rc.1 4.22.0-rc.2 4.22.0-rc.3 4.22.0-rc.4",
    ),
    (
        "5.0.0-ec.3",
        "4.22.0-rc.0 4.22.0-rc.1 4.22.0-rc.2 4.22.0-rc.3 4.22.0-rc.4 4.22.0-rc.5 4.22.0 4.22.1",
    ),
    (
        "5.0.0-ec.4",
        "4.22.0-rc.0 4.22.0-rc.1 4.22.0-rc.2 4.22.0-rc.3 4.22.0-rc.4 4.22.0-rc.5 4.22.0 4.22.1 4.22.2 4.22.3",
    ),
    (
        "5.0.0-ec.5",
        "4.22.0-rc.0 4.22.0-rc.1 4.22.0-rc.2 4.22.0-rc.3 4.22.0-rc.4 4.22.0-rc.5 4.22.0 4.22.1 4.22.2 4.22.3 4.22.4 4.22.5 4.22.6 4.22.7",
    ),
    (
        "5.0.0-ec.6",
        "4.22.0-rc.0 4.22.0-rc.1 4.22.0-rc.2 4.22.0-rc.3 4.22.0-rc.4 4.22.0-rc.5 4.22.0 4.22.1 4.22.2 4.22.3 4.22.4 4.22.5 4.22.6 4.22.7 4.22.8 4.22.9",
    ),
];

type Test = fn(&Graph) -> Result<(), Failed>;

fn main() {
    let data = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    let trial = |name: &str, test: Test| {
        let path = data.clone().unwrap_or_default();
        Trial::test(name, move || test(&real_graph(&path)?)).with_ignored_flag(data.is_none())
    };
    let trials = vec![
        trial("every_edge_of_candidate_5_0", every_edge),
        trial("what_was_held_and_is_offered_now", newly_offered),
        trial("worker_rollouts_of_every_eus_start", worker_rollouts),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn every_edge(graph: &Graph) -> Result<(), Failed> {
    let name = ChannelName::new("candidate-5.0").ok_or("a channel")?;
    let channel = graph.channel(name.as_str()).ok_or("candidate-5.0")?;
    let cluster = Cluster::anonymous(name.clone(), Arch::default());
    let at = Situation {
        graph,
        cluster: &cluster,
        now: NOW.parse()?,
    };
    let (minors, mut across) = (built_in(), 0);
    let members = graph.members(channel, &Arch::default());
    for edge in members.iter().flat_map(|(id, _)| graph.edges_from(*id)) {
        if channel.membership(edge.to).is_none() {
            continue;
        }
        let [from, to] = ends(graph, edge);
        let request = request(from, Goal::Version(to.clone()), &name, RiskPolicy::Any)?;
        let found = paths(graph, &request, &|_, _| SignedDuration::from_mins(90));
        let found = found.map_err(|no_path| format!("{from} to {to}: {no_path:?}"))?;
        assert_eq!(found.plans[0].hops.len(), 1, "{from} to {to}");
        assert_eq!(held(from, to), Vec::<&str>::new(), "{from} to {to}");
        let explanation = explain(&at, from, Some(to), &minors, &[]);
        assert!(
            explanation.candidates[0].verdict.is_offered(),
            "{explanation:?}"
        );
        let told = text(
            &ExplainReport {
                at: &at,
                from,
                explanation: &explanation,
            },
            towpath_formats::room::Room::default(),
        );
        assert!(told.contains(&to.to_string()), "{told}");
        across += usize::from(from.major() != to.major());
    }
    // As many as the data has from 4.22 to 5.0.
    assert_eq!(across, 56);
    Ok(())
}

/// Nothing that was held before is offered now, but for edges whose only reason was a minor version that was unknown. Nor is
/// anything held that was offered.
fn newly_offered(graph: &Graph) -> Result<(), Failed> {
    let mut offered: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for edge in graph.releases().iter().enumerate().flat_map(|(id, _)| {
        let id = towpath_core::graph::ReleaseId(u32::try_from(id).unwrap());
        graph.edges_from(id)
    }) {
        let [from, to] = ends(graph, edge);
        let is_held = !held(from, to).is_empty();
        match (was_held(from, to), is_held) {
            (true, false) => offered
                .entry(to.to_string())
                .or_default()
                .push(from.to_string()),
            (false, true) => return Err(format!("{from} to {to}: {:?}", held(from, to)).into()),
            (true, true) | (false, false) => {}
        }
    }
    let listed: Vec<(String, String)> = offered
        .into_iter()
        .map(|(to, from)| (to, from.join(" ")))
        .collect();
    let expected: Vec<(String, String)> = NOW_OFFERED
        .iter()
        .map(|(to, from)| ((*to).to_owned(), (*from).to_owned()))
        .collect();
    assert_eq!(listed, expected);
    Ok(())
}

/// From each release of an EUS version to the newest of the next: the planned way and its schedule have the fewest rollouts of workers that
/// kubelets allow, found by trying all ways of the channel, with all choices of who is paused when.
fn worker_rollouts(graph: &Graph) -> Result<(), Failed> {
    let (minors, mut starts, mut after_a_patch) = (built_in(), 0, 0);
    for minor in (6..=18).step_by(2) {
        let name = ChannelName::new(&format!("eus-4.{}", minor + 2)).ok_or("a channel")?;
        let channel = graph.channel(name.as_str()).ok_or("an EUS channel")?;
        let mut all_ways: BTreeMap<ReleaseId, AllWays<'_>> = BTreeMap::new();
        for (id, _) in graph.members(channel, &Arch::default()) {
            let from = &graph.release(*id).version;
            if Minor::of(from) != Minor::new(4, minor) {
                continue;
            }
            let goal = Goal::NewestOf {
                major: 4,
                minor: minor + 2,
            };
            let request = request(from, goal, &name, RiskPolicy::Never)?;
            let found = paths(graph, &request, &|_, _| SignedDuration::from_mins(90));
            let plan = found
                .map_err(|no_path| format!("{from}: {no_path:?}"))?
                .plans;
            let schedule = pools(graph, &plan[0], &minors);
            let way: Vec<&Version> = std::iter::once(plan[0].from)
                .chain(plan[0].hops.iter().map(|hop| hop.to))
                .map(|id| &graph.release(id).version)
                .collect();
            let ours = rollouts(&schedule, Rollout::Runs);
            assert_eq!(ours, fewest(&way, 0, 0, &minors), "{way:?}");
            assert_eq!(ours, 1, "{way:?}");
            let goal = plan[0].hops.last().map_or(plan[0].from, |hop| hop.to);
            let all_ways = all_ways
                .entry(goal)
                .or_insert_with(|| AllWays::new(graph, channel, goal, &minors));
            let fewest = all_ways.fewest(*id, Minor::of(from), Workers::Follow);
            assert_eq!(Some(ours), fewest, "{way:?}");
            starts += 1;
            after_a_patch += usize::from(way[0].same_minor(way[1]));
        }
    }
    // Those that begin with a patch would reboot workers twice if the patch was not part of the pause.
    assert_eq!((starts, after_a_patch), (436, 96));
    Ok(())
}

/// Whether workers have the release of the control plane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Workers {
    Follow,
    Wait,
}

/// Every way through a channel to a goal, with and without risks and blocks: more than a path may take, so a lower bound.
struct AllWays<'a> {
    graph: &'a Graph,
    channel: &'a Channel,
    goal: ReleaseId,
    minors: &'a Minors,
    known: RefCell<BTreeMap<(ReleaseId, Minor, Workers), Option<usize>>>,
}

impl<'a> AllWays<'a> {
    fn new(graph: &'a Graph, channel: &'a Channel, goal: ReleaseId, minors: &'a Minors) -> Self {
        Self {
            graph,
            channel,
            goal,
            minors,
            known: RefCell::default(),
        }
    }

    /// The fewest rollouts from a release on, with workers of a minor version; none if there is no way.
    fn fewest(&self, at: ReleaseId, on: Minor, workers: Workers) -> Option<usize> {
        if at == self.goal {
            return Some(usize::from(workers == Workers::Wait));
        }
        let state = (at, on, workers);
        if let Some(known) = self.known.borrow().get(&state) {
            return *known;
        }
        let fewest = self.graph.edges_from(at).iter().filter_map(|edge| {
            let to = &self.graph.release(edge.to).version;
            let is_held = self.channel.membership(edge.to).is_some();
            // Releases are numbered in order, so ways end.
            let leads_on = is_held && at < edge.to && edge.to <= self.goal;
            let is_minor = self
                .minors
                .may_follow(Minor::of(&self.graph.release(at).version), Minor::of(to));
            (leads_on && is_minor)
                .then(|| self.over(edge.to, to, on, workers))
                .flatten()
        });
        let fewest = fewest.min();
        self.known.borrow_mut().insert(state, fewest);
        fewest
    }

    /// The same after a hop: workers are updated, or wait if their kubelets may.
    fn over(&self, id: ReleaseId, to: &Version, on: Minor, workers: Workers) -> Option<usize> {
        let may_wait = self.minors.lets_minor_lag(on, to);
        let updated = || Some(1 + self.fewest(id, Minor::of(to), Workers::Follow)?);
        let waiting = || self.fewest(id, on, Workers::Wait);
        match (may_wait, workers) {
            (true, _) => updated().into_iter().chain(waiting()).min(),
            // Nodes of the release before are never too old while it is updated.
            (false, Workers::Follow) => updated(),
            (false, Workers::Wait) => None,
        }
    }
}

/// The fewest rollouts of workers from hop `at` on: after each hop they are updated, or stay on release `on` if that is allowed.
fn fewest(way: &[&Version], at: usize, on: usize, minors: &Minors) -> usize {
    let Some(arrived) = way.get(at + 1) else {
        return usize::from(on != at);
    };
    let updated = 1 + fewest(way, at + 1, at + 1, minors);
    match minors.lets_lag(way[on], arrived) {
        true => updated.min(fewest(way, at + 1, on, minors)),
        // Nodes of the release before are never too old while it is updated.
        false if on == at => updated,
        false => usize::MAX / 2,
    }
}

/// The codes that hold an update on a cluster whose nodes are all of its release, and of which nothing else is known.
fn held(from: &Version, to: &Version) -> Vec<&'static str> {
    let minors = built_in();
    let Ok(way) = Way::new(from.clone(), vec![Stop::Release(to.clone())], &minors) else {
        return vec!["NotAWay"];
    };
    let kubelet = minors.kubernetes_of(from).map(|ships| ships.minor);
    let node = Node {
        name: "w1".into(),
        pool: Fact::Known("worker".into()),
        kubelet: Fact::from(kubelet),
    };
    let history = HistoryEntry {
        version: from.clone(),
        progress: Progress::Completed,
    };
    let facts = Facts {
        history: Fact::Known(vec![history]),
        nodes: Fact::Known(vec![node]),
        ..Facts::default()
    };
    let verdicts = way.steps().map(|step| judge(step, &facts));
    let verdict: towpath_core::verdict::Verdict = verdicts.collect();
    let codes = verdict.objections().map(|reason| reason.code().name);
    codes.filter(|code| *code != "ObjectsNotGiven").collect()
}

/// What the arithmetic said: another major version has no Kubernetes, and a minor version is at most one further.
fn was_held(from: &Version, to: &Version) -> bool {
    let (from, to) = (Minor::of(from), Minor::of(to));
    let is_known = |minor: Minor| minor.major == 4 && minor.minor >= 1;
    from != to
        && (!is_known(from)
            || !is_known(to)
            || to < from
            || to.minor > from.minor.saturating_add(1))
}

fn request(
    from: &Version,
    goal: Goal,
    channel: &ChannelName,
    risks: RiskPolicy,
) -> Result<Request, Failed> {
    Ok(Request {
        from: from.clone(),
        goal,
        via: vec![channel.clone()],
        risks,
        prefer: Preference::FewestHops,
        ways: 1,
        asker: Asker {
            id: Fact::Unknown,
            platform: Fact::Unknown,
            groups: Fact::Unknown,
            arch: Arch::default(),
        },
        minors: built_in(),
        now: NOW.parse()?,
    })
}

fn ends<'a>(graph: &'a Graph, edge: &Edge) -> [&'a Version; 2] {
    [edge.from, edge.to].map(|id| &graph.release(id).version)
}

fn real_graph(data: &Path) -> Result<Graph, Failed> {
    let mut files = Vec::new();
    for folder in ["", "channels", "blocked-edges", "raw"] {
        for entry in std::fs::read_dir(data.join("graph-data").join(folder))? {
            let path = entry?.path();
            let name = path.strip_prefix(data.join("graph-data"))?;
            let name = name.to_string_lossy().into_owned();
            if path.is_file() && data::is_part(&name) {
                files.push(SourceFile::new(name, std::fs::read(&path)?));
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let (graph_data, _) = data::read(&files).map_err(|findings| format!("{findings:#?}"))?;
    let bytes = std::fs::read(data.join("releases-amd64.json"))?;
    let (releases, _) =
        releases::read(&Place::file("r"), &bytes).map_err(|findings| format!("{findings:#?}"))?;
    Ok(Graph::build(graph_data, releases).0)
}

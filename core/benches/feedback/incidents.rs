//! The real incidents, replayed: each named risk of the public graph data as failures of one update in twenty in its class.
//!
//! Dates, releases, the releases that clusters come from, and whom a risk names are real. How many clusters there are of each kind is
//! not known to anybody outside; the fleet is drawn from a seed. Where a risk names a condition that no report tells, a class is drawn.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use towpath_core::cluster::ClusterId;
use towpath_core::feedback::{
    Assessment, Attempt, FailureRate, HaltScope, History, WatchAnswer, WatchSettings, assess,
};
use towpath_core::graph::{Ramp, Window};
use towpath_core::version::Version;
use towpath_testing_feedback::{
    Chance, Delays, Fates, FleetShape, Hit, Incident, Mix, NamedClass, SimulatedCluster,
    SimulatedRollout, Trouble, exposed, fleet_of, incidents,
};

use super::case::{BASE, RELEASE, start, version};
use super::exposure::{CLUSTERS, DELAY};

/// The smallest rate that the bar is about.
const FAILING: FailureRate = FailureRate::per_million(50_000);
const HOURS: i64 = 48;
/// Attempts are looked at in such beginnings first.
const BEGINNINGS: [usize; 4] = [250, 1_000, 2_000, 4_000];
/// Good releases for each replay of all incidents.
const GOOD: u64 = 1_000;

/// Replays all incidents so often, and as many good releases beside the first time.
pub(crate) fn measure(runs: u64) {
    let folder = std::env::var_os("TOWPATH_REAL_DATA").expect("TOWPATH_REAL_DATA names no folder");
    let all = incidents(&PathBuf::from(folder)).unwrap();
    for (number, incident) in all.iter().enumerate() {
        for run in 0..runs {
            let mut chance = Chance::of_run(0x1C1D, run * 1_000 + number as u64);
            println!("{}", Replay::of(incident, &mut chance).line(run));
        }
    }
    let halted = (0..GOOD).filter(|run| is_good_one_halted(*run)).count();
    println!("{}", json!({ "good": GOOD, "halted": halted }));
}

/// An incident in a fleet, and what the watch said of it.
struct Replay<'a> {
    incident: &'a Incident,
    fleet: Vec<SimulatedCluster>,
    hit: BTreeSet<ClusterId>,
    class: String,
    window: Window,
    told: Assessment,
    /// Who had begun at the first halt.
    begun: Option<usize>,
}

impl<'a> Replay<'a> {
    fn of(incident: &'a Incident, chance: &mut Chance) -> Self {
        let fleet = fleet_of(shape(), Mix::Ten, &incident.weights(), chance);
        let (hit, class) = class(incident, &fleet, chance);
        let start = incident.entered.unwrap_or(incident.declared);
        let window = Window {
            start,
            end: start + SignedDuration::from_hours(HOURS),
            ramp: Ramp::Exponential,
        };
        let trouble = Trouble {
            hit: Hit::Clusters(hit.clone()),
            failed: FAILING,
        };
        let (told, begun) = watched(&incident.release, &fleet, &window, Some(trouble), chance);
        Self {
            incident,
            fleet,
            hit,
            class,
            window,
            told,
            begun,
        }
    }

    fn line(&self, run: u64) -> serde_json::Value {
        let Incident {
            name,
            release,
            entered,
            declared,
            named,
            ..
        } = self.incident;
        let halt = self.told.halts.first();
        let share = |at: Timestamp| self.window.share(at).as_fraction() * CLUSTERS as f64;
        let of_class = self.narrowest();
        json!({
            "incident": name,
            "run": run,
            "release": release.to_string(),
            "entered": entered.map(|at| at.to_string()),
            "declared": declared.to_string(),
            "daysOnOffer": entered.map(|at| declared.duration_since(at).as_secs_f64() / 86_400.0),
            "class": self.class,
            "isNamed": *named != NamedClass::Condition,
            "clusters": self.hit.len(),
            // Real graph data had no windows: who was in the channel saw a release at once.
            "exposedWhenDeclared": entered.map_or(0, |_| CLUSTERS),
            "exposedWhenDeclaredInWindow": entered.map_or(0.0, |_| share(*declared)).round(),
            "found": halt.is_some(),
            "haltedAfterHours": halt.map(|halt| halt.since.duration_since(self.window.start).as_secs_f64() / 3600.0),
            "exposedWhenHalted": self.begun,
            "scope": halt.map(|halt| words(&halt.scope)),
            "scopeIs": halt.map(|halt| self.compared(&halt.scope)),
            "isWholeClassHalted": halt.is_some() && self.is_whole_class_halted(),
            "answer": self.told.answer.code(),
            "answerForClass": of_class.0.code(),
            "isClassAScope": of_class.1,
            "wrongGoOns": self.wrong_go_ons(),
        })
    }

    /// What the halt's scope is to the class that is hit.
    fn compared(&self, scope: &HaltScope) -> &'static str {
        let counts = self.counts(scope);
        match (counts.hit == self.hit.len(), counts.all == counts.hit) {
            _ if counts.hit == 0 => "elsewhere",
            (true, true) => "exact",
            (true, false) => "wider",
            (false, _) => "part",
        }
    }

    fn is_whole_class_halted(&self) -> bool {
        let is_halted = |cluster: &SimulatedCluster| {
            let halts = &self.told.halts;
            halts.iter().any(|halt| cluster.is_in(&halt.scope))
        };
        let mut hit = self
            .fleet
            .iter()
            .filter(|cluster| self.hit.contains(&cluster.id));
        hit.all(is_halted)
    }

    /// The answer for the scope with the class in which most are hit, and whether it is the class.
    fn narrowest(&self) -> (WatchAnswer, bool) {
        let counted = self
            .told
            .scopes
            .iter()
            .map(|one| (self.counts(&one.scope), one.answer));
        let whole = counted.filter(|(counts, _)| counts.hit == self.hit.len());
        let narrowest = whole.min_by_key(|(counts, _)| counts.all);
        let (counts, answer) = narrowest.expect("all clusters are a scope");
        (answer, counts.all == counts.hit)
    }

    /// Scopes that may go on, by their answer, and in which everybody fails with the rate that is not tolerated.
    fn wrong_go_ons(&self) -> usize {
        let goes_on = self
            .told
            .scopes
            .iter()
            .filter(|one| one.answer == WatchAnswer::GoOn);
        let is_wrong = |scope: &HaltScope| {
            let counts = self.counts(scope);
            counts.all > 0 && counts.all == counts.hit
        };
        goes_on.filter(|one| is_wrong(&one.scope)).count()
    }

    fn counts(&self, scope: &HaltScope) -> Counts {
        let clusters = self.fleet.iter().filter(|cluster| cluster.is_in(scope));
        let counts = Counts { all: 0, hit: 0 };
        clusters.fold(counts, |counts, cluster| Counts {
            all: counts.all + 1,
            hit: counts.hit + usize::from(self.hit.contains(&cluster.id)),
        })
    }
}

/// The clusters of a scope.
struct Counts {
    all: usize,
    hit: usize,
}

fn shape() -> FleetShape {
    FleetShape {
        clusters: CLUSTERS,
        organisations: CLUSTERS as u64 / 25,
    }
}

/// The clusters that are hit, in words too.
fn class(
    incident: &Incident,
    fleet: &[SimulatedCluster],
    chance: &mut Chance,
) -> (BTreeSet<ClusterId>, String) {
    let finds = |cluster: &&SimulatedCluster| {
        let name = format!("{}+{}", cluster.from, cluster.class.arch.as_str());
        incident.from.finds(&name)
    };
    let found: Vec<&SimulatedCluster> = fleet.iter().filter(finds).collect();
    // A pattern that finds no release with an edge names nobody that there is.
    let candidates = match found.is_empty() {
        true => fleet.iter().collect(),
        false => found,
    };
    let scope = match &incident.named {
        NamedClass::Condition => drawn(&candidates, chance),
        NamedClass::Arch(arch) => HaltScope {
            arch: Some(arch.clone()),
            ..HaltScope::default()
        },
        NamedClass::Everybody | NamedClass::Platforms(_) => HaltScope::default(),
    };
    let is_on =
        |cluster: &&SimulatedCluster| match (&incident.named, cluster.class.platform.known()) {
            (NamedClass::Platforms(platforms), Some(platform)) => platforms.contains(platform),
            _ => true,
        };
    let hit: Vec<&SimulatedCluster> = candidates
        .iter()
        .copied()
        .filter(|cluster| cluster.is_in(&scope))
        .filter(is_on)
        .collect();
    let mut parts = Vec::new();
    if let NamedClass::Platforms(platforms) = &incident.named {
        let names: Vec<&str> = platforms.iter().map(|platform| platform.as_str()).collect();
        parts.push(format!("platform {}", names.join(", ")));
    }
    if !scope.is_all() {
        parts.push(words(&scope));
    }
    if candidates.len() < fleet.len() {
        parts.push("some releases".to_owned());
    }
    let words = match parts.is_empty() {
        true => "all clusters".to_owned(),
        false => parts.join(", "),
    };
    (
        hit.iter().map(|cluster| cluster.id.clone()).collect(),
        words,
    )
}

/// One of the classes of a cluster that is drawn, so that large classes are drawn more often.
fn drawn(candidates: &[&SimulatedCluster], chance: &mut Chance) -> HaltScope {
    let class = &candidates[chance.below(candidates.len() as u64) as usize].class;
    let all = HaltScope::default();
    match chance.below(3) {
        0 => HaltScope {
            platform: class.platform.known().cloned(),
            ..all
        },
        1 => HaltScope {
            arch: Some(class.arch.clone()),
            ..all
        },
        _ => HaltScope {
            from: Some(class.from),
            ..all
        },
    }
}

fn is_good_one_halted(run: u64) -> bool {
    let mut chance = Chance::of_run(0x600D, run);
    let froms = [(version("4.20.8"), 4), (version("4.19.15"), 1)];
    let fleet = fleet_of(shape(), Mix::Ten, &froms, &mut chance);
    let window = Window {
        start: start(),
        end: start() + SignedDuration::from_hours(HOURS),
        ramp: Ramp::Exponential,
    };
    let (told, _) = watched(&version(RELEASE), &fleet, &window, None, &mut chance);
    told.answer == WatchAnswer::Halt
}

/// What the watch says once it has halted the release for all who are hit, or at the end; and who had begun at the first halt.
fn watched(
    release: &Version,
    fleet: &[SimulatedCluster],
    window: &Window,
    trouble: Option<Trouble>,
    chance: &mut Chance,
) -> (Assessment, Option<usize>) {
    let hit = trouble.as_ref().map(|trouble| trouble.hit.clone());
    let is_hit = |cluster: &SimulatedCluster| hit.as_ref().is_some_and(|hit| hit.has(cluster));
    let fates = Fates {
        failed: BASE,
        degraded: BASE,
        trouble,
    };
    let rollout = SimulatedRollout {
        to: release,
        shown_at: &|position| window.due(position),
        polling: SignedDuration::ZERO,
        delays: Delays::Fixed(DELAY),
        fates: &fates,
    };
    let attempts = rollout.attempts(fleet, chance);
    let is_held_back = |told: &Assessment| {
        let is_halted = |cluster: &SimulatedCluster| {
            let mut halts = told.halts.iter();
            halts.any(|halt| cluster.is_in(&halt.scope))
        };
        let mut all = fleet.iter();
        all.all(|cluster| is_halted(cluster) || !is_hit(cluster))
    };
    // Most are halted early, and then nobody needs to look at the rest.
    let beginnings = BEGINNINGS.map(|count| count.min(attempts.len()));
    let look = |count: usize| look(release, &attempts[..count]);
    let told = beginnings.into_iter().map(look);
    let mut told = told.skip_while(|told| told.halts.is_empty() || !is_held_back(told));
    let told = told.next().unwrap_or_else(|| look(attempts.len()));
    let begun = told
        .halts
        .first()
        .map(|halt| exposed(&attempts, halt.since));
    (told, begun)
}

/// What the watch says once all their outcomes are known.
fn look(release: &Version, attempts: &[Attempt]) -> Assessment {
    let known = attempts.iter().filter_map(|a| Some(a.ending?.known_at));
    let end = known.max().unwrap();
    let (history, settings) = (History::default(), WatchSettings::default());
    assess(release, attempts, &history, &settings, end)
}

fn words(scope: &HaltScope) -> String {
    let platform = scope
        .platform
        .as_ref()
        .map(|p| format!("platform {}", p.as_str()));
    let arch = scope
        .arch
        .as_ref()
        .map(|arch| format!("architecture {}", arch.as_str()));
    let from = scope.from.map(|minor| format!("from {minor}"));
    let parts: Vec<String> = [platform, arch, from].into_iter().flatten().collect();
    match parts.is_empty() {
        true => "all clusters".to_owned(),
        false => parts.join(", "),
    }
}

//! What should the fleet start now?
//!
//! The planner walks the clusters in one total order: current version, wanted soak days,
//! organisation, id. A cluster that may start takes its mutexes at once, so later clusters see
//! them taken. The planner keeps every candidate's verdict.
//!
//! A [`FleetPlanner`] keeps its judgements between passes. It judges again only what a change or
//! the time has touched. A new planner judges everything. A property test holds both to the same
//! decision.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::holds::HoldIndex;
use super::plans::{self, Cancellation, OverdueUpgrade, UpgradeEnd};
use super::why;
use crate::cluster::ClusterId;
use crate::fleet::roster::{CalendarEntry, CalendarIdx, ClassIdx, ClusterEntry, StartQuestion};
use crate::fleet::rules::{RuleSet, is_volatile, pool_behind, preflights_end, refusals_end};
use crate::fleet::schedule::NOTICE;
use crate::fleet::{
    AcceptedRisk, Approval, ClusterIdx, ClusterState, FleetInput, FollowUp, Name, Pause, Preflight,
    Roster, RuleId, TakenBack, Upgrade, UpgradeId,
};
use crate::graph::ChannelName;
use crate::table::Table;
use crate::verdict::Verdict;
use crate::version::Version;

/// What is to be done now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    pub at: Timestamp,
    /// What to start, in order.
    pub starts: Vec<Start>,
    pub cancels: Vec<Cancellation>,
    /// Plans whose time has come.
    pub begins: Vec<UpgradeId>,
    /// Upgrades that have come to an end.
    pub ended: Vec<UpgradeEnd>,
    /// Upgrades that take longer than expected.
    pub overdue: Vec<OverdueUpgrade>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub cluster: ClusterId,
    pub name: Name,
    pub organisation: Name,
    pub sector: Option<Name>,
    /// What kind of upgrade it is.
    pub kind: StartKind,
    pub from: Version,
    pub to: Version,
    /// The channel that the cluster is switched to first.
    pub channel: Option<ChannelName>,
    pub at: Timestamp,
    /// The mutexes it takes, and who may hold them already. The caller checks that again.
    pub locks: Vec<LockNeed>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum StartKind {
    Cluster,
    ControlPlane,
    /// One node pool of a hosted control plane.
    NodePool(Name),
}

/// A mutex that a start takes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockNeed {
    /// The mutex, with the organisation it belongs to.
    pub mutex: Name,
    /// Count only those of this sector (with its organisation).
    pub within_sector: Option<Name>,
    /// How many others may hold it.
    pub at_most: u32,
}

/// Decides about one fleet.
#[derive(Debug, Clone)]
pub struct FleetPlanner {
    roster: Roster,
    /// Whether a member has something that could start, were it only its turn.
    ready: Table<ClusterEntry, bool>,
    again: Again,
    /// Classes that time alone can change.
    volatile: Vec<ClassIdx>,
    /// Offers that open by themselves.
    wakes: BTreeSet<(Timestamp, ClusterIdx)>,
    /// The next start of each calendar, and the instant it was looked up for.
    next_starts: Table<CalendarEntry, Option<(Timestamp, Option<Timestamp>)>>,
    last_pass: Option<Timestamp>,
    /// The members that the last pass started. They hold their mutexes until the next pass, whether
    /// or not the start is carried out.
    started: BTreeSet<ClusterIdx>,
    held: HoldIndex,
}

#[derive(Debug, Clone)]
enum Again {
    All,
    These(BTreeSet<ClusterIdx>),
}

pub fn dispatch(input: FleetInput, now: Timestamp) -> (FleetPlanner, Decision) {
    let mut desk = FleetPlanner::new(input);
    let decision = desk.pass(now);
    (desk, decision)
}

impl FleetPlanner {
    /// A planner that has judged nothing yet.
    pub fn new(input: FleetInput) -> Self {
        let roster = Roster::new(input);
        Self {
            ready: Table::like(&roster.members, false),
            again: Again::All,
            volatile: roster
                .classes
                .numbered()
                .filter(|(_, class)| is_volatile(&roster, class))
                .map(|(number, _)| number)
                .collect(),
            wakes: BTreeSet::new(),
            next_starts: Table::like(&roster.calendars, None),
            last_pass: None,
            started: BTreeSet::new(),
            held: HoldIndex::default(),
            roster,
        }
    }

    /// The fleet it is about.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// A cluster reported; its time gives this many seconds of soak. `false`: the planner must be
    /// rebuilt.
    pub fn seen(&mut self, state: ClusterState, credit: Option<(&Version, i64)>) -> bool {
        let followed = self.roster.seen(state, credit);
        self.judge_again(followed)
    }

    /// An upgrade was planned, started, or ended. `false`: the planner must be rebuilt.
    pub fn upgrade_changed(&mut self, upgrade: Upgrade) -> bool {
        let followed = self.roster.upgrade_changed(upgrade);
        self.judge_again(followed)
    }

    /// Every healthy cluster has run this many seconds more on its version, and has reported it.
    pub fn time_passes(&mut self, seconds: i64, now: Timestamp) {
        let followed = self.roster.time_passes(seconds, now);
        self.judge_again(followed);
    }

    /// People stop or allow new starts.
    pub fn pauses_changed(&mut self, pauses: Vec<Pause>) -> bool {
        let followed = self.roster.pauses_changed(pauses);
        self.judge_again(followed)
    }

    pub fn approvals_changed(&mut self, approvals: Vec<Approval>) -> bool {
        let followed = self.roster.approvals_changed(approvals);
        self.judge_again(followed)
    }

    pub fn taken_back_changed(&mut self, taken_back: TakenBack) -> bool {
        let followed = self.roster.taken_back_changed(taken_back);
        self.judge_again(followed)
    }

    pub fn preflights_changed(&mut self, preflights: Vec<Preflight>) -> bool {
        let followed = self.roster.preflights_changed(preflights);
        self.judge_again(followed)
    }

    fn judge_again(&mut self, followed: FollowUp) -> bool {
        self.held = HoldIndex::default();
        match (followed, &mut self.again) {
            (FollowUp::BuildAnew, _) => return false,
            (FollowUp::Judge(_), Again::All) => {}
            (FollowUp::Judge(members), Again::These(these)) => these.extend(members),
        }
        true
    }

    /// Decides. The decision is not in effect yet: the caller carries it out and reports it.
    pub fn pass(&mut self, now: Timestamp) -> Decision {
        self.judge(now);
        let starts = self.fold(now);
        let mut decision = Decision {
            at: now,
            starts,
            ..Decision::default()
        };
        plans::follow(&self.roster, now, &mut decision);
        self.last_pass = Some(now);
        self.held = HoldIndex::default();
        decision
    }

    /// Judges the candidates of the members that a change touches.
    fn judge(&mut self, now: Timestamp) {
        let back_in_time = self.last_pass.is_some_and(|last| now < last);
        match std::mem::replace(&mut self.again, Again::These(BTreeSet::new())) {
            Again::These(these) if !back_in_time => {
                let mut members = these;
                while let Some((_, member)) =
                    self.wakes.first().copied().filter(|(at, _)| *at <= now)
                {
                    self.wakes.pop_first();
                    members.insert(member);
                }
                for class in &self.volatile {
                    members.extend(&self.roster.classes[*class].members);
                }
                members
                    .into_iter()
                    .for_each(|member| self.judge_member(member, now));
            }
            _ => {
                self.wakes.clear();
                self.roster
                    .numbers()
                    .for_each(|member| self.judge_member(member, now));
            }
        }
    }

    fn judge_member(&mut self, number: ClusterIdx, now: Timestamp) {
        let mut candidates = std::mem::take(&mut self.roster.members[number].candidates);
        let question = StartQuestion::new(&self.roster, number, now);
        for candidate in &mut candidates {
            candidate.holds = RuleSet::VERSION.holding(&question.about(candidate)).0;
        }
        let behind = pool_behind(&question).is_some();
        self.wakes.extend(
            refusals_end(&question)
                .filter(|until| *until > now)
                .map(|until| (until, number)),
        );
        for offer in question.member.state.offers.iter() {
            if let Some(until) = offer
                .objection
                .as_ref()
                .and_then(|objection| objection.until())
                .filter(|until| *until > now)
            {
                self.wakes.insert((until, number));
            }
        }
        // What a policy accepts ends by itself, and so does what was found out before a start.
        let accepted = question.class.policy.accepted_risks.iter();
        let ends = accepted.filter_map(AcceptedRisk::ends);
        let ends = ends.chain(preflights_end(&question));
        let later = ends.filter(|end| *end > now);
        self.wakes.extend(later.map(|end| (end, number)));
        self.ready[number] = behind || candidates.iter().any(|candidate| candidate.is_free());
        self.roster.members[number].candidates = candidates;
    }

    /// Walks the ready members in order. One that starts takes its mutexes at once.
    fn fold(&mut self, now: Timestamp) -> Vec<Start> {
        for number in std::mem::take(&mut self.started) {
            if self.roster.member(number).upgrade.is_none() {
                self.roster.give_mutexes_back(number);
            }
        }
        let mut starts = Vec::new();
        for at in 0..self.roster.order.len() {
            let number = self.roster.order[at];
            if !self.ready[number] {
                continue;
            }
            if let Some(start) = self.start(number, now) {
                self.roster.take_mutexes(number);
                self.started.insert(number);
                starts.push(start);
            }
        }
        starts
    }

    fn start(&mut self, number: ClusterIdx, now: Timestamp) -> Option<Start> {
        let question = StartQuestion::new(&self.roster, number, now);
        if RuleSet::POOLS.any_holds(&question) {
            return None;
        }
        if let Some(pool) = pool_behind(&question) {
            let kind = StartKind::NodePool(pool.id.clone());
            let at = now.checked_add(NOTICE).ok()?;
            let (from, to) = (&pool.version, &question.member.state.version);
            return Some(new_start(&question, kind, from, to, None, at));
        }
        let candidate = *question
            .member
            .candidates
            .iter()
            .find(|candidate| candidate.is_free())?;
        let calendar = question.class.calendar;
        let at = self.next_start(calendar, now)?;
        let question = StartQuestion::new(&self.roster, number, now);
        let kind = match question.member.state.product {
            crate::fleet::Product::Standalone => StartKind::Cluster,
            crate::fleet::Product::HostedControlPlane { .. } => StartKind::ControlPlane,
        };
        let state = &question.member.state;
        let channel = state.offers[candidate.offer.at()].channel.clone();
        let to = self.roster.version(candidate.version);
        Some(new_start(&question, kind, &state.version, to, channel, at))
    }

    /// The calendar's start, looked up again only when the last answer can no longer be right.
    fn next_start(&mut self, calendar: CalendarIdx, now: Timestamp) -> Option<Timestamp> {
        let schedules = self.roster.calendars[calendar].schedules();
        let kept = self.next_starts[calendar];
        let holds = |asked: Timestamp, next: Option<Timestamp>| {
            let notice = now.checked_add(NOTICE).ok();
            let fresh = asked.duration_until(now) < SignedDuration::from_hours(1);
            asked <= now && next.map_or(fresh, |next| notice.is_some_and(|notice| notice < next))
        };
        let next = match kept {
            Some((asked, next)) if holds(asked, next) => next,
            _ => {
                let next = schedules.next(now);
                self.next_starts[calendar] = Some((now, next));
                next
            }
        };
        next.filter(|next| now.duration_until(*next) <= crate::fleet::schedule::HORIZON)
    }

    /// Why a cluster does, or does not, go where it could, after the last pass and what that started.
    pub fn why(&self, member: ClusterIdx, now: Timestamp) -> why::Why {
        why::why(&self.roster, member, now, self.started.contains(&member))
    }

    /// What a decision starts, with the cluster. What was carried out since then is planned, and starts nothing more.
    pub fn pending_starts<'d>(
        &self,
        decision: &'d Decision,
    ) -> impl Iterator<Item = (ClusterIdx, &'d Start)> {
        decision.starts.iter().filter_map(|start| {
            let member = self.roster.find(start.cluster.as_str())?;
            let is_pending = self.roster.member(member).upgrade.is_none();
            is_pending.then_some((member, start))
        })
    }

    /// What a decision starts on a cluster.
    pub fn start_of<'d>(&self, decision: &'d Decision, member: ClusterIdx) -> Option<&'d Start> {
        let mut starts = self.pending_starts(decision);
        starts.find_map(|(of, start)| (of == member).then_some(start))
    }

    /// Whether a decision starts this version on a cluster itself, not on a node pool.
    pub fn starts_to(&self, decision: &Decision, member: ClusterIdx, to: &Version) -> bool {
        self.start_of(decision, member)
            .is_some_and(|start| start.pool().is_none() && start.to == *to)
    }

    /// The same about one version, whether or not the cluster could go there.
    pub fn why_not(&self, member: ClusterIdx, to: &Version, now: Timestamp) -> why::Why {
        why::about(&self.roster, member, self.why(member, now), to)
    }

    /// What a version's verdict is for a cluster, as [`FleetPlanner::why`] says it.
    pub fn verdict(&self, member: ClusterIdx, to: &Version, now: Timestamp) -> Option<Verdict> {
        let why = self.why(member, now);
        why.candidates
            .into_iter()
            .find(|candidate| candidate.to == *to)
            .map(|candidate| candidate.verdict)
    }

    /// How many clusters that could go somewhere are held, by what holds the one candidate that is held least; a cluster may
    /// be held by several.
    pub fn holds(&self, now: Timestamp) -> BTreeMap<RuleId, u64> {
        let mut counts = BTreeMap::new();
        for number in self.roster.numbers() {
            for code in self.held_by(number, now) {
                *counts.entry(code).or_default() += 1;
            }
        }
        counts
    }

    /// What holds a cluster that could go somewhere.
    pub fn held_by(&self, member: ClusterIdx, now: Timestamp) -> BTreeSet<RuleId> {
        self.held.of(&self.roster, member, now).rules().collect()
    }

    /// Whether this rule holds a cluster that could go somewhere.
    pub fn is_held_by(&self, member: ClusterIdx, rule: RuleId, now: Timestamp) -> bool {
        self.held.of(&self.roster, member, now).has(rule)
    }

    /// The versions that a cluster waits for to soak with a workload: each with what it has and what it needs, in seconds.
    pub fn soak_of(&self, member: ClusterIdx, workload: &str) -> Vec<(Version, i64, i64)> {
        why::soak_of(&self.roster, member, workload)
    }

    /// Every version that a cluster could go to, with what it lacks in soak.
    pub fn remaining_soak(&self, member: ClusterIdx) -> Vec<why::CandidateSoak> {
        why::remaining_soak(&self.roster, member)
    }

    /// A digest of every verdict, by which a decision that is made again can be compared with the first.
    pub fn digest(&self, now: Timestamp) -> [u8; 32] {
        why::digest(&self.roster, now)
    }
}

fn new_start(
    question: &StartQuestion<'_>,
    kind: StartKind,
    from: &Version,
    to: &Version,
    channel: Option<ChannelName>,
    at: Timestamp,
) -> Start {
    let (roster, state) = (question.roster, &question.member.state);
    let sector = question
        .class
        .sector
        .map(|sector| sector_key(&state.organisation, &roster.sectors[sector].name));
    let limited = |mutex| {
        question
            .class
            .sector
            .and_then(|sector| roster.limit(sector, mutex))
    };
    let locks = roster.mutexes_of(question.number).map(|mutex| {
        let entry = &roster.mutexes[mutex];
        let organisation = entry
            .organisation
            .map_or("*", |number| &roster.organisations[number].id);
        let (within_sector, at_most) = match limited(mutex) {
            Some(limit) => (sector.clone(), limit.saturating_sub(1)),
            None => (None, 0),
        };
        LockNeed {
            mutex: format!("{organisation}/{}", entry.name).into(),
            within_sector,
            at_most,
        }
    });
    Start {
        cluster: state.id.clone(),
        name: state.name.clone(),
        organisation: state.organisation.clone(),
        sector: question.class.policy.sector.clone(),
        kind,
        from: from.clone(),
        to: to.clone(),
        channel,
        at,
        locks: locks.collect(),
    }
}

/// A sector's name, with its organisation.
pub fn sector_key(organisation: &str, sector: &str) -> Name {
    format!("{organisation}/{sector}").into()
}

impl Start {
    /// The node pool, if it is about one.
    pub fn pool(&self) -> Option<&Name> {
        match &self.kind {
            StartKind::NodePool(pool) => Some(pool),
            StartKind::Cluster | StartKind::ControlPlane => None,
        }
    }
}

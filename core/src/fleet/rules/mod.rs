//! The fleet's rules: each reason a cluster may not go to a version now, one small file each.
//!
//! A pass over a large fleet judges millions of candidates. So `holds` answers in numbers, and
//! `judge` finds the words when somebody asks. Some rules are about a version, others about the
//! cluster, whatever the version.

mod approval;
mod backoff;
mod blocked_version;
mod cancelled;
mod channel;
mod gate;
mod health;
mod left_alone;
mod minor;
mod mutex;
mod name;
mod offer;
mod organisation;
mod parallel_limit;
mod pause;
mod pin;
mod pool_first;
mod preflight;
mod refused;
mod schedule;
mod sector;
mod sector_failures;
mod soak;
mod under_way;

pub(crate) use pool_first::pool_behind;
pub(crate) use preflight::ends as preflights_end;
pub(crate) use refused::ends as refusals_end;
pub(crate) use schedule::closed;
pub(crate) use sector::is_volatile;
pub use soak::NOT_SOAKED;

use crate::fleet::Name;
use crate::fleet::roster::StartQuestion;
use crate::rules::{PlainRule, Question, Rule};
use crate::verdict::{Code, Verdict};

/// Questions about starts in the fleet.
pub(crate) struct Starts;

impl Question for Starts {
    type At<'a> = StartQuestion<'a>;
}

type StartRule = PlainRule<Starts>;

/// What a rule is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// One version for one cluster.
    Version,
    /// A cluster and its node pools.
    Cluster,
    /// What a cluster takes when it starts: one that has just started holds it.
    Locks,
    /// A cluster, and not its node pools: those follow their control plane whenever it is.
    ControlPlane,
}

struct Entry {
    /// The stable name: for filters, JSON and metrics.
    name: &'static str,
    rule: &'static StartRule,
    scope: Scope,
    /// Whether a plan has to stand up to it until it starts. (Its mutexes are its own, and its time is set.)
    is_of_plans: bool,
}

const fn of(name: &'static str, scope: Scope, rule: &'static StartRule) -> Entry {
    let is_of_plans = false;
    Entry {
        name,
        rule,
        scope,
        is_of_plans,
    }
}

const fn of_plans(name: &'static str, rule: &'static StartRule) -> Entry {
    Entry {
        is_of_plans: true,
        ..of(name, Scope::Cluster, rule)
    }
}

/// All rules. A rule's place is its bit in sets that stored decisions keep: a new one comes last.
const RULES: &[Entry] = &[
    of_plans("policy", &organisation::POLICY_PROBLEMS),
    of_plans("disabled", &organisation::DISABLED),
    of("blocked", Scope::Version, &blocked_version::RULE),
    of("pin", Scope::Version, &pin::RULE),
    of("gate", Scope::Version, &gate::RULE),
    of("approval", Scope::Version, &approval::RULE),
    of("graph", Scope::Version, &offer::RULE),
    of("soak", Scope::Version, &soak::RULE),
    of("sector", Scope::Version, &sector::RULE),
    of("under-way", Scope::Cluster, &under_way::RULE),
    of("pool", Scope::ControlPlane, &pool_first::RULE),
    of_plans("pause", &pause::RULE),
    of_plans("health", &health::RULE),
    of("backoff", Scope::Cluster, &backoff::RULE),
    of("failures", Scope::Version, &sector_failures::RULE),
    of("mutex", Scope::Locks, &mutex::RULE),
    of("parallel", Scope::Locks, &parallel_limit::RULE),
    of("schedule", Scope::ControlPlane, &schedule::RULE),
    of_plans("name", &name::RULE),
    of("refused", Scope::Version, &refused::RULE),
    of_plans("left-alone", &left_alone::RULE),
    of("channel", Scope::Version, &channel::RULE),
    of("preflight", Scope::Version, &preflight::RULE),
    of("minor", Scope::Version, &minor::RULE),
    of("cancelled", Scope::Version, &cancelled::VERSION),
    of_plans("cancelled-pool", &cancelled::NODE_POOL),
];

/// A rule of the fleet, by its place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(u8);

impl RuleId {
    pub fn all() -> impl Iterator<Item = Self> {
        (0..RULES.len() as u8).map(Self)
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|rule| rule.name() == name)
    }

    /// The stable name: for filters, JSON and metrics.
    pub fn name(self) -> &'static str {
        RULES[self.0 as usize].name
    }
}

/// Rules as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RuleSet(pub(crate) u32);

impl RuleSet {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const VERSION: Self = Self::of(&[Scope::Version]);
    pub(crate) const CLUSTER: Self = Self::of(&[Scope::Cluster, Scope::Locks, Scope::ControlPlane]);
    /// Rules that also hold for node pools.
    pub(crate) const POOLS: Self = Self::of(&[Scope::Cluster, Scope::Locks]);
    pub(crate) const LOCKS: Self = Self::of(&[Scope::Locks]);
    /// Rules that a plan has to stand up to.
    pub(crate) const PLANS: Self = Self::plans();
    /// What depends on the calendar and the time alone.
    pub(crate) const CALENDAR: Self = Self(1 << 17);

    const fn of(scopes: &[Scope]) -> Self {
        let (mut set, mut at) = (0, 0);
        while at < RULES.len() {
            let mut scope = 0;
            while scope < scopes.len() {
                if RULES[at].scope as u8 == scopes[scope] as u8 {
                    set |= 1 << at;
                }
                scope += 1;
            }
            at += 1;
        }
        Self(set)
    }

    const fn plans() -> Self {
        let (mut set, mut at) = (0, 0);
        while at < RULES.len() {
            if RULES[at].is_of_plans {
                set |= 1 << at;
            }
            at += 1;
        }
        Self(set)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn has(self, rule: RuleId) -> bool {
        self.0 & (1 << rule.0) != 0
    }

    /// Whether the rule of soak is among them.
    pub(crate) fn has_soak(self) -> bool {
        self.rules()
            .any(|rule| std::ptr::eq(rule.rule(), &soak::RULE))
    }

    /// Whether the rule of blocked versions is among them.
    pub(crate) fn has_blocked(self) -> bool {
        self.rules()
            .any(|rule| std::ptr::eq(rule.rule(), &blocked_version::RULE))
    }

    pub(crate) fn rules(self) -> impl Iterator<Item = RuleId> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let at = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (at < 32).then_some(RuleId(at as u8))
        })
    }

    /// Those of these rules that stand in the way.
    pub(crate) fn holding(self, q: &StartQuestion<'_>) -> Self {
        let holds = |rule: &RuleId| rule.rule().holds(q);
        Self(
            self.rules()
                .filter(holds)
                .fold(0, |set, rule| set | 1 << rule.0),
        )
    }

    pub(crate) fn any_holds(self, q: &StartQuestion<'_>) -> bool {
        self.rules().any(|rule| rule.rule().holds(q))
    }

    /// What these rules say, in words.
    pub(crate) fn judge(self, q: &StartQuestion<'_>) -> Verdict {
        self.rules().map(|rule| rule.rule().judge(q)).collect()
    }
}

impl RuleId {
    fn rule(self) -> &'static StartRule {
        RULES[self.0 as usize].rule
    }
}

/// Every kind of reason of the fleet's rules, with the rule.
pub fn fleet_codes() -> Vec<(&'static str, &'static Code)> {
    let of = |entry: &Entry| {
        let name = entry.name;
        entry.rule.codes().into_iter().map(move |code| (name, code))
    };
    RULES.iter().flat_map(of).collect()
}

/// The sector of the cluster that is asked about.
fn sector_of(q: &StartQuestion<'_>) -> Name {
    q.class.policy.sector.clone().unwrap_or_else(|| "".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendars_rule_is_the_schedule() {
        let names: Vec<&str> = RuleSet::CALENDAR.rules().map(RuleId::name).collect();
        assert_eq!(names, ["schedule"]);
    }
}

//! The first process: outcomes against the base rates of history.
//!
//! It goes through the trials in the order of their starts. One without an ending counts as good until it is known to be bad, so
//! what is not known yet only lowers the evidence. Each beginning of that order is looked at: the bound holds for all of them
//! at once. Whatever one organisation reports, what the others report must be enough.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::steps::Bets;
use super::trials::{Trial, Trials};
use super::{Bits, Signal, narrowest};

/// The bets of both signals.
type Both = [Bets; 2];

/// What became of the evidence.
#[derive(Debug)]
pub(super) struct AgainstHistory {
    /// For each scope, the strongest evidence, without its weight.
    pub(super) strongest: Vec<Bits>,
    /// When evidence was enough, and in which scopes, in the order of the trials.
    pub(super) enough: Vec<Enough>,
    /// UpdateEvidence was enough only with this organisation.
    pub(super) only_with: Option<usize>,
}

/// UpdateEvidence was enough in these scopes.
#[derive(Debug, Clone)]
pub(super) struct Enough {
    /// When all that it needs was known.
    pub(super) since: Timestamp,
    /// The scopes that pass, with their evidence.
    pub(super) scopes: Vec<(usize, Bits)>,
}

/// The sums on the way.
struct Walk<'t> {
    trials: &'t Trials,
    /// What evidence must reach, for one scope alone.
    needed: Bits,
    organisations: u8,
    sums: Vec<Both>,
    /// The part of each organisation that was hit.
    parts: BTreeMap<usize, Vec<Both>>,
    since: Timestamp,
    found: AgainstHistory,
}

pub(super) fn against_history(trials: &Trials, needed: Bits, organisations: u8) -> AgainstHistory {
    let scopes = trials.scopes.len();
    let nothing = || vec![[Bets::NONE; 2]; scopes];
    let hit = trials.hit_organisations().into_iter();
    let mut walk = Walk {
        trials,
        needed,
        organisations,
        sums: nothing(),
        parts: hit.map(|number| (number, nothing())).collect(),
        since: Timestamp::MIN,
        found: AgainstHistory {
            strongest: vec![Bits::ZERO; scopes],
            enough: Vec::new(),
            only_with: None,
        },
    };
    trials.own.iter().for_each(|trial| walk.step(trial));
    walk.found
}

impl Walk<'_> {
    fn step(&mut self, trial: &Trial) {
        let group = self.trials.group(trial);
        let mut part = self.parts.get_mut(&trial.organisation);
        for (number, signal) in Signal::ALL.into_iter().enumerate() {
            let step = group.steps[number].of(trial.is_bad(signal));
            for scope in &group.scopes {
                self.sums[*scope][number].add(step);
                if let Some(part) = part.as_mut() {
                    part[*scope][number].add(step);
                }
            }
        }
        // UpdateEvidence grows with bad endings alone.
        if let Some(at) = trial.went_wrong_at() {
            self.since = self.since.max(at);
            self.look();
        }
    }

    fn look(&mut self) {
        let with_all: Vec<Bits> = self.sums.iter().map(mean).collect();
        for (strongest, now) in self.found.strongest.iter_mut().zip(&with_all) {
            *strongest = (*strongest).max(*now);
        }
        if self.passing(&with_all).is_empty() {
            return;
        }
        let (without_one, organisation) = self.without_any_one(&with_all);
        let passing = self.passing(&without_one);
        if passing.is_empty() {
            self.found.only_with = organisation;
            return;
        }
        let scopes = passing.into_iter().map(|scope| (scope, with_all[scope]));
        self.found.enough.push(Enough {
            since: self.since,
            scopes: scopes.collect(),
        });
    }

    fn passing(&self, evidence: &[Bits]) -> Vec<usize> {
        let weighted = |(evidence, (_, weight)): (&Bits, &(_, Bits))| *evidence + *weight;
        let weighted: Vec<Bits> = evidence
            .iter()
            .zip(&self.trials.scopes)
            .map(weighted)
            .collect();
        narrowest::passing(&weighted, self.needed)
    }

    /// The evidence of each scope without the organisation whose part is largest, and that one of all clusters.
    fn without_any_one(&self, with_all: &[Bits]) -> (Vec<Bits>, Option<usize>) {
        let (mut least, mut organisation) = (with_all.to_vec(), None);
        if self.organisations < 2 {
            return (least, organisation);
        }
        for (number, part) in &self.parts {
            for (scope, least) in least.iter_mut().enumerate() {
                let sums = &self.sums[scope];
                let rest = [0, 1].map(|signal| sums[signal].without(part[scope][signal]));
                let rest = mean(&rest);
                if rest < *least {
                    *least = rest;
                    if scope == 0 {
                        organisation = Some(*number);
                    }
                }
            }
        }
        (least, organisation)
    }
}

/// The evidence of both signals: their mean by weight.
fn mean(both: &Both) -> Bits {
    let of = |signal: usize| both[signal].mean() + Signal::ALL[signal].weight();
    of(0).of_sum(of(1))
}

//! A pass: observe the cluster, follow a started update, judge the offers. It changes nothing.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use towpath_core::agent::rules::Moment;
use towpath_core::agent::{
    Choice, ClusterStanding, Memory, OptIn, Stamp, UpdateOutcome, choose, follow,
};
use towpath_core::cluster::{Fact, UpgradeableGate, gate};
use towpath_core::finding::Finding;
use towpath_core::fleet::Name;
use towpath_core::version::Minors;
use towpath_formats::agent::{AgentPolicy, PassReport};
use towpath_kube::Cluster;

use super::observation::{Observation, observe};
use super::policy::PolicyFile;
use super::proof::Prover;
use super::service::Service;

/// The most offers to prove in one pass; the rest wait for the next.
const MAX_PROOFS: usize = 5;
/// No new proof begins in a pass after this time.
const PROOFS_WITHIN: Duration = Duration::from_secs(30);

/// Whether a pass looks for proofs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proofs {
    /// Some, within its time.
    Some,
    /// None: it acts on what was proved before.
    None,
}

/// Judges, pass by pass.
pub(super) struct Judge {
    policy: PolicyFile,
    /// Which minor version follows which.
    minors: Minors,
    prover: Prover,
    /// The newest time at which a graph was good, seen since the start: it is not written down each time.
    graph_good_at: Option<Timestamp>,
}

/// What was seen, and what follows from it without asking anybody.
#[derive(Debug)]
pub(super) struct Assessment {
    /// What was seen.
    pub(super) observation: Observation,
    /// What is remembered from now on.
    pub(super) memory: Memory,
    /// What became of an update that we started.
    pub(super) outcome: Option<UpdateOutcome>,
    /// Whether the minor version may change; none if the cluster has completed no installation yet.
    pub(super) gate: Option<UpgradeableGate>,
    /// How old the graph is.
    stamp: Fact<Stamp>,
    /// What is in force.
    pub(super) policy: AgentPolicy,
    /// Which minor version follows which, with the limit of the policy.
    minors: Minors,
    /// What is odd, or cannot be read.
    pub(super) warnings: Vec<Finding>,
    /// What is wrong with policy and keyring; those from before are in force.
    pub(super) problems: Vec<Finding>,
    /// When.
    pub(super) now: Timestamp,
}

/// What a pass has found.
#[derive(Debug)]
pub(super) struct Judgement {
    /// What was seen.
    pub(super) assessment: Assessment,
    /// What was judged.
    pub(super) choice: Choice,
    /// How long proofs have taken.
    pub(super) proving: Duration,
}

impl Judge {
    pub(super) fn new(policy: PolicyFile, minors: Minors, prover: Prover) -> Self {
        Self {
            policy,
            minors,
            prover,
            graph_good_at: None,
        }
    }

    /// Looks; or says why nothing can be judged. Asks nobody but the service.
    pub(super) async fn observe(
        &mut self,
        cluster: &Cluster,
        service: Option<&mut Service>,
        now: Timestamp,
    ) -> Result<Assessment, Vec<Finding>> {
        self.policy.refresh();
        let mut problems = self.prover.refresh(now);
        problems.extend_from_slice(self.policy.problems());
        let mut observation = observe(cluster.objects(), now)?;
        let policy = self.policy.in_force().clone();
        let standing = &observation.objects.standing;
        let stamp = match (
            service,
            &observation.objects.id,
            policy.automatic.max_graph_age,
        ) {
            (Some(service), Fact::Known(id), Some(_)) if standing.opt_in == OptIn::Wanted => {
                service.stamp(id, now).await
            }
            _ => Fact::Unknown,
        };
        let known = Memory {
            graph_good_at: observation.memory.graph_good_at.max(self.graph_good_at),
            ..observation.memory.clone()
        };
        let (memory, outcome) = follow(&known, standing, &stamp, now);
        self.graph_good_at = memory.graph_good_at;
        let minors = self.minors.with_max_skew(policy.max_skew);
        let gate = gate(policy.target, &observation.objects.facts, &minors);
        let warnings = std::mem::take(&mut observation.warnings);
        Ok(Assessment {
            memory,
            outcome,
            gate,
            stamp,
            policy,
            minors,
            warnings,
            problems,
            now,
            observation,
        })
    }

    /// Judges every offer, and has those proved that nothing else speaks against; or does with what is proved already.
    pub(super) async fn judge(
        &mut self,
        assessment: Assessment,
        proofs_wanted: Proofs,
    ) -> Judgement {
        let (standing, now) = (&assessment.observation.objects.standing, assessment.now);
        let source = source(standing);
        let mut evidence = self.prover.known(&standing.offers, source, now);
        let (began, mut proofs) = (Instant::now(), 0);
        let most = match proofs_wanted {
            Proofs::Some => MAX_PROOFS,
            Proofs::None => 0,
        };
        let choice = loop {
            let moment = Moment {
                standing,
                facts: &assessment.observation.certain,
                policy: &assessment.policy.automatic,
                minors: &assessment.minors,
                memory: &assessment.memory,
                evidence: &evidence,
                stamp: &assessment.stamp,
                now,
            };
            let choice = choose(&moment);
            match choice
                .unproved()
                .filter(|_| proofs < most && began.elapsed() < PROOFS_WITHIN)
            {
                None => break choice,
                Some(offer) => {
                    proofs += 1;
                    let proof = self.prover.prove(offer, source, now).await;
                    evidence.insert(offer.image.clone(), proof);
                }
            }
        };
        Judgement {
            choice,
            proving: began.elapsed(),
            assessment,
        }
    }
}

/// The image of the release that the cluster runs.
fn source(standing: &ClusterStanding) -> Option<&Name> {
    let desired = standing.desired.as_ref()?;
    let is_current = desired.version.as_ref() == standing.current();
    desired.image.as_ref().filter(|_| is_current)
}

impl Judgement {
    /// Whether there is more to be proved than a pass has time for.
    pub(super) fn has_more_to_prove(&self) -> bool {
        self.choice.unproved().is_some()
    }

    /// All that there is to tell.
    pub(super) fn report(&self) -> PassReport<'_> {
        PassReport {
            standing: &self.assessment.observation.objects.standing,
            choice: &self.choice,
            gate: self.assessment.gate.as_ref(),
            memory: &self.assessment.memory,
            now: self.assessment.now,
        }
    }
}

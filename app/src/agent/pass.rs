//! A pass: observe the cluster, follow a started update, judge the offers. It changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use towpath_core::agent::rules::{Moment, NOT_PROVED, judge_preflight};
use towpath_core::agent::{
    Advice, ChannelJudgement, ChannelOutcome, Choice, ClusterStanding, Evidence, FleetOrders,
    Memory, OptIn, PreflightOrder, Stamp, UpdateOffer, UpdateOutcome, channel_to_set, choose,
    follow, follow_channel, follow_preflight,
};
use towpath_core::cluster::{Fact, UpgradeableGate, gate};
use towpath_core::finding::Finding;
use towpath_core::fleet::{Name, PreflightResult, PreflightState};
use towpath_core::verdict::{Answer, Verdict};
use towpath_core::version::{Minors, Version};
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
    /// What the fleet asks of the cluster.
    orders: FleetOrders,
    /// What became of a preflight that we asked for.
    pub(super) preflight: Option<PreflightResult>,
    /// What became of a channel that we set.
    pub(super) channel: Option<ChannelOutcome>,
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
    /// The channel that the fleet's update needs.
    pub(super) channel: Option<ChannelJudgement>,
    /// What there is to do about a preflight that the fleet asks for.
    pub(super) preflight: PreflightStep,
    /// What is said about that preflight.
    pub(super) preflight_verdict: Option<(Version, Verdict)>,
    /// How long proofs have taken.
    pub(super) proving: Duration,
}

/// What there is to do about a preflight.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PreflightStep {
    /// Nothing, or nothing yet.
    Nothing,
    /// The cluster is asked for it: the request, and the release.
    Ask(Name, UpdateOffer),
    /// It is not run, for good.
    Refuse(PreflightResult),
}

impl Assessment {
    /// Whether the preflight that we asked for is over, and its request is still there.
    pub(super) fn is_preflight_left(&self) -> bool {
        let standing = &self.observation.objects.standing;
        self.preflight.as_ref().is_some_and(|result| {
            let open = standing.preflight.as_ref();
            open.is_some_and(|open| open.version.as_ref() == Some(&result.version))
        })
    }
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
        mut service: Option<&mut Service>,
        now: Timestamp,
    ) -> Result<Assessment, Vec<Finding>> {
        self.policy.refresh();
        let mut problems = self.prover.refresh(now);
        problems.extend_from_slice(self.policy.problems());
        let mut observation = observe(cluster.objects(), now)?;
        let policy = self.policy.in_force().clone();
        let standing = &observation.objects.standing;
        let orders = match (service.as_deref_mut(), &observation.objects.id) {
            (Some(service), Fact::Known(id)) => {
                service.renew_token(id, now).await;
                service.orders(id, now).await
            }
            _ => FleetOrders::default(),
        };
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
        let (mut memory, outcome) = follow(&known, standing, &stamp, now);
        let preflight = memory.preflight.take().and_then(|started| {
            let (started, result) = follow_preflight(&started, standing, now);
            match &result {
                Some(result) => memory.answered = Some(result.id.clone()),
                None => memory.preflight = Some(started),
            }
            result
        });
        let (memory, channel) = follow_channel(&memory, standing, now);
        self.graph_good_at = memory.graph_good_at;
        let minors = self.minors.with_max_skew(policy.max_skew);
        let gate = gate(policy.target, &observation.objects.facts, &minors);
        let warnings = std::mem::take(&mut observation.warnings);
        Ok(Assessment {
            memory,
            outcome,
            gate,
            stamp,
            orders,
            preflight,
            channel,
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
        let ordered = ordered(&assessment);
        let release = ordered.as_ref().and_then(|(_, release)| release.clone());
        let wanted: Vec<UpdateOffer> = standing.offers.iter().cloned().chain(release).collect();
        let mut evidence = self.prover.known(&wanted, source, now);
        let (began, mut proofs) = (Instant::now(), 0);
        let most = match proofs_wanted {
            Proofs::Some => MAX_PROOFS,
            Proofs::None => 0,
        };
        let choice = loop {
            let choice = choose(&assessment.moment(&evidence));
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
        let channel = channel_to_set(&assessment.moment(&evidence));
        let (mut preflight, mut preflight_verdict) = (PreflightStep::Nothing, None);
        if let (Some((order, release)), None) = (ordered, choice.takes()) {
            if let Some(release) = &release
                && lacks_proof(&judge_preflight(release, &assessment.moment(&evidence)))
                && proofs < most
            {
                let proof = self.prover.prove(release, source, now).await;
                evidence.insert(release.image.clone(), proof);
            }
            let version = order.version.clone();
            let verdict = release
                .as_ref()
                .map(|release| judge_preflight(release, &assessment.moment(&evidence)));
            preflight = step(order, release, verdict.as_ref());
            preflight_verdict = verdict.map(|verdict| (version, verdict));
        }
        Judgement {
            choice,
            channel,
            preflight,
            preflight_verdict,
            proving: began.elapsed(),
            assessment,
        }
    }
}

impl Assessment {
    fn moment<'a>(&'a self, evidence: &'a BTreeMap<Name, Evidence>) -> Moment<'a> {
        Moment {
            standing: &self.observation.objects.standing,
            facts: &self.observation.certain,
            policy: &self.policy.automatic,
            minors: &self.minors,
            memory: &self.memory,
            evidence,
            stamp: &self.stamp,
            orders: &self.orders,
            now: self.now,
        }
    }
}

/// The preflight that the fleet asks for and that is not answered, with its release if anybody has told its image.
fn ordered(assessment: &Assessment) -> Option<(PreflightOrder, Option<UpdateOffer>)> {
    let order = assessment.orders.preflight.clone()?;
    let memory = &assessment.memory;
    if memory.preflight.is_some() || memory.answered.as_ref() == Some(&order.id) {
        return None;
    }
    let offers = assessment.observation.objects.standing.offers.iter();
    let mut offers = offers.filter(|offer| offer.version == order.version);
    let image = order.image.clone();
    let image = image.or_else(|| offers.next().map(|offer| offer.image.clone()));
    let release = image.map(|image| UpdateOffer {
        version: order.version.clone(),
        image,
        advice: Advice::Recommended,
        risks: BTreeSet::new(),
    });
    Some((order, release))
}

fn step(
    order: PreflightOrder,
    release: Option<UpdateOffer>,
    verdict: Option<&Verdict>,
) -> PreflightStep {
    let refuse = |why: &str| {
        PreflightStep::Refuse(PreflightResult {
            id: order.id.clone(),
            version: order.version.clone(),
            state: PreflightState::Refused,
            why: why.into(),
            risks: BTreeSet::new(),
        })
    };
    let (Some(release), Some(verdict)) = (release, verdict) else {
        return refuse("neither the fleet nor the cluster's own offers name the release's image");
    };
    match verdict.answer {
        Answer::Recommend => PreflightStep::Ask(order.id, release),
        Answer::Refuse => {
            let reasons: Vec<String> = verdict.reasons.iter().map(ToString::to_string).collect();
            refuse(&reasons.join("; "))
        }
        Answer::RecommendUnless(_) | Answer::Wait { .. } => PreflightStep::Nothing,
    }
}

/// Whether nothing but a missing proof speaks against it.
fn lacks_proof(verdict: &Verdict) -> bool {
    let mut against = verdict.objections();
    against.all(|reason| reason.is(&NOT_PROVED)) && verdict.objections().count() == 1
}

/// The image of the release that the cluster runs.
fn source(standing: &ClusterStanding) -> Option<&Name> {
    let desired = standing.desired.as_ref()?;
    let is_current = desired.version.as_ref() == standing.current();
    desired.image.as_ref().filter(|_| is_current)
}

impl Judgement {
    /// What there is to tell of a preflight: it is over, or it is not run.
    pub(super) fn preflight_result(&self) -> Option<&PreflightResult> {
        let refused = match &self.preflight {
            PreflightStep::Refuse(result) => Some(result),
            PreflightStep::Nothing | PreflightStep::Ask(..) => None,
        };
        self.assessment.preflight.as_ref().or(refused)
    }

    /// The channel that is set now, with the update that needs it.
    pub(super) fn channel_to_set(&self) -> Option<&ChannelJudgement> {
        self.channel
            .as_ref()
            .filter(|one| one.verdict.answer == Answer::Recommend)
    }

    /// Whether there is more to be proved than a pass has time for.
    pub(super) fn has_more_to_prove(&self) -> bool {
        self.choice.unproved().is_some()
    }

    /// All that there is to tell.
    pub(super) fn report(&self) -> PassReport<'_> {
        PassReport {
            standing: &self.assessment.observation.objects.standing,
            choice: &self.choice,
            channel: self.channel.as_ref(),
            preflight: self
                .preflight_verdict
                .as_ref()
                .map(|(version, verdict)| (version, verdict)),
            gate: self.assessment.gate.as_ref(),
            memory: &self.assessment.memory,
            now: self.assessment.now,
        }
    }
}

//! A pass: look at the cluster, follow what was started, judge what is offered. It changes nothing.

use jiff::Timestamp;
use towpath_core::decide::{Choice, Gate, Outcome, choose, follow, gate};
use towpath_core::domain::automatic::{Memory, Standing};
use towpath_core::domain::fleet::Name;
use towpath_core::domain::{Fact, Minor};
use towpath_core::finding::Finding;
use towpath_core::rules::automatic::Moment;
use towpath_formats::agent::Told;
use towpath_kube::Cluster;

use super::look::{Look, look};
use super::policy::PolicyFile;
use super::proof::Prover;
use super::service::Service;

/// So many offers are proved in one pass; the rest have to wait for the next.
const MAX_PROOFS: usize = 5;

/// Judges, pass by pass.
pub(super) struct Judge {
    policy: PolicyFile,
    prover: Prover,
    /// The newest time at which a graph was good, seen since the start: it is not written down each time.
    graph_good_at: Option<Timestamp>,
}

/// What a pass has found.
#[derive(Debug)]
pub(super) struct Judged {
    /// What was seen.
    pub(super) look: Look,
    /// What is remembered from now on.
    pub(super) memory: Memory,
    /// What became of an update that we started.
    pub(super) outcome: Option<Outcome>,
    /// What was judged.
    pub(super) choice: Choice,
    /// Whether the minor version may change; none if what the cluster runs is not known.
    pub(super) gate: Option<Gate>,
    /// Where the cluster should be one day.
    pub(super) target: Option<Minor>,
    /// What is odd.
    pub(super) warnings: Vec<Finding>,
    /// When.
    pub(super) now: Timestamp,
}

impl Judge {
    pub(super) fn new(policy: PolicyFile, prover: Prover) -> Self {
        Self { policy, prover, graph_good_at: None }
    }

    /// Looks and judges; or says why nothing can be judged.
    pub(super) async fn pass(
        &mut self,
        cluster: &Cluster,
        service: Option<&mut Service>,
        now: Timestamp,
    ) -> Result<Judged, Vec<Finding>> {
        self.policy.refresh();
        let mut warnings = self.prover.refresh(now);
        warnings.extend_from_slice(self.policy.problems());
        let mut look = look(cluster.objects(), now)?;
        warnings.append(&mut look.warnings);
        let policy = self.policy.in_force().clone();
        let stamp = match (service, &look.objects.id, policy.automatic.max_graph_age) {
            (Some(service), Fact::Known(id), Some(_)) => service.stamp(id, now).await,
            _ => Fact::Unknown,
        };
        let known = Memory { graph_good_at: look.memory.graph_good_at.max(self.graph_good_at), ..look.memory.clone() };
        let (memory, outcome) = follow(&known, &look.objects.standing, &stamp, now);
        self.graph_good_at = memory.graph_good_at;
        let standing = &look.objects.standing;
        let source = source(standing);
        let mut evidence = self.prover.known(&standing.offers, source, now);
        let mut proofs = 0;
        let choice = loop {
            let moment = Moment {
                standing,
                facts: &look.objects.facts,
                policy: &policy.automatic,
                memory: &memory,
                evidence: &evidence,
                stamp: &stamp,
                now,
            };
            let choice = choose(&moment);
            match choice.unproved().filter(|_| proofs < MAX_PROOFS) {
                None => break choice,
                Some(offer) => {
                    proofs += 1;
                    let proof = self.prover.prove(offer, source, now).await;
                    evidence.insert(offer.image.clone(), proof);
                }
            }
        };
        let max_skew = policy.automatic.max_skew;
        let gate = standing.current().map(|current| gate(current, policy.target, &look.objects.facts, max_skew));
        Ok(Judged { memory, outcome, choice, gate, target: policy.target, warnings, now, look })
    }
}

/// The image of the release that the cluster runs.
fn source(standing: &Standing) -> Option<&Name> {
    let desired = standing.desired.as_ref()?;
    let is_current = desired.version.as_ref() == standing.current();
    desired.image.as_ref().filter(|_| is_current)
}

impl Judged {
    /// All that there is to tell.
    pub(super) fn told(&self) -> Told<'_> {
        Told {
            standing: &self.look.objects.standing,
            choice: &self.choice,
            gate: self.gate.as_ref(),
            memory: &self.memory,
            now: self.now,
        }
    }
}

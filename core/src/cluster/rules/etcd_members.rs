//! etcd members: every member is up before the control plane is restarted node by node.
//!
//! One member that is down leaves no other to spare. What the etcd operator says itself is the
//! failing rule's matter; this one looks at the pods. Hosted control planes have no control-plane
//! nodes, and their etcd is not seen from here.

use super::{StepQuestion, StepRule, not_given};
use crate::cluster::Fact;
use crate::cluster::health::{NodeState, Pod};
use crate::cluster::objects::{CONTROL_PLANE_POOL, ObjectKind};
use crate::verdict::{Code, Verdict};

static ETCD_MEMBER_DOWN: Code = Code::new(
    "EtcdMemberDown",
    "etcd member {pod}[ on {node}] is not ready",
    "bring etcd member {pod} back, or replace it",
)
.by("oc -n openshift-etcd describe pod {pod}")
.checked_by("oc -n openshift-etcd get pods -l app=etcd -o wide")
.about("{pod}")
.with(&[("pod", "etcd-m1"), ("node", "m1")]);

static ETCD_MEMBER_MISSING: Code = Code::new(
    "EtcdMemberMissing",
    "control-plane node {node} has no etcd member",
    "find out why node {node} has no etcd member, and add it",
)
.by("oc get clusteroperator etcd -o yaml")
.checked_by("oc -n openshift-etcd get pods -l app=etcd -o wide")
.about("{node}")
.with(&[("node", "m3")]);

pub(super) static RULE: StepRule = StepRule::new(&[&ETCD_MEMBER_DOWN, &ETCD_MEMBER_MISSING], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    let health = &q.facts.health;
    if !q.step.is_first_minor() {
        return Verdict::recommend();
    }
    let (nodes, pods) = match (&health.nodes, &health.pods) {
        (Fact::Unknown, _) => return not_given(ObjectKind::Node),
        (_, Fact::Unknown) => return not_given(ObjectKind::Pod),
        (Fact::Known(nodes), Fact::Known(pods)) => (nodes, pods),
    };
    let is_etcd = |pod: &&Pod| {
        let app = pod.labels.get("app").map(|app| &**app);
        &*pod.namespace == "openshift-etcd" && app == Some("etcd") && !pod.has_ended
    };
    let members: Vec<&Pod> = pods.iter().filter(is_etcd).collect();
    let down = members.iter().filter(|pod| !pod.is_ready).map(|pod| {
        Verdict::refuse(ETCD_MEMBER_DOWN.because([
            ("pod", (&pod.name).into()),
            ("node", pod.node.as_ref().into()),
        ]))
    });
    let is_without = |node: &&NodeState| {
        let is_here = |pod: &&Pod| pod.node.as_ref() == Some(&node.name);
        is_of_control_plane(node) && !members.iter().any(is_here)
    };
    let missing = nodes
        .iter()
        .filter(is_without)
        .map(|node| Verdict::refuse(ETCD_MEMBER_MISSING.because([("node", (&node.name).into())])));
    down.chain(missing).collect()
}

fn is_of_control_plane(node: &NodeState) -> bool {
    matches!(&node.pool, Fact::Known(pool) if &**pool == CONTROL_PLANE_POOL)
}

//! How far a run is, as reasons: what goes into the pool's annotation, its Events and the answer of a pass.

use super::{RUN_CODES, RebootProgress};
use crate::fleet::Name;
use crate::verdict::{Code, Reason, Value};

static UNDER_WAY: Code = Code::new(
    "RebootsUnderWay",
    "{updated} of {nodes|node|nodes} have the new configuration; {away|node is|nodes are} away",
    "nothing to do",
)
.note()
.with(&FACTS);

static HELD: Code = Code::new(
    "RebootsHeld",
    "{updated} of {nodes|node|nodes} have the new configuration, and no other may begin now",
    "see the reasons beside this one",
)
.with(&FACTS);

static STOPPED: Code = Code::new(
    "RebootsStopped",
    "the run has stopped with {updated} of {nodes|node|nodes} updated: {why}",
    "correct what it met, then go on with `towpath nodes run --resume`, or put everything back with `towpath nodes run --undo`",
)
.with(&FACTS);

static FINISHING: Code = Code::new(
    "RebootsFinishing",
    "every node has the new configuration; labels, marks and the pause are being taken back",
    "nothing to do",
)
.note();

static DONE: Code = Code::new(
    "RebootsDone",
    "every node has the newest configuration, and nothing of the run is left",
    "nothing to do",
)
.note();

static UNDOING: Code = Code::new(
    "RebootsUndoing",
    "the run is being put back[; the machine-config operator still has {nodes_out}]",
    "nothing to do; a node that the operator has is put back when it is ready again",
)
.note()
.with(&[("nodes_out", "worker-3")]);

static UNDONE: Code = Code::new(
    "RebootsUndone",
    "the run is put back, and nothing of it is left",
    "nothing to do",
)
.note();

static REFUSED: Code = Code::new(
    "RebootsRefused",
    "what this pool says about its reboots cannot be followed: {why}",
    "correct it; nothing happens to the pool until then",
)
.with(&[(
    "why",
    "annotation towpath.dev/reboots-pace: \"fast\" is no pace",
)]);

static NO_POOL_BESIDE: Code = Code::new(
    "PoolBesideMissing",
    "there is no pool to which nodes of {pool} can be handed over: one whose nodeSelector is the label {label} alone",
    "apply deploy/nodes/pool.yaml; for a pool other than worker, a copy of deploy/nodes/custom-pool.yaml with its name",
)
.by("oc apply -f deploy/nodes/{file}")
.with(&[
    ("pool", "worker"),
    ("label", "towpath.dev/reboot"),
    ("file", "pool.yaml"),
]);

/// Lets a custom pool go of nodes with our label. A template cannot have it: brackets mean something else there.
const LET_GO: &str = r#"'{"spec":{"nodeSelector":{"matchExpressions":[{"key":"towpath.dev/reboot","operator":"DoesNotExist"}]}}}'"#;

static POOL_KEEPS_NODES: Code = Code::new(
    "PoolKeepsItsNodes",
    "the pool {pool} selects its nodes also when they are handed over, and the machine-config operator takes no node of two custom pools",
    "add an expression to the nodeSelector of {pool}: the label {label} does not exist. It changes nothing until a node is handed over",
)
.by("oc patch machineconfigpool {pool} --type=merge -p {patch}")
.checked_by("oc get machineconfigpool {pool} -o yaml")
.with(&[
    ("pool", "infra"),
    ("label", "towpath.dev/reboot"),
    ("patch", "'{…}'"),
]);

static POOL_BESIDE_UNFIT: Code = Code::new(
    "PoolBesideUnfit",
    "nodes cannot be handed over to the pool {pool}: {why}",
    "correct the pool; deploy/nodes/pool.yaml has it as it has to be",
)
.checked_by("oc get machineconfigpool {pool} -o yaml")
.with(&[("pool", "towpath-reboot"), ("why", "it is paused")]);

static POOL_BESIDE_DIFFERS: Code = Code::new(
    "PoolBesideDiffers",
    "the pool {pool} has another configuration ({has}) than this one ({wanted})",
    "wait for the operator to render it; if it stays, let both pools select the same MachineConfigs",
)
.checked_by("oc get machineconfigpool {pool} -o yaml")
.with(&[
    ("pool", "towpath-reboot"),
    ("has", "rendered-towpath-reboot-1a"),
    ("wanted", "rendered-worker-2b"),
]);

static NOT_RENDERED: Code = Code::new(
    "PoolNotRendered",
    "the machine-config operator has not said yet which configuration the pool is to have",
    "wait; if it stays, look at the operator's own log",
)
.checked_by("oc get clusteroperator machine-config");

const FACTS: [(&str, &str); 4] = [
    ("updated", "12"),
    ("nodes", "40"),
    ("away", "2"),
    (
        "why",
        "node worker-3 was handed over and is not back after 45 minutes",
    ),
];

/// Every code of a run, in the order of the manual.
pub(crate) fn run_codes() -> Vec<&'static Code> {
    let told = [
        &UNDER_WAY,
        &HELD,
        &STOPPED,
        &FINISHING,
        &DONE,
        &UNDOING,
        &UNDONE,
        &REFUSED,
        &NO_POOL_BESIDE,
        &POOL_KEEPS_NODES,
        &POOL_BESIDE_UNFIT,
        &POOL_BESIDE_DIFFERS,
        &NOT_RENDERED,
    ];
    told.into_iter().chain(RUN_CODES).collect()
}

impl RebootProgress {
    pub fn reason(&self) -> Reason {
        let number = |number: usize| Value::Number(number as u64);
        let of =
            |updated: usize, nodes: usize| [("updated", number(updated)), ("nodes", number(nodes))];
        match self {
            Self::Running { updated, away, of } => UNDER_WAY.because([
                ("updated", number(*updated)),
                ("nodes", number(*of)),
                ("away", number(*away)),
            ]),
            Self::Held { updated, of: nodes } => HELD.because(of(*updated, *nodes)),
            Self::Stopped {
                why,
                updated,
                of: nodes,
            } => {
                let [updated, nodes] = of(*updated, *nodes);
                STOPPED.because([updated, nodes, ("why", Value::text(why.text()))])
            }
            Self::Finishing { .. } => FINISHING.alone(),
            Self::Done => DONE.alone(),
        }
    }
}

/// How far it is with putting a run back: these nodes are still the operator's.
pub fn undoing<'n>(out: impl IntoIterator<Item = &'n Name>) -> Reason {
    UNDOING.because([("nodes_out", Value::list(out))])
}

pub fn undone() -> Reason {
    UNDONE.alone()
}

/// What is written on a pool cannot be followed.
pub fn refused(why: &str) -> Reason {
    REFUSED.because([("why", why.into())])
}

/// No pool has this label as its selector. The file defines one, if there is such a file.
pub fn no_pool_beside(pool: &Name, label: &str, file: Option<&'static str>) -> Reason {
    NO_POOL_BESIDE.because([
        ("file", file.map_or(Value::Missing, Into::into)),
        ("label", label.into()),
        ("pool", pool.into()),
    ])
}

/// A custom pool whose nodes would belong to two.
pub fn pool_keeps_nodes(pool: &Name, label: &'static str) -> Reason {
    POOL_KEEPS_NODES.because([
        ("label", label.into()),
        ("patch", Value::Command(LET_GO)),
        ("pool", pool.into()),
    ])
}

/// The pool beside cannot take nodes.
pub fn pool_beside_unfit(pool: &Name, why: &str) -> Reason {
    POOL_BESIDE_UNFIT.because([("pool", pool.into()), ("why", why.into())])
}

/// A node would get something else there.
pub fn pool_beside_differs(pool: &Name, has: &str, wanted: &str) -> Reason {
    POOL_BESIDE_DIFFERS.because([
        ("pool", pool.into()),
        ("has", has.into()),
        ("wanted", wanted.into()),
    ])
}

pub fn not_rendered() -> Reason {
    NOT_RENDERED.alone()
}

//! The adviser: which DaemonSets slow an update down, what their settings cost, and what helps.
//!
//! Costs come from the duration model: a wave of u pods takes r0 + r1·u^β. A lever is named only where it works. An operator sets its
//! DaemonSets back, so for those there is a note, and no command.

use super::daemon_set::{DaemonOwner, DaemonSetFacts, UpdateStrategy};
use crate::duration::{MaxUnavailable, Parameters, Seconds, WaveCost};
use crate::fleet::Name;
use crate::verdict::{Code, Reason, Value};
use crate::version::Minor;

/// What helps is held against this many at once.
const TENTH: MaxUnavailable = MaxUnavailable::Percent(10);
/// Less than this is not worth anybody's time.
const WORTH_SAYING: Seconds = 120;
/// `maxSurge` of DaemonSets is on by default from this Kubernetes.
const SURGE_SINCE: Minor = Minor::new(1, 22);

static ROLLS_SLOWLY: Code = Code::new(
    "DaemonSetRollsSlowly",
    "DaemonSet {set} replaces {at_once|pod|pods} at once on {nodes|node|nodes}: each of its updates takes about {time}, and with 10 % at once {less}",
    "set maxUnavailable of {set} to 10%, if that many nodes may be without its pod. It helps updates of the DaemonSet; how nodes reboot is up to their pools",
)
.by("oc -n {namespace} patch daemonset {name} --type=merge -p '{{\"spec\":{{\"updateStrategy\":{{\"rollingUpdate\":{{\"maxUnavailable\":\"10%\"}}}}}}}}'")
.checked_by("oc -n {namespace} rollout status daemonset {name}")
.about("{set}")
.with(&FACTS);

static OPERATOR_ROLLS_SLOWLY: Code = Code::new(
    "OperatorRollsSlowly",
    "DaemonSet {set} is set by {operator}, and replaces {at_once|pod|pods} at once on {nodes|node|nodes}: about {time} of each update that changes it, and with 10 % at once {less}",
    "plan for the time, or ask whoever makes {operator}: it would set a change of yours back",
)
.about("{set}")
.note()
.with(&FACTS);

static IN_ROLLOUT: Code = Code::new(
    "DaemonSetInRollout",
    "DaemonSet {set} is in the middle of a rollout: {updated} of {nodes|node|nodes} have the newest pod; {unavailable} have none that is available, and the next node waits for them",
    "look again in a few minutes. If the number has not grown, find out why pods of {set} are not available: an update that waits for {set} hangs",
)
.by("oc -n {namespace} describe daemonset {name}")
.checked_by("oc -n {namespace} rollout status daemonset {name}")
.about("{set}")
.note()
.with(&FACTS);

static WAITS_FOR_DELETES: Code = Code::new(
    "DaemonSetWaitsForDeletes",
    "DaemonSet {set} has updateStrategy OnDelete: {outdated} of {nodes|node|nodes} keep an older pod until somebody deletes it",
    "opt in to waves (docs/daemonsets.md), or delete its pods. A reboot alone keeps the old pod",
)
.by("oc -n {namespace} annotate daemonset {name} towpath.dev/waves=true")
.checked_by("oc -n {namespace} get daemonset {name}")
.about("{set}")
.with(&FACTS);

static OPERATOR_WAITS_FOR_DELETES: Code = Code::new(
    "OperatorWaitsForDeletes",
    "DaemonSet {set} has updateStrategy OnDelete, and {operator} decides when its pods go: {outdated} of {nodes|node|nodes} have an older one",
    "leave it to {operator}",
)
.about("{set}")
.note()
.with(&FACTS);

static SURGE_TAKES_PORTS: Code = Code::new(
    "SurgeNeedsPortsTwice",
    "DaemonSet {set} has maxSurge, and its pods take ports of the node ({ports}): a new pod waits for ever beside the old one",
    "set maxSurge of {set} to 0 and maxUnavailable to 10%",
)
.by("oc -n {namespace} patch daemonset {name} --type=merge -p '{{\"spec\":{{\"updateStrategy\":{{\"rollingUpdate\":{{\"maxSurge\":0,\"maxUnavailable\":\"10%\"}}}}}}}}'")
.checked_by("oc -n {namespace} rollout status daemonset {name}")
.about("{set}")
.with(&FACTS);

static CAN_SURGE: Code = Code::new(
    "DaemonSetCanSurge",
    "DaemonSet {set} could start each new pod before the old one goes, so that no node is without it",
    "set maxSurge to 10% and maxUnavailable to 0 in {set}, if two of its pods can run side by side. It helps updates of the DaemonSet, and no reboot: that takes the pod with the node",
)
.about("{set}")
.note()
.with(&FACTS);

static CANNOT_SURGE: Code = Code::new(
    "DaemonSetCannotSurge",
    "DaemonSet {set} cannot use maxSurge: {why}",
    "keep to maxUnavailable for {set}",
)
.about("{set}")
.note()
.with(&FACTS);

static CAN_PULL_AHEAD: Code = Code::new(
    "ImageCanBePulledAhead",
    "each of {nodes|node|nodes} pulls the new image of DaemonSet {set} after its old pod has gone",
    "pull the new image ahead, with a DaemonSet of your own whose pods do nothing. It helps updates of the DaemonSet; a reboot finds the image on the node's disk",
)
.about("{set}")
.note()
.with(&FACTS);

static PULLS_ALWAYS: Code = Code::new(
    "DaemonSetAsksARegistry",
    "each start of a pod of DaemonSet {set} asks a registry for {images} (imagePullPolicy: Always)",
    "name the images of {set} by digest, with imagePullPolicy IfNotPresent. It helps updates of the DaemonSet and reboots: no node waits for a registry",
)
.by("oc -n {namespace} edit daemonset {name}")
.about("{set}")
.with(&FACTS);

static SIDE_BY_SIDE: Code = Code::new(
    "DaemonSetsCanGoSideBySide",
    "DaemonSets {sets} are set by people: one after the other they take about {time}, and side by side {less}",
    "change them at the same time, if none of them needs another. It helps updates of the DaemonSets; reboots replace all pods of a node at once anyway",
)
.note()
.with(&FACTS);

const FACTS: [(&str, &str); 15] = [
    ("set", "monitoring/log-shipper"),
    ("namespace", "monitoring"),
    ("name", "log-shipper"),
    ("operator", "openshift-multus"),
    ("at_once", "1"),
    ("nodes", "250"),
    ("time", "1 h 20 min"),
    ("less", "10 min"),
    ("unavailable", "1"),
    ("updated", "40"),
    ("outdated", "210"),
    ("ports", "9100"),
    ("why", "its pods take ports of the node (9100)"),
    ("images", "registry.example/log-shipper:latest"),
    ("sets", "monitoring/log-shipper, monitoring/probe"),
];

/// Every code of this file, in the order of the manual.
pub(crate) fn advice_codes() -> Vec<&'static Code> {
    vec![
        &ROLLS_SLOWLY,
        &OPERATOR_ROLLS_SLOWLY,
        &IN_ROLLOUT,
        &WAITS_FOR_DELETES,
        &OPERATOR_WAITS_FOR_DELETES,
        &SURGE_TAKES_PORTS,
        &CAN_SURGE,
        &CANNOT_SURGE,
        &CAN_PULL_AHEAD,
        &PULLS_ALWAYS,
        &SIDE_BY_SIDE,
    ]
}

/// What there is to say of all DaemonSets of a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct DaemonAdvice<'s> {
    /// The slowest first.
    pub sets: Vec<SetAdvice<'s>>,
    /// About several of them.
    pub together: Vec<Reason>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SetAdvice<'s> {
    pub set: &'s DaemonSetFacts,
    /// How long one of its updates takes; none if that is up to whoever deletes pods.
    pub seconds: Option<Seconds>,
    /// The same with 10 % at once.
    pub by_tenths: Seconds,
    pub reasons: Vec<Reason>,
}

/// What slows an update down, and what helps. `kubernetes` is the oldest that the cluster runs.
pub fn advise<'s>(
    sets: &'s [DaemonSetFacts],
    kubernetes: Option<Minor>,
    parameters: &Parameters,
) -> DaemonAdvice<'s> {
    let cost = &parameters.wave;
    let mut advised: Vec<SetAdvice<'_>> = sets
        .iter()
        .map(|set| of_set(set, kubernetes, cost))
        .collect();
    advised.sort_by(|a, b| {
        let key = |one: &SetAdvice<'_>| (one.seconds, one.set.full_name());
        let (a, b) = (key(a), key(b));
        b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1))
    });
    DaemonAdvice {
        together: side_by_side(&advised).into_iter().collect(),
        sets: advised,
    }
}

impl DaemonAdvice<'_> {
    /// Whether there is something that people can settle.
    pub fn objects(&self) -> bool {
        let reasons = self.sets.iter().flat_map(|set| &set.reasons);
        let mut reasons = reasons.chain(&self.together);
        reasons.any(|reason| !reason.code().is_note)
    }
}

fn of_set<'s>(
    set: &'s DaemonSetFacts,
    kubernetes: Option<Minor>,
    cost: &WaveCost,
) -> SetAdvice<'s> {
    let at_once = set.at_once();
    let seconds = at_once.map(|at_once| set.seconds(at_once, cost));
    let by_tenths = set.seconds(TENTH, cost);
    let is_slow = seconds.is_some_and(|seconds| seconds >= by_tenths + WORTH_SAYING);
    let reasons = match &set.owner {
        DaemonOwner::People => of_people(set, kubernetes, is_slow, cost),
        DaemonOwner::Operator(operator) => of_operator(set, operator, is_slow, cost),
    };
    SetAdvice {
        set,
        seconds,
        by_tenths,
        reasons,
    }
}

fn of_operator(
    set: &DaemonSetFacts,
    operator: &Name,
    is_slow: bool,
    cost: &WaveCost,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if is_waiting(set) {
        reasons.push(in_rollout(set));
    }
    if is_slow {
        reasons.push(OPERATOR_ROLLS_SLOWLY.because(slow(set, Some(operator), cost)));
    }
    if waits_for_deletes(set) {
        reasons.push(OPERATOR_WAITS_FOR_DELETES.because([
            ("set", set.full_name().into()),
            ("operator", operator.into()),
            ("outdated", outdated(set)),
            ("nodes", number(set.desired)),
        ]));
    }
    reasons
}

fn of_people(
    set: &DaemonSetFacts,
    kubernetes: Option<Minor>,
    is_slow: bool,
    cost: &WaveCost,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if is_waiting(set) {
        reasons.push(in_rollout(set));
    }
    if let (true, Some(ports)) = (surges(set), ports(set)) {
        let [set_fact, namespace, name] = named(set);
        reasons.push(SURGE_TAKES_PORTS.because([set_fact, namespace, name, ("ports", ports)]));
    }
    if is_slow {
        reasons.push(ROLLS_SLOWLY.because(slow(set, None, cost)));
    }
    if waits_for_deletes(set) && !set.in_waves {
        let [set_fact, namespace, name] = named(set);
        let facts = [("outdated", outdated(set)), ("nodes", number(set.desired))];
        let [outdated, nodes] = facts;
        reasons.push(WAITS_FOR_DELETES.because([set_fact, namespace, name, outdated, nodes]));
    }
    if !set.pulled_always.is_empty() {
        let [set_fact, namespace, name] = named(set);
        let images = Value::list(set.pulled_always.iter().map(|image| &**image));
        reasons.push(PULLS_ALWAYS.because([set_fact, namespace, name, ("images", images)]));
    }
    let takes_long = set.seconds(set.at_once().unwrap_or(TENTH), cost) >= 2 * WORTH_SAYING;
    if takes_long {
        reasons.extend(surge(set, kubernetes));
        let nodes = number(set.desired);
        let facts = [("set", set.full_name().into()), ("nodes", nodes)];
        reasons.push(CAN_PULL_AHEAD.because(facts));
    }
    reasons
}

/// Whether it can start new pods beside the old ones, or why not.
fn surge(set: &DaemonSetFacts, kubernetes: Option<Minor>) -> Option<Reason> {
    let why: Option<Name> = match (ports(set), kubernetes) {
        _ if surges(set) || set.at_once().is_none() => return None,
        (Some(_), _) => {
            let ports: Vec<String> = set.host_ports.iter().map(u32::to_string).collect();
            let ports = ports.join(", ");
            Some(format!("its pods take ports of the node ({ports})").into())
        }
        (None, None) => Some("the cluster's Kubernetes is unknown, and it needs 1.22".into()),
        (None, Some(minor)) if minor < SURGE_SINCE => {
            Some(format!("it needs Kubernetes 1.22, and the cluster has {minor}").into())
        }
        (None, Some(_)) => None,
    };
    let set = set.full_name().into();
    Some(match why {
        None => CAN_SURGE.because([("set", set)]),
        Some(why) => CANNOT_SURGE.because([("set", set), ("why", why.into())]),
    })
}

/// DaemonSets of people that would take long one after the other.
fn side_by_side(sets: &[SetAdvice<'_>]) -> Option<Reason> {
    let own: Vec<&SetAdvice<'_>> = sets
        .iter()
        .filter(|one| one.set.owner == DaemonOwner::People && one.seconds.is_some())
        .collect();
    let seconds = own.iter().filter_map(|one| one.seconds);
    let all = seconds.clone().fold(0, Seconds::saturating_add);
    let longest = seconds.max()?;
    let is_worth_it = own.len() > 1 && all >= longest + WORTH_SAYING;
    is_worth_it.then(|| {
        let names = Value::list(own.iter().map(|one| Value::from(one.set.full_name())));
        SIDE_BY_SIDE.because([
            ("sets", names),
            ("time", time(all)),
            ("less", time(longest)),
        ])
    })
}

fn slow(
    set: &DaemonSetFacts,
    operator: Option<&Name>,
    cost: &WaveCost,
) -> [(&'static str, Value); 8] {
    let at_once = set.at_once().unwrap_or(MaxUnavailable::Count(1));
    let [set_fact, namespace, name] = named(set);
    [
        set_fact,
        namespace,
        name,
        ("operator", operator.into()),
        ("at_once", number(at_once.rounded_up(set.desired))),
        ("nodes", number(set.desired)),
        ("time", time(set.seconds(at_once, cost))),
        ("less", time(set.seconds(TENTH, cost))),
    ]
}

/// Its pods are not all of the newest revision, and as many as may be are missing.
fn is_waiting(set: &DaemonSetFacts) -> bool {
    let UpdateStrategy::Rolling {
        max_unavailable: Some(max_unavailable),
        max_surge: None,
    } = set.strategy
    else {
        return false;
    };
    set.updated < set.desired && set.unavailable >= max_unavailable.rounded_up(set.desired)
}

fn in_rollout(set: &DaemonSetFacts) -> Reason {
    let [set_fact, namespace, name] = named(set);
    IN_ROLLOUT.because([
        set_fact,
        namespace,
        name,
        ("unavailable", number(set.unavailable)),
        ("nodes", number(set.desired)),
        ("updated", number(set.updated)),
    ])
}

fn waits_for_deletes(set: &DaemonSetFacts) -> bool {
    set.strategy == UpdateStrategy::OnDelete && set.updated < set.desired
}

fn surges(set: &DaemonSetFacts) -> bool {
    let UpdateStrategy::Rolling { max_surge, .. } = set.strategy else {
        return false;
    };
    max_surge.is_some()
}

fn ports(set: &DaemonSetFacts) -> Option<Value> {
    let ports = set.host_ports.iter().map(|port| number(*port));
    (!set.host_ports.is_empty()).then(|| Value::list(ports))
}

fn named(set: &DaemonSetFacts) -> [(&'static str, Value); 3] {
    [
        ("set", set.full_name().into()),
        ("namespace", (&set.namespace).into()),
        ("name", (&set.name).into()),
    ]
}

fn outdated(set: &DaemonSetFacts) -> Value {
    number(set.desired.saturating_sub(set.updated))
}

fn number(number: u32) -> Value {
    Value::Number(number.into())
}

/// `1 h 20 min`, `10 min`, `50 s`.
fn time(seconds: Seconds) -> Value {
    let minutes = (seconds + 30) / 60;
    Value::text(match (seconds, minutes / 60, minutes % 60) {
        (0..90, ..) => format!("{seconds} s"),
        (_, 0, minutes) => format!("{minutes} min"),
        (_, hours, 0) => format!("{hours} h"),
        (_, hours, minutes) => format!("{hours} h {minutes} min"),
    })
}

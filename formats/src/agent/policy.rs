//! The agent's policy file: what a cluster may do by itself.
//!
//! Every field is optional. An unknown field is an error, because the agent must not skip a rule
//! that it does not understand.

use jiff::SignedDuration;
use towpath_core::agent::{AutomaticPolicy, Downgrades, Pin, RequiredProof};
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::Schedule;
use towpath_core::version::Minor;

use crate::fleet::accepted_risks;
use crate::fleet::maintenance;
use crate::read::{Node, Reader, Record, shown, yaml};
use crate::timespan::TimeSpan;

/// The most windows.
const MAX_WINDOWS: usize = 50;
/// The longest time between updates, and the greatest age of a graph.
const LONGEST: SignedDuration = SignedDuration::from_hours(366 * 24);
const FIELDS: [&str; 10] = [
    "windows",
    "atLeastBetween",
    "pin",
    "maxFailures",
    "downgrades",
    "proof",
    "maxGraphAge",
    "maxSkew",
    "acceptedRisks",
    "target",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPolicy {
    /// What the cluster may do by itself.
    pub automatic: AutomaticPolicy,
    /// Where it should be one day: removed APIs on the way there are told ahead.
    pub target: Option<Minor>,
    /// How many minor versions of Kubernetes kubelets may be behind; as the table of minor versions says if it is not set.
    pub max_skew: Option<u8>,
}

impl Default for AgentPolicy {
    fn default() -> Self {
        Self {
            automatic: AutomaticPolicy::usual(),
            target: None,
            max_skew: None,
        }
    }
}

/// Whether it has comments and nothing else. A file without anything may not have been written to its end.
fn is_comment(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut said = lines.clone();
    said.any(|line| line.starts_with('#'))
        && lines.all(|line| line.starts_with('#') || line == "---")
}

/// Reads the file. Either what it says, or everything that is wrong with it.
pub fn read(place: &Place, bytes: &[u8]) -> Result<AgentPolicy, Vec<Finding>> {
    if is_comment(bytes) {
        return Ok(AgentPolicy::default());
    }
    let node = yaml::tree(place, bytes).map_err(|finding| vec![finding])?;
    let mut reader = Reader::new(place);
    let mut policy = AgentPolicy::default();
    if let Some(record) = reader.record(&node, "a policy", &FIELDS) {
        fill(&mut reader, record, &mut policy);
    }
    match reader.findings.is_empty() {
        true => Ok(policy),
        false => Err(reader.findings),
    }
}

fn fill(reader: &mut Reader, record: Record<'_>, policy: &mut AgentPolicy) {
    let automatic = &mut policy.automatic;
    if let Some(node) = record.get("windows") {
        let windows = reader.list(node, "windows", MAX_WINDOWS);
        let mut schedule = |text: &str| Schedule::read(text).map_err(|why| why.to_string());
        automatic.windows = windows
            .iter()
            .filter_map(|node| maintenance::window(reader, node, &mut schedule))
            .collect();
    }
    set(
        &mut automatic.at_least_between,
        record
            .get("atLeastBetween")
            .and_then(|node| duration(reader, node)),
    );
    automatic.max_graph_age = record
        .get("maxGraphAge")
        .and_then(|node| duration(reader, node));
    automatic.pin = record.get("pin").and_then(|node| {
        one_of(
            reader,
            node,
            Pin::parse,
            "a pin",
            "write a release in quotes, \"4.20.7\", or a minor version, \"4.20\"",
        )
    });
    policy.target = record.get("target").and_then(|node| {
        one_of(
            reader,
            node,
            Minor::parse,
            "a target",
            "write a minor version in quotes: \"4.22\"",
        )
    });
    set(
        &mut automatic.max_failures,
        record
            .get("maxFailures")
            .and_then(|node| reader.count(node, "maxFailures", 1..=100)),
    );
    let downgrades = |text: &str| match text {
        "refuse" => Some(Downgrades::Refuse),
        "allow" => Some(Downgrades::Allow),
        _ => None,
    };
    let proof = |text: &str| match text {
        "signed" => Some(RequiredProof::Signed),
        "nothing" => Some(RequiredProof::Nothing),
        _ => None,
    };
    let given = record.get("downgrades");
    set(
        &mut automatic.downgrades,
        given.and_then(|node| {
            one_of(
                reader,
                node,
                downgrades,
                "downgrades",
                "write refuse or allow",
            )
        }),
    );
    let given = record.get("proof");
    set(
        &mut automatic.proof,
        given.and_then(|node| one_of(reader, node, proof, "proof", "write signed or nothing")),
    );
    if let Some(node) = record.get("acceptedRisks") {
        automatic.accepted_risks = accepted_risks::read(reader, node, &mut |name| name.into());
    }
    let skew = record
        .get("maxSkew")
        .and_then(|node| reader.count(node, "maxSkew", 1..=3));
    policy.max_skew = skew.and_then(|skew| u8::try_from(skew).ok());
}

fn set<T>(place: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *place = given;
    }
}

fn duration(reader: &mut Reader, node: &Node) -> Option<SignedDuration> {
    let fits = |text: &str| {
        let lasts = text.parse::<TimeSpan>().ok().map(TimeSpan::signed);
        lasts.filter(|lasts| *lasts <= LONGEST)
    };
    one_of(
        reader,
        node,
        fits,
        "a duration",
        "write it as in 1h, 7d or P7D, at most 366d; no months or years",
    )
}

fn one_of<T>(
    reader: &mut Reader,
    node: &Node,
    read: impl Fn(&str) -> Option<T>,
    what: &str,
    remedy: &str,
) -> Option<T> {
    let text = reader.text(node, what)?;
    let value = read(text);
    if value.is_none() {
        reader.error(
            "bad-value",
            node,
            format!("{:?} is not {what}", shown(text)),
            remedy,
        );
    }
    value
}

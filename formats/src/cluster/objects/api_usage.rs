//! APIRequestCounts: who used which API in the last day, and when last.
//!
//! `last24h` has an entry for each hour of the day, without a date. The hours up to the current
//! one belong to today, the later ones to yesterday. Each hour names only its busiest users, and
//! counts the requests of the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::cluster::objects::{ApiName, ApiUse, ApiUser, Counted};
use towpath_core::cluster::rules::removal;
use towpath_core::version::Minor;

use super::documents::Object;
use super::{AGAIN, items};
use crate::minors;
use crate::read::{Node, Reader, Value, shown};

const HOURS_PER_DAY: i64 = 24;
const SECONDS_PER_HOUR: i64 = 3_600;

pub(super) fn read(reader: &mut Reader, object: &Object, now: Timestamp) -> Option<ApiUse> {
    let Some(api) = name(&object.name) else {
        let problem = format!("{:?} is not resource.version.group", shown(&object.name));
        reader.error("bad-name", &object.node, problem, AGAIN);
        return None;
    };
    let status = object.node.get("status");
    let removed_in = status.and_then(|status| status.get("removedInRelease"));
    let removed_in = removed_in.and_then(|node| said_removal(reader, node));
    let mut users = Users::default();
    for (hour, node) in (0..).zip(items(reader, status, "last24h")) {
        users.add_hour(reader, node, began(now, hour));
    }
    if users.all_requests == 0
        && let Some(node) = status.and_then(|status| status.get("currentHour"))
    {
        users.add_hour(reader, node, began(now, hour_of_day(now)));
    }
    let counted = status.map_or(0, |status| requests(reader, status));
    let unnamed_requests = users
        .all_requests
        .max(counted)
        .saturating_sub(users.named_requests);
    Some(ApiUse {
        api,
        removed_in,
        replacement: None,
        users: users.by_name.into_values().collect(),
        unnamed_requests,
    })
}

#[derive(Default)]
struct Users {
    by_name: BTreeMap<Arc<str>, ApiUser>,
    named_requests: u64,
    all_requests: u64,
}

impl Users {
    fn add_hour(&mut self, reader: &mut Reader, hour: &Node, began: Option<Timestamp>) {
        let mut of_nodes = 0u64;
        for node in items(reader, Some(hour), "byNode") {
            let mut of_users = 0u64;
            for user in items(reader, Some(node), "byUser") {
                of_users = of_users.saturating_add(self.add_user(reader, user, began));
            }
            of_nodes = of_nodes.saturating_add(requests(reader, node).max(of_users));
        }
        self.all_requests = self
            .all_requests
            .saturating_add(requests(reader, hour).max(of_nodes));
    }

    fn add_user(&mut self, reader: &mut Reader, node: &Node, began: Option<Timestamp>) -> u64 {
        let count = requests(reader, node);
        let name = node
            .get("username")
            .and_then(|name| reader.text(name, "a user's name"));
        let Some(name) = name.filter(|_| count > 0) else {
            return count;
        };
        let agent = node
            .get("userAgent")
            .and_then(|agent| reader.text(agent, "a program's name"))
            .map(Arc::from);
        let blank = || ApiUser {
            name: name.into(),
            agent: None,
            requests: 0,
            last: None,
            counted: Counted::InADay,
        };
        let user = self.by_name.entry(name.into()).or_insert_with(blank);
        user.requests = user.requests.saturating_add(count);
        if user.last <= began {
            (user.last, user.agent) = (began, agent.or(user.agent.take()));
        }
        self.named_requests = self.named_requests.saturating_add(count);
        count
    }
}

/// What people and audit logs add to the cluster's own counts.
#[derive(Debug, Clone, Default)]
pub struct ApiAdditions {
    /// Removals that somebody added to the table.
    pub removals: Vec<AddedRemoval>,
    /// What an audit log says.
    pub audited: Option<Vec<ApiUse>>,
}

/// A removal that somebody added to the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedRemoval {
    pub api: ApiName,
    /// The Kubernetes that no longer has it.
    pub removed_in: Minor,
    pub replacement: Option<Arc<str>>,
}

/// Puts additions to what the cluster counted. Without any counts, who uses what is unknown.
pub(super) fn with_additions(
    counted: Option<Vec<ApiUse>>,
    additions: &ApiAdditions,
) -> Option<Vec<ApiUse>> {
    let mut uses = match (counted, additions.audited.clone()) {
        (None, None) => return None,
        (counted, audited) => {
            let mut uses = counted.unwrap_or_default();
            uses.extend(audited.unwrap_or_default());
            uses
        }
    };
    for one in &mut uses {
        let mut added = additions.removals.iter();
        let Some(added) = added.find(|added| added.api == one.api) else {
            continue;
        };
        // The cluster's own word comes first; of two tables, the earlier removal.
        let listed = removal(&one.api).map(|listed| listed.removed_in);
        let earlier = listed.map_or(added.removed_in, |listed| listed.min(added.removed_in));
        one.removed_in = one.removed_in.or(Some(earlier));
        one.replacement.clone_from(&added.replacement);
    }
    Some(uses)
}

/// `ingresses.v1beta1.extensions`; the core's group has no name.
fn name(text: &str) -> Option<ApiName> {
    let mut parts = text.splitn(3, '.');
    let (resource, version) = (parts.next()?, parts.next()?);
    let group = parts.next().unwrap_or_default();
    let is_name = !resource.is_empty() && !version.is_empty();
    is_name.then(|| ApiName {
        resource: resource.into(),
        version: version.into(),
        group: group.into(),
    })
}

fn said_removal(reader: &mut Reader, node: &Node) -> Option<Minor> {
    let text = reader.text(node, "`removedInRelease`")?;
    let minor = kubernetes(text);
    if minor.is_none() && !text.is_empty() {
        let problem = format!(
            "{:?} is not a minor version of Kubernetes or OpenShift",
            shown(text)
        );
        reader.error("bad-version", node, problem, AGAIN);
    }
    minor
}

/// The Kubernetes of `1.22`, or of the OpenShift `4.9`, which some name instead.
pub(in crate::cluster) fn kubernetes(text: &str) -> Option<Minor> {
    Minor::parse(text).and_then(|minor| match minor.major {
        1 => Some(minor),
        _ => Some(minors::built_in().kubernetes(minor)?.minor),
    })
}

fn requests(reader: &mut Reader, node: &Node) -> u64 {
    let Some(node) = node.get("requestCount") else {
        return 0;
    };
    match node.value {
        Value::Whole(number) if number >= 0 => number.unsigned_abs(),
        _ => {
            let problem = format!(
                "a number of requests belongs here, and this is {}",
                node.kind()
            );
            reader.error("bad-number", node, problem, AGAIN);
            0
        }
    }
}

/// When that hour of the day last began.
fn began(now: Timestamp, hour: i64) -> Option<Timestamp> {
    let this_hour = now.as_second().div_euclid(SECONDS_PER_HOUR);
    let ago = (hour_of_day(now) - hour).rem_euclid(HOURS_PER_DAY);
    Timestamp::from_second((this_hour - ago) * SECONDS_PER_HOUR).ok()
}

fn hour_of_day(now: Timestamp) -> i64 {
    now.as_second()
        .div_euclid(SECONDS_PER_HOUR)
        .rem_euclid(HOURS_PER_DAY)
}

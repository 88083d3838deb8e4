//! Who uses which API, counted from an API server's audit log: for clusters that do not count
//! requests themselves.
//!
//! The log has an event on each line, and may be longer than memory. Only requests to versions
//! that may go are kept: those that the log or the table calls removed, and alpha and beta ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use towpath_core::cluster::objects::{ApiName, ApiUse, ApiUser, Counted};
use towpath_core::cluster::rules::removal;
use towpath_core::version::Minor;

use super::objects::AddedRemoval;

/// The longest line: an event may hold what was sent and answered.
pub const MAX_LINE_BYTES: usize = 16 << 20;
/// The most users of an API that are kept by name; requests of others are counted.
const MAX_USERS: usize = 10_000;
/// The most APIs.
const MAX_APIS: usize = 10_000;
const SECONDS_PER_HOUR: i64 = 3_600;

/// Counts, line by line.
#[derive(Debug, Default)]
pub struct AuditCounts {
    apis: BTreeMap<ApiName, Usage>,
    added: Vec<ApiName>,
    /// Lines that were events.
    pub events: u64,
    /// Lines that were none.
    pub not_understood: u64,
    /// Requests to more APIs than are kept.
    pub left_out: u64,
}

#[derive(Debug, Default)]
struct Usage {
    removed_in: Option<Minor>,
    users: BTreeMap<Arc<str>, ApiUser>,
    unnamed_requests: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    #[serde(borrow)]
    stage: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    verb: Option<std::borrow::Cow<'a, str>>,
    user: Option<User>,
    user_agent: Option<String>,
    object_ref: Option<ObjectRef>,
    request_received_timestamp: Option<String>,
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct User {
    username: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef {
    resource: Option<String>,
    api_group: Option<String>,
    api_version: Option<String>,
}

impl AuditCounts {
    /// Removals that somebody added to the table count as well.
    pub fn new(added: &[AddedRemoval]) -> Self {
        Self {
            added: added.iter().map(|one| one.api.clone()).collect(),
            ..Self::default()
        }
    }

    /// Takes in a line. An empty one says nothing.
    pub fn add_line(&mut self, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match serde_json::from_slice::<Event<'_>>(line) {
            Ok(event) if event.stage.is_some() => {
                self.events = self.events.saturating_add(1);
                self.add(event);
            }
            _ => self.not_understood = self.not_understood.saturating_add(1),
        }
    }

    fn add(&mut self, event: Event<'_>) {
        // A request has several stages. A watch may never complete while the log lasts.
        let is_watch = event.verb.as_deref() == Some("watch");
        let is_counted = match event.stage.as_deref() {
            Some("ResponseStarted") => is_watch,
            Some("ResponseComplete" | "Panic") => !is_watch,
            _ => false,
        };
        let Some(api) = event.object_ref.and_then(api).filter(|_| is_counted) else {
            return;
        };
        let said = event.annotations.as_ref();
        let said = said.and_then(|all| all.get("k8s.io/removed-release"));
        let removed_in = said.and_then(|minor| Minor::parse(minor));
        let may_go = removed_in.is_some()
            || removal(&api).is_some()
            || self.added.contains(&api)
            || ["alpha", "beta"]
                .iter()
                .any(|word| api.version.contains(word));
        let has_room = self.apis.len() < MAX_APIS || self.apis.contains_key(&api);
        match (may_go, has_room) {
            (false, _) => return,
            (true, false) => {
                self.left_out = self.left_out.saturating_add(1);
                return;
            }
            (true, true) => {}
        }
        let usage = self.apis.entry(api).or_default();
        usage.removed_in = usage.removed_in.or(removed_in);
        let name = event.user.and_then(|user| user.username);
        let began = event
            .request_received_timestamp
            .and_then(|text| hour(&text));
        usage.add(name, event.user_agent, began);
    }

    /// What was counted.
    pub fn uses(self) -> Vec<ApiUse> {
        let uses = self.apis.into_iter().map(|(api, usage)| ApiUse {
            api,
            removed_in: usage.removed_in,
            replacement: None,
            users: usage.users.into_values().collect(),
            unnamed_requests: usage.unnamed_requests,
        });
        uses.collect()
    }
}

impl Usage {
    fn add(&mut self, name: Option<String>, agent: Option<String>, last: Option<Timestamp>) {
        let Some(name) = name.map(Arc::<str>::from) else {
            self.unnamed_requests = self.unnamed_requests.saturating_add(1);
            return;
        };
        if self.users.len() >= MAX_USERS && !self.users.contains_key(&name) {
            self.unnamed_requests = self.unnamed_requests.saturating_add(1);
            return;
        }
        let user = self.users.entry(name.clone()).or_insert_with(|| ApiUser {
            name,
            agent: None,
            requests: 0,
            last: None,
            counted: Counted::InTheLog,
        });
        user.requests = user.requests.saturating_add(1);
        if user.last <= last {
            (user.last, user.agent) = (last, agent.map(Arc::from).or(user.agent.take()));
        }
    }
}

fn api(object: ObjectRef) -> Option<ApiName> {
    Some(ApiName {
        resource: object.resource?.into(),
        version: object.api_version?.into(),
        group: object.api_group.unwrap_or_default().into(),
    })
}

/// The hour in which it was received.
fn hour(text: &str) -> Option<Timestamp> {
    let time: Timestamp = text.parse().ok()?;
    let hours = time.as_second().div_euclid(SECONDS_PER_HOUR);
    Timestamp::from_second(hours * SECONDS_PER_HOUR).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn event(
        verb: &str,
        stage: &str,
        user: &str,
        group: &str,
        version: &str,
        resource: &str,
    ) -> String {
        format!(
            r#"{{"kind":"Event","stage":"{stage}","verb":"{verb}","user":{{"username":"{user}"}},"userAgent":"helm/v3","objectRef":{{"resource":"{resource}","apiGroup":"{group}","apiVersion":"{version}"}},"requestReceivedTimestamp":"2026-11-18T08:30:01.5Z"}}"#
        )
    }

    #[test]
    fn a_request_counts_once_and_only_where_a_version_may_go() {
        let mut counts = AuditCounts::default();
        for line in [
            event(
                "list",
                "RequestReceived",
                "ada",
                "batch",
                "v1beta1",
                "cronjobs",
            ),
            event(
                "list",
                "ResponseComplete",
                "ada",
                "batch",
                "v1beta1",
                "cronjobs",
            ),
            event(
                "watch",
                "ResponseStarted",
                "ada",
                "batch",
                "v1beta1",
                "cronjobs",
            ),
            event(
                "watch",
                "ResponseComplete",
                "ada",
                "batch",
                "v1beta1",
                "cronjobs",
            ),
            event("list", "ResponseComplete", "ada", "batch", "v1", "cronjobs"),
            event(
                "list",
                "ResponseComplete",
                "bob",
                "operators.coreos.com",
                "v1",
                "operatorsources",
            ),
            String::new(),
            "not an event".to_owned(),
        ] {
            counts.add_line(line.as_bytes());
        }
        assert_eq!((counts.events, counts.not_understood), (6, 1));
        let told: Vec<String> = counts
            .uses()
            .iter()
            .map(|one| format!("{}: {}", one.api, one.users[0]))
            .collect();
        let last = "last in the hour from 2026-11-18 08:00Z";
        let expected = [
            format!("cronjobs.v1beta1.batch: ada (helm/v3), 2 requests in the audit log, {last}"),
            format!(
                "operatorsources.v1.operators.coreos.com: bob (helm/v3), 1 request in the audit log, {last}"
            ),
        ];
        assert_eq!(told, expected);
    }
}

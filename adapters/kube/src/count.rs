//! Counts requests by verb and resource, so that tests can measure what an idle cluster costs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::Method;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    Get,
    /// Reads a page of objects.
    List,
    /// Waits for changes of objects.
    Watch,
    Create,
    /// Changes a part of an object.
    Patch,
    Update,
    Delete,
    /// Asks which resources there are.
    Discover,
}

impl Verb {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Discover => "discover",
        }
    }
}

/// Requests since the start, by verb and resource (`nodes`, `clusterversions/status`, or a group for discovery).
pub type Requests = BTreeMap<(Verb, String), u64>;

/// Counts requests. Clones share one count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counter(Arc<Mutex<Requests>>);

impl Counter {
    pub(crate) fn add(&self, method: &Method, path: &str, query: &str) {
        let key = asked(method, path, query);
        *self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(key)
            .or_default() += 1;
    }

    pub(crate) fn so_far(&self) -> Requests {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The verb and resource of a request. [`crate::resource`] names all resources, so the keys are few.
fn asked(method: &Method, path: &str, query: &str) -> (Verb, String) {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (group, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => (*version, rest),
        ["apis", group, _, rest @ ..] => (*group, rest),
        _ => ("", &[][..]),
    };
    let rest = match rest {
        ["namespaces", _, rest @ ..] => rest,
        rest => rest,
    };
    let (resource, is_named) = match rest {
        [] => return (Verb::Discover, group.to_owned()),
        [resource] => ((*resource).to_owned(), false),
        [resource, _] => ((*resource).to_owned(), true),
        [resource, _, part, ..] => (format!("{resource}/{part}"), true),
    };
    let is_watch = query.split('&').any(|pair| pair == "watch=true");
    let verb = match (method, is_named, is_watch) {
        (&Method::POST, _, _) => Verb::Create,
        (&Method::PATCH, _, _) => Verb::Patch,
        (&Method::PUT, _, _) => Verb::Update,
        (&Method::DELETE, _, _) => Verb::Delete,
        (_, _, true) => Verb::Watch,
        (_, true, false) => Verb::Get,
        (_, false, false) => Verb::List,
    };
    (verb, resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_by_what_it_asks() {
        for (method, path, query, verb, resource) in [
            (
                Method::GET,
                "/api/v1/nodes",
                "limit=200",
                Verb::List,
                "nodes",
            ),
            (
                Method::GET,
                "/api/v1/nodes",
                "&watch=true&timeoutSeconds=290",
                Verb::Watch,
                "nodes",
            ),
            (
                Method::GET,
                "/api/v1/namespaces/a/configmaps",
                "",
                Verb::List,
                "configmaps",
            ),
            (
                Method::GET,
                "/apis/config.openshift.io/v1",
                "",
                Verb::Discover,
                "config.openshift.io",
            ),
            (
                Method::GET,
                "/apis/coordination.k8s.io/v1/namespaces/a/leases/b",
                "",
                Verb::Get,
                "leases",
            ),
            (
                Method::PUT,
                "/apis/coordination.k8s.io/v1/namespaces/a/leases/b",
                "",
                Verb::Update,
                "leases",
            ),
            (
                Method::PATCH,
                "/apis/config.openshift.io/v1/clusterversions/version",
                "",
                Verb::Patch,
                "clusterversions",
            ),
            (
                Method::PATCH,
                "/apis/config.openshift.io/v1/clusteroperators/towpath/status",
                "",
                Verb::Patch,
                "clusteroperators/status",
            ),
            (
                Method::DELETE,
                "/api/v1/namespaces/a/pods/b",
                "",
                Verb::Delete,
                "pods",
            ),
            (
                Method::POST,
                "/api/v1/namespaces/default/events",
                "",
                Verb::Create,
                "events",
            ),
        ] {
            let counter = Counter::default();
            counter.add(&method, path, query);
            assert_eq!(
                counter.so_far(),
                Requests::from([((verb, resource.to_owned()), 1)]),
                "{method} {path}?{query}"
            );
        }
    }
}

//! The fleet's paths. `openapi.json` has the same ones; a test holds them equal.

use http::Method;

/// What all paths of ours begin with.
pub(crate) const PREFIX: &str = "/api/v1/";

/// What a path is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    OpenApi,
    Report,
    Stamp,
    Why,
    Status,
    Plan,
    Upgrades,
    Holds,
    History,
    Forecast,
    Pause,
    Resume,
    Approve,
}

/// Who may take a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Anybody, fleet or no fleet.
    Open,
    /// Who may look at the fleet.
    Read,
    /// The cluster that is named in the path.
    Cluster,
    Admin,
}

/// Where a path has the name of a cluster.
const CLUSTER: &str = "{cluster}";

pub(super) const ROUTES: [(&str, Route); 13] = [
    ("/api/v1/openapi.json", Route::OpenApi),
    ("/api/v1/clusters/{cluster}/report", Route::Report),
    ("/api/v1/clusters/{cluster}/stamp", Route::Stamp),
    ("/api/v1/clusters/{cluster}/why", Route::Why),
    ("/api/v1/fleet/status", Route::Status),
    ("/api/v1/fleet/plan", Route::Plan),
    ("/api/v1/fleet/upgrades", Route::Upgrades),
    ("/api/v1/fleet/holds", Route::Holds),
    ("/api/v1/fleet/history", Route::History),
    ("/api/v1/fleet/forecast", Route::Forecast),
    ("/api/v1/fleet/pause", Route::Pause),
    ("/api/v1/fleet/resume", Route::Resume),
    ("/api/v1/fleet/approve", Route::Approve),
];

/// The route of a path, and the cluster's name in it, as it is written there.
pub(super) fn find(path: &str) -> Option<(Route, &str)> {
    ROUTES
        .iter()
        .find_map(|(pattern, route)| Some((*route, cluster_in(path, pattern)?)))
}

/// The cluster's name if the path fits the pattern; empty if the pattern has none.
fn cluster_in<'a>(path: &'a str, pattern: &str) -> Option<&'a str> {
    match pattern.split_once(CLUSTER) {
        None => (path == pattern).then_some(""),
        Some((before, after)) => {
            let name = path.strip_prefix(before)?.strip_suffix(after)?;
            (!name.is_empty() && !name.contains('/')).then_some(name)
        }
    }
}

impl Route {
    pub(super) fn access(self) -> Access {
        match self {
            Self::OpenApi => Access::Open,
            Self::Report | Self::Stamp => Access::Cluster,
            Self::Pause | Self::Resume | Self::Approve => Access::Admin,
            _ => Access::Read,
        }
    }

    /// Whether it takes a body and changes something.
    pub(super) fn is_write(self) -> bool {
        matches!(
            self,
            Self::Report | Self::Pause | Self::Resume | Self::Approve
        )
    }

    /// The methods it has, as the `Allow` header lists them.
    pub(super) fn allowed(self) -> &'static str {
        if self.is_write() { "POST" } else { "GET, HEAD" }
    }

    pub(super) fn allows(self, method: &Method) -> bool {
        match self.is_write() {
            true => *method == Method::POST,
            false => matches!(*method, Method::GET | Method::HEAD),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_matched_whole() {
        assert_eq!(
            find("/api/v1/clusters/0f%2F3a/report"),
            Some((Route::Report, "0f%2F3a"))
        );
        assert_eq!(
            find("/api/v1/clusters/report/why"),
            Some((Route::Why, "report"))
        );
        assert_eq!(find("/api/v1/fleet/status"), Some((Route::Status, "")));
        for path in [
            "/api/v1/",
            "/api/v1/clusters//report",
            "/api/v1/clusters/report",
            "/api/v1/clusters/a/b/report",
            "/api/v1/fleet/status/",
            "/api/v1/fleet/Status",
            "/api/v1/clusters/a/reports",
        ] {
            assert_eq!(find(path), None, "{path}");
        }
    }
}

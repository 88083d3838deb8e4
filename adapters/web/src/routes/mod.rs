//! The endpoints: path, method, permissions, cost and handler.
//!
//! [`ROUTES`] lists each once. Dispatch, 404, 405 and `Allow`, the reserve for probes, metric labels,
//! `/api/v1/openapi.json` and the table in docs/serve.md come from it.

mod access;
mod table;

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use towpath_core::access::{Identity, Permission, Role};

use crate::body::AnswerBody;
use crate::contract::GRAPH_PREFIX;
use crate::fleet::FleetRequest;
use crate::questions::Work;
use crate::refusal::{OrRefusal, Refusal};
use crate::{Service, server};

pub use access::access_rows;
pub use table::ROUTES;

#[derive(Debug)]
pub struct Route {
    /// With one name in braces: `{cluster}` for a cluster's id or name. `{path}` at the end also takes slashes.
    pub path: &'static str,
    pub verb: Verb,
    pub who: Who,
    /// The label in metrics, and the `operationId` in the description.
    pub label: &'static str,
    /// A few words for people.
    pub summary: &'static str,
    pub(crate) handler: Handler,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// And HEAD.
    Get,
    Post,
}

/// Who may use a route. With open reads, everybody counts as somebody who may read the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Anyone,
    /// Anyone; only readers of the fleet see names of it.
    AnyoneInPart,
    /// Anyone; only readers and the cluster itself see what is known of the cluster.
    AnyoneOrClusterInPart,
    /// Anyone; only readers and the cluster itself may ask about a cluster of the fleet by its id.
    AnyoneOrClusterById,
    /// The cluster that the path names.
    Cluster,
    /// Whoever has a role that permits it.
    May(Permission),
}

/// What somebody who asks can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Party {
    /// Has no token.
    Nobody,
    Cluster,
    Role(Role),
}

/// What an answer costs. It decides where answers are made, and how many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// On the connection's own thread, from compiled sheets.
    Graph,
    /// At once, and also when all places are taken.
    Probe,
    /// On a thread of its own; when all places are taken, a few of them.
    Scrape,
    Light,
    /// Waits in a queue for one of two threads.
    Question,
    /// Asks the fleet; at most 64 answers at once are made or written.
    Fleet,
    /// Is counted against the cluster's limit of reports.
    Report,
    /// Stays open; limited in total and per address.
    Stream,
}

/// Who answers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Handler {
    Graph,
    Probe(ImmediateHandler),
    Light(ImmediateHandler),
    /// A file of the page: for browsers, so not in the description of the API.
    Page(ImmediateHandler),
    Scrape(QueuedHandler),
    Question(QueuedHandler),
    /// Parses a question to the fleet from the path and the query.
    Read(fn(&str, &str) -> Result<FleetRequest, String>),
    /// Parses a change to the fleet: from the name in the path, the body, and who answers for it.
    Change(fn(&str, &str, &Identity) -> Result<FleetRequest, String>),
    Report,
    /// Answers the cluster in the path, sealed for it alone.
    Orders,
    Reload,
    /// A stream that stays open.
    Events,
}

/// Also gets the name in the path.
type ImmediateHandler = fn(&Service, &Parts, &str) -> OrRefusal<Response<AnswerBody>>;
type QueuedHandler = fn(&Arc<Service>, &Parts) -> OrRefusal<Work>;

/// A route, and the path that led to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RouteMatch<'a> {
    pub(crate) route: &'static Route,
    path: &'a str,
}

const TOO_LONG: &str = "the request's target is too long";
const NOTHING: &str = "there is nothing here; /api/v1/openapi.json lists what there is, /api/upgrades_info/graph?channel=stable-4.20 is a graph";

/// The route of a path. Most paths equal a row of the table. Where graphs are answered under another prefix too, that goes
/// before the page's own addresses.
pub(crate) fn find_under<'a>(prefix: Option<&str>, path: &'a str) -> Option<RouteMatch<'a>> {
    let under_prefix = || {
        let rest = path.strip_prefix(prefix?)?;
        let is_it = |route: &&Route| route.path.strip_prefix(GRAPH_PREFIX) == Some(rest);
        let route = ROUTES.iter().find(is_it)?;
        Some(RouteMatch { route, path })
    };
    exact(path)
        .or_else(under_prefix)
        .or_else(|| patterned(path))
}

fn exact(path: &str) -> Option<RouteMatch<'_>> {
    let route = ROUTES.iter().find(|route| route.path == path)?;
    Some(RouteMatch { route, path })
}

fn patterned(path: &str) -> Option<RouteMatch<'_>> {
    let mut routes = ROUTES.iter();
    let route = routes.find(|route| name_in(path, route.path).is_some())?;
    Some(RouteMatch { route, path })
}

/// What the path has where the pattern has a name in braces.
fn name_in<'a>(path: &'a str, pattern: &str) -> Option<&'a str> {
    let (before, rest) = pattern.split_once('{')?;
    let (kind, after) = rest.split_once('}')?;
    let name = path.strip_prefix(before)?.strip_suffix(after)?;
    (!name.is_empty() && (kind == "path" || !name.contains('/'))).then_some(name)
}

/// The route that answers a request, or why none does.
pub(crate) fn taken<'a>(head: &Parts, found: Option<RouteMatch<'a>>) -> OrRefusal<RouteMatch<'a>> {
    let target = head.uri.path_and_query();
    if target.is_some_and(|target| target.as_str().len() > server::MAX_TARGET_BYTES) {
        let status = StatusCode::URI_TOO_LONG;
        return Err(Refusal::new(status, "uri_too_long", TOO_LONG));
    }
    let nothing = || Refusal::new(StatusCode::NOT_FOUND, "does_not_exist", NOTHING);
    let found = found.ok_or_else(nothing)?;
    match found.route.takes(&head.method) {
        true => Ok(found),
        false => Err(found.route.verb.refusal()),
    }
}

impl<'a> RouteMatch<'a> {
    /// The cluster or another name in the path; empty if it has none.
    pub(crate) fn named(&self) -> &'a str {
        name_in(self.path, self.route.path).unwrap_or_default()
    }
}

impl Route {
    pub fn cost(&self) -> Cost {
        match self.handler {
            Handler::Graph => Cost::Graph,
            Handler::Probe(_) => Cost::Probe,
            Handler::Scrape(_) => Cost::Scrape,
            Handler::Light(_) | Handler::Page(_) | Handler::Reload => Cost::Light,
            Handler::Question(_) => Cost::Question,
            Handler::Read(_) | Handler::Change(_) | Handler::Orders => Cost::Fleet,
            Handler::Report => Cost::Report,
            Handler::Events => Cost::Stream,
        }
    }

    /// Whether it is a file of the page. Such routes are for browsers, and the description of the API leaves them out.
    pub fn is_page(&self) -> bool {
        matches!(self.handler, Handler::Page(_))
    }

    /// Whether this is a browser's CORS preflight for a graph. OPTIONS is not in the table.
    pub(crate) fn takes(&self, method: &Method) -> bool {
        match *method {
            Method::GET | Method::HEAD => self.verb == Verb::Get,
            Method::POST => self.verb == Verb::Post,
            Method::OPTIONS => self.cost() == Cost::Graph,
            _ => false,
        }
    }
}

impl Verb {
    /// The methods for the `Allow` header.
    pub fn allow(self) -> &'static str {
        match self {
            Self::Get => "GET, HEAD",
            Self::Post => "POST",
        }
    }

    fn refusal(self) -> Refusal {
        let sentence = format!("use {}", self.allow().replace(", ", " or "));
        let status = StatusCode::METHOD_NOT_ALLOWED;
        Refusal::new(status, "method_not_allowed", sentence)
            .with(HeaderValue::from_static(self.allow()))
    }
}

impl Who {
    /// Whom it admits, or shows more to.
    pub fn parties(self) -> Vec<Party> {
        let of = |permission: Permission| permission.roles().iter().copied().map(Party::Role);
        let readers = || std::iter::once(Party::Nobody).chain(of(Permission::ReadFleet));
        match self {
            Self::Anyone => vec![Party::Nobody],
            Self::AnyoneInPart => readers().collect(),
            Self::AnyoneOrClusterInPart | Self::AnyoneOrClusterById => {
                readers().chain([Party::Cluster]).collect()
            }
            Self::Cluster => vec![Party::Cluster],
            // Reads may be open.
            Self::May(Permission::ReadFleet) => readers().collect(),
            Self::May(permission) => of(permission).collect(),
        }
    }

    /// Whether a cluster's token opens or shows something here.
    pub(crate) fn knows_clusters(self) -> bool {
        self.parties().contains(&Party::Cluster)
    }

    /// Whether a request can be refused for its token, or for a missing one.
    pub fn refuses(self) -> bool {
        !matches!(
            self,
            Self::Anyone | Self::AnyoneInPart | Self::AnyoneOrClusterInPart
        )
    }

    pub fn words(self) -> String {
        match self {
            Self::Anyone => "anyone".to_owned(),
            Self::AnyoneInPart => "anyone; names in the fleet: readers".to_owned(),
            Self::AnyoneOrClusterInPart => {
                "anyone; what is known of a cluster: readers, and the cluster".to_owned()
            }
            Self::AnyoneOrClusterById => {
                "anyone; about a cluster of the fleet: readers, and the cluster".to_owned()
            }
            Self::Cluster => "the cluster".to_owned(),
            Self::May(Permission::ReadFleet) => "readers".to_owned(),
            Self::May(permission) => {
                let roles = permission.roles().iter().map(|role| role.name());
                roles.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

impl Cost {
    pub fn words(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Probe => "probe",
            Self::Scrape => "scrape",
            Self::Light => "light",
            Self::Question => "question",
            Self::Fleet => "fleet",
            Self::Report => "report",
            Self::Stream => "stream",
        }
    }
}

#[cfg(test)]
mod tests;

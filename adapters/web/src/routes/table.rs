//! The table: every endpoint of the service, once.
//!
//! Graphs come first: rows are compared in order, and graphs are requested most.

use towpath_core::access::Permission;

use super::Handler::{
    Change, Events, Graph, Light, Login, Orders, Page, Probe, Question, Read, Reload, Renew,
    Report, Scrape,
};
use super::{Handler, Route, Verb, Who};
use crate::fleet::query;
use crate::{
    explain, fleet, graph_data, mirror, openapi, operations, page, path, picture, release_admin,
    session,
};

pub static ROUTES: &[Route] = &[
    get(
        "/api/upgrades_info/graph",
        (Who::Anyone, Graph),
        "graph",
        "The graph of a channel, as one cluster sees it",
    ),
    get(
        "/api/upgrades_info/v1/graph",
        (Who::Anyone, Graph),
        "graphV1",
        "The same graph, at its newer address",
    ),
    get(
        "/api/upgrades_info/graph-data",
        (Who::Anyone, Question(graph_data::question)),
        "graphData",
        "The graph data that is being served, as `tar.gz`",
    ),
    get(
        "/api/upgrades_info/openapi",
        (Who::Anyone, Light(openapi::answer)),
        "graphOpenapi",
        "The description of all paths, where the reference service has its own",
    ),
    get(
        "/livez",
        (Who::Anyone, Probe(operations::liveness)),
        "livez",
        "200 while the process lives",
    ),
    get(
        "/readyz",
        (Who::AnyoneInPart, Probe(operations::readiness)),
        "readyz",
        "Whether graphs are served, and what was wrong with the last reload",
    ),
    get(
        "/metrics",
        (Who::AnyoneInPart, Scrape(operations::metrics)),
        "metrics",
        "Metrics in Prometheus' text format",
    ),
    get(
        "/api/v1/openapi.json",
        (Who::Anyone, Light(openapi::answer)),
        "openapi",
        "A description of all paths, parameters and answers",
    ),
    get(
        "/api/v1/channels",
        (Who::Anyone, Question(picture::channels_question)),
        "channels",
        "The channels there are, and what each holds",
    ),
    get(
        "/api/v1/graph",
        (Who::AnyoneOrClusterById, Question(picture::question)),
        "picture",
        "Releases and updates of channels, each placed for a picture and judged for one cluster",
    ),
    get(
        "/api/v1/explain",
        (Who::AnyoneOrClusterById, Question(explain::question)),
        "explain",
        "Why updates are, or are not, offered to a cluster, and when they will be",
    ),
    get(
        "/api/v1/rollouts",
        (Who::Anyone, Question(explain::rollouts_question)),
        "rollouts",
        "Every rollout window that is running or to come",
    ),
    get(
        "/api/v1/rollouts/change",
        (Who::Anyone, Question(release_admin::steering_question)),
        "steerRollout",
        "The change of graph data that halts, resumes, slows down or speeds up a rollout",
    ),
    get(
        "/api/v1/rollouts/halts",
        (Who::May(Permission::ReadFleet), Read(query::halts)),
        "halts",
        "Releases that are halted in the store, and those that were: who, why, when",
    ),
    post(
        "/api/v1/rollouts/halt",
        (Who::May(Permission::Halt), Change(query::halt)),
        "haltRollout",
        "Stop offering a release in every replica at once",
    ),
    post(
        "/api/v1/rollouts/halts/{halt}/undo",
        (Who::May(Permission::UndoHalt), Change(query::undo_halt)),
        "undoHalt",
        "Undo a halt: two people with different names have to",
    ),
    get(
        "/api/v1/lint",
        (Who::Anyone, Question(release_admin::lint_question)),
        "lint",
        "What is wrong with the graph data that is being served",
    ),
    get(
        "/api/v1/audit",
        (Who::Anyone, Question(release_admin::audit_question)),
        "audit",
        "Whether every release that is being served can be left",
    ),
    get(
        "/api/v1/path",
        (Who::AnyoneOrClusterInPart, Question(path::question)),
        "path",
        "The way from one release to another, or how far one gets and why no farther",
    ),
    get(
        "/api/v1/mirror",
        (Who::Anyone, Question(mirror::question)),
        "mirror",
        "Everything to mirror so that a cluster can reach a release",
    ),
    get(
        "/api/v1/session",
        (Who::Anyone, Light(session::answer)),
        "session",
        "What the caller may do here, and what there is",
    ),
    post(
        "/api/v1/login/token",
        (Who::Anyone, Login),
        "loginToken",
        "A person's token, for the code that the page brings from the OIDC issuer",
    ),
    get(
        "/api/v1/events",
        (Who::Anyone, Events),
        "events",
        "What changes, as server-sent events",
    ),
    post(
        "/api/v1/reload",
        (Who::May(Permission::Reload), Reload),
        "reload",
        "Read the sources now",
    ),
    post(
        "/api/v1/clusters/{cluster}/report",
        (Who::Cluster, Report),
        "report",
        "A cluster says how it is",
    ),
    post(
        "/api/v1/clusters/{cluster}/token",
        (Who::Cluster, Renew),
        "renewToken",
        "A new token for a cluster whose token has less than a third of its life left; also without a fleet",
    ),
    get(
        "/api/v1/clusters/{cluster}/stamp",
        (Who::Cluster, Light(fleet::stamp::answer)),
        "stamp",
        "How old the graph is, for a cluster that asks just now; also without a fleet",
    ),
    get(
        "/api/v1/clusters/{cluster}/orders",
        (Who::Cluster, Orders),
        "orders",
        "What the fleet asks of the cluster: risks to accept with its update, a channel, a preflight",
    ),
    get(
        "/api/v1/clusters/{cluster}/why",
        (Who::May(Permission::ReadFleet), Read(query::why)),
        "why",
        "Why a cluster does, or does not, upgrade",
    ),
    get(
        "/api/v1/clusters/{cluster}",
        (Who::May(Permission::ReadFleet), Read(query::cluster)),
        "cluster",
        "One cluster whole: facts, policy, verdicts, history",
    ),
    get(
        "/api/v1/fleet/status",
        (Who::May(Permission::ReadFleet), Read(query::status)),
        "status",
        "Where everything stands",
    ),
    get(
        "/api/v1/fleet/plan",
        (Who::May(Permission::ReadFleet), Read(query::plan)),
        "plan",
        "What starts and when, and why others wait",
    ),
    get(
        "/api/v1/fleet/clusters",
        (Who::May(Permission::ReadFleet), Read(query::clusters)),
        "clusters",
        "Each cluster with its policy",
    ),
    get(
        "/api/v1/fleet/sectors",
        (Who::May(Permission::ReadFleet), Read(query::sectors)),
        "sectors",
        "The sectors as a pipeline: what soaks until when, and what comes next",
    ),
    get(
        "/api/v1/fleet/matrix",
        (Who::May(Permission::ReadFleet), Read(query::matrix)),
        "matrix",
        "Which versions run where, and what each cluster may take",
    ),
    get(
        "/api/v1/fleet/calendar",
        (Who::May(Permission::ReadFleet), Read(query::calendar)),
        "calendar",
        "When clusters may start: schedules, windows and exclusions",
    ),
    get(
        "/api/v1/fleet/acts",
        (Who::May(Permission::ReadFleet), Read(query::acts)),
        "acts",
        "What people did: pauses, approvals, acknowledgements, cancelled upgrades; who, why, when",
    ),
    get(
        "/api/v1/fleet/decisions",
        (Who::May(Permission::ReadFleet), Read(query::decisions)),
        "decisions",
        "The decision log, newest first",
    ),
    get(
        "/api/v1/fleet/audit-log",
        (Who::May(Permission::ReadAuditLog), Read(query::audit_log)),
        "auditLog",
        "Who did what, how they were known, from where, before and after; oldest first, with the newest signed head of the log",
    ),
    get(
        "/api/v1/fleet/decisions/{decision}",
        (Who::May(Permission::ReadFleet), Read(query::decision)),
        "decision",
        "One decision with its reasons, made again",
    ),
    get(
        "/api/v1/fleet/watch",
        (Who::May(Permission::ReadFleet), Read(query::watch)),
        "watch",
        "What the watch says about releases that are rolled out: halt, go on, or inconclusive, with the evidence",
    ),
    get(
        "/api/v1/fleet/upgrades",
        (Who::May(Permission::ReadFleet), Read(query::upgrades)),
        "upgrades",
        "What is planned, under way, or over",
    ),
    get(
        "/api/v1/fleet/holds",
        (Who::May(Permission::ReadFleet), Read(query::holds)),
        "holds",
        "How many clusters are held back, by rule",
    ),
    get(
        "/api/v1/fleet/history",
        (Who::May(Permission::ReadFleet), Read(query::history)),
        "history",
        "How long which version has run",
    ),
    get(
        "/api/v1/fleet/forecast",
        (Who::May(Permission::ReadFleet), Read(query::forecast)),
        "forecast",
        "What will start if nothing fails, and who will not",
    ),
    post(
        "/api/v1/fleet/pause",
        (Who::May(Permission::Pause), Change(query::pause)),
        "pause",
        "Stop new starts",
    ),
    post(
        "/api/v1/fleet/resume",
        (Who::May(Permission::Resume), Change(query::resume)),
        "resume",
        "Let new starts happen again: end a pause, or lift a cancelled upgrade",
    ),
    post(
        "/api/v1/fleet/approve",
        (Who::May(Permission::Approve), Change(query::approve)),
        "approve",
        "Consent to a version",
    ),
    post(
        "/api/v1/fleet/acknowledge",
        (
            Who::May(Permission::Acknowledge),
            Change(query::acknowledge),
        ),
        "acknowledge",
        "Acknowledge a gate for a cluster",
    ),
    post(
        "/api/v1/fleet/withdraw",
        (Who::May(Permission::Withdraw), Change(query::withdraw)),
        "withdraw",
        "Take an approval or an acknowledgement back",
    ),
    post(
        "/api/v1/fleet/cancel",
        (Who::May(Permission::Cancel), Change(query::cancel)),
        "cancel",
        "Cancel one planned upgrade, until a person lifts that",
    ),
    post(
        "/api/v1/fleet/preflight",
        (Who::May(Permission::Preflight), Change(query::preflight)),
        "preflight",
        "Ask clusters to run the checks of a version, without updating",
    ),
    get(
        "/api/v1/fleet/preflights",
        (Who::May(Permission::ReadFleet), Read(query::preflights)),
        "preflights",
        "What became of preflights",
    ),
    post(
        "/api/v1/fleet/forget",
        (Who::May(Permission::Forget), Change(query::forget)),
        "forget",
        "Forget a cluster that no longer exists",
    ),
    post(
        "/api/v1/fleet/import",
        (Who::May(Permission::Import), Change(query::import)),
        "import",
        "Record the clusters and the soak of a list",
    ),
    get(
        "/api/v1/access/revocations",
        (Who::May(Permission::ManageTokens), Read(query::revocations)),
        "revocations",
        "Tokens that were revoked: by whom, why, when",
    ),
    post(
        "/api/v1/access/revoke",
        (Who::May(Permission::ManageTokens), Change(query::revoke)),
        "revoke",
        "End one token, or all of a person that were made until now",
    ),
    page("/", "page"),
    page("/graph", "pageGraph"),
    page("/rollouts", "pageRollouts"),
    page("/fleet", "pageFleet"),
    page("/fleet/{path}", "pageFleetView"),
    page("/nodes", "pageNodes"),
    page("/log", "pageLog"),
    page("/log/{path}", "pageLogEntry"),
    page("/sources", "pageSources"),
    page("/login", "pageLogin"),
    get(
        "/assets/{name}",
        (Who::Anyone, Page(page::asset)),
        "pageAsset",
        "A script, style or picture of the page",
    ),
];

/// An address of the page: each answers with the same file, and the page shows what the address says.
const fn page(path: &'static str, label: &'static str) -> Route {
    get(
        path,
        (Who::Anyone, Page(page::index)),
        label,
        "The page, for browsers",
    )
}

const fn get(
    path: &'static str,
    (who, handler): (Who, Handler),
    label: &'static str,
    summary: &'static str,
) -> Route {
    Route {
        path,
        verb: Verb::Get,
        who,
        label,
        summary,
        handler,
    }
}

const fn post(
    path: &'static str,
    served: (Who, Handler),
    label: &'static str,
    summary: &'static str,
) -> Route {
    Route {
        verb: Verb::Post,
        ..get(path, served, label, summary)
    }
}

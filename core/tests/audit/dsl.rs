//! What these tests say of a graph: how each release stands, and who is stranded.

use std::fmt::Write;

use jiff::Timestamp;
use towpath_core::audit::{
    Audit, Barrier, Baseline, GoalOutcome, Reachability, Scope, Stranding, StrandingCause, audit,
    strandings,
};
use towpath_core::graph::{ClientClass, Graph, ReleaseId};
use towpath_testing_graphs::{Checker, read};

pub(crate) fn now() -> Timestamp {
    "2026-01-05T00:00Z".parse().unwrap()
}

/// Audits what a text says, checks every certificate, and tells how each release stands.
pub(crate) fn check(text: &str, expected: expect_test::Expect) {
    let (graph, audit) = audited(text);
    let mut told = String::new();
    for section in &audit.sections {
        let clients: Vec<String> = section.clients.iter().map(ToString::to_string).collect();
        writeln!(told, "{} for {}", section.channel, clients.join(", ")).unwrap();
        for standing in &section.releases {
            let [minor, head] =
                [&standing.minor, &standing.head].map(|outlook| outlook_text(&graph, outlook));
            let version = &graph.release(standing.release).version;
            match standing.minor.goal == standing.head.goal {
                true => writeln!(told, "  {version}: {head}").unwrap(),
                false => writeln!(told, "  {version}: {minor}; {head}").unwrap(),
            }
        }
    }
    expected.assert_eq(&told);
}

/// Tells who is stranded after a change and was not before.
pub(crate) fn check_change(before: &str, after: &str, expected: expect_test::Expect) {
    let (base_graph, base) = audited(before);
    let (graph, audit) = audited(after);
    let base = Baseline::of(&base_graph, &base);
    let told: String = strandings(&graph, &audit, Some(&base))
        .iter()
        .map(|one| stranding_text(&graph, one))
        .collect();
    expected.assert_eq(&told);
}

/// The graph and its audit, with every certificate checked.
pub(crate) fn audited(text: &str) -> (Graph, Audit) {
    let (data, releases) = read(text);
    let graph = Graph::build(data.clone(), releases.clone()).0;
    let audit = audit(&graph, &Scope::default(), now());
    let checker = Checker::new(data, releases, now());
    for section in &audit.sections {
        section
            .clients
            .iter()
            .for_each(|class| checker.check(section, class));
    }
    (graph, audit)
}

pub(crate) fn stranding_text(graph: &Graph, stranding: &Stranding) -> String {
    let barrier = match &stranding.barrier {
        Barrier::Blocks(blocks) => {
            let files: Vec<&str> = blocks
                .iter()
                .map(|id| &*graph.block(*id).origin.file)
                .collect();
            files.join(" + ")
        }
        other => other.code().to_owned(),
    };
    let mut text = format!("{barrier}\n");
    for spot in &stranding.spots {
        let clients: Vec<&str> = spot.clients.iter().map(ClientClass::code).collect();
        let releases = way(graph, &spot.releases, " ");
        let goal = &graph.release(spot.goal).version;
        writeln!(
            text,
            "  {} not to {goal} in {} for {}",
            releases,
            spot.channel,
            clients.join(" ")
        )
        .unwrap();
    }
    text
}

fn outlook_text(graph: &Graph, outlook: &Reachability) -> String {
    let goal = &graph.release(outlook.goal).version;
    match &outlook.outcome {
        GoalOutcome::Way(found) if found.releases.len() == 1 => "is there".to_owned(),
        GoalOutcome::Way(found) => {
            let risks: String = found
                .risks
                .iter()
                .map(|risk| format!(" unless {}", graph.risk(*risk).name))
                .collect();
            way(graph, &found.releases, " -> ") + &risks
        }
        GoalOutcome::Stranded(StrandingCause::Blocks { blocks, way: opens }) => {
            let files: Vec<&str> = blocks
                .iter()
                .map(|id| &*graph.block(*id).origin.file)
                .collect();
            format!(
                "not to {goal}: {} ({})",
                files.join(" + "),
                way(graph, opens, " -> ")
            )
        }
        GoalOutcome::Stranded(StrandingCause::NoEdgeLeaves) => {
            format!("not to {goal}: no edge leaves")
        }
        GoalOutcome::Stranded(StrandingCause::NoEdgeReaches) => {
            format!("not to {goal}: no edge reaches")
        }
    }
}

fn way(graph: &Graph, releases: &[ReleaseId], between: &str) -> String {
    let versions: Vec<String> = releases
        .iter()
        .map(|id| graph.release(*id).version.to_string())
        .collect();
    versions.join(between)
}

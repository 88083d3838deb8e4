//! Commands of the fleet with `--server`: which question of a service each of them is.

use anyhow::Context;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use towpath_core::fleet::MatrixBy;

use super::args::{FleetCommand, FleetPartArgs, HistoryOutput};
use super::operator_acts::Withdrawn;
use super::token::{enrolment_of, issue};
use crate::cli::{print, say};
use crate::example::Origin;
use crate::output::{Output, OutputArgs};
use crate::server::{Question, Server};

/// How far `plan` looks ahead unless somebody says otherwise.
const EXPECTED_DAYS: u32 = 14;

/// The service's answer, if the command names one.
pub(super) fn answer(command: &FleetCommand) -> Option<anyhow::Result<bool>> {
    Some(match command {
        FleetCommand::Plan { days, part } => {
            let days = Some(days.unwrap_or(EXPECTED_DAYS)).filter(|days| *days > 0);
            ask(part, "plan", days)?
        }
        FleetCommand::Status(part) => ask(part, "status", None)?,
        FleetCommand::Clusters(args) => {
            let (server, part) = (args.part.server.given()?, &args.part);
            let question = Question::new("/api/v1/fleet/clusters", args.words());
            let form = text_form(part.read.output);
            shown(&server, &question, form, part.filters.limit())
        }
        FleetCommand::Sectors(part) => ask(part, "sectors", None)?,
        FleetCommand::Matrix { by, part } => {
            let by = ("by", Some(MatrixBy::from(*by).name().to_owned()));
            let words = part.filters.words().into_iter().chain([by]);
            let question = Question::new("/api/v1/fleet/matrix", words);
            let (server, limit) = (part.server.given()?, part.filters.limit());
            match text_form(part.read.output) {
                Some(form) => shown(&server, &question, Some(form), limit),
                None => whole(&server, &question, limit, Some("versions")),
            }
        }
        FleetCommand::Calendar { from, until, part } => {
            let span = [("from", from), ("until", until)];
            let span = span.map(|(name, at)| (name, at.map(|at| at.to_string())));
            let words = part.filters.words().into_iter().chain(span);
            let question = Question::new("/api/v1/fleet/calendar", words);
            let form = text_form(part.read.output);
            shown(&part.server.given()?, &question, form, part.filters.limit())
        }
        FleetCommand::Acts(args) => {
            let question = Question::new("/api/v1/fleet/acts", args.words());
            let form = text_form(args.read.output);
            shown(&args.server.given()?, &question, form, args.limit())
        }
        FleetCommand::AuditLog(args) => args.asked(&args.server.given()?),
        FleetCommand::Show {
            cluster,
            server,
            look,
        } => {
            let name = utf8_percent_encode(cluster, NON_ALPHANUMERIC);
            let question = Question::new(format!("/api/v1/clusters/{name}"), []);
            told(&server.given()?, look.output, &question)
        }
        FleetCommand::Forecast { days, part } => ask(part, "forecast", Some(*days))?,
        FleetCommand::History(part) => {
            let server = part.server.given()?;
            let form = match part.read.output.form {
                HistoryOutput::Text => Some("text"),
                HistoryOutput::Markdown => Some("markdown"),
                HistoryOutput::Json => None,
            };
            let question = Question::new("/api/v1/fleet/history", part.filters.words());
            shown(&server, &question, form, part.filters.limit())
        }
        FleetCommand::Why {
            cluster,
            to,
            server,
            look,
        } => {
            let name = utf8_percent_encode(cluster, NON_ALPHANUMERIC);
            let words = [("version", to.as_ref().map(ToString::to_string))];
            let question = Question::new(format!("/api/v1/clusters/{name}/why"), words);
            why(&server.given()?, look.output, &question)
        }
        FleetCommand::Upgrades(args) => {
            let question = Question::new("/api/v1/fleet/upgrades", args.words());
            let form = text_form(args.output);
            shown(&args.server.given()?, &question, form, Some(args.limit()))
        }
        FleetCommand::Pause(args) => args.server.given()?.act(
            args.output,
            "/api/v1/fleet/pause",
            &json!({"organisation": args.org, "sector": args.sector, "why": args.why}),
        ),
        FleetCommand::Resume(args) => args.server.given()?.act(
            args.output,
            "/api/v1/fleet/resume",
            &json!({
                "organisation": args.org, "sector": args.sector, "cluster": args.cluster,
                "version": args.to.as_ref().map(ToString::to_string), "why": args.why,
            }),
        ),
        FleetCommand::Approve(args) => args.server.given()?.act(
            args.output,
            "/api/v1/fleet/approve",
            &json!({"organisation": args.org, "cluster": args.cluster, "version": args.to.to_string(), "why": args.why}),
        ),
        FleetCommand::Acknowledge(args) => args.server.given()?.act(
            args.output,
            "/api/v1/fleet/acknowledge",
            &json!({"gate": args.gate, "cluster": args.cluster, "why": args.why}),
        ),
        FleetCommand::Withdraw(args) => {
            let path = "/api/v1/fleet/withdraw";
            match &args.what {
                Withdrawn::Approval(args) => args.server.given()?.act(
                    args.output,
                    path,
                    &json!({
                        "act": "approval", "organisation": args.org, "cluster": args.cluster,
                        "version": args.to.to_string(), "why": args.why,
                    }),
                ),
                Withdrawn::Acknowledgement(args) => args.server.given()?.act(
                    args.output,
                    path,
                    &json!({
                        "act": "acknowledgement", "gate": args.gate, "cluster": args.cluster,
                        "why": args.why,
                    }),
                ),
            }
        }
        FleetCommand::Cancel(args) => {
            let body = match args.number() {
                Some(number) => json!({"upgrade": number, "why": args.why}),
                None => json!({"cluster": args.which, "why": args.why}),
            };
            let server = args.server.given()?;
            server.act(args.output, "/api/v1/fleet/cancel", &body)
        }
        FleetCommand::Forget(args) => args.server.given()?.act(
            args.output,
            "/api/v1/fleet/forget",
            &json!({"cluster": args.cluster}),
        ),
        FleetCommand::Import(args) => args.send(&args.server.given()?),
        FleetCommand::Preflight(args) => {
            let (server, output) = (args.server.given()?, args.read.output);
            match args.body() {
                Some(body) => server.act(output, "/api/v1/fleet/preflight", &body),
                None => {
                    let question = Question::new("/api/v1/fleet/preflights", args.words());
                    told(&server, output, &question)
                }
            }
        }
        FleetCommand::Token(args) => {
            let (server, question) = args.lookup()?;
            let cluster = question.word("cluster").unwrap_or_default();
            let found = server.facts(&question);
            let enrolment = found.and_then(|facts| enrolment_of(cluster, &facts));
            enrolment.and_then(|enrolment| issue(args, Some(enrolment)))
        }
        FleetCommand::Lint(_)
        | FleetCommand::Run { .. }
        | FleetCommand::Export(_)
        | FleetCommand::Replay(_)
        | FleetCommand::Check(_)
        | FleetCommand::Backup(_)
        | FleetCommand::Restore(_) => return None,
    })
}

/// A question about a part of the fleet.
fn ask(part: &FleetPartArgs, name: &str, days: Option<u32>) -> Option<anyhow::Result<bool>> {
    let server = part.server.given()?;
    let days = ("days", days.map(|days| days.to_string()));
    let words = part.filters.words().into_iter().chain([days]);
    let question = Question::new(format!("/api/v1/fleet/{name}"), words);
    let form = text_form(part.read.output);
    Some(shown(&server, &question, form, part.filters.limit()))
}

fn text_form(output: OutputArgs) -> Option<&'static str> {
    match output.form {
        Output::Text => Some("text"),
        Output::Json => None,
    }
}

/// Prints an answer as text, or all of its pages as JSON.
fn shown(
    server: &Server<'_>,
    question: &Question,
    form: Option<&str>,
    limit: Option<usize>,
) -> anyhow::Result<bool> {
    match form {
        Some(form) => say(&server.text(question, form, limit)?)?,
        None => return whole(server, question, limit, None),
    }
    Ok(true)
}

/// Prints all pages as JSON. `same` is a list that all pages have alike.
fn whole(
    server: &Server<'_>,
    question: &Question,
    limit: Option<usize>,
    same: Option<&str>,
) -> anyhow::Result<bool> {
    print(&format!("{:#}\n", server.pages(question, limit, same)?))?;
    Ok(true)
}

/// Prints an answer that is no page.
fn told(server: &Server<'_>, output: OutputArgs, question: &Question) -> anyhow::Result<bool> {
    match output.form {
        Output::Text => say(&server.text(question, "text", None)?)?,
        Output::Json => print(&Origin::Named.mark(server.facts(question)?))?,
    }
    Ok(true)
}

/// Prints why. If it is about one version, says whether that starts.
fn why(server: &Server<'_>, output: OutputArgs, question: &Question) -> anyhow::Result<bool> {
    let facts = server.facts(question)?;
    match output.form {
        Output::Text => say(&server.text(question, "text", None)?)?,
        Output::Json => print(&format!("{facts:#}\n"))?,
    }
    starts(&facts, question.word("version"))
}

fn starts(facts: &Value, version: Option<&str>) -> anyhow::Result<bool> {
    let start = facts
        .get("start")
        .context("the service's answer does not say what starts")?;
    let is_it = |version: &str| start["to"] == version && start["nodePool"].is_null();
    Ok(version.is_none_or(is_it))
}

//! `towpath graph`: for those who change graph data. Each command reads, makes one pure call, and prints what came of it.

mod audit;
mod diff;
mod lint;
mod migrate;
mod presubmit;
mod rollouts;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum GraphCommand {
    /// Can every release get on? Its way to the newest release, or the blocks that strand it.
    #[command(
        after_help = "Example:\n  towpath graph audit ./graph-data --releases releases.json --base main"
    )]
    Audit(audit::AuditArgs),
    /// Say what a change means for clients: releases and edges that come, go, or become conditional, for whom and when.
    #[command(
        after_help = "Example:\n  towpath graph diff main HEAD --graph-data ./graph-data --releases releases.json"
    )]
    Diff(diff::DiffArgs),
    /// Check graph data: every problem at once, with its place and remedy.
    #[command(after_help = "Example:\n  towpath graph lint ./graph-data --releases releases.json")]
    Lint(lint::LintArgs),
    /// Rewrite a 1.x repository as 2.0.0: channels that hold the same share a file, with starts from git history.
    ///
    /// The old directory is only read, and the new one serves the same. docs/migrate.md says what to check, and how to go back.
    #[command(
        after_help = "Example:\n  towpath graph migrate ./graph-data --out ./graph-data-2 --rollout patch=P2D --rollout minor=P14D,exponential"
    )]
    Migrate(migrate::MigrateArgs),
    /// Show every window that is running or to come: whom it has reached, when it reaches the others, what is blocked.
    #[command(
        after_help = "Example:\n  towpath graph rollouts --graph-data ./graph-data --releases releases.json"
    )]
    Rollouts(rollouts::RolloutsArgs),
}

/// Runs a command about graphs.
pub(crate) fn execute(command: GraphCommand) -> anyhow::Result<ExitCode> {
    match command {
        GraphCommand::Audit(args) => audit::run(&args),
        GraphCommand::Diff(args) => diff::run(&args),
        GraphCommand::Lint(args) => lint::lint(args),
        GraphCommand::Migrate(args) => migrate::migrate(args),
        GraphCommand::Rollouts(args) => rollouts::rollouts(args),
    }
}

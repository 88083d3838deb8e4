//! `towpath graph`: for release administrators. Each command reads, makes one pure call, and prints the result.

mod audit;
mod diff;
mod extend;
mod lint;
mod migrate;
mod presubmit;
pub(crate) mod rollouts;
mod show;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum GraphCommand {
    /// Check that every release has an update path to the newest release; if not, name the blocks that strand it.
    #[command(
        after_help = "Example:\n  towpath graph audit ./graph-data --releases releases.json --base main"
    )]
    Audit(audit::AuditArgs),
    /// Show what a change means for clients: releases and edges that appear, disappear or become conditional, for whom and when.
    #[command(
        after_help = "Example:\n  towpath graph diff main HEAD --graph-data ./graph-data --releases releases.json"
    )]
    Diff(diff::DiffArgs),
    /// Extend a risk that is not fixed yet to newer releases of its minor version. Shows the new files, and proves that nothing else changes.
    ///
    /// Without RISK it lists the risks that newer releases lack. Only --write writes files.
    #[command(
        after_help = "Example:\n  towpath graph extend OVNSlowStart --graph-data ./graph-data --releases releases.json --write"
    )]
    Extend(extend::ExtendArgs),
    /// Check graph data. Lists every problem with its place and remedy.
    #[command(after_help = "Example:\n  towpath graph lint ./graph-data --releases releases.json")]
    Lint(lint::LintArgs),
    /// Rewrite a repository of schema 1.x as 2.0.0: channels with the same releases share a file, and starts come from the git history.
    ///
    /// The old directory stays as it is, and the new one serves the same graph. docs/migrate.md says what to check, and how to roll back.
    #[command(
        after_help = "Example:\n  towpath graph migrate ./graph-data --out ./graph-data-2 --rollout patch=P2D --rollout minor=P14D,exponential"
    )]
    Migrate(migrate::MigrateArgs),
    /// Show every rollout window that is running or planned: whom it has reached, when it reaches the others, and what is blocked.
    #[command(
        after_help = "Example:\n  towpath graph rollouts ./graph-data --releases releases.json"
    )]
    Rollouts(rollouts::RolloutsArgs),
    /// Show the releases of channels and the updates between them, as one cluster sees them: as a table, for machines, or as a drawing.
    #[command(
        after_help = "Examples:\n  towpath graph show\n  towpath graph show stable-4.20 --platform AWS --output svg"
    )]
    Show(show::ShowGraphArgs),
}

/// Runs a command about graphs.
pub(crate) fn execute(command: GraphCommand) -> anyhow::Result<bool> {
    match command {
        GraphCommand::Audit(args) => audit::run(&args),
        GraphCommand::Diff(args) => diff::run(&args),
        GraphCommand::Extend(args) => extend::extend(&args),
        GraphCommand::Lint(args) => lint::lint(args),
        GraphCommand::Migrate(args) => migrate::migrate(args),
        GraphCommand::Rollouts(args) => rollouts::rollouts(args),
        GraphCommand::Show(args) => show::show(&args),
    }
}

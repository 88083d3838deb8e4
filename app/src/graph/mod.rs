//! `towpath graph`: for those who change graph data. Each command reads, makes one pure call, and prints what came of it.

pub(crate) mod inputs;
mod lint;

use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum GraphCommand {
    /// Check graph data: every problem at once, with its place and remedy.
    #[command(after_help = "Example:\n  towpath graph lint ./graph-data --releases releases.json")]
    Lint(lint::LintArgs),
}

/// How to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// For machines; its fields are stable.
    Json,
}

/// Runs a command about graphs.
pub(crate) fn execute(command: GraphCommand) -> anyhow::Result<ExitCode> {
    match command {
        GraphCommand::Lint(args) => lint::lint(args),
    }
}

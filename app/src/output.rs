//! The format of an answer: one flag, `--output`, with only the formats that a command has.

use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::cli::{print, say};
use crate::example::Origin;

/// `--output`, as every command has it. Commands with more forms than two bring their own list.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct OutputArgs<F = Output>
where
    F: ValueEnum + Default + Send + Sync + 'static,
{
    /// The format of the answer.
    #[arg(
        short = 'o',
        long = "output",
        id = "output",
        value_enum,
        value_name = "FORM",
        default_value_t
    )]
    pub(crate) form: F,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    #[default]
    Text,
    /// For machines; its fields are stable.
    Json,
}

impl OutputArgs {
    /// Prints an answer in the format that was asked for, with a mark for machines if it is about the example.
    pub(crate) fn print(
        self,
        origin: Origin,
        text: impl FnOnce() -> String,
        json: impl FnOnce() -> Value,
    ) -> anyhow::Result<()> {
        match self.form {
            Output::Text => say(&text()),
            Output::Json => print(&origin.mark(json())),
        }
    }
}

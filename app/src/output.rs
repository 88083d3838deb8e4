//! The format of an answer: one flag, `--output`, with only the formats that a command has.

use clap::{Args, ValueEnum};
use serde_json::Value;
use towpath_formats::picture::Drawing;

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

/// The forms of what can also be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PictureOutput {
    /// For people.
    #[default]
    Text,
    /// For machines; its fields are stable.
    Json,
    /// A drawing that stands alone.
    Svg,
    /// For Graphviz.
    Dot,
    /// For pages that draw Mermaid.
    Mermaid,
}

impl Output {
    /// As a service reads it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

impl PictureOutput {
    /// What draws it; none for words and facts.
    pub(crate) fn pen(self) -> Option<Drawing> {
        match self {
            Self::Text | Self::Json => None,
            Self::Svg => Some(Drawing::Svg),
            Self::Dot => Some(Drawing::Dot),
            Self::Mermaid => Some(Drawing::Mermaid),
        }
    }

    /// As a service reads it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Svg => "svg",
            Self::Dot => "dot",
            Self::Mermaid => "mermaid",
        }
    }
}

impl OutputArgs<PictureOutput> {
    /// Prints an answer in the form that was asked for, with a mark for machines if it is about the example.
    pub(crate) fn print(
        self,
        origin: Origin,
        text: impl FnOnce() -> String,
        json: impl FnOnce() -> Value,
        draw: impl FnOnce(Drawing) -> String,
    ) -> anyhow::Result<()> {
        match (self.form, self.form.pen()) {
            (_, Some(pen)) => print(&draw(pen)),
            (PictureOutput::Json, None) => print(&origin.mark(json())),
            (_, None) => say(&text()),
        }
    }
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

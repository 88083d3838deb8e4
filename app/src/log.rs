//! Structured logs on standard error.

use anyhow::Context;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use crate::config::{LogFormat, Settings};

/// Starts logging as configured.
pub(crate) fn start(settings: &Settings) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&settings.log)
        .with_context(|| format!("--log: {:?} is not a level or filter", settings.log))?;
    let logs = fmt::Subscriber::builder().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    let set = match settings.log_format {
        LogFormat::Text => tracing::subscriber::set_global_default(
            logs.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).finish(),
        ),
        LogFormat::Json => tracing::subscriber::set_global_default(logs.json().flatten_event(true).finish()),
    };
    set.context("logging was started twice")
}

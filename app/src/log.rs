//! Structured logs on standard error.

use anyhow::Context;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use crate::config::LogFormat;

/// Starts logging as configured.
pub(crate) fn start(level: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level)
        .with_context(|| format!("--log: {level:?} is not a level or filter"))?;
    let logs = fmt::Subscriber::builder()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    let set = match format {
        LogFormat::Text => tracing::subscriber::set_global_default(
            logs.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
                .finish(),
        ),
        LogFormat::Json => {
            tracing::subscriber::set_global_default(logs.json().flatten_event(true).finish())
        }
    };
    set.context("logging was started twice")
}

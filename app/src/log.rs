//! Structured logs on standard error.

use std::str::FromStr;

use anyhow::Context;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use crate::config::LogFormat;

/// Starts logging as configured.
pub(crate) fn start(level: &str, format: LogFormat) -> anyhow::Result<()> {
    let is_level = |text: &str| LevelFilter::from_str(text.trim()).is_ok();
    // A word without a level would be taken for a part of the program, of which everything is logged; and of the rest nothing.
    let mut levels = level
        .split(',')
        .map(|part| part.rsplit_once('=').map_or(part, |(_, level)| level));
    if let Some(wrong) = levels.find(|word| !is_level(word)) {
        anyhow::bail!(
            "--log: {wrong:?} is not a level; there are off, error, warn, info, debug and trace, also for one part of the program: info,towpath_store=debug"
        );
    }
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

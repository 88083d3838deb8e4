//! Printing a line, in one place.

use std::io::{self, Write};

/// Prints a line. A reader that went away is an error like any other.
pub(crate) fn say(line: impl AsRef<str>) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", line.as_ref())?;
    Ok(out.flush()?)
}

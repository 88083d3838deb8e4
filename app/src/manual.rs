//! `towpath completions` and `towpath man`: what shells and `man` know of the command line. Both are made from the flags themselves.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use clap::{Args, Command};
use clap_complete::Shell;

use crate::cli::print;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

/// Prints what completes the command in a shell.
pub(crate) fn completions(mut command: Command, args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "towpath", &mut script);
    print(&String::from_utf8(script).context("a completion is not text")?)
}

/// Writes a page for every command that is not hidden.
pub(crate) fn man(command: Command, folder: &Path) -> anyhow::Result<()> {
    let is_new = fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
    ensure!(
        is_new,
        "{} is not empty; name a new directory",
        folder.display()
    );
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    // There is no date in them: the same command line gives the same bytes.
    clap_mangen::generate_to(command, folder)
        .with_context(|| format!("{} cannot be written to", folder.display()))
}

//! Reads the flags and files of `towpath mirror`: which clusters, which goal, which channels. Unreadable input is an error, never a shorter list.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use jiff::Timestamp;
use towpath_core::cluster::{Fact, Platform};
use towpath_core::finding::{Finding, Place};
use towpath_core::mirror::Have;
use towpath_core::version::Arch;
use towpath_formats::fleet::cluster_list;
use towpath_formats::mirror::aims::MirrorClients;
use towpath_formats::words::platform_warning;
use towpath_formats::{SourceFile, mirror};

use crate::cli::failure;
use crate::example;
use crate::input::read_input;

/// The largest list of what is there that we read.
const MAX_HAVE_BYTES: u64 = 256 << 20;
/// All clusters of a list, or of the example's; only those of an architecture if one is named.
pub(super) fn listed(
    file: Option<&Path>,
    arch: Option<&Arch>,
    now: Timestamp,
) -> anyhow::Result<MirrorClients> {
    let file = match file {
        None => example::clusters(),
        Some(path) => {
            let bytes = read_input(path, cluster_list::MAX_BYTES as u64)?;
            SourceFile::new(path.display().to_string(), bytes)
        }
    };
    let (list, findings) = cluster_list::read(&Place::file(file.path.as_str()), &file.bytes, now);
    wrong(&findings)?;
    let clients = MirrorClients::of(list.clusters, arch);
    if clients.is_empty() {
        bail!(
            "{}: there are no clusters to get anywhere; list some, or name another --arch",
            file.path
        );
    }
    Ok(clients)
}

pub(super) fn platform(name: Option<&str>) -> anyhow::Result<Fact<Platform>> {
    let platform = |name: &str| {
        Platform::new(name)
            .with_context(|| format!("--platform {name:?} is not the name of a platform"))
    };
    let platform = Fact::from(name.map(platform).transpose()?);
    if let Some(warning) = platform_warning(&platform) {
        eprintln!("warning: {warning}");
    }
    Ok(platform)
}

/// What is there already.
pub(super) fn have(path: &Path) -> anyhow::Result<Have> {
    let bytes = read_input(path, MAX_HAVE_BYTES)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| anyhow!("{}: this is not text; list digests", path.display()))?;
    mirror::read_have(&Place::file(path.display().to_string()), &text)
        .map_err(|findings| failure(&findings))
}

/// A list that cannot be read whole would make an answer that is not.
fn wrong(findings: &[Finding]) -> anyhow::Result<()> {
    if findings.iter().any(Finding::is_error) {
        Err(failure(findings))
    } else {
        Ok(())
    }
}

//! Verifies a log with public keys alone: of a store, of a backup, or of an export.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use towpath_core::fleet::{LogHead, SignedHead};
use towpath_formats::fleet::audit_log::export::ExportReader;
use towpath_formats::fleet::audit_log::heads::{self, FollowedLog};
use towpath_formats::fleet::audit_log::keys::{self, LogKey};
use towpath_formats::timespan::TimeSpan;
use towpath_formats::words::{counted, second};
use towpath_store::Store;

use crate::cli::say;

/// The longest line of an export.
const MAX_LINE_BYTES: u64 = 1 << 30;
/// The most heads in a file.
const MAX_HEADS: usize = 1_000_000;

#[derive(Debug, Args)]
pub(crate) struct ProofArgs {
    /// Verify the signatures of the log's head with the Ed25519 public keys in this PEM file. It may be given more than once.
    ///
    /// A line `Until: TIME` before a key ends it: a head that it signed later is an error.
    #[arg(long, value_name = "FILE", conflicts_with = "decision")]
    public_key: Vec<PathBuf>,
    /// Signed heads that were kept elsewhere, one a line, as `towpath fleet audit-log --head` writes them. The log must still have
    /// them.
    #[arg(long, value_name = "FILE", requires = "public_key")]
    heads: Option<PathBuf>,
    /// The longest time for which the newest entries may be without a signature.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "1h",
        requires = "public_key"
    )]
    unsigned_for: TimeSpan,
    /// Verify this export of `towpath fleet audit-log --whole` instead of a store. Decisions are not made again.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["decision", "limit"])]
    pub(super) export: Option<PathBuf>,
}

impl ProofArgs {
    pub(super) fn keys(&self) -> anyhow::Result<Vec<LogKey>> {
        let mut all: Vec<LogKey> = Vec::new();
        for path in &self.public_key {
            let shown = path.display();
            let text = read(path, keys::MAX_BYTES as u64)?;
            let keys = LogKey::read(&text);
            let keys = keys.map_err(|problem| anyhow::anyhow!("{shown}: {problem}"))?;
            for key in keys {
                let is_there = all.iter().any(|known| known.name == key.name);
                ensure!(
                    !is_there,
                    "{shown}: the key {} is there twice; leave one out",
                    key.name
                );
                all.push(key);
            }
        }
        Ok(all)
    }

    /// Heads that were kept elsewhere.
    fn kept(&self) -> anyhow::Result<Vec<SignedHead>> {
        let Some(path) = &self.heads else {
            return Ok(Vec::new());
        };
        let shown = path.display();
        let text = read(path, MAX_LINE_BYTES)?;
        let lines = text.lines().enumerate();
        let lines = lines.filter(|(_, line)| !line.trim().is_empty());
        let mut kept = Vec::new();
        for (at, line) in lines {
            ensure!(
                kept.len() < MAX_HEADS,
                "{shown}: it has more than {MAX_HEADS} heads"
            );
            let value = serde_json::from_str(line).map_err(|error| error.to_string());
            let head = value.and_then(heads::read);
            kept.push(head.map_err(|problem| anyhow::anyhow!("{shown}:{}: {problem}", at + 1))?);
        }
        ensure!(!kept.is_empty(), "{shown}: it has no head");
        Ok(kept)
    }
}

fn read(path: &Path, most: u64) -> anyhow::Result<String> {
    let shown = path.display();
    let metadata = std::fs::metadata(path).with_context(|| format!("{shown}: cannot be read"))?;
    ensure!(
        metadata.len() <= most,
        "{shown}: it has more than {most} bytes"
    );
    std::fs::read_to_string(path).with_context(|| format!("{shown}: cannot be read"))
}

pub(super) async fn signed_heads(store: &Store) -> anyhow::Result<Vec<SignedHead>> {
    let (mut all, mut after) = (Vec::new(), -1);
    loop {
        let page = store.signed_heads(after, 1_000).await?;
        match page.last() {
            Some(last) => after = last.head.sequence,
            None => return Ok(all),
        }
        all.extend(page);
    }
}

/// Tells what the signatures say of a log; whether all is well.
pub(super) fn told(
    log: &FollowedLog,
    mut heads: Vec<SignedHead>,
    args: &ProofArgs,
    keys: &[LogKey],
) -> anyhow::Result<bool> {
    heads.extend(args.kept()?);
    let verdict = heads::judge(log, &heads, keys, args.unsigned_for.signed());
    for problem in &verdict.problems {
        say(&format!("the signatures: {problem}\n"))?;
    }
    let newest = verdict.newest.map(|LogHead { sequence, at, .. }| {
        let after = match verdict.unsigned {
            0 => String::new(),
            1 => "; the entry after it has none yet".to_owned(),
            after => format!("; the {after} entries after it have none yet"),
        };
        format!(", the newest of entry {sequence} at {}{after}", second(at))
    });
    say(&format!(
        "{} of {} right{}.\n",
        verdict.verified,
        counted(heads.len(), "signature"),
        newest.unwrap_or_default()
    ))?;
    Ok(verdict.problems.is_empty())
}

/// Verifies an export.
pub(super) fn export(path: &Path, args: &ProofArgs, keys: &[LogKey]) -> anyhow::Result<bool> {
    let shown = path.display();
    let file = std::fs::File::open(path).with_context(|| format!("{shown}: cannot be read"))?;
    let (mut reader, mut lines) = (ExportReader::default(), std::io::BufReader::new(file));
    let mut line = String::new();
    loop {
        line.clear();
        let limited = &mut std::io::Read::take(&mut lines, MAX_LINE_BYTES);
        let read = limited.read_line(&mut line);
        if read.with_context(|| format!("{shown}: cannot be read"))? == 0 {
            break;
        }
        let taken = reader.take(line.trim_end());
        taken.map_err(|problem| anyhow::anyhow!("{shown}: {problem}"))?;
    }
    let ExportReader {
        log,
        heads,
        problems,
        ..
    } = reader;
    ensure!(
        !log.entries.is_empty() || log.pruned.is_some(),
        "{shown}: it has no entry"
    );
    for problem in &problems {
        say(&format!("the log: {problem}\n"))?;
    }
    let state = if problems.is_empty() {
        "intact"
    } else {
        "broken"
    };
    let entries = log.entries.len();
    say(&format!(
        "The chain of {entries} is {state}. Decisions were not made again: an export has no inputs.\n"
    ))?;
    let vouched = keys.is_empty() || told(&log, heads, args, keys)?;
    Ok(problems.is_empty() && vouched)
}

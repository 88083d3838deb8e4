//! `--audit-log`: reads an audit log line by line, however long it is.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, bail};
use towpath_core::cluster::objects::ApiUse;
use towpath_core::finding::{Finding, Place};
use towpath_formats::cluster::audit_log::{AuditCounts, MAX_LINE_BYTES};
use towpath_formats::cluster::objects::AddedRemoval;

use crate::input::STDIN;

/// Who uses which API, with warnings.
pub(super) fn count(
    path: &Path,
    removals: &[AddedRemoval],
) -> anyhow::Result<(Vec<ApiUse>, Vec<Finding>)> {
    let shown = path.display();
    let counts = match path == STDIN {
        true => lines(std::io::stdin().lock(), removals),
        false => {
            let file = File::open(path).with_context(|| format!("{shown}: cannot be opened"))?;
            lines(BufReader::new(file), removals)
        }
    };
    let counts = counts.with_context(|| format!("{shown}: the audit log cannot be read"))?;
    if counts.events == 0 {
        bail!(
            "{shown}: there is no audit event in it; give the API server's audit log, one JSON event on each line"
        );
    }
    let mut warnings = Vec::new();
    let mut warn = |code, lines: u64, problem: &str, remedy: &str| {
        if lines > 0 {
            let place = Place::file(shown.to_string());
            warnings.push(Finding::warning(
                code,
                place,
                format!("{lines} {problem}"),
                remedy,
            ));
        }
    };
    warn(
        "bad-event",
        counts.not_understood,
        "lines are no audit events, and were not counted",
        "give the whole log; a line may have been cut off",
    );
    warn(
        "too-many-apis",
        counts.left_out,
        "requests to further APIs were not counted",
        "split the log",
    );
    Ok((counts.uses(), warnings))
}

fn lines(mut input: impl BufRead, removals: &[AddedRemoval]) -> anyhow::Result<AuditCounts> {
    let mut counts = AuditCounts::new(removals);
    let (mut line, mut number) = (Vec::new(), 0u64);
    loop {
        line.clear();
        number += 1;
        let most = MAX_LINE_BYTES as u64 + 1;
        let read = input.by_ref().take(most).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(counts);
        }
        if read as u64 == most && line.last() != Some(&b'\n') {
            bail!("line {number} is longer than {MAX_LINE_BYTES} bytes");
        }
        counts.add_line(&line);
    }
}

//! Halts that a running service enforces, and the two acts that undo one.

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::{HaltArgs, SteerArgs};
use crate::server::{Question, Server};

/// Halts at once, in every replica.
pub(super) fn halt(server: &Server<'_>, args: &HaltArgs) -> anyhow::Result<bool> {
    check(&args.steer)?;
    let why = args.message.as_deref();
    let why = why.context("--message TEXT is missing: everybody who is held back is told why")?;
    let scope = json!({"from": args.from, "platform": args.platform, "arch": args.arch});
    let body = json!({"release": args.steer.release.to_string(), "why": why, "scope": scope});
    server.act(args.steer.output, "/api/v1/rollouts/halt", &body)
}

/// Says for every halt of the release that it is to be undone. It takes two people of different names.
pub(super) fn resume(server: &Server<'_>, args: &SteerArgs) -> anyhow::Result<bool> {
    check(args)?;
    let known = server.facts(&Question::new("/api/v1/rollouts/halts", []))?;
    let release = args.release.to_string();
    let is_meant = |halt: &&Value| halt["release"] == *release && halt["standing"] == true;
    let halts = known["halts"].as_array().map_or(&[][..], Vec::as_slice);
    let ids: Vec<&Value> = halts
        .iter()
        .filter(is_meant)
        .map(|halt| &halt["id"])
        .collect();
    if ids.is_empty() {
        bail!(
            "{release} is not halted in the store of this service; `towpath rollouts list --server` shows where a halt is from"
        );
    }
    for id in ids {
        let path = format!("/api/v1/rollouts/halts/{id}/undo");
        server.act(args.output, &path, &json!({}))?;
    }
    Ok(true)
}

/// What is about files has no meaning for a service.
fn check(args: &SteerArgs) -> anyhow::Result<()> {
    match args.write || args.even_if_refused {
        true => bail!("--write is for a directory of graph data; --server enforces at once"),
        false => Ok(()),
    }
}

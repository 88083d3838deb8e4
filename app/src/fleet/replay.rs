//! Replay: repeats past decisions from their saved input, and lists the newest. The results must be identical. With a public key it
//! also verifies the signatures of the log's head.

use anyhow::{Context, bail};
use clap::Args;
use towpath_core::fleet::{Decision, FleetPlanner, dispatch, find_cluster};
use towpath_formats::feedback::record;
use towpath_formats::fleet::audit_log::heads::FollowedLog;
use towpath_formats::fleet::audit_log::{self as told};
use towpath_formats::fleet::log::{self, DecisionRow, LogEntry, Replay};
use towpath_formats::fleet::{input, text};
use towpath_formats::words::{counted, second};
use towpath_store::{Store, StoredDecision};

use super::log_proof::{self, ProofArgs};
use super::operator_acts::StoreArgs;
use super::{audit_log, open};
use crate::cli::say;
use crate::terminal::room;

/// Decisions that are read at once.
const PAGE: u32 = 100;

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Only the decision with this number.
    #[arg(long, value_name = "N")]
    decision: Option<i64>,
    /// How many of the newest decisions to list. All are repeated.
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "decision", value_parser = clap::value_parser!(u16).range(0..=10_000))]
    limit: u16,
    /// Explain this cluster at the time of that decision.
    #[arg(long, value_name = "NAME", requires = "decision")]
    why: Option<String>,
    #[command(flatten)]
    proof: ProofArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) async fn replay(args: ReplayArgs) -> anyhow::Result<bool> {
    let keys = args.proof.keys()?;
    if let Some(export) = &args.proof.export {
        return log_proof::export(export, &args.proof, &keys);
    }
    let store = open(&args.store).await?;
    let chain = store.verify_chain().await?;
    for problem in &chain.problems {
        say(&format!("the log: {problem}\n"))?;
    }
    if let (Some(checkpoint), Some(wanted)) = (&chain.checkpoint, args.decision)
        && wanted <= checkpoint.seq
    {
        let (seq, at) = (checkpoint.seq, second(checkpoint.at));
        bail!(
            "decision {wanted} was pruned: decisions up to {seq} were removed by {at}; --keep-for sets how long they are kept"
        );
    }
    let mut log = FollowedLog {
        pruned: chain
            .checkpoint
            .as_ref()
            .map(|pruned| (pruned.seq, pruned.hash, pruned.at)),
        ..FollowedLog::default()
    };
    let (mut same, mut but_words, mut different, mut acts) = (0, 0, 0, 0);
    let listed_after = store.before_newest(args.limit.into()).await?;
    let mut listed = Vec::new();
    let mut after = args.decision.map_or(0, |seq| seq - 1);
    loop {
        let page = store
            .decisions(after, if args.decision.is_some() { 1 } else { PAGE })
            .await?;
        for decision in &page {
            if args.decision.is_some_and(|seq| seq != decision.seq) {
                bail!(
                    "there is no decision {}; the newest is {}",
                    args.decision.unwrap_or_default(),
                    store.newest_decision().await?
                );
            }
            log.entries
                .insert(decision.seq, (decision.hash, decision.at));
            if decision.is_act() {
                if args.decision.is_some() {
                    let act = audit_log::acts_of(std::slice::from_ref(decision))?;
                    say(&told::lines(&act))?;
                    return Ok(chain.problems.is_empty());
                }
                acts += 1;
                continue;
            }
            let is_listed = args.decision.is_none() && decision.seq > listed_after;
            let replay = match is_of_a_watch(decision) {
                true => {
                    let replay = watched_again(&store, decision, args.why.as_deref()).await?;
                    if is_listed {
                        let entry = log_entry(decision).map_err(anyhow::Error::msg)?;
                        listed.push(DecisionRow::of_watch(&entry, replay));
                    }
                    replay
                }
                false => {
                    let (planner, made, replay) =
                        again(&store, decision, args.why.as_deref()).await?;
                    if is_listed {
                        listed.push(DecisionRow::new(decision.seq, &planner, &made, replay));
                    }
                    replay
                }
            };
            match replay {
                Replay::Same => same += 1,
                Replay::SameButWords => but_words += 1,
                Replay::Different => different += 1,
            }
        }
        match page.last() {
            Some(last) if args.decision.is_none() => after = last.seq,
            Some(_) => break,
            None if args.decision.is_some() && same + but_words + different == 0 => {
                bail!(
                    "there is no decision {}; the newest is {}",
                    args.decision.unwrap_or_default(),
                    store.newest_decision().await?
                )
            }
            None => break,
        }
    }
    if !listed.is_empty() {
        say(&format!("{}\n", text::decisions(&listed, room())))?;
    }
    let pruned = chain
        .checkpoint
        .as_ref()
        .map(|checkpoint| format!(", from its checkpoint after decision {}", checkpoint.seq));
    say(&format!(
        "{} repeated: {same} identical, {different} different; the chain of {}{} is {}{}.\n",
        counted(same + but_words + different, "decision"),
        chain.entries,
        match acts {
            0 => String::new(),
            acts => format!(", of which {} what somebody did,", are(acts)),
        },
        if chain.problems.is_empty() {
            "intact"
        } else {
            "broken"
        },
        pruned.unwrap_or_default(),
    ))?;
    if let Some(newest) = listed.last() {
        say(&format!(
            "To see why at the time of one: towpath fleet replay --decision {} --why CLUSTER\n",
            newest.seq
        ))?;
    }
    if but_words > 0 {
        say(&format!(
            "{} more gave the same result, and an older towpath wrote the reasons for their cancelled plans in other words.\n",
            counted(but_words, "decision")
        ))?;
    }
    let vouched = match keys.is_empty() {
        true => true,
        false => {
            let heads = log_proof::signed_heads(&store).await?;
            log_proof::told(&log, heads, &args.proof, &keys)?
        }
    };
    Ok(different == 0 && chain.problems.is_empty() && vouched)
}

fn are(acts: usize) -> String {
    match acts {
        1 => "1 is".to_owned(),
        acts => format!("{acts} are"),
    }
}

/// Makes a decision again, and compares it with the one that is stored.
async fn again(
    store: &Store,
    stored: &StoredDecision,
    why: Option<&str>,
) -> anyhow::Result<(FleetPlanner, Decision, Replay)> {
    let parts = parts(store, stored).await?;
    let of_decision = |problem: String| anyhow::anyhow!("decision {}: {problem}", stored.seq);
    let (planner, decision, made) = make_again(stored, &parts).map_err(of_decision)?;
    let replay = log::replay(&stored.body, &made).map_err(of_decision)?;
    if replay == Replay::Different {
        let was = String::from_utf8_lossy(&stored.body);
        say(&format!(
            "decision {} at {} is different now:\n  then {was}\n  now  {made}\n",
            stored.seq, stored.at
        ))?;
    }
    if let Some(name) = why {
        let member = find_cluster(&planner, name)?;
        let why = planner.why(member, stored.at);
        say(&text::why(&planner, &decision, member, &why, &[]))?;
    }
    Ok((planner, decision, replay))
}

/// Whether a watch made it, and not the scheduler.
pub(super) fn is_of_a_watch(stored: &StoredDecision) -> bool {
    record::is_of_a_watch(stored.input.iter().map(|(name, _)| name.as_str()))
}

pub(super) fn log_entry(stored: &StoredDecision) -> Result<LogEntry, String> {
    LogEntry::read(stored.seq, stored.at, stored.hash, &stored.body)
}

/// Makes a decision of a watch again, and compares it.
async fn watched_again(
    store: &Store,
    stored: &StoredDecision,
    why: Option<&str>,
) -> anyhow::Result<Replay> {
    let seq = stored.seq;
    if why.is_some() {
        bail!("decision {seq} is the watch's: it is about a release, and about no single cluster");
    }
    let parts = parts(store, stored).await?;
    let replay = watch_made_again(stored, &parts);
    let replay = replay.map_err(|problem| anyhow::anyhow!("decision {seq}: {problem}"))?;
    if replay == Replay::Different {
        let was = String::from_utf8_lossy(&stored.body);
        say(&format!(
            "decision {seq} at {} is different now; it was {was}\n",
            stored.at
        ))?;
    }
    Ok(replay)
}

pub(super) fn watch_made_again(
    stored: &StoredDecision,
    parts: &[(String, Vec<u8>)],
) -> Result<Replay, String> {
    let parts = parts.iter().map(|(name, body)| (name.as_str(), &**body));
    let is_same = record::replay(parts, &stored.body)?;
    Ok(if is_same {
        Replay::Same
    } else {
        Replay::Different
    })
}

/// The inputs of a decision, by name.
pub(super) async fn parts(
    store: &Store,
    stored: &StoredDecision,
) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut parts = Vec::with_capacity(stored.input.len());
    for (name, digest) in &stored.input {
        let body = store
            .part(digest)
            .await?
            .with_context(|| format!("decision {}: its input {name} is missing", stored.seq))?;
        parts.push((name.clone(), body));
    }
    Ok(parts)
}

/// Makes a decision again from its inputs; also as the log would keep it.
pub(super) fn make_again(
    stored: &StoredDecision,
    parts: &[(String, Vec<u8>)],
) -> Result<(FleetPlanner, Decision, serde_json::Value), String> {
    let input = input::from_parts(parts.iter().map(|(name, body)| (name.as_str(), &**body)));
    let (planner, decision) = dispatch(input.map_err(|problem| problem.to_string())?, stored.at);
    let made = log::logged(&decision, &planner);
    Ok((planner, decision, made))
}

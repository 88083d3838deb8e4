//! The audit log: who did what. Answers about it, the command that writes it out, and entries for what changes no other row of the
//! store.

use anyhow::{Context, bail, ensure};
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use towpath_core::fleet::{Actor, ClusterState, SoakSum};
use towpath_core::hex;
use towpath_formats::fleet::audit_log::export::{self, WholeEntry};
use towpath_formats::fleet::audit_log::{self as told, LoggedAct, heads};
use towpath_formats::fleet::token::Claims;
use towpath_store::{NewAct, Store, StoredDecision};
use towpath_web::{FleetAnswer, FleetForm, ReloadRequest};

use super::local_user::local_user;
use super::log_answers::{LogReader, unavailable};
use super::open;
use super::operator_acts::StoreArgs;
use crate::cli::print;
use crate::clock;
use crate::server::{Question, Server, ServerArgs};

/// The entries of a page, if nobody says how many, …
const PAGE: usize = 200;
/// … and the most.
const MAX_PAGE: usize = 1_000;
/// The most pages that a command asks a service for.
const MAX_PAGES: usize = 100_000;
/// The most names of clusters that an entry has.
const MAX_NAMED: usize = 100;

#[derive(Debug, Args)]
pub(crate) struct AuditLogArgs {
    /// Only what was done at this time or later.
    #[arg(long, value_name = "TIME", value_parser = clock::read)]
    since: Option<Timestamp>,
    /// Only what was done before this time.
    #[arg(long, value_name = "TIME", value_parser = clock::read)]
    until: Option<Timestamp>,
    /// Only entries after this number: the last that you have.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    after_entry: Option<i64>,
    /// At most this many entries.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Write the newest signed head of the log instead. Keep it elsewhere: it proves that nobody cut the log off.
    #[arg(long, conflicts_with_all = ["since", "until", "after_entry", "limit"])]
    head: bool,
    /// Write the whole log, with decisions and signed heads, so that `towpath fleet replay --export` can verify it without the store.
    #[arg(long, conflicts_with_all = ["since", "until", "after_entry", "limit", "head", "server"])]
    whole: bool,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) async fn audit_log(args: AuditLogArgs) -> anyhow::Result<bool> {
    let store = open(&args.store).await?;
    if args.head {
        let head = store.newest_signed_head().await?;
        return written_head(head.as_ref().map(heads::json));
    }
    if args.whole {
        return whole(&store).await;
    }
    let (mut after, mut left) = (args.after_entry.unwrap_or(0), args.left());
    while left > 0 {
        let limit = left.min(MAX_PAGE);
        let page = store.logged_acts(after, args.since, args.until, limit as u32);
        let acts = acts_of(&page.await?)?;
        let Some(last) = acts.last() else { break };
        after = last.sequence;
        print(&told::lines(&acts))?;
        left = left.saturating_sub(acts.len());
    }
    Ok(true)
}

impl AuditLogArgs {
    fn left(&self) -> usize {
        let most = self.limit.unwrap_or(u64::MAX);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// The same from a service, page by page.
    pub(super) fn asked(&self, server: &Server<'_>) -> anyhow::Result<bool> {
        let path = "/api/v1/fleet/audit-log";
        if self.head {
            let question = Question::new(path, [("limit", Some("1".to_owned()))]);
            let head = server.facts(&question)?["head"].take();
            return written_head(Some(head).filter(|head| !head.is_null()));
        }
        let (mut after, mut left) = (self.after_entry, self.left());
        for _ in 0..MAX_PAGES {
            let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
            let words = [
                ("since", time(self.since)),
                ("until", time(self.until)),
                ("after-entry", after.map(|after| after.to_string())),
                ("limit", Some(left.min(MAX_PAGE).to_string())),
            ];
            let page = server.facts(&Question::new(path, words))?;
            let acts = page["acts"].as_array();
            let acts = acts.context("the service's answer has no acts")?;
            let lines: String = acts.iter().map(|act| format!("{act}\n")).collect();
            print(&lines)?;
            left = left.saturating_sub(acts.len());
            after = page["next"].as_i64();
            if after.is_none() || left == 0 {
                return Ok(true);
            }
        }
        bail!("there are more than {MAX_PAGES} pages; go on with --after-entry")
    }
}

fn written_head(head: Option<Value>) -> anyhow::Result<bool> {
    let none = "no head of the log is signed; start the service with --log-key FILE";
    print(&format!("{}\n", head.context(none)?))?;
    Ok(true)
}

/// Every entry, then every signed head.
async fn whole(store: &Store) -> anyhow::Result<bool> {
    let checkpoint = store.chain_checkpoint().await?;
    let mut after = 0;
    if let Some(pruned) = checkpoint {
        print(&format!(
            "{}\n",
            export::pruned(pruned.seq, &pruned.hash, pruned.at)
        ))?;
        after = pruned.seq;
    }
    let mut heads_after = -1;
    loop {
        let page = store.decisions(after, 100).await?;
        for entry in &page {
            let line = export::entry(WholeEntry {
                sequence: entry.seq,
                at: entry.at,
                input: &entry.input,
                body: &entry.body,
                prev: &entry.prev,
                hash: &entry.hash,
            });
            print(&format!("{}\n", line.map_err(anyhow::Error::msg)?))?;
        }
        match page.last() {
            Some(last) => after = last.seq,
            None => break,
        }
    }
    // What is signed from now on is of entries that are not written.
    let end = after;
    loop {
        let page = store.signed_heads(heads_after, 1_000).await?;
        for head in page.iter().filter(|head| head.head.sequence <= end) {
            print(&format!("{}\n", export::head(head)))?;
        }
        match page.last() {
            Some(last) => heads_after = last.head.sequence,
            None => return Ok(true),
        }
    }
}

impl LogReader {
    /// What people and programs did, oldest first, and the newest signed head.
    pub(super) async fn acts_logged(
        self,
        after: i64,
        (since, until): (Option<Timestamp>, Option<Timestamp>),
        limit: Option<usize>,
        form: FleetForm,
    ) -> Result<FleetAnswer, FleetAnswer> {
        let limit = limit.unwrap_or(PAGE).min(MAX_PAGE);
        let page = self.store.logged_acts(after, since, until, limit as u32);
        let page = page.await.map_err(unavailable)?;
        let head = self.store.newest_signed_head().await.map_err(unavailable)?;
        let acts =
            acts_of(&page).map_err(|error| FleetAnswer::Unavailable(format!("{error:#}")))?;
        let next = acts.last().filter(|_| acts.len() == limit);
        let next = next.map(|last| last.sequence);
        Ok(match form {
            FleetForm::Json => {
                FleetAnswer::Json(told::page(&acts, next, head.as_ref()).to_string())
            }
            FleetForm::Text { .. } | FleetForm::Markdown => FleetAnswer::Text(told::lines(&acts)),
        })
    }
}

pub(super) fn acts_of(page: &[StoredDecision]) -> anyhow::Result<Vec<LoggedAct>> {
    let act = |entry: &StoredDecision| {
        ensure!(
            entry.is_act(),
            "entry {} of the log is marked as an act, and is none: the store was changed; see `towpath fleet check`",
            entry.seq
        );
        LoggedAct::read(entry.seq, entry.at, entry.hash, &entry.body).map_err(anyhow::Error::msg)
    };
    page.iter().map(act).collect()
}

/// Writes down that somebody imports, before it is done: it takes several transactions.
pub(super) async fn imported(
    store: &Store,
    clusters: &[ClusterState],
    soak: &[SoakSum],
    by: &str,
    now: Timestamp,
) -> towpath_store::Result<()> {
    let ids = clusters.iter().map(|state| state.id.as_str());
    let ids: Vec<&str> = ids.collect();
    let named = &ids[..ids.len().min(MAX_NAMED)];
    let mut digest = Sha256::new();
    for (id, state) in ids.iter().zip(clusters) {
        digest.update(format!("{id} {} {}\n", state.organisation, state.version));
    }
    for sum in soak {
        let (organisation, workload) = (&sum.organisation, &sum.workload);
        digest.update(format!(
            "{organisation} {workload} {} {}\n",
            sum.version, sum.seconds
        ));
    }
    let act = NewAct {
        act: "import",
        about: json!({"clusters": ids.len(), "named": named, "soak": soak.len()}),
        before: Value::Null,
        after: json!({"sha256": hex::encode(&digest.finalize())}),
        by,
        known_by: "",
        at: now,
        why: "",
    };
    store.log_act(act).await.map(|_| ())
}

/// Writes down that somebody makes a token, before it is shown. The token itself is never written.
pub(super) async fn token_made(
    store: &Store,
    claims: &Claims,
    whose: &str,
    now: Timestamp,
) -> towpath_store::Result<()> {
    let by = local_user();
    let act = NewAct {
        act: "make-token",
        about: json!({"serial": claims.serial.to_string(), "for": whose}),
        before: Value::Null,
        after: json!({"ends": claims.end.to_string()}),
        by: &by.name,
        known_by: &by.known_by,
        at: now,
        why: "",
    };
    store.log_act(act).await.map(|_| ())
}

/// Writes down that somebody has restored a backup into this store.
pub(super) async fn restored(
    store: &Store,
    from: &str,
    now: Timestamp,
) -> towpath_store::Result<()> {
    let by = local_user();
    let act = NewAct {
        act: "restore",
        about: json!({"file": from}),
        before: Value::Null,
        after: Value::Null,
        by: &by.name,
        known_by: &by.known_by,
        at: now,
        why: "",
    };
    store.log_act(act).await.map(|_| ())
}

/// Writes down that somebody overrules the checks of a source, before it is done.
pub(super) async fn overruled(
    store: &Store,
    reload: &ReloadRequest,
    actor: &Actor,
    now: Timestamp,
) -> towpath_store::Result<()> {
    let allow = reload.allow.iter().map(|objection| objection.name());
    let act = NewAct {
        act: "overrule-source",
        about: json!({"source": reload.source}),
        before: Value::Null,
        after: json!({"allow": allow.collect::<Vec<_>>(), "discard": reload.discard}),
        by: &actor.name,
        known_by: &actor.known_by,
        at: now,
        why: "",
    };
    store.log_act(act).await.map(|_| ())
}

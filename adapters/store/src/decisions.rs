//! The decision log: decisions and their inputs, in a hash chain that reveals changes.
//!
//! An entry names its inputs by digest; equal inputs are stored once. [`entry_hash`] says what its hash is over.
//!
//! What people did is in the same chain ([`crate::NewAct`]): an entry without inputs, whose body says so.
//!
//! Old entries may be pruned. A checkpoint then keeps the number and the hash of the last pruned entry ([`crate::Retention`]).
//!
//! The chain proves that the entries are unchanged and in order. Only a hash kept elsewhere, or a signature of it
//! ([`crate::Store::keep_signed_head`]), proves that its end was not cut off together with the counter.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use jiff::Timestamp;
use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use towpath_core::fleet::log_head::{NO_HASH, entry_hash};
use towpath_core::hex;

use crate::logged_acts::ACT_BODY;
use crate::rows::{self, damaged, nanoseconds, time};
use crate::{Lease, Result, Store, StoreError, Tx, bounded, schema};

/// The largest input, and the largest decision.
pub const MAX_PART_BYTES: usize = 512 << 20;
/// The most inputs of a decision.
const MAX_PARTS: usize = 1_000;
/// The most decisions that are read at once.
const MAX_PAGE: u32 = 1_000;
/// The most bytes of decisions that are read at once, newest first.
const MAX_PAGE_BYTES: i64 = 32 << 20;
/// The most problems that are reported for a chain.
const MAX_PROBLEMS: usize = 100;
pub(crate) const DECISION: &str = "seq, at, inputs, bytes, body, prev, hash";

/// An input of a decision.
#[derive(Debug, Clone)]
pub struct InputPart {
    pub name: String,
    /// The SHA-256 of its body.
    pub digest: [u8; 32],
    pub body: Arc<[u8]>,
}

/// A stored decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDecision {
    /// Its number. Numbers have no gaps.
    pub seq: i64,
    pub at: Timestamp,
    /// Its inputs, by name and digest: see [`Store::part`].
    pub input: Vec<(String, [u8; 32])>,
    pub body: Vec<u8>,
    /// The hash of the previous decision.
    pub prev: [u8; 32],
    pub hash: [u8; 32],
}

/// The last pruned decision. The chain continues from its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainCheckpoint {
    /// Its number. All decisions up to it are gone.
    pub seq: i64,
    pub hash: [u8; 32],
    pub at: Timestamp,
}

impl ChainCheckpoint {
    pub fn hex(&self) -> String {
        hex::encode(&self.hash)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainState {
    /// How many decisions there are.
    pub entries: i64,
    /// Its start, if older decisions were pruned.
    pub checkpoint: Option<ChainCheckpoint>,
    /// The hash of the newest decision.
    pub head: Option<[u8; 32]>,
    /// Problems of the chain. Empty is good.
    pub problems: Vec<String>,
}

impl Store {
    /// Appends a decision, and returns its number.
    pub async fn append_decision(
        &self,
        lease: &Lease,
        at: Timestamp,
        input: &[InputPart],
        body: &[u8],
    ) -> Result<i64> {
        check_parts(input, body)?;
        let at_ns = nanoseconds(at)?;
        // What is slow comes before the locks are taken.
        self.put_parts(input).await?;
        let packed = pack(body.into()).await?;
        bounded(async {
            let mut tx = self.act(lease).await?;
            let named: Vec<(String, [u8; 32])> = input
                .iter()
                .map(|part| (part.name.clone(), part.digest))
                .collect();
            let entry = NewEntry {
                at: at_ns,
                input: &named,
                body,
                packed,
                kind: None,
            };
            let seq = append(&mut tx, entry).await?;
            tx.commit().await?;
            Ok(seq)
        })
        .await
    }

    /// The decision of that number.
    pub async fn decision(&self, seq: i64) -> Result<Option<StoredDecision>> {
        let text = format!("SELECT {DECISION} FROM decisions WHERE seq = $1");
        let row = sqlx::query(AssertSqlSafe(text))
            .bind(seq)
            .fetch_optional(&self.inner.reader)
            .await?;
        row.as_ref().map(decision).transpose()
    }

    /// The decisions after that number, oldest first, up to a limit (a thousand at most).
    pub async fn decisions(&self, after: i64, limit: u32) -> Result<Vec<StoredDecision>> {
        page(&mut self.snapshot().await?, after, limit)
            .await?
            .iter()
            .map(decision)
            .collect()
    }

    /// The newest decisions before that number, newest first, without what people did: at most so many, and no more than a page of
    /// bytes, but at least one.
    pub async fn decisions_before(&self, before: i64, limit: u32) -> Result<Vec<StoredDecision>> {
        let mut tx = self.snapshot().await?;
        let text = format!(
            "SELECT seq, bytes FROM decisions WHERE seq < $1 AND kind IS NULL ORDER BY seq DESC LIMIT {}",
            limit.min(MAX_PAGE)
        );
        let sizes = sqlx::query(AssertSqlSafe(text)).bind(before);
        let (mut first, mut bytes) = (before, 0_i64);
        for row in sizes.fetch_all(tx.on()).await? {
            bytes = bytes.saturating_add(row.try_get(1)?);
            if bytes > MAX_PAGE_BYTES && first < before {
                break;
            }
            first = row.try_get(0)?;
        }
        let text = format!(
            "SELECT {DECISION} FROM decisions WHERE seq >= $1 AND seq < $2 AND kind IS NULL ORDER BY seq DESC LIMIT {MAX_PAGE}"
        );
        let rows = sqlx::query(AssertSqlSafe(text)).bind(first).bind(before);
        rows.fetch_all(tx.on())
            .await?
            .iter()
            .map(decision)
            .collect()
    }

    /// How many bytes the inputs of a decision have. One that is missing has none.
    pub async fn input_bytes(&self, decision: &StoredDecision) -> Result<u64> {
        let mut sum = 0_u64;
        for (_, digest) in &decision.input {
            let text = "SELECT bytes FROM parts WHERE digest = $1";
            let query = sqlx::query(text).bind(hex::encode(digest));
            if let Some(row) = query.fetch_optional(&self.inner.reader).await? {
                sum = sum.saturating_add(row.try_get::<i64, _>(0)?.try_into().unwrap_or(0));
            }
        }
        Ok(sum)
    }

    /// The number of the newest decision; 0 if there is none.
    pub async fn newest_decision(&self) -> Result<i64> {
        let text = "SELECT COALESCE(MAX(seq), 0) FROM decisions";
        Ok(sqlx::query(text)
            .fetch_one(&self.inner.reader)
            .await?
            .try_get(0)?)
    }

    /// The number after which the newest so many decisions are, without what people did; 0 if there are no more.
    pub async fn before_newest(&self, count: u32) -> Result<i64> {
        let text = format!(
            "SELECT seq FROM decisions WHERE kind IS NULL ORDER BY seq DESC LIMIT 1 OFFSET {count}"
        );
        let query = sqlx::query(AssertSqlSafe(text));
        let row = query.fetch_optional(&self.inner.reader).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?.unwrap_or(0))
    }

    /// An input of a decision, by its digest.
    pub async fn part(&self, digest: &[u8; 32]) -> Result<Option<Vec<u8>>> {
        let text = "SELECT bytes, body FROM parts WHERE digest = $1";
        let row = sqlx::query(text)
            .bind(hex::encode(digest))
            .fetch_optional(&self.inner.reader)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let body = unpack(&row.try_get::<Vec<u8>, _>(1)?, row.try_get(0)?)?;
        match <[u8; 32]>::from(Sha256::digest(&body)) == *digest {
            true => Ok(Some(body)),
            false => Err(damaged(
                "an input of a decision",
                format!("its digest is not {}", hex::encode(digest)),
            )),
        }
    }

    /// The last pruned decision, if any.
    pub async fn chain_checkpoint(&self) -> Result<Option<ChainCheckpoint>> {
        read_checkpoint(&mut self.snapshot().await?).await
    }

    /// Verifies the whole chain, inputs included.
    pub async fn verify_chain(&self) -> Result<ChainState> {
        verify(&mut self.snapshot().await?).await
    }

    /// Stores new inputs. One that no decision names in the end does no harm.
    async fn put_parts(&self, input: &[InputPart]) -> Result<()> {
        for part in input {
            let digest = hex::encode(&part.digest);
            let known =
                sqlx::query("SELECT bytes FROM parts WHERE digest = $1").bind(digest.as_str());
            if known.fetch_optional(&self.inner.reader).await?.is_some() {
                continue;
            }
            let packed = pack(part.body.clone()).await?;
            bounded(async {
                let mut tx = self.write().await?;
                let text =
                    "INSERT INTO parts (digest, bytes, body) VALUES ($1, $2, $3) ON CONFLICT (digest) DO NOTHING";
                let query = sqlx::query(text).bind(digest).bind(length(&part.body)).bind(packed);
                query.execute(tx.on()).await?;
                tx.commit().await
            })
            .await?;
        }
        Ok(())
    }
}

/// An entry to be appended to the log.
pub(crate) struct NewEntry<'a> {
    pub(crate) at: i64,
    pub(crate) input: &'a [(String, [u8; 32])],
    pub(crate) body: &'a [u8],
    /// The body, compressed.
    pub(crate) packed: Vec<u8>,
    pub(crate) kind: Option<&'static str>,
}

/// Appends an entry, and returns its number. It locks the counter of entries, after every other lock.
pub(crate) async fn append(tx: &mut Tx, entry: NewEntry<'_>) -> Result<i64> {
    let next = "UPDATE counters SET value = value + 1 WHERE name = 'decisions' RETURNING value";
    let seq: i64 = sqlx::query(next).fetch_one(tx.on()).await?.try_get(0)?;
    let last = sqlx::query("SELECT hash FROM decisions WHERE seq = $1").bind(seq - 1);
    let prev = match last.fetch_optional(tx.on()).await? {
        Some(row) => digest_of(&row.try_get::<Vec<u8>, _>(0)?)?,
        None if seq == 1 => NO_HASH,
        None => {
            return Err(damaged(
                "the decision log",
                format!("decision {} is missing", seq - 1),
            ));
        }
    };
    let hash = entry_hash(&prev, seq, entry.at, entry.input, entry.body);
    let inputs: Vec<_> = entry
        .input
        .iter()
        .map(|(name, digest)| (name, hex::encode(digest)))
        .collect();
    let text = "INSERT INTO decisions (seq, at, inputs, bytes, body, prev, hash, kind) \
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let query = sqlx::query(text)
        .bind(seq)
        .bind(entry.at)
        .bind(json!(inputs).to_string());
    let query = query
        .bind(length(entry.body))
        .bind(entry.packed)
        .bind(prev.to_vec())
        .bind(hash.to_vec())
        .bind(entry.kind.map(str::to_owned));
    query.execute(tx.on()).await?;
    Ok(seq)
}

/// Verifies the chain as this transaction sees it.
pub(crate) async fn verify(tx: &mut Tx) -> Result<ChainState> {
    let mut state = ChainState {
        checkpoint: read_checkpoint(tx).await?,
        ..ChainState::default()
    };
    let (mut expected, mut prev) = beginning(state.checkpoint.as_ref());
    let mut acts = BTreeSet::new();
    loop {
        let rows = page(tx, expected - 1, MAX_PAGE).await?;
        for row in &rows {
            let seq: i64 = row.try_get(0)?;
            match decision(row) {
                Ok(entry) => {
                    if entry.is_act() {
                        acts.insert(seq);
                    }
                    prev = entry.follow(expected, &prev, &mut state.problems);
                }
                Err(error) => state.problems.push(format!("decision {seq}: {error}")),
            }
            state.entries += 1;
            expected = seq + 1;
        }
        if rows.is_empty() || state.problems.len() > MAX_PROBLEMS {
            break;
        }
    }
    state.head = (state.entries > 0).then_some(prev);
    let counted: i64 = sqlx::query("SELECT value FROM counters WHERE name = 'decisions'")
        .fetch_one(tx.on())
        .await?
        .try_get(0)?;
    if counted != expected - 1 {
        state.problems.push(format!(
            "{counted} decisions were made, the newest there is {}",
            expected - 1
        ));
    }
    verify_kinds(tx, &acts, &mut state.problems).await?;
    verify_parts(tx, &mut state.problems).await?;
    state.problems.truncate(MAX_PROBLEMS);
    Ok(state)
}

/// The last pruned decision. A backup of an older program has none.
pub(crate) async fn read_checkpoint(tx: &mut Tx) -> Result<Option<ChainCheckpoint>> {
    if schema::found(tx).await? < schema::since("checkpoints", "seq") {
        return Ok(None);
    }
    let text = "SELECT seq, hash, at FROM checkpoints WHERE name = 'decisions'";
    let Some(row) = sqlx::query(text).fetch_optional(tx.on()).await? else {
        return Ok(None);
    };
    let hash = digest_of(&row.try_get::<Vec<u8>, _>(1)?)?;
    Ok(Some(ChainCheckpoint {
        seq: row.try_get(0)?,
        hash,
        at: time(row.try_get(2)?),
    }))
}

/// The first number, and the previous hash that it must name.
pub(crate) fn beginning(checkpoint: Option<&ChainCheckpoint>) -> (i64, [u8; 32]) {
    checkpoint.map_or((1, NO_HASH), |checkpoint| {
        (checkpoint.seq + 1, checkpoint.hash)
    })
}

/// A verified part of the chain.
#[derive(Default)]
pub(crate) struct Stretch {
    /// Its last entry, by number and hash.
    pub(crate) last: Option<(i64, [u8; 32])>,
    /// The digests of all inputs that it names.
    pub(crate) named: BTreeSet<String>,
    pub(crate) problems: Vec<String>,
}

/// Verifies the chain from its start to that number, up to a limit of entries.
pub(crate) async fn follow_stretch(
    tx: &mut Tx,
    checkpoint: Option<&ChainCheckpoint>,
    last: i64,
    limit: u32,
) -> Result<Stretch> {
    let (mut expected, mut prev) = beginning(checkpoint);
    let mut stretch = Stretch::default();
    for row in page(tx, expected - 1, limit).await? {
        let entry = decision(&row)?;
        if entry.seq > last {
            break;
        }
        prev = entry.follow(expected, &prev, &mut stretch.problems);
        expected = entry.seq + 1;
        stretch
            .named
            .extend(entry.input.iter().map(|(_, digest)| hex::encode(digest)));
        stretch.last = Some((entry.seq, prev));
    }
    Ok(stretch)
}

impl StoredDecision {
    /// Whether it is what somebody did, and no decision.
    pub fn is_act(&self) -> bool {
        self.input.is_empty() && self.body.starts_with(ACT_BODY)
    }

    /// Checks an entry's place in the chain. Returns the hash that the next entry must name.
    fn follow(&self, expected: i64, prev: &[u8; 32], problems: &mut Vec<String>) -> [u8; 32] {
        let seq = self.seq;
        if seq != expected {
            problems.push(format!("decision {expected} is missing"));
        } else if self.prev != *prev {
            problems.push(format!("decision {seq} does not follow the one before it"));
        }
        let at = nanoseconds(self.at).unwrap_or_default();
        if entry_hash(&self.prev, seq, at, &self.input, &self.body) != self.hash {
            problems.push(format!(
                "decision {seq} was changed: its hash does not match"
            ));
        }
        self.hash
    }
}

/// Checks that what is marked as somebody's act is one, and nothing else: the mark is not under the hash.
async fn verify_kinds(tx: &mut Tx, acts: &BTreeSet<i64>, problems: &mut Vec<String>) -> Result<()> {
    if schema::found(tx).await? < schema::since("decisions", "kind") {
        return Ok(());
    }
    let text = "SELECT seq FROM decisions WHERE kind IS NOT NULL";
    let rows = sqlx::query(text).fetch_all(tx.on()).await?;
    let marked = rows.iter().map(|row| row.try_get(0));
    let marked: BTreeSet<i64> = marked.collect::<sqlx::Result<_>>()?;
    let wrong = acts.symmetric_difference(&marked).take(MAX_PROBLEMS);
    problems.extend(wrong.map(|seq| {
        format!("entry {seq} is marked as another kind of entry than it is, so lists leave it out")
    }));
    Ok(())
}

/// Checks that each named input exists and matches its digest. One at a time, because they may be large.
async fn verify_parts(tx: &mut Tx, problems: &mut Vec<String>) -> Result<()> {
    let text = match tx.backend {
        crate::Backend::Sqlite => {
            "SELECT DISTINCT CAST(j.value->>1 AS TEXT) FROM decisions, json_each(decisions.inputs) AS j"
        }
        crate::Backend::Postgres => {
            "SELECT DISTINCT j.value->>1 FROM decisions, jsonb_array_elements(CAST(inputs AS jsonb)) AS j(value)"
        }
    };
    let named = sqlx::query(text).fetch_all(tx.on()).await?;
    for row in &named {
        let digest = rows::text(row, 0)?;
        let query =
            sqlx::query("SELECT bytes, body FROM parts WHERE digest = $1").bind(digest.as_str());
        let problem = match query.fetch_optional(tx.on()).await? {
            None => Some("is missing"),
            Some(row) => match unpack(&row.try_get::<Vec<u8>, _>(1)?, row.try_get(0)?) {
                Ok(body) if hex::encode(&Sha256::digest(&body)) == digest => None,
                _ => Some("was changed"),
            },
        };
        problems
            .extend(problem.map(|problem| format!("the input {digest} of a decision {problem}")));
        if problems.len() > MAX_PROBLEMS {
            break;
        }
    }
    Ok(())
}

pub(crate) async fn page(tx: &mut Tx, after: i64, limit: u32) -> Result<Vec<AnyRow>> {
    let text = format!(
        "SELECT {DECISION} FROM decisions WHERE seq > $1 ORDER BY seq LIMIT {}",
        limit.min(MAX_PAGE)
    );
    Ok(sqlx::query(AssertSqlSafe(text))
        .bind(after)
        .fetch_all(tx.on())
        .await?)
}

pub(crate) fn decision(row: &AnyRow) -> Result<StoredDecision> {
    let inputs: Vec<(String, String)> = serde_json::from_str(&rows::text(row, 2)?)
        .map_err(|error| damaged("the inputs of a decision", error))?;
    let blob = |column: usize| Ok::<Vec<u8>, StoreError>(row.try_get(column)?);
    Ok(StoredDecision {
        seq: row.try_get(0)?,
        at: time(row.try_get(1)?),
        input: inputs
            .into_iter()
            .map(|(name, digest)| {
                Ok((
                    name,
                    hex::decode(&digest).ok_or_else(|| damaged("a digest", &digest))?,
                ))
            })
            .collect::<Result<_>>()?,
        body: unpack(&blob(4)?, row.try_get(3)?)?,
        prev: digest_of(&blob(5)?)?,
        hash: digest_of(&blob(6)?)?,
    })
}

fn check_parts(input: &[InputPart], body: &[u8]) -> Result<()> {
    let too_large = input
        .iter()
        .map(|part| part.body.len())
        .chain([body.len()])
        .any(|len| len > MAX_PART_BYTES);
    if too_large || input.len() > MAX_PARTS {
        return Err(StoreError::Bad(format!(
            "a decision has more than {MAX_PARTS} inputs, or one of more than {MAX_PART_BYTES} bytes"
        )));
    }
    let wrong = |part: &&InputPart| <[u8; 32]>::from(Sha256::digest(&part.body)) != part.digest;
    match input.iter().find(wrong) {
        Some(part) => Err(StoreError::Bad(format!(
            "the digest of the input {:?} is not its SHA-256",
            part.name
        ))),
        None => Ok(()),
    }
}

/// Compresses on a blocking thread.
async fn pack(body: Arc<[u8]>) -> Result<Vec<u8>> {
    tokio::task::spawn_blocking(move || packed(&body))
        .await
        .map_err(|error| StoreError::Bad(error.to_string()))?
}

/// Compresses at once: for what is small.
pub(crate) fn packed(body: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder.write_all(body).and_then(|()| encoder.finish());
    packed.map_err(|error| StoreError::Bad(format!("it cannot be compressed: {error}")))
}

/// Unpacks, but never more bytes than expected.
fn unpack(packed: &[u8], bytes: i64) -> Result<Vec<u8>> {
    let expected = usize::try_from(bytes)
        .ok()
        .filter(|&bytes| bytes <= MAX_PART_BYTES);
    let expected = expected.ok_or_else(|| damaged("a body", format!("{bytes} bytes")))?;
    let mut body = Vec::with_capacity(expected.min(1 << 20));
    let limit = u64::try_from(expected)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    ZlibDecoder::new(packed)
        .take(limit)
        .read_to_end(&mut body)
        .map_err(|error| damaged("a body", error))?;
    match body.len() == expected {
        true => Ok(body),
        false => Err(damaged(
            "a body",
            format!("it does not have the expected {expected} bytes"),
        )),
    }
}

fn length(body: &[u8]) -> i64 {
    i64::try_from(body.len()).unwrap_or(i64::MAX)
}

pub(crate) fn digest_of(bytes: &[u8]) -> Result<[u8; 32]> {
    bytes
        .try_into()
        .map_err(|_| damaged("a hash", format!("it has {} bytes", bytes.len())))
}

//! One round of questions to the signature stores. Each store and the whole round have a time limit, so a slow store only costs its own time.

use std::cell::{Cell, RefCell};

use jiff::Timestamp;
use tokio::time::Instant;
use towpath_core::finding::{Finding, Place};
use towpath_core::signatures::{PayloadDigest, Refusal, SignatureVerdict, Signer};
use towpath_formats::signatures::{Keyring, MAX_SIGNATURES, nearest, verify};
use towpath_sources::SignatureStore;

use super::RoundLimits;
use super::stores::{ConfiguredStore, StoreReport};

/// After this many failures in a row a store is not asked again in this round.
const MAX_FAILURES: usize = 5;

/// One look at the stores, by one thread.
pub(super) struct Round<'a> {
    keyring: &'a Keyring,
    cache: Option<&'a SignatureStore>,
    asked: Vec<RoundStore<'a>>,
    patience: RoundLimits,
    began: Instant,
    now: Timestamp,
}

/// A store, as this round knows it.
struct RoundStore<'a> {
    store: &'a SignatureStore,
    first_asked: Cell<Option<Instant>>,
    /// How often it failed in a row.
    failures: Cell<usize>,
    answers: Cell<usize>,
    failure: RefCell<Option<Finding>>,
}

/// What came of looking for the signatures of one payload.
pub(super) struct SearchResult {
    pub(super) digest: PayloadDigest,
    pub(super) verdict: SignatureVerdict,
    /// What it was verified by.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) warning: Option<Finding>,
}

/// What one store has.
pub(super) enum StoreAnswer {
    Signed { signer: Signer, bytes: Vec<u8> },
    NotSigned(Vec<Refusal>),
    NotKnown(Finding),
}

impl<'a> Round<'a> {
    pub(super) fn new(
        keyring: &'a Keyring,
        stores: &'a [ConfiguredStore],
        cache: Option<&'a SignatureStore>,
        patience: RoundLimits,
        now: Timestamp,
    ) -> Self {
        let asked = stores.iter().map(|store| RoundStore {
            store: store.place(),
            first_asked: Cell::default(),
            failures: Cell::default(),
            answers: Cell::default(),
            failure: RefCell::default(),
        });
        Self {
            keyring,
            cache,
            asked: asked.collect(),
            patience,
            began: Instant::now(),
            now,
        }
    }

    /// Looks for one that counts: in what is remembered, then in each store.
    pub(super) async fn look(&self, digest: PayloadDigest) -> SearchResult {
        let verified = |signer, bytes, warning| SearchResult {
            digest,
            verdict: SignatureVerdict::Verified(signer),
            bytes: Some(bytes),
            warning,
        };
        if let Some(cache) = self.cache
            && let StoreAnswer::Signed { signer, bytes } =
                ask(cache, self.keyring, digest, self.now).await
        {
            return verified(signer, bytes, None);
        }
        let (mut refusals, mut failure) = (Vec::new(), None);
        for asked in &self.asked {
            match self.ask(asked, digest).await {
                StoreAnswer::Signed { signer, bytes } => {
                    let warning = self
                        .cache
                        .and_then(|cache| cache.keep(digest, &bytes).err());
                    return verified(signer, bytes, warning);
                }
                StoreAnswer::NotSigned(more) => refusals.extend(more),
                StoreAnswer::NotKnown(finding) => {
                    failure = Some(format!("{}: {}", finding.place, finding.problem))
                }
            }
        }
        let verdict = match (failure, nearest(refusals)) {
            // A good one may be where we could not look.
            (Some(problem), _) => SignatureVerdict::NotKnown(problem),
            (None, Some(refusal)) => SignatureVerdict::Refused(refusal),
            (None, None) => SignatureVerdict::Missing,
        };
        SearchResult {
            digest,
            verdict,
            bytes: None,
            warning: None,
        }
    }

    /// What was heard of each store.
    pub(super) fn heard(self) -> Vec<StoreReport> {
        let of = |asked: RoundStore<'_>| match (asked.failure.into_inner(), asked.answers.get()) {
            (Some(finding), 0) => StoreReport::Nothing(finding),
            (Some(finding), _) => StoreReport::Some(finding),
            (None, 0) => StoreReport::Unasked,
            (None, _) => StoreReport::All,
        };
        self.asked.into_iter().map(of).collect()
    }

    async fn ask(&self, asked: &RoundStore<'_>, digest: PayloadDigest) -> StoreAnswer {
        let first_asked = asked.first_asked.get().unwrap_or_else(Instant::now);
        asked.first_asked.set(Some(first_asked));
        let deadline = (first_asked + self.patience.store).min(self.began + self.patience.round);
        let has_failed = asked.failures.get() >= MAX_FAILURES;
        let answer = match (has_failed, Instant::now() >= deadline) {
            (true, _) => return StoreAnswer::NotKnown(given_up(asked.store)),
            (false, true) => StoreAnswer::NotKnown(slow(asked.store)),
            (false, false) => {
                let answer = tokio::time::timeout_at(
                    deadline,
                    ask(asked.store, self.keyring, digest, self.now),
                )
                .await;
                answer.unwrap_or_else(|_| StoreAnswer::NotKnown(slow(asked.store)))
            }
        };
        match &answer {
            StoreAnswer::NotKnown(finding) => {
                asked.failures.set(asked.failures.get() + 1);
                asked.failure.replace(Some(finding.clone()));
            }
            StoreAnswer::Signed { .. } | StoreAnswer::NotSigned(_) => {
                asked.failures.set(0);
                asked.answers.set(asked.answers.get() + 1);
            }
        }
        answer
    }
}

/// Looks at signature-1, -2, … until one counts, or there are no more.
pub(super) async fn ask(
    store: &SignatureStore,
    keyring: &Keyring,
    digest: PayloadDigest,
    now: Timestamp,
) -> StoreAnswer {
    let mut refusals = Vec::new();
    for number in 1..=MAX_SIGNATURES {
        match store.signature(digest, number).await {
            Ok(None) => break,
            Err(finding) => return StoreAnswer::NotKnown(finding),
            Ok(Some(bytes)) => match verify(&bytes, keyring, digest, now) {
                Ok(signer) => return StoreAnswer::Signed { signer, bytes },
                Err(refusal) => refusals.push(refusal),
            },
        }
    }
    StoreAnswer::NotSigned(refusals)
}

fn given_up(store: &SignatureStore) -> Finding {
    let problem =
        format!("it failed {MAX_FAILURES} times in a row; Towpath asks it again in the next round");
    Finding::error(
        "signature-store",
        Place::file(store.name()),
        problem,
        "make sure that it can be reached",
    )
}

fn slow(store: &SignatureStore) -> Finding {
    let problem = "it is too slow for this round; Towpath asks for the rest in the next round";
    Finding::error(
        "signature-store-slow",
        Place::file(store.name()),
        problem,
        "find out why it is slow, or use a nearer one",
    )
}

//! The signatures of payloads: looked for in stores, verified, and remembered.
//!
//! What is remembered on disk are the signatures themselves, in a store of our own that is asked first. They are
//! verified like any other, so nothing is believed because it was written down.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt;
use jiff::Timestamp;
use towpath_core::domain::{PayloadDigest, Refusal, SignatureVerdict, Signer};
use towpath_core::finding::Finding;
use towpath_core::signatures::Verdicts;
use towpath_formats::SourceFile;
use towpath_formats::signatures::{Keyring, MAX_KEYRING_BYTES, MAX_SIGNATURES, nearest, verify};
use towpath_sources::{SignatureStore, StoreAccess, read_file};

/// How many payloads are looked at side by side.
const CONCURRENCY: usize = 16;
/// A store that fails so often in a row is not asked again in this round.
const MAX_FAILURES: usize = 5;

/// Whose signatures count, and where they are looked for.
#[derive(Debug)]
pub(crate) struct Verifier {
    keyring: Keyring,
    stores: Vec<SignatureStore>,
    cache: Option<SignatureStore>,
    /// Who signed the payloads that were verified with this keyring.
    known: BTreeMap<PayloadDigest, Signer>,
}

impl Verifier {
    /// Reads the keyring and opens the stores, with warnings; or says what is wrong with them.
    pub(crate) fn new(
        keyring: &[PathBuf],
        stores: &[String],
        cache: Option<&Path>,
        access: &StoreAccess,
    ) -> Result<(Self, Vec<Finding>), Vec<Finding>> {
        let file = |path: &PathBuf| {
            let bytes = read_file(path, MAX_KEYRING_BYTES).map_err(|finding| vec![finding])?;
            Ok(SourceFile { path: path.display().to_string(), bytes: bytes.into() })
        };
        let files = keyring.iter().map(file).collect::<Result<Vec<_>, Vec<Finding>>>()?;
        let (keyring, warnings) = Keyring::read(&files)?;
        let open = |name: &String| SignatureStore::open(name, access).map_err(|finding| vec![finding]);
        let stores = stores.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let cache = cache.map(SignatureStore::cache);
        Ok((Self { keyring, stores, cache, known: BTreeMap::new() }, warnings))
    }

    /// Everything that was verified so far.
    pub(crate) fn known(&self) -> Verdicts {
        let known = self.known.iter();
        known.map(|(digest, signer)| (*digest, SignatureVerdict::Verified(signer.clone()))).collect()
    }

    /// Those of these payloads that are verified by what is remembered, without asking any store.
    pub(crate) async fn remembered(&mut self, wanted: &BTreeSet<PayloadDigest>, now: Timestamp) -> Verdicts {
        let is_current = |signer: &Signer| signer.until.is_none_or(|until| until > now);
        let round = Round { verifier: &*self, failures: Vec::new(), now };
        let mut found: Vec<(PayloadDigest, Signer)> = Vec::new();
        for digest in wanted {
            match (self.known.get(digest).filter(|signer| is_current(signer)), &self.cache) {
                (Some(signer), _) => found.push((*digest, signer.clone())),
                (None, Some(cache)) => {
                    if let Answer::Signed { signer, .. } = round.ask(cache, *digest).await {
                        found.push((*digest, signer));
                    }
                }
                (None, None) => {}
            }
        }
        self.known.extend(found.iter().cloned());
        found.into_iter().map(|(digest, signer)| (digest, SignatureVerdict::Verified(signer))).collect()
    }

    /// What is known of each of these payloads, with warnings about what could not be remembered. Those that were
    /// verified before are not looked for again.
    pub(crate) async fn verdicts(
        &mut self,
        wanted: &BTreeSet<PayloadDigest>,
        now: Timestamp,
    ) -> (Verdicts, Vec<Finding>) {
        self.known.retain(|digest, signer| wanted.contains(digest) && signer.until.is_none_or(|until| until > now));
        let missing: Vec<PayloadDigest> = wanted.iter().filter(|one| !self.known.contains_key(one)).copied().collect();
        let round =
            Round { verifier: &*self, failures: self.stores.iter().map(|_| AtomicUsize::new(0)).collect(), now };
        let looked: Vec<Looked> = futures_util::stream::iter(missing)
            .map(|digest| round.look(digest))
            .buffer_unordered(CONCURRENCY)
            .collect()
            .await;
        let mut verdicts = self.known();
        let mut warnings = Vec::new();
        for Looked { digest, verdict, warning } in looked {
            if let SignatureVerdict::Verified(signer) = &verdict {
                self.known.insert(digest, signer.clone());
            }
            verdicts.insert(digest, verdict);
            warnings.extend(warning);
        }
        warnings.sort();
        // They differ in the digest only.
        warnings.truncate(1);
        (verdicts, warnings)
    }
}

/// One look at the stores.
struct Round<'a> {
    verifier: &'a Verifier,
    /// Of each store, how often it failed in a row.
    failures: Vec<AtomicUsize>,
    now: Timestamp,
}

/// What came of looking for the signatures of one payload.
struct Looked {
    digest: PayloadDigest,
    verdict: SignatureVerdict,
    warning: Option<Finding>,
}

/// What one store has.
enum Answer {
    Signed { signer: Signer, bytes: Vec<u8> },
    NotSigned(Vec<Refusal>),
    NotKnown(String),
}

impl Round<'_> {
    async fn look(&self, digest: PayloadDigest) -> Looked {
        let cache = self.verifier.cache.as_ref();
        if let Some(cache) = cache
            && let Answer::Signed { signer, .. } = self.ask(cache, digest).await
        {
            return Looked { digest, verdict: SignatureVerdict::Verified(signer), warning: None };
        }
        let (mut refusals, mut failure) = (Vec::new(), None);
        for (store, failures) in self.verifier.stores.iter().zip(&self.failures) {
            if failures.load(Ordering::Relaxed) >= MAX_FAILURES {
                failure = Some(format!("{} failed {MAX_FAILURES} times in a row", store.name()));
                continue;
            }
            match self.ask(store, digest).await {
                Answer::Signed { signer, bytes } => {
                    let warning = cache.and_then(|cache| cache.keep(digest, &bytes).err());
                    return Looked { digest, verdict: SignatureVerdict::Verified(signer), warning };
                }
                Answer::NotSigned(more) => {
                    failures.store(0, Ordering::Relaxed);
                    refusals.extend(more);
                }
                Answer::NotKnown(problem) => {
                    failures.fetch_add(1, Ordering::Relaxed);
                    failure = Some(problem);
                }
            }
        }
        let verdict = match (failure, nearest(refusals)) {
            // A good one may be where we could not look.
            (Some(problem), _) => SignatureVerdict::NotKnown(problem),
            (None, Some(refusal)) => SignatureVerdict::Refused(refusal),
            (None, None) => SignatureVerdict::Missing,
        };
        Looked { digest, verdict, warning: None }
    }

    /// Looks at signature-1, -2, … until one counts, or there are no more.
    async fn ask(&self, store: &SignatureStore, digest: PayloadDigest) -> Answer {
        let mut refusals = Vec::new();
        for number in 1..=MAX_SIGNATURES {
            match store.signature(digest, number).await {
                Ok(None) => break,
                Err(finding) => return Answer::NotKnown(format!("{}: {}", finding.place, finding.problem)),
                Ok(Some(bytes)) => match verify(&bytes, &self.verifier.keyring, digest, self.now) {
                    Ok(signer) => return Answer::Signed { signer, bytes },
                    Err(refusal) => refusals.push(refusal),
                },
            }
        }
        Answer::NotSigned(refusals)
    }
}

//! The signatures of payloads: searched in stores, verified, and saved.
//!
//! The signatures themselves are saved, in memory and in a store on disk that is asked first. They are verified like any other:
//! nothing counts because it was saved, and a new keyring judges them again.

mod keys;
mod round;
mod stores;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use jiff::Timestamp;
use tokio::time::Instant;
use towpath_core::finding::Finding;
use towpath_core::signatures::{PayloadDigest, SignatureVerdict, Signer, Verdicts};
use towpath_formats::signatures::verify;
use towpath_sources::{SignatureStore, StoreAccess};
use towpath_web::SignatureHealth;

pub(crate) use keys::{KeyringReread, Keys};
use round::{Round, SearchResult};
use stores::ConfiguredStore;

/// How many payloads are looked at side by side.
const CONCURRENCY: usize = 16;
/// The largest signature that is remembered in memory; real ones have less than 1 KiB. Larger ones are looked for again.
const MAX_REMEMBERED_BYTES: usize = 8 << 10;

/// How long things may take in one round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundLimits {
    /// One store, from when it is first asked.
    pub(crate) store: Duration,
    /// All of them.
    pub(crate) round: Duration,
    /// How long results are collected before they are handed over.
    pub(crate) part: Duration,
}

impl Default for RoundLimits {
    fn default() -> Self {
        Self {
            store: Duration::from_secs(120),
            round: Duration::from_secs(600),
            part: Duration::from_secs(5),
        }
    }
}

/// Whether a round goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    On,
    /// Something else is wanted now. What was found is kept.
    Stop,
}

/// Whose signatures count, and where they are looked for.
#[derive(Debug)]
pub(crate) struct Verifier {
    keys: Keys,
    stores: Vec<ConfiguredStore>,
    cache: Option<SignatureStore>,
    patience: RoundLimits,
    /// The payloads that were verified with this keyring.
    known: BTreeMap<PayloadDigest, KnownSignature>,
    /// What was said of all of them.
    last: Verdicts,
}

/// Who signed a payload, and by which bytes.
#[derive(Debug, Clone)]
struct KnownSignature {
    signer: Signer,
    bytes: Option<Vec<u8>>,
}

impl KnownSignature {
    fn new(signer: Signer, bytes: Vec<u8>) -> Self {
        Self {
            signer,
            bytes: Some(bytes).filter(|bytes| bytes.len() <= MAX_REMEMBERED_BYTES),
        }
    }

    fn verdict(&self) -> SignatureVerdict {
        SignatureVerdict::Verified(self.signer.clone())
    }

    fn is_current(&self, now: Timestamp) -> bool {
        self.signer.until.is_none_or(|until| until > now)
    }
}

impl Verifier {
    /// Reads the keyring and opens the stores, with warnings; or says what is wrong with them.
    pub(crate) fn new(
        keyring: &[PathBuf],
        stores: &[String],
        cache: Option<&Path>,
        access: &StoreAccess,
    ) -> Result<(Self, Vec<Finding>), Vec<Finding>> {
        let (keys, warnings) = Keys::read(keyring)?;
        let stores = stores.iter().enumerate();
        let open = |(number, name): (usize, &String)| {
            ConfiguredStore::open(number, name, access).map_err(|finding| vec![finding])
        };
        let stores = stores.map(open).collect::<Result<Vec<_>, _>>()?;
        let cache = cache.map(SignatureStore::cache);
        let (known, last, patience) = (BTreeMap::new(), Verdicts::new(), RoundLimits::default());
        Ok((
            Self {
                keys,
                stores,
                cache,
                patience,
                known,
                last,
            },
            warnings,
        ))
    }

    /// Reads the keyring again. If it cannot be used the old one stays, and what is wrong is told; else what is known is judged by the new one.
    pub(crate) fn read_keyring_again(&mut self, now: Timestamp) -> Vec<Finding> {
        match self.keys.read_again(now) {
            keys::KeyringReread::Broken(findings) => findings,
            keys::KeyringReread::Same => Vec::new(),
            keys::KeyringReread::Changed(warnings) => {
                let keyring = self.keys.keyring();
                let judged = |digest: &PayloadDigest, known: &KnownSignature| {
                    let bytes = known.bytes.clone()?;
                    let signer = verify(&bytes, keyring, *digest, now).ok()?;
                    Some((*digest, KnownSignature::new(signer, bytes)))
                };
                self.known = self
                    .known
                    .iter()
                    .filter_map(|(digest, known)| judged(digest, known))
                    .collect();
                self.last.clear();
                warnings
            }
        }
    }

    /// A name for the keys that are in use.
    pub(crate) fn keyring_digest(&self) -> [u8; 32] {
        self.keys.keyring().digest()
    }

    /// Everything that was verified so far.
    pub(crate) fn known(&self) -> Verdicts {
        self.known
            .iter()
            .map(|(digest, known)| (*digest, known.verdict()))
            .collect()
    }

    /// How the keyring and the stores are.
    pub(crate) fn health(&self) -> SignatureHealth {
        SignatureHealth {
            keyring: self.keys.health(),
            stores: self.stores.iter().map(ConfiguredStore::health).collect(),
        }
    }

    /// What is known of these payloads by what is remembered, without asking any store.
    pub(crate) async fn remembered(
        &mut self,
        wanted: &BTreeSet<PayloadDigest>,
        now: Timestamp,
    ) -> Verdicts {
        self.known
            .retain(|digest, known| wanted.contains(digest) && known.is_current(now));
        if let Some(cache) = &self.cache {
            for digest in wanted {
                if !self.known.contains_key(digest)
                    && let round::StoreAnswer::Signed { signer, bytes } =
                        round::ask(cache, self.keys.keyring(), *digest, now).await
                {
                    self.known
                        .insert(*digest, KnownSignature::new(signer, bytes));
                }
            }
        }
        let mut verdicts = self.last.clone();
        verdicts.retain(|digest, verdict| {
            wanted.contains(digest) && !matches!(verdict, SignatureVerdict::Verified(_))
        });
        verdicts.extend(self.known());
        verdicts
    }

    /// What is known of each of these payloads, with warnings about what could not be remembered. Those that were
    /// verified before are not looked for again. What is known so far is handed over in parts, while others are looked for.
    pub(crate) async fn verdicts(
        &mut self,
        wanted: &BTreeSet<PayloadDigest>,
        now: Timestamp,
        part: &mut dyn FnMut(Option<&Verdicts>) -> Go,
    ) -> (Verdicts, Vec<Finding>) {
        self.known
            .retain(|digest, known| wanted.contains(digest) && known.is_current(now));
        self.last.retain(|digest, verdict| {
            wanted.contains(digest) && !matches!(verdict, SignatureVerdict::Verified(_))
        });
        let mut verdicts = std::mem::take(&mut self.last);
        let missing = self.missing(wanted, &verdicts);
        verdicts.extend(self.known());
        let round = Round::new(
            self.keys.keyring(),
            &self.stores,
            self.cache.as_ref(),
            self.patience,
            now,
        );
        let (found, mut warnings) = self.look_for(&round, missing, &mut verdicts, part).await;
        let heard = round.heard();
        self.stores
            .iter_mut()
            .zip(heard)
            .for_each(|(store, heard)| store.heard(heard, now));
        self.known.extend(found);
        self.last = verdicts.clone();
        warnings.sort();
        // They differ in the digest only.
        warnings.truncate(1);
        (verdicts, warnings)
    }

    /// Looks for these, tells in parts, and gives back what is verified, with warnings.
    async fn look_for(
        &self,
        round: &Round<'_>,
        missing: Vec<PayloadDigest>,
        verdicts: &mut Verdicts,
        part: &mut dyn FnMut(Option<&Verdicts>) -> Go,
    ) -> (Vec<(PayloadDigest, KnownSignature)>, Vec<Finding>) {
        let (mut found, mut warnings, mut told) = (Vec::new(), Vec::new(), 0);
        let looking = futures_util::stream::iter(missing)
            .map(|one| round.look(one))
            .buffer_unordered(CONCURRENCY);
        let (mut looking, mut part_at) = (pin!(looking), Instant::now() + self.patience.part);
        loop {
            match tokio::time::timeout_at(part_at, looking.next()).await {
                Ok(None) => break,
                Ok(Some(SearchResult {
                    digest,
                    verdict,
                    bytes,
                    warning,
                })) => {
                    if let (SignatureVerdict::Verified(signer), Some(bytes)) = (&verdict, bytes) {
                        found.push((digest, KnownSignature::new(signer.clone(), bytes)));
                    }
                    verdicts.insert(digest, verdict);
                    warnings.extend(warning);
                }
                Err(_) => {}
            }
            if Instant::now() >= part_at {
                // Only what is verified is worth a new graph before the end.
                if part((found.len() > told).then_some(&*verdicts)) == Go::Stop {
                    break;
                }
                (part_at, told) = (Instant::now() + self.patience.part, found.len());
            }
        }
        (found, warnings)
    }

    /// What has to be looked for. What nobody could say anything about comes first: there may not be time for all.
    fn missing(&self, wanted: &BTreeSet<PayloadDigest>, last: &Verdicts) -> Vec<PayloadDigest> {
        let unknown = |one: &PayloadDigest| {
            matches!(last.get(one), None | Some(SignatureVerdict::NotKnown(_)))
        };
        let missing = wanted
            .iter()
            .filter(|one| !self.known.contains_key(one))
            .copied();
        let (mut first, then): (Vec<_>, Vec<_>) = missing.partition(unknown);
        first.extend(then);
        first
    }
}

#[cfg(test)]
mod tests;

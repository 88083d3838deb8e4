//! Proof: who signed an image, and what its metadata declares, from signature stores and registries.
//!
//! A result is cached, because a digest always names the same image. What could not be found out is asked again later. A new keyring judges everything again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use jiff::{SignedDuration, Timestamp};
use towpath_core::agent::{Evidence, ImageDeclaration, UpdateOffer, Witness};
use towpath_core::cluster::Fact;
use towpath_core::finding::Finding;
use towpath_core::fleet::Name;
use towpath_core::signatures::{PayloadDigest, SignatureVerdict};
use towpath_core::version::ReleaseName;
use towpath_formats::graph::release_images::ReleaseImage;
use towpath_formats::sources::oci::{ImageName, Reference, Repository};
use towpath_sources::{
    Cache, Registry, RegistryLimits, RegistryOptions, StoreAccess, read_file, release_image,
};

use crate::cli::failure;
use crate::signatures::{Go, Verifier};

/// How long until an unanswered question is asked again.
const ASK_AGAIN: SignedDuration = SignedDuration::from_mins(15);
/// How long a proof counts: a key may be revoked.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_hours(6);
/// How long one question about an image may take, to all stores or to one registry.
const PATIENCE: Duration = Duration::from_secs(20);
/// The largest file of certificates.
const MAX_CA_BYTES: u64 = 4 << 20;
/// The most images in memory.
const MAX_KNOWN: usize = 1_000;
/// What may be kept on disk of what images say: some thousand real ones.
const MAX_CACHE: (usize, u64) = (1_000, 16 << 20);

/// Whom to believe, and where to ask.
pub(super) struct Trust<'a> {
    pub(super) keyring: &'a [PathBuf],
    pub(super) signatures: &'a [String],
    pub(super) mirrors: Vec<Repository>,
    pub(super) auth_file: Option<PathBuf>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) plain_http: bool,
    pub(super) state: Option<&'a Path>,
}

/// Looks for proof.
pub(super) struct Prover {
    verifier: Option<Verifier>,
    registry: Registry,
    mirrors: Vec<Repository>,
    cache: Option<Cache>,
    known: BTreeMap<Name, CachedWitness>,
    keyring: [u8; 32],
}

struct CachedWitness {
    witness: Witness,
    ask_again: Timestamp,
}

impl Prover {
    /// Reads the keyring, with warnings.
    pub(super) fn new(trust: Trust<'_>) -> anyhow::Result<(Self, Vec<Finding>)> {
        let ca = trust
            .ca_file
            .as_deref()
            .map(|path| read_file(path, MAX_CA_BYTES))
            .transpose();
        let access = StoreAccess {
            ca: ca?,
            ..StoreAccess::default()
        };
        let folder = |name: &str| trust.state.map(|state| state.join(name));
        let (verifier, warnings) = match trust.keyring {
            [] => (None, Vec::new()),
            keyring => {
                let made = Verifier::new(
                    keyring,
                    trust.signatures,
                    folder("signatures").as_deref(),
                    &access,
                );
                let (verifier, warnings) = made.map_err(|findings| failure(&findings))?;
                (Some(verifier), warnings)
            }
        };
        let registry = Registry::new(RegistryOptions {
            auth_file: trust.auth_file,
            ca_file: trust.ca_file,
            plain_http: trust.plain_http,
            limits: RegistryLimits {
                whole_timeout: PATIENCE,
                ..RegistryLimits::default()
            },
        });
        let registry = registry
            .map_err(|finding| anyhow!("{finding}"))
            .context("registries cannot be asked")?;
        let cache =
            folder("images").map(|folder| Cache::bounded(&folder, MAX_CACHE.0, MAX_CACHE.1));
        let keyring = verifier
            .as_ref()
            .map(Verifier::keyring_digest)
            .unwrap_or_default();
        Ok((
            Self {
                verifier,
                registry,
                mirrors: trust.mirrors,
                cache,
                known: BTreeMap::new(),
                keyring,
            },
            warnings,
        ))
    }

    /// What is known of these offers. What is too old is forgotten, and so is what is no longer offered.
    pub(super) fn known(
        &mut self,
        offers: &[UpdateOffer],
        source: Option<&Name>,
        now: Timestamp,
    ) -> BTreeMap<Name, Evidence> {
        let is_wanted = |image: &Name| {
            Some(image) == source || offers.iter().any(|offer| offer.image == *image)
        };
        // What lies further ahead was written by a clock that was wrong.
        let is_fresh =
            |known: &CachedWitness| now < known.ask_again && known.ask_again <= now + LOOK_AGAIN;
        self.known
            .retain(|image, known| is_wanted(image) && is_fresh(known));
        // Without what the cluster runs there is no evidence: it is asked for again with the offer.
        if source.is_some_and(|image| !self.known.contains_key(image)) {
            return BTreeMap::new();
        }
        let witness = |image: &Name| self.known.get(image).map(|known| known.witness.clone());
        let of_source =
            source.map_or_else(no_source, |image| witness(image).unwrap_or_else(no_source));
        let of = |offer: &UpdateOffer| {
            let evidence = Evidence {
                target: witness(&offer.image)?,
                source: of_source.clone(),
            };
            Some((offer.image.clone(), evidence))
        };
        offers.iter().filter_map(of).collect()
    }

    /// Reads the keyring again; if it has changed, nothing is known any more. What is wrong with it.
    pub(super) fn refresh(&mut self, now: Timestamp) -> Vec<Finding> {
        let Some(verifier) = &mut self.verifier else {
            return Vec::new();
        };
        let findings = verifier.read_keyring_again(now);
        let keyring = verifier.keyring_digest();
        if keyring != self.keyring {
            (self.keyring, self.known) = (keyring, BTreeMap::new());
        }
        findings
    }

    /// Finds out about an offer, and about what the cluster runs.
    pub(super) async fn prove(
        &mut self,
        offer: &UpdateOffer,
        source: Option<&Name>,
        now: Timestamp,
    ) -> Evidence {
        let target = self.witness(&offer.image, now).await;
        let source = match source {
            Some(image) => self.witness(image, now).await,
            None => no_source(),
        };
        Evidence { target, source }
    }

    async fn witness(&mut self, image: &Name, now: Timestamp) -> Witness {
        if let Some(known) = self.known.get(image) {
            return known.witness.clone();
        }
        let began = Instant::now();
        let signature = self.signature(image, now).await;
        // Nobody is asked for what no key of ours has signed: anybody can name a registry.
        let declared = match &signature {
            SignatureVerdict::Verified(_) => self.declared(image).await,
            _ => Fact::Unknown,
        };
        if let Some(cache) = &self.cache {
            cache.trim();
        }
        let now = now + began.elapsed();
        let until = match &signature {
            SignatureVerdict::Verified(signer) => signer.until,
            _ => None,
        };
        let witness = Witness {
            signature,
            declared,
        };
        let lasts = if witness.signed().is_some() {
            LOOK_AGAIN
        } else {
            ASK_AGAIN
        };
        let ask_again = until.map_or(now + lasts, |until| until.min(now + lasts));
        if self.known.len() < MAX_KNOWN {
            self.known.insert(
                image.clone(),
                CachedWitness {
                    witness: witness.clone(),
                    ask_again,
                },
            );
        }
        witness
    }

    async fn signature(&mut self, image: &Name, now: Timestamp) -> SignatureVerdict {
        let not_known = |problem: &str| SignatureVerdict::NotKnown(problem.to_owned());
        let Some(digest) = PayloadDigest::of_pull_spec(image) else {
            return not_known("its image has no digest");
        };
        let Some(verifier) = &mut self.verifier else {
            return not_known("no keyring: give --keyring and --signatures");
        };
        let wanted = BTreeSet::from([digest]);
        let looking = tokio::time::timeout(PATIENCE, async {
            verifier.verdicts(&wanted, now, &mut |_| Go::On).await
        });
        match looking.await {
            Err(_) => not_known("the signature stores did not answer in time"),
            Ok((mut verdicts, warnings)) => {
                warnings
                    .iter()
                    .for_each(|finding| tracing::warn!("{finding}"));
                verdicts
                    .remove(&digest)
                    .unwrap_or_else(|| not_known("the signature stores gave no answer"))
            }
        }
    }

    /// What the image says of itself, from a mirror or from where it is offered. By its digest it is the same image everywhere.
    async fn declared(&self, image: &Name) -> Fact<ImageDeclaration> {
        let offered = match ImageName::parse(image) {
            Ok(offered) => offered,
            Err(problem) => {
                tracing::warn!("an image cannot be read: {problem}");
                return Fact::Unknown;
            }
        };
        let Reference::Digest(_) = &offered.reference else {
            return Fact::Unknown;
        };
        let elsewhere = self.mirrors.iter().map(|mirror| ImageName {
            repository: mirror.clone(),
            ..offered.clone()
        });
        for place in elsewhere.chain([offered.clone()]) {
            match release_image(&self.registry, self.cache.as_ref(), &place).await {
                Ok(release) => return Fact::Known(declared(&release)),
                Err(finding) => tracing::warn!("{finding}"),
            }
        }
        Fact::Unknown
    }
}

fn no_source() -> Witness {
    Witness::absent("it has not been checked")
}

/// What it says of releases for the same machines.
fn declared(release: &ReleaseImage) -> ImageDeclaration {
    let of_same = |names: &[ReleaseName]| {
        names
            .iter()
            .filter(|name| name.means(&release.arch))
            .map(|name| name.version.clone())
            .collect()
    };
    ImageDeclaration {
        version: release.version.to_string().into(),
        arch: release.arch.clone(),
        previous: of_same(&release.previous),
        next: of_same(&release.next),
    }
}

//! Seals: graph data that counts only if somebody signed it whose key is in the keyring.
//!
//! The thread that reads a source brings what was signed and the signatures. Here they are judged, each copy when it is
//! taken, and the copy in use again whenever the keyring or the time has changed.
//!
//! Nothing of a copy that is not signed counts, not even its blocks: else a stranger could halt the fleet.

use anyhow::bail;
use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_core::signatures::{GraphSeal, SealRefusal};
use towpath_formats::signatures::{Keyring, SignedCopy, seal, still_counts};
use towpath_sources::{SignatureStore, StoreAccess};

use super::address::{Images, Location, SourceSpec};
use super::reader::SourceReading;
use super::{SealSettings, SourceSettings};
use crate::signatures::Keys;

/// The keyring for graph data, if it has to be signed.
pub(super) fn keys(settings: &SourceSettings) -> Result<Option<Keys>, Vec<Finding>> {
    let Some(seals) = &settings.seals else {
        return Ok(None);
    };
    let (keys, warnings) = Keys::read(&seals.keyring)?;
    super::log_findings(&warnings);
    Ok(Some(keys))
}

/// Where readers of graph data find signatures of images; none if nothing has to be signed.
#[derive(Debug, Clone)]
pub(crate) struct SealStores {
    stores: Vec<String>,
}

impl SealStores {
    pub(super) fn of(seals: &SealSettings) -> Self {
        Self {
            stores: seals.stores.clone(),
        }
    }

    pub(super) fn open(&self, ca: Option<&Vec<u8>>) -> Result<Vec<SignatureStore>, Finding> {
        let access = StoreAccess {
            ca: ca.cloned(),
            ..StoreAccess::default()
        };
        let open = |name: &String| SignatureStore::open(name, &access);
        self.stores.iter().map(open).collect()
    }
}

impl SourceSpec {
    /// Whether a copy of it has to be signed where graph data has to. Halts of the store are made by people who are known.
    pub(super) fn is_sealed(&self) -> bool {
        self.role.is_files() && !matches!(self.location, Location::Halts(_))
    }
}

impl SealSettings {
    /// Whether every source can be signed at all; what cannot must not be served as if it were.
    pub(super) fn check(&self, specs: &[SourceSpec]) -> anyhow::Result<()> {
        specs.iter().try_for_each(|spec| self.check_one(spec))
    }

    pub(super) fn check_one(&self, spec: &SourceSpec) -> anyhow::Result<()> {
        const FLAG: &str = "--require-signed-graph-data";
        let (flag, shown) = (spec.role.flag(), spec.shown());
        match &spec.location {
            Location::Upstream { .. } => bail!(
                "{flag} {shown}: a Cincinnati service tells of channels, and nobody signs what it tells; with {FLAG}, name graph data of your own and releases in a registry (oci://…)"
            ),
            _ if !spec.is_sealed() => Ok(()),
            Location::Example => bail!(
                "{FLAG}: the built-in example is not signed; name signed graph data with --graph-data"
            ),
            Location::Path(_) => bail!(
                "{flag} {shown}: with {FLAG}, a directory is not taken, because nobody can sign one; name a git revision (git+file:///… or git+https://…), an archive with a signature beside it (https://….tar.gz) or an image (oci://…)"
            ),
            Location::UpdateService(_)
            | Location::Images {
                images: Images::GraphData(_),
                ..
            } if self.stores.is_empty() => {
                bail!(
                    "{flag} {shown}: with {FLAG}, its signature is looked for in signature stores; add --signatures STORE"
                )
            }
            Location::Git(_)
            | Location::Revision { .. }
            | Location::Archive(_)
            | Location::Halts(_)
            | Location::UpdateService(_)
            | Location::Images { .. } => Ok(()),
        }
    }
}

/// Judges what was read; what was signed is not needed behind this.
pub(super) fn judge(
    spec: &SourceSpec,
    read: &mut SourceReading,
    keyring: &Keyring,
    now: Timestamp,
) -> Result<(), Finding> {
    let Some(signed) = read.signed.take() else {
        let what = "what was read".to_owned();
        return Err(refused(spec, &SealRefusal::Unsigned { what }));
    };
    let sealed = seal(&signed, keyring, now).map_err(|refusal| refused(spec, &refusal))?;
    if signed.is_dated_by_its_signature() {
        // An old copy with a new date would come through the guard against going back in time.
        read.made_at = Some(sealed.signer.signed_at);
    }
    read.seal = Some(sealed);
    Ok(())
}

/// What is wrong with the seal of a copy that was taken before.
pub(super) fn judge_again(
    spec: &SourceSpec,
    sealed: Option<&GraphSeal>,
    keyring: &Keyring,
    now: Timestamp,
) -> Option<Finding> {
    let refusal = match sealed {
        None => SealRefusal::Unsigned {
            what: "the copy that was kept".to_owned(),
        },
        Some(sealed) => SealRefusal::Signature {
            what: sealed.what.clone(),
            refusal: still_counts(sealed, keyring, now).err()?,
        },
    };
    Some(refused(spec, &refusal))
}

fn refused(spec: &SourceSpec, refusal: &SealRefusal) -> Finding {
    let place = Place::file(spec.location.to_string());
    Finding::error(refusal.code(), place, refusal.to_string(), refusal.remedy())
}

/// What was signed stays with the bytes: a reader that reads nothing anew hands over the same again.
impl SourceReading {
    pub(super) fn signed(self, signed: Option<SignedCopy>) -> Self {
        Self { signed, ..self }
    }
}

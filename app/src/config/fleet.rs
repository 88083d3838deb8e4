//! Validates the options of a fleet and fills in the defaults.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use jiff::{SignedDuration, Timestamp};
use towpath_store::StoreAddress;
use towpath_web::Reads;

use super::{ServeOptions, within};
use crate::clock::day_or_time;

/// Days for which decisions and single spans are kept.
const KEEP_DAYS: u32 = 90;

/// A fleet to look after.
#[derive(Debug, Clone)]
pub(crate) struct FleetSettings {
    pub(crate) policy: PathBuf,
    pub(crate) clusters: Option<PathBuf>,
    pub(crate) store: Option<String>,
    pub(crate) store_password_file: Option<PathBuf>,
    /// None: everything is kept for ever.
    pub(crate) keep_for: Option<SignedDuration>,
    pub(crate) token_keys: Option<PathBuf>,
    /// Tokens of the first version are taken until then.
    pub(crate) unbound_until: Option<Timestamp>,
    pub(crate) reads: Reads,
    pub(crate) pass_every: Duration,
    pub(crate) allowance: SignedDuration,
    pub(crate) ocm: Option<(String, PathBuf)>,
}

impl FleetSettings {
    /// Where the fleet's state is.
    pub(crate) fn store_address(&self) -> StoreAddress {
        let url = self
            .store
            .clone()
            .unwrap_or_else(|| crate::fleet::DEFAULT_STORE.to_owned());
        StoreAddress {
            url,
            password_file: self.store_password_file.clone(),
        }
    }
}

impl ServeOptions {
    pub(super) fn fleet_settings(&self) -> anyhow::Result<Option<FleetSettings>> {
        let pass = within("passSeconds", self.pass_seconds.unwrap_or(60), 1..=86_400)?;
        let allowance = within(
            "reportAllowanceSeconds",
            self.report_allowance_seconds.unwrap_or(3_600),
            1..=604_800,
        )?;
        let ocm = match (self.ocm.clone(), self.ocm_token.clone()) {
            (Some(url), Some(token)) => Some((url, token)),
            (Some(_), None) => bail!("--ocm needs a token; add --ocm-token FILE"),
            (None, _) => None,
        };
        let is_postgres =
            |store: &String| store.starts_with("postgres://") || store.starts_with("postgresql://");
        if let (Some(file), false) = (
            &self.store_password_file,
            self.store.as_ref().is_some_and(is_postgres),
        ) {
            let file = file.display();
            bail!(
                "--store-password-file {file} needs a PostgreSQL store; add --store postgres://USER@HOST/DATABASE, or remove it"
            );
        }
        let keep_days = within("keepDays", self.keep_days.unwrap_or(KEEP_DAYS), 0..=36_500)?;
        let Some(policy) = self.fleet.clone() else {
            return Ok(None);
        };
        let reads = match (self.open_reads, &self.token_keys) {
            (Some(false), None) => {
                bail!(
                    "openReads is false, but there is no key to check tokens with; add --token-keys FILE"
                )
            }
            (Some(true), _) | (None, None) => Reads::Open,
            (Some(false) | None, Some(_)) => Reads::WithToken,
        };
        Ok(Some(FleetSettings {
            policy,
            clusters: self.clusters.clone(),
            store: self.store.clone(),
            store_password_file: self.store_password_file.clone(),
            keep_for: (keep_days > 0)
                .then(|| SignedDuration::from_hours(i64::from(keep_days) * 24)),
            token_keys: self.token_keys.clone(),
            unbound_until: self.unbound_until()?,
            reads,
            pass_every: Duration::from_secs(pass),
            allowance: SignedDuration::from_secs(
                i64::try_from(allowance).expect("it is within its limits"),
            ),
            ocm,
        }))
    }

    /// Until when tokens of the first version are taken: a day, from its first moment in UTC, or a time.
    pub(super) fn unbound_until(&self) -> anyhow::Result<Option<Timestamp>> {
        let Some(text) = &self.accept_unbound_tokens_until else {
            return Ok(None);
        };
        if self.token_keys.is_none() {
            bail!(
                "--accept-unbound-tokens-until needs keys to check tokens with; add --token-keys FILE"
            );
        }
        let wrong = |problem| {
            anyhow::anyhow!("--accept-unbound-tokens-until: {problem}; write it as in 2027-01-31")
        };
        day_or_time(text).map(Some).map_err(wrong)
    }
}

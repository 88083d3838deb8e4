//! Validates the options of a fleet and fills in the defaults.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use jiff::{SignedDuration, Timestamp};
use towpath_formats::timespan::TimeSpan;
use towpath_ocm::Login;
use towpath_store::StoreAddress;
use towpath_web::Reads;

use super::{DAY, HOUR, SECOND, ServeOptions, within};
use crate::clock::day_or_time;

/// How long decisions and single spans are kept.
const KEEP_FOR: TimeSpan = TimeSpan::days(90);
const PASS_EVERY: TimeSpan = TimeSpan::seconds(60);

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
    pub(crate) ocm: Option<OcmSettings>,
}

/// An OCM-style API, and how to log in there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OcmSettings {
    pub(crate) url: String,
    pub(crate) login: Login,
}

/// What was typed about an OCM-style API.
#[derive(Debug, Clone, Default)]
pub(crate) struct OcmOptions {
    pub(crate) url: Option<String>,
    pub(crate) token: Option<PathBuf>,
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<PathBuf>,
    pub(crate) offline_token: Option<PathBuf>,
    pub(crate) token_url: Option<String>,
}

impl OcmOptions {
    /// There is exactly one way to log in, or none without an API. What would be ignored is refused.
    pub(crate) fn settings(self) -> anyhow::Result<Option<OcmSettings>> {
        let ways = "--ocm-token FILE, --ocm-offline-token FILE, or --ocm-client-id ID with --ocm-client-secret FILE";
        let Some(url) = self.url else {
            // A token's file alone may stand in the environment for other commands.
            return Ok(None);
        };
        let token_url = self.token_url.clone();
        let token_url = token_url.unwrap_or_else(|| Login::TOKEN_URL.to_owned());
        let login = match (
            self.token,
            self.offline_token,
            self.client_id,
            self.client_secret,
        ) {
            (Some(file), None, None, None) if self.token_url.is_none() => Login::Bearer(file),
            (Some(_), None, None, None) => {
                bail!(
                    "--ocm-token is the token itself, so --ocm-token-url is not used; remove one of them"
                )
            }
            (None, Some(file), None, None) => Login::OfflineToken { token_url, file },
            (None, None, Some(client_id), Some(secret_file)) => Login::ClientCredentials {
                token_url,
                client_id,
                secret_file,
            },
            (None, None, Some(_), None) => bail!("--ocm-client-id needs --ocm-client-secret FILE"),
            (None, None, None, Some(_)) => bail!("--ocm-client-secret needs --ocm-client-id ID"),
            (None, None, None, None) => bail!("--ocm needs a login; add {ways}"),
            _ => bail!("--ocm has more than one login; keep one of {ways}"),
        };
        Ok(Some(OcmSettings { url, login }))
    }
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
        let pass = self.pass_every.unwrap_or(PASS_EVERY);
        let pass = within("passEvery", pass, SECOND..=DAY)?;
        let allowance = self.report_allowance.unwrap_or(HOUR);
        let allowance = within("reportAllowance", allowance, SECOND..=TimeSpan::days(7))?;
        let ocm = OcmOptions {
            url: self.ocm.clone(),
            token: self.ocm_token.clone(),
            client_id: self.ocm_client_id.clone(),
            client_secret: self.ocm_client_secret.clone(),
            offline_token: self.ocm_offline_token.clone(),
            token_url: self.ocm_token_url.clone(),
        };
        let ocm = ocm.settings()?;
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
        if let Some(url) = self.store.clone() {
            let address = StoreAddress {
                url,
                password_file: self.store_password_file.clone(),
            };
            address.check().context("--store cannot be used")?;
        }
        let keep_for = self.keep_for.unwrap_or(KEEP_FOR);
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
            keep_for: keep_for.unless_zero(),
            token_keys: self.token_keys.clone(),
            unbound_until: self.unbound_until()?,
            reads,
            pass_every: pass.unsigned(),
            allowance: allowance.signed(),
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

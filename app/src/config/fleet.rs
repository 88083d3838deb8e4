//! Validates the options of a fleet and fills in the defaults.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use jiff::{SignedDuration, Timestamp};
use towpath_formats::timespan::TimeSpan;
use towpath_kube::Access;
use towpath_ocm::Login;
use towpath_store::StoreAddress;
use towpath_web::Reads;

use super::{DAY, HOUR, OutcomesSettings, SECOND, ServeOptions, within};
use crate::clock::day_or_time;
use crate::fleet::log_signing::LogSigning;

/// How long decisions and single spans are kept.
const KEEP_FOR: TimeSpan = TimeSpan::days(90);
const LOG_SIGN_EVERY: TimeSpan = TimeSpan::seconds(60);
const PASS_EVERY: TimeSpan = TimeSpan::seconds(60);
/// What `--acm` says instead of a kubeconfig.
pub(super) const IN_CLUSTER: &str = "in-cluster";

/// A fleet to look after.
#[derive(Debug, Clone)]
pub(crate) struct FleetSettings {
    pub(crate) policy: PathBuf,
    pub(crate) clusters: Option<PathBuf>,
    pub(crate) store: Option<String>,
    pub(crate) store_password_file: Option<PathBuf>,
    /// None: everything is kept for ever.
    pub(crate) keep_for: Option<SignedDuration>,
    /// How the head of the log is signed, if it is.
    pub(crate) log_signing: Option<LogSigning>,
    pub(crate) reads: Reads,
    pub(crate) pass_every: Duration,
    pub(crate) allowance: SignedDuration,
    pub(crate) minors: Option<PathBuf>,
    /// The feedback policy's file. None: the built-in policy, which observes.
    pub(crate) feedback: Option<PathBuf>,
    /// An overlay that gets the halts of the store.
    pub(crate) halts_to: Option<PathBuf>,
    /// Attempts of clusters that do not report.
    pub(crate) outcomes: OutcomesSettings,
    /// Whether metrics have AUS's names too.
    pub(crate) aus_metrics: bool,
    /// The API that manages the clusters.
    pub(crate) hands: Option<HandsSettings>,
}

/// An API that manages clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HandsSettings {
    Ocm(OcmSettings),
    Acm(AcmSettings),
}

impl HandsSettings {
    /// The flag that names it.
    pub(crate) fn flag(&self) -> &'static str {
        match self {
            Self::Ocm(_) => "--ocm",
            Self::Acm(_) => "--acm",
        }
    }
}

/// An ACM hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AcmSettings {
    pub(crate) access: Access,
}

/// An OCM-style API, and how to log in there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OcmSettings {
    pub(crate) url: String,
    pub(crate) login: Login,
}

impl HandsSettings {
    /// The file with the secret that opens it, if it is one.
    pub(crate) fn secret_file(&self) -> Option<&Path> {
        match self {
            Self::Ocm(ocm) => Some(ocm.login.file()),
            Self::Acm(acm) => acm.kubeconfig(),
        }
    }
}

impl AcmSettings {
    /// None: the pod's service account.
    pub(crate) fn kubeconfig(&self) -> Option<&Path> {
        match &self.access {
            Access::InCluster => None,
            Access::Kubeconfig { path, .. } => path.as_deref(),
        }
    }
}

impl ServeOptions {
    /// The API that manages the clusters: at most one.
    pub(crate) fn hands_settings(&self) -> anyhow::Result<Option<HandsSettings>> {
        Ok(match (self.ocm_settings()?, self.acm_settings()?) {
            (Some(_), Some(_)) => {
                bail!("--ocm and --acm both tell which clusters there are; keep one of them")
            }
            (Some(ocm), None) => Some(HandsSettings::Ocm(ocm)),
            (None, Some(acm)) => Some(HandsSettings::Acm(acm)),
            (None, None) => None,
        })
    }

    fn acm_settings(&self) -> anyhow::Result<Option<AcmSettings>> {
        let access = match (&self.acm, &self.acm_context) {
            // A context alone may stand in the environment for other commands.
            (None, _) => return Ok(None),
            (Some(path), Some(_)) if path.as_os_str() == IN_CLUSTER => {
                bail!("--acm in-cluster has no contexts; remove --acm-context")
            }
            (Some(path), None) if path.as_os_str() == IN_CLUSTER => Access::InCluster,
            (Some(path), context) => Access::Kubeconfig {
                path: Some(path.clone()),
                context: context.clone(),
            },
        };
        Ok(Some(AcmSettings { access }))
    }

    /// There is exactly one way to log in, or none without an API. What would be ignored is refused.
    fn ocm_settings(&self) -> anyhow::Result<Option<OcmSettings>> {
        let ways = "--ocm-token FILE, --ocm-offline-token FILE, or --ocm-client-id ID with --ocm-client-secret FILE";
        let Some(url) = self.ocm.clone() else {
            // A token's file alone may stand in the environment for other commands.
            return Ok(None);
        };
        let token_url = self.ocm_token_url.clone();
        let token_url = token_url.unwrap_or_else(|| Login::TOKEN_URL.to_owned());
        let login = match (
            self.ocm_token.clone(),
            self.ocm_offline_token.clone(),
            self.ocm_client_id.clone(),
            self.ocm_client_secret.clone(),
        ) {
            (Some(file), None, None, None) if self.ocm_token_url.is_none() => Login::Bearer(file),
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
    /// Whether the key that signs the log can be used.
    pub(crate) fn check_log_key(&self) -> anyhow::Result<()> {
        let signing = self.log_signing.as_ref();
        signing.map_or(Ok(()), |signing| signing.signer().map(|_| ()))
    }

    /// Whether an API keeps plans until their time, so that nobody need be there then.
    pub(crate) fn has_calendar_elsewhere(&self) -> bool {
        matches!(self.hands, Some(HandsSettings::Ocm(_)))
    }

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
        let hands = self.hands_settings()?;
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
        let aus_metrics = self.aus_metrics.unwrap_or(false);
        let Some(policy) = self.fleet.clone() else {
            if let Some(file) = &self.feedback {
                let file = file.display();
                bail!(
                    "--feedback {file} says how a fleet's updates are watched; add --fleet DIR, or remove it"
                );
            }
            if let Some(folder) = &self.halts_to {
                let folder = folder.display();
                bail!(
                    "--halts-to {folder} gets the halts of a fleet's store; add --fleet DIR, or remove it"
                );
            }
            if let Some(file) = &self.log_key {
                let file = file.display();
                bail!("--log-key {file} signs the log of a fleet; add --fleet DIR, or remove it");
            }
            if aus_metrics {
                bail!("--aus-metrics tells of a fleet; add --fleet DIR, or remove it");
            }
            if let Some(flag) = self.outcomes.flag() {
                bail!("{flag} tells of a fleet; add --fleet DIR, or remove it");
            }
            return Ok(None);
        };
        let log_signing = self.log_signing()?;
        let has_keys =
            self.token_keys.is_some() || self.people_keys.is_some() || self.people.knows_somebody();
        let reads = match (self.open_reads, has_keys) {
            (Some(false), false) => {
                bail!(
                    "openReads is false, but there is no key to check people's tokens with; add --people-keys FILE"
                )
            }
            (Some(true), _) | (None, false) => Reads::Open,
            (Some(false) | None, true) => Reads::WithToken,
        };
        Ok(Some(FleetSettings {
            policy,
            clusters: self.clusters.clone(),
            store: self.store.clone(),
            store_password_file: self.store_password_file.clone(),
            keep_for: keep_for.unless_zero(),
            log_signing,
            reads,
            pass_every: pass.unsigned(),
            allowance: allowance.signed(),
            minors: self.minors.clone(),
            feedback: self.feedback.clone(),
            halts_to: self.halts_to.clone(),
            outcomes: self.outcomes.settings()?,
            aus_metrics,
            hands,
        }))
    }

    fn log_signing(&self) -> anyhow::Result<Option<LogSigning>> {
        let every = self.log_sign_every.unwrap_or(LOG_SIGN_EVERY);
        let every = within("logSignEvery", every, SECOND..=DAY)?.unsigned();
        match &self.log_key {
            Some(key) => Ok(Some(LogSigning {
                key: key.clone(),
                every,
            })),
            None if self.log_sign_every.is_some() => {
                bail!("--log-sign-every needs a key to sign with; add --log-key FILE")
            }
            None => Ok(None),
        }
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

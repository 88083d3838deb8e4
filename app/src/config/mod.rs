//! Configuration in three steps: as typed, merged, validated.
//!
//! Flags override the environment (clap does that), which overrides the file, which overrides the defaults. The defaults are in
//! one place: [`Settings`].

mod fleet;
mod outcomes;
mod people;
mod redact;
mod sources;
#[cfg(test)]
mod tests;
mod tls;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use towpath_formats::timespan::TimeSpan;
use towpath_web::{
    Admission, AllowedHosts, ClientContract, Limits, REPORTS_PER_MINUTE, REQUESTS_PER_MINUTE,
    TrustedProxies,
};

pub(crate) use self::fleet::{AcmSettings, FleetSettings, HandsSettings, OcmSettings};
pub(crate) use self::outcomes::{OutcomesOptions, OutcomesQuerySettings, OutcomesSettings};
pub(crate) use self::people::{KubernetesSettings, PeopleOptions, PeopleSettings};
pub(crate) use self::redact::written;
use self::sources::one_or_many;
pub(crate) use self::sources::{SignatureOption, SourceArgs, SourceOptions};
pub(crate) use self::tls::TlsSettings;
use crate::clock::NowArgs;
use crate::listen::ListenAddress;
use crate::sources::address::{Intervals, Location};
use crate::sources::{Needs, SourceSettings};

pub(crate) const SECOND: TimeSpan = TimeSpan::seconds(1);
pub(crate) const HOUR: TimeSpan = TimeSpan::seconds(3_600);
pub(crate) const DAY: TimeSpan = TimeSpan::days(1);
pub(crate) const YEAR: TimeSpan = TimeSpan::days(365);

/// A file with every option, commented out, and what each is for.
pub(crate) const DEFAULT_FILE: &str = include_str!("../../towpath.yaml");

/// The options of `serve`, as they were typed on the command line or in a file.
#[derive(Debug, Default, Clone, Deserialize, Args)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ServeOptions {
    /// Listen on this address: 127.0.0.1:8080, localhost:8080, or :8080 for all interfaces. [default: 127.0.0.1:8080]
    #[arg(long, env = "TOWPATH_LISTEN", value_name = "ADDR")]
    pub(crate) listen: Option<ListenAddress>,
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) sources: SourceOptions,
    /// Read remote sources this often. [default: 5m]
    #[arg(
        long,
        env = "TOWPATH_REFRESH_EVERY",
        value_name = "DURATION",
        help_heading = "Sources"
    )]
    pub(crate) refresh_every: Option<TimeSpan>,
    /// Report as degraded when a source could not be read for this long. [default: 15m]
    #[arg(
        long,
        env = "TOWPATH_DEGRADED_AFTER",
        value_name = "DURATION",
        help_heading = "Sources"
    )]
    pub(crate) degraded_after: Option<TimeSpan>,
    /// Accept what graph data does to the window of this release, as `graph lint --base` does. Repeatable.
    #[arg(
        long,
        env = "TOWPATH_ALLOW_WINDOW_CHANGE",
        value_name = "RELEASE",
        help_heading = "Sources"
    )]
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) allow_window_change: Option<Vec<String>>,
    /// Look up here the platform of clusters that do not send it. Each line is `id,platform`.
    #[arg(
        long,
        env = "TOWPATH_PLATFORMS",
        value_name = "FILE",
        help_heading = "Sources"
    )]
    pub(crate) platforms: Option<PathBuf>,
    /// Correct or confirm rows of the table of minor versions with this file. [default: the built-in table]
    #[arg(
        long,
        env = "TOWPATH_MINORS",
        value_name = "FILE",
        help_heading = "Sources"
    )]
    pub(crate) minors: Option<PathBuf>,
    /// Read the fleet's policy (organisations, clusters) from this directory.
    #[arg(
        long,
        env = "TOWPATH_FLEET",
        value_name = "DIR",
        help_heading = "Fleet"
    )]
    pub(crate) fleet: Option<PathBuf>,
    /// Read clusters from this list, in addition to those that report.
    #[arg(
        long,
        env = "TOWPATH_CLUSTERS",
        value_name = "FILE",
        help_heading = "Fleet"
    )]
    pub(crate) clusters: Option<PathBuf>,
    /// Keep the fleet's state here: `sqlite:PATH`, or `postgres://…` for several replicas. [default: sqlite:towpath.db]
    #[arg(
        long,
        env = "TOWPATH_STORE",
        value_name = "URL",
        help_heading = "Fleet"
    )]
    pub(crate) store: Option<String>,
    /// Read the password of the PostgreSQL store from this file. Towpath reads it again when the server refuses the password.
    #[arg(
        long,
        env = "TOWPATH_STORE_PASSWORD_FILE",
        value_name = "FILE",
        help_heading = "Fleet"
    )]
    pub(crate) store_password_file: Option<PathBuf>,
    /// Watch releases that are rolled out as this feedback policy says. [default: every channel is observed, nothing is halted]
    #[arg(
        long,
        env = "TOWPATH_FEEDBACK",
        value_name = "FILE",
        help_heading = "Fleet"
    )]
    pub(crate) feedback: Option<PathBuf>,
    /// Write every halt that stands in the store into this folder too, as an overlay for services without the store.
    #[arg(
        long,
        env = "TOWPATH_HALTS_TO",
        value_name = "DIR",
        help_heading = "Fleet"
    )]
    pub(crate) halts_to: Option<PathBuf>,
    /// Keep decisions and single spans of observed time for this long; 0 keeps them for ever. [default: 90d]
    #[arg(
        long,
        env = "TOWPATH_KEEP_FOR",
        value_name = "DURATION",
        help_heading = "Fleet"
    )]
    pub(crate) keep_for: Option<TimeSpan>,
    /// Sign the head of the decision and audit log with this Ed25519 key, in PEM. Towpath reads it again for each signature.
    #[arg(
        long,
        env = "TOWPATH_LOG_KEY",
        value_name = "FILE",
        help_heading = "Fleet"
    )]
    pub(crate) log_key: Option<PathBuf>,
    /// Sign the head of the log this often. [default: 1m]
    #[arg(
        long,
        env = "TOWPATH_LOG_SIGN_EVERY",
        value_name = "DURATION",
        help_heading = "Fleet"
    )]
    pub(crate) log_sign_every: Option<TimeSpan>,
    /// Check the tokens of clusters and pipelines with the keys in this file. Towpath reads it again when it changes.
    #[arg(
        long,
        env = "TOWPATH_TOKEN_KEYS",
        value_name = "FILE",
        help_heading = "Access"
    )]
    pub(crate) token_keys: Option<PathBuf>,
    /// Check the tokens of people with the keys in this file. No key may be in both files. Towpath reads it again when it changes.
    #[arg(
        long,
        env = "TOWPATH_PEOPLE_KEYS",
        value_name = "FILE",
        help_heading = "Access"
    )]
    pub(crate) people_keys: Option<PathBuf>,
    /// Give people whom an OIDC issuer or a Kubernetes API knows the roles in this file. Towpath reads it again when it changes.
    #[arg(
        long,
        env = "TOWPATH_ACCESS",
        value_name = "FILE",
        help_heading = "Access"
    )]
    pub(crate) access: Option<PathBuf>,
    /// Refuse the tokens in this file, besides those that the store has revoked. Towpath reads it again when it changes.
    #[arg(
        long,
        env = "TOWPATH_REVOKED_TOKENS",
        value_name = "FILE",
        help_heading = "Access"
    )]
    pub(crate) revoked_tokens: Option<PathBuf>,
    /// Accept tokens of the first version (tpc_, tpr_) until this day. Their clusters stay unbound and earn no soak.
    #[arg(
        long,
        env = "TOWPATH_ACCEPT_UNBOUND_TOKENS_UNTIL",
        value_name = "DATE",
        help_heading = "Access"
    )]
    pub(crate) accept_unbound_tokens_until: Option<String>,
    /// Let anybody read the fleet without a token. [default: true without --token-keys and --people-keys, else false]
    #[arg(long, env = "TOWPATH_OPEN_READS", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL", help_heading = "Access")]
    pub(crate) open_reads: Option<bool>,
    /// Make a scheduling pass over the fleet this often. [default: 1m]
    #[arg(
        long,
        visible_alias = "every",
        env = "TOWPATH_PASS_EVERY",
        value_name = "DURATION",
        help_heading = "Fleet"
    )]
    pub(crate) pass_every: Option<TimeSpan>,
    /// The longest time between two reports of a cluster that still counts as soak. [default: 1h]
    #[arg(
        long,
        env = "TOWPATH_REPORT_ALLOWANCE",
        value_name = "DURATION",
        help_heading = "Fleet"
    )]
    pub(crate) report_allowance: Option<TimeSpan>,
    /// Read clusters from the OCM-style API at this address, and schedule upgrades there.
    #[arg(long, env = "TOWPATH_OCM", value_name = "URL", help_heading = "OCM")]
    pub(crate) ocm: Option<String>,
    /// The file with the token for the API of --ocm. Somebody else renews it.
    #[arg(
        long,
        env = "TOWPATH_OCM_TOKEN",
        value_name = "FILE",
        help_heading = "OCM"
    )]
    pub(crate) ocm_token: Option<PathBuf>,
    /// Log in to the API of --ocm as this service account. Needs --ocm-client-secret.
    #[arg(
        long,
        env = "TOWPATH_OCM_CLIENT_ID",
        value_name = "ID",
        help_heading = "OCM"
    )]
    pub(crate) ocm_client_id: Option<String>,
    /// The file with the secret of --ocm-client-id.
    #[arg(
        long,
        env = "TOWPATH_OCM_CLIENT_SECRET",
        value_name = "FILE",
        help_heading = "OCM"
    )]
    pub(crate) ocm_client_secret: Option<PathBuf>,
    /// Log in to the API of --ocm with the offline token in this file.
    #[arg(
        long,
        env = "TOWPATH_OCM_OFFLINE_TOKEN",
        value_name = "FILE",
        help_heading = "OCM"
    )]
    pub(crate) ocm_offline_token: Option<PathBuf>,
    /// The service that gives tokens for --ocm-client-id and --ocm-offline-token. [default: Red Hat's]
    #[arg(
        long,
        env = "TOWPATH_OCM_TOKEN_URL",
        value_name = "URL",
        help_heading = "OCM"
    )]
    pub(crate) ocm_token_url: Option<String>,
    /// Check local files for changes this often where the kernel does not report changes. [default: 30s]
    #[arg(
        long,
        env = "TOWPATH_POLL_EVERY",
        value_name = "DURATION",
        help_heading = "Sources"
    )]
    pub(crate) poll_every: Option<TimeSpan>,
    /// Read clusters from the ACM hub that this kubeconfig reaches, and have its ClusterCurators upgrade them. `in-cluster` uses the
    /// pod's service account.
    #[arg(
        long,
        env = "TOWPATH_ACM",
        value_name = "KUBECONFIG",
        help_heading = "ACM"
    )]
    pub(crate) acm: Option<PathBuf>,
    /// The context of the kubeconfig of --acm. [default: its current context]
    #[arg(
        long,
        env = "TOWPATH_ACM_CONTEXT",
        value_name = "NAME",
        help_heading = "ACM"
    )]
    pub(crate) acm_context: Option<String>,
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) outcomes: OutcomesOptions,
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) people: PeopleOptions,
    /// Serve the fleet's metrics under the names of AUS (aus_…) too, for dashboards made for it. [default: false]
    #[arg(long, env = "TOWPATH_AUS_METRICS", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL", help_heading = "Fleet")]
    pub(crate) aus_metrics: Option<bool>,
    /// The most connections at once. [default: 10000]
    #[arg(
        long,
        env = "TOWPATH_MAX_CONNECTIONS",
        value_name = "N",
        help_heading = "Connections"
    )]
    pub(crate) max_connections: Option<usize>,
    /// The most connections from one address at once; 0 is no limit. [default: half of --max-connections]
    #[arg(
        long,
        env = "TOWPATH_MAX_CONNECTIONS_PER_ADDRESS",
        value_name = "N",
        help_heading = "Connections"
    )]
    pub(crate) max_connections_per_address: Option<usize>,
    /// Serve over TLS with this certificate (PEM, with its chain). Towpath uses a new one as soon as the file changes.
    #[arg(
        long,
        env = "TOWPATH_TLS_CERT",
        value_name = "FILE",
        help_heading = "TLS"
    )]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of --tls-cert, in PEM.
    #[arg(
        long,
        env = "TOWPATH_TLS_KEY",
        value_name = "FILE",
        help_heading = "TLS"
    )]
    pub(crate) tls_key: Option<PathBuf>,
    /// Ask clusters for a certificate of these authorities (PEM), besides their token, when they report or ask for stamps and orders.
    #[arg(
        long,
        env = "TOWPATH_CLIENT_CA",
        value_name = "FILE",
        help_heading = "TLS"
    )]
    pub(crate) client_ca: Option<PathBuf>,
    /// Refuse the clients' certificates that these lists (PEM) revoke. There must be one of each authority.
    #[arg(
        long,
        env = "TOWPATH_CLIENT_CRL",
        value_name = "FILE",
        help_heading = "TLS"
    )]
    pub(crate) client_crl: Option<PathBuf>,
    /// Allow plain HTTP, without TLS, from other machines. The network can then read tokens.
    #[arg(long, env = "TOWPATH_INSECURE_HTTP", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", help_heading = "TLS")]
    pub(crate) insecure_http: Option<bool>,
    /// Trust X-Forwarded-For and Forwarded from these addresses and networks, separated by commas. Their own address has no connection limit. Off
    /// loopback, plain HTTP is served only to them.
    #[arg(
        long,
        env = "TOWPATH_TRUSTED_PROXIES",
        value_name = "CIDR,…",
        help_heading = "Connections"
    )]
    pub(crate) trusted_proxies: Option<String>,
    /// Answer only requests whose Host is one of these names, `localhost` or an IP address; `*` allows any name. [default: on loopback none more,
    /// elsewhere any]
    #[arg(
        long,
        env = "TOWPATH_ALLOWED_HOSTS",
        value_name = "NAME,…",
        help_heading = "Connections"
    )]
    pub(crate) allowed_hosts: Option<String>,
    /// Answer graphs under this path too, as in `/updates/graph`. [default: /api/upgrades_info alone]
    #[arg(
        long,
        env = "TOWPATH_PATH_PREFIX",
        value_name = "PATH",
        help_heading = "Connections"
    )]
    pub(crate) path_prefix: Option<String>,
    /// Refuse graph requests without these parameters, besides channel. [default: none]
    #[arg(
        long,
        env = "TOWPATH_MANDATORY_PARAMS",
        value_name = "NAME,…",
        help_heading = "Connections"
    )]
    pub(crate) mandatory_params: Option<String>,
    /// After a signal to stop, accept connections for this long while /readyz answers 503; 0 stops at once. [default: 5s]
    #[arg(
        long,
        env = "TOWPATH_DRAIN_FOR",
        value_name = "DURATION",
        help_heading = "Connections"
    )]
    pub(crate) drain_for: Option<TimeSpan>,
    /// The most reports of one cluster in a minute; 0 is no limit. [default: 60]
    #[arg(
        long,
        env = "TOWPATH_REPORTS_PER_MINUTE",
        value_name = "N",
        help_heading = "Fleet"
    )]
    pub(crate) reports_per_minute: Option<u32>,
    /// The most requests of one token, or of one address without a token, in a minute; graphs and probes do not count; 0 is no limit. [default: 1200]
    #[arg(
        long,
        env = "TOWPATH_REQUESTS_PER_MINUTE",
        value_name = "N",
        help_heading = "Connections"
    )]
    pub(crate) requests_per_minute: Option<u32>,
    /// Close a connection that has not sent a whole request, or has not read from its answer, for this long. [default: 30s]
    #[arg(
        long,
        env = "TOWPATH_CLIENT_TIMEOUT",
        value_name = "DURATION",
        help_heading = "Connections"
    )]
    pub(crate) client_timeout: Option<TimeSpan>,
    /// What to log: error, warn, info, debug, trace, or a filter such as `towpath_web=debug`. [default: info]
    #[arg(
        long,
        env = "TOWPATH_LOG",
        value_name = "LEVEL",
        help_heading = "Logging"
    )]
    pub(crate) log: Option<String>,
    /// The format of log lines: text or json. [default: text]
    #[arg(
        long,
        env = "TOWPATH_LOG_FORMAT",
        value_name = "FORMAT",
        help_heading = "Logging"
    )]
    pub(crate) log_format: Option<LogFormat>,
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) now: NowArgs,
}

/// How lines are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// What is in force.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) sources: SourceSettings,
    pub(crate) intervals: Intervals,
    /// The file with rows of the table of minor versions.
    pub(crate) minors: Option<PathBuf>,
    pub(crate) fleet: Option<FleetSettings>,
    pub(crate) token_keys: Option<PathBuf>,
    pub(crate) people_keys: Option<PathBuf>,
    /// The roles of people whom others know.
    pub(crate) access: Option<PathBuf>,
    pub(crate) revoked_tokens: Option<PathBuf>,
    /// Tokens of the first version are taken until then.
    pub(crate) unbound_until: Option<Timestamp>,
    pub(crate) limits: Limits,
    /// How many connections one address may have, as it was typed: half of all places follows from what there is room for.
    pub(crate) for_one_address: AddressLimit,
    pub(crate) people: PeopleSettings,
    pub(crate) tls: Option<TlsSettings>,
    pub(crate) insecure_http: bool,
    pub(crate) trusted_proxies: Option<String>,
    pub(crate) allowed_hosts: Option<String>,
    pub(crate) path_prefix: Option<String>,
    pub(crate) mandatory_params: Option<String>,
    pub(crate) reports_per_minute: u32,
    pub(crate) requests_per_minute: u32,
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
    pub(crate) now: Option<Timestamp>,
}

/// How many connections one address may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressLimit {
    /// Half of all places.
    Half,
    AtMost(usize),
    NoLimit,
}

impl AddressLimit {
    /// Of so many places in all.
    pub(crate) fn of(self, all: usize) -> Option<usize> {
        match self {
            Self::Half => Some(all.div_ceil(2)),
            Self::AtMost(most) => Some(most),
            Self::NoLimit => None,
        }
    }
}

/// Merges what was typed with the file, and fills in the defaults.
pub(crate) fn settings(typed: ServeOptions, file: Option<&Path>) -> anyhow::Result<Settings> {
    typed.with_file(file)?.validated()
}

fn parse_file(text: &str) -> anyhow::Result<ServeOptions> {
    let known = ServeOptions::augment_args(clap::Command::new("serve"));
    let known: BTreeSet<String> = known
        .get_arguments()
        .map(|flag| camel_case(flag.get_id().as_str()))
        .collect();
    let keys: BTreeMap<String, IgnoredAny> = part(text)?;
    if let Some(unknown) = keys.keys().find(|key| !known.contains(*key)) {
        if let Some(renamed) = RENAMED.iter().find(|renamed| renamed.old == *unknown) {
            bail!("{renamed}");
        }
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        bail!(
            "{unknown:?} is not an option; the options are {}",
            known.join(", ")
        );
    }
    Ok(ServeOptions {
        sources: part(text)?,
        outcomes: part(text)?,
        people: part(text)?,
        now: part(text)?,
        ..part(text)?
    })
}

/// An option that had another name, and was a number.
struct Renamed {
    old: &'static str,
    new: &'static str,
    example: &'static str,
}

/// Options that were numbers of seconds or days. A variable of the environment that nobody reads any more would be ignored in silence.
const RENAMED: [Renamed; 9] = [
    renamed("refreshSeconds", "refreshEvery", "5m"),
    renamed("degradedAfterSeconds", "degradedAfter", "15m"),
    renamed("closedAfterSeconds", "closedAfter", "1d"),
    renamed("keepDays", "keepFor", "90d"),
    renamed("passSeconds", "passEvery", "60s"),
    renamed("reportAllowanceSeconds", "reportAllowance", "1h"),
    renamed("pollSeconds", "pollEvery", "30s"),
    renamed("drainSeconds", "drainFor", "5s"),
    renamed("clientTimeoutSeconds", "clientTimeout", "30s"),
];

const fn renamed(old: &'static str, new: &'static str, example: &'static str) -> Renamed {
    Renamed { old, new, example }
}

impl fmt::Display for Renamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { old, new, example } = self;
        write!(
            f,
            "{old:?} is called {new} now; write {new}: {example}, or the like"
        )
    }
}

/// `passSeconds`, as the environment has it: `TOWPATH_PASS_SECONDS`.
fn variable(key: &str) -> String {
    let letter = |c: char| match c.is_ascii_uppercase() {
        true => format!("_{c}"),
        false => c.to_ascii_uppercase().to_string(),
    };
    format!("TOWPATH_{}", key.chars().map(letter).collect::<String>())
}

/// Refuses variables that had a meaning once.
fn check_environment() -> anyhow::Result<()> {
    let is_set = |key: &str| std::env::var_os(variable(key)).is_some();
    match RENAMED.iter().find(|renamed| is_set(renamed.old)) {
        None => Ok(()),
        Some(Renamed { old, new, example }) => bail!(
            "{} is called {} now; write {example}, or the like",
            variable(old),
            variable(new)
        ),
    }
}

/// What a variable of the environment says, for flags that clap cannot read from there.
pub(crate) fn from_environment(name: &str) -> anyhow::Result<Option<TimeSpan>> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty());
    let wrong = |problem| anyhow::anyhow!("{name}: {problem}");
    text.map(|text| text.parse().map_err(wrong)).transpose()
}

/// What a file says about one group of options.
fn part<T: Default + DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    // A file in which everything is commented out is an empty document.
    let options: Option<T> = serde_saphyr::from_str(text).map_err(|error| {
        let problem = error.without_snippet().to_string();
        match problem.contains("expected mapping start") {
            true => anyhow::anyhow!(
                "it is not a list of options (`listen: 127.0.0.1:8080`); `towpath config --default` prints one to start from"
            ),
            false => anyhow::anyhow!("{problem}"),
        }
    })?;
    Ok(options.unwrap_or_default())
}

/// `graph_data`, as files have it: `graphData`.
fn camel_case(id: &str) -> String {
    let (first, rest) = id.split_once('_').unwrap_or((id, ""));
    let parts = rest.split('_').map(|part| match part.split_at_checked(1) {
        Some((initial, rest)) => initial.to_ascii_uppercase() + rest,
        None => String::new(),
    });
    first.to_owned() + &parts.collect::<String>()
}

/// Merges two sets of options. An option that is set in the first wins.
macro_rules! first_given {
    ($first:ident, $second:ident; $($option:ident),*) => {
        Self { $($option: $first.$option.or($second.$option),)* }
    };
}
use first_given;

impl ServeOptions {
    /// With what a file says where nothing was typed.
    fn with_file(self, file: Option<&Path>) -> anyhow::Result<Self> {
        check_environment()?;
        let Some(path) = file else {
            return Ok(self);
        };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{}: cannot be read", path.display()))?;
        let file =
            parse_file(&text).with_context(|| format!("{}: cannot be used", path.display()))?;
        Ok(self.or(file))
    }

    fn or(self, other: Self) -> Self {
        first_given! { self, other;
            listen, sources, refresh_every, degraded_after, allow_window_change, platforms, minors, fleet, clusters,
            store, store_password_file, feedback, halts_to, keep_for, log_key, log_sign_every, token_keys, people_keys, access, revoked_tokens, accept_unbound_tokens_until,
            open_reads, pass_every, report_allowance, ocm, ocm_token, ocm_client_id,
            ocm_client_secret, ocm_offline_token, ocm_token_url, acm, acm_context, outcomes, people, aus_metrics, poll_every,
            max_connections, max_connections_per_address, tls_cert, tls_key, client_ca, client_crl, insecure_http, trusted_proxies, allowed_hosts,
            path_prefix, mandatory_params, drain_for, reports_per_minute, requests_per_minute, client_timeout, log, log_format, now
        }
    }

    fn validated(self) -> anyhow::Result<Settings> {
        let unbound_until = self.unbound_until()?;
        let fleet = self.fleet_settings()?;
        let tls = self.tls_settings()?;
        let people = self.people.settings()?;
        let defaults = Limits::default();
        let intervals = self.intervals()?;
        let sources = self.source_settings(intervals, Needs::GraphDataAndReleases)?;
        let connections = within(
            "maxConnections",
            self.max_connections.unwrap_or(defaults.connections),
            1..=1_000_000,
        )?;
        let timeout = self
            .client_timeout
            .map(|timeout| within("clientTimeout", timeout, SECOND..=HOUR));
        let timeout = timeout.transpose()?.map(TimeSpan::unsigned);
        let for_one_address = match self.max_connections_per_address {
            None => AddressLimit::Half,
            Some(0) => AddressLimit::NoLimit,
            Some(most) => {
                AddressLimit::AtMost(within("maxConnectionsPerAddress", most, 0..=1_000_000)?)
            }
        };
        let drain = self
            .drain_for
            .map(|drain| within("drainFor", drain, TimeSpan::ZERO..=HOUR))
            .transpose()?;
        let reports = within(
            "reportsPerMinute",
            self.reports_per_minute.unwrap_or(REPORTS_PER_MINUTE),
            0..=60_000,
        )?;
        let requests = within(
            "requestsPerMinute",
            self.requests_per_minute.unwrap_or(REQUESTS_PER_MINUTE),
            0..=6_000_000,
        )?;
        let wrong =
            |name: &'static str| move |problem: String| anyhow::anyhow!("--{name}: {problem}");
        self.trusted_proxies
            .as_deref()
            .map(TrustedProxies::parse)
            .transpose()
            .map_err(wrong("trusted-proxies"))?;
        self.allowed_hosts
            .as_deref()
            .map(AllowedHosts::parse)
            .transpose()
            .map_err(wrong("allowed-hosts"))?;
        contract(
            self.path_prefix.as_deref(),
            self.mandatory_params.as_deref(),
        )?;
        Ok(Settings {
            listen: self.listen.map_or(
                SocketAddr::from(([127, 0, 0, 1], 8080)),
                |ListenAddress(address)| address,
            ),
            sources,
            intervals,
            minors: self.minors,
            fleet,
            token_keys: self.token_keys,
            people_keys: self.people_keys,
            access: self.access,
            revoked_tokens: self.revoked_tokens,
            unbound_until,
            limits: Limits {
                connections,
                connections_per_address: for_one_address.of(connections),
                drain: drain.map_or(defaults.drain, TimeSpan::unsigned),
                head_timeout: timeout.unwrap_or(defaults.head_timeout),
                write_timeout: timeout.unwrap_or(defaults.write_timeout),
                ..defaults
            },
            for_one_address,
            people,
            tls,
            insecure_http: self.insecure_http.unwrap_or(false),
            trusted_proxies: self.trusted_proxies,
            allowed_hosts: self.allowed_hosts,
            path_prefix: self.path_prefix,
            mandatory_params: self.mandatory_params,
            reports_per_minute: reports,
            requests_per_minute: requests,
            log: self.log.unwrap_or_else(|| "info".to_owned()),
            log_format: self.log_format.unwrap_or(LogFormat::Text),
            now: self.now.given(),
        })
    }
}

impl Settings {
    /// The files with secrets in them.
    pub(crate) fn secret_files(&self) -> impl Iterator<Item = &Path> {
        let hands = self
            .fleet
            .iter()
            .filter_map(|fleet| fleet.hands.as_ref()?.secret_file());
        let outcomes = self.fleet.iter().filter_map(|fleet| {
            let query = fleet.outcomes.query.as_ref();
            query?.token.as_ref()
        });
        let tls_key = self.tls.as_ref().map(|tls| &tls.key);
        let signing = self.fleet.iter().flat_map(|fleet| &fleet.log_signing);
        let log_key = signing.map(|signing| &signing.key);
        let files = self
            .token_keys
            .iter()
            .chain(&self.people_keys)
            .chain(&self.sources.access.registry_auth_file)
            .chain(outcomes)
            .chain(tls_key)
            .chain(log_key);
        let people = self.people.secret_files();
        files.map(PathBuf::as_path).chain(hands).chain(people)
    }

    /// Whether the files and directories on this machine exist that the service is told to read. What comes from elsewhere may come
    /// later, and so may what there is a copy of.
    pub(crate) fn check_paths(&self) -> anyhow::Result<()> {
        self.sources.check_git()?;
        let has_copies = self
            .sources
            .state
            .as_ref()
            .is_some_and(|state| state.exists());
        let sources = self.sources.specs.iter().filter(|_| !has_copies);
        let sources = sources.filter_map(|spec| match &spec.location {
            Location::Path(path) => Some((spec.role.flag(), path.as_path())),
            _ => None,
        });
        let fleet = self.fleet.iter().flat_map(|fleet| {
            let clusters = fleet
                .clusters
                .iter()
                .map(|path| ("--clusters", path.as_path()));
            let acm = match &fleet.hands {
                Some(HandsSettings::Acm(acm)) => acm.kubeconfig().map(|path| ("--acm", path)),
                _ => None,
            };
            let policy = ("--fleet", fleet.policy.as_path());
            std::iter::once(policy).chain(clusters).chain(acm)
        });
        let machines = self.token_keys.iter().map(|path| ("--token-keys", path));
        let people = self.people_keys.iter().map(|path| ("--people-keys", path));
        let access = self.access.iter().map(|path| ("--access", path));
        let revoked = self.revoked_tokens.iter();
        let revoked = revoked.map(|path| ("--revoked-tokens", path));
        let keys = machines.chain(people).chain(access).chain(revoked);
        let keys = keys.map(|(flag, path)| (flag, path.as_path()));
        let tls = self.tls.iter().flat_map(TlsSettings::files);
        let people = self.people.files();
        let all = sources.chain(fleet).chain(keys).chain(tls).chain(people);
        let mut all = all.filter(|(_, path)| !path.exists());
        match all.next() {
            None => Ok(()),
            Some((flag, path)) => anyhow::bail!(
                "{flag} {}: there is no such file or directory; correct the path",
                path.display()
            ),
        }
    }

    /// Where graphs are answered, and what a request must have.
    pub(crate) fn contract(&self) -> anyhow::Result<ClientContract> {
        contract(
            self.path_prefix.as_deref(),
            self.mandatory_params.as_deref(),
        )
    }

    /// What a request's head has to say. On loopback, a page in a browser of this machine could read us under a name of its own.
    pub(crate) fn admission(&self) -> anyhow::Result<Admission> {
        let wrong = |problem: String| anyhow::anyhow!(problem);
        let hosts = match (&self.allowed_hosts, self.listen.ip().is_loopback()) {
            (Some(hosts), _) => AllowedHosts::parse(hosts).map_err(wrong)?,
            (None, true) => AllowedHosts::Names(BTreeSet::new()),
            (None, false) => AllowedHosts::Any,
        };
        let proxies = self
            .trusted_proxies
            .as_deref()
            .map(TrustedProxies::parse)
            .transpose()
            .map_err(wrong)?;
        Ok(Admission {
            hosts,
            proxies: proxies.unwrap_or_default(),
            plain_http: self.plain_http(),
        })
    }
}

fn contract(prefix: Option<&str>, mandatory: Option<&str>) -> anyhow::Result<ClientContract> {
    let mut contract = ClientContract::default();
    if let Some(prefix) = prefix {
        let wrong = |problem| anyhow::anyhow!("--path-prefix: {problem}");
        contract = contract.under(prefix).map_err(wrong)?;
    }
    if let Some(names) = mandatory {
        let wrong = |problem| anyhow::anyhow!("--mandatory-params: {problem}");
        contract = contract.with_mandatory(names).map_err(wrong)?;
    }
    Ok(contract)
}

pub(crate) fn within<N: PartialOrd + fmt::Display>(
    name: &str,
    value: N,
    range: RangeInclusive<N>,
) -> anyhow::Result<N> {
    match range.contains(&value) {
        true => Ok(value),
        false => bail!(
            "{name} is {value}; it must be between {} and {}",
            range.start(),
            range.end()
        ),
    }
}

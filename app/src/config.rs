//! Configuration in three steps: as it was typed, merged, validated.
//!
//! Flags win over the environment (clap sees to that), both over the file, all over the defaults, which stand in
//! one place: [`Settings`].

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use towpath_formats::graph_data::parse_time;
use towpath_store::StoreAddress;
use towpath_web::{Admission, AllowedHosts, Limits, REPORTS_PER_MINUTE, Reads, TrustedProxies};

use crate::sources::SourceSettings;
use crate::sources::address::Intervals;

/// A file with every option, commented out, and what each is for.
pub(crate) const DEFAULT_FILE: &str = include_str!("../towpath.yaml");

/// The options of `serve`, as they were typed on the command line or in a file.
#[derive(Debug, Default, Clone, Deserialize, clap::Args)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ServeOptions {
    /// Listen here.
    #[arg(long, env = "TOWPATH_LISTEN", value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Read graph data (channels, blocks) from a directory, `git+https://HOST/REPO.git#REVISION`, `https://…/x.tar.gz` or `oci://IMAGE`.
    #[arg(long, env = "TOWPATH_GRAPH_DATA", value_name = "WHERE")]
    pub(crate) graph_data: Option<String>,
    /// Read releases and edges from a Cincinnati graph file, a Cincinnati service (`https://…/graph#channels=…`) or `oci://REPOSITORY`; may be given
    /// several times.
    #[arg(long, env = "TOWPATH_RELEASES", value_name = "WHERE")]
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) releases: Option<Vec<String>>,
    /// Keep the newest good copy of every source in this directory, so that a restart needs none of them.
    #[arg(long, env = "TOWPATH_STATE", value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Read sources on other machines this often.
    #[arg(long, env = "TOWPATH_REFRESH_SECONDS", value_name = "SECONDS")]
    pub(crate) refresh_seconds: Option<u64>,
    /// Report as degraded when a source has not been read for so long.
    #[arg(long, env = "TOWPATH_DEGRADED_AFTER_SECONDS", value_name = "SECONDS")]
    pub(crate) degraded_after_seconds: Option<u64>,
    /// Recommend nothing any more when a source has not been read for so long; 0: never do that.
    #[arg(long, env = "TOWPATH_CLOSED_AFTER_SECONDS", value_name = "SECONDS")]
    pub(crate) closed_after_seconds: Option<u64>,
    /// Refuse a copy of a source that lacks more than this share of what it had within the last seven days.
    #[arg(long, env = "TOWPATH_MAX_SHRINK_PERCENT", value_name = "PERCENT")]
    pub(crate) max_shrink_percent: Option<u8>,
    /// Take copies of that source even so: `empty:SOURCE`, `shrink:SOURCE`, `back:SOURCE`, `payload:SOURCE`; may be given several times.
    #[arg(long, env = "TOWPATH_ALLOW", value_name = "WHAT:SOURCE")]
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) allow: Option<Vec<String>>,
    /// Trust the certificate authorities in this PEM file too.
    #[arg(long, env = "TOWPATH_CA_FILE", value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// What we are known by to registries: a file as `podman login --authfile` writes it, or a pull secret.
    #[arg(long, env = "TOWPATH_REGISTRY_AUTH_FILE", value_name = "FILE")]
    pub(crate) registry_auth_file: Option<PathBuf>,
    /// Look for signatures of releases here: a directory or an address with `sha256=<digest>/signature-1`, …; may be given several times.
    #[arg(long, env = "TOWPATH_SIGNATURES", value_name = "STORE")]
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) signatures: Option<Vec<String>>,
    /// The OpenPGP public keys whose signatures count; may be given several times.
    #[arg(long, env = "TOWPATH_KEYRING", value_name = "FILE")]
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) keyring: Option<Vec<PathBuf>>,
    /// What becomes of releases that no such key has signed: `require` leaves them out, `warn` tells of them, `off` does not ask. With a keyring it is
    /// `require` unless this says otherwise.
    #[arg(long, env = "TOWPATH_SIGNATURE_POLICY", value_name = "POLICY")]
    pub(crate) signature_policy: Option<SignatureOption>,
    /// Let sources be read over plain HTTP, also from other machines.
    #[arg(long, env = "TOWPATH_PLAIN_HTTP", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) plain_http: Option<bool>,
    /// Look up the platform of clusters that do not tell it here: lines of `id,platform`.
    #[arg(long, env = "TOWPATH_PLATFORMS", value_name = "FILE")]
    pub(crate) platforms: Option<PathBuf>,
    /// Read the fleet's policy (organisations, clusters) from this directory.
    #[arg(long, env = "TOWPATH_FLEET", value_name = "DIR")]
    pub(crate) fleet: Option<PathBuf>,
    /// Read clusters from this list, besides those that report.
    #[arg(long, env = "TOWPATH_CLUSTERS", value_name = "FILE")]
    pub(crate) clusters: Option<PathBuf>,
    /// Keep the fleet's state here: `sqlite:PATH`, or `postgres://…` for many replicas.
    #[arg(long, env = "TOWPATH_STORE", value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Read the password of the PostgreSQL store from this file; it is read again when the server refuses it.
    #[arg(long, env = "TOWPATH_STORE_PASSWORD_FILE", value_name = "FILE")]
    pub(crate) store_password_file: Option<PathBuf>,
    /// Keep decisions, and spans of observed time one by one, for so many days; 0: for ever.
    #[arg(long, env = "TOWPATH_KEEP_DAYS", value_name = "DAYS")]
    pub(crate) keep_days: Option<u32>,
    /// Make and check tokens of clusters and administrators with the keys in this file.
    #[arg(long, env = "TOWPATH_TOKEN_KEYS", value_name = "FILE")]
    pub(crate) token_keys: Option<PathBuf>,
    /// Take tokens of the first version (tpc_, tpa_, tpr_) until this day. Their clusters stay unbound: no soak is credited for them.
    #[arg(long, env = "TOWPATH_ACCEPT_UNBOUND_TOKENS_UNTIL", value_name = "DATE")]
    pub(crate) accept_unbound_tokens_until: Option<String>,
    /// Let anybody look at the fleet. Else that needs a reader's or an administrator's token, where there are keys to check it with.
    #[arg(long, env = "TOWPATH_OPEN_READS", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) open_reads: Option<bool>,
    /// Decide about the fleet this often.
    #[arg(long, env = "TOWPATH_PASS_SECONDS", value_name = "SECONDS")]
    pub(crate) pass_seconds: Option<u64>,
    /// Count the time between two reports of a cluster as soak if it is no longer than this.
    #[arg(long, env = "TOWPATH_REPORT_ALLOWANCE_SECONDS", value_name = "SECONDS")]
    pub(crate) report_allowance_seconds: Option<u64>,
    /// Take clusters from, and schedule upgrades in, the OCM-style API at this address.
    #[arg(long, env = "TOWPATH_OCM", value_name = "URL")]
    pub(crate) ocm: Option<String>,
    /// The file that holds the token for that API.
    #[arg(long, env = "TOWPATH_OCM_TOKEN", value_name = "FILE")]
    pub(crate) ocm_token: Option<PathBuf>,
    /// Look for changes this often where the kernel does not tell of them.
    #[arg(long, env = "TOWPATH_POLL_SECONDS", value_name = "SECONDS")]
    pub(crate) poll_seconds: Option<u64>,
    /// Take at most so many connections at once.
    #[arg(long, env = "TOWPATH_MAX_CONNECTIONS", value_name = "N")]
    pub(crate) max_connections: Option<usize>,
    /// Take at most so many connections of one address at once; 0: no limit. Half of all places unless this says otherwise.
    #[arg(long, env = "TOWPATH_MAX_CONNECTIONS_PER_ADDRESS", value_name = "N")]
    pub(crate) max_connections_per_address: Option<usize>,
    /// Proxies that tell for whom they ask (X-Forwarded-For, Forwarded): addresses and networks, with commas. Their own address has no limit.
    #[arg(long, env = "TOWPATH_TRUSTED_PROXIES", value_name = "CIDR,…")]
    pub(crate) trusted_proxies: Option<String>,
    /// Answer only requests whose Host is one of these names, `localhost` or an IP address; `*`: any. On loopback no other name is answered unless this
    /// says so; elsewhere any is.
    #[arg(long, env = "TOWPATH_ALLOWED_HOSTS", value_name = "NAME,…")]
    pub(crate) allowed_hosts: Option<String>,
    /// When told to stop, take connections for so long, while /readyz says 503; 0: stop listening at once.
    #[arg(long, env = "TOWPATH_DRAIN_SECONDS", value_name = "SECONDS")]
    pub(crate) drain_seconds: Option<u64>,
    /// Take at most so many reports of one cluster in a minute; 0: no limit.
    #[arg(long, env = "TOWPATH_REPORTS_PER_MINUTE", value_name = "N")]
    pub(crate) reports_per_minute: Option<u32>,
    /// Close a connection that has not sent a whole request, or has taken nothing of its answer, for so long.
    #[arg(long, env = "TOWPATH_CLIENT_TIMEOUT_SECONDS", value_name = "SECONDS")]
    pub(crate) client_timeout_seconds: Option<u64>,
    /// What to log: error, warn, info, debug, trace, or a filter such as `towpath_web=debug`.
    #[arg(long, env = "TOWPATH_LOG", value_name = "LEVEL")]
    pub(crate) log: Option<String>,
    /// How to log: text or json.
    #[arg(long, env = "TOWPATH_LOG_FORMAT", value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// Answer as of this time, for ever; for demonstrations and tests.
    #[arg(long, env = "TOWPATH_NOW", value_name = "TIME")]
    pub(crate) now: Option<String>,
}

/// What becomes of releases that are not signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SignatureOption {
    /// They are left out.
    Require,
    /// They stay, and somebody is told.
    Warn,
    /// Nobody asks.
    Off,
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
    pub(crate) fleet: Option<FleetSettings>,
    pub(crate) token_keys: Option<PathBuf>,
    /// Tokens of the first version are taken until then.
    pub(crate) unbound_until: Option<Timestamp>,
    pub(crate) limits: Limits,
    /// How many connections one address may have, as it was typed: half of all places follows from what there is room for.
    pub(crate) for_one_address: ForOneAddress,
    pub(crate) trusted_proxies: Option<String>,
    pub(crate) allowed_hosts: Option<String>,
    pub(crate) reports_per_minute: u32,
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
    pub(crate) now: Option<Timestamp>,
}

/// Days for which decisions and single spans are kept.
const KEEP_DAYS: u32 = 90;

/// How many connections one address may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForOneAddress {
    /// Half of all places.
    Half,
    AtMost(usize),
    NoLimit,
}

impl ForOneAddress {
    /// Of so many places in all.
    pub(crate) fn of(self, all: usize) -> Option<usize> {
        match self {
            Self::Half => Some(all.div_ceil(2)),
            Self::AtMost(most) => Some(most),
            Self::NoLimit => None,
        }
    }
}

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

/// Merges what was typed with the file, and fills in the defaults.
pub(crate) fn settings(typed: ServeOptions, file: Option<&Path>) -> anyhow::Result<Settings> {
    let from_file = match file {
        None => ServeOptions::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("{}: cannot be read", path.display()))?;
            parse_file(&text).with_context(|| format!("{}: cannot be used", path.display()))?
        }
    };
    typed.or(from_file).validated()
}

/// In a file, a list of one may be written as that one.
fn one_or_many<'de, T: From<String>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        One(String),
        Many(Vec<String>),
    }
    Ok(
        Option::<Written>::deserialize(deserializer)?.map(|written| match written {
            Written::One(one) => vec![one.into()],
            Written::Many(many) => many.into_iter().map(T::from).collect(),
        }),
    )
}

fn parse_file(text: &str) -> anyhow::Result<ServeOptions> {
    // A file in which everything is commented out is an empty document.
    let options: Option<ServeOptions> = serde_saphyr::from_str(text)
        .map_err(|error| anyhow::anyhow!("{}", error.without_snippet()))?;
    Ok(options.unwrap_or_default())
}

impl ServeOptions {
    fn or(self, other: Self) -> Self {
        Self {
            listen: self.listen.or(other.listen),
            graph_data: self.graph_data.or(other.graph_data),
            releases: self.releases.or(other.releases),
            state: self.state.or(other.state),
            refresh_seconds: self.refresh_seconds.or(other.refresh_seconds),
            degraded_after_seconds: self.degraded_after_seconds.or(other.degraded_after_seconds),
            closed_after_seconds: self.closed_after_seconds.or(other.closed_after_seconds),
            max_shrink_percent: self.max_shrink_percent.or(other.max_shrink_percent),
            allow: self.allow.or(other.allow),
            ca_file: self.ca_file.or(other.ca_file),
            registry_auth_file: self.registry_auth_file.or(other.registry_auth_file),
            signatures: self.signatures.or(other.signatures),
            keyring: self.keyring.or(other.keyring),
            signature_policy: self.signature_policy.or(other.signature_policy),
            plain_http: self.plain_http.or(other.plain_http),
            platforms: self.platforms.or(other.platforms),
            fleet: self.fleet.or(other.fleet),
            clusters: self.clusters.or(other.clusters),
            store: self.store.or(other.store),
            store_password_file: self.store_password_file.or(other.store_password_file),
            keep_days: self.keep_days.or(other.keep_days),
            token_keys: self.token_keys.or(other.token_keys),
            accept_unbound_tokens_until: self
                .accept_unbound_tokens_until
                .or(other.accept_unbound_tokens_until),
            open_reads: self.open_reads.or(other.open_reads),
            pass_seconds: self.pass_seconds.or(other.pass_seconds),
            report_allowance_seconds: self
                .report_allowance_seconds
                .or(other.report_allowance_seconds),
            ocm: self.ocm.or(other.ocm),
            ocm_token: self.ocm_token.or(other.ocm_token),
            poll_seconds: self.poll_seconds.or(other.poll_seconds),
            max_connections: self.max_connections.or(other.max_connections),
            max_connections_per_address: self
                .max_connections_per_address
                .or(other.max_connections_per_address),
            trusted_proxies: self.trusted_proxies.or(other.trusted_proxies),
            allowed_hosts: self.allowed_hosts.or(other.allowed_hosts),
            drain_seconds: self.drain_seconds.or(other.drain_seconds),
            reports_per_minute: self.reports_per_minute.or(other.reports_per_minute),
            client_timeout_seconds: self.client_timeout_seconds.or(other.client_timeout_seconds),
            log: self.log.or(other.log),
            log_format: self.log_format.or(other.log_format),
            now: self.now.or(other.now),
        }
    }

    fn validated(self) -> anyhow::Result<Settings> {
        let unbound_until = self.unbound_until()?;
        let fleet = self.fleet_settings()?;
        let defaults = Limits::default();
        let intervals = self.intervals()?;
        let sources = self.source_settings(intervals)?;
        let connections = within(
            "maxConnections",
            self.max_connections.unwrap_or(defaults.connections),
            1..=1_000_000,
        )?;
        let timeout = self
            .client_timeout_seconds
            .map(|seconds| within("clientTimeoutSeconds", seconds, 1..=3_600));
        let timeout = timeout.transpose()?.map(Duration::from_secs);
        let for_one_address = match self.max_connections_per_address {
            None => ForOneAddress::Half,
            Some(0) => ForOneAddress::NoLimit,
            Some(most) => {
                ForOneAddress::AtMost(within("maxConnectionsPerAddress", most, 0..=1_000_000)?)
            }
        };
        let drain = self
            .drain_seconds
            .map(|seconds| within("drainSeconds", seconds, 0..=3_600))
            .transpose()?;
        let reports = within(
            "reportsPerMinute",
            self.reports_per_minute.unwrap_or(REPORTS_PER_MINUTE),
            0..=60_000,
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
        Ok(Settings {
            listen: self
                .listen
                .unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 8080))),
            sources,
            intervals,
            fleet,
            token_keys: self.token_keys,
            unbound_until,
            limits: Limits {
                connections,
                connections_per_address: for_one_address.of(connections),
                drain: drain.map_or(defaults.drain, Duration::from_secs),
                head_timeout: timeout.unwrap_or(defaults.head_timeout),
                write_timeout: timeout.unwrap_or(defaults.write_timeout),
                ..defaults
            },
            for_one_address,
            trusted_proxies: self.trusted_proxies,
            allowed_hosts: self.allowed_hosts,
            reports_per_minute: reports,
            log: self.log.unwrap_or_else(|| "info".to_owned()),
            log_format: self.log_format.unwrap_or(LogFormat::Text),
            now: self
                .now
                .map(|now| parse_time(&now).map_err(|problem| anyhow::anyhow!("--now: {problem}")))
                .transpose()?,
        })
    }
}

impl ServeOptions {
    fn fleet_settings(&self) -> anyhow::Result<Option<FleetSettings>> {
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
                "--store-password-file {file} is for a store at postgres://…; add --store postgres://USER@HOST/DATABASE, or leave it out"
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
}

impl Settings {
    /// The files with secrets in them.
    pub(crate) fn secret_files(&self) -> impl Iterator<Item = &Path> {
        let ocm = self
            .fleet
            .iter()
            .filter_map(|fleet| fleet.ocm.as_ref())
            .map(|(_, token)| token);
        let files = self
            .token_keys
            .iter()
            .chain(ocm)
            .chain(&self.sources.access.registry_auth_file);
        files.map(PathBuf::as_path)
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
        })
    }
}

impl ServeOptions {
    /// Until when tokens of the first version are taken: a day, from its first moment in UTC, or a time.
    fn unbound_until(&self) -> anyhow::Result<Option<Timestamp>> {
        let Some(text) = &self.accept_unbound_tokens_until else {
            return Ok(None);
        };
        if self.token_keys.is_none() {
            bail!(
                "--accept-unbound-tokens-until says which tokens are taken, and without keys none is; add --token-keys FILE"
            );
        }
        let day = |text: &str| text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10;
        let time = if day(text) {
            format!("{text}T00:00:00Z")
        } else {
            text.clone()
        };
        let wrong = |problem| {
            anyhow::anyhow!("--accept-unbound-tokens-until: {problem}; write it as in 2027-01-31")
        };
        parse_time(&time).map(Some).map_err(wrong)
    }
}

pub(crate) fn within<N: PartialOrd + fmt::Display>(
    name: &str,
    value: N,
    range: RangeInclusive<N>,
) -> anyhow::Result<N> {
    match range.contains(&value) {
        true => Ok(value),
        false => bail!(
            "{name} is {value}; it can be {} to {}",
            range.start(),
            range.end()
        ),
    }
}

/// As a file that would bring it about.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "listen: \"{}\"", self.listen)?;
        write!(f, "{}", self.sources)?;
        if let Some(fleet) = &self.fleet {
            writeln!(f, "{fleet}")?;
        }
        if let (None, Some(keys)) = (&self.fleet, &self.token_keys) {
            writeln!(f, "tokenKeys: {:?}", keys.display().to_string())?;
        }
        if let Some(until) = self.unbound_until {
            writeln!(f, "acceptUnboundTokensUntil: \"{until}\"")?;
        }
        writeln!(f, "pollSeconds: {}", self.intervals.local.as_secs())?;
        writeln!(f, "refreshSeconds: {}", self.intervals.remote.as_secs())?;
        writeln!(f, "maxConnections: {}", self.limits.connections)?;
        match self.for_one_address {
            ForOneAddress::Half => writeln!(f, "# maxConnectionsPerAddress: half of all places")?,
            ForOneAddress::AtMost(most) => writeln!(f, "maxConnectionsPerAddress: {most}")?,
            ForOneAddress::NoLimit => writeln!(f, "maxConnectionsPerAddress: 0")?,
        }
        self.trusted_proxies
            .iter()
            .try_for_each(|proxies| writeln!(f, "trustedProxies: {proxies:?}"))?;
        match (&self.allowed_hosts, self.listen.ip().is_loopback()) {
            (Some(hosts), _) => writeln!(f, "allowedHosts: {hosts:?}")?,
            (None, true) => writeln!(f, "# allowedHosts: localhost and IP addresses, on loopback")?,
            (None, false) => writeln!(f, "# allowedHosts: any")?,
        }
        writeln!(f, "drainSeconds: {}", self.limits.drain.as_secs())?;
        writeln!(f, "reportsPerMinute: {}", self.reports_per_minute)?;
        writeln!(
            f,
            "clientTimeoutSeconds: {}",
            self.limits.head_timeout.as_secs()
        )?;
        writeln!(f, "log: {:?}", self.log)?;
        let format = if self.log_format == LogFormat::Json {
            "json"
        } else {
            "text"
        };
        writeln!(f, "logFormat: {format}")?;
        self.now.map_or(Ok(()), |now| writeln!(f, "now: \"{now}\""))
    }
}

impl fmt::Display for FleetSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &Path| format!("{:?}", path.display().to_string());
        writeln!(f, "fleet: {}", path(&self.policy))?;
        self.clusters
            .iter()
            .try_for_each(|clusters| writeln!(f, "clusters: {}", path(clusters)))?;
        // An address may hold a password.
        match self
            .store
            .as_deref()
            .map(|store| (store, store.starts_with("sqlite:")))
        {
            Some((store, true)) => writeln!(f, "store: {store:?}")?,
            Some((_, false)) => writeln!(f, "# store: given, and not shown")?,
            None => writeln!(f, "# store: not given")?,
        }
        self.store_password_file
            .iter()
            .try_for_each(|file| writeln!(f, "storePasswordFile: {}", path(file)))?;
        writeln!(
            f,
            "keepDays: {}",
            self.keep_for.map_or(0, |keep| keep.as_hours() / 24)
        )?;
        self.token_keys
            .iter()
            .try_for_each(|keys| writeln!(f, "tokenKeys: {}", path(keys)))?;
        writeln!(f, "openReads: {}", self.reads == Reads::Open)?;
        writeln!(f, "passSeconds: {}", self.pass_every.as_secs())?;
        if let Some((url, token)) = &self.ocm {
            writeln!(f, "ocm: {url:?}\nocmToken: {}", path(token))?;
        }
        write!(f, "reportAllowanceSeconds: {}", self.allowance.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uncommented() -> String {
        let option = |line: &str| {
            line.strip_prefix("# ")
                .filter(|rest| rest.split(':').next().is_some_and(|k| !k.contains(' ')))
                .map(str::to_owned)
        };
        DEFAULT_FILE
            .lines()
            .filter_map(option)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn the_default_file_parses_and_changes_nothing() {
        let settings = parse_file(DEFAULT_FILE).unwrap().validated().unwrap();
        assert_eq!(
            settings.to_string(),
            ServeOptions::default().validated().unwrap().to_string()
        );
    }

    #[test]
    fn the_default_file_names_every_option_with_its_default() {
        let mut options = parse_file(&uncommented()).unwrap();
        assert!(
            options.graph_data.take().is_some()
                && options.releases.take().is_some()
                && options.platforms.take().is_some()
        );
        assert!(
            options.state.take().is_some()
                && options.allow.take().is_some()
                && options.ca_file.take().is_some()
        );
        let signed = options.signatures.take().is_some() && options.keyring.take().is_some();
        assert!(
            signed
                && options.signature_policy.take().is_some()
                && options.registry_auth_file.take().is_some()
        );
        assert!(options.now.take().is_some());
        assert!(options.trusted_proxies.take().is_some() && options.allowed_hosts.take().is_some());
        assert!(options.max_connections_per_address.take().is_some());
        let fleet = options.fleet.take().is_some()
            && options.clusters.take().is_some()
            && options.store.take().is_some();
        assert!(options.store_password_file.take().is_some());
        let rest = options.accept_unbound_tokens_until.take().is_some()
            && options.token_keys.take().is_some()
            && options.ocm.take().is_some()
            && options.ocm_token.take().is_some();
        assert!(fleet && rest);
        assert_eq!(
            options.validated().unwrap().to_string(),
            ServeOptions::default().validated().unwrap().to_string()
        );
    }

    #[test]
    fn what_is_printed_can_be_read_back() {
        let typed =
            parse_file("listen: 0.0.0.0:1\nmaxConnectionsPerAddress: 0\ntrustedProxies: 10.0.0.0/8\nallowedHosts: a.b\ngraphData: a b\nreleases: r\nnow: 2026-01-01T00:00Z\nlogFormat: json")
                .unwrap();
        let printed = typed.validated().unwrap().to_string();
        assert_eq!(
            parse_file(&printed)
                .unwrap()
                .validated()
                .unwrap()
                .to_string(),
            printed
        );
    }

    #[test]
    fn flags_win_over_the_file() {
        let flags = parse_file("listen: 0.0.0.0:1").unwrap();
        let file = parse_file("listen: 0.0.0.0:2\nmaxConnections: 7").unwrap();
        let settings = flags.or(file).validated().unwrap();
        assert_eq!(
            (settings.listen.port(), settings.limits.connections),
            (1, 7)
        );
        assert_eq!(
            settings.limits.connections_per_address,
            Some(4),
            "half of them"
        );
    }

    #[test]
    fn a_password_file_is_for_a_store_that_has_a_password() {
        let file = "fleet: f\nstorePasswordFile: p\n";
        for store in ["", "store: \"sqlite:x.db\""] {
            let error = parse_file(&format!("{file}{store}"))
                .unwrap()
                .validated()
                .unwrap_err()
                .to_string();
            assert!(error.contains("is for a store at postgres://"), "{error}");
        }
        let settings = parse_file(&format!("{file}store: postgres://me@db/fleet"))
            .unwrap()
            .validated()
            .unwrap();
        let address = settings.fleet.as_ref().unwrap().store_address();
        assert_eq!(
            (&*address.url, address.password_file),
            ("postgres://me@db/fleet", Some("p".into()))
        );
        assert!(
            settings.to_string().contains("storePasswordFile: \"p\""),
            "{settings}"
        );
    }

    #[test]
    fn mistakes_are_told() {
        assert!(
            parse_file("listne: x")
                .unwrap_err()
                .to_string()
                .contains("listne")
        );
        for half in ["graphData: x", "releases: x"] {
            assert!(
                parse_file(half)
                    .unwrap()
                    .validated()
                    .unwrap_err()
                    .to_string()
                    .contains("; add --")
            );
        }
        for (text, expected) in [
            (
                "trustedProxies: 10.0.0.0/99",
                "--trusted-proxies: \"10.0.0.0/99\" is not a network",
            ),
            (
                "allowedHosts: http://x",
                "--allowed-hosts: \"http://x\" is not a host name",
            ),
            ("drainSeconds: 3601", "it can be 0 to 3600"),
        ] {
            let error = parse_file(text)
                .unwrap()
                .validated()
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
        for (file, expected) in [
            (
                "acceptUnboundTokensUntil: 2027-01-31",
                "add --token-keys FILE",
            ),
            (
                "tokenKeys: k\nacceptUnboundTokensUntil: soon",
                "write it as in 2027-01-31",
            ),
            (
                "tokenKeys: k\nacceptUnboundTokensUntil: 2027-02-30",
                "write it as in 2027-01-31",
            ),
        ] {
            let told = parse_file(file)
                .unwrap()
                .validated()
                .unwrap_err()
                .to_string();
            assert!(told.contains(expected), "{told}");
        }
        let until = parse_file("tokenKeys: k\nacceptUnboundTokensUntil: 2027-01-31")
            .unwrap()
            .validated()
            .unwrap();
        assert_eq!(
            until.unbound_until.unwrap().to_string(),
            "2027-01-31T00:00:00Z"
        );
        assert!(parse_file("now: tomorrow").unwrap().validated().is_err());
        for number in [
            "maxConnections: 0",
            "pollSeconds: 0",
            "clientTimeoutSeconds: 18446744073709551615",
        ] {
            assert!(
                parse_file(number)
                    .unwrap()
                    .validated()
                    .unwrap_err()
                    .to_string()
                    .contains("it can be 1 to")
            );
        }
    }
}

//! Configuration in three steps: as it was typed, merged, validated.
//!
//! Flags win over the environment (clap sees to that), both over the file, all over the defaults, which stand in
//! one place: [`Settings`].

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use towpath_formats::graph_data::parse_time;
use towpath_web::{Limits, Reads};

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
    /// Make and check tokens of clusters and administrators with the keys in this file.
    #[arg(long, env = "TOWPATH_TOKEN_KEYS", value_name = "FILE")]
    pub(crate) token_keys: Option<PathBuf>,
    /// Let anybody look at the fleet. Else that needs the administrator's token, where there are keys to check it with.
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
    pub(crate) limits: Limits,
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
    pub(crate) now: Option<Timestamp>,
}

/// A fleet to look after.
#[derive(Debug, Clone)]
pub(crate) struct FleetSettings {
    pub(crate) policy: PathBuf,
    pub(crate) clusters: Option<PathBuf>,
    pub(crate) store: Option<String>,
    pub(crate) token_keys: Option<PathBuf>,
    pub(crate) reads: Reads,
    pub(crate) pass_every: Duration,
    pub(crate) allowance: SignedDuration,
    pub(crate) ocm: Option<(String, PathBuf)>,
}

/// Merges what was typed with the file, and fills in the defaults.
pub(crate) fn settings(typed: ServeOptions, file: Option<&Path>) -> anyhow::Result<Settings> {
    let from_file = match file {
        None => ServeOptions::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))?;
            parse_file(&text).with_context(|| format!("{}: cannot be used", path.display()))?
        }
    };
    typed.or(from_file).validated()
}

/// In a file, a list of one may be written as that one.
fn one_or_many<'de, T: From<String>, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<T>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        One(String),
        Many(Vec<String>),
    }
    Ok(Option::<Written>::deserialize(deserializer)?.map(|written| match written {
        Written::One(one) => vec![one.into()],
        Written::Many(many) => many.into_iter().map(T::from).collect(),
    }))
}

fn parse_file(text: &str) -> anyhow::Result<ServeOptions> {
    // A file in which everything is commented out is an empty document.
    let options: Option<ServeOptions> =
        serde_saphyr::from_str(text).map_err(|error| anyhow::anyhow!("{}", error.without_snippet()))?;
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
            token_keys: self.token_keys.or(other.token_keys),
            open_reads: self.open_reads.or(other.open_reads),
            pass_seconds: self.pass_seconds.or(other.pass_seconds),
            report_allowance_seconds: self.report_allowance_seconds.or(other.report_allowance_seconds),
            ocm: self.ocm.or(other.ocm),
            ocm_token: self.ocm_token.or(other.ocm_token),
            poll_seconds: self.poll_seconds.or(other.poll_seconds),
            max_connections: self.max_connections.or(other.max_connections),
            client_timeout_seconds: self.client_timeout_seconds.or(other.client_timeout_seconds),
            log: self.log.or(other.log),
            log_format: self.log_format.or(other.log_format),
            now: self.now.or(other.now),
        }
    }

    fn validated(self) -> anyhow::Result<Settings> {
        let fleet = self.fleet_settings()?;
        let defaults = Limits::default();
        let intervals = self.intervals()?;
        let sources = self.source_settings(intervals)?;
        let connections =
            within("maxConnections", self.max_connections.unwrap_or(defaults.connections), 1..=1_000_000)?;
        let timeout = self.client_timeout_seconds.map(|seconds| within("clientTimeoutSeconds", seconds, 1..=3_600));
        let timeout = timeout.transpose()?.map(Duration::from_secs);
        Ok(Settings {
            listen: self.listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 8080))),
            sources,
            intervals,
            fleet,
            token_keys: self.token_keys,
            limits: Limits {
                connections,
                head_timeout: timeout.unwrap_or(defaults.head_timeout),
                write_timeout: timeout.unwrap_or(defaults.write_timeout),
                ..defaults
            },
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
        let allowance = within("reportAllowanceSeconds", self.report_allowance_seconds.unwrap_or(3_600), 1..=604_800)?;
        let ocm = match (self.ocm.clone(), self.ocm_token.clone()) {
            (Some(url), Some(token)) => Some((url, token)),
            (Some(_), None) => bail!("--ocm needs a token; add --ocm-token FILE"),
            (None, _) => None,
        };
        let Some(policy) = self.fleet.clone() else {
            return Ok(None);
        };
        let reads = match (self.open_reads, &self.token_keys) {
            (Some(false), None) => {
                bail!("openReads is false, but there is no key to check tokens with; add --token-keys FILE")
            }
            (Some(true), _) | (None, None) => Reads::Open,
            (Some(false) | None, Some(_)) => Reads::WithToken,
        };
        Ok(Some(FleetSettings {
            policy,
            clusters: self.clusters.clone(),
            store: self.store.clone(),
            token_keys: self.token_keys.clone(),
            reads,
            pass_every: Duration::from_secs(pass),
            allowance: SignedDuration::from_secs(i64::try_from(allowance).expect("it is within its limits")),
            ocm,
        }))
    }
}

pub(crate) fn within<N: PartialOrd + fmt::Display>(
    name: &str,
    value: N,
    range: RangeInclusive<N>,
) -> anyhow::Result<N> {
    match range.contains(&value) {
        true => Ok(value),
        false => bail!("{name} is {value}; it can be {} to {}", range.start(), range.end()),
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
        writeln!(f, "pollSeconds: {}", self.intervals.local.as_secs())?;
        writeln!(f, "refreshSeconds: {}", self.intervals.remote.as_secs())?;
        writeln!(f, "maxConnections: {}", self.limits.connections)?;
        writeln!(f, "clientTimeoutSeconds: {}", self.limits.head_timeout.as_secs())?;
        writeln!(f, "log: {:?}", self.log)?;
        let format = if self.log_format == LogFormat::Json { "json" } else { "text" };
        writeln!(f, "logFormat: {format}")?;
        self.now.map_or(Ok(()), |now| writeln!(f, "now: \"{now}\""))
    }
}

impl fmt::Display for FleetSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &Path| format!("{:?}", path.display().to_string());
        writeln!(f, "fleet: {}", path(&self.policy))?;
        self.clusters.iter().try_for_each(|clusters| writeln!(f, "clusters: {}", path(clusters)))?;
        // An address may hold a password.
        match self.store.as_deref().map(|store| (store, store.starts_with("sqlite:"))) {
            Some((store, true)) => writeln!(f, "store: {store:?}")?,
            Some((_, false)) => writeln!(f, "# store: given, and not shown")?,
            None => writeln!(f, "# store: not given")?,
        }
        self.token_keys.iter().try_for_each(|keys| writeln!(f, "tokenKeys: {}", path(keys)))?;
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
        DEFAULT_FILE.lines().filter_map(option).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_default_file_parses_and_changes_nothing() {
        let settings = parse_file(DEFAULT_FILE).unwrap().validated().unwrap();
        assert_eq!(settings.to_string(), ServeOptions::default().validated().unwrap().to_string());
    }

    #[test]
    fn the_default_file_names_every_option_with_its_default() {
        let mut options = parse_file(&uncommented()).unwrap();
        assert!(
            options.graph_data.take().is_some()
                && options.releases.take().is_some()
                && options.platforms.take().is_some()
        );
        assert!(options.state.take().is_some() && options.allow.take().is_some() && options.ca_file.take().is_some());
        let signed = options.signatures.take().is_some() && options.keyring.take().is_some();
        assert!(signed && options.signature_policy.take().is_some() && options.registry_auth_file.take().is_some());
        assert!(options.now.take().is_some());
        let fleet =
            options.fleet.take().is_some() && options.clusters.take().is_some() && options.store.take().is_some();
        let rest =
            options.token_keys.take().is_some() && options.ocm.take().is_some() && options.ocm_token.take().is_some();
        assert!(fleet && rest);
        assert_eq!(options.validated().unwrap().to_string(), ServeOptions::default().validated().unwrap().to_string());
    }

    #[test]
    fn what_is_printed_can_be_read_back() {
        let typed =
            parse_file("listen: 0.0.0.0:1\ngraphData: a b\nreleases: r\nnow: 2026-01-01T00:00Z\nlogFormat: json")
                .unwrap();
        let printed = typed.validated().unwrap().to_string();
        assert_eq!(parse_file(&printed).unwrap().validated().unwrap().to_string(), printed);
    }

    #[test]
    fn flags_win_over_the_file() {
        let flags = parse_file("listen: 0.0.0.0:1").unwrap();
        let file = parse_file("listen: 0.0.0.0:2\nmaxConnections: 7").unwrap();
        let settings = flags.or(file).validated().unwrap();
        assert_eq!((settings.listen.port(), settings.limits.connections), (1, 7));
    }

    #[test]
    fn mistakes_are_told() {
        assert!(parse_file("listne: x").unwrap_err().to_string().contains("listne"));
        for half in ["graphData: x", "releases: x"] {
            assert!(parse_file(half).unwrap().validated().unwrap_err().to_string().contains("; add --"));
        }
        assert!(parse_file("now: tomorrow").unwrap().validated().is_err());
        for number in ["maxConnections: 0", "pollSeconds: 0", "clientTimeoutSeconds: 18446744073709551615"] {
            assert!(parse_file(number).unwrap().validated().unwrap_err().to_string().contains("it can be 1 to"));
        }
    }
}

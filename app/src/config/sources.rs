//! Where graph data and releases are, and whose word counts: the options that `serve` and every command that looks once share.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;

use super::ServeOptions;
use crate::sources::{Needs, SourceSettings};

/// The sources of a command that looks once.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SourceArgs {
    /// Read options from this file, as `towpath serve` does.
    #[arg(
        long,
        env = "TOWPATH_CONFIG",
        value_name = "FILE",
        help_heading = "Sources"
    )]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: SourceOptions,
}

/// As they were typed on the command line or in a file.
#[derive(Debug, Default, Clone, Deserialize, Args)]
#[serde(rename_all = "camelCase", default)]
#[command(next_help_heading = "Sources")]
pub(crate) struct SourceOptions {
    /// Read graph data (channels, blocks) from a directory, `git+https://HOST/REPO.git#REVISION`, `https://…/x.tar.gz` or `oci://IMAGE`.
    #[arg(long, env = "TOWPATH_GRAPH_DATA", value_name = "WHERE")]
    pub(crate) graph_data: Option<String>,
    /// Read releases and edges from a Cincinnati graph file, a Cincinnati service (`https://…/graph#channels=…`) or `oci://REPOSITORY`; may be given
    /// several times.
    #[arg(long, env = "TOWPATH_RELEASES", value_name = "WHERE")]
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) releases: Option<Vec<String>>,
    /// The newest good copy of every source: `serve` keeps it in this directory, so that a restart needs none of them; other commands judge by it.
    #[arg(long, env = "TOWPATH_STATE", value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
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
    #[arg(long, env = "TOWPATH_PLAIN_HTTP", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) plain_http: Option<bool>,
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

impl SourceArgs {
    /// What is in force, with the file; the graph data that was named beside the flags comes first.
    pub(crate) fn settings(
        &self,
        needs: Needs,
        named: Option<&str>,
    ) -> anyhow::Result<SourceSettings> {
        let mut sources = self.options.clone();
        sources.graph_data = named.map(str::to_owned).or(sources.graph_data);
        let typed = ServeOptions {
            sources,
            ..ServeOptions::default()
        };
        let mut options = typed.with_file(self.config.as_deref())?;
        // What clusters run on is for a service that is asked by clusters.
        options.platforms = None;
        options.source_settings(options.intervals()?, needs)
    }
}

impl SourceOptions {
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            graph_data: self.graph_data.or(other.graph_data),
            releases: self.releases.or(other.releases),
            state: self.state.or(other.state),
            closed_after_seconds: self.closed_after_seconds.or(other.closed_after_seconds),
            max_shrink_percent: self.max_shrink_percent.or(other.max_shrink_percent),
            allow: self.allow.or(other.allow),
            ca_file: self.ca_file.or(other.ca_file),
            registry_auth_file: self.registry_auth_file.or(other.registry_auth_file),
            signatures: self.signatures.or(other.signatures),
            keyring: self.keyring.or(other.keyring),
            signature_policy: self.signature_policy.or(other.signature_policy),
            plain_http: self.plain_http.or(other.plain_http),
        }
    }
}

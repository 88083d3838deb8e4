//! The options for sources: where graph data and releases are, and whose signatures count. `serve` and all commands that run once share them.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use towpath_formats::timespan::TimeSpan;

use super::{ServeOptions, first_given};
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
    /// Add the blocks of this source to those of the graph data: named as graph data is, with the files `version` and `blocked-edges/*.yaml`
    /// and nothing else. It only makes answers stricter. It is read every 30 s.
    #[arg(long, env = "TOWPATH_OVERLAY", value_name = "WHERE")]
    pub(crate) overlay: Option<String>,
    /// Read releases and edges from a Cincinnati graph file, a Cincinnati service (`https://…/graph#channels=…`) or `oci://REPOSITORY`. Repeatable.
    #[arg(long, env = "TOWPATH_RELEASES", value_name = "WHERE")]
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) releases: Option<Vec<String>>,
    /// Read graph data and releases from the images that the `UpdateService` object in this file names, as `oc get updateservice -o yaml`
    /// prints it. It is read again when it changes.
    #[arg(long, env = "TOWPATH_UPDATE_SERVICE", value_name = "FILE")]
    pub(crate) update_service: Option<PathBuf>,
    /// The directory with the newest good copy of each source. `serve` writes it, so that it can restart without the sources; other commands read it.
    #[arg(long, env = "TOWPATH_STATE", value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Stop recommending updates when a source could not be read for this long; 0 never stops. [default: 1d]
    #[arg(long, env = "TOWPATH_CLOSED_AFTER", value_name = "DURATION")]
    pub(crate) closed_after: Option<TimeSpan>,
    /// Refuse a copy of a source that has lost more than this share of what it had in the last seven days. [default: 10]
    #[arg(long, env = "TOWPATH_MAX_SHRINK_PERCENT", value_name = "PERCENT")]
    pub(crate) max_shrink_percent: Option<u8>,
    /// Accept such copies of a source anyway: `empty:SOURCE`, `shrink:SOURCE`, `back:SOURCE`, `payload:SOURCE`, `window:SOURCE`. Repeatable.
    #[arg(long, env = "TOWPATH_ALLOW", value_name = "WHAT:SOURCE")]
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) allow: Option<Vec<String>>,
    /// Refuse graph data that changes a window so that a cluster would lose an edge, or more than 1 % of the fleet would gain one at once.
    #[arg(long, env = "TOWPATH_REFUSE_CHANGED_WINDOWS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) refuse_changed_windows: Option<bool>,
    /// Also trust the certificate authorities in this PEM file.
    #[arg(long, env = "TOWPATH_CA_FILE", value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Registry credentials, in Docker's config.json format; a pull secret is one.
    #[arg(long, env = "TOWPATH_REGISTRY_AUTH_FILE", value_name = "FILE")]
    pub(crate) registry_auth_file: Option<PathBuf>,
    /// Look for signatures of releases here: a directory or a URL with `sha256=<digest>/signature-1`, … Repeatable.
    #[arg(long, env = "TOWPATH_SIGNATURES", value_name = "STORE")]
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) signatures: Option<Vec<String>>,
    /// Trust signatures of the OpenPGP public keys in this file. Repeatable.
    #[arg(long, env = "TOWPATH_KEYRING", value_name = "FILE")]
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) keyring: Option<Vec<PathBuf>>,
    /// What to do with releases that no trusted key has signed: `require` leaves them out, `warn` logs them, `off` does not check.
    /// [default: `require` with --keyring, else `off`]
    #[arg(long, env = "TOWPATH_SIGNATURE_POLICY", value_name = "POLICY")]
    pub(crate) signature_policy: Option<SignatureOption>,
    /// Take graph data and overlays only if a key of the keyring signed them: the git commit or tag, the archive (`.sig` or `.asc` beside it) or
    /// the image. See docs/signed-graph-data.md.
    #[arg(long, env = "TOWPATH_REQUIRE_SIGNED_GRAPH_DATA", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) require_signed_graph_data: Option<bool>,
    /// Trust signatures of graph data by the OpenPGP public keys in this file, and by no others. Repeatable. [default: the files of --keyring]
    #[arg(long, env = "TOWPATH_GRAPH_DATA_KEYRING", value_name = "FILE")]
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) graph_data_keyring: Option<Vec<PathBuf>>,
    /// Allow plain HTTP, without TLS, for sources on other machines.
    #[arg(long, env = "TOWPATH_PLAIN_HTTP", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) plain_http: Option<bool>,
}

/// What becomes of releases that are not signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SignatureOption {
    /// Leave them out.
    Require,
    /// Keep them and log a warning.
    Warn,
    /// Do not check.
    Off,
}

/// In a file, a list of one may be written as that one.
pub(super) fn one_or_many<'de, T: From<String>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum StringOrList {
        One(String),
        Many(Vec<String>),
    }
    Ok(
        Option::<StringOrList>::deserialize(deserializer)?.map(|written| match written {
            StringOrList::One(one) => vec![one.into()],
            StringOrList::Many(many) => many.into_iter().map(T::from).collect(),
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
        first_given! { self, other;
            graph_data, overlay, releases, update_service, state, closed_after, max_shrink_percent, allow,
            refuse_changed_windows, ca_file, registry_auth_file, signatures, keyring, signature_policy, require_signed_graph_data,
            graph_data_keyring, plain_http
        }
    }
}

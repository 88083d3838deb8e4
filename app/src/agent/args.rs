//! The agent's options.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use towpath_core::finding::Finding;
use towpath_formats::sources::oci::Repository;
use towpath_formats::timespan::TimeSpan;
use towpath_kube::{Access, LeaseTerms};

use super::policy::UnprovenUpdates;
use super::proof::Prover;
use super::service::ServiceOptions;
use crate::clock::NowArgs;
use crate::config::{HOUR, LogFormat};
use crate::listen::ListenAddress;
use crate::minors::MinorsArgs;
use crate::output::OutputArgs;

#[derive(Debug, Args)]
#[command(mut_arg("now", |now| now.requires("dry_run")))]
#[command(mut_arg("output", |output| output.requires("once")))]
pub(crate) struct AgentArgs {
    /// The kubeconfig file. [default: the pod's service account; outside a cluster, kubectl's own default]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig. [default: the current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The policy for automatic updates: windows, the time between updates, a pin. The agent reads it again when it changes. [default: any time, a day between updates, signed releases only]
    #[arg(long, env = "TOWPATH_AGENT_POLICY", value_name = "FILE")]
    pub(super) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(super) minors: MinorsArgs,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    pub(super) service: ServiceOptions,
    /// Keep unsent reports and verified releases in this directory. [default: in memory]
    #[arg(long, env = "TOWPATH_STATE", value_name = "DIR")]
    pub(super) state: Option<PathBuf>,
    /// Also reboot the nodes of pools that have opted in, as `towpath nodes run` does. Needs the rights in deploy/agent-nodes.
    #[arg(long, conflicts_with = "once")]
    pub(super) reboots: bool,
    /// Check the cluster once, act if needed, and exit. Exit 0: an update was started. 1: none was.
    #[arg(long)]
    pub(super) once: bool,
    /// Change nothing; print what the agent would do, and why. Exit 0: an update would be started. 1: none would.
    #[arg(long, requires = "once")]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) now: NowArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    /// Serve /livez, /readyz and /metrics on this address; :8080 is all interfaces.
    #[arg(
        long,
        env = "TOWPATH_LISTEN",
        default_value = "127.0.0.1:8080",
        value_name = "ADDRESS"
    )]
    pub(super) listen: ListenAddress,
    /// The namespace of the Lease for leader election.
    #[arg(
        long,
        env = "POD_NAMESPACE",
        default_value = "towpath-agent",
        value_name = "NAMESPACE"
    )]
    namespace: String,
    /// The agent's unique name in the Lease. [default: host name and process id]
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    holder: Option<String>,
    /// How long a Lease lasts without renewal. After an agent has died, the next one takes over after this time.
    #[arg(long, default_value = "5m", value_name = "DURATION", value_parser = TimeSpan::between(TimeSpan::seconds(15), HOUR))]
    lease_for: TimeSpan,
    /// What to log: error, warn, info, debug, trace.
    #[arg(
        long,
        env = "TOWPATH_LOG",
        default_value = "info",
        value_name = "LEVEL"
    )]
    pub(super) log: String,
    /// The format of log lines.
    #[arg(long, env = "TOWPATH_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(super) log_format: LogFormat,
}

/// Whom to believe, and where to ask.
#[derive(Debug, Args)]
struct TrustArgs {
    /// Trust signatures of the OpenPGP public keys in this file. Without any, no release counts as signed. Repeatable.
    #[arg(
        long,
        env = "TOWPATH_KEYRING",
        value_name = "FILE",
        value_delimiter = ','
    )]
    keyring: Vec<PathBuf>,
    /// Look for signatures of releases here: a directory or a URL with sha256=<digest>/signature-1, … Repeatable.
    #[arg(
        long,
        env = "TOWPATH_SIGNATURES",
        value_name = "STORE",
        value_delimiter = ','
    )]
    signatures: Vec<String>,
    /// Look for release images in this mirror repository first. Repeatable.
    #[arg(long, env = "TOWPATH_MIRROR", value_name = "REPOSITORY", value_delimiter = ',', value_parser = Repository::parse)]
    mirror: Vec<Repository>,
    /// Registry credentials, in Docker's config.json format; a pull secret is one.
    #[arg(long, env = "TOWPATH_REGISTRY_AUTH_FILE", value_name = "FILE")]
    registry_auth_file: Option<PathBuf>,
    /// Also trust the certificate authorities in this PEM file.
    #[arg(long, env = "TOWPATH_CA_FILE", value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Let the policy say `proof: nothing`: updates then need no signature, and whoever can write the upstream's graph can install anything.
    #[arg(long)]
    allow_unproven_updates: bool,
    /// Use plain HTTP, without TLS, for registries.
    #[arg(long, env = "TOWPATH_PLAIN_HTTP")]
    plain_http: bool,
}

impl AgentArgs {
    /// How to reach the cluster.
    pub(super) fn access(&self) -> Access {
        let is_pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
        match (&self.kubeconfig, &self.context) {
            (None, None) if is_pod => Access::InCluster,
            (path, context) => Access::Kubeconfig {
                path: path.clone(),
                context: context.clone(),
            },
        }
    }

    pub(super) fn lease(&self) -> LeaseTerms {
        let machine = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let holder = self
            .holder
            .clone()
            .unwrap_or_else(|| format!("{}-{}", machine().trim(), std::process::id()));
        LeaseTerms {
            namespace: self.namespace.clone(),
            name: "towpath-agent".to_owned(),
            holder,
            term: self.lease_for.unsigned(),
        }
    }

    /// Whether the policy may ask for no proof.
    pub(super) fn unproven_updates(&self) -> UnprovenUpdates {
        match self.trust.allow_unproven_updates {
            true => UnprovenUpdates::Allowed,
            false => UnprovenUpdates::Refused,
        }
    }

    /// The files with secrets in them.
    pub(super) fn secret_files(&self) -> impl Iterator<Item = &Path> {
        self.service
            .token_file
            .iter()
            .chain(&self.service.client_key)
            .chain(&self.trust.registry_auth_file)
            .map(PathBuf::as_path)
    }

    /// Who looks for proof, with warnings.
    pub(super) fn prover(&self) -> anyhow::Result<(Prover, Vec<Finding>)> {
        let trust = &self.trust;
        if trust.keyring.is_empty() != trust.signatures.is_empty() {
            bail!("--keyring and --signatures belong together; give both or neither");
        }
        Prover::new(super::proof::Trust {
            keyring: &trust.keyring,
            signatures: &trust.signatures,
            mirrors: trust.mirror.clone(),
            auth_file: trust.registry_auth_file.clone(),
            ca_file: trust.ca_file.clone(),
            plain_http: trust.plain_http,
            state: self.state.as_deref(),
        })
    }

    /// The folder for what outlives the process, if there is one; made if it is not there.
    pub(super) fn state_folder(&self, name: &str) -> anyhow::Result<Option<PathBuf>> {
        let Some(state) = &self.state else {
            return Ok(None);
        };
        let folder = state.join(name);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("{}: cannot be made", folder.display()))?;
        Ok(Some(folder))
    }
}

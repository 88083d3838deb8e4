//! The agent's options.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use towpath_core::finding::Finding;
use towpath_formats::sources::oci::Repository;
use towpath_kube::{Access, LeaseTerms};

use super::proof::Prover;
use super::service::ServiceOptions;
use crate::clock::NowArgs;
use crate::config::LogFormat;
use crate::output::OutputArgs;

#[derive(Debug, Args)]
#[command(mut_arg("now", |now| now.requires("dry_run")))]
#[command(mut_arg("output", |output| output.requires("once")))]
pub(crate) struct AgentArgs {
    /// Reach the cluster as this file says. [default: as the pod's service account; outside of a cluster, as kubectl does]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// That context of the kubeconfig. [default: its current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// What the cluster may do by itself: windows, the time between updates, a pin. It is read again when it changes. [default: any time, a day between updates, signed releases only]
    #[arg(long, env = "TOWPATH_AGENT_POLICY", value_name = "FILE")]
    pub(super) policy: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    pub(super) service: ServiceOptions,
    /// Keep reports that wait, and what is known of releases, here. [default: in memory]
    #[arg(long, env = "TOWPATH_STATE", value_name = "DIR")]
    pub(super) state: Option<PathBuf>,
    /// Look once, act if there is something to do, and end. Exit 0: an update was started. 1: none was.
    #[arg(long)]
    pub(super) once: bool,
    /// Change nothing: print what would be done, and why. Exit 0: an update would be started. 1: none would.
    #[arg(long, requires = "once")]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) now: NowArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    /// Answer /livez, /readyz and /metrics here.
    #[arg(
        long,
        env = "TOWPATH_LISTEN",
        default_value = "127.0.0.1:8080",
        value_name = "ADDRESS"
    )]
    pub(super) listen: SocketAddr,
    /// The namespace of the Lease that makes one of several agents the one that acts.
    #[arg(
        long,
        env = "POD_NAMESPACE",
        default_value = "towpath-agent",
        value_name = "NAMESPACE"
    )]
    namespace: String,
    /// Who this agent is; no two may have the same name. [default: the machine's name and the process's number]
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    holder: Option<String>,
    /// How long a Lease lasts that is not renewed: so long nothing happens after an agent has died.
    #[arg(long, default_value_t = 300, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(15..=3_600))]
    lease_seconds: u64,
    /// What to log: error, warn, info, debug, trace.
    #[arg(
        long,
        env = "TOWPATH_LOG",
        default_value = "info",
        value_name = "LEVEL"
    )]
    pub(super) log: String,
    /// How to log.
    #[arg(long, env = "TOWPATH_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(super) log_format: LogFormat,
}

/// Whom to believe, and where to ask.
#[derive(Debug, Args)]
struct TrustArgs {
    /// The OpenPGP public keys whose signatures count. Without them nothing is believed, and nothing is started. May be given more than once.
    #[arg(
        long,
        env = "TOWPATH_KEYRING",
        value_name = "FILE",
        value_delimiter = ','
    )]
    keyring: Vec<PathBuf>,
    /// Look for signatures here: a directory or an address with sha256=<digest>/signature-1, … May be given more than once.
    #[arg(
        long,
        env = "TOWPATH_SIGNATURES",
        value_name = "STORE",
        value_delimiter = ','
    )]
    signatures: Vec<String>,
    /// Look for release images in this repository before the one that is named in the offer: a mirror. May be given more than once.
    #[arg(long, env = "TOWPATH_MIRROR", value_name = "REPOSITORY", value_delimiter = ',', value_parser = Repository::parse)]
    mirror: Vec<Repository>,
    /// What we are known by to registries: a file as `podman login --authfile` writes it, or a pull secret.
    #[arg(long, env = "TOWPATH_REGISTRY_AUTH_FILE", value_name = "FILE")]
    registry_auth_file: Option<PathBuf>,
    /// Trust the certificate authorities in this PEM file too.
    #[arg(long, env = "TOWPATH_CA_FILE", value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Talk to registries without TLS.
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
            term: Duration::from_secs(self.lease_seconds),
        }
    }

    /// Who looks for proof, with warnings.
    /// The files with secrets in them.
    pub(super) fn secret_files(&self) -> impl Iterator<Item = &Path> {
        self.service
            .token_file
            .iter()
            .chain(&self.trust.registry_auth_file)
            .map(PathBuf::as_path)
    }

    pub(super) fn prover(&self) -> anyhow::Result<(Prover, Vec<Finding>)> {
        let trust = &self.trust;
        if trust.keyring.is_empty() != trust.signatures.is_empty() {
            bail!(
                "--keyring and --signatures belong together: whose signatures count, and where they are"
            );
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

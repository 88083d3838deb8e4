//! Who people are, beyond our own tokens: an OIDC issuer, a Kubernetes API.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use serde::Deserialize;
use towpath_formats::oidc::PersonClaims;
use towpath_formats::timespan::TimeSpan;
use towpath_kube::Access;
use towpath_oidc::{IssuerOptions, IssuerTimes};

use super::fleet::IN_CLUSTER;
use super::sources::one_or_many;
use super::{DAY, HOUR, SECOND, first_given, within, written};

/// What the page asks for, unless it is told otherwise.
const SCOPES: &str = "openid email profile";
/// For whom a token of a service account must be.
const AUDIENCE: &str = "towpath";
const READ_EVERY: TimeSpan = TimeSpan::seconds(300);
const HOLD_FOR: TimeSpan = HOUR;

/// As they were typed on the command line or in a file.
#[derive(Debug, Default, Clone, Deserialize, Args)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PeopleOptions {
    /// Take tokens of this OIDC issuer for people: its address, to the letter as it writes it itself.
    #[arg(
        long,
        env = "TOWPATH_OIDC_ISSUER",
        value_name = "URL",
        help_heading = "People"
    )]
    pub(crate) oidc_issuer: Option<String>,
    /// The client that people log in with at the page. Tokens for it are taken.
    #[arg(
        long,
        env = "TOWPATH_OIDC_CLIENT_ID",
        value_name = "ID",
        help_heading = "People"
    )]
    pub(crate) oidc_client_id: Option<String>,
    /// The file with the secret of --oidc-client-id. [default: it is a public client, without a secret]
    #[arg(
        long,
        env = "TOWPATH_OIDC_CLIENT_SECRET",
        value_name = "FILE",
        help_heading = "People"
    )]
    pub(crate) oidc_client_secret: Option<PathBuf>,
    /// Also take tokens for this audience, as of another client for the command line. Repeatable.
    #[arg(
        long,
        env = "TOWPATH_OIDC_AUDIENCE",
        value_name = "NAME",
        help_heading = "People"
    )]
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) oidc_audience: Option<Vec<String>>,
    /// The claim with a person's name, which must be the issuer's to give. `email` counts only if the issuer has verified it. [default: email]
    #[arg(
        long,
        env = "TOWPATH_OIDC_NAME_CLAIM",
        value_name = "CLAIM",
        help_heading = "People"
    )]
    pub(crate) oidc_name_claim: Option<String>,
    /// The claim with a person's groups. [default: groups]
    #[arg(
        long,
        env = "TOWPATH_OIDC_GROUPS_CLAIM",
        value_name = "CLAIM",
        help_heading = "People"
    )]
    pub(crate) oidc_groups_claim: Option<String>,
    /// What the page asks the issuer for. [default: openid email profile]
    #[arg(
        long,
        env = "TOWPATH_OIDC_SCOPES",
        value_name = "SCOPES",
        help_heading = "People"
    )]
    pub(crate) oidc_scopes: Option<String>,
    /// Hosts besides the issuer's own that its keys and logins may be on, separated by commas.
    #[arg(
        long,
        env = "TOWPATH_OIDC_HOSTS",
        value_name = "NAME,…",
        help_heading = "People"
    )]
    pub(crate) oidc_hosts: Option<String>,
    /// Trust only the certificates in this PEM file for the issuer.
    #[arg(
        long,
        env = "TOWPATH_OIDC_CA_FILE",
        value_name = "FILE",
        help_heading = "People"
    )]
    pub(crate) oidc_ca_file: Option<PathBuf>,
    /// Read the issuer's keys this often. A key that it removed works no longer than that. [default: 5m]
    #[arg(
        long,
        env = "TOWPATH_OIDC_READ_EVERY",
        value_name = "DURATION",
        help_heading = "People"
    )]
    pub(crate) oidc_read_every: Option<TimeSpan>,
    /// While the issuer cannot be reached, take its tokens with the last keys for this long. [default: 1h]
    #[arg(
        long,
        env = "TOWPATH_OIDC_KEYS_HOLD_FOR",
        value_name = "DURATION",
        help_heading = "People"
    )]
    pub(crate) oidc_keys_hold_for: Option<TimeSpan>,
    /// Take tokens of service accounts, and ask the Kubernetes API that this kubeconfig reaches whose they are. `in-cluster` uses the
    /// pod's service account.
    #[arg(
        long,
        env = "TOWPATH_KUBERNETES_IDENTITY",
        value_name = "KUBECONFIG",
        help_heading = "People"
    )]
    pub(crate) kubernetes_identity: Option<PathBuf>,
    /// The audience that such a token must be for. [default: towpath]
    #[arg(
        long,
        env = "TOWPATH_KUBERNETES_AUDIENCE",
        value_name = "NAME",
        help_heading = "People"
    )]
    pub(crate) kubernetes_audience: Option<String>,
}

/// Who people are, beyond our own tokens.
#[derive(Debug, Clone, Default)]
pub(crate) struct PeopleSettings {
    pub(crate) oidc: Option<IssuerOptions>,
    pub(crate) kubernetes: Option<KubernetesSettings>,
}

/// A Kubernetes API that knows service accounts.
#[derive(Debug, Clone)]
pub(crate) struct KubernetesSettings {
    pub(crate) access: Access,
    pub(crate) audience: String,
}

impl PeopleOptions {
    pub(super) fn or(self, other: Self) -> Self {
        first_given! { self, other;
            oidc_issuer, oidc_client_id, oidc_client_secret, oidc_audience, oidc_name_claim, oidc_groups_claim, oidc_scopes, oidc_hosts,
            oidc_ca_file, oidc_read_every, oidc_keys_hold_for, kubernetes_identity, kubernetes_audience
        }
    }

    /// Whether somebody can be known by them.
    pub(super) fn knows_somebody(&self) -> bool {
        self.oidc_issuer.is_some() || self.kubernetes_identity.is_some()
    }

    pub(super) fn settings(&self) -> anyhow::Result<PeopleSettings> {
        Ok(PeopleSettings {
            oidc: self.issuer_options()?,
            kubernetes: self.kubernetes_settings()?,
        })
    }

    fn kubernetes_settings(&self) -> anyhow::Result<Option<KubernetesSettings>> {
        let access = match &self.kubernetes_identity {
            Some(path) if path.as_os_str() == IN_CLUSTER => Access::InCluster,
            Some(path) => Access::Kubeconfig {
                path: Some(path.clone()),
                context: None,
            },
            None if self.kubernetes_audience.is_some() => bail!(
                "--kubernetes-audience is about tokens of service accounts; add --kubernetes-identity KUBECONFIG, or remove it"
            ),
            None => return Ok(None),
        };
        let audience = self.kubernetes_audience.clone();
        Ok(Some(KubernetesSettings {
            access,
            audience: audience.unwrap_or_else(|| AUDIENCE.to_owned()),
        }))
    }

    /// What would be ignored is refused.
    fn issuer_options(&self) -> anyhow::Result<Option<IssuerOptions>> {
        let Some(issuer) = self.oidc_issuer.clone() else {
            if let Some(flag) = self.flag_of_issuer() {
                bail!("{flag} is about an OIDC issuer; add --oidc-issuer URL, or remove it");
            }
            return Ok(None);
        };
        let audiences: BTreeSet<String> = self.oidc_audience.iter().flatten().cloned().collect();
        if self.oidc_client_id.is_none() && audiences.is_empty() {
            bail!(
                "--oidc-issuer {issuer}: nobody says for whom its tokens must be; add --oidc-client-id ID, or --oidc-audience NAME"
            );
        }
        if self.oidc_client_secret.is_some() && self.oidc_client_id.is_none() {
            bail!("--oidc-client-secret is the secret of a client; add --oidc-client-id ID");
        }
        let scope = self.oidc_scopes.clone();
        let scope = scope.unwrap_or_else(|| SCOPES.to_owned());
        if !scope.split(' ').any(|one| one == "openid") {
            bail!("--oidc-scopes {scope:?}: without openid the issuer gives no token; add it");
        }
        let hosts = self.oidc_hosts.iter().flat_map(|hosts| hosts.split(','));
        let hosts: BTreeSet<String> = hosts.map(|host| host.trim().to_ascii_lowercase()).collect();
        if let Some(wrong) = hosts
            .iter()
            .find(|host| host.is_empty() || host.contains(['/', ':']))
        {
            bail!(
                "--oidc-hosts: {wrong:?} is not a host name; write names without scheme and port"
            );
        }
        let read_every = self.oidc_read_every.unwrap_or(READ_EVERY);
        let read_every = within("oidcReadEvery", read_every, SECOND..=HOUR)?.unsigned();
        let hold_for = self.oidc_keys_hold_for.unwrap_or(HOLD_FOR);
        let hold_for = within("oidcKeysHoldFor", hold_for, SECOND..=DAY)?.unsigned();
        if hold_for < read_every {
            bail!(
                "--oidc-keys-hold-for is shorter than --oidc-read-every, so tokens would not be taken in between; make it longer"
            );
        }
        let usual = IssuerTimes::default();
        let claim =
            |given: &Option<String>, usual: &str| given.clone().unwrap_or_else(|| usual.to_owned());
        Ok(Some(IssuerOptions {
            issuer,
            client_id: self.oidc_client_id.clone(),
            client_secret: self.oidc_client_secret.clone(),
            audiences,
            scope,
            people: PersonClaims {
                name: claim(&self.oidc_name_claim, PersonClaims::NAME),
                groups: claim(&self.oidc_groups_claim, PersonClaims::GROUPS),
            },
            hosts,
            ca_file: self.oidc_ca_file.clone(),
            times: IssuerTimes {
                read_every,
                hold_for,
                at_least_between: usual.at_least_between.min(read_every),
            },
        }))
    }

    fn flag_of_issuer(&self) -> Option<&'static str> {
        let flags = [
            ("--oidc-client-id", self.oidc_client_id.is_some()),
            ("--oidc-client-secret", self.oidc_client_secret.is_some()),
            ("--oidc-audience", self.oidc_audience.is_some()),
            ("--oidc-name-claim", self.oidc_name_claim.is_some()),
            ("--oidc-groups-claim", self.oidc_groups_claim.is_some()),
            ("--oidc-scopes", self.oidc_scopes.is_some()),
            ("--oidc-hosts", self.oidc_hosts.is_some()),
            ("--oidc-ca-file", self.oidc_ca_file.is_some()),
            ("--oidc-read-every", self.oidc_read_every.is_some()),
            ("--oidc-keys-hold-for", self.oidc_keys_hold_for.is_some()),
        ];
        let mut given = flags.into_iter().filter(|(_, is_given)| *is_given);
        given.next().map(|(flag, _)| flag)
    }
}

impl PeopleSettings {
    /// The files with secrets in them.
    pub(crate) fn secret_files(&self) -> impl Iterator<Item = &Path> {
        let oidc = self.oidc.iter();
        let secrets = oidc.filter_map(|oidc| oidc.client_secret.as_deref());
        secrets.chain(self.kubeconfig())
    }

    /// Each file with its flag.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let oidc = self.oidc.iter().flat_map(|oidc| {
            let secret = oidc.client_secret.as_deref();
            let authorities = oidc.ca_file.as_deref();
            let secret = secret.map(|path| ("--oidc-client-secret", path));
            secret
                .into_iter()
                .chain(authorities.map(|path| ("--oidc-ca-file", path)))
        });
        oidc.chain(
            self.kubeconfig()
                .map(|path| ("--kubernetes-identity", path)),
        )
    }

    fn kubeconfig(&self) -> Option<&Path> {
        match &self.kubernetes.as_ref()?.access {
            Access::Kubeconfig { path, .. } => path.as_deref(),
            Access::InCluster => None,
        }
    }
}

/// As a file has it.
impl fmt::Display for PeopleSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kubernetes) = &self.kubernetes {
            let place = self.kubeconfig().unwrap_or(Path::new(IN_CLUSTER));
            writeln!(f, "kubernetesIdentity: {place:?}")?;
            writeln!(f, "kubernetesAudience: {:?}", kubernetes.audience)?;
        }
        self.oidc
            .as_ref()
            .map_or(Ok(()), |oidc| write_issuer(oidc, f))
    }
}

fn write_issuer(oidc: &IssuerOptions, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "oidcIssuer: {:?}", oidc.issuer)?;
    if let Some(client) = &oidc.client_id {
        writeln!(f, "oidcClientId: {client:?}")?;
    }
    if let Some(secret) = &oidc.client_secret {
        writeln!(f, "oidcClientSecret: {secret:?}")?;
    }
    if !oidc.audiences.is_empty() {
        let audiences: Vec<&String> = oidc.audiences.iter().collect();
        writeln!(f, "oidcAudience: {audiences:?}")?;
    }
    writeln!(f, "oidcNameClaim: {:?}", oidc.people.name)?;
    writeln!(f, "oidcGroupsClaim: {:?}", oidc.people.groups)?;
    writeln!(f, "oidcScopes: {:?}", oidc.scope)?;
    if !oidc.hosts.is_empty() {
        let hosts: Vec<&str> = oidc.hosts.iter().map(String::as_str).collect();
        writeln!(f, "oidcHosts: {:?}", hosts.join(","))?;
    }
    if let Some(authorities) = &oidc.ca_file {
        writeln!(f, "oidcCaFile: {authorities:?}")?;
    }
    writeln!(f, "oidcReadEvery: {}", written(oidc.times.read_every))?;
    writeln!(f, "oidcKeysHoldFor: {}", written(oidc.times.hold_for))
}

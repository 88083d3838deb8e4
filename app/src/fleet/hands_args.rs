//! Flags that name the API which manages the fleet's clusters: OCM or ACM.

use std::path::PathBuf;

use clap::Args;

use crate::config::{HandsSettings, ServeOptions};

#[derive(Debug, Args)]
pub(crate) struct HandsArgs {
    /// Read clusters, upgrades and gates from the OCM-style API at this address. `fleet run` also schedules upgrades there.
    #[arg(long, env = "TOWPATH_OCM", value_name = "URL")]
    pub(super) ocm: Option<String>,
    /// The file with the token for the API of --ocm. Somebody else renews it.
    #[arg(long, env = "TOWPATH_OCM_TOKEN", value_name = "FILE")]
    ocm_token: Option<PathBuf>,
    /// Log in to the API of --ocm as this service account. Needs --ocm-client-secret.
    #[arg(long, env = "TOWPATH_OCM_CLIENT_ID", value_name = "ID")]
    ocm_client_id: Option<String>,
    /// The file with the secret of --ocm-client-id.
    #[arg(long, env = "TOWPATH_OCM_CLIENT_SECRET", value_name = "FILE")]
    ocm_client_secret: Option<PathBuf>,
    /// Log in to the API of --ocm with the offline token in this file.
    #[arg(long, env = "TOWPATH_OCM_OFFLINE_TOKEN", value_name = "FILE")]
    ocm_offline_token: Option<PathBuf>,
    /// The service that gives tokens for --ocm-client-id and --ocm-offline-token. [default: Red Hat's]
    #[arg(long, env = "TOWPATH_OCM_TOKEN_URL", value_name = "URL")]
    ocm_token_url: Option<String>,
    /// Read clusters from the ACM hub that this kubeconfig reaches; `in-cluster` uses the pod's service account. `fleet run` also has
    /// ClusterCurators upgrade clusters there.
    #[arg(long, env = "TOWPATH_ACM", value_name = "KUBECONFIG")]
    pub(super) acm: Option<PathBuf>,
    /// The context of the kubeconfig of --acm. [default: its current context]
    #[arg(long, env = "TOWPATH_ACM_CONTEXT", value_name = "NAME")]
    acm_context: Option<String>,
}

impl HandsArgs {
    /// What was typed here, and more that was typed elsewhere.
    pub(super) fn options(&self, more: ServeOptions) -> ServeOptions {
        ServeOptions {
            ocm: self.ocm.clone(),
            ocm_token: self.ocm_token.clone(),
            ocm_client_id: self.ocm_client_id.clone(),
            ocm_client_secret: self.ocm_client_secret.clone(),
            ocm_offline_token: self.ocm_offline_token.clone(),
            ocm_token_url: self.ocm_token_url.clone(),
            acm: self.acm.clone(),
            acm_context: self.acm_context.clone(),
            ..more
        }
    }

    /// The API that is named, if one is.
    pub(super) fn settings(&self) -> anyhow::Result<Option<HandsSettings>> {
        self.options(ServeOptions::default()).hands_settings()
    }
}

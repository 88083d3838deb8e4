//! One cluster that is worked on in passes: how it is reached, and the loop around the passes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use towpath_kube::{Access, KubeError};

#[derive(Debug, Args)]
pub(crate) struct WorkedOn {
    /// The cluster's kubeconfig. [default: KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The cluster of this context. [default: the current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Run as the service account of the pod that this is.
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    in_cluster: bool,
}

impl WorkedOn {
    pub(crate) fn access(&self) -> Access {
        match self.in_cluster {
            true => Access::InCluster,
            false => Access::Kubeconfig {
                path: self.kubeconfig.clone(),
                context: self.context.clone(),
            },
        }
    }
}

/// One pass after the other, until one is the last. A pass is shown when it says something else than the one before.
pub(crate) async fn repeat<P>(
    interval: Duration,
    pass: impl AsyncFn() -> Result<P, KubeError>,
    text: impl Fn(&P) -> String,
    show: impl Fn(&P) -> anyhow::Result<()>,
    is_last: impl Fn(&P) -> bool,
) -> anyhow::Result<()> {
    let mut told = String::new();
    loop {
        match pass().await {
            Ok(pass) => {
                let now = text(&pass);
                if now != told {
                    show(&pass)?;
                    told = now;
                }
                if is_last(&pass) {
                    return Ok(());
                }
            }
            // Nobody answers: what runs goes on by itself, and nothing new begins.
            Err(problem) => {
                let now = problem.to_string();
                if now != told {
                    crate::terminal::aside(None, &now);
                    told = now;
                }
            }
        }
        tokio::time::sleep(interval).await;
    }
}

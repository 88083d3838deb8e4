//! Builds a client from a kubeconfig, or from the pod's service account.

use std::path::PathBuf;
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use towpath_core::retry::Backoff;
use towpath_http::TokenFile;

use crate::count::Counter;
use crate::door::DoorLayer;
use crate::error::KubeError;

const MAX_TOKEN_BYTES: u64 = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// With the pod's service account.
    InCluster,
    /// With a kubeconfig: this file, or the files in `KUBECONFIG`, or `~/.kube/config`.
    /// Uses the given context, or else the current one.
    Kubeconfig {
        path: Option<PathBuf>,
        context: Option<String>,
    },
}

/// Timeouts and waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// For a request, from its start to the end of its answer.
    pub request: Duration,
    /// How long a watch lasts before it is opened again.
    pub watch: Duration,
    /// How often to look again for a kind that the API did not have.
    pub absent: Duration,
    /// Waits after errors.
    pub backoff: Backoff,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(30),
            // Nine watches, each asked for every 290 s, are 111 requests an hour. A connection that died without a word is noticed as late as that.
            watch: Duration::from_secs(290),
            absent: Duration::from_secs(600),
            backoff: Backoff {
                first: Duration::from_millis(500),
                longest: Duration::from_secs(60),
            },
        }
    }
}

/// A client whose requests are counted.
pub(crate) async fn client(
    access: &Access,
    settings: &Settings,
    counter: &Counter,
) -> Result<kube::Client, KubeError> {
    // Another provider may have been installed: then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let place = place(access);
    let wrong = |error: &dyn std::fmt::Display, remedy| KubeError::Configuration {
        place: place.clone(),
        problem: error.to_string(),
        remedy,
    };
    let mut config = match access {
        Access::InCluster => kube::Config::incluster().map_err(|error| {
            wrong(
                &error,
                "run it in a pod with a service account, or give a kubeconfig",
            )
        })?,
        Access::Kubeconfig { path, context } => {
            let file = match path {
                Some(path) => Kubeconfig::read_from(path),
                None => Kubeconfig::read(),
            };
            let options = KubeConfigOptions {
                context: context.clone(),
                ..KubeConfigOptions::default()
            };
            let remedy = "give a kubeconfig that kubectl accepts";
            if path.as_ref().is_some_and(|path| !path.exists()) {
                return Err(wrong(&"there is no such file", remedy));
            }
            // What follows the first line is a picture of the file.
            let first_line = |error: &dyn std::fmt::Display| {
                let problem = error.to_string();
                problem.lines().next().unwrap_or_default().to_owned()
            };
            let file = file.map_err(|error| wrong(&first_line(&error), remedy))?;
            kube::Config::from_custom_kubeconfig(file, &options)
                .await
                .map_err(|error| wrong(&error, remedy))?
        }
    };
    config.connect_timeout = Some(settings.request);
    // Watches are silent for long: what limits them is here, in `watch.rs`, and in the door.
    config.read_timeout = None;
    // A write is not repeated behind our back: whoever waits for it decides.
    config.default_retry = false;
    let token = match (&config.auth_info.token, config.auth_info.token_file.take()) {
        (None, Some(path)) => Some(token_file(path.into())?),
        _ => None,
    };
    let door = DoorLayer {
        counter: counter.clone(),
        token,
        answer_within: settings.request,
    };
    let builder = ClientBuilder::try_from(config);
    let builder = builder.map_err(|error| {
        wrong(
            &error,
            "correct the certificates and credentials that it names",
        )
    })?;
    Ok(builder.with_layer(&door).build())
}

/// Kubernetes puts a new token into the file long before the old one expires, and the next request has it.
fn token_file(path: PathBuf) -> Result<TokenFile, KubeError> {
    let file = TokenFile::new(path, MAX_TOKEN_BYTES);
    match file.read() {
        Ok(_) => Ok(file),
        Err(problem) => Err(KubeError::Configuration {
            place: file.path().display().to_string(),
            problem: format!("the token file {problem}"),
            remedy: "put the token there, or correct the path",
        }),
    }
}

fn place(access: &Access) -> String {
    match access {
        Access::InCluster => "the pod's service account".to_owned(),
        Access::Kubeconfig {
            path: Some(path), ..
        } => path.display().to_string(),
        Access::Kubeconfig { path: None, .. } => "the kubeconfig".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_missing_or_senseless_token_is_a_finding() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        for content in [
            None,
            Some("".to_owned()),
            Some("x".repeat(70_000)),
            Some("two\nlines".to_owned()),
        ] {
            if let Some(content) = &content {
                std::fs::write(&path, content).unwrap();
            }
            let error = token_file(path.clone()).unwrap_err();
            assert_eq!(error.kind(), "configuration", "{content:?}");
            assert!(
                error.to_string().starts_with(&path.display().to_string()),
                "{error}"
            );
        }
    }
}

//! `--alerts`: what Prometheus answers, from a file or from Prometheus itself.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use towpath_formats::SourceFile;
use towpath_http::{
    BodyLimit, Certificates, HttpClient, HttpError, HttpOptions, Request, TokenFile, Trust, Url,
    base_address,
};

use super::inputs;

const ALERTS: &str = "api/v1/alerts";
const MAX_ANSWER_BYTES: u64 = 64 << 20;
const MAX_TOKEN_BYTES: u64 = 64 << 10;
/// How long an answer may take, to its last byte.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
pub(super) struct AlertArgs {
    /// The alerts that fire: a file with what Prometheus answers at /api/v1/alerts, or the address of Prometheus or Thanos.
    #[arg(long, value_name = "FILE|URL")]
    alerts: Option<String>,
    /// The bearer token for the address of --alerts.
    #[arg(long, value_name = "FILE", requires = "alerts")]
    alerts_token_file: Option<PathBuf>,
    /// Also trust the certificate authorities in this PEM file for the address of --alerts.
    #[arg(long, value_name = "FILE", requires = "alerts")]
    alerts_ca_file: Option<PathBuf>,
}

impl AlertArgs {
    pub(super) fn are_given(&self) -> bool {
        self.alerts.is_some()
    }

    pub(super) fn read(&self) -> anyhow::Result<Option<SourceFile>> {
        let Some(place) = &self.alerts else {
            return Ok(None);
        };
        let is_address = place.starts_with("https://") || place.starts_with("http://");
        if !is_address {
            if self.alerts_token_file.is_some() || self.alerts_ca_file.is_some() {
                bail!(
                    "--alerts-token-file and --alerts-ca-file are for an address, and {place} is a file; leave them out"
                );
            }
            return inputs::file(place.as_ref()).map(Some);
        }
        let url = base_address(place, false).map_err(|problem| anyhow!("--alerts {problem}"))?;
        let answer = inputs::runtime()?.block_on(self.ask(with_path(url)));
        let bytes = answer.with_context(|| format!("--alerts: {place}"))?;
        Ok(Some(SourceFile::new("alerts.json", bytes)))
    }

    async fn ask(&self, url: Url) -> anyhow::Result<Vec<u8>> {
        let trust = match &self.alerts_ca_file {
            None => Trust::usual(url.scheme() == "https"),
            Some(path) => {
                let certificates = Certificates::read(path);
                Trust::SystemAnd(
                    certificates.map_err(|problem| anyhow!("{} {problem}", path.display()))?,
                )
            }
        };
        let token = match &self.alerts_token_file {
            None => None,
            Some(path) => {
                let token = TokenFile::new(path, MAX_TOKEN_BYTES).read();
                let token = token.map_err(|problem| anyhow!("{} {problem}", path.display()))?;
                Some(token.header())
            }
        };
        let options = HttpOptions {
            trust,
            request_timeout: Some(ANSWER_WITHIN),
            ..HttpOptions::default()
        };
        let client = HttpClient::new(&options).map_err(|problem| anyhow!(problem))?;
        let request = Request::get(url).authorization(token);
        let failed = |problem: HttpError| anyhow!(problem.sentence("it"));
        let answer = client.send(request).await.map_err(failed)?;
        let status = answer.status();
        if !status.is_success() {
            bail!("it answers {status}; check the address, and the token of --alerts-token-file");
        }
        let body = answer.body(BodyLimit::bytes(MAX_ANSWER_BYTES)).await;
        body.map_err(failed)
    }
}

/// The address of the alerts, whether it names them already or not.
fn with_path(mut url: Url) -> Url {
    let path = url.path().trim_end_matches('/').to_owned();
    if !path.ends_with(ALERTS) {
        url.set_path(&format!("{path}/{ALERTS}"));
    }
    url
}

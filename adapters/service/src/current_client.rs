//! The HTTP client, made again when its certificates change.
//!
//! New files that cannot be used change nothing: the client before stays, and what is wrong with them is part of the next
//! error.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use towpath_http::{Certificates, ClientIdentity, FileStamp, HttpClient, HttpOptions, Trust};

use crate::{ServiceConfig, ServiceError};

#[derive(Debug)]
pub(crate) struct CurrentClient {
    config: ServiceConfig,
    is_tls: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    client: HttpClient,
    /// Of the files that were looked at last.
    stamps: Vec<Option<FileStamp>>,
    /// Why the newest files are not in use.
    problem: Option<String>,
}

impl CurrentClient {
    pub(crate) fn new(config: ServiceConfig, is_tls: bool) -> Result<Self, ServiceError> {
        let stamps = stamps(&config);
        let client = client(&config, is_tls)?;
        let state = Mutex::new(State {
            client,
            stamps,
            problem: None,
        });
        Ok(Self {
            config,
            is_tls,
            state,
        })
    }

    /// The client for the next request, and what is wrong with newer files.
    pub(crate) fn get(&self) -> (HttpClient, Option<String>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = stamps(&self.config);
        if stamps != state.stamps {
            match client(&self.config, self.is_tls) {
                Ok(client) => (state.client, state.problem) = (client, None),
                Err(error) => state.problem = Some(error.to_string()),
            }
            state.stamps = stamps;
        }
        (state.client.clone(), state.problem.clone())
    }
}

fn stamps(config: &ServiceConfig) -> Vec<Option<FileStamp>> {
    let identity = config.identity_files.iter();
    let files = identity.flat_map(|(certificate, key)| [certificate, key]);
    let files = files.chain(&config.ca_file);
    files.map(|path| FileStamp::of(path)).collect()
}

fn client(config: &ServiceConfig, is_tls: bool) -> Result<HttpClient, ServiceError> {
    let trust = match &config.ca_file {
        Some(file) => Trust::Only(authorities(file)?),
        None => Trust::usual(is_tls),
    };
    let identity = config.identity_files.as_ref();
    let identity = identity.map(|(certificate, key)| ClientIdentity::read(certificate, key));
    let bad = |place: &str, problem: String, remedy: &str| ServiceError::BadConfig {
        place: place.to_owned(),
        problem,
        remedy: remedy.to_owned(),
    };
    let identity = identity.transpose().map_err(|problem| {
        let remedy = "name the files with the certificate and its key in PEM form";
        bad("the client's certificate:", problem, remedy)
    })?;
    let client = HttpClient::new(&HttpOptions {
        user_agent: "towpath-agent",
        trust,
        identity,
        https_only: is_tls,
        environment_proxy: config.environment_proxy,
        connect_timeout: config.limits.connect_timeout,
        idle_timeout: None,
        request_timeout: Some(config.limits.request_timeout),
        idle_connections: 1,
    });
    client.map_err(|problem| {
        let remedy = "check the CA file, that this system has CA certificates, and that the client's key is that of its certificate";
        bad("the HTTP client", format!("cannot be made: {problem}"), remedy)
    })
}

fn authorities(file: &Path) -> Result<Certificates, ServiceError> {
    Certificates::read(file).map_err(|problem| ServiceError::BadConfig {
        place: format!("the CA file {}", file.display()),
        problem,
        remedy: "name a file with certificates in PEM form".to_owned(),
    })
}

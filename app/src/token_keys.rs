//! The keys of tokens: read at the start, and again when their file changes.
//!
//! A file that cannot be used changes nothing: the keys before stay, and `/readyz`, a metric and the log say why.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_web::{Service, TokenKeys};

use crate::followed_files::{FollowedFiles, keep_looking};

/// Reads the keys in a file. Tokens of the first version are taken until the time that is given, if one is.
pub(crate) fn read(path: &Path, unbound_until: Option<Timestamp>) -> anyhow::Result<TokenKeys> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let path = path.display();
        let remedy = format!("make one with `(umask 077; openssl rand -base64 48 > {path})`");
        anyhow::anyhow!("the file of keys {path} cannot be read: {error}; {remedy}")
    })?;
    let keys = TokenKeys::parse(&text)
        .map_err(|problem| anyhow::anyhow!("{}: {problem}", path.display()))?;
    Ok(keys.accepting_unbound_until(unbound_until))
}

/// The file of keys of a service.
pub(crate) struct KeyFile {
    files: FollowedFiles,
    unbound_until: Option<Timestamp>,
    service: Arc<Service>,
    /// The problem that was logged last.
    logged: Option<String>,
}

impl KeyFile {
    /// Make it before the keys are read for the first time.
    pub(crate) fn new(
        path: &Path,
        unbound_until: Option<Timestamp>,
        service: Arc<Service>,
    ) -> Self {
        Self {
            files: FollowedFiles::new(vec![path.to_owned()]),
            unbound_until,
            service,
            logged: None,
        }
    }

    /// Uses new keys, for ever.
    pub(crate) async fn follow(self) {
        keep_looking(self, Self::look).await;
    }

    fn look(&mut self, now: Instant) {
        let (service, logged) = (&self.service, &mut self.logged);
        let unbound_until = self.unbound_until;
        self.files.look(now, |files| {
            let read = files.paths.iter().map(|path| read(path, unbound_until));
            match read.collect::<anyhow::Result<Vec<_>>>() {
                Ok(keys) => {
                    let file = files.names();
                    keys.into_iter()
                        .for_each(|keys| service.replace_token_keys(keys));
                    tracing::info!(file, "new keys of tokens are in use");
                    *logged = None;
                    true
                }
                Err(error) => {
                    let problem = format!("the keys before stay in use: {error:#}");
                    if logged.as_ref() != Some(&problem) {
                        tracing::warn!("{}: {problem}", files.names());
                    }
                    let place = Place::file(files.names());
                    let finding =
                        Finding::warning("token-keys-not-used", place, &*problem, "correct it");
                    service.token_keys_unusable(finding);
                    *logged = Some(problem);
                    false
                }
            }
        });
    }
}

//! The files that decide who may: keys, roles and revoked tokens. Read at the start, and again when one changes.
//!
//! A new file that cannot be used changes nothing: what was in force stays, and `/readyz`, a metric and the log say why.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use towpath_core::finding::{Finding, Place};
use towpath_formats::access::{policy, revoked};
use towpath_http::read_file;
use towpath_web::{AccessPart, Service};

use crate::cli;
use crate::followed_files::{FollowedFiles, keep_looking};
use crate::token_keys::KeyFiles;

/// Where they are.
#[derive(Debug, Clone)]
pub(crate) struct AccessFiles {
    pub(crate) keys: KeyFiles,
    /// The roles of people whom others know.
    pub(crate) policy: Option<PathBuf>,
    pub(crate) revoked: Option<PathBuf>,
}

type Apply = Box<dyn Fn(&Service) -> anyhow::Result<()> + Send>;

/// The files of one part.
pub(crate) struct FollowedPart {
    part: AccessPart,
    files: FollowedFiles,
    service: Arc<Service>,
    /// Reads the files and has them used.
    apply: Apply,
    /// The problem that was logged last.
    logged: Option<String>,
}

impl AccessFiles {
    /// Uses what is there now. What cannot be used ends the start.
    pub(crate) fn start(self, service: &Arc<Service>) -> anyhow::Result<Vec<FollowedPart>> {
        let Self {
            keys,
            policy,
            revoked,
        } = self;
        let followed = |part, paths, apply| FollowedPart {
            part,
            files: FollowedFiles::new(paths),
            service: service.clone(),
            apply,
            logged: None,
        };
        let paths = keys.paths();
        let mut parts = vec![followed(
            AccessPart::Keys,
            paths,
            Box::new(move |service: &Service| {
                service.set_access_keys(keys.read()?);
                Ok(())
            }),
        )];
        parts.extend(policy.map(|path| {
            let paths = vec![path.clone()];
            let apply = move |service: &Service| {
                service.set_access_policy(content(&path, policy::MAX_BYTES, policy::read)?);
                Ok(())
            };
            followed(AccessPart::Policy, paths, Box::new(apply))
        }));
        parts.extend(revoked.map(|path| {
            let paths = vec![path.clone()];
            let apply = move |service: &Service| {
                service.set_revoked_in_file(content(&path, revoked::MAX_BYTES, revoked::read)?);
                Ok(())
            };
            followed(AccessPart::RevokedTokens, paths, Box::new(apply))
        }));
        parts.iter().try_for_each(|part| (part.apply)(service))?;
        Ok(parts)
    }
}

impl FollowedPart {
    /// Uses new files, for ever.
    pub(crate) async fn follow(self) {
        if !self.files.paths.is_empty() {
            keep_looking(self, Self::look).await;
        }
    }

    fn look(&mut self, now: Instant) {
        let Self {
            part,
            files,
            service,
            apply,
            logged,
        } = self;
        files.look(now, |files| match apply(service) {
            Ok(()) => {
                let file = files.names();
                service.access_part_used(*part);
                tracing::info!(file, "{} are in use", part.words());
                *logged = None;
                true
            }
            Err(error) => {
                let problem = format!("what was in force stays in force: {error:#}");
                if logged.as_ref() != Some(&problem) {
                    tracing::warn!("{}: {problem}", files.names());
                }
                let place = Place::file(files.names());
                let finding = Finding::warning(part.code(), place, &*problem, "correct it");
                service.access_part_unusable(*part, finding);
                *logged = Some(problem);
                false
            }
        });
    }
}

fn content<T>(
    path: &Path,
    max_bytes: usize,
    read: impl Fn(&Place, &[u8]) -> Result<T, Vec<Finding>>,
) -> anyhow::Result<T> {
    // One byte more than is allowed, so that the reader says that it is too much.
    let bytes = read_file(path, max_bytes as u64 + 1);
    let bytes = bytes.map_err(|problem| anyhow::anyhow!("{} {problem}", path.display()))?;
    let place = Place::file(path.display().to_string());
    read(&place, &bytes).map_err(|findings| cli::failure(&findings))
}

//! Reads the files of TLS, and again when somebody has replaced one.
//!
//! What cannot be used is told, and tried again: a certificate may begin later.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use jiff::Timestamp;
use towpath_http::read_file;
use towpath_web::{Tls, TlsBytes, TlsPart};

use crate::config::TlsSettings;
use crate::followed_files::{FollowedFiles, keep_looking};

/// When a problem that stays is logged again.
const REMIND_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// Revocation lists may be long.
const MAX_FILE_BYTES: u64 = 8 << 20;

/// The files of TLS, and what is made of them.
pub(crate) struct TlsFiles {
    tls: Arc<Tls>,
    parts: Vec<PartFiles>,
    /// The problems that were logged last, and when.
    logged: (Vec<String>, Instant),
}

/// The files of one part.
struct PartFiles {
    part: TlsPart,
    files: FollowedFiles,
}

impl TlsFiles {
    /// Reads all files. What cannot be used ends the start.
    pub(crate) fn read(settings: &TlsSettings) -> anyhow::Result<Self> {
        let pair = vec![settings.certificate.clone(), settings.key.clone()];
        let authorities = settings.client_ca.iter().cloned().collect();
        let lists = settings.client_crl.iter().cloned().collect();
        let parts = [
            (TlsPart::Certificate, pair),
            (TlsPart::ClientCa, authorities),
            (TlsPart::ClientCrl, lists),
        ];
        let parts = parts.into_iter().filter(|(_, files)| !files.is_empty());
        let parts: Vec<PartFiles> = parts.map(PartFiles::new).collect();
        let content = |path: &PathBuf| content(path).map_err(anyhow::Error::msg);
        let (chain, key) = (content(&settings.certificate)?, content(&settings.key)?);
        let authorities = settings.client_ca.as_ref().map(content).transpose()?;
        let lists = settings.client_crl.as_ref().map(content).transpose()?;
        // What counts is when clients and authorities think that it is, so this clock never stands still.
        let clock = Arc::new(Timestamp::now);
        let tls = Tls::new(
            (&chain, &key),
            authorities.as_deref(),
            lists.as_deref(),
            clock,
        );
        let tls = tls.map_err(|(part, problem)| {
            let part = parts.iter().find(|files| files.part == part);
            let files = part.map(PartFiles::names).unwrap_or_default();
            anyhow!("{files}: {problem}; correct it, or name other files")
        })?;
        Ok(Self {
            tls,
            parts,
            logged: (Vec::new(), Instant::now()),
        })
    }

    pub(crate) fn tls(&self) -> Arc<Tls> {
        self.tls.clone()
    }

    /// Looks for new files, for ever.
    pub(crate) async fn follow(self) {
        keep_looking(self, Self::look).await;
    }

    fn look(&mut self, now: Instant) {
        for part in &mut self.parts {
            part.look(&self.tls, now);
        }
        let problems = self.tls.problems().into_iter().map(|(part, problem)| {
            let files = self.parts.iter().find(|files| files.part == part);
            let files = files.map(PartFiles::names).unwrap_or_default();
            format!("{files}: {problem}")
        });
        let problems: Vec<String> = problems.collect();
        let (logged, at) = &self.logged;
        let is_reminder = now.duration_since(*at) >= REMIND_AFTER;
        let is_new = |problem: &&String| is_reminder || !logged.contains(problem);
        for problem in problems.iter().filter(is_new) {
            tracing::warn!("{problem}");
        }
        let at = if is_reminder { now } else { *at };
        self.logged = (problems, at);
    }
}

impl PartFiles {
    fn new((part, paths): (TlsPart, Vec<PathBuf>)) -> Self {
        Self {
            part,
            files: FollowedFiles::new(paths),
        }
    }

    fn names(&self) -> String {
        self.files.names()
    }

    fn look(&mut self, tls: &Tls, now: Instant) {
        let part = self.part;
        self.files.look(now, |files| replace(part, files, tls));
    }
}

/// Uses new files of a part, if they can be used.
fn replace(part: TlsPart, files: &FollowedFiles, tls: &Tls) -> bool {
    let content: Result<Vec<Vec<u8>>, String> =
        files.paths.iter().map(|path| content(path)).collect();
    let content = match content {
        Ok(content) => content,
        Err(problem) => {
            tls.unreadable(part, problem);
            return false;
        }
    };
    let replaced = match (part, &*content) {
        (TlsPart::Certificate, [chain, key]) => tls.replace(TlsBytes::Certificate { chain, key }),
        (TlsPart::ClientCa, [authorities]) => tls.replace(TlsBytes::ClientCa(authorities)),
        (TlsPart::ClientCrl, [lists]) => tls.replace(TlsBytes::ClientCrl(lists)),
        _ => unreachable!("each part has its files"),
    };
    if replaced.is_ok() {
        let (files, ends) = (files.names(), tls.certificate().ends);
        tracing::info!(%files, certificate_ends = %ends, "new files of TLS are in use");
    }
    // What is wrong is told with the other problems.
    replaced.is_ok()
}

fn content(path: &Path) -> Result<Vec<u8>, String> {
    read_file(path, MAX_FILE_BYTES).map_err(|problem| format!("{} {problem}", path.display()))
}

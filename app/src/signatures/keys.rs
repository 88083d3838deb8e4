//! The keyring in use, and its files. A broken new keyring never replaces a good one.

use std::path::PathBuf;

use jiff::Timestamp;
use towpath_core::finding::Finding;
use towpath_formats::SourceFile;
use towpath_formats::signatures::{Keyring, MAX_KEYRING_BYTES};
use towpath_sources::read_file;
use towpath_web::{KeyringHealth, SourceProblem};

/// A keyring that can be read again.
#[derive(Debug)]
pub(crate) struct Keys {
    files: Vec<PathBuf>,
    keyring: Keyring,
    problem: Option<SourceProblem>,
}

/// What reading it again has brought.
pub(crate) enum KeyringReread {
    Same,
    /// A new one is in use, with warnings.
    Changed(Vec<Finding>),
    /// The old one stays.
    Broken(Vec<Finding>),
}

impl Keys {
    /// Reads the files, with warnings; or says what is wrong with them.
    pub(crate) fn read(files: &[PathBuf]) -> Result<(Self, Vec<Finding>), Vec<Finding>> {
        let (keyring, warnings) = read(files)?;
        Ok((
            Self {
                files: files.to_vec(),
                keyring,
                problem: None,
            },
            warnings,
        ))
    }

    pub(crate) fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    /// Reads the files again.
    pub(crate) fn read_again(&mut self, now: Timestamp) -> KeyringReread {
        match read(&self.files) {
            Err(findings) => {
                let since = self.problem.as_ref().map_or(now, |before| before.since);
                self.problem = Some(SourceProblem {
                    since,
                    findings: findings.clone(),
                });
                KeyringReread::Broken(findings)
            }
            Ok((keyring, warnings)) => {
                self.problem = None;
                let before = std::mem::replace(&mut self.keyring, keyring);
                match before.digest() == self.keyring.digest() {
                    true => KeyringReread::Same,
                    false => KeyringReread::Changed(warnings),
                }
            }
        }
    }

    pub(crate) fn health(&self) -> KeyringHealth {
        KeyringHealth {
            keys: self.keyring.keys().count(),
            problem: self.problem.clone(),
        }
    }
}

fn read(files: &[PathBuf]) -> Result<(Keyring, Vec<Finding>), Vec<Finding>> {
    let file = |path: &PathBuf| {
        let bytes = read_file(path, MAX_KEYRING_BYTES).map_err(|finding| vec![finding])?;
        Ok(SourceFile::new(path.display().to_string(), bytes))
    };
    let files = files
        .iter()
        .map(file)
        .collect::<Result<Vec<_>, Vec<Finding>>>()?;
    Keyring::read(&files)
}

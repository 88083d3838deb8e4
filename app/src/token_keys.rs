//! The keys of tokens, and where they are.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use towpath_web::{AccessKeys, TokenKeys};

/// Where keys are.
#[derive(Debug, Clone)]
pub(crate) struct KeyFiles {
    /// Of the tokens of clusters and pipelines.
    pub(crate) machines: Option<PathBuf>,
    /// Of the tokens of people.
    pub(crate) people: Option<PathBuf>,
    /// Tokens of the first version are taken until then.
    pub(crate) unbound_until: Option<Timestamp>,
}

/// Reads the keys in one file.
pub(crate) fn read(path: &Path) -> anyhow::Result<TokenKeys> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let path = path.display();
        let remedy = format!("make one with `(umask 077; openssl rand -base64 48 > {path})`");
        anyhow::anyhow!("the file of keys {path} cannot be read: {error}; {remedy}")
    })?;
    TokenKeys::parse(&text).map_err(|problem| anyhow::anyhow!("{}: {problem}", path.display()))
}

impl KeyFiles {
    pub(crate) fn read(&self) -> anyhow::Result<AccessKeys> {
        let machines = self.machines.as_deref().map(read).transpose()?;
        let people = self.people.as_deref().map(read).transpose()?;
        let keys = AccessKeys::new(machines, people);
        let keys =
            keys.map_err(|problem| anyhow::anyhow!("--token-keys, --people-keys: {problem}"));
        Ok(keys?.accepting_unbound_until(self.unbound_until))
    }

    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.machines.iter().chain(&self.people).cloned().collect()
    }
}

//! New keys of tokens, while requests run.

use std::sync::Arc;

use towpath_core::finding::Finding;

use super::{Fleet, TokenKeys};
use crate::Service;
use crate::reload::ReloadDoor;

impl Service {
    /// Verifies tokens with these keys from the next request on.
    pub fn replace_token_keys(&self, keys: TokenKeys) {
        if let Some(fleet) = self.fleet.load_full() {
            self.fleet(Fleet {
                desk: fleet.desk.clone(),
                keys: Some(keys.clone()),
                reads: fleet.reads,
            });
        }
        if let Some(door) = self.reload_door.load_full() {
            self.reload_door(ReloadDoor {
                keys: Some(keys),
                wake: door.wake.clone(),
            });
        }
        self.keys_problem.store(None);
        self.metrics.token_keys_in_use.set(1);
    }

    /// New keys cannot be used. Those before stay.
    pub fn token_keys_unusable(&self, finding: Finding) {
        self.keys_problem.store(Some(Arc::new(finding)));
        self.metrics.token_keys_in_use.set(0);
    }

    /// What is unsafe or unused in how the service was set up.
    pub(crate) fn setup_findings(&self) -> Vec<Finding> {
        let problem = self.keys_problem.load_full();
        let problem = problem.iter().map(|finding| (**finding).clone());
        self.setup.load().iter().cloned().chain(problem).collect()
    }
}

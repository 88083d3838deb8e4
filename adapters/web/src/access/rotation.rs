//! New keys, roles and revoked tokens, while requests run.

use std::collections::BTreeSet;
use std::sync::Arc;

use towpath_core::access::{AccessPolicy, Revoked};
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::Name;

use super::{AccessKeys, AccessPart, Authenticator, RevokedLists, StoreList};
use crate::{Service, locked};

/// The most organisations that are told of.
const MAX_FINDINGS: usize = 20;

impl Service {
    /// Verifies tokens with these keys from the next request on.
    pub fn set_access_keys(&self, keys: AccessKeys) {
        self.access.keys.store(Arc::new(keys));
    }

    /// The newest files of this part are in use.
    pub fn access_part_used(&self, part: AccessPart) {
        locked(&self.access_problems).remove(&part);
        self.metrics.access_part_in_use(part, 1);
    }

    /// New files of this part cannot be used. What was in force stays.
    pub fn access_part_unusable(&self, part: AccessPart, finding: Finding) {
        locked(&self.access_problems).insert(part, finding);
        self.metrics.access_part_in_use(part, 0);
    }

    /// The organisations that there are: a role in another one is worth a finding.
    pub fn set_organisations(&self, organisations: BTreeSet<Name>) {
        self.access
            .organisations
            .store(Some(Arc::new(organisations)));
    }

    /// Gives people whom an authenticator knows these roles, from the next request on.
    pub fn set_access_policy(&self, policy: AccessPolicy) {
        self.access.policy.store(Arc::new(policy));
    }

    /// Recognises people by other tokens than ours.
    pub fn set_authenticators(&self, authenticators: Vec<Arc<dyn Authenticator>>) {
        self.access.authenticators.store(Arc::new(authenticators));
    }

    /// Says that a store has revoked tokens. Until they are known, our own tokens are not taken.
    pub fn expect_revoked_in_store(&self) {
        self.revoke(|lists| lists.store = StoreList::Unread);
    }

    /// Refuses these tokens of the store from the next request on.
    pub fn set_revoked_in_store(&self, revoked: Vec<Revoked>) {
        self.revoke(|lists| lists.store = StoreList::Read(revoked));
    }

    /// Refuses these tokens of a file from the next request on.
    pub fn set_revoked_in_file(&self, revoked: Vec<Revoked>) {
        self.revoke(|lists| lists.file = revoked);
    }

    fn revoke(&self, change: impl FnOnce(&mut RevokedLists)) {
        let mut lists = locked(&self.access.revoked);
        change(&mut lists);
        let of_store = match &lists.store {
            StoreList::None => Some(&[][..]),
            StoreList::Unread => None,
            StoreList::Read(revoked) => Some(&**revoked),
        };
        let all = of_store.map(|store| lists.file.iter().chain(store).collect());
        self.access.all_revoked.store(all.map(Arc::new));
    }

    /// What is unsafe or unused in how the service was set up.
    pub(crate) fn setup_findings(&self) -> Vec<Finding> {
        let problems: Vec<Finding> = locked(&self.access_problems).values().cloned().collect();
        let setup = self.setup.load();
        let setup = setup.iter().cloned().chain(problems);
        setup.chain(self.unknown_organisations()).collect()
    }

    /// Organisations of the access policy that the fleet does not have: a role there gives nothing.
    fn unknown_organisations(&self) -> Vec<Finding> {
        let Some(known) = self.access.organisations.load_full() else {
            return Vec::new();
        };
        let policy = self.access.policy.load();
        let unknown: BTreeSet<&Name> = policy
            .organisations()
            .filter(|name| !known.contains(*name))
            .collect();
        let finding = |name: &&Name| {
            let problem = format!(
                "a role is for the organisation {name:?}, and the fleet has none of that name"
            );
            let remedy = "correct the name; until then the role gives nothing";
            Finding::warning(
                "access-unknown-organisation",
                Place::file("--access"),
                problem,
                remedy,
            )
        };
        unknown.iter().take(MAX_FINDINGS).map(finding).collect()
    }
}

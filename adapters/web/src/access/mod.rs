//! Who asks, and whether they may.
//!
//! Each request has one [`Caller`]. It is found out once, before anything else is done for the request. Our own tokens are checked
//! here ([`keys`]). For others there are [`Authenticator`]s; the roles of the people whom they know come from the access policy.
//! The core decides ([`towpath_core::access::may`]); `routes` says what each endpoint takes.

mod admit;
mod caller;
mod keys;
mod rotation;

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use arc_swap::{ArcSwap, ArcSwapOption};
use jiff::Timestamp;
use towpath_core::access::{AccessPolicy, Identity, Revoked, RevokedTokens};
use towpath_core::fleet::Name;

pub use admit::Admitted;
pub(crate) use admit::{admit, forbidden, may_everywhere};
pub(crate) use caller::{
    Caller, ClaimedCluster, claimed_cluster, genuine_token, may_ask_about, sight, sight_of,
    speaking,
};
pub use keys::{AccessKeys, TokenKeys};

/// Recognises people by tokens that we did not make.
///
/// Each authenticator is asked in turn. The first that takes a token for its own decides.
pub trait Authenticator: Send + Sync + 'static {
    /// Whose token it is. None: it is no token of this kind, so another authenticator is asked.
    fn recognise<'a>(&'a self, token: &'a str, now: Timestamp) -> Recognition<'a>;
}

pub type Recognition<'a> =
    Pin<Box<dyn Future<Output = Option<Result<Person, NotRecognised>>> + Send + 'a>>;

/// A person whom an [`Authenticator`] knows. The access policy says which roles they have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub identity: Identity,
    pub groups: BTreeSet<Name>,
}

/// Why a token of an [`Authenticator`]'s kind is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRecognised {
    /// 401: with a stable kind, and a sentence that says what to do. It must show nothing of the token.
    Refused {
        kind: &'static str,
        sentence: String,
    },
    /// 503: whoever could tell cannot be reached.
    Unavailable(String),
}

/// What decides who may: swapped in parts while requests run.
pub(crate) struct Access {
    keys: ArcSwap<AccessKeys>,
    policy: ArcSwap<AccessPolicy>,
    authenticators: ArcSwap<Vec<Arc<dyn Authenticator>>>,
    /// The organisations of the fleet; none: not known.
    organisations: ArcSwapOption<BTreeSet<Name>>,
    revoked: Mutex<RevokedLists>,
    /// The lists in one. None: a store has a list that was never read.
    all_revoked: ArcSwapOption<RevokedTokens>,
}

/// What files decide about access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessPart {
    Keys,
    Policy,
    RevokedTokens,
}

impl AccessPart {
    pub(crate) const ALL: [Self; 3] = [Self::Keys, Self::Policy, Self::RevokedTokens];

    /// The code of the finding that its newest files are not in use.
    pub fn code(self) -> &'static str {
        match self {
            Self::Keys => "token-keys-not-used",
            Self::Policy => "access-not-used",
            Self::RevokedTokens => "revoked-tokens-not-used",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Keys => "new keys of tokens",
            Self::Policy => "new roles",
            Self::RevokedTokens => "newly revoked tokens",
        }
    }

    /// The metric that is 1 unless its newest files cannot be used.
    pub(crate) fn metric(self) -> (&'static str, &'static str) {
        match self {
            Self::Keys => (
                "towpath_token_keys_in_use",
                "1 unless the newest keys of tokens cannot be used",
            ),
            Self::Policy => (
                "towpath_access_file_in_use",
                "1 unless the newest file of roles cannot be used",
            ),
            Self::RevokedTokens => (
                "towpath_revoked_tokens_file_in_use",
                "1 unless the newest file of revoked tokens cannot be used",
            ),
        }
    }
}

/// What is revoked, by where it stands.
#[derive(Default)]
struct RevokedLists {
    file: Vec<Revoked>,
    store: StoreList,
}

#[derive(Default)]
enum StoreList {
    /// There is no store.
    #[default]
    None,
    /// There is one, and it has not been read yet.
    Unread,
    Read(Vec<Revoked>),
}

impl Default for Access {
    /// Knows nobody, and nothing is revoked.
    fn default() -> Self {
        Self {
            keys: ArcSwap::default(),
            policy: ArcSwap::default(),
            authenticators: ArcSwap::default(),
            organisations: ArcSwapOption::empty(),
            revoked: Mutex::default(),
            all_revoked: ArcSwapOption::from_pointee(RevokedTokens::default()),
        }
    }
}

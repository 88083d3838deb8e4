//! An OpenID Connect issuer: who made the keys that tokens are checked with, and where people log in.
//!
//! [`Issuer::follow`] reads the issuer's description and keys, at intervals and when a token names a key that is not known.
//! [`Issuer::person`] checks a token with the last keys; it asks nobody by itself. While the issuer is away, its keys hold for
//! a stated time; then no token of it is taken. [`Issuer::redeem`] gets a person's token for a code that a browser brought.
//!
//! Addresses in the description are of the issuer's host, or of hosts that the operator has named. They have TLS, unless
//! the issuer is on this machine.

mod addresses;
mod follow;
mod issuer;
mod redeem;
mod state;

pub use issuer::{Issuer, IssuerOptions, IssuerTimes, LoginPlaces, NotKnown};
pub use redeem::{Login, LoginProblem};
pub use state::IssuerHealth;

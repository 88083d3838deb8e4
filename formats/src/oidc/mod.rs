//! OpenID Connect: bytes of an issuer to keys, and bytes of a token to a person.
//!
//! Everything is pure: the keys and the time are arguments. The algorithm of a signature comes from the issuer's key, never
//! from the token, so there is no `none` and no shared secret here. Addresses and keys in a token's header are not read.

mod claims;
mod discovery;
mod exchange;
mod jwt;
mod keys;
mod person;

pub use claims::JwtClaims;
pub use discovery::{ClientAuth, Discovery};
pub use exchange::CodeExchange;
pub use jwt::{Expected, JwtProblem, LEEWAY, MAX_CHARACTERS, Unverified};
pub use keys::{Algorithm, IssuerKeys, MAX_BYTES as MAX_KEYS_BYTES};
pub use person::{IssuedPerson, PersonClaims};

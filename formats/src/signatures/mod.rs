//! OpenPGP signatures of releases: keys and the bytes of a signature in, a signer or a refusal
//! out.
//!
//! A signature is an OpenPGP message that holds a small JSON statement ("this digest is an image
//! of mine") and is signed as a whole. A store keeps it as `sha256=<digest>/signature-N`. The path
//! proves nothing.

mod blocks;
mod gathering;
mod key;
mod keyring;
mod message;
mod seal;
mod statement;
pub mod verdicts;
mod verify;

pub use keyring::{Keyring, MAX_KEYRING_BYTES, MAX_KEYS};
pub use message::{MAX_BODY_BYTES, MAX_SIGNATURE_BYTES};
pub use seal::{SignedCopy, seal, still_counts};
pub use verify::{MAX_SIGNATURES, nearest, verify};

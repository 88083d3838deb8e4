//! Versions, minor versions, architectures: the names of releases.

pub mod minor;
pub mod number;

pub use minor::Minor;
pub use number::{Arch, ReleaseName, Version};

//! Versions, minor versions, architectures: the names of releases.

pub mod minor;
pub mod minors;
pub mod number;

pub use minor::Minor;
pub use minors::{MinorFact, MinorRow, Minors, ShippedKubernetes, Succession};
pub use number::{Arch, ReleaseName, Version};

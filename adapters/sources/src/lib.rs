//! Where graph data and releases come from. This adapter brings bytes; it does not look inside them.

mod directory;
mod git;
mod http;
mod watch;

pub use directory::{Directory, read_directory, read_file};
pub use git::{BlobId, Commit, Git};
pub use http::{Fetched, fetch};
pub use watch::Watch;

//! Sources of graph data and releases: directories, git, HTTP, archives, registries. They return bytes and do not interpret them.

mod archive;
mod cache;
mod contents;
mod copies;
mod directory;
mod git;
mod git_branches;
mod git_remote;
mod http;
mod private;
mod prometheus;
mod registry;
mod shown;
mod signature_store;
mod upstream;
mod watch;

pub use archive::unpack;
pub use cache::{Cache, CacheKey};
pub use contents::Contents;
pub use copies::{Copies, Copy};
pub use directory::{Directory, read_directory, read_file};
pub use git::{Author, BlobId, Commit, Git};
pub use git_branches::{GitBranches, GitProposal, ProposalOutcome};
pub use git_remote::{Fetch, GitMirror, GitRemote};
pub use http::{FetchResponse, GetOutcome, Http, HttpAccess, Validators, fetch};
pub use prometheus::Prometheus;
pub use registry::{
    Progress, Registry, RegistryLimits, RegistryOptions, Scrape, Step, graph_data_image,
    release_image, scrape,
};
pub use shown::without_credentials;
pub use signature_store::{SignatureStore, StoreAccess};
pub use towpath_http::LeastRate;
pub use upstream::Upstream;
pub use watch::Watch;

//! For tests alone: a real Kubernetes API server with OpenShift's kinds, and a simulated cluster-version operator.
//!
//! [`KubeApi::start`] gives a test an API server to itself: etcd and kube-apiserver are started once for each test binary, tests take turns, and whoever comes next finds it empty.
//! (ClusterVersion is the only one of its kind in a cluster, so two tests cannot share one. A server for each test would cost six seconds each; emptying costs a few
//! dozen milliseconds.) Both servers end with the test binary, however that ends.
//!
//! [`ClusterVersionOperator`] stands for OpenShift's: it does what it does in [`ClusterVersionOperator::step`], and nothing in between, so no test sleeps.
//!
//! This is a crate because the adapter's tests and the app's need it. It knows nothing of ours: it speaks to the API as any other client does.

// Nothing of this ships: what goes wrong here is a test that fails, with the reason.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

mod access;
mod binaries;
mod crds;
mod cvo;
mod objects;
mod processes;
mod proxy;
mod server;
mod upstream;

pub use crds::{AutomaticUpdates, CRDS, Crd};
pub use cvo::{Behaviour, ClusterVersionOperator};
pub use proxy::Proxy;
pub use server::{ADMIN_TOKEN, KubeApi, wait_for};
pub use upstream::Upstream;

//! For tests only: a real Kubernetes API server with OpenShift's kinds, and a simulated cluster-version operator.
//!
//! [`KubeApi::start`] gives a test an empty API server for itself. etcd and kube-apiserver start once for each test binary,
//! and tests take turns: a cluster has only one ClusterVersion, so two tests cannot share it. A server for each test would
//! cost six seconds; emptying it costs a few dozen milliseconds. Both servers end with the test binary.
//!
//! [`ClusterVersionOperator`] simulates OpenShift's. It acts only in [`ClusterVersionOperator::step`], so no test sleeps.
//!
//! [`ControlPlane`] adds a real scheduler and controller manager, and [`Kubelets`] plays the kubelets of nodes that are objects alone:
//! pods start, end, and become ready or not as a test wants.
//!
//! It is a crate because the tests of the adapter and of the app need it. It depends on none of our crates.

// Nothing of this ships: what goes wrong here is a test that fails, with the reason.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

mod access;
mod acm;
mod binaries;
mod control_plane;
mod crds;
mod cvo;
mod drain;
mod gate;
mod kubelet;
mod machines;
mod objects;
mod processes;
mod proxy;
mod server;
mod upstream;

pub use control_plane::ControlPlane;
pub use crds::{CRDS, Crd, Fields, READY_CRDS};
pub use cvo::{Behaviour, ClusterVersionOperator};
pub use drain::{DrainOutcome, Eviction};
pub use gate::Gate;
pub use kubelet::{Fault, Kubelets, Pace, PodsWith};
pub use machines::Machine;
pub use proxy::Proxy;
pub use server::{ADMIN_TOKEN, KubeApi, wait_for};
pub use upstream::Upstream;

//! A real scheduler and controller manager beside the API server.
//!
//! Both have their defaults, except that they do not elect a leader, open no port, and may ask the API as often as they want: real
//! clusters have hours for what a test does in seconds. Only the controllers run that nodes and their pods need.

use std::marker::PhantomData;
use std::path::Path;

use crate::binaries::Built;
use crate::processes::Server;
use crate::server::{ADMIN_TOKEN, KubeApi};

/// Nothing here deletes namespaces, signs certificates or makes service accounts.
const CONTROLLERS: &str =
    "deployment,replicaset,statefulset,daemonset,disruption,nodelifecycle,garbagecollector,podgc";

/// Runs until it is dropped.
#[derive(Debug)]
pub struct ControlPlane<'a> {
    _scheduler: Server,
    _controllers: Server,
    _api: PhantomData<&'a KubeApi>,
}

impl KubeApi {
    pub fn start_control_plane(&self) -> ControlPlane<'_> {
        let kubeconfig = self.kubeconfig("admin", ADMIN_TOKEN);
        let (folder, kubeconfig) = (self.folder(), kubeconfig.display());
        let common = [
            format!("--kubeconfig={kubeconfig}"),
            "--leader-elect=false".to_owned(),
            "--port=0".to_owned(),
            "--secure-port=0".to_owned(),
            "--kube-api-qps=1000".to_owned(),
            "--kube-api-burst=2000".to_owned(),
        ];
        let controllers = [
            format!("--controllers={CONTROLLERS}"),
            // A busy machine renews leases late, and that must not look like a node that died.
            "--node-monitor-grace-period=5m".to_owned(),
        ];
        let start = |built: Built, log: &str, own: &[String]| {
            let program = [built.path().display().to_string()];
            let command = [&program, &common[..], own].concat();
            Server::start(&command, &folder.join(Path::new(log)), None)
        };
        ControlPlane {
            _scheduler: start(Built::Scheduler, "kube-scheduler.log", &[]),
            _controllers: start(
                Built::ControllerManager,
                "kube-controller-manager.log",
                &controllers,
            ),
            _api: PhantomData,
        }
    }
}

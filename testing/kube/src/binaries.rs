//! The paths of etcd, kubectl, and the programs of Kubernetes.

use std::path::{Path, PathBuf};

/// A program that `cargo xtask kube-apiserver` builds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Built {
    ApiServer,
    Scheduler,
    ControllerManager,
}

impl Built {
    /// Its variable, and its name in the cache, where the chore puts it.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::ApiServer => ("TOWPATH_KUBE_APISERVER", "kube-apiserver-1.20.2"),
            Self::Scheduler => ("TOWPATH_KUBE_SCHEDULER", "kube-scheduler-1.20.2"),
            Self::ControllerManager => (
                "TOWPATH_KUBE_CONTROLLER_MANAGER",
                "kube-controller-manager-1.20.2",
            ),
        }
    }

    pub(crate) fn path(self) -> PathBuf {
        let given = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let (variable, name) = self.names();
        let cache =
            given("XDG_CACHE_HOME").or_else(|| given("HOME").map(|home| home.join(".cache")));
        let cached = cache.map(|cache| cache.join("towpath").join(name));
        let program = given(variable).or(cached).filter(|path| path.is_file());
        program.unwrap_or_else(|| {
            panic!("tests need {name}, and it is not there; run `cargo xtask kube-apiserver`")
        })
    }
}

/// A program that Debian has.
pub(crate) fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain([Path::new("/usr/sbin").to_owned()]);
    let found = folders.find_map(|folder| Some(folder.join(name)).filter(|file| file.is_file()));
    found.unwrap_or_else(|| {
        panic!("tests need {name}, and it is not there; run `cargo xtask kube-apiserver`")
    })
}

//! The paths of etcd, kube-apiserver and kubectl.

use std::path::{Path, PathBuf};

/// The name of the server in the cache; `cargo xtask kube-apiserver` puts it there.
const NAME: &str = "towpath/kube-apiserver-1.20.2";

pub(crate) fn kube_apiserver() -> PathBuf {
    let given = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let cache = given("XDG_CACHE_HOME").or_else(|| given("HOME").map(|home| home.join(".cache")));
    let server = given("TOWPATH_KUBE_APISERVER").or_else(|| cache.map(|cache| cache.join(NAME)));
    let server = server.filter(|server| server.is_file());
    server.expect(
        "tests need a Kubernetes API server, and there is none; run `cargo xtask kube-apiserver`",
    )
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

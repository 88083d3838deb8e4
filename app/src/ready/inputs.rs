//! Where a cluster's objects come from: a directory, a must-gather, a file, standard input, a live
//! cluster, or the example.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use towpath_formats::SourceFile;
use towpath_formats::cluster::objects;
use towpath_formats::cluster::ready::UnreadKinds;
use towpath_kube::{Access, KubeError, LookedAt, Settings};
use towpath_sources::read_directory;

use crate::example::{self, Origin};
use crate::input::{STDIN, read_input};

/// The largest file of objects.
const MAX_FILE_BYTES: u64 = 128 << 20;

#[derive(Debug, Args)]
pub(crate) struct Objects {
    /// The cluster's objects, as `oc get -o yaml` prints them: a directory, a must-gather, a file, or `-` for standard input. [default: the built-in example]
    #[arg(conflicts_with_all = ["kubeconfig", "context"])]
    objects: Option<PathBuf>,
    /// Read a live cluster instead, with this kubeconfig. It only gets and lists.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Read the live cluster of this context. [default: the current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// Objects, and whose they are.
pub(crate) struct GivenObjects {
    pub(crate) files: Vec<SourceFile>,
    pub(crate) origin: Origin,
    /// What a live cluster did not let us read.
    pub(crate) unread: UnreadKinds,
}

impl Objects {
    pub(super) fn read(&self) -> anyhow::Result<GivenObjects> {
        match self.access() {
            None => files(self.objects.as_deref()),
            Some(access) => {
                live(runtime()?.block_on(towpath_kube::look(&access, &Settings::default()))?)
            }
        }
    }

    /// The same, of what the plan of nodes is made of. It has an example of its own.
    pub(crate) fn read_nodes(&self) -> anyhow::Result<GivenObjects> {
        match (self.access(), &self.objects) {
            (None, None) => Ok(GivenObjects {
                files: example::nodes(),
                origin: Origin::Example,
                unread: UnreadKinds::new(),
            }),
            (None, path) => files(path.as_deref()),
            (Some(access), _) => {
                let settings = Settings::default();
                let look = towpath_kube::look_at_nodes(&access, &settings);
                live(runtime()?.block_on(look)?)
            }
        }
    }

    /// The same, of what the adviser of DaemonSets asks about.
    pub(crate) fn read_daemon_sets(&self) -> anyhow::Result<GivenObjects> {
        match self.access() {
            None => files(self.objects.as_deref()),
            Some(access) => {
                let settings = Settings::default();
                let look = towpath_kube::look_at_daemon_sets(&access, &settings);
                live(runtime()?.block_on(look)?)
            }
        }
    }

    /// The live cluster, if one was named.
    fn access(&self) -> Option<Access> {
        let is_named = self.kubeconfig.is_some() || self.context.is_some();
        is_named.then(|| Access::Kubeconfig {
            path: self.kubeconfig.clone(),
            context: self.context.clone(),
        })
    }
}

impl GivenObjects {
    /// Why a kind was not read, for an error.
    pub(crate) fn why_not(&self, kind: &str) -> String {
        match self.unread.get(kind) {
            Some(why) => format!("{kind}: {why}"),
            None => format!("{kind} are needed"),
        }
    }
}

/// Objects of a path, or the example's.
pub(super) fn files(path: Option<&Path>) -> anyhow::Result<GivenObjects> {
    let (files, origin) = match path {
        None => (example::cluster(), Origin::Example),
        Some(path) if path == STDIN || path.is_file() => (vec![file(path)?], Origin::Named),
        Some(path) => (read_directory(path, objects::is_part)?, Origin::Named),
    };
    Ok(GivenObjects {
        files,
        origin,
        unread: UnreadKinds::new(),
    })
}

/// A file that was named. Its name says what an empty list is a list of, and a path says nothing.
pub(super) fn file(path: &Path) -> anyhow::Result<SourceFile> {
    let bytes = read_input(path, MAX_FILE_BYTES)?;
    let name = match path == STDIN {
        true => "standard input".into(),
        false => path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy(),
    };
    Ok(SourceFile::new(name, bytes))
}

/// What was read of a live cluster.
fn live(looked: LookedAt) -> anyhow::Result<GivenObjects> {
    let absent = looked.absent.into_iter().map(|kind| {
        let why = "the cluster's API does not have this kind";
        (kind.to_string(), why.to_owned())
    });
    let unread = looked.unread.into_iter();
    let unread = unread.map(|(kind, problem)| (kind.to_string(), why(&problem)));
    Ok(GivenObjects {
        files: looked.files,
        origin: Origin::Named,
        unread: unread.chain(absent).collect(),
    })
}

/// Why a kind could not be read. A role is the reader's own here, and not the agent's.
fn why(problem: &KubeError) -> String {
    match problem {
        KubeError::Forbidden { verb, resource, .. } => {
            format!("your role may not {verb} {resource}")
        }
        other => other.to_string(),
    }
}

/// Runs what waits for others.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime cannot be started")
}

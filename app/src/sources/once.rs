//! Sources for a command that runs once: read one after the other, without threads, and judged as `serve` judges them.
//!
//! It leaves out what `serve` leaves out: unsigned releases, disputed payloads, and copies that it would refuse in favour of the saved ones.

use std::path::Path;

use anyhow::bail;
use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{Graph, GraphData, Releases};
use towpath_sources::{Contents, Copies};

use super::address::{Location, Role, SourceSpec};
use super::intake::Intake;
use super::reader::{Reader, SourceReading};
use super::{SourceSettings, reader, seals, verification};
use crate::cli::{failure, warn};
use crate::example::Origin;
use crate::signatures::{Go, Verifier};

/// All sources, as they are now.
pub(crate) struct Sources {
    intake: Intake,
    settings: SourceSettings,
    /// What was read of graph data, whether or not it can be used.
    graph_data: Option<Result<SourceReading, Finding>>,
    now: Timestamp,
}

impl Sources {
    /// Reads them. What cannot be read is told by whoever asks for it.
    pub(crate) fn read(settings: SourceSettings, now: Timestamp) -> anyhow::Result<Self> {
        settings.origin().tell();
        let mut verifier = verification::verifier(&settings).map_err(|found| failure(&found))?;
        let keys = seals::keys(&settings).map_err(|found| failure(&found))?;
        let mut intake = Intake::new(&settings).with_keys(keys);
        if let Some(folder) = &settings.state {
            let (copies, mut findings) = Copies::at(folder).load();
            findings.extend(intake.restore(copies, now));
            warn(&findings);
            intake.promote(now);
            verify(&mut intake, verifier.as_mut(), now)?;
        }
        let mut graph_data = None;
        for (number, spec) in settings.specs.iter().enumerate() {
            let read = read(spec, &settings, now);
            if spec.role == Role::GraphData {
                // A copy that is not signed is no copy, for lint neither.
                graph_data = Some(read.clone().and_then(|mut read| {
                    intake.judge_seal(spec, &mut read, now)?;
                    Ok(read)
                }));
            }
            intake.take(number, read, now);
        }
        intake.judge_seals(now);
        verify(&mut intake, verifier.as_mut(), now)?;
        if intake.is_complete() {
            // The command uses a kept copy. It says why.
            warn(&intake.problems());
        }
        Ok(Self {
            intake,
            settings,
            graph_data,
            now,
        })
    }

    /// The graph that `serve` would serve.
    pub(crate) fn graph(&self) -> anyhow::Result<Graph> {
        self.check(|_| true)?;
        let graph = self.intake.graph().0;
        Ok(graph.with_stale(self.intake.stale(self.now)))
    }

    /// The graph with other graph data in the place of the source's.
    pub(crate) fn graph_of(&self, data: &GraphData) -> anyhow::Result<Graph> {
        self.check(|role| role == Role::Releases)?;
        let (data, releases, _) = self.intake.parts(Some(data));
        Ok(Graph::build(data, releases).0)
    }

    /// The releases that there are; none if no source tells of any.
    pub(crate) fn releases(&self) -> anyhow::Result<Option<Releases>> {
        let has_some = |spec: &SourceSpec| spec.role == Role::Releases;
        if !self.settings.specs.iter().any(has_some) {
            return Ok(None);
        }
        self.check(|role| role == Role::Releases)?;
        Ok(Some(self.intake.parts(None).1))
    }

    /// The files of graph data as they are, and a finding for each that cannot be read.
    pub(crate) fn contents(&self) -> anyhow::Result<Contents> {
        let SourceReading { files, unread, .. } = match &self.graph_data {
            Some(Ok(read)) => read.clone(),
            Some(Err(finding)) => bail!("{finding}"),
            None => bail!("no graph data; add --graph-data WHERE"),
        };
        let mut contents = Contents { files, unread };
        for finding in &mut contents.unread {
            // As in all other findings: as seen from the directory.
            let below = self.settings.directory().map(|root| {
                let file = Path::new(&*finding.place.file);
                file.strip_prefix(root)
                    .map(|path| path.display().to_string())
            });
            if let Some(Ok(path)) = below {
                finding.place = Place::file(path);
            }
        }
        Ok(contents)
    }

    /// What graph data elsewhere says: that of a base, before a change.
    pub(crate) fn graph_data_at(&mut self, spec: &SourceSpec) -> anyhow::Result<GraphData> {
        if let Some(seals) = &self.settings.seals {
            seals.check_one(spec)?;
        }
        let read = read(spec, &self.settings, self.now).and_then(|mut read| {
            self.intake.judge_seal(spec, &mut read, self.now)?;
            Ok(read)
        });
        let SourceReading { files, unread, .. } = read.map_err(|found| failure(&[found]))?;
        match unread.is_empty() {
            true => self.intake.read_graph_data(&files),
            false => Err(unread),
        }
        .map(|(data, _)| data)
        .map_err(|found| failure(&found))
    }

    /// Whose data this is.
    pub(crate) fn origin(&self) -> Origin {
        self.settings.origin()
    }

    /// Where graph data is, if it is a directory.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.settings.directory()
    }

    pub(crate) fn settings(&self) -> &SourceSettings {
        &self.settings
    }

    fn check(&self, is_meant: impl Fn(Role) -> bool) -> anyhow::Result<()> {
        match self.intake.has_all(is_meant) {
            true => Ok(()),
            false => Err(failure(&self.intake.problems())),
        }
    }
}

impl SourceSettings {
    /// Whose data this is.
    pub(crate) fn origin(&self) -> Origin {
        match self.is_example() {
            true => Origin::Example,
            false => Origin::Named,
        }
    }

    /// Where graph data is, if it is a directory.
    pub(crate) fn directory(&self) -> Option<&Path> {
        match &self.graph_data()?.location {
            Location::Path(path) => Some(path),
            _ => None,
        }
    }

    /// The source of graph data, if there is one.
    pub(crate) fn graph_data(&self) -> Option<&SourceSpec> {
        self.specs.iter().find(|spec| spec.role == Role::GraphData)
    }

    /// Graph data that is named beside this one: a directory, an address, or a revision of the repository that this one is in.
    pub(crate) fn beside(&self, name: &str) -> anyhow::Result<SourceSpec> {
        if Path::new(name).is_dir() || name.contains("://") {
            return SourceSpec::other(name, self.access.http.plain_http);
        }
        let directory = match self.graph_data().map(|spec| &spec.location) {
            None | Some(Location::Example) => Path::new("."),
            Some(Location::Path(path)) => path,
            Some(_) => bail!(
                "{name:?} is not a directory, and only a local repository has revisions; name it by its address, as in git+https://HOST/REPO.git#{name}"
            ),
        };
        Ok(SourceSpec::revision(directory, name))
    }
}

fn read(
    spec: &SourceSpec,
    settings: &SourceSettings,
    now: Timestamp,
) -> Result<SourceReading, Finding> {
    Reader::new(spec, &settings.access, None)?.read(now)
}

/// Asks who signed what was read, if that counts.
fn verify(
    intake: &mut Intake,
    verifier: Option<&mut Verifier>,
    now: Timestamp,
) -> anyhow::Result<()> {
    let Some(verifier) = verifier else {
        return Ok(());
    };
    let runtime = reader::runtime().map_err(|found| failure(&[found]))?;
    let payloads = intake.payloads();
    let (verdicts, _) = runtime.block_on(verifier.verdicts(&payloads, now, &mut |_| Go::On));
    intake.verified(verdicts, now);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{SourceArgs, SourceOptions};
    use crate::sources::Needs;

    fn settings(graph_data: &Path, needs: Needs) -> anyhow::Result<SourceSettings> {
        let args = SourceArgs {
            config: None,
            options: SourceOptions {
                graph_data: Some(graph_data.display().to_string()),
                ..SourceOptions::default()
            },
        };
        args.settings(needs, None)
    }

    #[test]
    fn everything_that_cannot_be_read_is_told_at_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("channels")).unwrap();
        std::fs::write(folder.path().join("version"), "1.1.0").unwrap();
        for (target, name) in [("/dev/zero", "a.yaml"), ("gone", "b.yaml"), ("/", "c.yaml")] {
            std::os::unix::fs::symlink(target, folder.path().join("channels").join(name)).unwrap();
        }
        let settings = settings(folder.path(), Needs::GraphData).unwrap();
        let sources = Sources::read(settings, Timestamp::UNIX_EPOCH).unwrap();
        let Contents { files, unread } = sources.contents().unwrap();
        let told = unread
            .iter()
            .map(|finding| (finding.code, &*finding.place.file));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                ("link-outside", "channels/a.yaml"),
                ("unreadable", "channels/b.yaml"),
                ("link-outside", "channels/c.yaml")
            ]
        );
        assert_eq!(files.len(), 1);
    }

    #[test]
    fn nobodys_data_is_joined_with_the_example() {
        let needs = Needs::GraphDataAndReleases;
        let told = settings(Path::new("somewhere"), needs).unwrap_err();
        assert!(told.to_string().ends_with("add --releases WHERE"), "{told}");
    }

    #[test]
    fn a_revision_is_of_a_directory() {
        let there = settings(Path::new("there"), Needs::GraphData).unwrap();
        let Location::Revision { directory, .. } = there.beside("main").unwrap().location else {
            panic!("no revision");
        };
        assert_eq!(directory, Path::new("there"));
        let address = Path::new("git+https://host/x.git");
        let told = settings(address, Needs::GraphData).unwrap().beside("main");
        assert!(told.unwrap_err().to_string().ends_with("REPO.git#main"));
    }
}

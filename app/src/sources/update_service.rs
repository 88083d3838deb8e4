//! Reads the images that an `UpdateService` object names, and follows the object itself: an image that it names anew is read like a tag that
//! moved, under the same guards.

use std::path::{Path, PathBuf};

use towpath_core::finding::Finding;
use towpath_formats::SourceFile;
use towpath_formats::sources::update_service::{self, UpdateService};

use super::address::{Images, Role, Transport};
use super::images::ImagesReader;
use super::reader::{Access, Signatures, SourceReading};
use crate::input::read_input;

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// One of the two sources that an object names.
pub(crate) struct UpdateServiceReader {
    file: PathBuf,
    role: Role,
    access: Access,
    signatures: Signatures,
    scratch: Option<PathBuf>,
    /// What the object named when it was last read.
    current: Option<(Images, ImagesReader)>,
}

impl UpdateServiceReader {
    /// A reader that has read nothing.
    pub(super) fn new(
        file: &Path,
        role: Role,
        access: &Access,
        signatures: Signatures,
        scratch: Option<&Path>,
    ) -> Self {
        Self {
            file: file.to_owned(),
            role,
            access: access.clone(),
            signatures,
            scratch: scratch.map(Path::to_owned),
            current: None,
        }
    }

    /// Reads the object and then its images, or says what cannot be read.
    pub(super) fn read(&mut self) -> Result<SourceReading, Finding> {
        let object = read(&self.file).map_err(first)?;
        let images = match self.role.is_files() {
            true => Images::GraphData(object.graph_data),
            false => Images::Releases {
                repository: object.releases,
                arches: Vec::new(),
            },
        };
        let mut reader = match self.current.take() {
            Some((known, reader)) if known == images => reader,
            before => {
                if before.is_some() {
                    tracing::info!(file = %self.file.display(), "the UpdateService names another image for {}", self.role.flag());
                }
                let (access, scratch) = (&self.access, self.scratch.as_deref());
                ImagesReader::new(&images, Transport::Tls, access, self.signatures, scratch)?
            }
        };
        let read = reader.read();
        self.current = Some((images, reader));
        read
    }
}

/// What the file says now.
pub(super) fn read(file: &Path) -> Result<UpdateService, Vec<Finding>> {
    let bytes = read_input(file, MAX_FILE_BYTES).map_err(|finding| vec![finding])?;
    update_service::read(&SourceFile::new(file.display().to_string(), bytes))
}

/// Says which fields are not used.
pub(super) fn tell_unused(file: &Path) {
    if let Ok(object) = read(file) {
        tracing::info!(
            file = %file.display(),
            name = object.name,
            "spec.replicas ({}) of the UpdateService is not used: set the replicas of Towpath's Deployment",
            object.replicas
        );
    }
}

/// One finding stands for all: what is wrong first.
fn first(findings: Vec<Finding>) -> Finding {
    let first = findings.into_iter().next();
    first.expect("a file that is refused has a finding")
}

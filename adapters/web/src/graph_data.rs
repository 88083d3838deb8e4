//! The graph data that is being served, as a `tar.gz`: so that another service, or a person, can have the same.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use sha2::{Digest, Sha256};
use towpath_formats::SourceFile;
use towpath_formats::graph_data::tarball;

use crate::Snapshot;
use crate::body::{self, AnswerBody};

pub(crate) const PATH: &str = "/api/upgrades_info/graph-data";

/// The files of a snapshot, and the archive of them once somebody has asked.
#[derive(Default)]
pub(crate) struct GraphDataFiles {
    files: Vec<SourceFile>,
    archive: OnceLock<Option<Archive>>,
}

struct Archive {
    bytes: Bytes,
    entity_tag: HeaderValue,
}

impl GraphDataFiles {
    pub(crate) fn new(files: Vec<SourceFile>) -> Self {
        Self { files, archive: OnceLock::new() }
    }

    /// Made once; it takes some milliseconds, so not on a thread that answers graphs.
    fn archive(&self) -> Option<&Archive> {
        self.archive.get_or_init(|| Archive::of(&self.files)).as_ref()
    }
}

impl Archive {
    fn of(files: &[SourceFile]) -> Option<Self> {
        let bytes = tarball(files).ok()?;
        let name: String = Sha256::digest(&bytes)[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        let entity_tag = HeaderValue::try_from(format!("\"{name}\"")).ok()?;
        Some(Self { bytes: bytes.into(), entity_tag })
    }
}

/// What a client has of it, and wants.
pub(crate) struct Question {
    snapshot: Arc<Snapshot>,
    known: Option<HeaderValue>,
}

impl Question {
    pub(crate) fn new(snapshot: Arc<Snapshot>, request: &Parts) -> Self {
        Self { snapshot, known: request.headers.get(header::IF_NONE_MATCH).cloned() }
    }

    pub(crate) fn answer(self) -> Response<AnswerBody> {
        let files = &self.snapshot.graph_data;
        if files.files.is_empty() {
            let sentence = "this service has no graph data of its own; ask the one in front of which it sits";
            return body::error(StatusCode::NOT_FOUND, "does_not_exist", sentence);
        }
        let Some(archive) = files.archive() else {
            return body::error(
                StatusCode::INTERNAL_SERVER_ERROR,
                "failed_archive",
                "the archive could not be written",
            );
        };
        let names = |known: &HeaderValue| {
            let tag = archive.entity_tag.to_str().unwrap_or_default();
            known.to_str().is_ok_and(|list| {
                list.split(',').any(|known| [tag, "*"].contains(&known.trim().trim_start_matches("W/")))
            })
        };
        let is_known = self.known.as_ref().is_some_and(names);
        let mut response = match is_known {
            true => Response::new(AnswerBody::default()),
            false => Response::new(AnswerBody::new(Arc::new([archive.bytes.clone()]), archive.bytes.len())),
        };
        *response.status_mut() = if is_known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
        let headers = response.headers_mut();
        headers.insert(header::ETAG, archive.entity_tag.clone());
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/gzip"));
        let name = "attachment; filename=\"graph-data.tar.gz\"";
        headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(name));
        response
    }
}

//! Serves the current graph data as a `tar.gz`, for other services and for people.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use sha2::{Digest, Sha256};
use towpath_core::hex;
use towpath_formats::SourceFile;
use towpath_formats::graph::data::tarball;

use crate::body::{self, AnswerBody};
use crate::fleet::query;
use crate::questions::Work;
use crate::refusal::OrRefusal;
use crate::{Service, Snapshot, explain};

/// The files of a snapshot, and their archive after the first request.
#[derive(Default)]
pub(crate) struct GraphDataFiles {
    files: Vec<SourceFile>,
    /// When they were made, or when we read them.
    modified_at: Timestamp,
    archive: OnceLock<Option<Archive>>,
}

struct Archive {
    bytes: Bytes,
    entity_tag: HeaderValue,
}

impl GraphDataFiles {
    pub(crate) fn new(files: Vec<SourceFile>, modified_at: Timestamp) -> Self {
        Self {
            files,
            modified_at,
            archive: OnceLock::new(),
        }
    }

    /// As they are served, by path.
    pub(crate) fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Creates the archive once. It takes milliseconds, so not on a thread that answers graphs.
    fn archive(&self) -> Option<&Archive> {
        self.archive
            .get_or_init(|| Archive::of(&self.files))
            .as_ref()
    }
}

impl Archive {
    fn of(files: &[SourceFile]) -> Option<Self> {
        let bytes = tarball(files).ok()?;
        let name = hex::encode(&Sha256::digest(&bytes)[..16]);
        let entity_tag = HeaderValue::try_from(format!("\"{name}\"")).ok()?;
        Some(Self {
            bytes: bytes.into(),
            entity_tag,
        })
    }
}

pub(crate) fn question(service: &Arc<Service>, request: &Parts) -> OrRefusal<Work> {
    query::nothing(request)?;
    let snapshot = service.snapshot().ok_or_else(explain::not_ready)?;
    let known = KnownTags::of(&request.headers);
    Ok(Box::new(move |_| answer(&snapshot, &known)))
}

/// The entity tags that a client has. Dates are not reliable: two commits may have the same second, and clocks may be slow.
/// So `If-Modified-Since` is ignored, and `Last-Modified` only shows the age.
struct KnownTags(String);

impl KnownTags {
    fn of(headers: &HeaderMap) -> Self {
        let lists = headers
            .get_all(header::IF_NONE_MATCH)
            .iter()
            .filter_map(|list| list.to_str().ok());
        Self(lists.collect::<Vec<_>>().join(","))
    }

    fn has(&self, entity_tag: &HeaderValue) -> bool {
        let tag = entity_tag.to_str().unwrap_or_default();
        self.0
            .split(',')
            .any(|known| [tag, "*"].contains(&known.trim().trim_start_matches("W/")))
    }
}

fn answer(snapshot: &Snapshot, known: &KnownTags) -> Response<AnswerBody> {
    let files = &snapshot.graph_data;
    if let Some(stale) = snapshot.graph().stale().first() {
        // What is too old to recommend anything by must not look new elsewhere.
        let sentence = format!(
            "{} was last good at {}; nothing is passed on until it is read again",
            stale.source, stale.last_good
        );
        return body::error(StatusCode::SERVICE_UNAVAILABLE, "source_stale", &sentence);
    }
    if files.files.is_empty() {
        let sentence =
            "this service has no graph data of its own; ask the one in front of which it sits";
        return body::error(StatusCode::NOT_FOUND, "does_not_exist", sentence);
    }
    let Some(archive) = files.archive() else {
        return body::error(
            StatusCode::INTERNAL_SERVER_ERROR,
            "failed_archive",
            "the archive could not be written",
        );
    };
    let is_known = known.has(&archive.entity_tag);
    let mut response = match is_known {
        true => Response::new(AnswerBody::default()),
        false => Response::new(AnswerBody::new(
            Arc::new([archive.bytes.clone()]),
            archive.bytes.len(),
        )),
    };
    *response.status_mut() = if is_known {
        StatusCode::NOT_MODIFIED
    } else {
        StatusCode::OK
    };
    let headers = response.headers_mut();
    headers.insert(header::ETAG, archive.entity_tag.clone());
    let modified = DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&files.modified_at)
        .ok();
    if let Some(modified) = modified.and_then(|text| HeaderValue::try_from(text).ok()) {
        headers.insert(header::LAST_MODIFIED, modified);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/gzip"),
    );
    let name = "attachment; filename=\"graph-data.tar.gz\"";
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(name));
    response
}

//! The page for people: index.html at each of its addresses, and its hashed assets.
//!
//! `ui/dist` is committed and lists its files in `files.rs`, so building the service needs neither Node.js nor a build script.
//! Everything is compressed once, when the server starts. The page asks the same API as everybody else.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use sha2::{Digest, Sha256};
use towpath_core::hex;
use towpath_formats::graph::request::accepts_gzip;

use crate::Service;
use crate::body::AnswerBody;
use crate::fleet::query;
use crate::graph::{is_known, joined};
use crate::refusal::{OrRefusal, Refusal};

/// Every file of the page, by its path below `ui/dist`.
const FILES: &[(&str, &[u8])] = include!("../../../ui/dist/files.rs");
const INDEX: &str = "index.html";
const ASSETS: &str = "assets/";
/// Nothing comes from elsewhere, nothing is inline, and no other site may show the page in a frame.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
/// An asset's name changes with its content.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");
const NO_ASSET: &str = "the page has no such file; reload it, this service may be newer";

static PAGE: LazyLock<BTreeMap<&str, PageFile>> = LazyLock::new(|| {
    let prepared = |(path, bytes): &(&'static str, &'static [u8])| {
        let file = PageFile::new(path, bytes)?;
        Some((*path, file))
    };
    FILES.iter().filter_map(prepared).collect()
});

struct PageFile {
    kind: &'static str,
    is_asset: bool,
    plain: Variant,
    /// Only where it is smaller.
    gzip: Option<Variant>,
}

/// One encoding of a file.
struct Variant {
    tag: HeaderValue,
    chunks: Arc<[Bytes]>,
    bytes: usize,
}

/// Compresses the files now, so that no request waits for it.
pub(crate) fn prepare() {
    LazyLock::force(&PAGE);
}

/// Answers an address of the page. Its query is the page's own state.
pub(crate) fn index(_: &Service, head: &Parts, _: &str) -> OrRefusal<Response<AnswerBody>> {
    answer(INDEX, &head.headers)
}

pub(crate) fn asset(_: &Service, head: &Parts, name: &str) -> OrRefusal<Response<AnswerBody>> {
    query::nothing(head)?;
    answer(&format!("{ASSETS}{name}"), &head.headers)
}

fn answer(path: &str, request: &HeaderMap) -> OrRefusal<Response<AnswerBody>> {
    let no_such = || Refusal::new(StatusCode::NOT_FOUND, "does_not_exist", NO_ASSET);
    let file = PAGE.get(path).ok_or_else(no_such)?;
    Ok(file.answer(request))
}

impl PageFile {
    /// None for a file of a kind that the page does not have.
    fn new(path: &str, bytes: &'static [u8]) -> Option<Self> {
        let kind = media_type(path)?;
        let compressed = compressed(bytes).filter(|gzip| gzip.len() < bytes.len());
        Some(Self {
            kind,
            is_asset: path.starts_with(ASSETS),
            plain: Variant::new(Bytes::from_static(bytes)),
            gzip: compressed.map(|gzip| Variant::new(gzip.into())),
        })
    }

    fn answer(&self, request: &HeaderMap) -> Response<AnswerBody> {
        let takes_gzip = accepts_gzip(joined(request, header::ACCEPT_ENCODING).as_deref());
        let gzip = self.gzip.as_ref().filter(|_| takes_gzip);
        let sent = gzip.unwrap_or(&self.plain);
        let mut response = Response::new(AnswerBody::default());
        match is_known(request, &sent.tag) {
            true => *response.status_mut() = StatusCode::NOT_MODIFIED,
            false => {
                *response.body_mut() = AnswerBody::new(sent.chunks.clone(), sent.bytes);
                let headers = response.headers_mut();
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
                if gzip.is_some() {
                    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                }
            }
        }
        let caching = match self.is_asset {
            true => FOR_EVER,
            false => ASK_AGAIN,
        };
        for (name, value) in [
            (header::ETAG, sent.tag.clone()),
            (header::CACHE_CONTROL, caching),
            (header::VARY, HeaderValue::from_static("Accept-Encoding")),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (
                header::REFERRER_POLICY,
                HeaderValue::from_static("no-referrer"),
            ),
            (OPENER_POLICY, HeaderValue::from_static("same-origin")),
        ] {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// A site that opens the page in a window gets no hold of it.
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

impl Variant {
    fn new(bytes: Bytes) -> Self {
        let name = hex::encode(&Sha256::digest(&bytes)[..16]);
        Self {
            tag: HeaderValue::try_from(format!("\"{name}\"")).expect("a tag fits a header"),
            bytes: bytes.len(),
            chunks: Arc::new([bytes]),
        }
    }
}

fn compressed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

fn media_type(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    Some(match ending {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "json" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const DIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui/dist");

    fn folder(below: &str) -> Vec<String> {
        let entries = Path::new(DIST).join(below).read_dir().unwrap();
        let entries = entries.map(Result::unwrap);
        let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
        files
            .map(|entry| format!("{below}{}", entry.file_name().to_str().unwrap()))
            .collect()
    }

    #[test]
    fn every_file_of_the_folder_is_embedded_and_can_be_sent() {
        let mut there = [folder(""), folder(ASSETS)].concat();
        there.retain(|name| name != "files.rs");
        there.sort();
        let listed: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
        assert_eq!(listed, there);
        for path in listed {
            assert!(PAGE.contains_key(path), "{path} is of no known kind");
        }
    }

    #[test]
    fn the_index_refers_to_embedded_assets_and_has_nothing_inline() {
        let (_, index) = FILES.iter().find(|(path, _)| *path == INDEX).unwrap();
        let index = std::str::from_utf8(index).unwrap();
        let mut referred = 0;
        for attribute in [" src=\"", " href=\""] {
            for rest in index.split(attribute).skip(1) {
                let target = rest.split('"').next().unwrap();
                if let Some(path) = target.strip_prefix('/').filter(|p| p.starts_with(ASSETS)) {
                    assert!(PAGE.contains_key(path), "{target} is not there");
                    referred += 1;
                }
                assert!(!target.contains("//"), "{target} is elsewhere");
            }
        }
        assert!(referred > 0);
        assert!(!index.contains("<style") && !index.contains(" style="));
        for script in index.split("<script").skip(1) {
            let head = script.split('>').next().unwrap();
            assert!(head.contains("src="), "an inline script: {head}");
        }
    }
}

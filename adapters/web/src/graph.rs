//! The Cincinnati graph endpoint.

use std::sync::Arc;
use std::time::Instant;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Response, StatusCode};
use jiff::Timestamp;
use towpath_formats::graph::request::{self, ContentType};
use towpath_formats::graph::sheet::{Client, Encoding};

use crate::body::{self, AnswerBody};
use crate::cached_answer::{CachedAnswer, CachedSheet};
use crate::enrolment::ClusterView;
use crate::snapshot::ChannelArch;
use crate::{Service, Snapshot, explain, managed};

/// The headers that an answer depends on, besides the address with the cluster's id. A block must reach clusters at once,
/// so private caches must revalidate before each use.
const CACHING: HeaderValue = HeaderValue::from_static("private, no-cache");
const VARY: HeaderValue = HeaderValue::from_static("Accept, Accept-Encoding, Origin");

/// An answer that must be compiled first. That takes milliseconds, so another thread does it.
pub(crate) struct CompileJob {
    snapshot: Arc<Snapshot>,
    channel: String,
    arch: String,
    encoding: Encoding,
    now: Timestamp,
    /// For a managed or held cluster: the edges that it sees.
    shown: Option<managed::ShownEdges>,
}

/// A compiled answer, and its instant.
pub(crate) struct CompiledAnswer {
    made: CompiledBody,
    now: Timestamp,
}

enum CompiledBody {
    Sheet(Arc<CachedSheet>),
    Managed(Arc<CachedAnswer>),
}

impl CompileJob {
    pub(crate) fn compile(self) -> CompiledAnswer {
        let Self {
            snapshot,
            encoding,
            now,
            ..
        } = self;
        let channel_arch = snapshot.channel_arch(&self.channel, &self.arch);
        let made = match (channel_arch, self.shown) {
            (Some(channel_arch), Some(shown)) => {
                CompiledBody::Managed(snapshot.make_managed(channel_arch, encoding, now, shown))
            }
            _ => CompiledBody::Sheet(snapshot.compile(channel_arch, encoding, now)),
        };
        CompiledAnswer { made, now }
    }
}

/// Answers from the given sheet, or from the snapshot's. If there is none, returns the job to compile it. The time that is measured
/// began with the request, so it holds the wait for a sheet.
pub(crate) fn answer(
    service: &Service,
    request: &Parts,
    at_hand: Option<&CompiledAnswer>,
    began: Instant,
) -> Result<Response<AnswerBody>, CompileJob> {
    let snapshot = service.snapshot.load();
    let (mut response, channel_arch) = match &*snapshot {
        Some(snapshot) => answer_from(service, snapshot, request, at_hand)?,
        None => (explain::not_ready().response(), None),
    };
    allow_origin(&request.headers, response.headers_mut());
    service
        .metrics
        .graph_answered(channel_arch, response.status(), began.elapsed());
    Ok(response)
}

/// Answers a browser's CORS preflight.
pub(crate) fn preflight(request: &Parts) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    allow_origin(&request.headers, response.headers_mut());
    let headers = response.headers_mut();
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, HEAD"),
    );
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("Accept, If-None-Match, X-Request-Id"),
    );
    headers.insert(header::VARY, VARY);
    response
}

/// An answer, and the channel and architecture it came from.
type GraphAnswer<'a> = (Response<AnswerBody>, Option<&'a ChannelArch>);

fn answer_from<'a>(
    service: &Service,
    snapshot: &'a Arc<Snapshot>,
    request: &Parts,
    at_hand: Option<&CompiledAnswer>,
) -> Result<GraphAnswer<'a>, CompileJob> {
    let headers = &request.headers;
    let Some(content_type) = accepted(headers) else {
        let sentence = "use Accept: application/json, or application/vnd.redhat.cincinnati.v1+json";
        return Ok((
            body::error(StatusCode::NOT_ACCEPTABLE, "invalid_content_type", sentence),
            None,
        ));
    };
    let contract = service.contract.load();
    let query = request.uri.query().unwrap_or_default();
    let asked = match request::read_with(query, contract.mandatory()) {
        Ok(asked) => asked,
        Err(bad) => {
            return Ok((
                body::error(StatusCode::BAD_REQUEST, bad.kind(), bad.value()),
                None,
            ));
        }
    };
    let now = at_hand.map_or_else(|| service.now(), |compiled| compiled.now);
    let gzip = request::accepts_gzip(joined(headers, header::ACCEPT_ENCODING).as_deref());
    let encoding = if gzip {
        Encoding::Gzip
    } else {
        Encoding::Identity
    };
    let channel_arch = snapshot.channel_arch(&asked.channel, &asked.arch);
    let platform = asked
        .platform
        .as_ref()
        .or_else(|| snapshot.platform_of(asked.id.as_ref()));
    let client = Client {
        id: asked.id.as_ref(),
        platform,
        // For a cluster without a policy; the others do not get the sheet.
        groups: snapshot
            .groups_of(asked.id.as_ref())
            .map(|groups| &**groups),
        now,
    };
    let from_sheet = |ready: &CachedSheet| ready.answer(ready.sheet.answers(client));
    let view = service.enrolment.load();
    let sees = view
        .as_ref()
        .zip(client.id)
        .map_or(ClusterView::Graph, |(view, id)| view.sees(id));
    let shown = match (sees, channel_arch) {
        (ClusterView::Graph, _) | (_, None) => None,
        (ClusterView::Allowed(allowed), Some(channel_arch)) => Some(managed::shown(
            snapshot.graph(),
            channel_arch,
            allowed,
            client,
        )),
        (ClusterView::Nothing(_), Some(_)) => Some(managed::ShownEdges::new()),
    };
    let ready = match (at_hand.map(|compiled| &compiled.made), &shown, channel_arch) {
        (Some(CompiledBody::Managed(ready)), ..) => Some(ready.clone()),
        (Some(CompiledBody::Sheet(ready)), ..) => Some(from_sheet(ready)),
        (None, Some(shown), Some(channel_arch)) => {
            snapshot.managed(channel_arch, encoding, now, shown)
        }
        (None, ..) => snapshot.with_sheet(channel_arch, encoding, now, from_sheet),
    };
    match ready {
        Some(ready) => {
            if let (ClusterView::Nothing(_), Some(_)) = (sees, channel_arch) {
                service.metrics.not_enrolled.inc();
            }
            Ok((
                ready_response(headers, &ready, content_type, encoding),
                channel_arch,
            ))
        }
        None => Err(CompileJob {
            snapshot: snapshot.clone(),
            channel: asked.channel.to_string(),
            arch: asked.arch.to_string(),
            encoding,
            now,
            shown,
        }),
    }
}

fn ready_response(
    request: &HeaderMap,
    ready: &CachedAnswer,
    content_type: ContentType,
    encoding: Encoding,
) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::default());
    let known = is_known(request, &ready.tag);
    let headers = response.headers_mut();
    headers.reserve(10);
    if !known {
        headers.insert(header::CONTENT_LENGTH, ready.length.clone());
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static(content_type.as_str()),
        );
        if encoding == Encoding::Gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
    }
    headers.insert(header::ETAG, ready.tag.clone());
    headers.insert(header::CACHE_CONTROL, CACHING);
    headers.insert(header::VARY, VARY);
    match known {
        true => *response.status_mut() = StatusCode::NOT_MODIFIED,
        false => *response.body_mut() = AnswerBody::new(ready.chunks.clone(), ready.bytes),
    }
    response
}

/// The content type of the answer; none for a header that is not text.
fn accepted(headers: &HeaderMap) -> Option<ContentType> {
    match headers.contains_key(header::ACCEPT) {
        true => ContentType::accepted(Some(&joined(headers, header::ACCEPT)?)),
        false => ContentType::accepted(None),
    }
}

/// A header's lines as one list; none if it is absent or not text.
pub(crate) fn joined(headers: &HeaderMap, name: HeaderName) -> Option<std::borrow::Cow<'_, str>> {
    let mut lines = headers.get_all(name).iter().map(|line| line.to_str());
    let first = lines.next()?.ok()?;
    match lines.next() {
        None => Some(first.into()),
        Some(second) => {
            let rest = lines.map(Result::ok).collect::<Option<Vec<_>>>()?;
            Some(format!("{first},{},{}", second.ok()?, rest.join(",")).into())
        }
    }
}

/// Whether the client already has this answer, by the weak comparison of If-None-Match.
pub(crate) fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let same = |known: &str| {
        let known = known.trim();
        known == "*" || known.strip_prefix("W/").unwrap_or(known).as_bytes() == tag.as_bytes()
    };
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .any(|line| line.to_str().is_ok_and(|line| line.split(',').any(same)))
}

fn allow_origin(request: &HeaderMap, response: &mut HeaderMap) {
    // An origin is text; what is not is not sent back.
    if let Some(origin) = request
        .get(header::ORIGIN)
        .filter(|origin| origin.to_str().is_ok())
    {
        response.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
}

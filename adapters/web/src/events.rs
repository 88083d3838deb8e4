//! `GET /api/v1/events`: server-sent events, for the page and for everybody who wants to know at once that something changed.
//!
//! An event says that something changed and when; what it is, the API says. No event holds a name. The last ones are kept, so
//! whoever comes back learns what was missed. A stream takes no thread: its body waits on the connection's own worker.
//! Streams are limited in total and per address, end when the service drains, and a client that does not read is cut off.

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use jiff::Timestamp;
use prometheus_client::metrics::gauge::Gauge;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::body::AnswerBody;
use crate::connection::Peer;
use crate::ending::Stage;
use crate::fleet::query;
use crate::places::{AddressPlace, Addresses};
use crate::refusal::{OrRefusal, Refusal};
use crate::workers::Surroundings;
use crate::{Service, locked};

/// The most streams at once, …
const MAX_STREAMS: usize = 256;
/// … and of one address.
const MAX_STREAMS_PER_ADDRESS: usize = 32;
/// How many events are kept for those who come back.
const KEPT: usize = 256;
/// How often a quiet stream says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often a stream looks whether its client is still there.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const QUIET: &[u8] = b": still here\n\n";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// Another graph is served.
    Graph,
    /// A reload failed in another way than before, or works again.
    Reload,
    /// A pass changed something about the fleet.
    Fleet,
    /// A person changed something about the fleet.
    Act,
}

impl EventKind {
    const ALL: [Self; 4] = [Self::Graph, Self::Reload, Self::Fleet, Self::Act];

    fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Reload => "reload",
            Self::Fleet => "fleet",
            Self::Act => "act",
        }
    }
}

/// The last events, and who listens.
pub(crate) struct Events {
    kept: Mutex<Kept>,
    newest: watch::Sender<u64>,
    places: Arc<Semaphore>,
    addresses: Arc<Addresses>,
}

/// The last events, ready to be sent.
struct Kept {
    /// The id of the first one.
    first: u64,
    frames: VecDeque<Bytes>,
}

impl Events {
    /// Ids begin with the time of the start, so that they also rise when the service starts again.
    pub(crate) fn new(started: Timestamp) -> Self {
        let none = u64::try_from(started.as_microsecond()).unwrap_or(0);
        Self {
            kept: Mutex::new(Kept {
                first: none + 1,
                frames: VecDeque::new(),
            }),
            newest: watch::Sender::new(none),
            places: Arc::new(Semaphore::new(MAX_STREAMS)),
            addresses: Arc::new(Addresses::new(Some(MAX_STREAMS_PER_ADDRESS))),
        }
    }

    fn publish(&self, kind: EventKind, data: &Value) {
        let newest = locked(&self.kept).add(kind, data);
        self.newest.send_replace(newest);
    }

    /// Everything after this event; a reset, if that is not known any more.
    fn after(&self, last: Option<u64>) -> (Bytes, u64) {
        let kept = locked(&self.kept);
        let newest = kept.newest();
        let missed = last
            .and_then(|last| last.checked_add(1)?.checked_sub(kept.first))
            .and_then(|skipped| usize::try_from(skipped).ok())
            .filter(|skipped| *skipped <= kept.frames.len());
        let frames = match missed {
            Some(skipped) => kept
                .frames
                .iter()
                .skip(skipped)
                .flat_map(|frame| frame.iter().copied())
                .collect(),
            None => Bytes::from(format!("id: {newest}\nevent: reset\ndata: {{}}\n\n")),
        };
        (frames, newest)
    }
}

impl Kept {
    fn newest(&self) -> u64 {
        self.first + self.frames.len() as u64 - 1
    }

    /// Adds an event, forgets the oldest if there are too many, and returns the new one's id.
    fn add(&mut self, kind: EventKind, data: &Value) -> u64 {
        let (id, name) = (self.newest() + 1, kind.name());
        let frame = format!("id: {id}\nevent: {name}\ndata: {data}\n\n");
        self.frames.push_back(frame.into());
        if self.frames.len() > KEPT {
            self.frames.pop_front();
            self.first += 1;
        }
        id
    }
}

impl Service {
    /// Tells all who listen.
    pub(crate) fn publish(&self, kind: EventKind, data: &Value) {
        self.metrics.event(kind.name());
        self.events.publish(kind, data);
    }
}

/// The names of all events, as labels of a metric.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    EventKind::ALL.into_iter().map(EventKind::name)
}

/// Begins a stream, if there is a place for it.
pub(crate) fn answer(
    service: &Arc<Service>,
    head: &Parts,
    around: &Surroundings,
    address: IpAddr,
) -> OrRefusal<Response<AnswerBody>> {
    query::nothing(head)?;
    if service.ending.has_come_to(Stage::Draining) {
        let sentence = "the service is about to stop; ask another one, or try again";
        return Err(Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "draining",
            sentence,
        ));
    }
    let place = StreamPlace::take(service, address)?;
    let stream = EventStream::new(service.clone(), last_seen(&head.headers), around, place);
    let mut response = Response::new(AnswerBody::from(stream));
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Proxies would hold events back to send more at once.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// The last event that the client has seen. What is no id of ours is one that nobody knows.
fn last_seen(headers: &HeaderMap) -> Option<LastSeen> {
    let text = headers.get(LAST_EVENT_ID)?;
    let id = text.to_str().ok().and_then(|text| text.parse().ok());
    Some(id.map_or(LastSeen::Unknown, LastSeen::Event))
}

enum LastSeen {
    Event(u64),
    Unknown,
}

/// One of the places for streams, until it is dropped.
struct StreamPlace {
    _permit: OwnedSemaphorePermit,
    _address: AddressPlace,
    open: Gauge,
}

impl StreamPlace {
    fn take(service: &Service, address: IpAddr) -> OrRefusal<Self> {
        let events = &service.events;
        let busy = |status, sentence: &str| Refusal::new(status, "busy", sentence);
        let of_address = events.addresses.take(address).ok_or_else(|| {
            let sentence = "this address has too many event streams open; close some, or ask now and then instead";
            busy(StatusCode::TOO_MANY_REQUESTS, sentence)
        })?;
        let permit = events.places.clone().try_acquire_owned().map_err(|_| {
            let sentence = "too many event streams are open; ask now and then instead";
            busy(StatusCode::SERVICE_UNAVAILABLE, sentence)
        })?;
        let open = service.metrics.event_streams.clone();
        open.inc();
        Ok(Self {
            _permit: permit,
            _address: of_address,
            open,
        })
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.open.dec();
    }
}

/// The body of a stream.
pub(crate) struct EventStream {
    service: Arc<Service>,
    /// Sent before anything else.
    greeting: Option<Bytes>,
    /// The last event that was sent.
    last: u64,
    newest: watch::Receiver<u64>,
    stages: watch::Receiver<Stage>,
    peer: Arc<Peer>,
    waiting: Option<Pin<Box<dyn Future<Output = Woken> + Send>>>,
    is_over: bool,
    _place: StreamPlace,
}

/// Why a stream no longer waits.
enum Woken {
    News,
    Quiet,
    Over,
}

impl EventStream {
    fn new(
        service: Arc<Service>,
        last: Option<LastSeen>,
        around: &Surroundings,
        place: StreamPlace,
    ) -> Self {
        let newest = service.events.newest.subscribe();
        let now = *newest.borrow();
        let (missed, last) = match last {
            None => (Bytes::new(), now),
            Some(LastSeen::Unknown) => service.events.after(None),
            Some(LastSeen::Event(id)) => service.events.after(Some(id)),
        };
        // An id without data tells a client where it is, and is no event.
        let greeting = [format!("retry: 3000\nid: {last}\n\n").as_bytes(), &missed].concat();
        Self {
            greeting: Some(greeting.into()),
            last,
            newest,
            stages: service.ending.stages(),
            peer: around.peer.clone(),
            waiting: None,
            is_over: false,
            service,
            _place: place,
        }
    }

    /// What to send next; none at the end.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(greeting) = self.greeting.take() {
            return Poll::Ready(Some(greeting));
        }
        loop {
            if let Some(waiting) = &mut self.waiting {
                let woken = ready!(waiting.as_mut().poll(cx));
                self.waiting = None;
                match woken {
                    Woken::News => {}
                    Woken::Quiet => return Poll::Ready(Some(Bytes::from_static(QUIET))),
                    Woken::Over => self.is_over = true,
                }
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            if *self.newest.borrow_and_update() != self.last {
                let (frames, newest) = self.service.events.after(Some(self.last));
                self.last = newest;
                return Poll::Ready(Some(frames));
            }
            self.waiting = Some(Box::pin(wait(
                self.newest.clone(),
                self.stages.clone(),
                self.peer.clone(),
            )));
        }
    }
}

/// Waits for an event, the end of the service or of its client, or until it is time to say that the stream lives.
async fn wait(
    mut newest: watch::Receiver<u64>,
    mut stages: watch::Receiver<Stage>,
    peer: Arc<Peer>,
) -> Woken {
    tokio::select! {
        _ = stages.wait_for(|stage| *stage >= Stage::Draining) => Woken::Over,
        () = peer.left(LOOK_EVERY) => Woken::Over,
        changed = newest.changed() => changed.map_or(Woken::Over, |()| Woken::News),
        () = tokio::time::sleep(HEARTBEAT) => Woken::Quiet,
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(events: &Events, last: Option<u64>) -> String {
        String::from_utf8(events.after(last).0.to_vec()).unwrap()
    }

    #[test]
    fn whoever_comes_back_learns_what_was_missed() {
        let events = Events::new(Timestamp::from_microsecond(1_000).unwrap());
        assert_eq!(text(&events, Some(1_000)), "", "nothing was missed");
        events.publish(EventKind::Graph, &json!({"digest": "a"}));
        events.publish(EventKind::Act, &json!({}));
        let first = "id: 1001\nevent: graph\ndata: {\"digest\":\"a\"}\n\n";
        let second = "id: 1002\nevent: act\ndata: {}\n\n";
        assert_eq!(text(&events, Some(1_000)), [first, second].concat());
        assert_eq!(text(&events, Some(1_001)), second);
        assert_eq!(text(&events, Some(1_002)), "");
        let reset = "id: 1002\nevent: reset\ndata: {}\n\n";
        for unknown in [None, Some(999), Some(1_003), Some(0), Some(u64::MAX - 1)] {
            assert_eq!(text(&events, unknown), reset, "{unknown:?}");
        }
    }

    #[test]
    fn old_events_are_forgotten_and_whoever_missed_one_is_reset() {
        let events = Events::new(Timestamp::UNIX_EPOCH);
        for _ in 0..KEPT + 3 {
            events.publish(EventKind::Fleet, &json!({}));
        }
        assert_eq!(locked(&events.kept).frames.len(), KEPT);
        assert!(text(&events, Some(2)).contains("event: reset"));
        let all = text(&events, Some(3));
        assert_eq!(all.matches("event: fleet").count(), KEPT);
        assert!(all.starts_with("id: 4\n"));
    }
}

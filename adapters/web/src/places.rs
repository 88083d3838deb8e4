//! Limits on connections: in total, per address, and a reserve for probes.
//!
//! A busy service must not look dead. So a connection beyond the limits gets a place of the reserve, where it may only ask
//! for `/livez`, `/readyz` or `/metrics`. When the reserve is full, its oldest connection is closed: probes ask at once, so
//! they are answered before that.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::admission::{Admission, ForwardedClient, counted_address};
use crate::locked;

/// The most connections of the reserve without a request yet. One more closes the oldest.
const RESERVE: usize = 32;
/// All places of the reserve: closed connections take a moment to go, and `/metrics` takes longer than the rest.
pub(crate) const RESERVE_PLACES: usize = 48;
/// How long a new connection waits for closed ones to go.
const RESERVE_WAIT: Duration = Duration::from_secs(1);
/// Readers of `/metrics` in the reserve, one for each address.
const RESERVE_SCRAPES: usize = 4;

pub(crate) struct Places {
    all: Arc<Semaphore>,
    addresses: Arc<Addresses>,
    reserve: Arc<Reserve>,
    admission: Arc<Admission>,
}

/// A connection's place, until it is dropped.
pub(crate) enum Place {
    /// It may send any request.
    Full(FullPlace),
    /// It may send one probe.
    Probe(ProbePlace),
}

pub(crate) struct FullPlace {
    _permit: OwnedSemaphorePermit,
    addresses: Arc<Addresses>,
    admission: Arc<Admission>,
    holder: PlaceOwner,
    /// Whose request it is, for the audit log: the peer, or the client that a trusted proxy names.
    origin: Mutex<IpAddr>,
}

/// The address that a connection counts for.
enum PlaceOwner {
    Peer {
        counted: AddressPlace,
    },
    /// A trusted proxy's connection, counted for its last client.
    Proxy {
        own: IpAddr,
        asked_for: Mutex<Option<AddressPlace>>,
    },
}

/// Why a connection has no full place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPlace {
    All,
    Address,
}

pub(crate) struct ProbePlace {
    _permit: OwnedSemaphorePermit,
    pub(crate) why: NoPlace,
    number: u64,
    address: IpAddr,
    scrapes: AtomicBool,
    sent_away: Arc<Notify>,
    reserve: Arc<Reserve>,
}

struct Reserve {
    permits: Arc<Semaphore>,
    state: Mutex<ReserveState>,
}

#[derive(Default)]
struct ReserveState {
    next: u64,
    /// Connections without a request yet, oldest first.
    silent: BTreeMap<u64, Arc<Notify>>,
    /// Who reads `/metrics`.
    scraping: BTreeSet<IpAddr>,
}

/// How many places each address has taken.
pub(crate) struct Addresses {
    /// None: no limit.
    most: Option<usize>,
    taken: Mutex<HashMap<IpAddr, usize>>,
}

/// One of an address's places, until it is dropped.
pub(crate) struct AddressPlace {
    addresses: Arc<Addresses>,
    address: IpAddr,
}

impl Places {
    /// With these limits in total and per address.
    pub(crate) fn new(
        all: usize,
        for_one_address: Option<usize>,
        admission: Arc<Admission>,
    ) -> Self {
        Self {
            all: Arc::new(Semaphore::new(all)),
            addresses: Arc::new(Addresses::new(for_one_address)),
            reserve: Arc::new(Reserve {
                permits: Arc::new(Semaphore::new(RESERVE_PLACES)),
                state: Mutex::default(),
            }),
            admission,
        }
    }

    /// Takes a place for a connection from this address. If the reserve is full, it waits a moment for closed connections to go.
    pub(crate) async fn take(&self, address: IpAddr) -> Option<Place> {
        let why = match self.full_place(address) {
            Ok(place) => return Some(Place::Full(place)),
            Err(why) => why,
        };
        let permit =
            tokio::time::timeout(RESERVE_WAIT, self.reserve.permits.clone().acquire_owned()).await;
        Some(Place::Probe(self.probe_place(
            permit.ok()?.ok()?,
            address,
            why,
        )))
    }

    pub(crate) fn take_at_once(&self, address: IpAddr) -> Option<Place> {
        match self.full_place(address) {
            Ok(place) => Some(Place::Full(place)),
            Err(why) => {
                let permit = self.reserve.permits.clone().try_acquire_owned().ok()?;
                Some(Place::Probe(self.probe_place(permit, address, why)))
            }
        }
    }

    fn full_place(&self, address: IpAddr) -> Result<FullPlace, NoPlace> {
        let holder = match self.admission.proxies.contain(address) {
            true => PlaceOwner::Proxy {
                own: address,
                asked_for: Mutex::default(),
            },
            false => PlaceOwner::Peer {
                counted: self.addresses.take(address).ok_or(NoPlace::Address)?,
            },
        };
        let permit = self
            .all
            .clone()
            .try_acquire_owned()
            .map_err(|_| NoPlace::All)?;
        let (addresses, admission) = (self.addresses.clone(), self.admission.clone());
        Ok(FullPlace {
            _permit: permit,
            addresses,
            admission,
            holder,
            origin: Mutex::new(address),
        })
    }

    fn probe_place(
        &self,
        permit: OwnedSemaphorePermit,
        address: IpAddr,
        why: NoPlace,
    ) -> ProbePlace {
        let sent_away = Arc::new(Notify::new());
        let mut state = locked(&self.reserve.state);
        let number = state.next;
        state.next += 1;
        state.silent.insert(number, sent_away.clone());
        if state.silent.len() > RESERVE
            && let Some((_, oldest)) = state.silent.pop_first()
        {
            oldest.notify_one();
        }
        drop(state);
        let (address, reserve) = (counted_address(address), self.reserve.clone());
        ProbePlace {
            _permit: permit,
            why,
            number,
            address,
            scrapes: AtomicBool::new(false),
            sent_away,
            reserve,
        }
    }
}

impl Place {
    /// The client that the current request is for; none if a proxy does not say.
    pub(crate) fn client(&self) -> Option<IpAddr> {
        match self {
            Self::Full(place) => place.client(),
            Self::Probe(place) => Some(place.address),
        }
    }

    /// Where the current request comes from, to the last digit. A proxy that names no client is it itself.
    pub(crate) fn origin(&self) -> IpAddr {
        match self {
            Self::Full(place) => place.origin(),
            Self::Probe(place) => place.address,
        }
    }

    /// The address that the current request counts for.
    pub(crate) fn address(&self) -> IpAddr {
        match self {
            Self::Full(place) => place.address(),
            Self::Probe(place) => place.address,
        }
    }
}

impl FullPlace {
    /// The client that the current request is for; none if a proxy does not say.
    fn client(&self) -> Option<IpAddr> {
        match &self.holder {
            PlaceOwner::Peer { counted } => Some(counted.address),
            PlaceOwner::Proxy { asked_for, .. } => {
                locked(asked_for).as_ref().map(|counted| counted.address)
            }
        }
    }

    fn origin(&self) -> IpAddr {
        *locked(&self.origin)
    }

    fn address(&self) -> IpAddr {
        match &self.holder {
            PlaceOwner::Peer { counted } => counted.address,
            PlaceOwner::Proxy { own, asked_for } => locked(asked_for)
                .as_ref()
                .map_or(*own, |counted| counted.address),
        }
    }

    /// Counts a request for its forwarded client, and returns that address; none if the address has no place left.
    pub(crate) fn asks(&self, headers: &http::HeaderMap) -> Result<Option<IpAddr>, NoPlace> {
        let PlaceOwner::Proxy { own, asked_for } = &self.holder else {
            return Ok(None);
        };
        let address = match self.admission.proxies.forwarded(headers) {
            ForwardedClient::Unsaid => None,
            ForwardedClient::For(address) => Some(address),
            // Nobody knows for whom it is, so all such requests of a proxy are as one address.
            ForwardedClient::Disputed => Some(*own),
        };
        let mut asked_for = locked(asked_for);
        let is_same =
            address.map(counted_address) == asked_for.as_ref().map(|counted| counted.address);
        if !is_same {
            // The place that it had before is free for others, whatever becomes of this.
            *asked_for = None;
            *asked_for = address
                .map(|address| self.addresses.take(address).ok_or(NoPlace::Address))
                .transpose()?;
        }
        *locked(&self.origin) = address.unwrap_or(*own);
        Ok(address)
    }
}

impl ProbePlace {
    /// Returns when the connection must close, because there are newer ones.
    pub(crate) async fn sent_away(&self) {
        self.sent_away.notified().await;
    }

    /// It asks for metrics, which may take a while, so it is not closed from now on. Refused if this address already reads them,
    /// or too many others do.
    pub(crate) fn scrape(&self) -> Result<(), NoPlace> {
        let mut state = locked(&self.reserve.state);
        if state.scraping.len() >= RESERVE_SCRAPES || !state.scraping.insert(self.address) {
            return Err(self.why);
        }
        state.silent.remove(&self.number);
        self.scrapes.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for ProbePlace {
    fn drop(&mut self) {
        let mut state = locked(&self.reserve.state);
        state.silent.remove(&self.number);
        if self.scrapes.load(Ordering::Relaxed) {
            state.scraping.remove(&self.address);
        }
    }
}

impl Addresses {
    /// With at most this many for each address.
    pub(crate) fn new(most: Option<usize>) -> Self {
        Self {
            most,
            taken: Mutex::default(),
        }
    }

    pub(crate) fn take(self: &Arc<Self>, address: IpAddr) -> Option<AddressPlace> {
        let address = counted_address(address);
        let mut taken = locked(&self.taken);
        let count = taken.entry(address).or_insert(0);
        if self.most.is_some_and(|most| *count >= most) {
            return None;
        }
        *count += 1;
        Some(AddressPlace {
            addresses: self.clone(),
            address,
        })
    }
}

impl Drop for AddressPlace {
    fn drop(&mut self) {
        let mut taken = locked(&self.addresses.taken);
        if let Some(count) = taken.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::TrustedProxies;

    fn places(all: usize, for_one_address: Option<usize>) -> Places {
        let proxies = TrustedProxies::parse("10.0.0.0/8").unwrap();
        Places::new(
            all,
            for_one_address,
            Arc::new(Admission {
                proxies,
                ..Admission::default()
            }),
        )
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn said(place: &Option<Place>) -> Result<(), Option<NoPlace>> {
        match place {
            Some(Place::Full(_)) => Ok(()),
            Some(Place::Probe(place)) => Err(Some(place.why)),
            None => Err(None),
        }
    }

    fn full(places: &Places, from: &str) -> FullPlace {
        match places.take_at_once(address(from)) {
            Some(Place::Full(place)) => place,
            other => panic!("{:?}", said(&other)),
        }
    }

    fn for_whom(text: &str) -> http::HeaderMap {
        [(
            http::HeaderName::from_static("x-forwarded-for"),
            text.parse().unwrap(),
        )]
        .into_iter()
        .collect()
    }

    #[test]
    fn one_address_gets_so_many_and_others_the_rest() {
        let places = places(4, Some(2));
        let (_one, two) = (full(&places, "192.0.2.1"), full(&places, "192.0.2.1"));
        assert_eq!(
            said(&places.take_at_once(address("192.0.2.1"))),
            Err(Some(NoPlace::Address))
        );
        let _others = (full(&places, "192.0.2.2"), full(&places, "192.0.2.3"));
        assert_eq!(
            said(&places.take_at_once(address("192.0.2.4"))),
            Err(Some(NoPlace::All))
        );
        drop(two);
        full(&places, "192.0.2.1");
    }

    #[test]
    fn without_a_limit_one_address_gets_all() {
        let places = places(3, None);
        let _all: Vec<_> = (0..3).map(|_| full(&places, "192.0.2.1")).collect();
        assert_eq!(
            said(&places.take_at_once(address("192.0.2.1"))),
            Err(Some(NoPlace::All))
        );
    }

    #[test]
    fn a_proxys_connections_count_for_whom_they_asked_last() {
        let places = places(10, Some(2));
        let held: Vec<_> = (0..5).map(|_| full(&places, "10.0.0.1")).collect();
        let asks = |at: usize, of: &str| {
            held[at]
                .asks(&for_whom(of))
                .map(|who| who.map(|who| who.to_string()))
        };
        assert_eq!(asks(0, "192.0.2.1"), Ok(Some("192.0.2.1".to_owned())));
        assert_eq!(asks(1, "192.0.2.1"), Ok(Some("192.0.2.1".to_owned())));
        assert_eq!(
            asks(1, "192.0.2.1"),
            Ok(Some("192.0.2.1".to_owned())),
            "the same again takes no more"
        );
        assert_eq!(asks(2, "192.0.2.1"), Err(NoPlace::Address));
        assert_eq!(
            said(&places.take_at_once(address("192.0.2.1"))),
            Err(Some(NoPlace::Address)),
            "directly, too"
        );
        assert_eq!(
            asks(1, "192.0.2.2"),
            Ok(Some("192.0.2.2".to_owned())),
            "its place is free again"
        );
        assert_eq!(asks(2, "192.0.2.1"), Ok(Some("192.0.2.1".to_owned())));
        assert_eq!(
            held[3].asks(&http::HeaderMap::new()),
            Ok(None),
            "who says nothing is not counted"
        );
        let own = Ok(Some("10.0.0.1".to_owned()));
        assert_eq!(
            (asks(3, "nonsense"), asks(4, "nonsense")),
            (own.clone(), own),
            "who cannot be known is the proxy"
        );
        assert_eq!(asks(0, "nonsense"), Err(NoPlace::Address));
        drop(held);
        assert!(locked(&places.addresses.taken).is_empty());
    }

    #[test]
    fn who_asks_nothing_does_not_keep_the_reserve() {
        let places = places(1, None);
        let _full = full(&places, "192.0.2.1");
        let mut held = Vec::new();
        for _ in 0..RESERVE {
            held.push(places.take_at_once(address("192.0.2.1")));
        }
        let Some(Place::Probe(oldest)) = &held[0] else {
            panic!("a place of the reserve")
        };
        let mut sent_away = Box::pin(oldest.sent_away());
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(sent_away.as_mut().poll(&mut cx).is_pending());
        let probe = places.take_at_once(address("192.0.2.9"));
        assert_eq!(said(&probe), Err(Some(NoPlace::All)));
        assert!(
            sent_away.as_mut().poll(&mut cx).is_ready(),
            "the oldest goes"
        );
    }

    #[test]
    fn the_reserve_has_a_bound_even_if_nobody_goes() {
        let places = places(1, None);
        let _full = full(&places, "192.0.2.1");
        let held: Vec<_> = (0..RESERVE_PLACES)
            .map(|_| places.take_at_once(address("192.0.2.1")))
            .collect();
        assert!(
            held.iter().all(Option::is_some) && places.take_at_once(address("192.0.2.1")).is_none()
        );
    }

    #[test]
    fn one_address_reads_metrics_once_at_a_time_in_the_reserve() {
        let places = places(1, None);
        let _full = full(&places, "192.0.2.1");
        let probe = |from: &str| match places.take_at_once(address(from)) {
            Some(Place::Probe(place)) => place,
            other => panic!("{:?}", said(&other)),
        };
        let (one, again, other) = (probe("192.0.2.1"), probe("192.0.2.1"), probe("192.0.2.2"));
        assert_eq!(
            (one.scrape(), again.scrape(), other.scrape()),
            (Ok(()), Err(NoPlace::All), Ok(()))
        );
        drop(again);
        assert!(
            probe("192.0.2.1").scrape().is_err(),
            "the first still reads"
        );
        drop(one);
        assert_eq!(probe("192.0.2.1").scrape(), Ok(()));
    }
}

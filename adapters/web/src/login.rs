//! `POST /api/v1/login/token`: a person's token for the code that the page brings from an OIDC issuer.
//!
//! The page asks here because its content policy lets it ask nobody else. It keeps the token, and nothing is kept here. Limited
//! for each address, because anybody may ask.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::request::Parts;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use serde_json::{Value, json};
use towpath_core::rate::{Rate, Rates};
use towpath_formats::oidc::CodeExchange;

use crate::body::{self, AnswerBody};
use crate::fleet::{query, receive};
use crate::places::Place;
use crate::refusal::{OrRefusal, Refusal, whole_seconds};
use crate::workers::Surroundings;
use crate::{Service, locked};

/// A person logs in a few times a day. Many share the address of a proxy that names nobody.
const LOGINS_PER_MINUTE: u32 = 30;
const MAX_COUNTED_ADDRESSES: usize = 10_000;
/// How long the issuer may take.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(30);
const NO_LOGIN: &str = "nobody can log in with a browser here; start the service with --oidc-issuer and --oidc-client-id";

/// Where people log in.
pub trait LoginProvider: Send + Sync + 'static {
    /// What the page needs to begin a login. None while nobody can.
    fn offer(&self) -> Option<LoginOffer>;
    fn health(&self) -> IssuerHealth;
    fn redeem(&self, exchange: CodeExchange, now: Timestamp) -> Redemption<'_>;
}

pub type Redemption<'a> = Pin<Box<dyn Future<Output = Result<LoggedIn, LoginRefusal>> + Send + 'a>>;

/// Where the page sends a person who logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginOffer {
    pub client_id: String,
    pub scope: String,
    pub authorization: String,
    /// Where a person logs out at the issuer.
    pub end_session: Option<String>,
}

/// A person's token.
pub struct LoggedIn {
    pub token: String,
    pub name: String,
    pub ends: Timestamp,
}

/// Why there is no token: with a stable kind, and a sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginRefusal {
    /// 404
    NoLogin(String),
    /// 400
    BadRequest(String),
    /// 403
    Refused {
        kind: &'static str,
        sentence: String,
    },
    /// 503
    Unavailable(String),
}

/// How it goes with an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerHealth {
    pub issuer: String,
    /// How many keys there are, and how long ago they were read.
    pub keys: Option<(usize, Duration)>,
    /// Whether its tokens are taken.
    pub is_open: bool,
    /// Why it could not be read the last time.
    pub problem: Option<String>,
    pub read: u64,
    pub failed: u64,
    /// Tokens that were checked, by what became of them.
    pub tokens: BTreeMap<&'static str, u64>,
}

/// The provider, and who logged in lately.
pub(crate) struct LoginDoor {
    provider: Arc<dyn LoginProvider>,
    rates: Mutex<Option<Rates<IpAddr>>>,
}

/// The metrics of an issuer.
#[derive(Debug)]
pub(crate) struct IssuerCollector(IssuerHealth);

impl Service {
    /// Lets people log in with the page. Call it before the server is started.
    pub fn login(&self, provider: Arc<dyn LoginProvider>) {
        let rate = Rate::per_minute(LOGINS_PER_MINUTE);
        let rates = rate.map(|rate| Rates::new(rate, MAX_COUNTED_ADDRESSES));
        let rates = Mutex::new(rates);
        self.login
            .store(Some(Arc::new(LoginDoor { provider, rates })));
    }

    /// For `/api/v1/session`: null where nobody can log in with a browser.
    pub(crate) fn login_offer(&self) -> Value {
        let door = self.login.load_full();
        let offer = door.and_then(|door| door.provider.offer());
        offer.map_or(Value::Null, |offer| {
            json!({
                "clientId": offer.client_id,
                "scope": offer.scope,
                "authorizationEndpoint": offer.authorization,
                "endSessionEndpoint": offer.end_session,
            })
        })
    }

    /// For `/readyz`: null without an issuer.
    pub(crate) fn issuer_told(&self) -> Value {
        let door = self.login.load_full();
        door.map_or(Value::Null, |door| {
            let health = door.provider.health();
            json!({
                "issuer": health.issuer,
                "keys": health.keys.map(|(count, _)| count),
                "keysAgeSeconds": health.keys.map(|(_, age)| age.as_secs()),
                "takesTokens": health.is_open,
                "problem": health.problem,
            })
        })
    }

    pub(crate) fn issuer_collector(&self) -> Option<IssuerCollector> {
        let door = self.login.load_full()?;
        Some(IssuerCollector(door.provider.health()))
    }
}

pub(crate) async fn answer(
    service: &Service,
    head: &Parts,
    incoming: &mut Incoming,
    around: &Surroundings,
    place: &Place,
) -> OrRefusal<Response<AnswerBody>> {
    query::nothing(head)?;
    let no_login = || Refusal::new(StatusCode::NOT_FOUND, "no_login", NO_LOGIN);
    let door = service.login.load_full().ok_or_else(no_login)?;
    if let Some(address) = place.client() {
        door.count(address, service.started.elapsed())?;
    }
    let text = receive::text(&head.headers, incoming, around.body_timeout).await?;
    let exchange = CodeExchange::read(&text).map_err(Refusal::invalid_body)?;
    let now = service.now();
    // The issuer is asked from the threads that ask others.
    let asking = around.runtime.spawn(async move {
        let redeemed = door.provider.redeem(exchange, now);
        let late = "the issuer does not answer in time; try again in a few seconds";
        let redeemed = tokio::time::timeout(LOGIN_TIMEOUT, redeemed).await;
        redeemed.unwrap_or_else(|_| Err(LoginRefusal::Unavailable(late.to_owned())))
    });
    let failed = |error| {
        tracing::error!(%error, "a login could not be answered");
        let sentence = "the answer could not be prepared";
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "failed_login", sentence)
    };
    let logged_in = asking.await.map_err(failed)?.map_err(Refusal::from)?;
    let LoggedIn { token, name, ends } = logged_in;
    let answer = json!({"token": token, "name": name, "ends": ends.to_string()});
    Ok(body::json(StatusCode::OK, answer.to_string()))
}

impl LoginDoor {
    fn count(&self, address: IpAddr, now: Duration) -> OrRefusal<()> {
        let mut rates = locked(&self.rates);
        let taken = rates.as_mut().map(|rates| rates.take(&address, now));
        taken.unwrap_or(Ok(())).map_err(|wait| {
            let seconds = whole_seconds(wait);
            let sentence =
                format!("too many logins from this address; log in again in {seconds} s");
            Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too_many_logins", sentence)
                .with(seconds.into())
        })
    }
}

impl From<LoginRefusal> for Refusal {
    fn from(refusal: LoginRefusal) -> Self {
        let (status, kind, sentence) = match refusal {
            LoginRefusal::NoLogin(sentence) => (StatusCode::NOT_FOUND, "no_login", sentence),
            LoginRefusal::BadRequest(sentence) => return Self::invalid_body(sentence),
            LoginRefusal::Refused { kind, sentence } => (StatusCode::FORBIDDEN, kind, sentence),
            LoginRefusal::Unavailable(sentence) => {
                (StatusCode::SERVICE_UNAVAILABLE, "unavailable", sentence)
            }
        };
        Self::new(status, kind, sentence)
    }
}

impl Collector for IssuerCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let health = &self.0;
        let mut gauge = |name: &str, help: &str, value: i64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        gauge(
            "towpath_oidc_takes_tokens",
            "1 if tokens of the OIDC issuer can be checked: its keys are there and not too old",
            i64::from(health.is_open),
        )?;
        if let Some((keys, age)) = health.keys {
            let keys = i64::try_from(keys).unwrap_or(i64::MAX);
            gauge(
                "towpath_oidc_keys",
                "Keys of the OIDC issuer that check tokens",
                keys,
            )?;
            gauge(
                "towpath_oidc_keys_age_seconds",
                "How long ago the keys of the OIDC issuer were read",
                i64::try_from(age.as_secs()).unwrap_or(i64::MAX),
            )?;
        }
        let reads = [("good", health.read), ("failed", health.failed)];
        let mut counters = |name: &str, help: &str, counts: &[(&str, u64)]| {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (result, count) in counts {
                let labels = [("result", *result)];
                ConstCounter::new(*count).encode(family.encode_family(&labels)?)?;
            }
            Ok::<(), fmt::Error>(())
        };
        counters(
            "towpath_oidc_reads",
            "Tries to read the OIDC issuer's description and keys",
            &reads,
        )?;
        let tokens: Vec<(&str, u64)> = health
            .tokens
            .iter()
            .map(|(kind, count)| (*kind, *count))
            .collect();
        counters(
            "towpath_oidc_tokens",
            "Tokens of the OIDC issuer that were checked, by what became of them",
            &tokens,
        )
    }
}

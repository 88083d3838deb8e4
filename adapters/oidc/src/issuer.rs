//! An issuer, and the check of its tokens with its last keys.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::{Notify, Semaphore, watch};
use towpath_formats::oidc::{
    Expected, IssuedPerson, JwtClaims, JwtProblem, PersonClaims, Unverified,
};
use towpath_http::{Certificates, HttpClient, HttpOptions, TokenFile, Trust, Url, base_address};

use crate::state::{Facts, IssuerHealth, State};

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an answer may take, to its last byte.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a token with an unknown key waits for the keys to be read again.
const WAIT_FOR_KEYS: Duration = Duration::from_secs(5);
/// Logins that are under way at once. One takes as long as the issuer's answer.
const LOGINS_AT_ONCE: usize = 16;
const MAX_SECRET_BYTES: u64 = 4 << 10;

/// An issuer, as the operator describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerOptions {
    /// Its name to the letter, which is its address too.
    pub issuer: String,
    /// The client that people log in with at the page. Its tokens are for us.
    pub client_id: Option<String>,
    /// The file with the client's secret. A public client has none.
    pub client_secret: Option<PathBuf>,
    /// For whom a token may be besides.
    pub audiences: BTreeSet<String>,
    /// What the page asks for.
    pub scope: String,
    pub people: PersonClaims,
    /// Hosts besides the issuer's own that its description may name.
    pub hosts: BTreeSet<String>,
    /// Trust only the certificates in this file.
    pub ca_file: Option<PathBuf>,
    pub times: IssuerTimes,
}

/// When keys are read, and how long they hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IssuerTimes {
    /// A key that the issuer removed works no longer than this, while the issuer can be reached.
    pub read_every: Duration,
    /// How long the last keys hold while the issuer cannot be reached.
    pub hold_for: Duration,
    /// The least time between two reads, however many unknown keys tokens name.
    pub at_least_between: Duration,
}

/// An issuer in use.
#[derive(Debug)]
pub struct Issuer {
    pub(crate) options: IssuerOptions,
    pub(crate) url: Url,
    pub(crate) client: HttpClient,
    pub(crate) secret: Option<TokenFile>,
    pub(crate) logins: Semaphore,
    /// Wakes the reader.
    pub(crate) wanted: Notify,
    /// Counts the tries to read.
    pub(crate) tries: watch::Sender<u64>,
    expected: Expected,
    state: Mutex<State>,
}

/// Where people log in, for the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginPlaces {
    pub client_id: String,
    pub scope: String,
    pub authorization: String,
    pub end_session: Option<String>,
}

/// Why nobody is known by a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotKnown {
    Token(JwtProblem),
    /// There are no keys to check it with, and why.
    Unavailable(String),
}

impl Default for IssuerTimes {
    fn default() -> Self {
        Self {
            read_every: Duration::from_secs(5 * 60),
            hold_for: Duration::from_secs(60 * 60),
            at_least_between: Duration::from_secs(10),
        }
    }
}

impl Issuer {
    /// Checks the options; asks nobody. The error names the flag.
    pub fn new(options: IssuerOptions) -> Result<Arc<Self>, String> {
        let url = base_address(&options.issuer, false).map_err(|problem| {
            format!(
                "--oidc-issuer {} {problem}; write the issuer's https address",
                options.issuer
            )
        })?;
        let audiences: BTreeSet<String> = options
            .audiences
            .iter()
            .chain(&options.client_id)
            .cloned()
            .collect();
        let trust = match &options.ca_file {
            Some(path) => Trust::Only(Certificates::read(path).map_err(|problem| {
                let path = path.display();
                format!(
                    "--oidc-ca-file {path} {problem}; name a file with certificates in PEM form"
                )
            })?),
            None => Trust::usual(url.scheme() == "https"),
        };
        let client = HttpClient::new(&HttpOptions {
            trust,
            connect_timeout: CONNECT_TIMEOUT,
            request_timeout: Some(REQUEST_TIMEOUT),
            idle_connections: 2,
            ..HttpOptions::default()
        })?;
        let secret = options.client_secret.as_ref();
        let secret = secret.map(|path| TokenFile::new(path, MAX_SECRET_BYTES));
        if let Some(secret) = &secret {
            secret.read().map_err(|problem| {
                let path = secret.path().display();
                format!("--oidc-client-secret {path} {problem}; put the client's secret there")
            })?;
        }
        Ok(Arc::new(Self {
            expected: Expected {
                issuer: options.issuer.clone(),
                audiences,
            },
            url,
            client,
            secret,
            logins: Semaphore::new(LOGINS_AT_ONCE),
            wanted: Notify::new(),
            tries: watch::Sender::new(0),
            state: Mutex::default(),
            options,
        }))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.options.issuer
    }

    pub fn health(&self) -> IssuerHealth {
        let hold = self.options.times.hold_for;
        self.state().health(self.name(), hold, Instant::now())
    }

    /// Where people log in; none while the issuer is not known, or has no such place.
    pub fn login_places(&self) -> Option<LoginPlaces> {
        let (facts, client_id) = (self.facts()?, self.options.client_id.clone()?);
        let login = facts.addresses.login.as_ref()?;
        Some(LoginPlaces {
            client_id,
            scope: self.options.scope.clone(),
            authorization: login.authorization.to_string(),
            end_session: login.end_session.as_ref().map(Url::to_string),
        })
    }

    /// Whose token it is. None: it has another shape than tokens of issuers.
    pub async fn person(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Option<Result<IssuedPerson, NotKnown>> {
        if !Unverified::has_shape(token) {
            return None;
        }
        let checked = self.checked(token, &self.expected, now).await;
        let person = checked.and_then(|claims| {
            let person = self.options.people.person(&claims);
            person.map_err(NotKnown::Token)
        });
        let result = match &person {
            Ok(_) => "known",
            Err(NotKnown::Token(problem)) => problem.kind(),
            Err(NotKnown::Unavailable(_)) => "unavailable",
        };
        *self.state().tokens.entry(result).or_default() += 1;
        Some(person)
    }

    /// Checks a token. If it names a key that is not known, the keys are read again, unless that was just done.
    pub(crate) async fn checked(
        &self,
        token: &str,
        expected: &Expected,
        now: Timestamp,
    ) -> Result<JwtClaims, NotKnown> {
        let check = |facts: &Facts| Unverified::parse(token)?.verify(&facts.keys, expected, now);
        let facts = match self.facts() {
            Some(facts) => facts,
            None => {
                self.read_again().await;
                self.facts().ok_or_else(|| self.unavailable())?
            }
        };
        let checked = check(&facts);
        if !matches!(checked, Err(JwtProblem::UnknownKey)) || !self.read_again().await {
            return checked.map_err(NotKnown::Token);
        }
        let facts = self.facts().ok_or_else(|| self.unavailable())?;
        check(&facts).map_err(NotKnown::Token)
    }

    /// Has the keys read, and waits for it. False: they were read just now, or do not come in time.
    async fn read_again(&self) -> bool {
        let mut tries = self.tries.subscribe();
        let between = self.options.times.at_least_between;
        if self
            .state()
            .tried
            .is_some_and(|tried| tried.elapsed() < between)
        {
            return false;
        }
        self.wanted.notify_one();
        matches!(
            tokio::time::timeout(WAIT_FOR_KEYS, tries.changed()).await,
            Ok(Ok(()))
        )
    }

    pub(crate) fn unavailable(&self) -> NotKnown {
        let problem = self.state().problem.clone();
        let problem = problem.unwrap_or_else(|| "it has not been read yet".to_owned());
        NotKnown::Unavailable(format!(
            "tokens of {} cannot be checked: {problem}; try again in a few seconds",
            self.name()
        ))
    }

    pub(crate) fn facts(&self) -> Option<Arc<Facts>> {
        let hold = self.options.times.hold_for;
        self.state().facts(hold, Instant::now())
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

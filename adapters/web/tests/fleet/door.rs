//! A service with a fake fleet, over real connections, and a small client for it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use towpath_core::access::Role;
use towpath_core::cluster::ClusterId;
use towpath_formats::fleet::token::{Claims, Enrolment, Grant, Person};
use towpath_web::{
    AccessKeys, Admitted, Fleet, FleetAnswer, FleetApi, FleetForm, FleetRequest, Limits, Reads,
    Server, Service, TokenKeys,
};

pub(crate) const NOW: &str = "2026-05-12T10:30:00Z";
/// Makes the tokens of clusters and pipelines, …
pub(crate) const KEY: &str = "0123456789abcdef0123456789abcdef";
/// … and this one those of people.
pub(crate) const PEOPLE_KEY: &str = "of people: 0123456789abcdef01234";

type AnswerFn = dyn Fn(&FleetRequest) -> FleetAnswer + Send + Sync;

/// A desk that keeps what it was asked.
struct FakeFleet {
    asked: Arc<Mutex<Vec<FleetRequest>>>,
    answering: Box<AnswerFn>,
}

impl FleetApi for FakeFleet {
    fn answer(
        &self,
        request: FleetRequest,
        _: Admitted,
        form: FleetForm,
    ) -> Pin<Box<dyn Future<Output = FleetAnswer> + Send>> {
        let answer = match form {
            FleetForm::Json => (self.answering)(&request),
            other => FleetAnswer::Text(format!("{other:?}")),
        };
        self.asked.lock().unwrap().push(request);
        Box::pin(async { answer })
    }
}

pub(crate) struct Door {
    pub(crate) service: Arc<Service>,
    address: SocketAddr,
    asked: Arc<Mutex<Vec<FleetRequest>>>,
    /// The server ends with it.
    _runtime: tokio::runtime::Runtime,
}

impl Door {
    pub(crate) fn closed(limits: Limits) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let now: Timestamp = NOW.parse().unwrap();
        let service = Service::new(Arc::new(move || now), "test");
        let server = Server::bind(
            SocketAddr::from(([127, 0, 0, 1], 0)),
            service.clone(),
            limits,
        );
        let server = runtime.block_on(server).unwrap();
        let address = server.address().unwrap();
        runtime.spawn(server.serve(std::future::pending()));
        Self {
            service,
            address,
            asked: Arc::default(),
            _runtime: runtime,
        }
    }

    pub(crate) fn open(
        answering: impl Fn(&FleetRequest) -> FleetAnswer + Send + Sync + 'static,
    ) -> Self {
        let door = Self::closed(Limits::default());
        door.fleet(Some(KEY), Reads::Open, answering);
        door
    }

    pub(crate) fn accepting() -> Self {
        Self::open(|_| FleetAnswer::Json(r#"{"kind":"accepted"}"#.to_owned()))
    }

    pub(crate) fn fleet(
        &self,
        keys: Option<&str>,
        reads: Reads,
        answering: impl Fn(&FleetRequest) -> FleetAnswer + Send + Sync + 'static,
    ) {
        let desk = Arc::new(FakeFleet {
            asked: self.asked.clone(),
            answering: Box::new(answering),
        });
        self.keys(keys);
        self.service.fleet(Fleet { desk, reads });
    }

    /// Checks the tokens of machines with these keys; without any, no tokens at all.
    pub(crate) fn keys(&self, keys: Option<&str>) {
        let machines = keys.map(|text| TokenKeys::parse(text).unwrap());
        let people = keys.map(|_| TokenKeys::parse(PEOPLE_KEY).unwrap());
        let keys = AccessKeys::new(machines, people).unwrap();
        self.service.set_access_keys(keys);
    }

    /// A fleet with these keys, which takes everything.
    pub(crate) fn fleet_with(&self, keys: AccessKeys) {
        let answering = Box::new(|_: &FleetRequest| FleetAnswer::Json("{}".to_owned()));
        let desk = Arc::new(FakeFleet {
            asked: self.asked.clone(),
            answering,
        });
        self.service.set_access_keys(keys);
        self.service.fleet(Fleet {
            desk,
            reads: Reads::Open,
        });
    }

    pub(crate) fn get(&self, target: &str) -> Response {
        self.get_with(target, "")
    }

    pub(crate) fn get_with(&self, target: &str, headers: &str) -> Response {
        self.send(&format!(
            "GET {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n"
        ))
    }

    pub(crate) fn post(&self, target: &str, token: &str, body: &str) -> Response {
        let length = body.len();
        self.send(&format!(
            "POST {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\n\
             {}content-length: {length}\r\n\r\n{body}",
            bearer(token)
        ))
    }

    pub(crate) fn send(&self, request: &str) -> Response {
        Response::read(&mut self.connect(request))
    }

    pub(crate) fn connect(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    pub(crate) fn asked(&self) -> Vec<FleetRequest> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

pub(crate) fn bearer(token: &str) -> String {
    if token.is_empty() {
        String::new()
    } else {
        format!("authorization: Bearer {token}\r\n")
    }
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn read(stream: &mut TcpStream) -> Self {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {text:?}"));
        let mut lines = head.lines();
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .unwrap()
            .parse()
            .unwrap();
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(n, v)| (n.to_owned(), v.to_owned()));
        Self {
            status,
            headers: headers.collect(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    /// The status and the stable kind.
    pub(crate) fn told(&self) -> (u16, String) {
        assert!(
            self.json()["value"]
                .as_str()
                .is_some_and(|sentence| !sentence.is_empty()),
            "{}",
            self.body
        );
        (
            self.status,
            self.json()["kind"].as_str().unwrap_or_default().to_owned(),
        )
    }
}

pub(crate) fn told(status: u16, kind: &str) -> (u16, String) {
    (status, kind.to_owned())
}

pub(crate) fn cluster(id: &str) -> ClusterId {
    ClusterId::new(id).unwrap()
}

pub(crate) fn cluster_token(id: &str) -> String {
    token_by(
        KEY,
        Grant::Cluster(Enrolment {
            organisation: "o".into(),
            name: id.into(),
            id: cluster(id),
        }),
    )
}

/// Of somebody with every role.
pub(crate) fn admin_token() -> String {
    person_token("ada", &Role::OF_PEOPLE, None)
}

pub(crate) fn person_token(name: &str, roles: &[Role], organisation: Option<&str>) -> String {
    let person = Person {
        name: name.into(),
        roles: roles.iter().copied().collect(),
        organisation: organisation.map(str::to_owned),
    };
    token_by(PEOPLE_KEY, Grant::Person(person))
}

/// A token that is good until the day after.
pub(crate) fn token_by(keys: &str, grant: Grant) -> String {
    let end = "2026-05-13T00:00:00Z".parse().unwrap();
    TokenKeys::parse(keys)
        .unwrap()
        .issue(&Claims {
            grant,
            made: None,
            end,
            serial: "AAAAAAAAAAAAAAAA".into(),
        })
        .unwrap()
}

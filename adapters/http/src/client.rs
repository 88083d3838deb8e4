//! The HTTP client: the only place that builds one, and the only place that follows redirects.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, LOCATION};
use reqwest::{Client, ClientBuilder, Url};

use crate::error::innermost;
use crate::reach::{Reach, WorldOnly, may_lead};
use crate::{Answer, ClientIdentity, HttpError, Request, Trust, is_same_origin, may_ask};

/// Trust and timeouts of a client.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The user agent, without the version.
    pub user_agent: &'static str,
    pub trust: Trust,
    /// Shown to servers that ask for a certificate.
    pub identity: Option<ClientIdentity>,
    /// Refuse every address without TLS.
    pub https_only: bool,
    /// Use `HTTPS_PROXY` and the like.
    pub environment_proxy: bool,
    pub connect_timeout: Duration,
    /// How long the server may be silent.
    pub idle_timeout: Option<Duration>,
    /// How long a request may take, to the last byte of its answer. A request may set its own limit.
    pub request_timeout: Option<Duration>,
    /// The most idle connections per host.
    pub idle_connections: usize,
}

/// A reusable client. Clones share connections. It follows no redirect by itself, and retries nothing.
#[derive(Debug, Clone)]
pub struct HttpClient {
    own: Client,
    /// For addresses that a remote server sends us to.
    elsewhere: Client,
}

/// How far redirects are followed.
#[derive(Debug, Clone, Copy)]
pub struct Redirects<'a> {
    pub most: usize,
    /// Whether they may lead to plain HTTP on other machines. From TLS they never do.
    pub plain_http: bool,
    /// Counts the requests that are sent.
    pub sent: Option<&'a AtomicU64>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            user_agent: "towpath",
            trust: Trust::System,
            identity: None,
            https_only: false,
            environment_proxy: true,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: None,
            request_timeout: None,
            idle_connections: usize::MAX,
        }
    }
}

impl HttpClient {
    /// Fails mostly where the system has no certificates.
    pub fn new(options: &HttpOptions) -> Result<Self, String> {
        Self::of(|| builder(options)).map_err(|error| innermost(&error))
    }

    fn of(builder: impl Fn() -> ClientBuilder) -> Result<Self, reqwest::Error> {
        Ok(Self {
            own: builder().build()?,
            elsewhere: builder().dns_resolver(WorldOnly).build()?,
        })
    }

    /// Sends a request once. A redirect is returned like any other answer.
    pub async fn send(&self, request: Request) -> Result<Answer, HttpError> {
        let server = request.url.clone();
        self.send_led_by(&server, request).await
    }

    /// Sends a request to an address that this server gave us, if [`may_lead`] allows it.
    pub async fn send_led_by(&self, server: &Url, request: Request) -> Result<Answer, HttpError> {
        let is_elsewhere =
            Reach::of(server) == Reach::World && request.url.host_str() != server.host_str();
        let client = match is_elsewhere {
            true => &self.elsewhere,
            false => &self.own,
        };
        let mut sending = client
            .request(request.method, request.url)
            .headers(request.headers);
        if let Some(authorization) = request.authorization {
            sending = sending.header(AUTHORIZATION, authorization);
        }
        if let Some(body) = request.body {
            sending = sending.body(body);
        }
        if let Some(timeout) = request.timeout {
            sending = sending.timeout(timeout);
        }
        Ok(Answer::new(sending.send().await?))
    }

    /// Sends a read-only request and follows redirects. Only the first server gets our credentials.
    pub async fn follow(
        &self,
        request: Request,
        redirects: Redirects<'_>,
    ) -> Result<Answer, HttpError> {
        let misled = |problem: &str| HttpError::Misled(problem.to_owned());
        let (first, mut url) = (&request.url, request.url.clone());
        for _ in 0..=redirects.most {
            if let Some(sent) = redirects.sent {
                sent.fetch_add(1, Ordering::Relaxed);
            }
            let mut hop = Request {
                url: url.clone(),
                ..request.clone()
            };
            hop.authorization = hop.authorization.filter(|_| is_same_origin(&url, first));
            let answer = self.send_led_by(first, hop).await?;
            if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(answer);
            }
            let to = answer.header(LOCATION).and_then(|to| url.join(to).ok());
            let to = to.ok_or_else(|| misled("redirects to no address"))?;
            let next = with_credentials_of(first, to);
            let is_downgrade = url.scheme() == "https" && next.scheme() == "http";
            match may_lead(&url, &next) && may_lead(first, &next) {
                true if may_ask(&next, redirects.plain_http) => url = next,
                false if !is_downgrade => {
                    return Err(misled("redirects to an address that we refuse"));
                }
                _ => return Err(misled("redirects to plain HTTP")),
            }
        }
        let most = redirects.most;
        Err(HttpError::Misled(format!(
            "redirects more than {most} times"
        )))
    }
}

fn builder(options: &HttpOptions) -> ClientBuilder {
    // Fails if there is one already, which will do as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let user_agent = format!("{}/{}", options.user_agent, env!("CARGO_PKG_VERSION"));
    let mut builder = Client::builder()
        .user_agent(user_agent)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .https_only(options.https_only)
        .connect_timeout(options.connect_timeout)
        .pool_max_idle_per_host(options.idle_connections);
    if let Some(idle) = options.idle_timeout {
        builder = builder.read_timeout(idle);
    }
    if let Some(request) = options.request_timeout {
        builder = builder.timeout(request);
    }
    if let Some(identity) = &options.identity {
        builder = builder.identity(identity.0.clone());
    }
    if !options.environment_proxy {
        builder = builder.no_proxy();
    }
    options.trust.apply(builder)
}

/// On redirects within its own host, a server keeps getting our credentials. No other host gets them.
fn with_credentials_of(first: &Url, mut to: Url) -> Url {
    if is_same_origin(first, &to) && to.username().is_empty() {
        // Both fail for addresses without a host alone, and this one has the host of the first.
        let _ = to.set_username(first.username());
        let _ = to.set_password(first.password());
    }
    to
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::sync::{Arc, Mutex};

    use reqwest::header::HeaderValue;

    use super::*;

    const ANYWHERE: Redirects<'static> = Redirects {
        most: 4,
        plain_http: true,
        sent: None,
    };

    /// A server that redirects `/to?ADDRESS` there and answers everything else with 204, and the request heads it got.
    fn server() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, heads) = (
            listener.local_addr().unwrap(),
            Arc::<Mutex<Vec<_>>>::default(),
        );
        let got = heads.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut head = [0; 4096];
                let length = stream.read(&mut head).unwrap_or(0);
                let head = String::from_utf8_lossy(&head[..length]).into_owned();
                let target = head.split(' ').nth(1).unwrap_or_default();
                let answer = match target.strip_prefix("/to?") {
                    Some(to) => {
                        format!("HTTP/1.1 302 x\r\nlocation: {to}\r\ncontent-length: 0\r\n")
                    }
                    None => "HTTP/1.1 204 x\r\n".to_owned(),
                };
                got.lock().unwrap().push(head);
                let _ = stream.write_all(format!("{answer}connection: close\r\n\r\n").as_bytes());
            }
        });
        (address, heads)
    }

    /// A client that takes a.io and b.io for public hosts and resolves both to that server.
    fn client(address: SocketAddr) -> HttpClient {
        let options = HttpOptions {
            trust: Trust::Nobody,
            environment_proxy: false,
            ..HttpOptions::default()
        };
        let known = || {
            builder(&options)
                .resolve("a.io", address)
                .resolve("b.io", address)
        };
        HttpClient::of(known).unwrap()
    }

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[tokio::test]
    async fn nobody_leads_us_to_this_machine_or_to_metadata() {
        let (address, _) = server();
        let (client, port) = (client(address), address.port());
        let ask = async |first: &str, to: &str| {
            let to = to.replace("PORT", &port.to_string());
            let request = Request::get(url(&format!("http://{first}:{port}/to?{to}")));
            match client.follow(request, ANYWHERE).await {
                Ok(answer) => answer.status().to_string(),
                Err(HttpError::Misled(problem)) => problem,
                Err(error) => panic!("{error:?}"),
            }
        };
        for to in [
            "/x",
            "http://a.io:PORT/x",
            "http://b.io:PORT/x",
            "http://b.io:PORT/to?http://a.io:PORT/x",
        ] {
            assert_eq!(ask("a.io", to).await, "204 No Content", "{to}");
        }
        for to in [
            "http://127.0.0.1:PORT/x",
            "http://localhost:PORT/x",
            "http://[::1]:PORT/x",
            "http://169.254.169.254/latest",
            "http://100.100.100.200/latest",
            "http://168.63.129.16/machine",
            "http://[fd00:ec2::254]/latest",
            "http://b.io:PORT/to?http://127.0.0.1:PORT/x",
            "file:///etc/passwd",
        ] {
            assert_eq!(
                ask("a.io", to).await,
                "redirects to an address that we refuse",
                "{to}"
            );
        }
        assert_eq!(
            ask("127.0.0.1", "http://localhost:PORT/x").await,
            "204 No Content",
            "who is here may stay here"
        );
        let metadata = ask("127.0.0.1", "http://169.254.169.254/latest").await;
        assert_eq!(metadata, "redirects to an address that we refuse");
    }

    #[tokio::test]
    async fn only_the_first_server_learns_who_we_are_and_every_request_counts() {
        let (address, heads) = server();
        let (client, port) = (client(address), address.port());
        let round = format!("/to?http://b.io:{port}/to?http://a.io:{port}/x");
        let secret = HeaderValue::from_static("Basic czNjcmV0");
        let request =
            Request::get(url(&format!("http://a.io:{port}{round}"))).authorization(Some(secret));
        let sent = AtomicU64::new(0);
        let redirects = Redirects {
            sent: Some(&sent),
            ..ANYWHERE
        };
        client.follow(request, redirects).await.unwrap();
        let knows: Vec<bool> = heads
            .lock()
            .unwrap()
            .iter()
            .map(|head| head.contains("czNjcmV0"))
            .collect();
        assert_eq!(knows, [true, false, true]);
        assert_eq!(sent.into_inner(), 3);
    }

    #[tokio::test]
    async fn redirects_end_and_plain_http_is_by_leave() {
        let (address, heads) = server();
        let (client, port) = (client(address), address.port());
        let redirects = Redirects {
            most: 1,
            plain_http: false,
            sent: None,
        };
        let follow = async |host: &str, to: &str| {
            let request = Request::get(url(&format!("http://{host}:{port}/to?{to}")));
            client.follow(request, redirects).await.map(drop)
        };
        let misled = |problem: &str| Err(HttpError::Misled(problem.to_owned()));
        assert_eq!(
            follow("a.io", "/to?/x").await,
            misled("redirects to plain HTTP")
        );
        assert_eq!(
            follow("127.0.0.1", "/to?/x").await,
            misled("redirects more than 1 times")
        );
        let before = heads.lock().unwrap().len();
        let answer = client
            .send(Request::get(url(&format!("http://a.io:{port}/to?/x"))))
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 302, "nothing is followed");
        assert_eq!(heads.lock().unwrap().len(), before + 1);
    }

    #[tokio::test]
    async fn those_elsewhere_are_found_by_name_and_port() {
        let (address, _) = server();
        let there = url(&format!("http://localhost:{}/", address.port()));
        let (client, registry) = (client(address), url("http://r.io/"));
        let asked = client.send_led_by(&registry, Request::get(there)).await;
        assert_eq!(asked.unwrap().status().as_u16(), 204);
    }

    #[tokio::test]
    async fn without_leave_nothing_goes_in_the_clear() {
        let (address, heads) = server();
        let client = HttpClient::new(&HttpOptions {
            trust: Trust::Nobody,
            https_only: true,
            ..HttpOptions::default()
        });
        let request = Request::get(url(&format!("http://{address}/")));
        let error = client.unwrap().send(request).await.unwrap_err();
        assert!(matches!(error, HttpError::NotSent(_)), "{error:?}");
        assert!(heads.lock().unwrap().is_empty());
    }

    #[test]
    fn credentials_stay_on_their_host() {
        for (to, expected) in [
            ("https://h.io/b", "https://u:p@h.io/b"),
            ("https://h.io:443/b", "https://u:p@h.io/b"),
            ("http://h.io/b", "http://h.io/b"),
            ("https://h.io:8443/b", "https://h.io:8443/b"),
            ("https://i.io/b", "https://i.io/b"),
        ] {
            let first = url("https://u:p@h.io/a");
            assert_eq!(with_credentials_of(&first, url(to)).as_str(), expected);
        }
    }
}

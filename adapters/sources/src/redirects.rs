//! GET, and going where a server sends us: never to this machine, its wire or a cloud's metadata, unless the first server was there itself.
//!
//! Redirects are followed by hand. A name says little: what counts is the address behind it when the connection is made, so whoever is sent elsewhere
//! looks names up with a resolver that leaves such addresses out.

use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Client, ClientBuilder, Response, Url};

use crate::registry::{Reach, WorldOnly, may_lead};

#[derive(Debug, Clone)]
pub(crate) struct Clients {
    own: Client,
    /// Those to whom a server sends us that is not on this machine.
    elsewhere: Client,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    Failed(reqwest::Error),
    /// The server leads us where we do not go.
    Misled(&'static str),
}

impl Clients {
    pub(crate) fn new(builder: impl Fn() -> ClientBuilder) -> Result<Self, reqwest::Error> {
        let plain = || builder().redirect(reqwest::redirect::Policy::none());
        Ok(Self {
            own: plain().build()?,
            elsewhere: plain().dns_resolver(WorldOnly).build()?,
        })
    }

    /// Asks, and goes where it is sent, so often and to such addresses at most.
    pub(crate) async fn get(
        &self,
        first: Url,
        headers: &HeaderMap,
        max_redirects: usize,
        may_go: impl Fn(&Url) -> bool,
    ) -> Result<Response, NoAnswer> {
        let mut url = first.clone();
        for _ in 0..=max_redirects {
            let is_sent_elsewhere =
                Reach::of(&first) == Reach::World && url.host_str() != first.host_str();
            let client = if is_sent_elsewhere {
                &self.elsewhere
            } else {
                &self.own
            };
            let answer = client
                .get(url.clone())
                .headers(headers.clone())
                .send()
                .await
                .map_err(NoAnswer::Failed)?;
            if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(answer);
            }
            let to = answer
                .headers()
                .get(LOCATION)
                .and_then(|to| to.to_str().ok());
            let to = to
                .and_then(|to| url.join(to).ok())
                .ok_or(NoAnswer::Misled("it redirects to no address"))?;
            let next = with_credentials_of(&first, to);
            match (
                may_lead(&url, &next) && may_lead(&first, &next),
                may_go(&next),
            ) {
                (true, true) => url = next,
                (false, _) if next.scheme() == "http" && url.scheme() == "https" => {
                    return Err(NoAnswer::Misled("it redirects to plain HTTP"));
                }
                (true, false) => return Err(NoAnswer::Misled("it redirects to plain HTTP")),
                (false, _) => return Err(NoAnswer::Misled("it redirects to where we do not go")),
            }
        }
        Err(NoAnswer::Misled("it redirects again and again"))
    }
}

/// On its own host a server may send us around without asking again who we are; nobody else is told.
fn with_credentials_of(first: &Url, mut to: Url) -> Url {
    let origin = |url: &Url| {
        (
            url.scheme().to_owned(),
            url.host_str().map(str::to_owned),
            url.port_or_known_default(),
        )
    };
    if origin(first) == origin(&to) && to.username().is_empty() {
        // Both fail for addresses without a host alone, and this one has the host of the first.
        let _ = to.set_username(first.username());
        let _ = to.set_password(first.password());
    }
    to
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    /// A server that answers `/to?ADDRESS` with a redirect there, and everything else with 204.
    fn server() -> std::net::SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
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
                let _ = stream.write_all(format!("{answer}connection: close\r\n\r\n").as_bytes());
            }
        });
        address
    }

    #[tokio::test]
    async fn nobody_leads_us_to_this_machine_or_to_metadata() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let address = server();
        let port = address.port();
        // In the world, by their names.
        let builder = || {
            Client::builder()
                .no_proxy()
                .tls_certs_only([])
                .resolve("a.io", address)
                .resolve("b.io", address)
        };
        let clients = Clients::new(builder).unwrap();
        let ask = async |first: &str, to: &str| {
            let to = to.replace("PORT", &port.to_string());
            let url = Url::parse(&format!("http://{first}:{port}/to?{to}")).unwrap();
            match clients.get(url, &HeaderMap::new(), 4, |_| true).await {
                Ok(answer) => answer.status().to_string(),
                Err(NoAnswer::Misled(problem)) => problem.to_owned(),
                Err(NoAnswer::Failed(error)) => panic!("{error:?}"),
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
                "it redirects to where we do not go",
                "{to}"
            );
        }
        assert_eq!(
            ask("127.0.0.1", "http://localhost:PORT/x").await,
            "204 No Content",
            "who is here may stay here"
        );
        let metadata = ask("127.0.0.1", "http://169.254.169.254/latest").await;
        assert_eq!(metadata, "it redirects to where we do not go");
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
            let first = Url::parse("https://u:p@h.io/a").unwrap();
            assert_eq!(
                with_credentials_of(&first, Url::parse(to).unwrap()).as_str(),
                expected
            );
        }
    }
}

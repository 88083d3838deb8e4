//! The HTTP clients by which registries are asked, and the certificates that they trust.

use std::path::Path;

use reqwest::{Certificate, Client, ClientBuilder, Url};
use towpath_core::finding::{Finding, Place};

use super::failure::innermost;
use super::options::RegistryOptions;
use super::ways::{Reach, WorldOnly};
use crate::directory::read_file;

const MAX_CA_FILE_BYTES: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct Connection {
    own: Client,
    /// Those to whom a registry that is not on this machine sends us.
    elsewhere: Client,
}

impl Connection {
    pub(super) fn new(options: &RegistryOptions) -> Result<Self, Finding> {
        // Fails if there is one already, which will do as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let certificates = options.ca_file.as_deref().map(certificates).transpose()?;
        let built = |builder: ClientBuilder| {
            let builder = match (certificates.clone(), options.plain_http) {
                (Some(certificates), _) => builder.tls_certs_merge(certificates),
                // The system's certificates are not needed, and where there are none, asking for them fails.
                (None, true) => builder.tls_certs_only([]),
                (None, false) => builder,
            };
            builder.build().map_err(|error| {
                let file = options
                    .ca_file
                    .as_ref()
                    .map(|file| file.display().to_string());
                let place = Place::file(file.unwrap_or_else(|| "HTTP client".to_owned()));
                let remedy = "check the CA file, and that this system has CA certificates";
                Finding::error("bad-ca-file", place, innermost(&error), remedy)
            })
        };
        let own = built(builder(options))?;
        Ok(Self {
            own,
            elsewhere: built(builder(options).dns_resolver(WorldOnly))?,
        })
    }

    /// Who asks there, for the sake of this registry.
    pub(super) fn to(&self, url: &Url, registry: &Url) -> &Client {
        match Reach::of(registry) == Reach::World && url.host_str() != registry.host_str() {
            true => &self.elsewhere,
            false => &self.own,
        }
    }
}

fn builder(options: &RegistryOptions) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("towpath/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .https_only(!options.plain_http)
        .connect_timeout(options.limits.connect_timeout)
        .read_timeout(options.limits.idle_timeout)
}

fn certificates(file: &Path) -> Result<Vec<Certificate>, Finding> {
    let wrong = |problem: String| {
        let place = Place::file(file.display().to_string());
        Finding::error(
            "bad-ca-file",
            place,
            problem,
            "name a file with certificates in PEM form",
        )
    };
    let pem = read_file(file, MAX_CA_FILE_BYTES)?;
    let certificates =
        Certificate::from_pem_bundle(&pem).map_err(|error| wrong(innermost(&error)))?;
    match certificates.is_empty() {
        true => Err(wrong("it has no certificate in it".to_owned())),
        false => Ok(certificates),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn whoever_goes_elsewhere_finds_hosts_by_name_and_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 1_000]).unwrap() > 0);
            stream
                .write_all(b"HTTP/1.1 204 x\r\nconnection: close\r\n\r\n")
                .unwrap();
        });
        let connection = Connection::new(&RegistryOptions {
            plain_http: true,
            ..RegistryOptions::default()
        })
        .unwrap();
        let [registry, there] = [
            "http://r.io/".to_owned(),
            format!("http://localhost:{port}/"),
        ]
        .map(|text| Url::parse(&text).unwrap());
        let client = connection.to(&there, &registry);
        assert!(
            std::ptr::eq(client, &connection.elsewhere)
                && std::ptr::eq(connection.to(&registry, &registry), &connection.own)
        );
        assert_eq!(
            client.get(there).send().await.unwrap().status().as_u16(),
            204
        );
        server.join().unwrap();
    }
}

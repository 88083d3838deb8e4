//! Which addresses a server may send us to: for blobs, for tokens, by redirects.
//!
//! We do not trust a server's redirects. A server with TLS cannot send us to plain HTTP. A remote server cannot send us to
//! this machine, to link-local addresses, or to the addresses where clouds serve secrets (169.254.169.254 and others).
//!
//! The address counts, not the name. So we resolve the names of such redirects with a resolver that drops these addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The metadata services of Alibaba and Azure outside 169.254.0.0/16.
const METADATA_V4: [Ipv4Addr; 2] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
];
/// Amazon's metadata service: fd00:ec2::254.
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// From where an address can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Machine,
    /// Link-local addresses, and a cloud's metadata.
    Link,
    World,
}

/// Whether the server at one address may send us to another.
pub fn may_lead(from: &Url, to: &Url) -> bool {
    let is_as_safe = match (from.scheme(), to.scheme()) {
        (_, "https") | ("http", "http") => to.has_host(),
        _ => false,
    };
    is_as_safe && [Reach::World, Reach::of(from)].contains(&Reach::of(to))
}

impl Reach {
    pub(crate) fn of(url: &Url) -> Self {
        Self::of_host(url.host_str().unwrap_or_default())
    }

    fn of_host(host: &str) -> Self {
        let host = host.trim_end_matches('.');
        match host.trim_start_matches('[').trim_end_matches(']').parse() {
            Ok(address) => Self::of_address(address),
            Err(_) if host == "localhost" || host.ends_with(".localhost") => Self::Machine,
            Err(_) => Self::World,
        }
    }

    fn of_address(address: IpAddr) -> Self {
        match address.to_canonical() {
            address if address.is_loopback() || address.is_unspecified() => Self::Machine,
            IpAddr::V4(address) if address.is_link_local() || METADATA_V4.contains(&address) => {
                Self::Link
            }
            IpAddr::V6(address) if address.is_unicast_link_local() || address == METADATA_V6 => {
                Self::Link
            }
            _ => Self::World,
        }
    }
}

/// A resolver that returns only public addresses.
#[derive(Debug)]
pub(crate) struct WorldOnly;

impl Resolve for WorldOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let host = name.as_str().to_owned();
            // Nobody is led there by this name; a proxy of our own may have it.
            let is_our_own = Reach::of_host(&host) == Reach::Machine;
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
            let usable = if is_our_own {
                found
            } else {
                in_the_world(found)?
            };
            Ok(Box::new(usable.into_iter()) as Addrs)
        })
    }
}

/// The public addresses of a name. A name without any is refused.
fn in_the_world(found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, &'static str> {
    let far: Vec<SocketAddr> = found
        .into_iter()
        .filter(|address| Reach::of_address(address.ip()) == Reach::World)
        .collect();
    match far.is_empty() {
        true => Err("its name resolves only to local addresses, which we refuse"),
        false => Ok(far),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_server_leads_nowhere_that_is_less_safe_and_nobody_to_this_machine() {
        for (from, to, expected) in [
            ("https://r.io/", "https://cdn.io/x", true),
            ("https://r.io/", "http://r.io/x", false),
            ("http://r.io/", "http://cdn.io/x", true),
            ("http://r.io/", "https://cdn.io/x", true),
            ("http://r.io/", "http://10.1.2.3/x", true),
            ("http://r.io/", "ftp://r.io/x", false),
            ("http://r.io/", "file:///etc/passwd", false),
            // This machine, in every spelling.
            ("http://r.io/", "http://127.0.0.1/x", false),
            ("http://r.io/", "http://2130706433/x", false),
            ("http://r.io/", "http://0x7f.1/x", false),
            ("http://r.io/", "http://0.0.0.0/x", false),
            ("http://r.io/", "http://[::1]/x", false),
            ("http://r.io/", "http://[::]/x", false),
            ("http://r.io/", "http://[::ffff:127.0.0.1]/x", false),
            ("http://r.io/", "http://localhost/x", false),
            ("http://r.io/", "http://a.localhost./x", false),
            ("https://r.io/", "https://localhost/x", false),
            // The wire.
            (
                "http://r.io/",
                "http://169.254.169.254/latest/meta-data",
                false,
            ),
            ("https://r.io/", "https://[fe80::1]/x", false),
            ("https://r.io/", "https://[fd00:ec2::254]/x", false),
            ("https://r.io/", "https://[::ffff:100.100.100.200]/x", false),
            ("http://r.io/", "http://100.100.100.200/x", false),
            ("http://r.io/", "http://168.63.129.16/x", false),
            ("http://r.io/", "http://100.100.100.201/x", true),
            ("http://127.0.0.1:5000/", "http://169.254.169.254/x", false),
            // A registry of this machine may well have its storage there.
            ("http://127.0.0.1:5000/", "http://localhost:9000/x", true),
            ("http://localhost:5000/", "https://cdn.io/x", true),
        ] {
            assert_eq!(may_lead(&url(from), &url(to)), expected, "{from} {to}");
        }
    }

    #[test]
    fn a_name_does_not_hide_where_it_leads() {
        let addresses = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| text.parse().unwrap())
                .collect::<Vec<SocketAddr>>()
        };
        let mixed = addresses(&[
            "127.0.0.1:0",
            "[fe80::1]:0",
            "192.0.2.1:0",
            "[::ffff:169.254.1.1]:0",
        ]);
        assert_eq!(in_the_world(mixed), Ok(addresses(&["192.0.2.1:0"])));
        assert!(in_the_world(addresses(&["127.0.0.1:0"])).is_err());
    }
}

//! Checks a request's head: its Host header, and the client that a proxy names.
//!
//! A web page can point its own name at our address ("DNS rebinding") and then read our answers. The Host header still has
//! that name, so foreign names are refused. IP addresses are always accepted.
//! A forwarded address counts only from a trusted proxy. It grants no rights; it is for limits and logs.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use http::request::Parts;
use http::{HeaderMap, Response, StatusCode, Version, header};

use crate::body::{self, AnswerBody};

/// The most entries of forwarding headers that are read, from the last one.
const MAX_FORWARDED: usize = 32;
const ONE_HOST: &str =
    "a request has one Host header with a host name or address, and optionally a port";
const OTHER_HOST: &str = "this service does not go by that name: use its address, or start it with --allowed-hosts and the name";

/// The conditions on a request's head.
#[derive(Debug, Clone, Default)]
pub struct Admission {
    /// The names of this service.
    pub hosts: AllowedHosts,
    /// The proxies that may name a client's address.
    pub proxies: TrustedProxies,
    /// Who is answered over plain HTTP.
    pub plain_http: PlainHttp,
}

/// Who is answered over plain HTTP. With TLS, nobody is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PlainHttp {
    /// Everybody: on loopback, or where the network is trusted.
    #[default]
    Everybody,
    /// This machine and the trusted proxies. Others may ask only how the service is.
    Proxies,
}

/// The names of this service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AllowedHosts {
    #[default]
    Any,
    /// These names, `localhost`, and every IP address.
    Names(BTreeSet<String>),
}

/// Networks of proxies that may name a client's address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<Network>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    bits: u8,
}

/// The client that a trusted proxy names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForwardedClient {
    /// It names none.
    Unsaid,
    For(IpAddr),
    /// The headers are unreadable or contradictory.
    Disputed,
}

impl AllowedHosts {
    /// Parses names separated by commas; `*` alone allows any name.
    pub fn parse(list: &str) -> Result<Self, String> {
        let names: Vec<&str> = list.split(',').map(str::trim).collect();
        if names == ["*"] {
            return Ok(Self::Any);
        }
        let name = |name: &&str| match is_name(name) {
            true => Ok(canonical(name)),
            false => Err(format!(
                "{name:?} is not a host name; write names without scheme and port, or * for any"
            )),
        };
        names
            .iter()
            .map(name)
            .collect::<Result<_, _>>()
            .map(Self::Names)
    }

    fn allows(&self, host: &str) -> bool {
        let Self::Names(names) = self else {
            return true;
        };
        let name = without_port(host);
        let address = name
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(name);
        if address.parse::<IpAddr>().is_ok() {
            return true;
        }
        let name = canonical(name);
        name == "localhost" || names.contains(&name)
    }
}

impl TrustedProxies {
    /// Parses addresses and networks (`10.0.0.0/8`), separated by commas.
    pub fn parse(list: &str) -> Result<Self, String> {
        list.split(',')
            .map(|network| network.trim().parse())
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether this is a trusted proxy.
    pub(crate) fn contain(&self, address: IpAddr) -> bool {
        self.0
            .iter()
            .any(|network| network.contains(address.to_canonical()))
    }

    /// The client that a proxy names: the last address that is not a trusted proxy. Anybody may have written earlier ones.
    /// If `X-Forwarded-For` and `Forwarded` differ, the client wrote one of them.
    pub(crate) fn forwarded(&self, headers: &HeaderMap) -> ForwardedClient {
        let listed = headers
            .get_all("x-forwarded-for")
            .iter()
            .map(|value| value.to_str().unwrap_or("?"));
        let listed: Vec<&str> = listed.flat_map(|value| value.split(',')).collect();
        let standard = headers
            .get_all(header::FORWARDED)
            .iter()
            .map(|value| value.to_str().unwrap_or("for=?"));
        let standard: Vec<&str> = standard
            .flat_map(|value| value.split(','))
            .map(for_of)
            .collect();
        match (self.last_stranger(&listed), self.last_stranger(&standard)) {
            (ForwardedClient::Unsaid, said) | (said, ForwardedClient::Unsaid) => said,
            (one, other) if one == other => one,
            _ => ForwardedClient::Disputed,
        }
    }

    fn last_stranger(&self, hops: &[&str]) -> ForwardedClient {
        let mut nearest = ForwardedClient::Unsaid;
        for hop in hops.iter().rev().take(MAX_FORWARDED) {
            match hop_address(hop) {
                Some(address) if self.contain(address) => nearest = ForwardedClient::For(address),
                Some(address) => return ForwardedClient::For(address),
                None => return ForwardedClient::Disputed,
            }
        }
        // Proxies alone: the first of them asks for itself.
        nearest
    }
}

impl Admission {
    /// Whether what a client at this address sends and gets can be read on the way, and should not be.
    pub(crate) fn is_exposed(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.plain_http == PlainHttp::Proxies && !peer.is_loopback() && !self.proxies.contain(peer)
    }

    /// The answer to a refused request.
    pub(crate) fn refusal(&self, head: &Parts) -> Option<Response<AnswerBody>> {
        let mut hosts = head.headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok().filter(|host| is_host(host)),
            // HTTP/1.0 has no Host, and no browser speaks it.
            (None, _) if head.version < Version::HTTP_11 => return None,
            _ => None,
        };
        let Some(host) = host else {
            return Some(body::error(StatusCode::BAD_REQUEST, "bad_host", ONE_HOST));
        };
        let named = head.uri.authority().map(|authority| authority.as_str());
        let allowed = [Some(host), named]
            .into_iter()
            .flatten()
            .all(|host| self.hosts.allows(host));
        (!allowed).then(|| {
            body::error(
                StatusCode::MISDIRECTED_REQUEST,
                "host_not_allowed",
                OTHER_HOST,
            )
        })
    }
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX
                    .checked_shl(128 - u32::from(self.bits))
                    .unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not a network; write an address, or one such as 10.0.0.0/8");
        let (address, bits) = text
            .split_once('/')
            .map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits
            .map_or(Ok(whole), str::parse)
            .ok()
            .filter(|bits| *bits <= whole)
            .ok_or_else(wrong)?;
        Ok(Self { address, bits })
    }
}

/// The address that limits count. For IPv6 the first half, because one host has the whole second half.
pub(crate) fn counted_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

/// `for=` of one hop of a `Forwarded` header (RFC 7239); empty if it has none.
fn for_of(hop: &str) -> &str {
    let pairs = hop
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs
        .filter(|(name, _)| name.eq_ignore_ascii_case("for"))
        .map(|(_, value)| value);
    values.next().unwrap_or_default().trim_matches('"')
}

/// `192.0.2.7`, `192.0.2.7:80`, `2001:db8::7`, `[2001:db8::7]` or `[2001:db8::7]:80`.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let hop = hop.trim();
    let bracketed = || {
        hop.strip_prefix('[')?
            .split_once(']')
            .map(|(address, _)| address)?
            .parse()
            .ok()
    };
    let with_port = || {
        hop.rsplit_once(':')?
            .0
            .parse::<std::net::Ipv4Addr>()
            .ok()
            .map(IpAddr::V4)
    };
    hop.parse()
        .ok()
        .or_else(bracketed)
        .or_else(with_port)
        .map(|address: IpAddr| address.to_canonical())
}

/// Removes the port. An IPv6 address in brackets has its own colons.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Compares names without case and without the root's dot.
fn canonical(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 253
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// Checks the characters of host and port (RFC 3986). Every request pays for it, so it is cheap.
fn is_host(host: &str) -> bool {
    !host.is_empty()
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=[]:".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(hosts: &AllowedHosts, request: http::request::Builder) -> Option<u16> {
        let (head, ()) = request.body(()).unwrap().into_parts();
        let admission = Admission {
            hosts: hosts.clone(),
            ..Admission::default()
        };
        admission
            .refusal(&head)
            .map(|response| response.status().as_u16())
    }

    fn get(hosts: &[&str]) -> http::request::Builder {
        hosts
            .iter()
            .fold(http::Request::get("/livez"), |request, host| {
                request.header("host", *host)
            })
    }

    #[test]
    fn there_is_one_host() {
        let any = AllowedHosts::Any;
        assert_eq!(status(&any, get(&["whatever.example:80"])), None);
        for bad in [
            &[][..],
            &["a", "a"],
            &["a", "b"],
            &[""],
            &["a b"],
            &["user@a"],
            &["a/b"],
        ] {
            assert_eq!(status(&any, get(bad)), Some(400), "{bad:?}");
        }
        assert_eq!(
            status(&any, get(&[]).version(Version::HTTP_10)),
            None,
            "HTTP/1.0 has none"
        );
        assert_eq!(
            status(&any, get(&["a", "b"]).version(Version::HTTP_10)),
            Some(400)
        );
    }

    #[test]
    fn names_that_are_not_ours_are_refused_and_addresses_are_always_ours() {
        let ours = AllowedHosts::parse("updates.example.com, Other.Example.").unwrap();
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1",
            "127.0.0.1:8080",
            "10.1.2.3:80",
            "[::1]",
            "[::1]:8080",
            "updates.example.com",
            "UPDATES.example.com.:443",
            "other.example",
        ] {
            assert_eq!(status(&ours, get(&[host])), None, "{host}");
        }
        for host in [
            "evil.example",
            "updates.example.com.evil.example",
            "x.localhost",
            "2130706433",
            "0x7f000001",
            "[x]",
        ] {
            assert_eq!(status(&ours, get(&[host])), Some(421), "{host}");
        }
        let absolute = http::Request::get("http://evil.example/livez").header("host", "localhost");
        assert_eq!(
            status(&ours, absolute),
            Some(421),
            "a target's own name counts too"
        );
    }

    #[test]
    fn a_list_of_hosts_is_names() {
        assert_eq!(AllowedHosts::parse("*"), Ok(AllowedHosts::Any));
        for wrong in ["", "a,,b", "https://a", "a:80", "*.a", "a b"] {
            assert!(AllowedHosts::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn networks_have_ends() {
        let proxies =
            TrustedProxies::parse("10.0.0.0/8, 192.0.2.7,2001:db8::/32, 0.0.0.0/32").unwrap();
        for (address, expected) in [
            ("10.255.255.255", true),
            ("11.0.0.0", false),
            ("9.255.255.255", false),
            ("192.0.2.7", true),
            ("192.0.2.8", false),
            ("::ffff:10.0.0.1", true),
            ("2001:db8:ffff::1", true),
            ("2001:db9::", false),
            ("::1", false),
        ] {
            assert_eq!(
                proxies.contain(address.parse().unwrap()),
                expected,
                "{address}"
            );
        }
        assert!(
            TrustedProxies::parse("0.0.0.0/0")
                .unwrap()
                .contain("203.0.113.9".parse().unwrap())
        );
        assert!(!TrustedProxies::default().contain("127.0.0.1".parse().unwrap()));
        for wrong in [
            "",
            "10.0.0.0/33",
            "::/129",
            "10.0.0/8",
            "proxy",
            "10.0.0.0/-1",
            "10.0.0.0/8,",
        ] {
            assert!(TrustedProxies::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_last_address_that_no_proxy_of_ours_has_counts() {
        let proxies = TrustedProxies::parse("10.0.0.0/8").unwrap();
        let of = |headers: &[(&'static str, &str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(*name, value.parse().unwrap());
            }
            proxies.forwarded(&map)
        };
        let is = |text: &str| ForwardedClient::For(text.parse().unwrap());
        assert_eq!(of(&[]), ForwardedClient::Unsaid);
        assert_eq!(of(&[("x-forwarded-for", "192.0.2.1")]), is("192.0.2.1"));
        assert_eq!(
            of(&[("x-forwarded-for", "1.1.1.1, 192.0.2.1, 10.0.0.3")]),
            is("192.0.2.1")
        );
        assert_eq!(
            of(&[
                ("x-forwarded-for", "1.1.1.1"),
                ("x-forwarded-for", "192.0.2.1:99")
            ]),
            is("192.0.2.1")
        );
        assert_eq!(
            of(&[("x-forwarded-for", "nonsense, 192.0.2.1")]),
            is("192.0.2.1"),
            "what stands before is not read"
        );
        assert_eq!(
            of(&[("x-forwarded-for", "192.0.2.1, nonsense")]),
            ForwardedClient::Disputed
        );
        assert_eq!(
            of(&[("x-forwarded-for", "10.0.0.9")]),
            is("10.0.0.9"),
            "a proxy that asks for itself"
        );
        assert_eq!(
            of(&[("forwarded", "for=192.0.2.1;proto=https")]),
            is("192.0.2.1")
        );
        assert_eq!(
            of(&[("forwarded", "proto=https;For=\"[2001:db8::7]:80\"")]),
            is("2001:db8::7")
        );
        assert_eq!(
            of(&[("forwarded", "for=_hidden")]),
            ForwardedClient::Disputed
        );
        let both = [
            ("x-forwarded-for", "192.0.2.1"),
            ("forwarded", "for=192.0.2.1"),
        ];
        assert_eq!(of(&both), is("192.0.2.1"));
        let two = [
            ("x-forwarded-for", "192.0.2.1"),
            ("forwarded", "for=192.0.2.2"),
        ];
        assert_eq!(
            of(&two),
            ForwardedClient::Disputed,
            "a client wrote one of them"
        );
    }

    #[test]
    fn a_host_with_ipv6_is_counted_by_its_network() {
        let counted = |text: &str| counted_address(text.parse().unwrap()).to_string();
        assert_eq!(counted("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(counted("::ffff:192.0.2.1"), "192.0.2.1");
        assert_eq!(counted("192.0.2.1"), "192.0.2.1");
    }
}

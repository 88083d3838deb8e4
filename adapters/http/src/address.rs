//! Which addresses a token may be sent to, and which are this machine.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;

/// What is wrong with the address of a service. The text follows the service's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadAddress {
    NoAddress(String),
    Credentials,
    QueryOrFragment,
    PlainHttp,
    NotOfTheWeb,
}

/// Parses the base address of a service. Plain HTTP is only for this machine, unless it is allowed.
pub fn base_address(text: &str, allow_plain_http: bool) -> Result<Url, BadAddress> {
    let url = Url::parse(text).map_err(|error| BadAddress::NoAddress(error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(BadAddress::Credentials);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(BadAddress::QueryOrFragment);
    }
    match url.scheme() {
        "http" | "https" if may_ask(&url, allow_plain_http) => Ok(url),
        "http" => Err(BadAddress::PlainHttp),
        _ => Err(BadAddress::NotOfTheWeb),
    }
}

/// Whether an address may be asked: it uses TLS, plain HTTP is allowed, or it is this machine.
pub fn may_ask(url: &Url, allow_plain_http: bool) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => allow_plain_http || url.host_str().is_some_and(is_loopback),
        _ => false,
    }
}

/// Whether a host is this machine.
pub fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Whether two addresses have the same scheme, host and port.
pub fn is_same_origin(a: &Url, b: &Url) -> bool {
    (a.scheme(), a.host_str(), a.port_or_known_default())
        == (b.scheme(), b.host_str(), b.port_or_known_default())
}

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress(problem) => write!(f, "is not an address: {problem}"),
            Self::Credentials => f.write_str("has credentials in it"),
            Self::QueryOrFragment => f.write_str("has a query or a fragment"),
            Self::PlainHttp => f.write_str("would send the token in the clear"),
            Self::NotOfTheWeb => f.write_str("is not an http or https address"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_in_the_clear_to_this_machine_alone() {
        for url in [
            "https://a.example",
            "http://127.0.0.1:8080",
            "http://[::1]:8080/towpath",
            "http://localhost",
        ] {
            assert!(base_address(url, false).is_ok(), "{url}");
        }
        for (url, expected) in [
            ("http://a.example", BadAddress::PlainHttp),
            ("http://localhost.a.example", BadAddress::PlainHttp),
            ("http://127.0.0.1.a.example", BadAddress::PlainHttp),
            ("ftp://127.0.0.1", BadAddress::NotOfTheWeb),
            ("https://a.example?x=1", BadAddress::QueryOrFragment),
            ("https://me:secret@a.example", BadAddress::Credentials),
        ] {
            assert_eq!(base_address(url, false), Err(expected), "{url}");
        }
        assert!(!may_ask(&Url::parse("ftp://a.example").unwrap(), true));
        assert!(matches!(
            base_address("a.example", true),
            Err(BadAddress::NoAddress(_))
        ));
        assert!(base_address("http://a.example", true).is_ok());
        assert_eq!(
            base_address("ftp://a.example", true),
            Err(BadAddress::NotOfTheWeb)
        );
    }
}

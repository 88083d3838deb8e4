//! Where to listen: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, or `:8080` for all interfaces.
//!
//! Other names are not looked up: an address that changes under a service is a surprise.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

/// An address of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListenAddress(pub(crate) SocketAddr);

impl ListenAddress {
    /// What people should know if everybody who reaches this machine can connect.
    pub(crate) fn note(self) -> Option<String> {
        let Self(address) = self;
        let port = address.port();
        address.ip().is_unspecified().then(|| {
            format!(
                "{address} is every interface of this machine; --listen 127.0.0.1:{port} is this machine alone"
            )
        })
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let on = |ip: Ipv4Addr, port: &str| Some(SocketAddr::from((ip, port.parse().ok()?)));
        let address = match text.rsplit_once(':') {
            Some(("", port)) => on(Ipv4Addr::UNSPECIFIED, port),
            Some(("localhost", port)) => on(Ipv4Addr::LOCALHOST, port),
            _ => text.parse().ok(),
        };
        address.map(Self).ok_or_else(|| {
            format!(
                "{text:?} is not an address to listen on; write it as in 127.0.0.1:8080, localhost:8080, [::1]:8080, or :8080 for all interfaces"
            )
        })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for ListenAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_short_forms() {
        for (text, expected) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("[::1]:80", "[::1]:80"),
            ("[::]:80", "[::]:80"),
            ("localhost:8080", "127.0.0.1:8080"),
            (":8080", "0.0.0.0:8080"),
            (":0", "0.0.0.0:0"),
        ] {
            let read = text.parse::<ListenAddress>().map(|read| read.to_string());
            assert_eq!(read.as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "",
            "8080",
            ":",
            ":http",
            "localhost",
            "example.com:80",
            ":70000",
        ] {
            let told = text.parse::<ListenAddress>().unwrap_err();
            assert!(told.contains("or :8080 for all interfaces"), "{told}");
        }
    }

    #[test]
    fn all_interfaces_are_said_to_be_all() {
        let note = |text: &str| text.parse::<ListenAddress>().unwrap().note();
        assert!(
            note(":8080")
                .unwrap()
                .starts_with("0.0.0.0:8080 is every interface")
        );
        assert!(note("[::]:8080").is_some());
        assert_eq!(note("localhost:8080"), None);
    }
}

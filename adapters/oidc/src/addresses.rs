//! Which addresses an issuer may name.

use std::collections::BTreeSet;

use towpath_formats::oidc::Discovery;
use towpath_http::{Url, may_ask, may_lead};

/// The addresses of an issuer, each checked.
#[derive(Debug, Clone)]
pub(crate) struct Addresses {
    pub(crate) keys: Url,
    /// None if nobody can log in there with a browser.
    pub(crate) login: Option<LoginAddresses>,
}

#[derive(Debug, Clone)]
pub(crate) struct LoginAddresses {
    pub(crate) authorization: Url,
    pub(crate) token: Url,
    pub(crate) end_session: Option<Url>,
}

impl Addresses {
    /// Checks all addresses that a description names. The error follows the issuer's name.
    pub(crate) fn of(
        issuer: &Url,
        hosts: &BTreeSet<String>,
        description: &Discovery,
    ) -> Result<Self, String> {
        let checked = |name: &str, text: &str| {
            let url = Url::parse(text);
            let url =
                url.map_err(|problem| format!("names a {name} that is no address: {problem}"))?;
            let host = url.host_str().unwrap_or_default();
            let is_named = url.host_str() == issuer.host_str() || hosts.contains(host);
            let is_plain = url.username().is_empty() && url.password().is_none();
            match (
                may_ask(&url, false) && may_lead(issuer, &url),
                is_named && is_plain,
            ) {
                (true, true) => Ok(url),
                (false, _) => Err(format!(
                    "names a {name} without TLS, or on this machine: {text:?}; correct it at the issuer"
                )),
                (true, false) => Err(format!(
                    "names a {name} on another host, {host:?}; allow it with --oidc-hosts {host} if it belongs to the issuer"
                )),
            }
        };
        let optional = |name: &str, text: &Option<String>| {
            text.as_ref().map(|text| checked(name, text)).transpose()
        };
        let authorization = optional(
            "authorization_endpoint",
            &description.authorization_endpoint,
        )?;
        let token = optional("token_endpoint", &description.token_endpoint)?;
        let end_session = optional("end_session_endpoint", &description.end_session_endpoint)?;
        Ok(Self {
            keys: checked("jwks_uri", &description.jwks_uri)?,
            login: authorization
                .zip(token)
                .map(|(authorization, token)| LoginAddresses {
                    authorization,
                    token,
                    end_session,
                }),
        })
    }
}

#[cfg(test)]
mod tests {
    use towpath_formats::oidc::ClientAuth;

    use super::*;

    fn of(issuer: &str, keys: &str, token: &str, hosts: &[&str]) -> Result<(), String> {
        let description = Discovery {
            jwks_uri: keys.to_owned(),
            authorization_endpoint: Some(token.to_owned()),
            token_endpoint: Some(token.to_owned()),
            end_session_endpoint: None,
            client_auth: ClientAuth::Basic,
        };
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        let issuer = Url::parse(issuer).unwrap();
        Addresses::of(&issuer, &hosts, &description).map(drop)
    }

    #[test]
    fn an_issuer_leads_to_its_own_host_or_to_one_that_was_named() {
        let own = "https://id.example/x";
        for (issuer, keys, hosts, expected) in [
            (
                "https://id.example",
                "https://id.example/keys",
                &[][..],
                None,
            ),
            (
                "https://id.example",
                "https://keys.example/k",
                &["keys.example"],
                None,
            ),
            (
                "https://id.example",
                "https://keys.example/k",
                &[],
                Some("on another host"),
            ),
            (
                "https://id.example",
                "http://id.example/keys",
                &[],
                Some("without TLS"),
            ),
            (
                "https://id.example",
                "http://127.0.0.1/keys",
                &["127.0.0.1"],
                Some("without TLS, or on this machine"),
            ),
            (
                "https://id.example",
                "https://localhost/keys",
                &["localhost"],
                Some("or on this machine"),
            ),
            (
                "https://id.example",
                "https://169.254.169.254/k",
                &["169.254.169.254"],
                Some("or on this machine"),
            ),
            (
                "https://id.example",
                "https://me:x@id.example/k",
                &[],
                Some("on another host"),
            ),
            (
                "https://id.example",
                "file:///etc/passwd",
                &[],
                Some("without TLS"),
            ),
            (
                "https://id.example",
                "javascript:alert(1)",
                &[],
                Some("without TLS"),
            ),
            (
                "https://id.example",
                "keys",
                &[],
                Some("that is no address"),
            ),
        ] {
            let told = of(issuer, keys, own, hosts);
            match expected {
                None => assert_eq!(told, Ok(()), "{keys}"),
                Some(problem) => assert!(
                    told.as_ref().is_err_and(|told| told.contains(problem)),
                    "{keys}: {told:?}"
                ),
            }
        }
        let here = "http://127.0.0.1:4000/x";
        assert_eq!(of("http://127.0.0.1:4000", here, here, &[]), Ok(()));
        let scripts = of(own, own, "javascript:alert(1)", &[]).unwrap_err();
        assert!(scripts.contains("authorization_endpoint"), "{scripts}");
    }
}

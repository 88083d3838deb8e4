//! Removes secrets from addresses before they are shown in findings, logs, `/readyz` or copies.

/// Query parameters that are not secret.
const PLAIN: [&str; 6] = ["arch", "channel", "from", "platform", "to", "version"];
/// Shorter secrets are not searched for in other texts: they would match by chance.
const MIN_SECRET_BYTES: usize = 3;

/// An address without its secrets: the part before `@`, and the values of the query.
pub fn without_credentials(url: &str) -> String {
    let Some(parts) = Parts::of(url) else {
        return url.to_owned();
    };
    let user = if parts.user.is_some() { "…@" } else { "" };
    let pairs: Vec<String> = parts
        .pairs()
        .map(|(key, value)| shown(key, value))
        .collect();
    let query = if parts.query.is_some() {
        format!("?{}", pairs.join("&"))
    } else {
        String::new()
    };
    format!(
        "{}://{user}{}{query}{}",
        parts.scheme, parts.place, parts.fragment
    )
}

/// Another program's message about an address, without the address's secrets.
pub(crate) fn hide_secrets(said: &str, url: &str) -> String {
    let Some(parts) = Parts::of(url) else {
        return said.to_owned();
    };
    let of_user = parts
        .user
        .into_iter()
        .flat_map(|user| [Some(user), user.split_once(':').map(|(_, secret)| secret)]);
    let of_query = parts
        .pairs()
        .filter(|(key, _)| !PLAIN.contains(key))
        .map(|(key, value)| value.or(Some(key)));
    let secrets = of_user
        .chain(of_query)
        .flatten()
        .filter(|secret| secret.len() >= MIN_SECRET_BYTES);
    let said = said.replace(url, &without_credentials(url));
    secrets.fold(said, |said, secret| said.replace(secret, "…"))
}

fn shown(key: &str, value: Option<&str>) -> String {
    match value {
        Some(value) if PLAIN.contains(&key) => format!("{key}={value}"),
        Some(_) => format!("{key}=…"),
        None => "…".to_owned(),
    }
}

struct Parts<'a> {
    scheme: &'a str,
    user: Option<&'a str>,
    place: &'a str,
    query: Option<&'a str>,
    /// With its `#`.
    fragment: &'a str,
}

impl<'a> Parts<'a> {
    fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (rest, fragment) = rest.find('#').map_or((rest, ""), |at| rest.split_at(at));
        let (rest, query) = rest
            .split_once('?')
            .map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let host_bytes = rest.find('/').unwrap_or(rest.len());
        let (user, place) = match rest[..host_bytes].rfind('@') {
            Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
            None => (None, rest),
        };
        Some(Self {
            scheme,
            user,
            place,
            query,
            fragment,
        })
    }

    fn pairs(&self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        let parts = self
            .query
            .into_iter()
            .flat_map(|query| query.split('&'))
            .filter(|part| !part.is_empty());
        parts.map(|part| {
            part.split_once('=')
                .map_or((part, None), |(key, value)| (key, Some(value)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_shown() {
        for (url, shown) in [
            ("https://host/x", "https://host/x"),
            ("https://user:pass@host/x", "https://…@host/x"),
            ("https://us@er:p@ss@host?q=a@b", "https://…@host?q=…"),
            ("https://host/a@b", "https://host/a@b"),
            (
                "https://host/x?token=a/b@c&X-Amz-Signature=d#e=f",
                "https://host/x?token=…&X-Amz-Signature=…#e=f",
            ),
            ("https://host?sig", "https://host?…"),
            (
                "https://host/graph?channel=stable-4.20&arch=amd64&key=k",
                "https://host/graph?channel=stable-4.20&arch=amd64&key=…",
            ),
            (
                "git+https://t0k3n@host/r.git#main:a",
                "git+https://…@host/r.git#main:a",
            ),
            ("/srv/a@b?c=d", "/srv/a@b?c=d"),
        ] {
            assert_eq!(without_credentials(url), shown);
        }
    }

    #[test]
    fn what_others_say_of_an_address_tells_no_secret() {
        let url = "https://user:s3cret@host/r.git?token=t0k3n&channel=stable&bare";
        for said in [
            format!("unable to access '{url}/': no"),
            // As git says it, which leaves out the user alone.
            "unable to access 'https://host/r.git?token=t0k3n&channel=stable&bare/': no".to_owned(),
            "wrong password s3cret for user:s3cret".to_owned(),
        ] {
            let told = hide_secrets(&said, url);
            assert!(
                ["s3cret", "t0k3n", "bare"]
                    .iter()
                    .all(|secret| !told.contains(secret)),
                "{told}"
            );
        }
        assert_eq!(hide_secrets("no such host", url), "no such host");
    }
}

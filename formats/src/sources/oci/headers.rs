//! The protocol's headers: how to authenticate, and where the next page is.

/// How a registry wants to know who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Challenge {
    /// With a name and a password, at each request.
    Basic,
    /// With a token from elsewhere.
    Bearer {
        /// Where tokens are given out.
        realm: String,
        /// The service that the token is for.
        service: Option<String>,
        /// What it is to allow.
        scope: Option<String>,
    },
}

/// The challenges of a `WWW-Authenticate` header, those that we know.
pub fn challenges(header: &str) -> Vec<Challenge> {
    let mut found: Vec<(String, Vec<(String, String)>)> = Vec::new();
    let mut rest = header;
    loop {
        rest = rest.trim_start_matches([' ', ',', '\t']);
        let end = rest.find([' ', ',', '=', '"']).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        if word.is_empty() {
            break;
        }
        match (behind.strip_prefix('='), found.last_mut()) {
            (Some(value), Some((_, parameters))) => {
                let (value, behind) = value_at(value);
                parameters.push((word.to_ascii_lowercase(), value));
                rest = behind;
            }
            (Some(_), None) => break,
            (None, _) => {
                found.push((word.to_ascii_lowercase(), Vec::new()));
                rest = behind;
            }
        }
    }
    found
        .into_iter()
        .filter_map(|(scheme, parameters)| challenge(&scheme, &parameters))
        .collect()
}

/// A value, in quotes or not, and what is behind it.
fn value_at(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            c => value.push(c),
        }
    }
    (value, "")
}

fn challenge(scheme: &str, parameters: &[(String, String)]) -> Option<Challenge> {
    let value = |name: &str| {
        parameters
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.clone())
    };
    match scheme {
        "basic" => Some(Challenge::Basic),
        "bearer" => Some(Challenge::Bearer {
            realm: value("realm")?,
            service: value("service"),
            scope: value("scope"),
        }),
        _ => None,
    }
}

/// Where a `Link` header says that the next page is.
pub fn next_link(header: &str) -> Option<&str> {
    header.split(",").find_map(|link| {
        let (target, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next = |parameter: &str| matches!(parameter.trim(), "rel=\"next\"" | "rel=next");
        parameters.split(';').any(is_next).then_some(target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_as_registries_write_them() {
        let bearer = |scope: Option<&str>| Challenge::Bearer {
            realm: "https://quay.io/v2/auth".to_owned(),
            service: Some("quay.io".to_owned()),
            scope: scope.map(str::to_owned),
        };
        for (header, expected) in [
            (
                "Bearer realm=\"https://quay.io/v2/auth\",service=\"quay.io\",scope=\"repository:a/b:pull,push\"",
                vec![bearer(Some("repository:a/b:pull,push"))],
            ),
            (
                "bearer realm=\"https://quay.io/v2/auth\", service=quay.io",
                vec![bearer(None)],
            ),
            ("Basic realm=\"a, b=c\"", vec![Challenge::Basic]),
            (
                "Negotiate, Basic realm=x, Bearer realm=\"https://quay.io/v2/auth\",service=\"quay.io\"",
                vec![Challenge::Basic, bearer(None)],
            ),
            ("Bearer service=x", vec![]),
            ("realm=x", vec![]),
            (
                "Bearer realm=\"unended",
                vec![Challenge::Bearer {
                    realm: "unended".to_owned(),
                    service: None,
                    scope: None,
                }],
            ),
            ("", vec![]),
            ("=\"=\"", vec![]),
        ] {
            assert_eq!(challenges(header), expected, "{header}");
        }
    }

    #[test]
    fn the_next_page_is_where_the_link_says() {
        for (header, expected) in [
            (
                "</v2/a/tags/list?n=2&last=b>; rel=\"next\"",
                Some("/v2/a/tags/list?n=2&last=b"),
            ),
            ("<x>; rel=prev, <y>; rel=next", Some("y")),
            ("<x>; rel=\"prev\"", None),
            ("x; rel=next", None),
            ("", None),
        ] {
            assert_eq!(next_link(header), expected, "{header}");
        }
    }
}

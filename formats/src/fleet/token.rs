//! Tokens, version 2. A token says what it is for, and a code proves that a holder of the key
//! wrote it.
//!
//! `tp2_` + base64url(payload) + `.` + base64url(HMAC-SHA256(key, `towpath/token/2` + NUL +
//! payload)). The payload is compact JSON. The code covers the bytes as received, so nothing needs
//! a canonical form. An unknown field is refused: a later format has another prefix.

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use towpath_core::access::{Grants, Reach, Role, TokenFacts};
use towpath_core::cluster::ClusterId;

use crate::graph::data::parse_time;

/// What tokens of this version begin with.
pub const PREFIX: &str = "tp2_";
/// The longest token, in characters.
pub const MAX_CHARACTERS: usize = 2_048;
/// The longest name of an organisation or a cluster, in bytes: as long as in reports.
const MAX_TEXT_BYTES: usize = 256;
/// How many characters of base64url a key's id has.
const KEY_ID_CHARACTERS: usize = 8;
/// How many bytes of randomness a serial has.
const SERIAL_BYTES: usize = 12;

/// A token of any version, as a file has it: without the space around it, and with nothing in it that could end a header.
pub fn bearer(text: &str) -> Result<&str, &'static str> {
    let token = text.trim();
    // RFC 6750.
    let well_formed = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
    match (token.is_empty(), token.bytes().all(well_formed)) {
        (true, _) => Err("is empty"),
        (false, false) => Err("has characters that are not allowed in a token"),
        (false, true) => Ok(token),
    }
}

/// A key that tokens are made with. It can no longer be read.
#[derive(Clone)]
pub struct Key {
    mac: Hmac<Sha256>,
    id: KeyId,
}

/// A short name of a key that gives nothing of the key away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyId(String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    pub grant: Grant,
    /// None: a token from before tokens said it.
    pub made: Option<Timestamp>,
    pub end: Timestamp,
    /// What tells it apart from others, so that it can be revoked.
    pub serial: String,
}

/// What a token is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// One cluster reports with it.
    Cluster(Enrolment),
    /// A pipeline says with it that a source has changed.
    Reload,
    /// One person acts with it. Keys of its own make it.
    Person(Person),
}

/// A person, or a program with a name of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub name: String,
    pub roles: BTreeSet<Role>,
    /// The roles count there alone. None: everywhere.
    pub organisation: Option<String>,
}

/// A cluster, as an administrator has enrolled it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolment {
    /// The organisation it belongs to.
    pub organisation: String,
    pub name: String,
    pub id: ClusterId,
}

/// A token that was read. Whether it is genuine is another question.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    claims: Claims,
    key: KeyId,
    payload: Vec<u8>,
    code: [u8; 32],
    text: String,
}

/// Why a text is no token, in words that show nothing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(pub String);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a token's payload: an object")]
struct Payload {
    role: String,
    key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    roles: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    organisation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<String>,
    end: String,
    serial: String,
}

/// A serial of these bytes, which nobody could have guessed.
pub fn serial(random: &[u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(&random[..SERIAL_BYTES])
}

impl Key {
    pub fn new(text: &str) -> Self {
        let mac: Hmac<Sha256> =
            Hmac::new_from_slice(text.as_bytes()).expect("HMAC takes keys of any length");
        let id = mac
            .clone()
            .chain_update(b"towpath/key-id/2")
            .finalize()
            .into_bytes();
        let id = URL_SAFE_NO_PAD.encode(id)[..KEY_ID_CHARACTERS].to_owned();
        Self { mac, id: KeyId(id) }
    }

    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// The code of a message of an earlier version of tokens.
    pub fn code_of(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        parts
            .iter()
            .fold(self.mac.clone(), |mac, part| mac.chain_update(part))
    }

    /// Makes a token; else what is wrong with what it should say.
    pub fn sign(&self, claims: &Claims) -> Result<String, Malformed> {
        let blank = Payload {
            role: claims.grant.role().to_owned(),
            key: self.id.0.clone(),
            roles: None,
            organisation: None,
            name: None,
            id: None,
            made: claims.made.map(|made| made.to_string()),
            end: claims.end.to_string(),
            serial: claims.serial.clone(),
        };
        let payload = match claims.grant.clone() {
            Grant::Reload => blank,
            Grant::Cluster(enrolment) => Payload {
                organisation: Some(enrolment.organisation),
                name: Some(enrolment.name),
                id: Some(enrolment.id.as_str().to_owned()),
                ..blank
            },
            Grant::Person(person) => {
                let roles = person.roles.iter().map(|role| role.name().to_owned());
                Payload {
                    roles: Some(roles.collect()),
                    organisation: person.organisation,
                    name: Some(person.name),
                    ..blank
                }
            }
        };
        let payload =
            serde_json::to_vec(&payload).unwrap_or_else(|_| unreachable!("texts can be written"));
        let code = self.code(&payload).finalize().into_bytes();
        let text = format!(
            "{PREFIX}{}.{}",
            URL_SAFE_NO_PAD.encode(&payload),
            URL_SAFE_NO_PAD.encode(code)
        );
        // What we would not take, we do not hand out.
        Token::parse(&text).map(|token| token.text)
    }

    /// Whether this key made the token. It takes the same time for every code.
    pub fn has_made(&self, token: &Token) -> bool {
        self.id == token.key && self.code(&token.payload).verify_slice(&token.code).is_ok()
    }

    fn code(&self, payload: &[u8]) -> Hmac<Sha256> {
        self.code_of(&[b"towpath/token/2\0", payload])
    }
}

impl Token {
    /// Reads a token. Nothing that it says may be believed before its key has been asked.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let wrong = |problem: &str| Malformed(problem.to_owned());
        if text.len() > MAX_CHARACTERS {
            return Err(Malformed(format!(
                "it has more than {MAX_CHARACTERS} characters"
            )));
        }
        let rest = text
            .strip_prefix(PREFIX)
            .ok_or_else(|| Malformed(format!("it does not begin with {PREFIX}")))?;
        let (payload, code) = rest
            .split_once('.')
            .ok_or_else(|| wrong("it has no code; it may have been cut off"))?;
        let payload = URL_SAFE_NO_PAD
            .decode(payload)
            .map_err(|_| wrong("its payload is not base64url"))?;
        let code = URL_SAFE_NO_PAD
            .decode(code)
            .ok()
            .and_then(|code| code.try_into().ok());
        let code = code.ok_or_else(|| wrong("its code is not valid; it may have been cut off"))?;
        let read: Payload = serde_json::from_slice(&payload).map_err(|error| {
            Malformed(format!(
                "its payload is not valid in this version ({})",
                category(&error)
            ))
        })?;
        let claims = read.claims()?;
        Ok(Self {
            claims,
            key: KeyId(read.key),
            payload,
            code,
            text: text.to_owned(),
        })
    }

    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// The key it says it was made with.
    pub fn key(&self) -> &KeyId {
        &self.key
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Payload {
    fn claims(&self) -> Result<Claims, Malformed> {
        let wrong = |problem: &str| Malformed(problem.to_owned());
        let grant = match &*self.role {
            "person" => Grant::Person(self.person()?),
            "admin" | "read" => {
                return Err(wrong(
                    "it is of an earlier version, and people's tokens have names and roles now; make one with `towpath fleet token --people-keys FILE --name NAME --role ROLE`",
                ));
            }
            _ if self.roles.is_some() => return Err(wrong("only a person's token has roles")),
            "cluster" => Grant::Cluster(self.enrolment()?),
            _ if self.id.is_some() || self.name.is_some() || self.organisation.is_some() => {
                return Err(wrong("only a cluster's or a person's token has a name"));
            }
            "reload" => Grant::Reload,
            _ => return Err(wrong("its role is not known here")),
        };
        let of_base64url = |text: &str| {
            text.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        if self.key.len() != KEY_ID_CHARACTERS || !of_base64url(&self.key) {
            return Err(wrong("the id of its key is not valid"));
        }
        if !(8..=64).contains(&self.serial.len()) || !of_base64url(&self.serial) {
            return Err(wrong("its serial is not one"));
        }
        let end = parse_time(&self.end).map_err(|_| wrong("its end is no time"))?;
        let made = self.made.as_deref().map(parse_time).transpose();
        let made = made.map_err(|_| wrong("the time when it was made is no time"))?;
        Ok(Claims {
            grant,
            made,
            end,
            serial: self.serial.clone(),
        })
    }

    fn enrolment(&self) -> Result<Enrolment, Malformed> {
        match (&self.organisation, &self.name, &self.id) {
            (Some(organisation), Some(name), Some(id)) => enrolment(organisation, name, id),
            _ => Err(Malformed(
                "it does not say which cluster it is for: organisation, name and id".to_owned(),
            )),
        }
    }

    fn person(&self) -> Result<Person, Malformed> {
        let wrong = |problem: &str| Malformed(problem.to_owned());
        let (Some(name), Some(names), None) = (&self.name, &self.roles, &self.id) else {
            return Err(wrong("a person's token has a name and roles"));
        };
        check_names(&[name])?;
        if let Some(organisation) = &self.organisation {
            check_names(&[organisation])?;
        }
        let roles = names.iter().map(|name| Role::of_people(name));
        let roles: Option<BTreeSet<Role>> = roles.collect();
        match roles {
            Some(roles) if !roles.is_empty() && roles.len() == names.len() => Ok(Person {
                name: name.clone(),
                roles,
                organisation: self.organisation.clone(),
            }),
            _ => Err(wrong(
                "it has no role, one twice, or one that is not known here",
            )),
        }
    }
}

fn enrolment(organisation: &str, name: &str, id: &str) -> Result<Enrolment, Malformed> {
    check_names(&[organisation, name])?;
    let id = ClusterId::new(id).ok_or_else(|| Malformed("its id is not a cluster's".to_owned()))?;
    Ok(Enrolment {
        organisation: organisation.to_owned(),
        name: name.to_owned(),
        id,
    })
}

fn check_names(names: &[&str]) -> Result<(), Malformed> {
    let fits = |text: &&str| {
        !text.is_empty() && text.len() <= MAX_TEXT_BYTES && !text.contains(char::is_control)
    };
    match names.iter().all(fits) {
        true => Ok(()),
        false => Err(Malformed(format!(
            "organisation and name have 1 to {MAX_TEXT_BYTES} bytes and no control characters"
        ))),
    }
}

/// What is wrong with a payload, without a word of it.
fn category(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        serde_json::error::Category::Data => {
            "a field is missing, unknown, doubled or of the wrong kind"
        }
        _ => "it is not JSON",
    }
}

impl Grant {
    /// The role, as it stands in a token.
    pub fn role(&self) -> &'static str {
        match self {
            Self::Cluster(_) => "cluster",
            Self::Reload => "reload",
            Self::Person(_) => "person",
        }
    }

    /// What its holder may do besides speaking for a cluster.
    pub fn grants(&self) -> Grants {
        match self {
            Self::Cluster(_) => Grants::default(),
            Self::Reload => Grants::from_iter([(Role::Pipeline, Reach::Everywhere)]),
            Self::Person(person) => {
                let reach = match &person.organisation {
                    None => Reach::Everywhere,
                    Some(name) => Reach::Organisation(name.as_str().into()),
                };
                let roles = person.roles.iter();
                roles.map(|role| (*role, reach.clone())).collect()
            }
        }
    }
}

impl Claims {
    /// What decides whether the token was revoked.
    pub fn facts(&self) -> TokenFacts<'_> {
        TokenFacts {
            serial: &self.serial,
            made: self.made,
            person: match &self.grant {
                Grant::Person(person) => Some(&person.name),
                Grant::Cluster(_) | Grant::Reload => None,
            },
            cluster: match &self.grant {
                Grant::Cluster(enrolment) => Some(&enrolment.id),
                Grant::Person(_) | Grant::Reload => None,
            },
        }
    }
}

impl KeyId {
    /// As it stands in a token.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// It is a secret: what shows a request must not show it.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a token of role {}", self.claims.grant.role())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key {}", self.id.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef0123456789abcdef";

    fn claims() -> Claims {
        let enrolment = Enrolment {
            organisation: "acme".into(),
            name: "shop".into(),
            id: ClusterId::new("0f3a").unwrap(),
        };
        let end = "2027-01-01T00:00:00Z".parse().unwrap();
        Claims {
            grant: Grant::Cluster(enrolment),
            made: None,
            end,
            serial: "AAAAAAAAAAAAAAAA".into(),
        }
    }

    fn written(payload: &str) -> String {
        let code = Key::new(KEY)
            .code(payload.as_bytes())
            .finalize()
            .into_bytes();
        format!(
            "{PREFIX}{}.{}",
            URL_SAFE_NO_PAD.encode(payload),
            URL_SAFE_NO_PAD.encode(code)
        )
    }

    #[test]
    fn a_token_comes_back_and_is_the_same_everywhere() {
        let text = Key::new(KEY).sign(&claims()).unwrap();
        // From Python: hmac.new(key, b"towpath/token/2\0" + payload, "sha256")
        let payload = r#"{"role":"cluster","key":"KEYID","organisation":"acme","name":"shop","id":"0f3a","end":"2027-01-01T00:00:00Z","serial":"AAAAAAAAAAAAAAAA"}"#;
        assert_eq!(
            text,
            written(&payload.replace("KEYID", Key::new(KEY).id().as_str()))
        );
        assert_eq!(text, GOLDEN);
        let token = Token::parse(&text).unwrap();
        assert_eq!((token.claims(), token.text()), (&claims(), &*text));
        assert!(Key::new(KEY).has_made(&token));
        assert!(!Key::new(&KEY.to_uppercase()).has_made(&token));
        assert!(!format!("{token:?}").contains("acme"));
    }

    #[test]
    fn any_change_shows() {
        let text = Key::new(KEY).sign(&claims()).unwrap();
        for at in PREFIX.len()..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(
                !Token::parse(&changed).is_ok_and(|token| Key::new(KEY).has_made(&token)),
                "{at}"
            );
        }
        let renamed = |from: &str, to: &str| {
            let payload = URL_SAFE_NO_PAD
                .decode(text[PREFIX.len()..].split_once('.').unwrap().0)
                .unwrap();
            let payload = String::from_utf8(payload).unwrap().replace(from, to);
            format!(
                "{PREFIX}{}.{}",
                URL_SAFE_NO_PAD.encode(payload),
                text.split_once('.').unwrap().1
            )
        };
        let forged = Token::parse(&renamed("acme", "beta")).unwrap();
        assert_eq!(
            forged.key(),
            Key::new(KEY).id(),
            "the key is found, and says no"
        );
        assert!(!Key::new(KEY).has_made(&forged));
    }

    #[test]
    fn what_is_no_token_is_said_without_showing_it() {
        let good = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut payload = serde_json::json!({"role": "cluster", "key": "AAAAAAAA", "organisation": "acme",
                "name": "shop", "id": "0f3a", "end": "2027-01-01T00:00:00Z", "serial": "AAAAAAAAAAAAAAAA"});
            change(&mut payload);
            written(&payload.to_string())
        };
        let set = |field: &'static str, to: serde_json::Value| {
            good(&move |payload| payload[field] = to.clone())
        };
        let without =
            |field: &'static str| good(&move |p| drop(p.as_object_mut().unwrap().remove(field)));
        assert!(Token::parse(&good(&|_| ())).is_ok());
        let long = "x".repeat(257);
        for (text, expected) in [
            ("tpc_AAAA".to_owned(), "does not begin with tp2_"),
            (PREFIX.to_owned(), "no code"),
            (format!("{PREFIX}e30.AAAA"), "code is not valid"),
            (
                format!("{PREFIX}e30.{}", "A".repeat(43)),
                "a field is missing",
            ),
            (format!("{PREFIX}*.{}", "A".repeat(43)), "not base64url"),
            (
                format!("{PREFIX}{}", "A".repeat(MAX_CHARACTERS)),
                "more than 2048 characters",
            ),
            (written("{"), "not JSON"),
            (set("scope", "all".into()), "unknown"),
            (written(r#"{"role":"admin","role":"admin"}"#), "doubled"),
            (without("id"), "which cluster it is for"),
            (set("id", "".into()), "its id is not"),
            (set("name", long.into()), "1 to 256 bytes"),
            (set("organisation", "".into()), "1 to 256 bytes"),
            (set("name", "a\nb".into()), "control characters"),
            (set("role", "admin".into()), "people's tokens have names"),
            (set("role", "root".into()), "or a person's token has a name"),
            (
                set("role", "reload".into()),
                "or a person's token has a name",
            ),
            (set("role", "person".into()), "has a name and roles"),
            (
                set("roles", serde_json::json!(["viewer"])),
                "only a person's token has roles",
            ),
            (set("made", "today".into()), "when it was made"),
            (set("end", "tomorrow".into()), "its end"),
            (set("serial", "x".into()), "its serial"),
            (set("key", "x".into()), "the id of its key"),
        ] {
            let problem = Token::parse(&text).unwrap_err().to_string();
            assert!(
                problem.contains(expected) && !problem.contains("0f3a"),
                "{text}: {problem}"
            );
        }
    }

    fn ada(roles: &[Role], organisation: Option<&str>) -> Claims {
        let made = "2026-11-19T12:00:00.5Z".parse().unwrap();
        Claims {
            grant: Grant::Person(Person {
                name: "ada".into(),
                roles: roles.iter().copied().collect(),
                organisation: organisation.map(str::to_owned),
            }),
            made: Some(made),
            ..claims()
        }
    }

    #[test]
    fn a_persons_token_says_who_may_what_and_where() {
        let claims = ada(&[Role::Operator, Role::Viewer], Some("acme"));
        let text = Key::new(KEY).sign(&claims).unwrap();
        let payload = r#"{"role":"person","key":"KEYID","roles":["viewer","operator"],"organisation":"acme","name":"ada","made":"2026-11-19T12:00:00.5Z","end":"2027-01-01T00:00:00Z","serial":"AAAAAAAAAAAAAAAA"}"#;
        assert_eq!(
            text,
            written(&payload.replace("KEYID", Key::new(KEY).id().as_str()))
        );
        assert_eq!(Token::parse(&text).unwrap().claims(), &claims);
        let acme = Reach::Organisation("acme".into());
        let grants = [(Role::Viewer, acme.clone()), (Role::Operator, acme)];
        assert_eq!(claims.grant.grants(), Grants::from_iter(grants));
    }

    #[test]
    fn a_persons_token_without_a_name_or_a_known_role_is_none() {
        let payload = |name: &str, roles: &str, more: &str| {
            written(&format!(
                r#"{{"role":"person","key":"AAAAAAAA","roles":{roles},{name}{more}"end":"2027-01-01T00:00:00Z","serial":"AAAAAAAAAAAAAAAA"}}"#
            ))
        };
        let name = r#""name":"ada","#;
        assert!(Token::parse(&payload(name, r#"["viewer"]"#, "")).is_ok());
        for (text, expected) in [
            (payload("", r#"["viewer"]"#, ""), "has a name and roles"),
            (
                payload(r#""name":"","#, r#"["viewer"]"#, ""),
                "1 to 256 bytes",
            ),
            (payload(name, "[]", ""), "no role"),
            (
                payload(name, r#"["viewer","viewer"]"#, ""),
                "no role, one twice",
            ),
            (payload(name, r#"["pipeline"]"#, ""), "not known here"),
            (payload(name, r#"["root"]"#, ""), "not known here"),
            (
                payload(name, r#"["viewer"]"#, r#""id":"0f3a","#),
                "has a name and roles",
            ),
            (
                payload(name, r#"["viewer"]"#, r#""organisation":"","#),
                "1 to 256 bytes",
            ),
        ] {
            let problem = Token::parse(&text).unwrap_err().to_string();
            assert!(problem.contains(expected), "{problem} / {expected}");
        }
        assert!(Key::new(KEY).sign(&ada(&[], None)).is_err());
    }

    #[test]
    fn what_could_not_be_read_is_not_signed() {
        let mut claims = claims();
        let Grant::Cluster(enrolment) = &mut claims.grant else {
            panic!("it is a cluster's")
        };
        enrolment.name = "x".repeat(257);
        assert!(Key::new(KEY).sign(&claims).is_err());
    }

    const GOLDEN: &str = "tp2_eyJyb2xlIjoiY2x1c3RlciIsImtleSI6ImZXYUd5N0hSIiwib3JnYW5pc2F0aW9uIjoiYWNtZSIsIm5hbWUiOiJzaG9wIiwiaWQiOiIwZjNhIiwiZW5kIjoiMjAyNy0wMS0wMVQwMDowMDowMFoiLCJzZXJpYWwiOiJBQUFBQUFBQUFBQUFBQUFBIn0.Mx7tM2FHZTyoYfrc0lUDdXmaEUvQe1hdJ7-mNf3Jrb4";
}

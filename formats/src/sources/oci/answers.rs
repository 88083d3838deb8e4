//! A registry's small JSON answers: tags, tokens, the configuration of an image.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

use super::Reference;

/// The most names on one page. Those that cannot be tags are passed over, and count all the same.
const MAX_NAMES: usize = 200_000;

/// A token, and for how long it is good.
#[derive(Clone)]
pub struct RegistryToken {
    /// What goes into the header, behind `Bearer`.
    pub text: String,
    /// The seconds from now on for which it is good.
    pub seconds: u64,
}

#[derive(Deserialize)]
struct TagList {
    tags: Option<Tags>,
}

struct Tags(Vec<Reference>);

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(TagsVisitor)
    }
}

/// Looks at each name before it is kept: a page of three-byte names would be fifty times as large in memory.
struct TagsVisitor;

impl<'de> Visitor<'de> for TagsVisitor {
    type Value = Tags;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tags")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Tags, A::Error> {
        let (mut tags, mut seen) = (Vec::new(), 0);
        while let Some(name) = names.next_element::<String>()? {
            seen += 1;
            if seen > MAX_NAMES {
                return Err(serde::de::Error::custom(format_args!(
                    "it has more than {MAX_NAMES} names"
                )));
            }
            tags.extend(Reference::tag(&name));
        }
        Ok(Tags(tags))
    }
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

#[derive(Deserialize)]
struct PlatformConfig {
    architecture: Option<String>,
}

/// The tags on one page of a list; what cannot be a tag is passed over.
pub fn read_tags(bytes: &[u8]) -> Result<Vec<Reference>, String> {
    let list: TagList = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok(list.tags.map(|tags| tags.0).unwrap_or_default())
}

/// A token. What it says of one that cannot be read tells nothing of what stands in it.
pub fn read_token(bytes: &[u8]) -> Result<RegistryToken, &'static str> {
    // The protocol's default, and its least.
    const USUAL_SECONDS: u64 = 60;
    let answer: TokenAnswer =
        serde_json::from_slice(bytes).map_err(|_| "the answer is not a token")?;
    let text = answer
        .token
        .or(answer.access_token)
        .filter(|text| !text.is_empty());
    Ok(RegistryToken {
        text: text.ok_or("the answer has no token")?,
        seconds: answer.expires_in.unwrap_or(USUAL_SECONDS),
    })
}

/// The architecture that an image's configuration names. What is wrong, in a sentence that goes on from "the configuration".
pub fn read_config_arch(bytes: &[u8]) -> Result<String, String> {
    let config: PlatformConfig =
        serde_json::from_slice(bytes).map_err(|error| format!("cannot be read: {error}"))?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    match config.architecture {
        Some(arch) if (1..=32).contains(&arch.len()) && arch.bytes().all(plain) => Ok(arch),
        Some(_) => Err("names an architecture that cannot be one".to_owned()),
        None => Err("names no architecture".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let tags = |text: &str| read_tags(text.as_bytes()).unwrap();
        let [a, b] = ["a", "b"].map(|name| Reference::tag(name).unwrap());
        assert_eq!(tags(r#"{"name":"x","tags":["a","b"]}"#), [a.clone(), b]);
        let long = "x".repeat(129);
        assert_eq!(
            tags(&format!(r#"{{"tags":["../x","","a","{long}"]}}"#)),
            [a]
        );
        let many = |count: usize| format!(r#"{{"tags":["-"{}]}}"#, ",\"-\"".repeat(count - 1));
        assert_eq!(tags(&many(MAX_NAMES)), []);
        assert!(
            read_tags(many(MAX_NAMES + 1).as_bytes())
                .unwrap_err()
                .starts_with("it has more than 200000 names")
        );
        assert!(
            read_tags(br#"{"name":"x","tags":null}"#)
                .unwrap()
                .is_empty()
        );
        assert!(read_tags(b"<html>").is_err());
        let token = read_token(br#"{"access_token":"t","expires_in":300}"#)
            .ok()
            .unwrap();
        assert_eq!((token.text.as_str(), token.seconds), ("t", 300));
        assert_eq!(read_token(br#"{"token":"t"}"#).ok().unwrap().seconds, 60);
        assert_eq!(
            read_token(br#"{"token":""}"#).err(),
            Some("the answer has no token")
        );
        assert_eq!(
            read_config_arch(br#"{"architecture":"s390x"}"#).unwrap(),
            "s390x"
        );
        for wrong in [
            "{}",
            "[]",
            r#"{"architecture":""}"#,
            r#"{"architecture":"a+b"}"#,
            r#"{"architecture":7}"#,
        ] {
            assert!(read_config_arch(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}

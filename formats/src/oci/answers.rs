//! The small JSON answers of a registry: tags, tokens, the configuration of an image.

use serde::Deserialize;

/// A token, and for how long it is good.
#[derive(Clone)]
pub struct Token {
    /// What goes into the header, behind `Bearer`.
    pub text: String,
    /// The seconds from now on for which it is good.
    pub seconds: u64,
}

#[derive(Deserialize)]
struct TagList {
    tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

#[derive(Deserialize)]
struct Config {
    architecture: Option<String>,
}

/// The tags on one page of a list.
pub fn read_tags(bytes: &[u8]) -> Result<Vec<String>, String> {
    let list: TagList = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok(list.tags.unwrap_or_default())
}

/// A token. What it says of one that cannot be read tells nothing of what stands in it.
pub fn read_token(bytes: &[u8]) -> Result<Token, &'static str> {
    // The protocol's default, and its least.
    const USUAL_SECONDS: u64 = 60;
    let answer: TokenAnswer = serde_json::from_slice(bytes).map_err(|_| "the answer is not a token")?;
    let text = answer.token.or(answer.access_token).filter(|text| !text.is_empty());
    Ok(Token { text: text.ok_or("the answer has no token")?, seconds: answer.expires_in.unwrap_or(USUAL_SECONDS) })
}

/// The architecture that an image's configuration names. What is wrong, in a sentence that goes on from "the configuration".
pub fn read_config_arch(bytes: &[u8]) -> Result<String, String> {
    let config: Config = serde_json::from_slice(bytes).map_err(|error| format!("cannot be read: {error}"))?;
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
        assert_eq!(read_tags(br#"{"name":"x","tags":["a","b"]}"#).unwrap(), ["a", "b"]);
        assert!(read_tags(br#"{"name":"x","tags":null}"#).unwrap().is_empty());
        assert!(read_tags(b"<html>").is_err());
        let token = read_token(br#"{"access_token":"t","expires_in":300}"#).ok().unwrap();
        assert_eq!((token.text.as_str(), token.seconds), ("t", 300));
        assert_eq!(read_token(br#"{"token":"t"}"#).ok().unwrap().seconds, 60);
        assert_eq!(read_token(br#"{"token":""}"#).err(), Some("the answer has no token"));
        assert_eq!(read_config_arch(br#"{"architecture":"s390x"}"#).unwrap(), "s390x");
        for wrong in ["{}", "[]", r#"{"architecture":""}"#, r#"{"architecture":"a+b"}"#, r#"{"architecture":7}"#] {
            assert!(read_config_arch(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}

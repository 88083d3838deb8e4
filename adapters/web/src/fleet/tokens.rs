//! Tokens: a cluster's is made from its id and a key, so none needs to be stored, and each fits one cluster alone.
//!
//! `tpc_` and base64url(HMAC-SHA256(key, `towpath/v1/cluster/` and the id)); the administrator's is `tpa_` and that of
//! `towpath/v1/admin`, and one that may only make the service look at its sources is `tpr_` and that of `towpath/v1/reload`. To take a key out of use, put a new one before it, hand out new tokens, then remove it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use towpath_core::domain::ClusterId;

/// The shortest key, in characters.
const MIN_KEY_CHARACTERS: usize = 32;
/// The longest line.
const MAX_KEY_BYTES: usize = 1024;
/// The most keys: each check tries all of them.
const MAX_KEYS: usize = 8;

const CLUSTER: &str = "tpc_";
const ADMIN: &str = "tpa_";
const RELOAD: &str = "tpr_";

/// The keys that tokens are made with: the first signs, all verify.
#[derive(Clone)]
pub struct TokenKeys(Vec<Key>);

/// A key that has been taken in and can no longer be read.
type Key = Hmac<Sha256>;

/// What a token is said to be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    Cluster,
    Admin,
    Reload,
}

/// Whose token it is said to be. Not shown: it is a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    holder: Holder,
    code: [u8; 32],
}

impl TokenKeys {
    /// Reads the text of a key file: one key a line; empty lines, and those that begin with `#`, do not count. What is wrong is
    /// said by line, and never shows a key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines =
            text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let mut keys: Vec<(usize, &str)> = Vec::new();
        for (number, line) in lines.map(|(index, line)| (index + 1, line)) {
            if line.chars().count() < MIN_KEY_CHARACTERS || line.len() > MAX_KEY_BYTES {
                let rule = format!("{MIN_KEY_CHARACTERS} characters to {MAX_KEY_BYTES} bytes");
                return Err(format!("line {number}: a key has {rule}; make one with `openssl rand -base64 48`"));
            }
            if let Some((first, _)) = keys.iter().find(|(_, known)| *known == line) {
                return Err(format!("line {number}: the same key as in line {first}; remove one of them"));
            }
            keys.push((number, line));
        }
        match keys.len() {
            0 => Err("there is no key; make one with `openssl rand -base64 48`".to_owned()),
            1..=MAX_KEYS => Ok(Self(keys.into_iter().map(|(_, key)| taken_in(key)).collect())),
            count => Err(format!("there are {count} keys; at most {MAX_KEYS} are taken: remove the last ones")),
        }
    }

    /// The token that a cluster reports with.
    pub fn cluster_token(&self, cluster: &ClusterId) -> String {
        format!("{CLUSTER}{}", written(of_cluster(&self.0[0], cluster)))
    }

    /// The token that people change things with.
    pub fn admin_token(&self) -> String {
        format!("{ADMIN}{}", written(of_admin(&self.0[0])))
    }

    /// The token that a pipeline says with that a source has changed.
    pub fn reload_token(&self) -> String {
        format!("{RELOAD}{}", written(of_reload(&self.0[0])))
    }

    /// Whether it is this cluster's token.
    pub(crate) fn is_of_cluster(&self, token: &Token, cluster: &ClusterId) -> bool {
        (token.holder == Holder::Cluster) & self.fits(token, |key| of_cluster(key, cluster))
    }

    /// Whether it is the administrator's token.
    pub(crate) fn is_of_admin(&self, token: &Token) -> bool {
        (token.holder == Holder::Admin) & self.fits(token, of_admin)
    }

    /// Whether whoever has this token may make the service look at its sources.
    pub(crate) fn may_reload(&self, token: &Token) -> bool {
        self.is_of_admin(token) | ((token.holder == Holder::Reload) & self.fits(token, of_reload))
    }

    /// Tries every key, and each in constant time: how long it takes tells nothing about them.
    fn fits(&self, token: &Token, mac: impl Fn(&Key) -> Key) -> bool {
        self.0.iter().fold(false, |fits, key| fits | mac(key).verify_slice(&token.code).is_ok())
    }
}

impl Holder {
    fn prefix(self) -> &'static str {
        match self {
            Self::Cluster => CLUSTER,
            Self::Admin => ADMIN,
            Self::Reload => RELOAD,
        }
    }
}

impl Token {
    /// Reads what stands behind `Bearer`; none if it cannot be a token of ours.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let holders = [Holder::Cluster, Holder::Admin, Holder::Reload];
        let (code, holder) =
            holders.into_iter().find_map(|holder| Some((text.strip_prefix(holder.prefix())?, holder)))?;
        let code = URL_SAFE_NO_PAD.decode(code).ok()?.try_into().ok()?;
        Some(Self { holder, code })
    }

    /// As its holder has it. A code is written in one way alone, so this is what was read.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.holder.prefix(), URL_SAFE_NO_PAD.encode(self.code))
    }
}

fn taken_in(key: &str) -> Key {
    Hmac::new_from_slice(key.as_bytes()).expect("HMAC takes keys of any length")
}

fn of_cluster(key: &Key, cluster: &ClusterId) -> Key {
    key.clone().chain_update(b"towpath/v1/cluster/").chain_update(cluster.as_str())
}

fn of_admin(key: &Key) -> Key {
    key.clone().chain_update(b"towpath/v1/admin")
}

fn of_reload(key: &Key) -> Key {
    key.clone().chain_update(b"towpath/v1/reload")
}

fn written(mac: Key) -> String {
    URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
}

impl fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} keys", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";

    fn id(text: &str) -> ClusterId {
        ClusterId::new(text).unwrap()
    }

    fn keys(text: &str) -> TokenKeys {
        TokenKeys::parse(text).unwrap()
    }

    #[test]
    fn tokens_are_the_same_everywhere_and_for_ever() {
        // From Python: base64.urlsafe_b64encode(hmac.new(key, message, "sha256").digest()).rstrip(b"=")
        assert_eq!(keys(OLD).cluster_token(&id("0f3a")), "tpc_xLqZEoMr6ozXZmZ9yGQrqH36zDnH_CKzejYJSYPzCNw");
        assert_eq!(keys(OLD).admin_token(), "tpa_rmimqpTqXgaEcd5_iWRkVCz39JuXZ5NKFTuKSUXKi-c");
    }

    #[test]
    fn a_token_is_of_one_cluster() {
        let keys = keys(OLD);
        let token = Token::parse(&keys.cluster_token(&id("a"))).unwrap();
        assert_eq!(token.text(), keys.cluster_token(&id("a")));
        assert!(keys.is_of_cluster(&token, &id("a")));
        assert!(!keys.is_of_cluster(&token, &id("A")) && !keys.is_of_cluster(&token, &id("a ")));
        assert!(!keys.is_of_admin(&token));
        let admin = Token::parse(&keys.admin_token()).unwrap();
        assert!(keys.is_of_admin(&admin) && !keys.is_of_cluster(&admin, &id("a")));
        let reload = Token::parse(&keys.reload_token()).unwrap();
        assert!(keys.may_reload(&reload) && keys.may_reload(&admin) && !keys.may_reload(&token));
        assert!(!keys.is_of_admin(&reload) && !keys.is_of_cluster(&reload, &id("a")));
        let relabelled = keys.admin_token().replace(ADMIN, CLUSTER);
        assert!(!keys.is_of_cluster(&Token::parse(&relabelled).unwrap(), &id("a")));
    }

    #[test]
    fn keys_are_rotated_by_putting_a_new_one_first() {
        let (old, both, new) = (keys(OLD), keys(&format!("# since May\n{NEW}\n\n  {OLD}  \n")), keys(NEW));
        let made_before = Token::parse(&old.admin_token()).unwrap();
        assert!(both.is_of_admin(&made_before) && !new.is_of_admin(&made_before));
        assert_eq!(both.admin_token(), new.admin_token());
    }

    #[test]
    fn what_is_no_token() {
        let token = keys(OLD).admin_token();
        for text in
            ["", "tpa_", "tpx_AAAA", &token[..token.len() - 1], &format!("{token}A"), &format!("{token}="), &token[4..]]
        {
            assert!(Token::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_key_file_is_refused_with_a_line_and_without_showing_keys() {
        for (text, expected) in [
            (String::new(), "there is no key"),
            ("# nothing\n".to_owned(), "there is no key"),
            (format!("{NEW}\n{}", &OLD[1..]), "line 2: a key has 32 characters"),
            (format!("{OLD}\n#\n{OLD}"), "line 3: the same key as in line 1"),
            ((0..9).map(|n| format!("{n}{OLD}\n")).collect(), "there are 9 keys"),
        ] {
            let error = TokenKeys::parse(&text).unwrap_err();
            assert!(error.contains(expected) && !error.contains("abcdef"), "{error}");
        }
        assert_eq!(format!("{:?}", keys(OLD)), "1 keys");
    }
}

//! The keys that sign the head of the log: Ed25519, in PEM, as openssl writes them.
//!
//! A file of public keys may have several. A line `Until: TIME` before a key ends it: what it signs later does not count.
//! Whoever changes keys writes the old one with its end, and the new one.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use sha2::{Digest, Sha256};
use towpath_core::fleet::{LogHead, SignedHead};

use crate::graph::data::parse_time;

/// The largest file of keys.
pub const MAX_BYTES: usize = 64 << 10;
const MAX_KEYS: usize = 32;
/// What goes before an Ed25519 key in a SubjectPublicKeyInfo (RFC 8410).
const PUBLIC_PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];
const NAME_TAG: &[u8] = b"towpath/log-key/1\0";
const MAKE_ONE: &str = "`openssl genpkey -algorithm ed25519 -out log-key.pem` makes a key, and `openssl pkey -in log-key.pem -pubout` its public half";

/// Signs heads.
pub struct LogSigner {
    pair: Ed25519KeyPair,
    name: String,
}

/// Verifies heads, up to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogKey {
    public: [u8; 32],
    /// Its short name.
    pub name: String,
    pub until: Option<Timestamp>,
}

impl LogSigner {
    /// Reads a private key.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut blocks = blocks(text)?.into_iter();
        let (label, _, der) = blocks
            .next()
            .ok_or_else(|| format!("it has no key; {MAKE_ONE}"))?;
        if blocks.next().is_some() {
            return Err("it has more than one key; one signs".to_owned());
        }
        if label != "PRIVATE KEY" {
            return Err(format!("it has a {label}, and no PRIVATE KEY; {MAKE_ONE}"));
        }
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der)
            .map_err(|error| format!("it is no Ed25519 key ({error}); {MAKE_ONE}"))?;
        let name = name_of(pair.public_key().as_ref());
        Ok(Self { pair, name })
    }

    /// The short name of the key.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn sign(&self, head: LogHead) -> SignedHead {
        SignedHead {
            signature: self.pair.sign(&head.message()).as_ref().to_vec(),
            key: self.name.clone(),
            head,
        }
    }

    /// The key that verifies what this one signs.
    pub fn public(&self) -> LogKey {
        let mut public = [0; 32];
        public.copy_from_slice(self.pair.public_key().as_ref());
        LogKey {
            public,
            name: self.name.clone(),
            until: None,
        }
    }
}

impl LogKey {
    /// Reads the public keys of a file.
    pub fn read(text: &str) -> Result<Vec<Self>, String> {
        let mut keys = Vec::new();
        for (label, until, der) in blocks(text)? {
            if label != "PUBLIC KEY" {
                let remedy = match &*label {
                    "PRIVATE KEY" => {
                        "keep that one with the service, and give its public half: `openssl pkey -in FILE -pubout`"
                    }
                    _ => MAKE_ONE,
                };
                return Err(format!("it has a {label}, and no PUBLIC KEY; {remedy}"));
            }
            let public = der.strip_prefix(&PUBLIC_PREFIX[..]);
            let public = public.and_then(|public| <[u8; 32]>::try_from(public).ok());
            let public = public
                .ok_or_else(|| format!("it has a public key that is no Ed25519 key; {MAKE_ONE}"))?;
            keys.push(Self {
                public,
                name: name_of(&public),
                until,
            });
        }
        match keys.len() {
            0 => Err(format!("it has no key; {MAKE_ONE}")),
            1..=MAX_KEYS => Ok(keys),
            _ => Err(format!("it has more than {MAX_KEYS} keys")),
        }
    }

    /// Whether the signature is right. The key's end is somebody else's question.
    pub fn verifies(&self, signed: &SignedHead) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, &self.public);
        key.verify(&signed.head.message(), &signed.signature)
            .is_ok()
    }
}

fn name_of(public: &[u8]) -> String {
    let digest = Sha256::new()
        .chain_update(NAME_TAG)
        .chain_update(public)
        .finalize();
    URL_SAFE_NO_PAD.encode(digest).chars().take(12).collect()
}

type Block = (String, Option<Timestamp>, Vec<u8>);

/// The blocks of a PEM file, each with the end that a line before it names.
fn blocks(text: &str) -> Result<Vec<Block>, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    let (mut blocks, mut until, mut open) = (Vec::new(), None, None::<(String, String)>);
    for (number, line) in text.lines().enumerate() {
        let (line, number) = (line.trim(), number + 1);
        let marked = |mark: &str| Some(line.strip_prefix(mark)?.strip_suffix("-----")?.to_owned());
        match open.take() {
            None => {
                if let Some(label) = marked("-----BEGIN ") {
                    open = Some((label, String::new()));
                } else if let Some(time) = line.strip_prefix("Until:") {
                    let time = parse_time(time.trim());
                    let time = time.map_err(|problem| format!("line {number}: {problem}"))?;
                    if until.replace(time).is_some() {
                        return Err(format!("line {number}: two ends stand before one key"));
                    }
                } else if !line.is_empty() && !line.starts_with('#') {
                    return Err(format!(
                        "line {number}: it is neither a key in PEM, nor `Until: TIME`, nor a comment (#)"
                    ));
                }
            }
            Some((label, data)) => match marked("-----END ") {
                Some(end) if end == label => {
                    let der = STANDARD.decode(data.as_bytes());
                    let der = der.map_err(|_| {
                        format!("line {number}: the {label} before it is no base64")
                    })?;
                    blocks.push((label, until.take(), der));
                }
                Some(_) => {
                    return Err(format!("line {number}: it ends another block than {label}"));
                }
                None => open = Some((label, data + line)),
            },
        }
    }
    match (open, until) {
        (Some((label, _)), _) => Err(format!("the {label} in it has no end")),
        (None, Some(_)) => Err("an `Until:` stands before no key".to_owned()),
        (None, None) => Ok(blocks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Made by `openssl genpkey -algorithm ed25519`, and `openssl pkey -pubout` of it. RFC 8410's example.
    const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";

    fn head() -> LogHead {
        LogHead {
            sequence: 3,
            hash: [1; 32],
            pruned: 0,
            at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn what_a_key_signs_its_public_half_verifies_and_nothing_else() {
        let signer = LogSigner::read(PRIVATE).unwrap();
        let keys = LogKey::read(&format!("# ours\nUntil: 2027-01-01T00:00:00Z\n{PUBLIC}")).unwrap();
        assert_eq!(keys.len(), 1);
        assert_eq!(
            (&*keys[0].name, keys[0].public),
            (signer.name(), signer.public().public)
        );
        assert_eq!(keys[0].until, Some("2027-01-01T00:00:00Z".parse().unwrap()));
        let signed = signer.sign(head());
        assert!(keys[0].verifies(&signed));
        for change in [
            |signed: &mut SignedHead| signed.head.sequence += 1,
            |signed: &mut SignedHead| signed.head.hash[31] ^= 1,
            |signed: &mut SignedHead| signed.head.pruned += 1,
            |signed: &mut SignedHead| signed.head.at = Timestamp::from_second(1).unwrap(),
            |signed: &mut SignedHead| signed.signature[0] ^= 1,
            |signed: &mut SignedHead| signed.signature.clear(),
        ] {
            let mut changed = signed.clone();
            change(&mut changed);
            assert!(!keys[0].verifies(&changed), "{changed:?}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused_with_what_to_do() {
        for (text, expected) in [
            ("", "openssl genpkey"),
            ("nonsense", "line 1: it is neither a key"),
            (PRIVATE, "give its public half"),
            ("Until: yesterday\n", "line 1"),
            ("Until: 2027-01-01T00:00:00Z\n", "stands before no key"),
            ("-----BEGIN PUBLIC KEY-----\nMCow\n", "has no end"),
            (
                "-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n",
                "no Ed25519 key",
            ),
            (
                "-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----\n",
                "no base64",
            ),
        ] {
            let error = LogKey::read(text).unwrap_err();
            assert!(error.contains(expected), "{error} / {expected}");
        }
        let two = PRIVATE.repeat(2);
        for (text, expected) in [
            ("", "openssl genpkey"),
            (PUBLIC, "no PRIVATE KEY"),
            (&*two, "more than one key"),
        ] {
            let error = LogSigner::read(text).err().unwrap();
            assert!(error.contains(expected), "{error} / {expected}");
        }
    }
}

//! The keys of an issuer: a JWKS document (RFC 7517).
//!
//! Each key says which one algorithm it is for. A key of another kind is left out with the reason: an issuer may have keys
//! for encryption, or of curves that we do not know. A document that is no list of keys is refused whole.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self as ring_signature, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::Value;

use crate::read::Unique;

/// The longest document. Real ones have a few KiB, more with certificates.
pub const MAX_BYTES: usize = 256 << 10;
/// The most keys in a document. Issuers have two to six.
const MAX_KEYS: usize = 64;
/// The longest name of a key, in bytes.
const MAX_ID_BYTES: usize = 256;
/// The sizes of an RSA key, in bits: smaller ones can be broken, larger ones cost too much.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2_048..=8_192;
/// An uncompressed point begins with this.
const UNCOMPRESSED: u8 = 4;

/// How a key signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

/// The keys that verify an issuer's tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerKeys {
    keys: Vec<IssuerKey>,
    unused: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IssuerKey {
    id: Option<String>,
    pub(super) algorithm: Algorithm,
    material: Material,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// A point of a curve, as the library takes it.
    Point(Vec<u8>),
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Unique<Value>>,
}

impl IssuerKeys {
    /// Reads a document. The error says what is wrong with it, after its address.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > MAX_BYTES {
            return Err(format!("has more than {MAX_BYTES} bytes"));
        }
        let document: Document = serde_json::from_slice(bytes).map_err(|error| {
            let position = (error.line(), error.column());
            format!(
                "is not a list of keys (line {}, column {})",
                position.0, position.1
            )
        })?;
        if document.keys.len() > MAX_KEYS {
            return Err(format!("has more than {MAX_KEYS} keys"));
        }
        let (mut keys, mut unused) = (Vec::new(), Vec::new());
        for (index, Unique(fields)) in document.keys.iter().enumerate() {
            let field = |name: &str| fields.get(name).and_then(Value::as_str);
            match IssuerKey::read(field, fields.get("key_ops")) {
                Ok(key) => keys.push(key),
                Err(problem) => unused.push(format!("key {}: {problem}", index + 1)),
            }
        }
        Ok(Self { keys, unused })
    }

    /// How many keys verify tokens.
    pub fn count(&self) -> usize {
        self.keys.len()
    }

    /// Why the other keys of the document do not.
    pub fn unused(&self) -> &[String] {
        &self.unused
    }

    /// The keys that a token may be signed with: those of this name. A token that names no key is taken where there is only one.
    pub(super) fn named(&self, id: Option<&str>) -> Vec<&IssuerKey> {
        match id {
            Some(id) => {
                let of_name = |key: &&IssuerKey| key.id.as_deref() == Some(id);
                self.keys.iter().filter(of_name).collect()
            }
            None if self.keys.len() == 1 => self.keys.iter().collect(),
            None => Vec::new(),
        }
    }
}

impl IssuerKey {
    fn read<'a>(
        field: impl Fn(&str) -> Option<&'a str>,
        operations: Option<&Value>,
    ) -> Result<Self, String> {
        let id = field("kid").map(str::to_owned);
        if id.as_ref().is_some_and(|id| id.len() > MAX_ID_BYTES) {
            return Err(format!("its name has more than {MAX_ID_BYTES} bytes"));
        }
        if field("use").is_some_and(|usage| usage != "sig") {
            return Err("it is not for signatures".to_owned());
        }
        let verifies = |list: &Value| {
            let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
            list.iter().any(|operation| operation == "verify")
        };
        if operations.is_some_and(|operations| !verifies(operations)) {
            return Err("it is not for verifying signatures".to_owned());
        }
        let bytes = |name: &str| {
            let text = field(name).ok_or_else(|| format!("it has no {name:?}"))?;
            let wrong = |_| format!("its {name:?} is not base64url");
            URL_SAFE_NO_PAD.decode(text).map_err(wrong)
        };
        let (usual, material) = match (field("kty"), field("crv")) {
            (Some("RSA"), _) => {
                let (modulus, exponent) = (without_zeros(bytes("n")?), without_zeros(bytes("e")?));
                let bits = bits(&modulus);
                if !RSA_BITS.contains(&bits) {
                    let (least, most) = (RSA_BITS.start(), RSA_BITS.end());
                    return Err(format!(
                        "an RSA key of {bits} bits; {least} to {most} are taken"
                    ));
                }
                let material = Material::Rsa { modulus, exponent };
                (Algorithm::Rs256, material)
            }
            (Some("EC"), Some("P-256")) => {
                (Algorithm::Es256, point(&bytes("x")?, &bytes("y")?, 32)?)
            }
            (Some("EC"), Some("P-384")) => {
                (Algorithm::Es384, point(&bytes("x")?, &bytes("y")?, 48)?)
            }
            (Some("OKP"), Some("Ed25519")) => {
                let point = bytes("x")?;
                if point.len() != 32 {
                    return Err("its \"x\" does not have 32 bytes".to_owned());
                }
                (Algorithm::EdDsa, Material::Point(point))
            }
            (Some("EC" | "OKP"), _) => return Err("its curve is not known here".to_owned()),
            (Some("oct"), _) => return Err("it is a shared secret".to_owned()),
            _ => return Err("its kind is not known here".to_owned()),
        };
        let algorithm = match field("alg") {
            None => usual,
            Some(name) => Algorithm::named(name)
                .filter(|algorithm| algorithm.fits(usual))
                .ok_or("its algorithm is not known here, or does not fit its kind")?,
        };
        Ok(Self {
            id,
            algorithm,
            material,
        })
    }

    /// Whether this key signed the message.
    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match &self.material {
            Material::Rsa { modulus, exponent } => {
                let Some(parameters) = self.algorithm.rsa() else {
                    return false;
                };
                let key = RsaPublicKeyComponents {
                    n: modulus,
                    e: exponent,
                };
                key.verify(parameters, message, signature)
            }
            Material::Point(point) => {
                let Some(parameters) = self.algorithm.curve() else {
                    return false;
                };
                UnparsedPublicKey::new(parameters, point).verify(message, signature)
            }
        };
        verified.is_ok()
    }
}

impl Algorithm {
    const ALL: [(&'static str, Self); 10] = [
        ("RS256", Self::Rs256),
        ("RS384", Self::Rs384),
        ("RS512", Self::Rs512),
        ("PS256", Self::Ps256),
        ("PS384", Self::Ps384),
        ("PS512", Self::Ps512),
        ("ES256", Self::Es256),
        ("ES384", Self::Es384),
        ("EdDSA", Self::EdDsa),
        // Its newer name (RFC 9864).
        ("Ed25519", Self::EdDsa),
    ];

    /// The algorithm of this name. There is no `none`, and nothing with a shared secret.
    pub(super) fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|(known, _)| *known == name)
            .map(|(_, algorithm)| algorithm)
    }

    fn fits(self, usual: Self) -> bool {
        self == usual || (self.rsa().is_some() && usual.rsa().is_some())
    }

    fn rsa(self) -> Option<&'static ring_signature::RsaParameters> {
        Some(match self {
            Self::Rs256 => &ring_signature::RSA_PKCS1_2048_8192_SHA256,
            Self::Rs384 => &ring_signature::RSA_PKCS1_2048_8192_SHA384,
            Self::Rs512 => &ring_signature::RSA_PKCS1_2048_8192_SHA512,
            Self::Ps256 => &ring_signature::RSA_PSS_2048_8192_SHA256,
            Self::Ps384 => &ring_signature::RSA_PSS_2048_8192_SHA384,
            Self::Ps512 => &ring_signature::RSA_PSS_2048_8192_SHA512,
            Self::Es256 | Self::Es384 | Self::EdDsa => return None,
        })
    }

    fn curve(self) -> Option<&'static dyn ring_signature::VerificationAlgorithm> {
        match self {
            Self::Es256 => Some(&ring_signature::ECDSA_P256_SHA256_FIXED),
            Self::Es384 => Some(&ring_signature::ECDSA_P384_SHA384_FIXED),
            Self::EdDsa => Some(&ring_signature::ED25519),
            _ => None,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = Self::ALL.into_iter();
        let name = all.find(|(_, algorithm)| algorithm == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

fn without_zeros(number: Vec<u8>) -> Vec<u8> {
    number.into_iter().skip_while(|byte| *byte == 0).collect()
}

fn bits(number: &[u8]) -> usize {
    let first = number.first().map_or(0, |first| first.leading_zeros());
    number.len() * 8 - first as usize
}

fn point(x: &[u8], y: &[u8], size: usize) -> Result<Material, String> {
    match (x.len() == size, y.len() == size) {
        (true, true) => Ok(Material::Point([&[UNCOMPRESSED], x, y].concat())),
        _ => Err(format!("its point does not have {size} bytes twice")),
    }
}

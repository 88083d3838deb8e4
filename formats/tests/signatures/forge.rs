//! A forge: keys and signatures as one needs them, good and bad, the same on every run.

use std::sync::atomic::{AtomicU64, Ordering};

use pgp::composed::{
    ArmorOptions, KeyType, MessageBuilder, SecretKeyParamsBuilder, SignedSecretKey,
    SubkeyParamsBuilder, SubpacketConfig,
};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{
    KeyFlags, LiteralData, PacketTrait, RevocationCode, SignatureConfig, SignatureType, Subpacket,
    SubpacketData,
};
use pgp::ser::Serialize;
use pgp::types::{CompressionAlgorithm, Duration, Password, SigningKey, Tag, Timestamp};
use rand::SeedableRng;
use rand::rngs::StdRng;
use towpath_core::signatures::PayloadDigest;
use towpath_formats::SourceFile;
use towpath_formats::signatures::Keyring;

pub(crate) const DIGEST: &str =
    "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
pub(crate) const OTHER: &str =
    "sha256:ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
/// When keys are made, in seconds of Unix time: 2024-01-01.
pub(crate) const BIRTH: u32 = 1_704_067_200;
pub(crate) const DAY: u32 = 86_400;
pub(crate) const SIGNED: u32 = BIRTH + 30 * DAY;
/// When we look at them.
pub(crate) const NOW: u32 = BIRTH + 300 * DAY;

pub(crate) fn digest() -> PayloadDigest {
    PayloadDigest::parse(DIGEST).unwrap()
}

pub(crate) fn at(seconds: u32) -> jiff::Timestamp {
    jiff::Timestamp::from_second(i64::from(seconds)).unwrap()
}

fn rng() -> StdRng {
    static SEED: AtomicU64 = AtomicU64::new(1);
    StdRng::seed_from_u64(SEED.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn statement(digest: &str) -> String {
    format!(
        r#"{{"critical":{{"image":{{"docker-manifest-digest":"{digest}"}},"type":"atomic container signature","identity":{{"docker-reference":"quay.io/o/release:4.9.7"}}}},"optional":{{"creator":"the forge"}}}}"#
    )
}

/// A key that signs, and a subkey that does not.
pub(crate) fn key(name: &str) -> SignedSecretKey {
    made(name, true, subkey(false))
}

/// A key that only certifies, with a subkey that signs.
pub(crate) fn key_with_signing_subkey(name: &str) -> SignedSecretKey {
    made(name, false, subkey(true))
}

/// A key that signs nothing.
pub(crate) fn key_for_nothing(name: &str) -> SignedSecretKey {
    made(name, false, subkey(false))
}

fn subkey(signs: bool) -> SubkeyParamsBuilder {
    let mut subkey = SubkeyParamsBuilder::default();
    subkey
        .key_type(KeyType::Ed25519Legacy)
        .can_sign(signs)
        .can_authenticate(!signs);
    subkey.created_at(Timestamp::from_secs(BIRTH));
    subkey
}

fn made(name: &str, signs: bool, subkey: SubkeyParamsBuilder) -> SignedSecretKey {
    let mut key = SecretKeyParamsBuilder::default();
    key.key_type(KeyType::Ed25519Legacy)
        .can_certify(true)
        .can_sign(signs);
    key.created_at(Timestamp::from_secs(BIRTH))
        .primary_user_id(name.into())
        .subkey(subkey.build().unwrap());
    let mut key = key.build().unwrap().generate(rng()).unwrap();
    // What it says of itself has the date of today; ours has that of its birth.
    say(&mut key, BIRTH, signs, None);
    key
}

/// What a key says of itself, instead of what it said.
pub(crate) fn say(key: &mut SignedSecretKey, when: u32, signs: bool, lasts: Option<u32>) {
    let mut flags = KeyFlags::default();
    flags.set_certify(true);
    flags.set_sign(signs);
    let mut data = vec![SubpacketData::KeyFlags(flags)];
    data.extend(
        lasts.map(|seconds| SubpacketData::KeyExpirationTime(Duration::from_secs(seconds))),
    );
    let config = config(&key.primary_key, SignatureType::CertPositive, when, data);
    let public = key.primary_key.public_key().clone();
    let user = &mut key.details.users[0];
    let word = config.sign_certification(
        &key.primary_key,
        &public,
        &Password::empty(),
        Tag::UserId,
        &user.id,
    );
    user.signatures = vec![word.unwrap()];
}

pub(crate) fn revoke(key: &mut SignedSecretKey, when: u32, code: RevocationCode) {
    let data = vec![SubpacketData::RevocationReason(code, "".into())];
    let config = config(&key.primary_key, SignatureType::KeyRevocation, when, data);
    let public = key.primary_key.public_key().clone();
    key.details.revocation_signatures.push(
        config
            .sign_key(&key.primary_key, &Password::empty(), &public)
            .unwrap(),
    );
}

/// Says again of a signing subkey what was said, less its own consent.
pub(crate) fn adopt_without_consent(key: &mut SignedSecretKey) {
    let mut flags = KeyFlags::default();
    flags.set_sign(true);
    let config = config(
        &key.primary_key,
        SignatureType::SubkeyBinding,
        BIRTH,
        vec![SubpacketData::KeyFlags(flags)],
    );
    let primary = key.primary_key.public_key().clone();
    let subkey = &mut key.secret_subkeys[0];
    let public = subkey.key.public_key();
    subkey.signatures = vec![
        config
            .sign_subkey_binding(&key.primary_key, &primary, &Password::empty(), public)
            .unwrap(),
    ];
}

fn config(
    key: &impl SigningKey,
    typ: SignatureType,
    when: u32,
    more: Vec<SubpacketData>,
) -> SignatureConfig {
    let mut config = SignatureConfig::v4(typ, key.algorithm(), HashAlgorithm::Sha256);
    config.hashed_subpackets = hashed(key.fingerprint(), when, more);
    config.unhashed_subpackets = hint(key.legacy_key_id());
    config
}

fn hashed(by: pgp::types::Fingerprint, when: u32, more: Vec<SubpacketData>) -> Vec<Subpacket> {
    let created = SubpacketData::SignatureCreationTime(Timestamp::from_secs(when));
    let data = [created, SubpacketData::IssuerFingerprint(by)]
        .into_iter()
        .chain(more);
    data.map(|data| Subpacket::regular(data).unwrap()).collect()
}

/// GnuPG wants to be told the key's id too.
fn hint(id: pgp::types::KeyId) -> Vec<Subpacket> {
    vec![Subpacket::regular(SubpacketData::IssuerKeyId(id)).unwrap()]
}

/// The keys as the bytes of a keyring.
pub(crate) fn armored(keys: &[&SignedSecretKey]) -> String {
    keys.iter()
        .map(|key| {
            key.to_public_key()
                .to_armored_string(ArmorOptions::default())
                .unwrap()
        })
        .collect()
}

pub(crate) fn file(path: &str, bytes: impl AsRef<[u8]>) -> SourceFile {
    SourceFile {
        path: path.to_owned(),
        bytes: bytes.as_ref().into(),
    }
}

pub(crate) fn keyring(keys: &[&SignedSecretKey]) -> Keyring {
    Keyring::read(&[file("keys.asc", armored(keys))]).unwrap().0
}

/// A signature, and how it differs from a good one.
pub(crate) struct Signing<'a> {
    pub(crate) key: &'a dyn SigningKey,
    pub(crate) body: Vec<u8>,
    pub(crate) when: u32,
    pub(crate) more: Vec<Subpacket>,
    pub(crate) compression: Option<CompressionAlgorithm>,
}

impl<'a> Signing<'a> {
    pub(crate) fn by(key: &'a dyn SigningKey) -> Self {
        let body = statement(DIGEST).into_bytes();
        Self {
            key,
            body,
            when: SIGNED,
            more: Vec::new(),
            compression: Some(CompressionAlgorithm::ZIP),
        }
    }

    pub(crate) fn of(self, body: impl Into<Vec<u8>>) -> Self {
        Self {
            body: body.into(),
            ..self
        }
    }

    pub(crate) fn at(self, when: u32) -> Self {
        Self { when, ..self }
    }

    pub(crate) fn with(self, more: Subpacket) -> Self {
        Self {
            more: vec![more],
            ..self
        }
    }

    pub(crate) fn bare(self) -> Self {
        Self {
            compression: None,
            ..self
        }
    }

    pub(crate) fn binary(self) -> Vec<u8> {
        self.with_builder(|builder| builder.to_vec(rng()).unwrap())
    }

    pub(crate) fn armored(self) -> Vec<u8> {
        self.with_builder(|builder| {
            builder
                .to_armored_string(rng(), ArmorOptions::default())
                .unwrap()
                .into_bytes()
        })
    }

    /// A signature of text, whose line ends may be any.
    pub(crate) fn text(self) -> Vec<u8> {
        self.with_builder(|mut builder| {
            builder.sign_text();
            builder.to_vec(rng()).unwrap()
        })
    }

    fn with_builder(self, write: impl FnOnce(MessageBuilder<'_, &[u8]>) -> Vec<u8>) -> Vec<u8> {
        let mut hashed = hashed(self.key.fingerprint(), self.when, Vec::new());
        hashed.extend(self.more);
        let mut builder = MessageBuilder::from_reader("", self.body.as_slice());
        let subpackets = SubpacketConfig::UserDefined {
            hashed,
            unhashed: hint(self.key.legacy_key_id()),
        };
        builder.sign_with_subpackets(
            self.key,
            Password::empty(),
            HashAlgorithm::Sha256,
            subpackets,
        );
        if let Some(compression) = self.compression {
            builder.compression(compression);
        }
        write(builder)
    }
}

/// The old form: the signature first, then what is signed.
pub(crate) fn signature_first(key: &impl SigningKey) -> Vec<u8> {
    let body = statement(DIGEST);
    let config = config(key, SignatureType::Binary, SIGNED, Vec::new());
    let signature = config
        .sign(key, &Password::empty(), body.as_bytes())
        .unwrap();
    [packet(&signature), packet(&literal(&body))].concat()
}

/// Only the signature, without what is signed.
pub(crate) fn detached(key: &impl SigningKey) -> Vec<u8> {
    let config = config(key, SignatureType::Binary, SIGNED, Vec::new());
    packet(
        &config
            .sign(key, &Password::empty(), statement(DIGEST).as_bytes())
            .unwrap(),
    )
}

/// What is signed, without the signature.
pub(crate) fn unsigned() -> Vec<u8> {
    packet(&literal(&statement(DIGEST)))
}

pub(crate) fn literal(body: &str) -> LiteralData {
    LiteralData::from_bytes("", body.to_owned().into()).unwrap()
}

pub(crate) fn packet(packet: &impl PacketTrait) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.to_writer_with_header(&mut bytes).unwrap();
    bytes
}

/// The binary form of a key.
pub(crate) fn binary(key: &SignedSecretKey) -> Vec<u8> {
    key.to_public_key().to_bytes().unwrap()
}

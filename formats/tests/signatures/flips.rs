//! Whatever is changed in a signature, it never says something else than what was signed.
//!
//! Some of its bytes are not signed: how packets are framed and compressed, the announcement before the data, the
//! name and time of the data's file, the hints in the unhashed area, armor. Changing those changes nothing of who signed
//! what and when. Everything else, changed, does not count.

use proptest::prelude::*;
use towpath_formats::signatures::{Keyring, verify};

use crate::forge::*;

/// Who signed what, when, and how it is packed.
struct Sample {
    ring: Keyring,
    bare: Vec<u8>,
    compressed: Vec<u8>,
    armored: Vec<u8>,
}

fn sample() -> Sample {
    let ann = key("ann");
    let by = || Signing::by(&ann.primary_key);
    let (bare, compressed, armored) = (by().bare().binary(), by().binary(), by().armored());
    Sample {
        ring: keyring(&[&ann]),
        bare,
        compressed,
        armored,
    }
}

/// Whether it counts; and if so, it must say what was signed.
fn counts(bytes: &[u8], ring: &Keyring) -> bool {
    match verify(bytes, ring, digest(), at(NOW)) {
        Ok(signer) => {
            assert_eq!(
                (signer.user_id.as_str(), signer.signed_at, signer.until),
                ("ann", at(SIGNED), None)
            );
            true
        }
        Err(_) => false,
    }
}

#[test]
fn no_flipped_bit_says_something_else() {
    let Sample {
        ring,
        bare,
        compressed,
        armored,
    } = sample();
    for (bytes, name) in [
        (bare, "bare"),
        (compressed, "compressed"),
        (armored, "armored"),
    ] {
        assert!(counts(&bytes, &ring), "{name} as it is");
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            counts(&flipped, &ring);
            // And under no flip does it become a signature of another image.
            let other = towpath_core::signatures::PayloadDigest::parse(OTHER).unwrap();
            assert!(
                verify(&flipped, &ring, other, at(NOW)).is_err(),
                "{name}: bit {bit}"
            );
        }
    }
}

/// In the bare form it can be said which bytes those are: all of the body, and all that the signature hashes, count.
#[test]
fn no_flipped_bit_of_what_is_signed_counts() {
    let Sample { ring, bare, .. } = sample();
    let body = statement(DIGEST).into_bytes();
    let begin = bare
        .windows(body.len())
        .position(|part| part == body)
        .unwrap();
    let signature = begin + body.len();
    // The signature's packet: its head, then version, type, algorithms and the hashed area, up to the numbers.
    let version = signature
        + bare[signature..]
            .windows(4)
            .position(|four| four == [4, 0, 22, 8])
            .unwrap();
    let hashed_end =
        version + 6 + usize::from(u16::from_be_bytes([bare[version + 4], bare[version + 5]]));
    // Behind the unhashed area: the beginning of the hash, and two numbers of 256 bits. How many bits each has is
    // framing: 255 and 256 take as many bytes.
    let hash =
        hashed_end + 2 + usize::from(u16::from_be_bytes([bare[hashed_end], bare[hashed_end + 1]]));
    let numbers = [hash..hash + 2, hash + 4..hash + 36, hash + 38..bare.len()];
    assert_eq!(numbers[2].len(), 32, "two numbers of 256 bits");
    for byte in [begin..signature, version..hashed_end]
        .into_iter()
        .chain(numbers)
        .flatten()
    {
        for bit in 0..8 {
            let mut flipped = bare.clone();
            flipped[byte] ^= 1 << bit;
            assert!(
                !counts(&flipped, &ring),
                "bit {bit} of byte {byte} of {}",
                bare.len()
            );
        }
    }
}

#[test]
fn no_part_of_a_signature_counts() {
    let Sample {
        ring,
        bare,
        compressed,
        ..
    } = sample();
    for bytes in [bare, compressed] {
        for end in 0..bytes.len() - 1 {
            assert!(
                !counts(&bytes[..end], &ring),
                "{end} of {} bytes",
                bytes.len()
            );
        }
    }
}

proptest! {
    #[test]
    fn bytes_of_anybody_never_count(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let Sample { ring, .. } = sample();
        prop_assert!(!counts(&bytes, &ring));
    }

    #[test]
    fn a_signature_with_bytes_put_in_says_the_same_or_does_not_count(
        at in any::<prop::sample::Index>(),
        more in prop::collection::vec(any::<u8>(), 1..100),
        taken in 0usize..100,
    ) {
        let Sample { ring, bare, .. } = sample();
        let from = at.index(bare.len());
        let mut bytes = bare.clone();
        bytes.splice(from..(from + taken).min(bare.len()), more);
        counts(&bytes, &ring);
    }
}

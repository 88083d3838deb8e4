//! Layers, pushed in as networks do it: in pieces of any size, and with anything in them.

use std::io::Write;

use proptest::prelude::*;
use towpath_formats::sources::oci::{Layer, LayerEntry, LayerLimits, Spent};

const LIMITS: LayerLimits = LayerLimits {
    layer_bytes: 1 << 20,
    inflated_bytes: 1 << 16,
    file_bytes: 1 << 12,
    kept_bytes: 1 << 13,
    kept_entries: 50,
    entries: 100,
};

fn pushed(bytes: &[u8], piece: usize) -> Result<Vec<LayerEntry>, String> {
    behind(bytes, piece, Spent::default()).map(|(entries, _)| entries)
}

fn behind(bytes: &[u8], piece: usize, spent: Spent) -> Result<(Vec<LayerEntry>, Spent), String> {
    let mut layer = Layer::new(|path| !path.starts_with("un"), LIMITS, spent);
    bytes
        .chunks(piece)
        .try_for_each(|piece| layer.push(piece))?;
    layer.finish()
}

fn header(name: &[u8], kind: u8, size: u64) -> [u8; 512] {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name);
    header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    header[156] = kind;
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

#[test]
fn a_checksum_in_binary_form_is_wrong_and_no_panic() {
    let mut header = header(b"x", b'0', 0);
    header[148] = 0x80;
    assert_eq!(
        pushed(&header, 512),
        Err("it is not a tar archive, or a damaged one".to_owned())
    );
}

#[test]
fn a_size_in_binary_form_is_read_and_one_that_is_no_number_refused() {
    let with_size = |size: [u8; 12]| {
        let mut header = header(b"x", b'0', 0);
        header[124..136].copy_from_slice(&size);
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        header
    };
    let five = [
        &with_size([0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5])[..],
        &[b'a'; 5],
        &[0; 507],
    ]
    .concat();
    assert_eq!(
        pushed(&five, 100).unwrap()[0].kind,
        towpath_formats::sources::oci::EntryKind::File(b"aaaaa".to_vec())
    );
    assert_eq!(
        pushed(&with_size([0xff; 12]), 512),
        Err("the archive has a size that is no number".to_owned())
    );
}

/// The number of the first of many such layers that is too much, and why.
fn first_too_many(layer: &[u8]) -> (usize, String) {
    let mut spent = Spent::default();
    for number in 1..1_000 {
        match behind(layer, 700, spent) {
            Ok((_, after)) => spent = after,
            Err(problem) => return (number, problem),
        }
    }
    panic!("there is no end to it");
}

#[test]
fn limits_are_for_all_layers_together() {
    let files = |name: &str, count: usize, size: usize| {
        let file = [
            &header(name.as_bytes(), b'0', size as u64)[..],
            &vec![b'a'; size.next_multiple_of(512)],
        ]
        .concat();
        file.repeat(count)
    };
    // Ten layers are as much as is allowed, and the eleventh is too much.
    assert_eq!(
        first_too_many(&files("x", 5, 0)),
        (11, "there are more than 50 files".to_owned())
    );
    assert_eq!(
        first_too_many(&files("unwanted", 10, 0)),
        (11, "the layers have more than 100 entries".to_owned())
    );
    assert_eq!(
        first_too_many(&files("x", 2, 400)),
        (
            11,
            "the files are larger than 8192 bytes together".to_owned()
        )
    );
    assert_eq!(
        first_too_many(&files("unwanted", 1, 5_500)),
        (11, "the layers inflate to more than 65536 bytes".to_owned())
    );
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&files("unwanted", 1, 5_500)).unwrap();
    assert_eq!(
        first_too_many(&encoder.finish().unwrap()).0,
        11,
        "be they packed or not"
    );

    let half = Spent::default().with_layer(1 << 19, &LIMITS).unwrap();
    assert!(half.with_layer(1 << 19, &LIMITS).is_some());
    assert!(
        half.with_layer((1 << 19) + 1, &LIMITS).is_none()
            && half.with_layer(u64::MAX, &LIMITS).is_none()
    );
}

/// Archives that are nearly right: entries with sizes that fit or do not, and kinds that exist or do not.
fn archive() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![
        Just(b'0'),
        Just(b'5'),
        Just(b'2'),
        Just(b'L'),
        Just(b'x'),
        any::<u8>()
    ];
    let entry = (
        prop::collection::vec(any::<u8>(), 0..60),
        kind,
        prop::collection::vec(any::<u8>(), 0..700),
        0_u64..3,
    );
    prop::collection::vec(entry, 0..6).prop_map(|entries| {
        let mut archive = Vec::new();
        for (name, kind, content, off) in entries {
            archive.extend(header(&name, kind, content.len() as u64 + off / 2 * 1000));
            archive.extend(content);
            archive.resize(archive.len().next_multiple_of(512), 0);
        }
        archive
    })
}

proptest! {
    #[test]
    fn pieces_of_any_size_give_the_same(bytes in archive(), piece in 1_usize..1500, packed in any::<bool>()) {
        let bytes = if packed {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&bytes).unwrap();
            encoder.finish().unwrap()
        } else {
            bytes
        };
        prop_assert_eq!(pushed(&bytes, piece), pushed(&bytes, usize::MAX));
    }

    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..3000), gzip in any::<bool>(), piece in 1_usize..1500) {
        let bytes = if gzip { [&[0x1f, 0x8b, 8, 0][..], &bytes].concat() } else { bytes };
        // Whatever it says, it says so within its limits.
        if let Ok(entries) = pushed(&bytes, piece) {
            prop_assert!(entries.len() <= 3000 / 512);
        }
    }
}

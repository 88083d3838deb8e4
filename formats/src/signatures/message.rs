//! The envelope: from bytes to the signed data and its signatures.
//!
//! It takes one signed message in the forms that GnuPG writes, compressed at most once, armored or
//! not. It refuses anything else between or behind, so it is always clear which data a signature
//! covers.

use std::io::Read;

use pgp::armor::{BlockType, Dearmor};
use pgp::packet::{CompressedData, LiteralData, Packet, PacketParser, Signature};
use towpath_core::signatures::Refusal;

/// The largest signature that is looked at. Real ones have less than 1 KiB.
pub const MAX_SIGNATURE_BYTES: usize = 64 << 10;
/// The most that it may hold once it is unpacked.
pub const MAX_BODY_BYTES: usize = 256 << 10;
/// The most packets of one message. Real ones have three.
const MAX_PACKETS: usize = 32;

/// What is signed, and every signature of it.
#[derive(Debug)]
pub(super) struct SignedMessage {
    pub(super) body: Vec<u8>,
    pub(super) signatures: Vec<Signature>,
}

pub(super) fn open(bytes: &[u8]) -> Result<SignedMessage, Refusal> {
    let mut packets = packets(&binary(bytes, BlockType::Message)?)?;
    let inner = match packets.as_slice() {
        [Packet::CompressedData(data)] => Some(inflated(data)?),
        _ => None,
    };
    if let Some(inner) = inner {
        packets = self::packets(&inner)?;
    }
    signed(packets)
}

/// The signatures of a file that holds nothing else: those of data that is somewhere else.
pub(super) fn detached(bytes: &[u8]) -> Result<Vec<Signature>, Refusal> {
    let signatures = packets(&binary(bytes, BlockType::Signature)?)?
        .into_iter()
        .map(|packet| match packet {
            Packet::Signature(signature) => Ok(signature),
            _ => Err(not_openpgp(
                "it has packets that do not belong to a detached signature",
            )),
        })
        .collect::<Result<Vec<_>, _>>()?;
    match signatures.is_empty() {
        true => Err(not_openpgp("there is no signature in it")),
        false => Ok(signatures),
    }
}

/// The packets' bytes, without armor, which has to be of this kind.
fn binary(bytes: &[u8], kind: BlockType) -> Result<Vec<u8>, Refusal> {
    if bytes.len() > MAX_SIGNATURE_BYTES {
        return Err(Refusal::TooLarge {
            limit_bytes: MAX_SIGNATURE_BYTES,
        });
    }
    match bytes.first() {
        None => Err(not_openpgp("it is empty")),
        // Every binary packet begins with this bit, and no text does.
        Some(first) if first & 0x80 != 0 => Ok(bytes.to_vec()),
        Some(_) => dearmored(bytes, kind),
    }
}

fn dearmored(bytes: &[u8], kind: BlockType) -> Result<Vec<u8>, Refusal> {
    let mut armor = Dearmor::new(bytes);
    armor
        .read_header()
        .map_err(|_| not_openpgp("it is neither binary nor armored"))?;
    if armor.typ != Some(kind) {
        let problem = match kind {
            BlockType::Signature => "the armor is not that of a detached signature",
            _ => "the armor is not that of a message",
        };
        return Err(not_openpgp(problem));
    }
    let mut binary = Vec::new();
    // Armor only ever shrinks, so the limit on the bytes holds here too.
    armor
        .read_to_end(&mut binary)
        .map_err(|_| not_openpgp("the armor is broken"))?;
    Ok(binary)
}

fn packets(bytes: &[u8]) -> Result<Vec<Packet>, Refusal> {
    let mut packets = Vec::new();
    for packet in PacketParser::new(bytes) {
        if packets.len() == MAX_PACKETS {
            return Err(not_openpgp("it has too many packets"));
        }
        packets.push(packet.map_err(|_| not_openpgp("a packet is broken"))?);
    }
    Ok(packets)
}

fn inflated(data: &CompressedData) -> Result<Vec<u8>, Refusal> {
    let reader = data
        .decompress()
        .map_err(|_| not_openpgp("it is compressed in a way that we do not know"))?;
    let mut inner = Vec::new();
    let limit = MAX_BODY_BYTES as u64;
    reader
        .take(limit + 1)
        .read_to_end(&mut inner)
        .map_err(|_| not_openpgp("its compressed data is broken"))?;
    match inner.len() > MAX_BODY_BYTES {
        true => Err(Refusal::TooLarge {
            limit_bytes: MAX_BODY_BYTES,
        }),
        false => Ok(inner),
    }
}

/// The two forms of a signed message: announced before the data and signed behind it, or signed before it.
fn signed(packets: Vec<Packet>) -> Result<SignedMessage, Refusal> {
    let (mut announced, mut before, mut behind) = (0, Vec::new(), Vec::new());
    let mut literal: Option<LiteralData> = None;
    for packet in packets {
        match (packet, &literal) {
            (Packet::OnePassSignature(_), None) => announced += 1,
            (Packet::Signature(signature), None) => before.push(signature),
            (Packet::Signature(signature), Some(_)) => behind.push(signature),
            (Packet::LiteralData(data), None) => literal = Some(data),
            (Packet::CompressedData(_), _) => {
                return Err(not_openpgp("it is compressed more than once"));
            }
            _ => {
                return Err(not_openpgp(
                    "it has packets that do not belong to a signed message",
                ));
            }
        }
    }
    let body = match literal {
        Some(data) => data.into_bytes().to_vec(),
        None => return Err(not_openpgp("there is no data in it")),
    };
    let signatures = match (announced, before.len(), behind.len()) {
        (0, 0, 0) => return Err(not_openpgp("it is not signed")),
        (0, _, 0) => before,
        (announced, 0, signed) if announced == signed => behind,
        _ => {
            return Err(not_openpgp(
                "its signatures do not match the ones that it announces",
            ));
        }
    };
    Ok(SignedMessage { body, signatures })
}

fn not_openpgp(problem: &str) -> Refusal {
    Refusal::NotOpenPgp {
        problem: problem.to_owned(),
    }
}

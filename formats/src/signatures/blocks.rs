//! A file of keys, split into its armored blocks and their packets. Nothing in it is skipped.
//!
//! Text around armored blocks is for people. A block that holds no public keys is refused. So is
//! one that does not begin its line: GnuPG puts a colon before a revocation that is not meant yet,
//! and a person decides.

use std::io::Read;

use pgp::armor::{BlockType, Dearmor};
use pgp::errors::Error;
use pgp::packet::{Packet, PacketParser};

use super::statement::shown;

const BEGIN: &str = "-----BEGIN PGP PUBLIC KEY BLOCK-----";
const END: &str = "-----END PGP PUBLIC KEY BLOCK-----";
const ANY_BEGIN: &str = "-----BEGIN PGP ";

#[derive(Debug)]
pub(super) struct Block {
    /// The line where it begins; 0 if there are no lines.
    pub(super) line: u32,
    pub(super) packets: Vec<Packet>,
}

/// What is wrong with a file, and in which line; 0 for all of it.
#[derive(Debug)]
pub(super) struct FileProblem {
    pub(super) line: u32,
    pub(super) problem: String,
}

/// The blocks of a file, armored or binary.
pub(super) fn blocks(bytes: &[u8]) -> Result<Vec<Block>, FileProblem> {
    match bytes.first() {
        None => Err(wrong(0, "it is empty")),
        // Every binary packet begins with this bit, and no text does.
        Some(first) if first & 0x80 != 0 => Ok(vec![Block {
            line: 0,
            packets: packets(0, bytes)?,
        }]),
        Some(_) => armored(bytes),
    }
}

fn armored(bytes: &[u8]) -> Result<Vec<Block>, FileProblem> {
    let text = str::from_utf8(bytes).map_err(|_| wrong(0, "it is neither binary nor armored"))?;
    let (mut blocks, mut open) = (Vec::new(), None::<(u32, String)>);
    for (line, words) in (1..).zip(text.lines()) {
        let words = words.trim_end();
        match (&mut open, words) {
            (None, BEGIN) => open = Some((line, format!("{BEGIN}\n"))),
            (None, END) => return Err(wrong(line, "an armored block has an end and no beginning")),
            (None, words) if words.contains(ANY_BEGIN) => {
                return Err(wrong(line, other_block(words)));
            }
            (None, _) => {}
            (Some((begin, _)), words) if words.contains(ANY_BEGIN) => {
                return Err(cut_short(*begin));
            }
            (Some((begin, inside)), words) => {
                inside.push_str(words);
                inside.push('\n');
                if words == END {
                    blocks.push(block(*begin, inside)?);
                    open = None;
                }
            }
        }
    }
    match (open, blocks.is_empty()) {
        (Some((begin, _)), _) => Err(cut_short(begin)),
        (None, true) => Err(wrong(0, "there is no armored block of public keys in it")),
        (None, false) => Ok(blocks),
    }
}

fn other_block(words: &str) -> &'static str {
    match (words.starts_with(ANY_BEGIN), words.contains("PRIVATE")) {
        (_, true) => {
            "there is a secret key in it; take it away from here, and only export public keys"
        }
        (true, false) => "an armored block is not of public keys",
        (false, false) => {
            "an armored block does not begin its line; take away what is before it, or the block"
        }
    }
}

fn cut_short(begin: u32) -> FileProblem {
    wrong(begin, "an armored block has no end: the file is cut short")
}

fn block(line: u32, whole: &str) -> Result<Block, FileProblem> {
    let mut armor = Dearmor::new(whole.as_bytes());
    armor
        .read_header()
        .map_err(|_| wrong(line, "the head of an armored block is broken"))?;
    if armor.typ != Some(BlockType::PublicKey) {
        return Err(wrong(line, "an armored block is not of public keys"));
    }
    let mut bytes = Vec::new();
    armor
        .read_to_end(&mut bytes)
        .map_err(|_| wrong(line, "an armored block is broken"))?;
    match packets(line, &bytes)? {
        packets if packets.is_empty() => Err(wrong(line, "an armored block is empty")),
        packets => Ok(Block { line, packets }),
    }
}

/// The packets of a block. One that is cut short or not understood is an error: it could have been a revocation.
fn packets(line: u32, block: &[u8]) -> Result<Vec<Packet>, FileProblem> {
    let mut packets = Vec::new();
    for packet in PacketParser::new(block) {
        match packet {
            // Fillers, and notes that GnuPG makes for itself.
            Ok(Packet::Marker(_) | Packet::Padding(_) | Packet::Trust(_)) => {}
            Ok(Packet::SecretKey(_) | Packet::SecretSubkey(_)) => {
                let problem = "there is a secret key in it; take it away from here, and only export public keys";
                return Err(wrong(line, problem));
            }
            Ok(packet) => packets.push(packet),
            Err(error) => return Err(wrong(line, broken(&error))),
        }
    }
    Ok(packets)
}

fn broken(error: &Error) -> String {
    let inner = match error {
        Error::InvalidPacketContent { source } => source,
        other => other,
    };
    match inner {
        Error::Unsupported { message, .. } => {
            format!("a packet in it is not understood: {}", shown(message))
        }
        _ => "a packet is broken, or cut short".to_owned(),
    }
}

fn wrong(line: u32, problem: impl Into<String>) -> FileProblem {
    FileProblem {
        line,
        problem: problem.into(),
    }
}

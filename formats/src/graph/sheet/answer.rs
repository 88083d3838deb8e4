//! Answering from a sheet: which pieces does this client get?

use std::fmt::Write;

use bytes::{Bytes, BytesMut};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use smallvec::SmallVec;
use towpath_core::cluster::{ClusterId, Groups, Platform};
use towpath_core::graph::{Position, RingId, position};

use super::piece::{Encoding, GZIP_HEADER, Piece, Trailer};
use super::{Gate, List, Sheet};

/// Pieces up to this size are copied together; larger ones are sent from where they are.
const COPIED_BYTES: usize = 4096;

/// What an answer may depend on, besides the sheet.
#[derive(Debug, Clone, Copy)]
pub struct Client<'a> {
    pub id: Option<&'a ClusterId>,
    pub platform: Option<&'a Platform>,
    /// How people have sorted it. Nothing that a request says.
    pub groups: Option<&'a Groups>,
    /// When. Must be within the sheet's epoch.
    pub now: Timestamp,
}

/// A body, as chunks that follow each other.
#[derive(Debug, Default)]
pub struct Body {
    /// The chunks; none is empty.
    pub chunks: Vec<Bytes>,
    pub length: u64,
}

/// Which gates are open to a client. Two clients with the same answers get the same body.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Answers(SmallVec<[u64; 4]>);

impl Sheet {
    /// Answers the sheet's questions for a client.
    pub fn answers(&self, client: Client<'_>) -> Answers {
        debug_assert!(self.covers(client.now), "the sheet is of another epoch");
        let mut gates: SmallVec<[u64; 4]> = SmallVec::from_elem(0, self.gates.len().div_ceil(64));
        if self.gates.is_empty() {
            return Answers(gates);
        }
        let entered = self.entered(client);
        let platform = 1u64 << self.platform_bit(client.platform);
        for (
            number,
            Gate {
                question,
                platforms,
            },
        ) in self.gates.iter().enumerate()
        {
            let open = question.is_none_or(|question| entered[question as usize])
                && platforms & platform != 0;
            gates[number / 64] |= u64::from(open) << (number % 64);
        }
        Answers(gates)
    }

    /// For each question, whether the client's turn has come.
    fn entered(&self, client: Client<'_>) -> SmallVec<[bool; 32]> {
        if self.questions.is_empty() {
            return SmallVec::new();
        }
        let base: Option<Position> = client.id.map(position::base);
        let ring = RingId::of(client.groups, &self.rings);
        let entered = |question: &super::Question| {
            let window = question.windows.of(ring);
            let admits =
                |base: Position| window.admits(base.rotated(question.rotation), client.now);
            // A client without an id has entered what is over for everybody in its ring.
            base.map_or_else(|| window.is_over(client.now), admits)
        };
        self.questions.iter().map(entered).collect()
    }

    fn platform_bit(&self, platform: Option<&Platform>) -> usize {
        match platform.filter(|platform| platform.is_known()) {
            None => self.platforms.len() + 1,
            Some(platform) => self
                .platforms
                .binary_search(platform)
                .unwrap_or(self.platforms.len()),
        }
    }

    /// A strong entity tag: equal for equal bodies of one encoding, on every replica.
    pub fn entity_tag(&self, answers: &Answers) -> String {
        let mut tag = String::with_capacity(64);
        write!(tag, "\"{:016x}", self.digest).expect("writing to a string does not fail");
        let mut words = |words: &[u64]| {
            words
                .iter()
                .for_each(|word| write!(tag, "-{word:x}").expect("as above"))
        };
        match answers.0.as_slice() {
            few if few.len() <= 4 => words(few),
            many => {
                let bytes: Vec<u8> = many.iter().flat_map(|word| word.to_be_bytes()).collect();
                let digest = Sha256::digest(bytes);
                words(&[first_word(&digest), first_word(&digest[8..])]);
            }
        }
        tag.push_str(match self.encoding {
            Encoding::Identity => "\"",
            Encoding::Gzip => "-gz\"",
        });
        tag
    }

    pub fn body(&self, answers: &Answers) -> Body {
        let mut writer = BodyWriter::new(self.encoding);
        writer.piece(&self.front);
        let mut started = false;
        for group in &self.groups.groups {
            if group.edges.started || group.edges.items.iter().any(|item| answers.open(item.gate)) {
                writer.piece(if started && !self.groups.followed {
                    &group.further
                } else {
                    &group.first
                });
                writer.list(&group.edges, answers);
                writer.piece(&group.close);
                started = true;
            }
        }
        writer.piece(&self.everybody);
        writer.list(&self.edges, answers);
        writer.piece(&self.tail);
        writer.finish()
    }
}

impl Answers {
    fn open(&self, gate: usize) -> bool {
        self.0[gate / 64] >> (gate % 64) & 1 == 1
    }
}

fn first_word(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes[..8].try_into().expect("at least eight bytes"))
}

/// Gathers pieces: small ones are copied together, large ones shared.
struct BodyWriter {
    body: Body,
    copied: BytesMut,
    trailer: Option<Trailer>,
}

impl BodyWriter {
    fn new(encoding: Encoding) -> Self {
        let mut writer = Self {
            body: Body {
                chunks: Vec::with_capacity(8),
                length: 0,
            },
            copied: BytesMut::with_capacity(COPIED_BYTES),
            trailer: None,
        };
        if encoding == Encoding::Gzip {
            writer.trailer = Some(Trailer::default());
            writer.copied.extend_from_slice(&GZIP_HEADER);
        }
        writer
    }

    fn piece(&mut self, piece: &Piece) {
        if let Some(trailer) = &mut self.trailer {
            trailer.append(piece);
        }
        if piece.bytes.len() <= COPIED_BYTES {
            self.copied.extend_from_slice(&piece.bytes);
        } else {
            self.flush();
            self.chunk(piece.bytes.clone());
        }
    }

    fn list(&mut self, list: &List, answers: &Answers) {
        let mut started = list.started;
        for item in list.items.iter().filter(|item| answers.open(item.gate)) {
            self.piece(if started { &item.further } else { &item.first });
            started = true;
        }
    }

    fn flush(&mut self) {
        // Copied once more, to its size: an answer may be kept.
        let copied = Bytes::copy_from_slice(&self.copied);
        self.copied.clear();
        self.chunk(copied);
    }

    fn chunk(&mut self, chunk: Bytes) {
        if !chunk.is_empty() {
            self.body.length += chunk.len() as u64;
            self.body.chunks.push(chunk);
        }
    }

    fn finish(mut self) -> Body {
        if let Some(trailer) = self.trailer.take() {
            self.copied.extend_from_slice(&trailer.finish());
        }
        self.flush();
        self.body
    }
}

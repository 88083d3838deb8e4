//! Pieces: parts of a body, put together in any number and in either encoding.
//!
//! A gzip body is made of pieces that were compressed on their own, each ending on a byte
//! boundary. The trailer needs the checksum of the whole. Appending a piece multiplies the
//! checksum so far by a 32 × 32 bit matrix. The matrix depends only on the piece's length, and is
//! kept with the piece.

use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress, Status};

/// How a body is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encoding {
    Identity,
    Gzip,
}

/// A part of a body, ready to be sent.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) bytes: Bytes,
    checksum: Option<Box<Checksum>>,
}

#[derive(Debug)]
struct Checksum {
    /// Of the text, not of what is sent.
    crc: u32,
    text_bytes: u32,
    /// What appending the text does to a checksum.
    shift: [u32; 32],
}

/// The beginning of every gzip body: no name, no time, so that equal texts give equal bytes.
pub(super) const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// An empty last block.
const LAST_BLOCK: [u8; 2] = [3, 0];

impl Piece {
    pub(super) fn new(text: String, encoding: Encoding) -> Self {
        match encoding {
            Encoding::Identity => Self {
                bytes: Bytes::from(text.into_bytes().into_boxed_slice()),
                checksum: None,
            },
            Encoding::Gzip => {
                let checksum = Checksum::of(text.as_bytes());
                Self {
                    bytes: Bytes::from(deflate(text.as_bytes()).into_boxed_slice()),
                    checksum: Some(Box::new(checksum)),
                }
            }
        }
    }
}

impl Piece {
    /// Roughly what it holds in memory.
    pub(super) fn size(&self) -> usize {
        let checksum = if self.checksum.is_some() {
            std::mem::size_of::<Checksum>()
        } else {
            0
        };
        std::mem::size_of::<Self>() + self.bytes.len() + checksum
    }
}

impl Checksum {
    fn of(text: &[u8]) -> Self {
        let text_bytes = u32::try_from(text.len()).expect("a body is smaller than 4 GiB");
        let shifted = |crc: u32| {
            let mut hasher = crc32fast::Hasher::new_with_initial(crc);
            hasher.combine(&crc32fast::Hasher::new_with_initial_len(
                0,
                text.len() as u64,
            ));
            hasher.finalize()
        };
        Self {
            crc: crc32fast::hash(text),
            text_bytes,
            shift: std::array::from_fn(|bit| shifted(1 << bit)),
        }
    }
}

/// Compresses a text into blocks that end on a byte boundary and refer to nothing before them.
fn deflate(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 4 + 64);
    let mut deflate = Compress::new(Compression::new(6), false);
    loop {
        let read = usize::try_from(deflate.total_in()).expect("within the text");
        let status = deflate
            .compress_vec(&text[read..], &mut out, FlushCompress::Sync)
            .expect("deflate has no invalid input");
        let all_read = deflate.total_in() == text.len() as u64;
        if status == Status::Ok && all_read && out.len() < out.capacity() {
            return out;
        }
        out.reserve(out.capacity().max(1024));
    }
}

/// The checksum of a gzip body as it grows.
#[derive(Debug, Default)]
pub(super) struct Trailer {
    crc: u32,
    text_bytes: u32,
}

impl Trailer {
    pub(super) fn append(&mut self, piece: &Piece) {
        let Some(next) = &piece.checksum else { return };
        let mut crc = next.crc;
        for (bit, column) in next.shift.iter().enumerate() {
            // Branch-free: all ones where the bit is set.
            crc ^= column & ((self.crc >> bit) & 1).wrapping_neg();
        }
        self.crc = crc;
        self.text_bytes = self.text_bytes.wrapping_add(next.text_bytes);
    }

    /// The last bytes of the body.
    pub(super) fn finish(self) -> [u8; 10] {
        let mut bytes = [0; 10];
        bytes[..2].copy_from_slice(&LAST_BLOCK);
        bytes[2..6].copy_from_slice(&self.crc.to_le_bytes());
        bytes[6..].copy_from_slice(&self.text_bytes.to_le_bytes());
        bytes
    }
}

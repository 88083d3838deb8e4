//! A layer of an image: a tar archive, gzipped or not, of which a few files are wanted.
//!
//! Bytes are pushed in as they come over the network. What is held is bounded by what is wanted, never by the layer: whoever sends a bomb
//! is stopped at the limit of what it inflates to.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;

use super::tar::Tar;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Where reading a layer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerLimits {
    /// The largest layer, as it is stored.
    pub layer_bytes: u64,
    /// The most that it may inflate to.
    pub inflated_bytes: u64,
    /// The largest file that is kept.
    pub file_bytes: u64,
    /// The most that is kept.
    pub kept_bytes: u64,
}

/// Something in a layer that was wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path from the root of the image, without a `/` in front.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry of a layer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A file, with its content.
    File(Vec<u8>),
    /// A folder.
    Folder,
    /// A link, hard or symbolic; where to is not looked at.
    Link,
    /// A device, a pipe, or what else there may be.
    Other,
}

/// A layer, up to where it has been pushed in.
pub struct Layer(Packing);

enum Packing {
    /// Too little has come to tell.
    Unknown(Unpacked),
    Gzip(Box<MultiGzDecoder<Unpacked>>),
    Plain(Unpacked),
}

struct Unpacked {
    /// The first bytes, until it is known how they are packed.
    head: Vec<u8>,
    tar: Tar,
    left: u64,
    limit: u64,
    problem: Option<String>,
}

impl Layer {
    /// A layer of which nothing has come yet.
    pub fn new(wanted: fn(&str) -> bool, limits: LayerLimits) -> Self {
        let limit = limits.inflated_bytes;
        let tar = Tar::new(wanted, limits);
        Self(Packing::Unknown(Unpacked { head: Vec::new(), tar, left: limit, limit, problem: None }))
    }

    /// Takes in what comes next. What is wrong with it, in a sentence of its own.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        match &mut self.0 {
            Packing::Unknown(unpacked) => {
                unpacked.head.extend_from_slice(bytes);
                match unpacked.head.len() < GZIP.len() {
                    true => Ok(()),
                    false => self.unpack(),
                }
            }
            Packing::Plain(unpacked) => unpacked.take(bytes),
            Packing::Gzip(decoder) => {
                let end = decoder.write_all(bytes);
                let problem = decoder.get_mut().problem.clone();
                end.map_err(|error| problem.unwrap_or_else(|| not_gzip(&error)))
            }
        }
    }

    /// All has come. What was wanted, in the layer's order.
    pub fn finish(self) -> Result<Vec<Entry>, String> {
        match self.0 {
            Packing::Unknown(unpacked) if unpacked.head.is_empty() => Ok(Vec::new()),
            Packing::Unknown(_) => Err("the archive is cut short".to_owned()),
            Packing::Plain(unpacked) => unpacked.tar.finish(),
            Packing::Gzip(mut decoder) => {
                let end = decoder.try_finish();
                let problem = decoder.get_mut().problem.clone();
                end.map_err(|error| problem.unwrap_or_else(|| not_gzip(&error)))?;
                decoder.finish().map_err(|error| not_gzip(&error))?.tar.finish()
            }
        }
    }

    fn unpack(&mut self) -> Result<(), String> {
        let nothing =
            Unpacked { head: Vec::new(), tar: Tar::new(|_| false, NOTHING), left: 0, limit: 0, problem: None };
        let Packing::Unknown(mut unpacked) = std::mem::replace(&mut self.0, Packing::Unknown(nothing)) else {
            return Ok(());
        };
        let head = std::mem::take(&mut unpacked.head);
        self.0 = match head.starts_with(&GZIP) {
            true => Packing::Gzip(Box::new(MultiGzDecoder::new(unpacked))),
            false => Packing::Plain(unpacked),
        };
        self.push(&head)
    }
}

const NOTHING: LayerLimits = LayerLimits { layer_bytes: 0, inflated_bytes: 0, file_bytes: 0, kept_bytes: 0 };

impl Unpacked {
    fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        let left = self.left.checked_sub(bytes.len() as u64);
        self.left = left.ok_or_else(|| format!("the layer inflates to more than {} bytes", self.limit))?;
        self.tar.push(bytes)
    }
}

/// Where the decoder writes to. It wants an error of its own kind; ours is kept beside it.
impl Write for Unpacked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Once stopped, always stopped: the decoder writes what it still has when it is dropped.
        if self.problem.is_none() {
            self.problem = self.take(bytes).err();
        }
        match self.problem {
            None => Ok(bytes.len()),
            Some(_) => Err(io::Error::other("stopped")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn not_gzip(error: &io::Error) -> String {
    format!("the gzip stream is damaged or cut short: {error}")
}

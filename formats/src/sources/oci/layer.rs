//! A layer of an image: a tar archive, gzipped or not. We want a few of its files.
//!
//! The caller pushes bytes as they arrive. Memory is bounded by the wanted files, never by the
//! layer. A zip bomb is stopped at the limit of inflated bytes. The limits hold for a whole image,
//! because five hundred small bombs are a large one.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;

use super::tar::Tar;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Where reading the layers of an image ends. All but the size of a file is for those that are read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerLimits {
    /// The most that is read, as it is stored.
    pub layer_bytes: u64,
    /// The most that it may inflate to.
    pub inflated_bytes: u64,
    /// The largest file that is kept.
    pub file_bytes: u64,
    /// The most that is kept.
    pub kept_bytes: u64,
    /// The most files, links and folders that are kept.
    pub kept_entries: u64,
    /// The most that are looked at.
    pub entries: u64,
}

/// What the layers of an image have taken so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    pub(super) layer_bytes: u64,
    pub(super) inflated_bytes: u64,
    pub(super) kept_bytes: u64,
    pub(super) kept_entries: u64,
    pub(super) entries: u64,
}

impl Spent {
    /// Adds a layer of a declared length. None if that is too much.
    pub fn with_layer(self, bytes: u64, limits: &LayerLimits) -> Option<Self> {
        let layer_bytes = self.layer_bytes.saturating_add(bytes);
        (layer_bytes <= limits.layer_bytes).then_some(Self {
            layer_bytes,
            ..self
        })
    }
}

/// Something in a layer that was wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerEntry {
    /// Its path from the root of the image, without a `/` in front.
    pub path: String,
    pub kind: EntryKind,
}

/// What an entry of a layer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A file, with its content.
    File(Vec<u8>),
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
    Unknown(UnpackedBytes),
    Gzip(Box<MultiGzDecoder<UnpackedBytes>>),
    Plain(UnpackedBytes),
}

struct UnpackedBytes {
    /// The first bytes, until it is known how they are packed.
    head: Vec<u8>,
    tar: Tar,
    problem: Option<String>,
}

impl Layer {
    /// A layer before its first byte, and what the layers before it have used.
    pub fn new(wanted: fn(&str) -> bool, limits: LayerLimits, spent: Spent) -> Self {
        Self(Packing::Unknown(UnpackedBytes {
            head: Vec::new(),
            tar: Tar::new(wanted, limits, spent),
            problem: None,
        }))
    }

    /// Takes in what comes next. What is wrong with it, in a sentence of its own.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        match &mut self.0 {
            Packing::Unknown(unpacked) => {
                unpacked.head.extend_from_slice(bytes);
                match unpacked.head.len() < ZSTD.len() {
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

    /// All has come. What was wanted, in the layer's order; and what all layers have taken now.
    pub fn finish(mut self) -> Result<(Vec<LayerEntry>, Spent), String> {
        if matches!(&self.0, Packing::Unknown(unpacked) if unpacked.head.starts_with(&GZIP)) {
            self.unpack()?;
        }
        match self.0 {
            Packing::Unknown(unpacked) if unpacked.head.is_empty() => unpacked.tar.finish(),
            Packing::Unknown(_) => Err("the archive is cut short".to_owned()),
            Packing::Plain(unpacked) => unpacked.tar.finish(),
            Packing::Gzip(mut decoder) => {
                let end = decoder.try_finish();
                let problem = decoder.get_mut().problem.clone();
                end.map_err(|error| problem.unwrap_or_else(|| not_gzip(&error)))?;
                decoder
                    .finish()
                    .map_err(|error| not_gzip(&error))?
                    .tar
                    .finish()
            }
        }
    }

    fn unpack(&mut self) -> Result<(), String> {
        let nothing = UnpackedBytes {
            head: Vec::new(),
            tar: Tar::new(|_| false, NOTHING, Spent::default()),
            problem: None,
        };
        let Packing::Unknown(mut unpacked) =
            std::mem::replace(&mut self.0, Packing::Unknown(nothing))
        else {
            return Ok(());
        };
        let head = std::mem::take(&mut unpacked.head);
        if head.starts_with(&ZSTD) {
            return Err(
                "the layer is packed with zstd, which is not read; push it with gzip".to_owned(),
            );
        }
        self.0 = match head.starts_with(&GZIP) {
            true => Packing::Gzip(Box::new(MultiGzDecoder::new(unpacked))),
            false => Packing::Plain(unpacked),
        };
        self.push(&head)
    }
}

const NOTHING: LayerLimits = LayerLimits {
    layer_bytes: 0,
    inflated_bytes: 0,
    file_bytes: 0,
    kept_bytes: 0,
    kept_entries: 0,
    entries: 0,
};

impl UnpackedBytes {
    fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        let (spent, limit) = (&mut self.tar.spent, self.tar.limits.inflated_bytes);
        spent.inflated_bytes = spent.inflated_bytes.saturating_add(bytes.len() as u64);
        match spent.inflated_bytes > limit {
            true => Err(format!("the layers inflate to more than {limit} bytes")),
            false => self.tar.push(bytes),
        }
    }
}

/// Where the decoder writes to. It wants an error of its own kind; ours is kept beside it.
impl Write for UnpackedBytes {
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

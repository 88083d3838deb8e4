//! Tar, read as it arrives: the caller pushes bytes, and only the wanted files are kept.
//!
//! A pulling reader would need a thread for each layer, or the whole layer in memory. It knows
//! ustar, GNU's long names, and the paths and sizes of pax. Sparse files are refused, because
//! their content need not be in the archive.

use super::layer::{EntryKind, LayerEntry, LayerLimits, Spent};

const BLOCK: usize = 512;
/// Long names and pax records; no path of ours comes near.
const MAX_EXTENSION_BYTES: u64 = 64 << 10;

/// A tar archive, up to where it has been pushed in.
pub(super) struct Tar {
    wanted: fn(&str) -> bool,
    pub(super) limits: LayerLimits,
    pub(super) spent: Spent,
    state: State,
    header: Vec<u8>,
    /// What extends the next header.
    next: Extension,
    kept: Vec<LayerEntry>,
}

enum State {
    /// A header comes, or the end.
    Header,
    /// Content comes, and then padding up to a whole block.
    Content { left: u64, padding: u64, into: Into },
    /// The end has been seen; what follows means nothing.
    Ended,
}

enum Into {
    Nothing,
    Kept { path: String, bytes: Vec<u8> },
    LongName(Vec<u8>),
    Pax(Vec<u8>),
}

#[derive(Default)]
struct Extension {
    path: Option<String>,
    size: Option<u64>,
}

impl Tar {
    pub(super) fn new(wanted: fn(&str) -> bool, limits: LayerLimits, spent: Spent) -> Self {
        Self {
            wanted,
            limits,
            spent,
            state: State::Header,
            header: Vec::with_capacity(BLOCK),
            next: Extension::default(),
            kept: Vec::new(),
        }
    }

    /// Takes in what comes next.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            match &mut self.state {
                State::Ended => return Ok(()),
                State::Header => {
                    let taken = bytes.len().min(BLOCK - self.header.len());
                    self.header.extend_from_slice(&bytes[..taken]);
                    bytes = &bytes[taken..];
                    if self.header.len() == BLOCK {
                        let header = std::mem::take(&mut self.header);
                        self.state = self.begin(&header)?;
                        self.header = header;
                        self.header.clear();
                        self.end_if_whole()?;
                    }
                }
                State::Content {
                    left,
                    padding,
                    into,
                } => {
                    let of_content = usize::try_from(*left)
                        .unwrap_or(usize::MAX)
                        .min(bytes.len());
                    into.take(&bytes[..of_content]);
                    *left -= of_content as u64;
                    bytes = &bytes[of_content..];
                    let of_padding = usize::try_from(*padding)
                        .unwrap_or(usize::MAX)
                        .min(bytes.len());
                    *padding -= of_padding as u64;
                    bytes = &bytes[of_padding..];
                    self.end_if_whole()?;
                }
            }
        }
        Ok(())
    }

    /// All has come: was it whole?
    pub(super) fn finish(self) -> Result<(Vec<LayerEntry>, Spent), String> {
        // Some writers leave out the blocks that mark the end.
        match (&self.state, self.header.is_empty()) {
            (State::Header, true) | (State::Ended, _) => Ok((self.kept, self.spent)),
            _ => Err("the archive is cut short".to_owned()),
        }
    }

    fn begin(&mut self, header: &[u8]) -> Result<State, String> {
        if header.iter().all(|byte| *byte == 0) {
            return Ok(State::Ended);
        }
        check_sum(header)?;
        self.spent.entries += 1;
        if self.spent.entries > self.limits.entries {
            return Err(format!(
                "the layers have more than {} entries",
                self.limits.entries
            ));
        }
        let flag = header[156];
        let written =
            number(&header[124..136]).ok_or("the archive has a size that is no number")?;
        if matches!(flag, b'L' | b'K' | b'x' | b'g') && written > MAX_EXTENSION_BYTES {
            return Err(format!(
                "the archive has a name longer than {MAX_EXTENSION_BYTES} bytes"
            ));
        }
        let content = |left: u64, into: Into| State::Content {
            left,
            padding: left.wrapping_neg() % BLOCK as u64,
            into,
        };
        match flag {
            b'L' => return Ok(content(written, Into::LongName(Vec::new()))),
            b'x' => return Ok(content(written, Into::Pax(Vec::new()))),
            b'K' | b'g' => return Ok(content(written, Into::Nothing)),
            b'S' => return Err("the archive has a sparse file, which is not read".to_owned()),
            _ => {}
        }
        let extension = std::mem::take(&mut self.next);
        let path = plain_path(&extension.path.unwrap_or_else(|| header_path(header)));
        let kind = match flag {
            b'0' | 0 | b'7' => EntryKind::File(Vec::new()),
            b'5' => EntryKind::Folder,
            b'1' | b'2' => EntryKind::Link,
            _ => EntryKind::Other,
        };
        let size = match flag {
            // Links, folders, devices and pipes have no content, whatever they say.
            b'1'..=b'6' => 0,
            _ => extension.size.unwrap_or(written),
        };
        let Some(path) = path.filter(|path| (self.wanted)(path)) else {
            return Ok(content(size, Into::Nothing));
        };
        self.room_for(
            &path,
            if matches!(kind, EntryKind::File(_)) {
                size
            } else {
                0
            },
        )?;
        if matches!(kind, EntryKind::File(_)) {
            return Ok(content(
                size,
                Into::Kept {
                    path,
                    bytes: Vec::new(),
                },
            ));
        }
        self.kept.push(LayerEntry { path, kind });
        Ok(content(size, Into::Nothing))
    }

    fn room_for(&mut self, path: &str, size: u64) -> Result<(), String> {
        let (spent, limits) = (&mut self.spent, &self.limits);
        spent.kept_bytes = spent
            .kept_bytes
            .saturating_add(size)
            .saturating_add(path.len() as u64);
        spent.kept_entries += 1;
        match (
            size > limits.file_bytes,
            spent.kept_bytes > limits.kept_bytes,
        ) {
            (true, _) => Err(format!("{path} is larger than {} bytes", limits.file_bytes)),
            (_, true) => Err(format!(
                "the files are larger than {} bytes together",
                limits.kept_bytes
            )),
            _ if spent.kept_entries > limits.kept_entries => {
                Err(format!("there are more than {} files", limits.kept_entries))
            }
            _ => Ok(()),
        }
    }

    fn end_if_whole(&mut self) -> Result<(), String> {
        if !matches!(
            self.state,
            State::Content {
                left: 0,
                padding: 0,
                ..
            }
        ) {
            return Ok(());
        }
        if let State::Content { into, .. } = std::mem::replace(&mut self.state, State::Header) {
            match into {
                Into::Nothing => {}
                Into::Kept { path, bytes } => self.kept.push(LayerEntry {
                    path,
                    kind: EntryKind::File(bytes),
                }),
                Into::LongName(bytes) => self.next.path = Some(text(&bytes)),
                Into::Pax(bytes) => self.next.read_pax(&bytes)?,
            }
        }
        Ok(())
    }
}

impl Into {
    fn take(&mut self, content: &[u8]) {
        match self {
            Self::Nothing => {}
            Self::Kept { bytes, .. } | Self::LongName(bytes) | Self::Pax(bytes) => {
                bytes.extend_from_slice(content)
            }
        }
    }
}

impl Extension {
    /// Records of the form `<length> <key>=<value>\n`.
    fn read_pax(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        const WRONG: &str = "the archive has a pax record that cannot be read";
        while !bytes.is_empty() {
            let space = bytes.iter().position(|byte| *byte == b' ').ok_or(WRONG)?;
            let length: usize = text(&bytes[..space]).parse().map_err(|_| WRONG)?;
            let record = bytes
                .get(space + 1..length)
                .and_then(|record| record.strip_suffix(b"\n"))
                .ok_or(WRONG)?;
            let equals = record.iter().position(|byte| *byte == b'=').ok_or(WRONG)?;
            let (key, value) = (&record[..equals], &record[equals + 1..]);
            match key {
                b"path" => self.path = Some(text(value)),
                b"size" => self.size = Some(text(value).parse().map_err(|_| WRONG)?),
                key if key.starts_with(b"GNU.sparse.") => {
                    return Err("the archive has a sparse file, which is not read".to_owned());
                }
                _ => {}
            }
            bytes = &bytes[length..];
        }
        Ok(())
    }
}

fn check_sum(header: &[u8]) -> Result<(), String> {
    let sum: u64 = header
        .iter()
        .enumerate()
        .map(|(at, byte)| {
            u64::from(if (148..156).contains(&at) {
                b' '
            } else {
                *byte
            })
        })
        .sum();
    match number(&header[148..156]) == Some(sum) {
        true => Ok(()),
        false => Err("it is not a tar archive, or a damaged one".to_owned()),
    }
}

/// Octal digits, or GNU's binary form for what they cannot hold.
fn number(field: &[u8]) -> Option<u64> {
    let (first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        let shifted = |sum: u64, byte: &u8| sum.checked_mul(256)?.checked_add(u64::from(*byte));
        return rest.iter().try_fold(u64::from(first & 0x7f), shifted);
    }
    let digits = field.split(|byte| *byte == 0).next().unwrap_or_default();
    let digits = std::str::from_utf8(digits).ok()?.trim_matches(' ');
    match digits {
        "" => Some(0),
        digits => u64::from_str_radix(digits, 8).ok(),
    }
}

fn header_path(header: &[u8]) -> String {
    let (name, prefix) = (text(&header[..100]), text(&header[345..500]));
    // Only POSIX has a prefix there; GNU has times.
    match &header[257..263] == b"ustar\0" && !prefix.is_empty() {
        true => format!("{prefix}/{name}"),
        false => name,
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

/// A path from the root of the image, without `.`; none if it has a `..` in it, which no builder writes.
fn plain_path(path: &str) -> Option<String> {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    (!parts.contains(&"..")).then(|| parts.join("/"))
}

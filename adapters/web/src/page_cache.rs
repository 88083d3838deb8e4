//! Mirrors large pieces in the page cache, so that the kernel sends them without copying.
//!
//! Copying a few hundred kilobytes into a socket costs more than the rest of an answer. So an anonymous file mirrors such a
//! piece, and a connection sends the file instead of the memory. A mirror lives exactly as long as its memory: the owner
//! of the memory removes it before freeing.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use bytes::Bytes;
use rustix::fs::{MemfdFlags, memfd_create};

/// Below this, copying is cheaper.
pub(crate) const MIN_BYTES: usize = 64 * 1024;

/// The mirrored memory, sorted by address.
pub(crate) struct PageCache {
    entries: ArcSwap<Vec<MemoryMirror>>,
    /// The most entries: each has a file open.
    most: AtomicUsize,
}

impl Default for PageCache {
    fn default() -> Self {
        Self {
            entries: ArcSwap::default(),
            most: AtomicUsize::new(usize::MAX),
        }
    }
}

#[derive(Clone)]
struct MemoryMirror {
    address: usize,
    length: usize,
    file: Arc<OwnedFd>,
}

/// Memory that removes its mirror when it is dropped.
struct Owner {
    bytes: Bytes,
    cache: Arc<PageCache>,
}

impl PageCache {
    /// Mirrors at most this many pieces. Others are copied.
    pub(crate) fn limit(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Mirrors the bytes if possible.
    pub(crate) fn mirror(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        if self.entries.load().len() >= self.most.load(Ordering::Relaxed) {
            return bytes;
        }
        let file = match anonymous_file(&bytes) {
            Ok(file) => Arc::new(file),
            Err(error) => {
                tracing::debug!(%error, "a piece could not be mirrored");
                return bytes;
            }
        };
        let entry = MemoryMirror {
            address: address(&bytes),
            length: bytes.len(),
            file,
        };
        self.entries.rcu(|entries| {
            let mut entries = entries.to_vec();
            let place = entries.partition_point(|other| other.address < entry.address);
            entries.insert(place, entry.clone());
            entries
        });
        Bytes::from_owner(Owner {
            bytes,
            cache: self.clone(),
        })
    }

    /// The file that mirrors this memory, and the offset.
    pub(crate) fn find(&self, memory: &[u8]) -> Option<(Arc<OwnedFd>, u64)> {
        if memory.len() < MIN_BYTES / 2 {
            return None;
        }
        let entries = self.entries.load();
        let after = entries.partition_point(|entry| entry.address <= address(memory));
        let entry = entries.get(after.checked_sub(1)?)?;
        let offset = address(memory) - entry.address;
        (offset + memory.len() <= entry.length).then(|| (entry.file.clone(), offset as u64))
    }
}

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let gone = address(&self.bytes);
        self.cache.entries.rcu(|entries| {
            entries
                .iter()
                .filter(|entry| entry.address != gone)
                .cloned()
                .collect::<Vec<_>>()
        });
    }
}

fn address(memory: &[u8]) -> usize {
    memory.as_ptr().addr()
}

fn anonymous_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = std::fs::File::from(memfd_create("towpath-sheet", MemfdFlags::CLOEXEC)?);
    io::Write::write_all(&mut file, bytes)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_found_in_its_file_for_as_long_as_it_lives() {
        let cache = Arc::new(PageCache::default());
        let text: Vec<u8> = (0..200_000u32).map(|n| n as u8).collect();
        let (first, second) = (
            cache.mirror(Bytes::from(text.clone())),
            cache.mirror(Bytes::from(text.clone())),
        );
        let part = first.slice(1000..101_000);
        let (file, offset) = cache.find(&part).expect("mirrored");
        assert_eq!(offset, 1000);
        let mut read = vec![0; part.len()];
        rustix::io::pread(&file, &mut read, offset).unwrap();
        assert_eq!(read, part);
        assert!(
            cache.find(&text).is_none(),
            "equal bytes elsewhere are other memory"
        );
        drop(first);
        assert!(cache.find(&part).is_some(), "a part of it lives");
        drop(part);
        assert_eq!(cache.entries.load().len(), 1);
        assert!(cache.find(&second).is_some());
        drop(second);
        assert!(cache.entries.load().is_empty());
    }
}

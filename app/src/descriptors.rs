//! Limits connections to the file descriptors that there are, so that files can still be opened when all connections are in use.

use anyhow::bail;
use rustix::process::{Resource, getrlimit, setrlimit};
use towpath_web::Limits;

/// Descriptors for files, sources, the store, watches and whatever else is not a connection.
const FILES: usize = 128;
/// Each core has a thread with its own event queue and what belongs to it.
const PER_CORE: usize = 8;
/// Fewer connections than this are no service.
const MIN_CONNECTIONS: usize = 16;
/// The most large pieces of answers that are kept in files.
const MAX_MIRRORED: usize = 512;

/// What the descriptors are used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) connections: usize,
    pub(crate) mirrored_pieces: usize,
}

/// Raises the limit as far as this process may, and says what it is then; none is no limit. It is looked at once, at the start.
pub(crate) fn raised_limit() -> Option<usize> {
    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    limit.current = limit.maximum;
    let in_force = match setrlimit(Resource::Nofile, limit) {
        Ok(()) => limit.maximum,
        Err(error) => {
            tracing::debug!(%error, "the limit of open files could not be raised");
            before
        }
    };
    in_force.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// As many connections as are wanted and there is room for.
pub(crate) fn budget(wanted: usize, limit: Option<usize>, cores: usize) -> anyhow::Result<Budget> {
    let Some(limit) = limit else {
        return Ok(Budget {
            connections: wanted,
            mirrored_pieces: MAX_MIRRORED,
        });
    };
    let others = FILES + PER_CORE * cores + Limits::RESERVED_CONNECTIONS;
    let room = limit.saturating_sub(others);
    let mirrored_pieces = MAX_MIRRORED.min(room / 8);
    let room = room - mirrored_pieces;
    if room < MIN_CONNECTIONS.min(wanted) {
        let needed = others + MIN_CONNECTIONS * 8 / 7 + 1;
        bail!(
            "the limit of open files is {limit}, which leaves no room for connections; raise it to {needed} or more (ulimit -n)"
        );
    }
    Ok(Budget {
        connections: wanted.min(room),
        mirrored_pieces,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_files() {
        for (wanted, limit, expected) in [
            (10_000, None, Some((10_000, 512))),
            (10_000, Some(1_048_576), Some((10_000, 512))),
            (10_000, Some(4_096), Some((3_402, 486))),
            (10_000, Some(256), Some((42, 6))),
            (10, Some(256), Some((10, 6))),
            (10_000, Some(226), Some((16, 2))),
            (10_000, Some(225), None),
            (10_000, Some(64), None),
        ] {
            let found = budget(wanted, limit, 2)
                .ok()
                .map(|found| (found.connections, found.mirrored_pieces));
            assert_eq!(found, expected, "{wanted} with {limit:?}");
        }
    }

    #[test]
    fn the_named_limit_is_enough() {
        let error = budget(10_000, Some(64), 2).unwrap_err().to_string();
        let named: usize = error
            .split(' ')
            .find_map(|word| word.parse().ok().filter(|n| *n > 64))
            .unwrap();
        assert!(budget(10_000, Some(named), 2).is_ok(), "{error}");
    }
}

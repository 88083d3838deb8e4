//! Since when each block exists: the last commit that added its file.
//!
//! A change of the file does not count as a new arrival. In a history that was cut short (a shallow clone) everything arrives
//! with the first commit.

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;
use towpath_core::audit::Arrivals;
use towpath_sources::Git;

/// When the blocks of a directory came; none where it is in no repository.
pub(super) fn read(directory: &Path) -> anyhow::Result<Option<Arrivals>> {
    let Ok(git) = Git::at(directory) else {
        return Ok(None);
    };
    if git.commit("HEAD").is_err() {
        return Ok(Some(Arrivals::new()));
    }
    let history = git.history("HEAD", &["blocked-edges"])?;
    let changes = history
        .iter()
        .flat_map(|commit| commit.changes.iter().map(|change| (commit.at, change)));
    Ok(Some(fold(changes.map(|(at, (file, blob))| {
        (
            at,
            file.as_str(),
            blob.as_ref().map_or(State::Gone, |_| State::There),
        )
    }))))
}

/// What a commit left of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    There,
    Gone,
}

/// The earliest change first.
fn fold<'a>(changes: impl Iterator<Item = (Timestamp, &'a str, State)>) -> Arrivals {
    let (mut arrivals, mut there) = (Arrivals::new(), BTreeSet::new());
    for (at, file, state) in changes {
        match state {
            State::There if there.insert(file) => drop(arrivals.insert(file.to_owned(), at)),
            State::There => {}
            State::Gone => {
                there.remove(file);
                arrivals.remove(file);
            }
        }
    }
    arrivals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_came_when_it_was_last_added() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let changes = [
            (at(1), "a", State::There),
            (at(2), "b", State::There),
            (at(3), "a", State::Gone),
            (at(4), "b", State::There),
            (at(5), "a", State::There),
            (at(6), "c", State::There),
            (at(7), "c", State::Gone),
        ];
        assert_eq!(
            fold(changes.into_iter()),
            Arrivals::from([("a".to_owned(), at(5)), ("b".to_owned(), at(2))])
        );
    }
}

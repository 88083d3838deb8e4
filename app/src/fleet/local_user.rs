//! Who runs a command that opens the store itself: the operating system's user. Nobody types that name, and no token proves it, so
//! it is marked: `local:alice`.

use towpath_core::access::{Identity, Source};
use towpath_core::fleet::{Actor, Doer};

/// Users of this machine: one per line, with the number behind the second colon.
const USERS: &str = "/etc/passwd";
/// A larger file is not read.
const MAX_BYTES: u64 = 16 << 20;

pub(crate) fn local_user() -> Actor {
    let number = rustix::process::getuid().as_raw();
    let is_small = std::fs::metadata(USERS).is_ok_and(|file| file.len() <= MAX_BYTES);
    let users = is_small
        .then(|| std::fs::read_to_string(USERS).ok())
        .flatten();
    let name = users.as_deref().and_then(|users| name_of(users, number));
    actor(name, number)
}

/// The same as somebody who changes a store.
pub(crate) fn local_doer() -> Doer {
    Doer {
        actor: local_user(),
        from: "local".into(),
    }
}

/// A user of a directory service is not in the file: then the number is the name.
fn actor(name: Option<&str>, number: u32) -> Actor {
    let name = name.map_or_else(
        || format!("local:uid-{number}"),
        |name| format!("local:{name}"),
    );
    let identity = Identity {
        name: name.into(),
        source: Source::Store,
    };
    Actor::from(&identity)
}

fn name_of(users: &str, number: u32) -> Option<&str> {
    let mut lines = users.lines().map(|line| line.split(':'));
    lines.find_map(|mut fields| {
        let (name, _, id) = (fields.next()?, fields.next()?, fields.next()?);
        (!name.is_empty() && id.parse() == Ok(number)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_the_number_or_called_by_it() {
        let users = "root:x:0:0:root:/root:/bin/sh\n\nalice:x:1000:1000::/home/alice:/bin/sh\nbroken\n:x:7:\n";
        for (number, expected) in [
            (0, "local:root"),
            (1000, "local:alice"),
            (7, "local:uid-7"),
            (10, "local:uid-10"),
        ] {
            let actor = actor(name_of(users, number), number);
            assert_eq!(
                (&*actor.name, &*actor.known_by),
                (expected, "a command on the store")
            );
        }
        assert!(local_user().name.starts_with("local:"));
    }
}

//! Errors of a store, by what to do about them.

use sqlx::Error;

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached, or did not answer in time: try again later.
    #[error("the store is not available: {0}")]
    Unavailable(String),
    /// Another scheduler holds the lease: stop acting.
    #[error("the lease was lost to another scheduler")]
    Fenced,
    /// There is no store there: the address may be mistyped.
    #[error(
        "there is no store at {0}; check the address: only `fleet run`, `fleet import`, `fleet restore` and `serve` make a new store"
    )]
    Missing(String),
    /// The data is damaged: restore a backup.
    #[error("the store is damaged: {0}; run a check, and restore a backup if needed")]
    Corrupt(String),
    /// A newer program has changed the schema: use that one.
    #[error(
        "the store has schema {found}, this program knows up to {known}; use the newer program"
    )]
    NewerSchema {
        /// The schema of the store.
        found: i64,
        /// The newest that this program knows.
        known: i64,
    },
    /// The call is invalid.
    #[error("{0}")]
    Bad(String),
}

impl StoreError {
    /// The same, with the store that could not be opened.
    pub(crate) fn at(self, place: impl std::fmt::Display) -> Self {
        match self {
            Self::Unavailable(text) => Self::Unavailable(format!("{place}: {text}")),
            Self::Corrupt(text) => Self::Corrupt(format!("{place}: {text}")),
            other => other,
        }
    }

    /// The stable name: for metrics and JSON.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::Fenced => "fenced",
            Self::Missing(_) => "missing",
            Self::Corrupt(_) => "corrupt",
            Self::NewerSchema { .. } => "newer-schema",
            Self::Bad(_) => "bad",
        }
    }
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match &error {
            Error::Database(database) => of_code(database.code().as_deref().unwrap_or_default(), text),
            Error::Io(_)
            | Error::Tls(_)
            | Error::Protocol(_)
            | Error::PoolTimedOut
            | Error::PoolClosed
            | Error::WorkerCrashed
            // The connection lost count of its transactions. It is dropped, and the next one is as good as new.
            | Error::InvalidSavePointStatement
            | Error::BeginFailed => Self::Unavailable(text),
            Error::ColumnDecode { .. } | Error::Decode(_) | Error::RowNotFound => Self::Corrupt(text),
            _ => Self::Bad(text),
        }
    }
}

/// Whether a transaction lost a race and may be retried at once: a deadlock or a serialisation failure.
pub(crate) fn is_race(error: &Error) -> bool {
    let code = error
        .as_database_error()
        .and_then(|database| database.code());
    matches!(code.as_deref(), Some("40001" | "40P01"))
}

/// Whether another process holds the SQLite file: any kind of SQLITE_BUSY.
pub(crate) fn is_busy(error: &Error) -> bool {
    let code = error
        .as_database_error()
        .and_then(|database| database.code());
    code.as_deref()
        .is_some_and(|code| sqlite_kind(code) == Some(5))
}

/// Whether PostgreSQL rejected the password.
pub(crate) fn is_refused_password(error: &Error) -> bool {
    let code = error
        .as_database_error()
        .and_then(|database| database.code());
    code.is_some_and(|code| code.starts_with("28"))
}

/// SQLite's codes are numbers whose low byte is the kind. PostgreSQL's have five characters.
fn sqlite_kind(code: &str) -> Option<u32> {
    (code.len() < 5)
        .then(|| code.parse::<u32>().ok())
        .flatten()
        .map(|code| code & 0xff)
}

fn of_code(code: &str, text: String) -> StoreError {
    match (sqlite_kind(code), code.get(..2)) {
        // I/O, full
        (Some(10 | 13), _) => StoreError::Unavailable(format!(
            "{text}; the store's disk may be full: free space, or check the disk"
        )),
        // cannot open
        (Some(14), _) => StoreError::Unavailable(
            "the file cannot be opened; check that this user may read and write it, and its directory"
                .to_owned(),
        ),
        // busy, locked, no memory, read-only, interrupted, I/O, full, cannot open, protocol
        (Some(5..=10 | 13..=15), _) => StoreError::Unavailable(text),
        // not a database
        (Some(26), _) => StoreError::Corrupt(
            "the file is not an SQLite database; check the address".to_owned(),
        ),
        // corrupt
        (Some(11), _) => StoreError::Corrupt(text),
        (Some(_), _) => StoreError::Bad(text),
        // connections, authorisation, rollbacks, resources, limits, locks, the operator's doing, the system's
        (None, Some("08" | "28" | "3D" | "40" | "53" | "55" | "57" | "58")) => {
            StoreError::Unavailable(text)
        }
        // PostgreSQL found its data or indexes damaged
        (None, Some("XX")) => StoreError::Corrupt(text),
        // a session or transaction that was killed or timed out idle; a transaction that cannot write on a standby
        (None, Some("25")) => StoreError::Unavailable(text),
        _ => StoreError::Bad(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_says_to_make_room() {
        for code in ["13", "778"] {
            let told = of_code(code, "disk I/O error".to_owned()).to_string();
            assert!(told.contains("free space"), "{told}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let told = of_code("14", "(code: 14) unable to open database file".to_owned());
        let told = told.at("sqlite:/srv/fleet.db").to_string();
        let expected =
            "the store is not available: sqlite:/srv/fleet.db: the file cannot be opened; check";
        assert!(told.starts_with(expected), "{told}");
        assert!(!told.contains("code"), "{told}");
    }

    #[test]
    fn codes_say_what_to_do() {
        for (code, expected) in [
            ("5", "unavailable"),
            ("13", "unavailable"),
            ("261", "unavailable"),
            ("778", "unavailable"),
            ("11", "corrupt"),
            ("2067", "bad"),
            ("57P01", "unavailable"),
            ("40P01", "unavailable"),
            ("25P03", "unavailable"),
            ("53100", "unavailable"),
            ("23505", "bad"),
            ("XX001", "corrupt"),
            ("", "bad"),
        ] {
            assert_eq!(of_code(code, String::new()).code(), expected, "{code}");
        }
    }
}

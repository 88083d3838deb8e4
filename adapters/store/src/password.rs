//! The address of a store, and the file with its password.
//!
//! The file is read when the store is opened, and again when the server rejects the password. So a new password needs no
//! restart.

use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use sqlx::any::AnyConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::backend::Place;
use crate::{Result, StoreError};

/// Longer files are refused.
const MAX_BYTES: u64 = 4096;

/// The address of a store, and its password file if the password is not in the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreAddress {
    /// `sqlite:PATH`, `sqlite::memory:` or `postgres://…`.
    pub url: String,
    /// For PostgreSQL: a file with nothing but the password.
    pub password_file: Option<PathBuf>,
}

impl<U: AsRef<str> + ?Sized> From<&U> for StoreAddress {
    fn from(url: &U) -> Self {
        Self {
            url: url.as_ref().to_owned(),
            password_file: None,
        }
    }
}

impl StoreAddress {
    /// The file of an SQLite store, and those that may stand beside it while it is open.
    pub fn files(&self) -> Vec<PathBuf> {
        let Ok(Place::File(path)) = Place::try_from(self.clone()) else {
            return Vec::new();
        };
        let beside = |end: &str| {
            let mut name = path.clone().into_os_string();
            name.push(end);
            PathBuf::from(name)
        };
        vec![path.clone(), beside("-wal"), beside("-shm")]
    }

    /// The machine of a PostgreSQL store elsewhere, unless the connection is certain to be with that machine and nobody else.
    pub fn unverified_host(&self) -> Option<String> {
        let is_postgres = ["postgres://", "postgresql://"];
        if !is_postgres
            .iter()
            .any(|scheme| self.url.starts_with(scheme))
        {
            return None;
        }
        let options: PgConnectOptions = self.url.parse().ok()?;
        let host = options.get_host().trim_matches(['[', ']']);
        let is_here = options.get_socket().is_some()
            || host.starts_with('/')
            || host == "localhost"
            || host
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback());
        let is_verified = matches!(options.get_ssl_mode(), PgSslMode::VerifyFull);
        (!is_here && !is_verified).then(|| host.to_owned())
    }

    /// Checks the address itself. Waiting does not fix such errors.
    pub fn check(&self) -> Result<()> {
        Place::try_from(self.clone())?;
        let Some(_) = &self.password_file else {
            return Ok(());
        };
        let options: AnyConnectOptions = self.url.parse()?;
        has_no_password(&options)
    }
}

fn has_no_password(options: &AnyConnectOptions) -> Result<()> {
    let url = &options.database_url;
    if url.password().is_some() || url.query_pairs().any(|(name, _)| name == "password") {
        let problem = "the store's address has a password, and a password file is given";
        return Err(StoreError::Bad(format!(
            "{problem}; take the password out of the address"
        )));
    }
    Ok(())
}

/// Adds the current password from the file.
pub(crate) fn add(mut options: AnyConnectOptions, file: &Path) -> Result<AnyConnectOptions> {
    has_no_password(&options)?;
    let url = &mut options.database_url;
    url.query_pairs_mut().append_pair("password", &read(file)?);
    Ok(options)
}

/// The file's content without the final line break.
fn read(file: &Path) -> Result<String> {
    let bad = |problem: &str| {
        StoreError::Bad(format!(
            "{}: the store's password {problem}",
            file.display()
        ))
    };
    let mut text = String::new();
    let mut open = File::open(file)
        .map_err(|error| bad(&format!("cannot be read: {error}")))?
        .take(MAX_BYTES + 1);
    open.read_to_string(&mut text)
        .map_err(|error| bad(&format!("cannot be read: {error}")))?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    let password = password.strip_suffix('\r').unwrap_or(password);
    match password {
        "" => Err(bad("is empty; write it into the file")),
        _ if text.len() as u64 > MAX_BYTES => {
            Err(bad("is longer than 4096 bytes; is this the right file?"))
        }
        _ if password.contains(['\n', '\0']) => {
            Err(bad("has several lines; the file holds the password alone"))
        }
        _ => Ok(password.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    #[test]
    fn a_server_elsewhere_is_who_it_says_only_if_its_certificate_is_verified() {
        let host = |url: &str| StoreAddress::from(url).unverified_host();
        let db = Some("db.example".to_owned());
        for (url, expected) in [
            ("postgres://me@db.example/fleet", &db),
            (
                "postgresql://me:s3cret@db.example/fleet?sslmode=require",
                &db,
            ),
            ("postgres://me@db.example/fleet?sslmode=verify-ca", &db),
            ("postgres://me@db.example/fleet?sslmode=verify-full", &None),
            ("postgres://me@localhost/fleet", &None),
            ("postgres://me@127.0.0.1:5433/fleet", &None),
            ("postgres://me@[::1]/fleet", &None),
            ("postgres://me@/fleet?host=/var/run/postgresql", &None),
            ("sqlite:fleet.db", &None),
        ] {
            assert_eq!(&host(url), expected, "{url}");
        }
    }

    #[test]
    fn an_address_that_no_waiting_can_mend_is_told_at_once() {
        let check = |url: &str, file: Option<&str>| {
            let address = StoreAddress {
                url: url.to_owned(),
                password_file: file.map(PathBuf::from),
            };
            address.check().is_ok()
        };
        assert!(check("sqlite:/nowhere/at/all.db", None), "it may come");
        assert!(
            check("postgres://me@nowhere/db", Some("/nowhere")),
            "it may come"
        );
        assert!(!check("zz.db", None));
        assert!(!check("sqlite:", None));
        assert!(!check("sqlite:a.db", Some("password")));
        assert!(!check("postgres://me:secret@nowhere/db", Some("password")));
        assert!(!check(
            "postgres://me@nowhere/db?password=secret",
            Some("password")
        ));
    }

    fn options(url: &str, content: &str) -> Result<String> {
        sqlx::any::install_default_drivers();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("password");
        std::fs::write(&file, content).unwrap();
        let options = add(AnyConnectOptions::from_str(url).unwrap(), &file)?;
        let pairs = options.database_url.query_pairs();
        Ok(pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join(" "))
    }

    #[test]
    fn a_password_is_the_files_one_line() {
        for content in ["a b+&#%ü", "a b+&#%ü\n", "a b+&#%ü\r\n"] {
            assert_eq!(
                options("postgres://me@host/db", content).unwrap(),
                "password=a b+&#%ü"
            );
        }
        assert_eq!(
            options("postgres:///db?host=/tmp#x", "p").unwrap(),
            "host=/tmp password=p"
        );
    }

    #[test]
    fn what_is_no_password_is_refused_and_not_repeated() {
        for (url, content, expected) in [
            ("postgres://host/db", "", "is empty"),
            ("postgres://host/db", "\n", "is empty"),
            ("postgres://host/db", "one\ntwo\n", "has several lines"),
            ("postgres://host/db", &"x".repeat(5000), "longer than 4096"),
            (
                "postgres://me:secret@host/db",
                "p",
                "take the password out of the address",
            ),
            (
                "postgres://host/db?password=secret",
                "p",
                "take the password out of the address",
            ),
        ] {
            let error = options(url, content).unwrap_err().to_string();
            assert!(
                error.contains(expected) && !error.contains("secret") && !error.contains("two"),
                "{error}"
            );
        }
        let missing = read(Path::new("/no/such/file")).unwrap_err().to_string();
        assert!(
            missing.starts_with("/no/such/file: the store's password cannot be read"),
            "{missing}"
        );
    }
}

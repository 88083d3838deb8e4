//! Random bytes for nonces, report names and seeds.

use crate::ServiceError;

/// Thirty-two bytes from the system.
pub fn random() -> Result<[u8; 32], ServiceError> {
    let mut bytes = [0; 32];
    let filled = rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut bytes);
    filled.map(|()| bytes).map_err(|_| ServiceError::BadConfig {
        place: "this system".to_owned(),
        problem: "gives no random bytes".to_owned(),
        remedy: "check that the process may use getrandom or /dev/urandom".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_alike() {
        assert_ne!(random().unwrap(), random().unwrap());
    }
}

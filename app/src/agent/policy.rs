//! The policy file, read again when it changes. A broken new one never replaces a good one.

use std::path::{Path, PathBuf};

use towpath_core::finding::{Finding, Place};
use towpath_formats::agent::{AgentPolicy, read_policy};
use towpath_sources::read_file;

/// The largest policy.
const MAX_BYTES: u64 = 1 << 20;

/// What is in force, and where it is from.
#[derive(Debug)]
pub(super) struct PolicyFile {
    path: Option<PathBuf>,
    /// The bytes that were read last, good or not.
    bytes: Vec<u8>,
    in_force: AgentPolicy,
    /// What is wrong with the file as it is now.
    problems: Vec<Finding>,
}

impl PolicyFile {
    /// Reads it, or says what is wrong with it. Without a file, the usual is in force.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, Vec<Finding>> {
        let mut file = Self {
            path: path.map(Path::to_owned),
            bytes: Vec::new(),
            in_force: AgentPolicy::default(),
            problems: Vec::new(),
        };
        if let Some(path) = path {
            (file.bytes, file.in_force) = read(path)?;
        }
        Ok(file)
    }

    /// What is in force.
    pub(super) fn in_force(&self) -> &AgentPolicy {
        &self.in_force
    }

    /// What is wrong with the file as it is now.
    pub(super) fn problems(&self) -> &[Finding] {
        &self.problems
    }

    /// Reads it again.
    pub(super) fn refresh(&mut self) {
        let Some(path) = &self.path else { return };
        match read_file(path, MAX_BYTES) {
            Ok(bytes) if bytes == self.bytes => {}
            Ok(bytes) => {
                match read_policy(&Place::file(path.display().to_string()), &bytes) {
                    Ok(policy) => (self.in_force, self.problems) = (policy, Vec::new()),
                    Err(problems) => self.problems = problems,
                }
                self.bytes = bytes;
            }
            Err(problem) => {
                self.problems = vec![problem];
                self.bytes.clear();
            }
        }
    }
}

fn read(path: &Path) -> Result<(Vec<u8>, AgentPolicy), Vec<Finding>> {
    let bytes = read_file(path, MAX_BYTES).map_err(|finding| vec![finding])?;
    let policy = read_policy(&Place::file(path.display().to_string()), &bytes)?;
    Ok((bytes, policy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_policy_never_takes_the_place_of_a_good_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.yaml");
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        write("maxFailures: 2\n");
        let mut file = PolicyFile::open(Some(&path)).unwrap();
        let in_force = |file: &PolicyFile| {
            (
                file.in_force().automatic.max_failures,
                file.problems().len(),
            )
        };
        assert_eq!(in_force(&file), (2, 0));
        for (text, expected) in [
            ("maxFailures: none\n", (2, 1)),
            ("maxFailures: 4\n", (4, 0)),
        ] {
            write(text);
            file.refresh();
            assert_eq!(in_force(&file), expected, "{text}");
        }
        std::fs::remove_file(&path).unwrap();
        file.refresh();
        assert_eq!(in_force(&file), (4, 1));
        write("maxFailures: 4\n");
        file.refresh();
        assert_eq!(in_force(&file), (4, 0));
        assert_eq!(
            PolicyFile::open(None).unwrap().in_force(),
            &AgentPolicy::default()
        );
        assert!(PolicyFile::open(Some(&folder.path().join("none"))).is_err());
    }
}

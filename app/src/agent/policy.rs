//! The policy file, read again when it changes. A broken new one never replaces a good one.

use std::path::{Path, PathBuf};

use towpath_core::agent::RequiredProof;
use towpath_core::finding::{Finding, Place};
use towpath_formats::agent::{AgentPolicy, read_policy};
use towpath_sources::read_file;

/// The largest policy.
const MAX_BYTES: u64 = 1 << 20;

/// Whether a policy may say `proof: nothing`. The command line says so, never the policy itself: who can edit a ConfigMap
/// need not be able to edit a Deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnprovenUpdates {
    Allowed,
    Refused,
}

/// What is in force, and where it is from.
#[derive(Debug)]
pub(super) struct PolicyFile {
    path: Option<PathBuf>,
    unproven: UnprovenUpdates,
    /// The bytes that were read last, good or not.
    bytes: Vec<u8>,
    in_force: AgentPolicy,
    /// What is wrong with the file as it is now.
    problems: Vec<Finding>,
}

impl PolicyFile {
    /// Reads it, or says what is wrong with it. Without a file, the usual is in force.
    pub(super) fn open(
        path: Option<&Path>,
        unproven: UnprovenUpdates,
    ) -> Result<Self, Vec<Finding>> {
        let mut file = Self {
            path: path.map(Path::to_owned),
            unproven,
            bytes: Vec::new(),
            in_force: AgentPolicy::default(),
            problems: Vec::new(),
        };
        if let Some(path) = path {
            let (bytes, policy) = read(path)?;
            file.bytes = bytes;
            file.take(policy);
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
        let Some(path) = self.path.clone() else {
            return;
        };
        match read_file(&path, MAX_BYTES) {
            Ok(bytes) if bytes == self.bytes => {}
            Ok(bytes) => {
                match read_policy(&Place::file(path.display().to_string()), &bytes) {
                    Ok(policy) => self.take(policy),
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

    /// Puts a policy in force. One that may not ask for no proof is in force, and holds every update.
    fn take(&mut self, mut policy: AgentPolicy) {
        self.problems = Vec::new();
        let proof = &mut policy.automatic.proof;
        if *proof == RequiredProof::Nothing && self.unproven == UnprovenUpdates::Refused {
            *proof = RequiredProof::NothingUnallowed;
            let path = self.path.as_deref().unwrap_or(Path::new("policy"));
            self.problems.push(Finding::error(
                "unproven-not-allowed",
                path,
                "it says `proof: nothing`, and the agent runs without --allow-unproven-updates: no update starts",
                "remove `proof: nothing`; if it is meant, start the agent with --allow-unproven-updates",
            ));
        }
        self.in_force = policy;
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
        let open = |path: Option<&Path>| PolicyFile::open(path, UnprovenUpdates::Refused);
        let mut file = open(Some(&path)).unwrap();
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
        assert_eq!(open(None).unwrap().in_force(), &AgentPolicy::default());
        assert!(open(Some(&folder.path().join("none"))).is_err());
    }

    #[test]
    fn a_policy_alone_switches_no_proof_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.yaml");
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        let in_force = |file: &PolicyFile| {
            let codes = file.problems().iter().map(|finding| finding.code);
            (file.in_force().automatic.proof, codes.collect::<Vec<_>>())
        };
        write("proof: nothing\n");
        let allowed = PolicyFile::open(Some(&path), UnprovenUpdates::Allowed).unwrap();
        assert_eq!(in_force(&allowed), (RequiredProof::Nothing, vec![]));
        let mut file = PolicyFile::open(Some(&path), UnprovenUpdates::Refused).unwrap();
        let held = (
            RequiredProof::NothingUnallowed,
            vec!["unproven-not-allowed"],
        );
        assert_eq!(in_force(&file), held);
        write("maxFailures: 2\n");
        file.refresh();
        assert_eq!(in_force(&file), (RequiredProof::Signed, vec![]));
        write("maxFailures: 2\nproof: nothing\n");
        file.refresh();
        assert_eq!(in_force(&file), held);
    }
}

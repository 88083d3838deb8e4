//! Halts: blocks that say who stopped a release, when, for which clusters, and on what evidence.
//!
//! A halt is a block like any other, so it needs no second way to be served. What it says about itself only explains it. The
//! block's own `from` and `stops` decide whom it keeps from the edge.

use std::fmt;

use jiff::Timestamp;

use super::{Audience, Pattern};
use crate::feedback::HaltScope;

/// What a halt says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredHalt {
    /// The name of a token, or `watch`.
    pub by: String,
    pub at: Timestamp,
    pub scope: HaltScope,
    pub why: Option<String>,
    pub evidence: Option<ObservedFailures>,
}

/// What a watch saw: the numbers, and what it says about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedFailures {
    pub attempts: u64,
    /// Those whose outcome is known.
    pub known: u64,
    pub failed: u64,
    pub degraded: u64,
    pub sentence: String,
}

impl DeclaredHalt {
    /// The longest name of whoever halts, in bytes.
    pub const MAX_NAME_BYTES: usize = 256;
    /// The longest sentence, in bytes.
    pub const MAX_TEXT_BYTES: usize = 2_048;

    /// Why it was halted, with the evidence.
    pub fn sentence(&self) -> String {
        let said = self.why.as_deref().map(str::to_owned);
        // A watch says what it saw in its message too, for services that read nothing else.
        let is_said = |seen: &&ObservedFailures| {
            let said = said.as_deref().unwrap_or_default();
            !seen.sentence.is_empty() && said.contains(&seen.sentence)
        };
        let seen = self.evidence.as_ref().filter(|seen| !is_said(seen));
        let seen = seen.map(ToString::to_string);
        let parts: Vec<String> = said.into_iter().chain(seen).collect();
        match parts.is_empty() {
            true => "no reason was given".to_owned(),
            false => parts.join(" "),
        }
    }
}

impl HaltScope {
    /// The releases whose edges it stops, as a block says it.
    pub fn pattern(&self) -> Pattern {
        let from = self
            .from
            .map(|from| format!("^{}[.]{}[.]", from.major, from.minor));
        let arch = self
            .arch
            .as_ref()
            .map(|arch| format!("[+]{}$", regex::escape(arch.as_str())));
        let text = match (from, arch) {
            (None, None) => ".*".to_owned(),
            (Some(from), None) => from,
            (None, Some(arch)) => arch,
            (Some(from), Some(arch)) => format!("{from}.*{arch}"),
        };
        Pattern::new(&text).expect("versions and architectures make short patterns")
    }

    /// The clusters that it stops, as a block says it. A cluster whose platform is unknown counts as on every platform.
    pub fn audience(&self) -> Audience {
        match &self.platform {
            Some(platform) => Audience::Platforms([platform.clone()].into()),
            None => Audience::Everybody,
        }
    }
}

/// As in "halted for …".
impl fmt::Display for HaltScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_all() {
            return f.write_str("every cluster");
        }
        f.write_str("clusters")?;
        if let Some(from) = self.from {
            write!(f, " from {from}")?;
        }
        if let Some(platform) = &self.platform {
            write!(f, " on {}", platform.as_str())?;
        }
        if let Some(arch) = &self.arch {
            write!(f, " with {arch}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ObservedFailures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            attempts,
            known,
            failed,
            degraded,
            sentence,
        } = self;
        write!(
            f,
            "{failed} failed and {degraded} degraded of {known} known outcomes ({attempts} attempts)."
        )?;
        match sentence.is_empty() {
            true => Ok(()),
            false => write!(f, " {sentence}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Platform;
    use crate::version::{Arch, Minor};

    #[test]
    fn what_a_message_says_of_the_evidence_is_said_once() {
        let seen = |sentence: &str| ObservedFailures {
            attempts: 9,
            known: 9,
            failed: 5,
            degraded: 0,
            sentence: sentence.to_owned(),
        };
        let halt = |why: &str, sentence: &str| DeclaredHalt {
            by: "watch".to_owned(),
            at: Timestamp::UNIX_EPOCH,
            scope: HaltScope::default(),
            why: Some(why.to_owned()),
            evidence: Some(seen(sentence)),
        };
        let message = "5 of 9 failed. It fails too often.";
        assert_eq!(halt(message, "It fails too often.").sentence(), message);
        let numbers = "5 failed and 0 degraded of 9 known outcomes (9 attempts).";
        assert_eq!(halt("Stop.", "").sentence(), format!("Stop. {numbers}"));
    }

    #[test]
    fn a_scope_stops_the_releases_that_it_names() {
        let (from, arch) = (Some(Minor::new(4, 1)), Some(Arch::new("arm64")));
        let platform = Platform::new("AWS");
        let scope = |from, arch| HaltScope {
            from,
            platform: platform.clone(),
            arch,
        };
        let finds = |scope: &HaltScope| {
            [
                "4.1.9+arm64",
                "4.1.9+amd64",
                "4.10.9+arm64",
                "4.1.9-rc.1+arm64",
            ]
            .map(|version| scope.pattern().finds(version))
        };
        assert_eq!(finds(&HaltScope::default()), [true; 4]);
        assert_eq!(finds(&scope(from, None)), [true, true, false, true]);
        assert_eq!(finds(&scope(None, arch.clone())), [true, false, true, true]);
        assert_eq!(
            finds(&scope(from, arch.clone())),
            [true, false, false, true]
        );
        assert_eq!(
            scope(from, arch).to_string(),
            "clusters from 4.1 on AWS with arm64"
        );
        assert_eq!(HaltScope::default().to_string(), "every cluster");
    }
}

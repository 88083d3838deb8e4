//! Reasons that somebody accepts: they stay visible, and stand in the way no longer.
//!
//! A name is a code (`BudgetAtLimit`), or a code and the object that it is about
//! (`BudgetAtLimit/shop/db`).

use super::rules::cluster_codes;
use crate::verdict::{Answer, Reason, Verdict};

/// The most names.
const MAX_ACCEPTED: usize = 1_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AcceptedReasons {
    names: Vec<AcceptedName>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct AcceptedName {
    code: &'static str,
    object: Option<String>,
}

/// Why a name cannot be accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAccepted {
    #[error("no reason of `ready` has the code {0:?}; `towpath reason` lists them")]
    UnknownCode(String),
    #[error("{0} is a note and stands in the way of nothing; leave it out")]
    Note(&'static str),
    #[error("{0} is about no single object; accept {0} as a whole, or not at all")]
    NoObject(&'static str),
    #[error("there are more than {MAX_ACCEPTED} names; accept codes instead of objects")]
    TooMany,
}

impl AcceptedReasons {
    /// Reads names. One that no reason can have is an error: a typing error would accept nothing.
    pub fn read<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Self, NotAccepted> {
        let names: Vec<AcceptedName> = names
            .into_iter()
            .map(AcceptedName::read)
            .collect::<Result<_, _>>()?;
        match names.len() > MAX_ACCEPTED {
            true => Err(NotAccepted::TooMany),
            false => Ok(Self { names }),
        }
    }

    /// Takes what is accepted out of a verdict: the rest of it, and what was taken.
    pub(super) fn taken_from(&self, verdict: Verdict) -> (Verdict, Vec<Reason>) {
        let is_accepted = |reason: &Reason| {
            let is_note = reason.code().is_note;
            !is_note && self.names.iter().any(|name| name.covers(reason))
        };
        let (accepted, reasons): (Vec<Reason>, Vec<Reason>) =
            verdict.reasons.into_iter().partition(is_accepted);
        let is_clear = reasons.iter().all(|reason| reason.code().is_note);
        let answer = match is_clear {
            true => Answer::Recommend,
            false => verdict.answer,
        };
        let rest = Verdict {
            answer,
            reasons: reasons.into_iter().collect(),
        };
        (rest, accepted)
    }

    /// The names that none of these reasons has.
    pub(super) fn unused<'r>(
        &self,
        reasons: impl Iterator<Item = &'r Reason> + Clone,
    ) -> Vec<String> {
        let is_unused = |name: &&AcceptedName| !reasons.clone().any(|reason| name.covers(reason));
        let unused = self.names.iter().filter(is_unused);
        unused.map(ToString::to_string).collect()
    }
}

impl AcceptedName {
    fn read(text: &str) -> Result<Self, NotAccepted> {
        let (code, object) = match text.split_once('/') {
            Some((code, object)) => (code, Some(object.to_owned())),
            None => (text, None),
        };
        let known = cluster_codes().into_iter().find(|known| known.name == code);
        let known = known.ok_or_else(|| NotAccepted::UnknownCode(code.to_owned()))?;
        match (known.is_note, &object, known.object) {
            (true, _, _) => Err(NotAccepted::Note(known.name)),
            (false, Some(_), None) => Err(NotAccepted::NoObject(known.name)),
            _ => Ok(Self {
                code: known.name,
                object,
            }),
        }
    }

    fn covers(&self, reason: &Reason) -> bool {
        let is_object = || self.object.is_none() || self.object == reason.object();
        reason.code().name == self.code && is_object()
    }
}

impl std::fmt::Display for AcceptedName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code)?;
        self.object
            .iter()
            .try_for_each(|object| write!(f, "/{object}"))
    }
}

//! Rules: each reason an update may not happen now, one small file each.
//!
//! A rule is a pure function from a question to a verdict. There are four questions. They are
//! about an edge of the graph ([`EdgeQuestion`]), a start in the fleet, an offer to a cluster's
//! agent, and a step that a cluster would take.

use crate::verdict::{Code, Verdict};

/// Something that rules judge. What is asked borrows its facts.
pub trait Question: 'static {
    type At<'a>;
}

/// A reason an update may not happen now.
pub trait Rule<Q: Question>: Send + Sync {
    /// The kinds of reasons that it gives.
    fn codes(&self) -> Vec<&'static Code>;

    fn judge(&self, question: &Q::At<'_>) -> Verdict;

    /// Whether it stands in the way. A rule that is asked millions of times answers this without words.
    fn holds(&self, question: &Q::At<'_>) -> bool {
        !self.judge(question).is_offered()
    }
}

/// A list of rules; itself a rule. The order does not matter.
pub struct Policy<Q: Question>(pub &'static [&'static dyn Rule<Q>]);

impl<Q: Question> Rule<Q> for Policy<Q> {
    fn codes(&self) -> Vec<&'static Code> {
        self.0.iter().flat_map(|rule| rule.codes()).collect()
    }

    fn judge(&self, question: &Q::At<'_>) -> Verdict {
        self.0.iter().map(|rule| rule.judge(question)).collect()
    }

    fn holds(&self, question: &Q::At<'_>) -> bool {
        self.0.iter().any(|rule| rule.holds(question))
    }
}

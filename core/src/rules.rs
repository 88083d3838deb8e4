//! Rules: each reason an update may not happen now, one small file each.
//!
//! A rule is a pure function from a question to a verdict. There are five questions. They are
//! about an edge of the graph ([`EdgeQuestion`]), a start in the fleet, an offer to a cluster's
//! agent, a step that a cluster would take, and the drains of a plan for its nodes.

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
}

/// A rule without data of its own: a row of codes and functions.
pub struct PlainRule<Q: Question> {
    codes: &'static [&'static Code],
    judge: fn(&Q::At<'_>) -> Verdict,
    /// A faster way to say whether the rule objects, for rules that a pass asks millions of times. It builds no reasons.
    holds: Option<fn(&Q::At<'_>) -> bool>,
}

impl<Q: Question> PlainRule<Q> {
    pub(crate) const fn new(
        codes: &'static [&'static Code],
        judge: fn(&Q::At<'_>) -> Verdict,
    ) -> Self {
        let holds = None;
        Self {
            codes,
            judge,
            holds,
        }
    }

    pub(crate) const fn holding(self, holds: fn(&Q::At<'_>) -> bool) -> Self {
        Self {
            holds: Some(holds),
            ..self
        }
    }

    /// Whether the rule objects.
    pub(crate) fn holds(&self, question: &Q::At<'_>) -> bool {
        match self.holds {
            Some(holds) => holds(question),
            None => !self.judge(question).is_offered(),
        }
    }
}

impl<Q: Question> Rule<Q> for PlainRule<Q> {
    fn codes(&self) -> Vec<&'static Code> {
        self.codes.to_vec()
    }

    fn judge(&self, question: &Q::At<'_>) -> Verdict {
        (self.judge)(question)
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
}

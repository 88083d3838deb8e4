//! A budget: how many steps a question may take, and whether the caller still waits for the
//! answer.
//!
//! A step is an edge, a set of risks or a channel that the search looks at. Steps are counted
//! instead of time, so the same question on the same graph costs the same on every machine. When a
//! budget is spent, the search space has no more edges. So every loop ends by itself, and the
//! caller drops the result.

use std::cell::Cell;

/// What a question may take.
pub struct Budget<'a> {
    most: u64,
    taken: Cell<u64>,
    /// The number of steps at which to ask again whether the caller still waits.
    look_at: Cell<u64>,
    is_called_off: &'a dyn Fn() -> bool,
    end: Cell<Option<Unfinished>>,
}

/// Why a question was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    /// It needs more steps than this.
    NoStepsLeft {
        /// The number of steps that were allowed.
        most: u64,
    },
    /// Nobody waits for the answer any more.
    CalledOff,
}

impl Budget<'static> {
    /// As many steps as it takes, for somebody who waits.
    pub fn unlimited() -> Self {
        Self::new(u64::MAX, &|| false)
    }
}

impl<'a> Budget<'a> {
    /// What a service gives a question: on the real data no question takes as much. docs/path.md says how that was measured.
    pub const OF_A_QUESTION: u64 = 100_000_000;
    /// About this many steps lie between two checks whether the caller still waits.
    pub const LOOK_EVERY: u64 = 4096;

    /// This many steps, unless the caller cancels before.
    pub fn new(most: u64, is_called_off: &'a dyn Fn() -> bool) -> Self {
        let look_at = Cell::new(Self::LOOK_EVERY.min(most));
        Self {
            most,
            taken: Cell::new(0),
            look_at,
            is_called_off,
            end: Cell::new(None),
        }
    }

    /// The number of steps taken.
    pub fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Why the question ended early, if it did.
    pub fn end(&self) -> Option<Unfinished> {
        self.end.get()
    }

    pub(crate) fn take(&self, steps: usize) {
        let taken = self.taken.get().saturating_add(steps as u64);
        self.taken.set(taken);
        if taken >= self.look_at.get() {
            self.look(taken);
        }
    }

    fn look(&self, taken: u64) {
        let next = taken.saturating_add(Self::LOOK_EVERY);
        self.look_at.set(if taken < self.most {
            next.min(self.most)
        } else {
            next
        });
        let called_off = || (self.is_called_off)().then_some(Unfinished::CalledOff);
        let used_up = (taken >= self.most).then_some(Unfinished::NoStepsLeft { most: self.most });
        self.end.set(self.end.get().or(used_up).or_else(called_off));
    }

    /// What may be looked at: all of it, at a step each; or nothing, once the budget is over.
    pub(super) fn of<'s, T>(&self, some: &'s [T]) -> &'s [T] {
        self.take(some.len().max(1));
        match self.end.get() {
            None => some,
            Some(_) => &[],
        }
    }
}

impl std::fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} steps taken", self.taken.get(), self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_up_stays_so_and_shows_nothing_more() {
        let budget = Budget::new(3, &|| false);
        assert_eq!((budget.of(&[1, 2]), budget.end()), (&[1, 2][..], None));
        assert_eq!(
            (budget.of(&[3]), budget.end()),
            (&[][..], Some(Unfinished::NoStepsLeft { most: 3 }))
        );
        assert_eq!((budget.of(&[4]), budget.taken()), (&[][..], 4));
    }

    #[test]
    fn whoever_has_gone_is_noticed_within_a_bounded_number_of_steps() {
        let gone = Cell::new(false);
        let is_gone = || gone.get();
        let budget = Budget::new(u64::MAX, &is_gone);
        (0..10 * Budget::LOOK_EVERY).for_each(|_| budget.take(1));
        assert_eq!(budget.end(), None);
        gone.set(true);
        (0..Budget::LOOK_EVERY).for_each(|_| budget.take(1));
        assert_eq!(budget.end(), Some(Unfinished::CalledOff));
    }
}

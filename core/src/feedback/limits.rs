//! How long an update may take before it counts as failed: the 99th percentile of its class, and at least six hours.
//!
//! A class needs enough updates for a percentile of its own. Until it has them, all classes together count, and until those are
//! enough, twelve hours: that is far above the 4 h 25 min within which nine of ten healthy minor updates complete.
//!
//! A limit is used twice. Outcomes are counted by the one that is kept with each attempt since its start, so what was counted
//! does not change. The watch goes by what is known of other releases before this one, and its policy may allow more time.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::{ClassKey, Followed, UpdateClass};

/// No update counts as failed for its time before this.
pub(super) const SHORTEST: SignedDuration = SignedDuration::from_hours(6);
/// What holds until enough is known.
const WITHOUT_HISTORY: SignedDuration = SignedDuration::from_hours(12);
/// How many complete updates a percentile needs.
const ENOUGH: usize = 100;
/// No limit is longer than this, whatever clusters tell.
const LONGEST: SignedDuration = SignedDuration::from_hours(7 * 24);

/// How long updates of each class may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeLimits {
    of_class: BTreeMap<ClassKey, SignedDuration>,
    of_all: SignedDuration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self {
            of_class: BTreeMap::new(),
            of_all: WITHOUT_HISTORY,
        }
    }
}

impl TimeLimits {
    /// From updates that are complete, however long they took and whether they were degraded or had failed before.
    pub fn learn<'a>(known: impl IntoIterator<Item = &'a Followed>) -> Self {
        let (mut of_class, mut of_all) = (BTreeMap::<ClassKey, Vec<_>>::new(), Vec::new());
        for followed in known {
            let (Some(class), Some(took)) = (followed.class(), followed.took()) else {
                continue;
            };
            of_class.entry(ClassKey::of(&class)).or_default().push(took);
            of_all.push(took);
        }
        let of_class = of_class.into_iter();
        Self {
            of_class: of_class
                .filter_map(|(class, took)| Some((class, percentile_99(took)?)))
                .collect(),
            of_all: percentile_99(of_all).unwrap_or(WITHOUT_HISTORY),
        }
    }

    pub fn of(&self, class: &UpdateClass) -> SignedDuration {
        let own = self.of_class.get(&ClassKey::of(class));
        *own.unwrap_or(&self.of_all)
    }
}

/// How long updates may take of which this is known.
pub(super) fn limit_of(usual: Option<SignedDuration>) -> SignedDuration {
    usual.unwrap_or(WITHOUT_HISTORY)
}

/// The smallest that 99 % do not exceed, within bounds. None: there are too few. Every time limit is this one.
pub(super) fn percentile_99(mut took: Vec<SignedDuration>) -> Option<SignedDuration> {
    if took.len() < ENOUGH {
        return None;
    }
    took.sort_unstable();
    let rank = (took.len() * 99).div_ceil(100);
    Some(took[rank - 1].clamp(SHORTEST, LONGEST))
}

//! Opted in: nothing happens by itself unless somebody wants it.

use super::{Moment, refuse};
use crate::domain::Verdict;
use crate::domain::automatic::{AutomaticReason, Offer, OptIn};

pub(super) fn judge(_: &Offer, at: &Moment<'_>) -> Verdict {
    match at.standing.opt_in {
        OptIn::Wanted => Verdict::recommend(),
        OptIn::NotWanted => refuse(AutomaticReason::NotOptedIn),
    }
}

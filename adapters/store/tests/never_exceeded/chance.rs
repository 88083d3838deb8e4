//! Chance from a seed, and the ways in which a call may end early.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// SplitMix64: the same seed, the same chances.
#[derive(Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The seed in `TOWPATH_SEED`, or one of this very moment; it is printed, and shown when the test fails.
    pub(crate) fn of_environment() -> Self {
        let given = std::env::var("TOWPATH_SEED")
            .ok()
            .and_then(|text| text.parse().ok());
        let now = || u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap();
        let seed = given.unwrap_or_else(now);
        println!("TOWPATH_SEED={seed}");
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) % limit
    }

    /// Between the two, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + i64::try_from(self.below(u64::try_from(high - low).unwrap() + 1)).unwrap()
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.index(list.len())]
    }

    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap()
    }

    /// How long the next call lives.
    pub(crate) fn life(&mut self) -> Life {
        match self.below(100) {
            0..4 => Life::Killed(self.below(60)),
            4..10 => Life::Abandoned(self.below(60)),
            _ => Life::Long,
        }
    }
}

/// How long a call lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Long,
    /// It is dropped when it has waited so often, as a call that took too long is; whoever made it goes on.
    Abandoned(u64),
    /// It is dropped when it has waited so often, and whoever made it is gone.
    Killed(u64),
}

impl Life {
    /// What the call came to, if it lived to see it.
    pub(crate) async fn of<T>(self, call: impl Future<Output = T>) -> Option<T> {
        let mut left = match self {
            Self::Long => u64::MAX,
            Self::Abandoned(waits) | Self::Killed(waits) => waits,
        };
        let mut call = pin!(call);
        poll_fn(|context| match call.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => {
                left -= 1;
                Poll::Pending
            }
        })
        .await
    }
}

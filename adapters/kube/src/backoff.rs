//! How long to wait after an error: twice as long each time, up to a limit, and never all at once.

use std::time::Duration;

use rand::Rng;

/// A share of the wait, drawn at random: agents that lost the same API server do not come back together.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            next: first,
        }
    }

    /// The next wait: between half of it and all of it.
    pub(crate) fn wait(&mut self, random: &mut impl Rng) -> Duration {
        let whole = self.next.min(self.longest);
        self.next = whole.saturating_mul(2);
        whole.mul_f64(random.gen_range(0.5..=1.0))
    }

    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    #[test]
    fn waits_double_up_to_the_limit_and_begin_anew() {
        let mut random = StdRng::seed_from_u64(7);
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        for whole in [1.0, 2.0, 4.0, 5.0, 5.0] {
            let wait = backoff.wait(&mut random).as_secs_f64();
            assert!((whole / 2.0..=whole).contains(&wait), "{wait} of {whole}");
        }
        backoff.reset();
        assert!(backoff.wait(&mut random) <= Duration::from_secs(1));
    }
}

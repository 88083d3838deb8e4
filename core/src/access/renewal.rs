//! When a token is replaced by a new one, and until when that one is good.

use jiff::{SignedDuration, Timestamp};

/// The life of a token that does not say when it was made, in days.
const USUAL_DAYS: i64 = 365;

/// What becomes of a token that its holder wants renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// More than a third of its life is left. It is renewed from then on.
    From(Timestamp),
    /// A new one lives as long as the old one did, until then.
    Until(Timestamp),
}

/// Renews a token once less than a third of its life is left.
///
/// An agent tries every few minutes, so it has a third of the token's life to get through.
pub fn renewal(made: Option<Timestamp>, end: Timestamp, now: Timestamp) -> Renewal {
    let usual = SignedDuration::from_hours(24 * USUAL_DAYS);
    let life = made.map_or(usual, |made| made.duration_until(end));
    let life = life.max(SignedDuration::ZERO);
    let third = SignedDuration::from_secs(life.as_secs() / 3);
    let due = end.checked_sub(third).unwrap_or(Timestamp::MIN);
    match now < due {
        true => Renewal::From(due),
        false => Renewal::Until(now.checked_add(life).unwrap_or(Timestamp::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_in_the_last_third_of_its_life() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let (made, end) = (Some(at(0)), at(300));
        assert_eq!(renewal(made, end, at(0)), Renewal::From(at(200)));
        assert_eq!(renewal(made, end, at(199)), Renewal::From(at(200)));
        assert_eq!(renewal(made, end, at(200)), Renewal::Until(at(500)));
        assert_eq!(renewal(made, end, at(299)), Renewal::Until(at(599)));
        let day = 86_400;
        let end = at(365 * day);
        let due = at(365 * day - 365 * day / 3);
        assert_eq!(renewal(None, end, at(0)), Renewal::From(due));
        assert_eq!(
            renewal(None, end, due),
            Renewal::Until(at(due.as_second() + 365 * day))
        );
        // Made after its end: it has no life, so a new one has none either.
        assert_eq!(renewal(Some(at(9)), at(5), at(6)), Renewal::Until(at(6)));
    }
}

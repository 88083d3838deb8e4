//! The query of `/api/v1/rollouts/change`, and factors as people type them.

use jiff::{SignedDuration, Timestamp};
use towpath_core::change::STRETCHES;
use towpath_core::graph::ChannelName;
use towpath_core::version::Version;

use super::{HaltNote, Steer, SteerRequest};
use crate::graph::data::parse_time;
use crate::graph::explain::request::{given, parsed};
use crate::graph::request::BadRequest;
use crate::timespan::TimeSpan;

/// How much slower or faster a rollout becomes, if nobody says.
const USUAL_FACTOR: u32 = 2_000;
/// In which time a change is served, if nobody says.
const USUAL_WITHIN: SignedDuration = SignedDuration::from_hours(1);
/// The longest text of a halt, in characters.
const MAX_TEXT: usize = 2_048;

/// Reads a query, or says what is wrong with it.
pub fn read(query: &str) -> Result<(SteerRequest, Option<Timestamp>), BadRequest> {
    let names = [
        "channel", "to", "action", "factor", "within", "name", "message", "url", "now",
    ];
    let [channel, to, action, times, within, name, message, url, now] = given(query, names)?;
    let invalid = |problem: String| BadRequest::InvalidParams(problem);
    let missing = |name: &str| BadRequest::missing(&[name]);
    let to = to.ok_or_else(|| missing("to"))?;
    let to = to
        .parse::<Version>()
        .map_err(|error| invalid(error.to_string()))?;
    let channel = channel.map(|name| {
        ChannelName::new(&name).ok_or_else(|| invalid("channel is not the name of one".to_owned()))
    });
    let times = times
        .map(|text| factor(&text))
        .transpose()
        .map_err(invalid)?;
    let within = within.map(|text| text.parse::<TimeSpan>()).transpose();
    let within = within.map_err(|error| invalid(error.to_string()))?;
    let within = within.map(TimeSpan::signed);
    let is_moving = times.is_some() || within.is_some();
    let is_noted = name.is_some() || message.is_some() || url.is_some();
    let (factor, within) = (
        times.unwrap_or(USUAL_FACTOR),
        within.unwrap_or(USUAL_WITHIN),
    );
    let steer = match action.as_deref() {
        Some("halt") if !is_moving => {
            Steer::Halt(HaltNote::new(name, message, url).map_err(invalid)?)
        }
        Some("resume") if !is_moving && !is_noted => Steer::Resume,
        Some("slow") if !is_noted => Steer::Slow(factor, within),
        Some("speed-up") if !is_noted => Steer::SpeedUp(factor, within),
        Some("halt" | "resume" | "slow" | "speed-up") => {
            return Err(BadRequest::Contradiction(
                "factor and within are for slow and speed-up; name, message and url for halt"
                    .to_owned(),
            ));
        }
        Some(_) => {
            return Err(invalid(
                "action is halt, resume, slow or speed-up".to_owned(),
            ));
        }
        None => return Err(missing("action")),
    };
    let request = SteerRequest {
        channel: channel.transpose()?,
        to,
        steer,
    };
    Ok((request, parsed("now", now, |text| parse_time(text).ok())?))
}

impl HaltNote {
    /// Checks the texts.
    pub fn new(
        name: Option<String>,
        message: Option<String>,
        url: Option<String>,
    ) -> Result<Self, String> {
        for text in [&name, &message, &url].into_iter().flatten() {
            if text.trim().is_empty()
                || text.chars().count() > MAX_TEXT
                || text.chars().any(char::is_control)
            {
                return Err(format!(
                    "the name, message and url of a halt are texts of one line, and of at most {MAX_TEXT} characters"
                ));
            }
        }
        let is_link = |url: &String| url.starts_with("https://") || url.starts_with("http://");
        match url.as_ref().is_none_or(is_link) {
            true => Ok(Self { name, message, url }),
            false => Err("the url of a halt begins with https://".to_owned()),
        }
    }
}

/// Reads a factor in thousandths: `2`, `1.5`.
pub fn factor(text: &str) -> Result<u32, String> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let read = || {
        let fits = is_number(whole) && is_number(rest) && whole.len() <= 4 && rest.len() <= 3;
        let thousandths: u32 = format!("{whole}{rest:0<3}").parse().ok()?;
        (fits && STRETCHES.contains(&thousandths)).then_some(thousandths)
    };
    let shown: String = text.chars().take(32).collect();
    read().ok_or_else(|| {
        format!(
            "{shown:?} is not a factor; write a number above 1 and up to 100, with at most three decimals, as in 2 or 1.5"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_more_than_one() {
        assert_eq!(
            (factor("2"), factor("1.5"), factor("100")),
            (Ok(2_000), Ok(1_500), Ok(100_000))
        );
        for wrong in ["", "1", "0.5", "-2", "101", "2.0001", "x", "99999999999"] {
            assert!(factor(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn queries_are_read_and_what_has_no_effect_is_refused() {
        let (request, now) =
            read("to=4.20.4&channel=stable-4.20&action=slow&factor=3&now=2026-11-18T12:00Z")
                .unwrap();
        assert_eq!(request.steer, Steer::Slow(3_000, USUAL_WITHIN));
        assert!(now.is_some());
        for wrong in [
            "action=halt",
            "to=4.20.4",
            "to=4.20&action=halt",
            "to=4.20.4&action=stop",
            "to=4.20.4&action=halt&factor=2",
            "to=4.20.4&action=resume&message=x",
            "to=4.20.4&action=slow&url=https://x",
            "to=4.20.4&action=slow&factor=1",
            "to=4.20.4&action=halt&url=javascript:x",
            "to=4.20.4&action=halt&message=a%0Ab",
            "to=4.20.4&action=halt&channel=A%20b",
            "to=4.20.4&action=halt&nonsense=1",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}

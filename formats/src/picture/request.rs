//! The query: `channel=A,B` or `channel=*`, and `arch`, `id`, `platform`, `now`, `format`.
//!
//! It is read strictly, because a misspelt parameter would draw something else.

use jiff::Timestamp;
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::graph::ChannelName;
use towpath_core::path::Asker;
use towpath_core::picture::{ChannelChoice, MAX_CHANNELS};

use crate::graph::data::parse_time;
use crate::graph::explain::request::{arch, given, parsed, parsed_as};
use crate::graph::request::BadRequest;
use crate::picture::PictureForm;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureQuery {
    /// None: all of them.
    channels: Option<Vec<ChannelName>>,
    /// Who asks, as far as it was said.
    pub asker: Asker,
    /// As of then; none: now.
    pub at: Option<Timestamp>,
    /// In which form, if it was said; else the `Accept` header says it.
    pub form: Option<PictureForm>,
}

impl PictureQuery {
    pub fn channels(&self) -> ChannelChoice<'_> {
        match &self.channels {
            None => ChannelChoice::All,
            Some(names) => ChannelChoice::Named(names),
        }
    }
}

/// Every channel.
const ALL: &str = "*";
const NAMES: [&str; 6] = ["channel", "arch", "id", "platform", "now", "format"];
const FORM_OF_CHANNELS: &str =
    "channels with commas between, as in stable-4.20,fast-4.20; or * for all";

/// Reads a query, or says what is wrong with it.
pub fn read(query: &str) -> Result<PictureQuery, BadRequest> {
    let [channel, arch_text, id, platform, at, form] = given(query, NAMES)?;
    let channels = parsed_as("channel", FORM_OF_CHANNELS, channel, channels)?
        .ok_or_else(|| BadRequest::missing(&["channel"]))?;
    Ok(PictureQuery {
        channels,
        asker: Asker {
            id: Fact::from(parsed("id", id, ClusterId::new)?),
            platform: Fact::from(parsed("platform", platform, Platform::new)?),
            groups: Fact::Unknown,
            arch: parsed("arch", arch_text, arch)?.unwrap_or_default(),
        },
        at: parsed("now", at, |text| parse_time(text).ok())?,
        form: parsed_as("format", PictureForm::NAMES, form, PictureForm::named)?,
    })
}

/// The names of a list, or none for all of them.
fn channels(text: &str) -> Option<Option<Vec<ChannelName>>> {
    if text == ALL {
        return Some(None);
    }
    let names: Option<Vec<ChannelName>> = text.split(',').map(ChannelName::new).collect();
    names.filter(|names| names.len() <= MAX_CHANNELS).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_named_or_all() {
        let choice = |text: &str| {
            let query = read(&format!("channel={text}")).unwrap();
            query.channels
        };
        assert_eq!(choice("*"), None);
        let names = choice("stable-4.20,fast-4.20").unwrap();
        assert_eq!(names.len(), 2);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let many = vec!["a"; MAX_CHANNELS + 1].join(",");
        for (query, expected) in [
            ("", "mandatory client parameters missing: channel"),
            ("channel=", "mandatory client parameters missing: channel"),
            ("channel=a,,b", "channel \"a,,b\" cannot be read"),
            ("channel=a,*", "channel \"a,*\" cannot be read"),
            ("channel=*&arch=a%0ab", "arch \"a\\nb\" cannot be read"),
            ("channel=*&now=soon", "now \"soon\" cannot be read"),
            ("channel=*&format=png", "format \"png\" cannot be read"),
            (
                "channel=*&from=4.20.1",
                "there is no parameter \"from\"; there are channel, arch, id, platform, now, format",
            ),
        ] {
            let told = read(query).unwrap_err();
            assert_eq!(
                told.value().split("; write ").next(),
                Some(expected),
                "{query}"
            );
        }
        let told = read(&format!("channel={many}")).unwrap_err();
        assert!(told.value().ends_with("cannot be read; write channels with commas between, as in stable-4.20,fast-4.20; or * for all"));
    }
}

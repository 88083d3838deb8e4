//! The feedback policy's file: how releases of each channel are watched, and where proposed halts go.
//!
//! A channel takes what it does not say from `default`. An unknown field is an error: nobody should believe that a release is watched
//! in a way that we do not understand.

mod destination;

use std::ops::RangeInclusive;

use jiff::SignedDuration;
use towpath_core::feedback::{FailureRate, FeedbackPolicy, Mode, WatchSettings};
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::ChannelName;

use crate::read::{Node, Reader, Record, shown, yaml};
use crate::timespan::TimeSpan;

pub use self::destination::{BranchDestination, ProposalDestination};

/// The largest file.
pub const MAX_BYTES: usize = 256 << 10;
const FIELDS: [&str; 3] = ["default", "channels", "propose"];
const SETTINGS: [&str; 7] = [
    "mode",
    "alpha",
    "baseRate",
    "toleratedRate",
    "organisations",
    "horizon",
    "delay",
];
/// In parts per million.
const ALPHAS: RangeInclusive<u32> = 1..=100_000;
const BASE_RATES: RangeInclusive<u32> =
    FailureRate::LEAST_BASE.parts()..=FailureRate::MOST_BASE.parts();
const TOLERATED_RATES: RangeInclusive<u32> = 1_000..=900_000;
const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// All that the file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedbackFile {
    pub policy: FeedbackPolicy,
    /// None: no channel proposes.
    pub destination: Option<ProposalDestination>,
}

/// Reads the file. Either what it says, or everything that is wrong with it.
pub fn read(place: &Place, bytes: &[u8]) -> Result<FeedbackFile, Vec<Finding>> {
    if bytes.len() > MAX_BYTES {
        let problem = format!("it has more than {} KiB", MAX_BYTES >> 10);
        let finding = Finding::error("too-large", place.clone(), problem, "name fewer channels");
        return Err(vec![finding]);
    }
    let node = yaml::tree(place, bytes).map_err(|finding| vec![finding])?;
    let mut reader = Reader::new(place);
    let mut file = FeedbackFile::default();
    if let Some(record) = reader.record(&node, "a feedback policy", &FIELDS) {
        fill(&mut reader, record, &mut file);
    }
    match reader.findings.is_empty() {
        true => Ok(file),
        false => Err(reader.findings),
    }
}

fn fill(reader: &mut Reader, record: Record<'_>, file: &mut FeedbackFile) {
    if let Some(node) = record.get("default") {
        file.policy.default = settings(reader, node, &WatchSettings::default());
    }
    if let Some(node) = record.get("channels")
        && let Some(channels) = reader.open_record(node, "channels")
    {
        for (key, node) in channels.node.fields() {
            let name = key.text.to_string();
            if ChannelName::new(&name).is_none() {
                let problem = format!("{:?} is not the name of a channel", shown(&name));
                let remedy = "name a channel, as in stable-4.20, or all of a kind, as in stable";
                reader.error("bad-name", node, problem, remedy);
            }
            let settings = settings(reader, node, &file.policy.default);
            file.policy.channels.insert(name, settings);
        }
    }
    if let Some(node) = record.get("propose") {
        file.destination = destination::read(reader, node);
    }
    let policy = &file.policy;
    let mut all = policy.channels.values().chain([&policy.default]);
    let proposes = all.any(|settings| settings.mode == Mode::Propose);
    if proposes && record.get("propose").is_none() {
        let problem = "a channel has the mode propose, and nothing says where to";
        let remedy = "add `propose:` with a directory, a webhook or a branch";
        reader.error("missing-field", record.node, problem.to_owned(), remedy);
    }
}

fn settings(reader: &mut Reader, node: &Node, usual: &WatchSettings) -> WatchSettings {
    let mut settings = usual.clone();
    let Some(record) = reader.record(node, "a channel's settings", &SETTINGS) else {
        return settings;
    };
    let mut rate = |name: &'static str, place: &mut FailureRate, range| {
        if let Some(node) = record.get(name)
            && let Some(given) = percent(reader, node, name, range)
        {
            *place = given;
        }
    };
    rate("alpha", &mut settings.alpha, ALPHAS);
    rate("baseRate", &mut settings.base_rate, BASE_RATES);
    rate(
        "toleratedRate",
        &mut settings.tolerated_rate,
        TOLERATED_RATES,
    );
    if settings.tolerated_rate <= settings.base_rate {
        let problem = format!(
            "the toleratedRate {} is not above the baseRate {}",
            settings.tolerated_rate, settings.base_rate
        );
        let remedy = "tolerate more than what good releases do";
        let mut given = ["toleratedRate", "baseRate"].iter();
        let place = given.find_map(|name| record.get(name));
        reader.error("bad-value", place.unwrap_or(node), problem, remedy);
    }
    let mut length = |name: &'static str, place: &mut SignedDuration, range| {
        if let Some(node) = record.get(name)
            && let Some(given) = duration(reader, node, name, range)
        {
            *place = given;
        }
    };
    length("horizon", &mut settings.horizon, HOUR..=DAY * 14);
    length("delay", &mut settings.delay, HOUR / 60..=DAY * 7);
    if let Some(node) = record.get("organisations")
        && let Some(count) = reader.count(node, "organisations", 1..=2)
    {
        settings.organisations = u8::try_from(count).unwrap_or(2);
    }
    if let Some(node) = record.get("mode")
        && let Some(text) = reader.text(node, "mode")
    {
        match Mode::of_code(text) {
            Some(mode) => settings.mode = mode,
            None => {
                let problem = format!("{:?} is not a mode", shown(text));
                reader.error(
                    "bad-value",
                    node,
                    problem,
                    "write observe, propose or enforce",
                );
            }
        }
    }
    settings
}

/// Reads a rate in percent, with at most four decimals.
fn percent(
    reader: &mut Reader,
    node: &Node,
    name: &'static str,
    range: RangeInclusive<u32>,
) -> Option<FailureRate> {
    let text = reader.text(node, name)?;
    let rate = parts_per_million(text).filter(|parts| range.contains(parts));
    if rate.is_none() {
        let [least, most] = [*range.start(), *range.end()].map(FailureRate::per_million);
        let problem = format!("{name} is a share, and this is {:?}", shown(text));
        let remedy = format!("write it in percent, from \"{least}\" to \"{most}\"");
        reader.error("bad-number", node, problem, &remedy);
    }
    rate.map(FailureRate::per_million)
}

fn parts_per_million(text: &str) -> Option<u32> {
    let number = text.strip_suffix('%')?.trim_end();
    let (whole, rest) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let fits = is_number(whole) && is_number(rest) && whole.len() <= 3 && rest.len() <= 4;
    let parts: u32 = format!("{whole}{rest:0<4}").parse().ok()?;
    (fits && parts <= 1_000_000).then_some(parts)
}

fn duration(
    reader: &mut Reader,
    node: &Node,
    name: &'static str,
    range: RangeInclusive<SignedDuration>,
) -> Option<SignedDuration> {
    let text = reader.text(node, name)?;
    let length = text.parse::<TimeSpan>().ok().map(TimeSpan::signed);
    let length = length.filter(|length| range.contains(length));
    if length.is_none() {
        let [least, most] = [*range.start(), *range.end()].map(crate::timespan::written);
        let problem = format!("{name} is a length of time, and this is {:?}", shown(text));
        let remedy = format!("write it as in 6h or 1d, from {least} to {most}");
        reader.error("bad-number", node, problem, &remedy);
    }
    length
}

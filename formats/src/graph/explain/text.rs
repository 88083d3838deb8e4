//! An explanation as text for three in the morning: the summary, then each update with its
//! reasons, and each risk once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::{Cluster, Fact};
use towpath_core::finding::Place;
use towpath_core::graph::rules::KNOWN_RISK;
use towpath_core::graph::{
    ChannelName, ExplainedRelease, Graph, MatchingRule, ReleaseStanding, Risk,
};
use towpath_core::verdict::{Answer, Reason};

use super::ExplainReport;
use crate::room::{Room, toned};
use crate::verdict::HelpOnce;
use crate::words::{
    answer_word, counted, first_names, on_platform, plain, plain_lines, platform_warning, second,
    tone, wrapped,
};

/// The most names that are listed. The others are counted.
const MAX_NAMES: usize = 6;
/// The most places that a reason of several releases, or a risk, lists. JSON has all.
const MAX_PLACES: usize = 3;

/// Everything there is to say.
pub fn text(told: &ExplainReport<'_>, room: Room) -> String {
    let mut text = head(told);
    text.push_str(&standing(told));
    text.push_str(&summary(told));
    text.push_str(&paragraphs(&runs(told)));
    let risks = risks(told);
    if !risks.is_empty() {
        text.push_str("\nThe risks, which a cluster weighs itself:\n");
        risks
            .values()
            .for_each(|(risk, origins)| text.push_str(&described(risk, origins)));
    }
    room.fit(&plain_lines(&text))
}

/// Who asks about what, and when.
fn head(told: &ExplainReport<'_>) -> String {
    let Cluster {
        id,
        platform,
        channel,
        arch,
        ..
    } = told.at.cluster;
    let id = match id {
        Fact::Known(id) => format!("cluster {id}"),
        Fact::Unknown => "a cluster that does not tell its id".to_owned(),
    };
    let warning = platform_warning(platform)
        .map_or_else(String::new, |warning| wrapped("warning: ", &warning));
    let platform = on_platform(platform);
    format!(
        "{} in {channel} ({arch}), {id}, {platform}, at {}\n{warning}",
        told.from,
        second(told.at.now)
    )
}

/// What there is to say about where the cluster is now; nothing if all is well.
fn standing(told: &ExplainReport<'_>) -> String {
    let (from, Cluster { channel, arch, .. }) = (told.from, told.at.cluster);
    let here = "A cluster on it is offered nothing here.";
    match &told.explanation.standing {
        ReleaseStanding::InChannel => String::new(),
        ReleaseStanding::Enters(start) => {
            format!(
                "{from} enters {channel} at {}. Until then {}\n",
                second(*start),
                here.to_lowercase()
            )
        }
        ReleaseStanding::NotInChannel(others) if others.is_empty() => {
            format!("{from} is in no channel. {here}\n")
        }
        ReleaseStanding::NotInChannel(others) => {
            format!(
                "{from} is not in {channel}, but in {}. {here}\n",
                listed(others.iter().map(ChannelName::as_str))
            )
        }
        ReleaseStanding::Unknown => format!("There is no release {from} for {arch}.\n"),
        ReleaseStanding::NoChannel => no_channel(channel, told.at.graph),
    }
}

/// How many are offered, and when the next one is.
fn summary(told: &ExplainReport<'_>) -> String {
    let ExplainReport {
        at, explanation, ..
    } = told;
    let candidates = &explanation.candidates;
    if candidates.is_empty() {
        return match (&explanation.standing, explanation.elsewhere) {
            (ReleaseStanding::NoChannel | ReleaseStanding::Unknown, _) => String::new(),
            (_, 0) => "No release declares an update from it.\n".to_owned(),
            (_, more) => format!(
                "No update leads from it to another release of the channel; {more} lead elsewhere.\n"
            ),
        };
    }
    if candidates.len() == 1 {
        return String::new();
    }
    let needs_a_person = |candidate: &&ExplainedRelease| {
        candidate
            .risks(at)
            .iter()
            .any(|risk| risk.is_for_everybody())
    };
    let accepted = candidates.iter().filter(needs_a_person).count();
    let offered = candidates
        .iter()
        .filter(|candidate| candidate.verdict.is_offered())
        .count()
        - accepted;
    let plain = candidates
        .iter()
        .filter(|candidate| candidate.verdict.answer == Answer::Recommend)
        .count();
    let all = candidates.len();
    let risky = match offered - plain {
        0 => String::new(),
        risky => format!(", {risky} of them with risks"),
    };
    let risky = match accepted {
        0 => risky,
        accepted => format!("{risky}; {accepted} more only if a person accepts a risk"),
    };
    let next = candidates
        .iter()
        .filter(|candidate| !candidate.verdict.is_offered());
    let next = next
        .filter_map(|candidate| Some((candidate.offered_from(at.now)?, &candidate.to)))
        .min();
    let next = next.map_or_else(String::new, |(when, to)| {
        format!(
            " The next one is {to}, at {}, {}.",
            second(rounded_up(when)),
            ahead(at.now, when)
        )
    });
    let are = if offered == 1 { "is" } else { "are" };
    format!("{offered} of {all} updates {are} offered now{risky}.{next}\n")
}

/// Updates next to each other of which the same is said.
struct Run<'a> {
    candidates: Vec<&'a ExplainedRelease>,
    said: Said,
}

/// What is said of an update, but for its name and the places of its reasons.
#[derive(PartialEq, Eq)]
struct Said {
    answer: String,
    reasons: Vec<(&'static str, String)>,
}

/// The updates in runs: releases of one minor version with one answer and the same reasons are told together.
fn runs<'a>(told: &ExplainReport<'a>) -> Vec<Run<'a>> {
    let mut runs: Vec<Run<'a>> = Vec::new();
    for candidate in &told.explanation.candidates {
        let reasons = shown_reasons(candidate);
        let said = Said {
            answer: answer(told, candidate),
            reasons: reasons
                .map(|reason| (reason.code().name, reason.text()))
                .collect(),
        };
        let minor = |one: &ExplainedRelease| (one.to.major(), one.to.minor());
        match runs.last_mut() {
            Some(run) if run.said == said && minor(run.candidates[0]) == minor(candidate) => {
                run.candidates.push(candidate);
            }
            _ => runs.push(Run {
                candidates: vec![candidate],
                said,
            }),
        }
    }
    runs
}

impl Run<'_> {
    /// `4.20.3`; `4.20.3, 4.20.4`; or `4.20.3 … 4.20.9 (7 releases)`. The newest comes first among candidates, and last here.
    fn name(&self) -> String {
        match self.candidates.as_slice() {
            [] => String::new(),
            [only] => only.to.to_string(),
            [newer, older] => format!("{}, {}", older.to, newer.to),
            [newest, .., oldest] => {
                let releases = counted(self.candidates.len(), "release");
                format!("{} … {} ({releases})", oldest.to, newest.to)
            }
        }
    }

    /// The answer, when, and every reason with its places. What a risk is about stands at the end, once.
    fn paragraph(&self, width: usize, helps: &mut HelpOnce) -> String {
        let start = format!("{:width$}  ", self.name());
        let mut text = wrapped(&start, &self.said.answer);
        let first = self.candidates.iter().take(1);
        for reason in first.flat_map(|candidate| shown_reasons(candidate)) {
            text.push_str(&match self.places(reason).as_slice() {
                [] | [_] => helps.point("    - ", reason),
                places => {
                    let places = first_names(places, MAX_PLACES);
                    let said = format!("{} ({places}) [{}]", reason.text(), reason.code().name);
                    helps.point_of("    - ", reason, &plain(&said))
                }
            });
        }
        text
    }

    /// Where this is said, in all of the run.
    fn places(&self, reason: &Reason) -> Vec<String> {
        let all = self
            .candidates
            .iter()
            .flat_map(|candidate| shown_reasons(candidate));
        let same = all.filter(|other| other.is(reason.code()) && other.text() == reason.text());
        let places: BTreeSet<&Place> = same.filter_map(Reason::place).collect();
        places.into_iter().map(ToString::to_string).collect()
    }
}

/// A risk that the cluster weighs itself is named in the answer, and told at the end.
fn shown_reasons(candidate: &ExplainedRelease) -> impl Iterator<Item = &Reason> {
    let weighed = candidate.verdict.is_offered();
    let reasons = candidate.verdict.reasons.iter();
    reasons.filter(move |reason| !(weighed && reason.is(&KNOWN_RISK)))
}

/// One below the other; those of several points with space around them.
fn paragraphs(runs: &[Run<'_>]) -> String {
    let mut helps = HelpOnce::default();
    let names = runs.iter().map(|run| run.name().chars().count());
    let width = names.max().unwrap_or(0);
    let (mut text, mut was_long) = (String::new(), true);
    for run in runs {
        let is_long = !run.said.reasons.is_empty();
        if is_long || was_long {
            text.push('\n');
        }
        text.push_str(&run.paragraph(width, &mut helps));
        was_long = is_long;
    }
    text
}

/// The answer in words, with the time if it has one.
fn answer(told: &ExplainReport<'_>, candidate: &ExplainedRelease) -> String {
    let now = told.at.now;
    let answer = &candidate.verdict.answer;
    let word = answer_word(answer);
    match (answer, candidate.offered_from(now)) {
        (Answer::RecommendUnless(_), _) => {
            let risks = candidate.risks(told.at);
            let (certain, open): (Vec<&Risk>, Vec<&Risk>) =
                risks.into_iter().partition(|risk| risk.is_for_everybody());
            let names =
                |risks: &[&Risk], last| joined(risks.iter().map(|risk| risk.name.as_str()), last);
            match certain.is_empty() {
                true => {
                    let word = toned(tone(answer), "yes, unless");
                    format!("{word} {} applies", names(&open, "or"))
                }
                false => {
                    let verb = if certain.len() == 1 {
                        "applies"
                    } else {
                        "apply"
                    };
                    let names = names(&certain, "and");
                    let word = toned(tone(answer), "only if a person accepts it");
                    format!("{word}: {names} {verb} to every cluster")
                }
            }
        }
        (Answer::Wait { .. }, Some(from)) => {
            let when = second(rounded_up(from));
            format!("{word}: offered from {when}, {}", ahead(now, from))
        }
        (Answer::Wait { .. }, None) => format!("{word}, and nobody can say until when"),
        _ => word,
    }
}

/// Each risk once, with the places that declare it.
fn risks<'a>(told: &'a ExplainReport<'_>) -> BTreeMap<&'a str, (&'a Risk, BTreeSet<&'a Place>)> {
    // A risk that stands behind something stricter is named there, with its address.
    let mut risks: BTreeMap<&str, (&Risk, BTreeSet<&Place>)> = BTreeMap::new();
    for candidate in &told.explanation.candidates {
        for risk in candidate.risks(told.at) {
            risks
                .entry(&risk.name)
                .or_insert_with(|| (risk, BTreeSet::new()));
        }
        for reason in &candidate.verdict.reasons {
            let name = reason.fact("risk").and_then(|name| name.as_str());
            let risk = name.and_then(|name| risks.get_mut(name));
            if let (Some((_, origins)), Some(place)) = (risk, reason.place()) {
                origins.insert(place);
            }
        }
    }
    risks
}

pub(crate) fn described(risk: &Risk, origins: &BTreeSet<&Place>) -> String {
    let mut text = format!("\n{}\n", plain(&risk.name));
    for line in risk.message.trim_end().lines() {
        text.push_str(&wrapped("    ", line));
    }
    let _ = writeln!(text, "    {}", plain(&risk.url));
    for rule in &risk.matching_rules {
        let said = match rule {
            MatchingRule::Always => "It applies to every cluster.".to_owned(),
            MatchingRule::PromQl(query) => format!("It applies where this gives 1: {query}"),
            MatchingRule::Unparsable(_) => "It has a query that is not PromQL.".to_owned(),
            MatchingRule::Other(_) => "It has a rule that this towpath does not know.".to_owned(),
        };
        text.push_str(&wrapped("    ", &said));
    }
    let places: Vec<String> = origins.iter().map(ToString::to_string).collect();
    text + &wrapped("      ", &first_names(places, MAX_PLACES))
}

/// The first few names, and how many more there are.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    first_names(names, MAX_NAMES)
}

fn joined<'a>(names: impl Iterator<Item = &'a str>, last_word: &str) -> String {
    let names: Vec<&str> = names.collect();
    match &names[..] {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} {last_word} {last}", first.join(", ")),
    }
}

/// There is no such channel, but there may be others.
pub(crate) fn no_channel(wanted: &ChannelName, graph: &Graph) -> String {
    let alike = alike(wanted, graph.channels().keys());
    match alike.is_empty() {
        true => format!("There is no channel {wanted}: the graph has no channel at all.\n"),
        false => format!(
            "There is no channel {wanted}; there are {}.\n",
            listed(alike.iter().map(|name| name.as_str()))
        ),
    }
}

/// Channels of the same version, else of the same stream, else the last ones.
fn alike<'a>(
    wanted: &ChannelName,
    all: impl Iterator<Item = &'a ChannelName>,
) -> Vec<&'a ChannelName> {
    let mut all: Vec<&ChannelName> = all.collect();
    all.sort_by(|a, b| b.display_order().cmp(&a.display_order()));
    let (stream, version) = wanted
        .as_str()
        .rsplit_once('-')
        .unwrap_or((wanted.as_str(), ""));
    let with = |fits: &dyn Fn(&str) -> bool| -> Vec<&ChannelName> {
        all.iter()
            .copied()
            .filter(|name| fits(name.as_str()))
            .collect()
    };
    let same_version = with(&|name| !version.is_empty() && name.ends_with(&format!("-{version}")));
    let same_stream = with(&|name| name.starts_with(&format!("{stream}-")));
    [same_version, same_stream]
        .into_iter()
        .find(|names| !names.is_empty())
        .unwrap_or(all)
}

/// The next whole second: at the time that we name, what we say must be true.
pub(crate) fn rounded_up(at: Timestamp) -> Timestamp {
    let more = i64::from(at.subsec_nanosecond() > 0);
    Timestamp::from_second(at.as_second() + more).unwrap_or(at)
}

/// How long from now, in the two largest units.
pub(crate) fn ahead(now: Timestamp, then: Timestamp) -> String {
    let left = now.duration_until(then).max(SignedDuration::ZERO).as_secs();
    let (days, hours, minutes) = (left / 86_400, left % 86_400 / 3_600, left % 3_600 / 60);
    let unit = |count: i64, one: &str| counted(count as usize, one);
    match (days, hours, minutes) {
        (0, 0, 0) => "in less than a minute".to_owned(),
        (0, 0, minutes) => format!("in {}", unit(minutes, "minute")),
        (0, hours, 0) => format!("in {}", unit(hours, "hour")),
        (0, hours, minutes) => format!("in {} {}", unit(hours, "hour"), unit(minutes, "minute")),
        (days, 0, _) => format!("in {}", unit(days, "day")),
        (days, hours, _) => format!("in {} {}", unit(days, "day"), unit(hours, "hour")),
    }
}

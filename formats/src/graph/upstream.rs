//! The answers of a Cincinnati service, one file per channel and architecture:
//! `CHANNEL/ARCH.json`.
//!
//! The releases of an answer are in its channel. An answer has all edges that are offered in its
//! channel, and no others. If two answers hold both ends of an edge, but only one has the edge, it
//! is not taken: the service objects to it in the other channel. Risks unite.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{ChannelName, ChannelSpec, DeclaredEdge, Releases, Risk};
use towpath_core::version::{Arch, Version};

use crate::SourceFile;
use crate::graph::{cincinnati, releases};

/// What a service has to say.
#[derive(Debug, Clone, Default)]
pub struct Upstream {
    /// Every release, and the edges that are offered.
    pub releases: Releases,
    /// The channels it was asked for and that have something.
    pub channels: Vec<ChannelSpec>,
}

/// The name of the file that holds the answer about a channel and architecture.
pub fn file_name(channel: &str, arch: &str) -> String {
    format!("{channel}/{arch}.json")
}

/// Reads all answers. Either what they say, with warnings, or what is wrong with them.
pub fn read(files: &[SourceFile]) -> Result<(Upstream, Vec<Finding>), Vec<Finding>> {
    let (mut answers, mut findings) = (Vec::new(), Vec::new());
    for file in files {
        match answer(file) {
            Ok((answer, warnings)) => {
                answers.push(answer);
                findings.extend(warnings);
            }
            Err(wrong) => findings.extend(wrong),
        }
    }
    findings.sort();
    match findings.iter().any(Finding::is_error) {
        true => Err(findings),
        false => {
            let (upstream, disputes) = joined(answers);
            match disputes.is_empty() {
                true => Ok((upstream, findings)),
                false => Err(disputes),
            }
        }
    }
}

struct Answer {
    channel: ChannelName,
    place: Place,
    releases: Releases,
}

fn answer(file: &SourceFile) -> Result<(Answer, Vec<Finding>), Vec<Finding>> {
    let place = Place::file(file.path.as_str());
    let named = file
        .path
        .strip_suffix(".json")
        .and_then(|stem| stem.rsplit_once('/'));
    let Some((channel, arch)) =
        named.and_then(|(channel, arch)| Some((ChannelName::new(channel)?, arch)))
    else {
        let problem = "its name is not that of a channel and an architecture";
        return Err(vec![Finding::error(
            "no-channel",
            place,
            problem,
            "name it CHANNEL/ARCH.json",
        )]);
    };
    let (mut releases, findings) = releases::read(&place, &file.bytes)?;
    for release in &mut releases.releases {
        // Answers do not tell the architecture that was asked for.
        release.arch = Arch::new(arch);
        release.metadata.remove(cincinnati::CHANNELS_KEY);
        // What an image declares is known to those who have read it. A service could say anything of it.
        release.declares = None;
    }
    Ok((
        Answer {
            channel,
            place,
            releases,
        },
        findings,
    ))
}

/// An edge, by architecture and versions.
type Ends = (Arch, Version, Version);

fn joined(answers: Vec<Answer>) -> (Upstream, Vec<Finding>) {
    let mut numbers: BTreeMap<(Arch, Version), u32> = BTreeMap::new();
    let mut channels: BTreeMap<ChannelName, ChannelSpec> = BTreeMap::new();
    let (mut upstream, mut disputes) = (Upstream::default(), Vec::new());
    let mut edges: BTreeMap<Ends, (usize, BTreeSet<Risk>)> = BTreeMap::new();
    for answer in &answers {
        for release in &answer.releases.releases {
            let next = upstream.releases.releases.len() as u32;
            let number = *numbers
                .entry((release.arch.clone(), release.version.clone()))
                .or_insert(next);
            match upstream.releases.releases.get(number as usize) {
                None => upstream.releases.releases.push(release.clone()),
                Some(first) if first.payload == release.payload => {}
                Some(first) => disputes.push(disputed(
                    &answer.place,
                    &release.version,
                    [&first.payload, &release.payload],
                )),
            }
        }
        for (ends, risks) in offered(&answer.releases) {
            let (times, all) = edges.entry(ends).or_default();
            *times += 1;
            all.extend(risks);
        }
        add_members(&mut channels, answer);
    }
    let held = held(&answers);
    for ((arch, from, to), (times, risks)) in edges {
        let number = |version: &Version| numbers[&(arch.clone(), version.clone())];
        if times
            == held
                .iter()
                .filter(|versions| holds(versions, &arch, [&from, &to]))
                .count()
        {
            let risks = (!risks.is_empty()).then(|| risks.into_iter().collect::<Arc<[Risk]>>());
            upstream.releases.edges.push(DeclaredEdge {
                from: number(&from),
                to: number(&to),
                risks,
            });
        }
    }
    upstream.channels = channels.into_values().collect();
    (upstream, disputes)
}

/// The releases of each answer.
fn held(answers: &[Answer]) -> Vec<BTreeSet<(&Arch, &Version)>> {
    let mut all = Vec::new();
    for answer in answers {
        all.push(
            answer
                .releases
                .releases
                .iter()
                .map(|release| (&release.arch, &release.version))
                .collect(),
        );
    }
    all
}

fn holds(versions: &BTreeSet<(&Arch, &Version)>, arch: &Arch, ends: [&Version; 2]) -> bool {
    ends.iter()
        .all(|version| versions.contains(&(arch, *version)))
}

/// The edges of one answer, each once, with its risks.
fn offered(releases: &Releases) -> BTreeMap<Ends, BTreeSet<Risk>> {
    let mut edges: BTreeMap<Ends, BTreeSet<Risk>> = BTreeMap::new();
    for edge in &releases.edges {
        let (from, to) = (
            &releases.releases[edge.from as usize],
            &releases.releases[edge.to as usize],
        );
        let risks = edges
            .entry((from.arch.clone(), from.version.clone(), to.version.clone()))
            .or_default();
        risks.extend(edge.risks.iter().flat_map(|risks| risks.iter()).cloned());
    }
    edges
}

fn add_members(channels: &mut BTreeMap<ChannelName, ChannelSpec>, answer: &Answer) {
    if answer.releases.releases.is_empty() {
        return;
    }
    let spec = channels
        .entry(answer.channel.clone())
        .or_insert_with(|| ChannelSpec {
            name: answer.channel.clone(),
            rings: Vec::new(),
            rollouts: Vec::new(),
            members: Vec::new(),
            origin: answer.place.clone(),
        });
    spec.members
        .extend(releases::members(&answer.releases, &answer.place));
}

fn disputed(place: &Place, version: &Version, payloads: [&String; 2]) -> Finding {
    let [first, second] = payloads;
    let problem =
        format!("{version} has the payload {second} here, and {first} in another channel");
    Finding::error(
        "duplicate-release",
        place.clone(),
        problem,
        "ask the people who run the service",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, versions: &[u32], edges: &str, conditional: &str) -> SourceFile {
        let node = |n: &u32| format!(r#"{{"version":"4.9.{n}","payload":"p{n}"}}"#);
        let nodes = versions.iter().map(node).collect::<Vec<_>>().join(",");
        let text = format!(
            r#"{{"nodes":[{nodes}],"edges":[{edges}],"conditionalEdges":[{conditional}]}}"#
        );
        SourceFile {
            path: path.into(),
            bytes: text.into_bytes().into(),
        }
    }

    fn told(files: &[SourceFile]) -> Vec<String> {
        let (upstream, _) = read(files).unwrap();
        let release = |number: u32| &upstream.releases.releases[number as usize];
        let line = |edge: &DeclaredEdge| {
            let risks: Vec<&str> = edge
                .risks
                .iter()
                .flat_map(|risks| risks.iter())
                .map(|risk| risk.name.as_str())
                .collect();
            let (from, to) = (release(edge.from), release(edge.to));
            format!(
                "{} {} -> {} [{}]",
                from.arch,
                from.version,
                to.version,
                risks.join(" ")
            )
        };
        upstream.releases.edges.iter().map(line).collect()
    }

    const RISK: &str = r#"{"edges":[{"from":"4.9.0","to":"4.9.1"}],"risks":[{"name":"R","url":"https://u","message":"m","matchingRules":[{"type":"Always"}]}]}"#;

    #[test]
    fn an_edge_is_taken_if_every_channel_that_holds_it_offers_it() {
        let fast = file("fast-4.9/amd64.json", &[0, 1, 2], "[0,1],[0,2]", "");
        assert_eq!(
            told(std::slice::from_ref(&fast)),
            ["amd64 4.9.0 -> 4.9.1 []", "amd64 4.9.0 -> 4.9.2 []"]
        );
        let without = file("stable-4.9/amd64.json", &[0, 1], "", "");
        assert_eq!(told(&[fast.clone(), without]), ["amd64 4.9.0 -> 4.9.2 []"]);
        let risky = file("stable-4.9/amd64.json", &[0, 1], "", RISK);
        assert_eq!(
            told(&[fast.clone(), risky]),
            ["amd64 4.9.0 -> 4.9.1 [R]", "amd64 4.9.0 -> 4.9.2 []"]
        );
        let elsewhere = file("stable-4.9/s390x.json", &[0, 1], "[0,1]", "");
        assert_eq!(told(&[fast, elsewhere]).len(), 3);
    }

    #[test]
    fn what_is_answered_is_the_channel() {
        let files = [
            file("a-4.9/amd64.json", &[0], "", ""),
            file("a-4.9/s390x.json", &[1], "", ""),
            file("b/amd64.json", &[], "", ""),
        ];
        let (upstream, _) = read(&files).unwrap();
        let members: Vec<String> = upstream.channels[0]
            .members
            .iter()
            .map(|member| member.name.to_string())
            .collect();
        assert_eq!(
            (upstream.channels.len(), members),
            (1, vec!["4.9.0+amd64".to_owned(), "4.9.1+s390x".to_owned()])
        );
    }

    #[test]
    fn half_an_answer_is_none() {
        let mut cut = file("a-4.9/amd64.json", &[0], "", "");
        cut.bytes = cut.bytes[..cut.bytes.len() - 3].into();
        assert_eq!(read(&[cut]).unwrap_err()[0].code, "bad-json");
        assert_eq!(
            read(&[file("amd64.json", &[0], "", "")]).unwrap_err()[0].code,
            "no-channel"
        );
    }
}

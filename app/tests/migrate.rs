//! A migrated repository serves what the old one did: on real data, for every channel and architecture, at once and for ever.
//!
//! The data is not part of this repository. Where `TOWPATH_REAL_DATA` names it these tests run; elsewhere each
//! is listed as ignored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use libtest_mimic::{Arguments, Failed, Trial};
use towpath_core::cluster::{Cluster, ClusterId, Platform};
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{ChannelName, Graph, Releases, Situation, recommend};
use towpath_core::rules::Policy;
use towpath_core::version::{Arch, ReleaseName};
use towpath_formats::SourceFile;
use towpath_formats::graph::data::migrate::{Migration, Stays, Wishes, migrate};
use towpath_formats::graph::{cincinnati, data, lint, releases};

/// The day of the data.
const NOW: &str = "2026-08-21T12:00Z";
/// When the last window of [`wishes`] has ended, with all that was promoted.
const AFTER: &str = "2026-09-04T12:00Z";

fn main() {
    let data = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    let trial = |name: String, test: fn(&Path, &str) -> Result<(), Failed>, file: &'static str| {
        let path = data.clone().unwrap_or_default();
        Trial::test(name, move || test(&path, file)).with_ignored_flag(data.is_none())
    };
    let mut trials = Vec::new();
    for file in ["releases-amd64.json", "releases-multiarch-2021-11-24.json"] {
        trials.push(trial(
            format!("serves_the_same::{file}"),
            serves_the_same,
            file,
        ));
    }
    trials.push(trial(
        "promoted_releases_join_channels".into(),
        promoted_releases_join,
        "releases-amd64.json",
    ));
    trials.push(trial(
        "lints_clean_and_twice_the_same".into(),
        lints_clean,
        "",
    ));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Nodes, edges, conditional edges with risks: the same text, on the day of the migration and after every window.
fn serves_the_same(data: &Path, file: &str) -> Result<(), Failed> {
    let old = files(data)?;
    let migration = migrated(&old, &wishes(&[]))?;
    if migration.starts.from_history == 0 || migration.starts.set_back.entries == 0 {
        return Err("the history has no recent releases, so this test says little".into());
    }
    let (before, after) = (
        graph(&old, releases(data, file)?)?,
        graph(&migration.files, releases(data, file)?)?,
    );
    let mut compared = 0;
    for arch in before.arches() {
        for channel in before.channels().keys() {
            for cluster in clusters(channel, arch) {
                for now in [NOW, AFTER] {
                    if served(&before, &cluster, now)? != served(&after, &cluster, now)? {
                        return Err(format!(
                            "{channel} {arch} at {now}: not the same for {cluster:?}"
                        )
                        .into());
                    }
                    compared += 1;
                }
            }
        }
    }
    if compared < 76 * 2 * 2 {
        Err(format!("only {compared} answers were compared").into())
    } else {
        Ok(())
    }
}

/// What a person promotes joins the live channels; whoever is on fast sees no difference, and stable has it after the window.
fn promoted_releases_join(data: &Path, file: &str) -> Result<(), Failed> {
    let old = files(data)?;
    let migration = migrated(&old, &wishes(&["4.18.52", "4.19.42", "4.20.34"]))?;
    let joined = migration
        .channels
        .iter()
        .find(|file| file.path == "channels/4.20.yaml")
        .ok_or("4.20 is not joined")?;
    let names: Vec<&str> = joined.channels.iter().map(ChannelName::as_str).collect();
    if names != ["fast-4.20", "stable-4.20", "eus-4.20"] {
        return Err(format!("{names:?} share a file").into());
    }
    let graph = graph(&migration.files, releases(data, file)?)?;
    // What is promoted has entered these channels too, and says so; nothing else differs between them in the end.
    let cluster = |channel: &str| {
        ChannelName::new(channel).map(|name| Cluster::anonymous(name, Arch::default()))
    };
    let [fast, stable] = ["fast-4.20", "stable-4.20"].map(cluster);
    let (fast, stable) = fast.zip(stable).ok_or("channels")?;
    let same = |now: &str| {
        Ok::<bool, Failed>(served(&graph, &fast, now)? == served(&graph, &stable, now)?)
    };
    match (same(NOW)?, same("2026-09-04T11:59Z")?, same(AFTER)?) {
        (false, false, true) => Ok(()),
        other => Err(format!(
            "stable equals fast {other:?} at the beginning, shortly before the end, at the end"
        )
        .into()),
    }
}

fn lints_clean(data: &Path, _: &str) -> Result<(), Failed> {
    let old = files(data)?;
    let first = migrated(&old, &wishes(&[]))?;
    let (_, warnings) = data::read(&first.files).map_err(|findings| all(&findings))?;
    if !warnings.is_empty() {
        return Err(all(&warnings));
    }
    if let Some(finding) = first
        .findings
        .iter()
        .find(|finding| !["could-be-joined", "kept-apart", "feeder-left"].contains(&finding.code))
    {
        return Err(format!("unexpected: {finding}").into());
    }
    // The whole repository in one commit of today: every start is set back, and promotion stays in order.
    let mut today = Stays::default();
    let texts = old
        .iter()
        .map(|file| (file.path.as_str(), Some(&file.bytes[..])));
    today.commit(NOW.parse().expect("a time"), texts);
    let in_one = migrate(&old, &today, &wishes(&[])).map_err(|findings| all(&findings))?;
    let before = errors(&old);
    for files in [&first.files, &in_one.files] {
        let after = errors(files);
        if after
            .iter()
            .any(|(code, number)| before.get(code) < Some(number))
        {
            return Err(format!("lint finds {before:?} before, {after:?} after").into());
        }
    }
    let comments = |files: &[SourceFile]| -> usize {
        let channels = files
            .iter()
            .filter(|file| file.path.starts_with("channels/"));
        channels
            .map(|file| {
                file.bytes
                    .split(|b| *b == b'\n')
                    .filter(|line| line.starts_with(b"# "))
                    .count()
            })
            .sum()
    };
    let (before, after) = (comments(&old), comments(&first.files));
    if before == 0 || after < before {
        return Err(format!("{before} comments before, {after} after").into());
    }
    if first.files != migrated(&old, &wishes(&[]))?.files {
        return Err("migrating twice gives other bytes".into());
    }
    Ok(())
}

/// How many errors of each code lint finds.
fn errors(files: &[SourceFile]) -> BTreeMap<&'static str, usize> {
    let mut numbers = BTreeMap::new();
    let linted = lint::lint(files, None);
    for finding in linted.findings.iter().filter(|one| one.is_error()) {
        *numbers.entry(finding.code).or_default() += 1;
    }
    numbers
}

fn files(data: &Path) -> Result<Vec<SourceFile>, Failed> {
    towpath_sources::read_directory(&data.join("graph-data"), |_| true)
        .map_err(|finding| finding.to_string().into())
}

fn releases(data: &Path, file: &str) -> Result<Releases, Failed> {
    let (releases, _) = releases::read(&Place::file(file), &std::fs::read(data.join(file))?)
        .map_err(|f| all(&f))?;
    Ok(releases)
}

fn wishes(promote: &[&str]) -> Wishes {
    Wishes {
        rollouts: ["patch=P2D", "minor=P14D,exponential"]
            .map(|rule| rule.parse().expect("a rule"))
            .to_vec(),
        phased: vec!["stable".into(), "eus".into()],
        promote: promote
            .iter()
            .map(|name| ReleaseName::parse(name).expect("a release"))
            .collect(),
        now: NOW.parse().expect("a time"),
    }
}

fn migrated(files: &[SourceFile], wishes: &Wishes) -> Result<Migration, Failed> {
    migrate(files, &made_up_history(files), wishes).map_err(|findings| all(&findings))
}

/// The data has no history. In this one, half of each list came years ago, and its last quarter in the last days; stable a day after fast.
fn made_up_history(files: &[SourceFile]) -> Stays {
    let mut stays = Stays::default();
    let days = [
        ("2020-01-01", 2),
        ("2024-01-01", 4),
        ("2026-08-12", 1),
        ("2026-08-18", 1),
    ];
    for (number, (day, parts)) in days.iter().enumerate() {
        for (stream, hour) in [
            ("candidate", 0),
            ("fast", 6),
            ("stable", 12),
            ("eus", 18),
            ("prerelease", 20),
        ] {
            let of_stream =
                |file: &&SourceFile| file.path.starts_with(&format!("channels/{stream}"));
            let texts: Vec<(&str, String)> = files
                .iter()
                .filter(of_stream)
                .map(|file| {
                    let text = String::from_utf8_lossy(&file.bytes);
                    let entries = text
                        .lines()
                        .filter(|line| line.starts_with("- 4") || line.starts_with("- 5"))
                        .count();
                    let kept = match number {
                        0 => entries / parts,
                        1 => entries * 3 / parts,
                        _ if number + 1 < days.len() => entries.saturating_sub(1),
                        _ => entries,
                    };
                    (file.path.as_str(), shortened(&text, kept))
                })
                .collect();
            let at: Timestamp = format!("{day}T{hour:02}:00Z").parse().expect("a time");
            stays.commit(
                at,
                texts
                    .iter()
                    .map(|(path, text)| (*path, Some(text.as_bytes()))),
            );
        }
    }
    stays
}

/// A channel file with only its first releases.
fn shortened(text: &str, releases: usize) -> String {
    let (mut kept, mut seen) = (String::new(), 0);
    for line in text.lines() {
        seen += usize::from(line.starts_with("- 4") || line.starts_with("- 5"));
        if seen <= releases || !line.starts_with("- ") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    // A list of nothing would be wrong; it stays as it is until it has something.
    if releases == 0 {
        kept.replace("versions:\n", "versions: []\n")
    } else {
        kept
    }
}

fn graph(files: &[SourceFile], releases: Releases) -> Result<Graph, Failed> {
    let (data, _) = data::read(files).map_err(|findings| all(&findings))?;
    Ok(Graph::build(data, releases).0)
}

/// A client that reports nothing, and one that reports all there is.
fn clusters(channel: &ChannelName, arch: &Arch) -> [Cluster; 2] {
    let silent = Cluster::anonymous(channel.clone(), arch.clone());
    let known = Cluster {
        id: ClusterId::new("0b5b8d2e-6f0c-4f0e-9d3c-0a4f7c2f9b11").into(),
        platform: Platform::new("AWS").into(),
        ..silent.clone()
    };
    [silent, known]
}

fn served(graph: &Graph, cluster: &Cluster, now: &str) -> Result<String, Failed> {
    let now: Timestamp = now.parse()?;
    let view = recommend(
        Policy::graph(),
        &Situation {
            graph,
            cluster,
            now,
        },
    );
    Ok(cincinnati::write(graph, &view, now))
}

fn all(findings: &[Finding]) -> Failed {
    findings
        .iter()
        .map(|finding| format!("{finding}\n"))
        .collect::<String>()
        .into()
}

//! Whatever a file or a header holds, every reader gives an answer, and the same one each time.
//!
//! Three kinds of input: any bytes, texts made of the words that the formats are made of, and good files with a few
//! edits. A refusal names a place in a file that was given, a problem and a remedy; what is taken has no error, and no
//! block is lost on the way.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestCaseResult;
use towpath_core::cluster::{Cluster, ClusterId, Platform};
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{
    ChannelName, EdgeMatch, Graph, Pattern, RolloutRule, Situation, recommend,
};
use towpath_core::rules::Policy;
use towpath_core::version::{Arch, ReleaseName, Version};
use towpath_formats::SourceFile;
use towpath_formats::agent::stamp;
use towpath_formats::fleet::{cluster_list, input, policy, report, token};
use towpath_formats::graph::request::{ContentType, accepts_gzip};
use towpath_formats::graph::{cincinnati, data, platforms, releases, request};

const CHANNEL: &str =
    "name: stable-4.9\nfeeder:\n  name: fast-4.9\nversions:\n- 4.9.1\n- 4.9.2+amd64\n";
const CHANNELS: &str = "\
channels:
- name: fast-4.9
- name: stable-4.9
  phasedRollouts:
  - fromVersion: patch
    duration: P2D
  - duration: PT48H
    ramp: exponential
versions:
- name: 4.9.1
  start: 2020-05-12T00:00Z
- name: 4.9.2
  start: 2020-06-12T00:00:00+02:00
  locked: true
  replaces: 4.9.1
";
const BLOCK: &str = "\
to: 4.9.2
from: 4[.]8[.].*
url: https://example.com/bug
name: SlowStart
message: Nodes may start slowly.
fixedIn: 4.9.3
matchingRules:
- type: PromQL
  promql:
    promql: |
      max(up == 0)
- type: Always
clusters:
  platforms: [AWS, Azure]
";
const METADATA: &str = r#"{"4.9.2+amd64": {"io.openshift.upgrades.graph.previous.add": "4.9.1, 4.9.0",
  "io.openshift.upgrades.graph.previous.remove_regex": "4[.]8.*"}}"#;
const RELEASES: &str = r#"{"version": 1, "nodes": [
  {"version": "4.9.0+amd64", "payload": "p0", "metadata": {"url": "u"}},
  {"version": "4.9.1", "payload": "p1", "metadata": {"io.openshift.upgrades.graph.release.arch": "amd64"}},
  {"version": "4.9.2+amd64", "payload": "p2"}],
 "edges": [[0, 1], [1, 2]],
 "conditionalEdges": [
  {"edges": [{"from": "4.9.0", "to": "4.9.2"}],
   "risks": [{"name": "R", "url": "u", "message": "m", "matchingRules": [{"type": "Always"}]}]}]}
"#;
const ORGANISATION: &str = r#"orgId: o
name: one
blockedVersions: ["^4\\.1$"]
upgradePolicyAllowedMutexes: [m]
inheritVersionData: [{orgId: o}]
sectors:
- name: stage
- {name: prod, maxParallelUpgrades: 50%, dependencies: [{name: stage}]}
upgradePolicyClusters:
- name: a
  upgradePolicy: &policy
    workloads: [w]
    schedule: 0 10 * * 1-5
    conditions: {soakDays: 1, mutexes: [m], sector: prod, blockedVersions: [x]}
    maintenanceWindows: [{start: 0 22 * * *, duration: PT4H, timeZone: Europe/Berlin}]
    exclusions: [{from: 2026-12-20T00:00, until: 2027-01-03, reason: r}]
    pin: 4.16.3
- name: b
  upgradePolicy: *policy
upgradePolicyDefaults:
- {name: d, matchLabels: {x: y}, upgradePolicy: {workloads: [w], schedule: "* * * * *"}}
"#;
const CLUSTER: &str = "name: c\nocm: {orgId: o}\nspec: {id: i}\nupgradePolicy:\n  workloads: [w]\n  schedule: 5 * * * *\n";
const LIST: &str = r#"{"organisations": [{"id": "p", "labels": {"sre-capabilities.aus.sector-deps.prod": "stage"}}],
 "clusters": [{"id": "1", "name": "a", "organisation": "o", "version": "4.12.1", "availableUpgrades": ["4.12.2"]},
  {"id": "2", "organisation": "p", "version": "4.12.1", "healthy": false, "nodePools": [{"id": "n", "version": "4.12.0"}],
   "labels": {"sre-capabilities.aus.workloads": "w, v", "sre-capabilities.aus.schedule": "* * * * *",
    "sre-capabilities.aus.soak-days": "0", "sre-capabilities.aus.sector": "prod"}}],
 "versionGates": [{"id": "g", "versionPrefix": "4.13", "label": "l"}],
 "upgrades": [{"cluster": "1", "to": "4.12.2", "state": "started", "startAt": "2026-05-12T00:00Z"}],
 "inherited": {"o": {"version": "4.12.1", "ofWorkload": {"w": "4.12.0"}}},
 "soak": [{"organisation": "o", "workload": "w", "version": "4.12.1", "days": 1.5}]}
"#;
const YAML_LIST: &str =
    "clusters:\n- id: x\n  organisation: o\n  version: 4.12.1\n  labels: {a: b}\nsoak: []\n";
const REPORT: &str = r#"{"name": "c", "organisation": "o", "id": "r",
  "updates": [{"to": "4.16.3", "outcome": "failed", "why": "w", "startedAt": "2026-05-01T00:00Z", "tookSeconds": 3}], "version": "4.16.1", "desired": "4.16.2", "nodes": 3,
 "history": [{"version": "4.16.1", "state": "Completed", "completionTime": "2026-05-01T10:00:00Z"}],
 "conditions": [{"type": "Available", "status": "True"}], "labels": {"a": "b"}, "at": "2026-05-12T10:30:00Z"}"#;
const PLATFORMS: &str = "# clusters\n0f3a,AWS\n0f3b , Azure\n";
const QUERY: &str = "channel=stable-4.9&arch=amd64&version=4.9.1&id=0f3a-%41&platform=AWS&x=%zz";
const ACCEPT: &str =
    "application/json;q=0.5, application/vnd.redhat.cincinnati.v1+json; q=1, */*;q=0.001";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn graph_data_with_one_bad_file(
        schema in select(vec!["1.1.0", "2.0.0"]),
        which in 0usize..4,
        bytes in any_input(&[CHANNEL, CHANNELS, BLOCK, METADATA]),
    ) {
        let mut files = good_files(schema);
        files[which].bytes = bytes.as_slice().into();
        check_graph_data(&files)?;
    }

    #[test]
    fn graph_data_with_an_edited_file(
        (which, bytes) in select(vec![(0, "1.1.0\n"), (1, CHANNEL), (1, CHANNELS), (2, BLOCK), (3, METADATA)])
            .prop_flat_map(|(which, good)| (Just((which, good)), edited(good)))
            .prop_map(|((which, good), bytes)| ((which, good == CHANNELS), bytes)),
    ) {
        let (which, phased) = which;
        let mut files = good_files(if phased { "2.0.0" } else { "1.1.0" });
        files[which].bytes = bytes.as_slice().into();
        check_graph_data(&files)?;
    }

    #[test]
    fn graph_data_with_any_names(names in proptest::collection::vec(any_path(), 0..6), text in any_input(&[BLOCK])) {
        let named = |path: String| SourceFile { path, bytes: text.as_slice().into() };
        let mut files = good_files("1.1.0");
        // A path stands for one file, so that a place means one text.
        let is_taken = |path: &String| good_files("1.1.0").iter().any(|file| file.path == *path);
        files.extend(names.into_iter().filter(|path| !is_taken(path)).map(named));
        check_graph_data(&files)?;
    }

    #[test]
    fn fleet_policies(
        (which, bytes) in prop_oneof![
            (0usize..2, any_input(&[ORGANISATION, CLUSTER])),
            edited(ORGANISATION).prop_map(|bytes| (0, bytes)),
            edited(CLUSTER).prop_map(|bytes| (1, bytes)),
        ],
    ) {
        let mut files = [("ocm/o.yml", ORGANISATION), ("c/c.yaml", CLUSTER)]
            .map(|(path, text)| SourceFile { path: path.into(), bytes: text.as_bytes().into() });
        files[which].bytes = bytes.as_slice().into();
        check_policy(&files, &policy::read(&files))?;
    }

    #[test]
    fn cluster_lists(bytes in any_input(&[LIST, YAML_LIST])) {
        let (place, now) = (Place::file("list"), "2026-05-12T00:00Z".parse().unwrap());
        let (list, findings) = cluster_list::read(&place, &bytes, now);
        if findings.iter().any(Finding::is_error) {
            check_refusal(&findings, &[("list", &bytes)])?;
        }
        prop_assert_eq!(list.clusters.len(), list.origins.len());
        let mut read = policy::read(&[SourceFile { path: "o.yml".into(), bytes: ORGANISATION.as_bytes().into() }]);
        let findings = cluster_list::labels::policies(&list, &mut read);
        prop_assert!(findings.iter().all(|finding| read.findings.contains(finding)));
        check_held_back(&read)?;
    }

    #[test]
    fn reports(bytes in any_input(&[REPORT])) {
        match report::read(&bytes) {
            Err(sentence) => prop_assert!(!sentence.is_empty()),
            Ok(report) => {
                let now = "2026-05-12T00:00Z".parse().unwrap();
                prop_assert!(report.state(ClusterId::new("x").unwrap(), now).version_since <= now);
                prop_assert_eq!(report::read(&report::write(&report)), Ok(report), "as an agent would send it");
            }
        }
    }

    #[test]
    fn stamps(bytes in any_input(&[r#"{"goodAt": "2026-05-12T00:00Z", "stampedAt": "2026-05-12T00:00Z", "nonce": "AAAAAAAAAAAAAAAA", "code": "AAAA"}"#])) {
        let (cluster, nonce) = (ClusterId::new("x").unwrap(), stamp::Nonce::new("AAAAAAAAAAAAAAAA").unwrap());
        prop_assert!(stamp::read(&bytes, "token", &cluster, &nonce).is_err_and(|sentence| !sentence.is_empty()));
    }

    #[test]
    fn tokens(bytes in any_input(&["tp2_eyJyb2xlIjoiY2x1c3RlciIsImtleSI6ImZXYUd5N0hSIiwib3JnYW5pc2F0aW9uIjoiYWNtZSIsIm5hbWUiOiJzaG9wIiwiaWQiOiIwZjNhIiwiZW5kIjoiMjAyNy0wMS0wMVQwMDowMDowMFoiLCJzZXJpYWwiOiJBQUFBQUFBQUFBQUFBQUFBIn0.Mx7tM2FHZTyoYfrc0lUDdXmaEUvQe1hdJ7-mNf3Jrb4"])) {
        let key = token::Key::new("0123456789abcdef0123456789abcdef");
        // Whatever is believed is what the key has signed.
        if let Some(token) = std::str::from_utf8(&bytes).ok().and_then(|text| token::Token::parse(text).ok()) && key.has_made(&token) {
            prop_assert_eq!(key.sign(token.claims()).unwrap(), token.text());
        }
    }

    #[test]
    fn fleet_inputs(edits in proptest::collection::vec(any_edit(), 1..4)) {
        let (list, _) = cluster_list::read(&Place::file("l"), LIST.as_bytes(), "2026-05-12T00:00Z".parse().unwrap());
        let policy = policy::read(&[SourceFile { path: "o.yml".into(), bytes: ORGANISATION.as_bytes().into() }]);
        let input = towpath_core::fleet::FleetInput {
            policy: policy.policy, clusters: list.clusters, upgrades: list.upgrades, ..Default::default()
        };
        let mut bytes = input::write(&input);
        edits.into_iter().for_each(|edit| edit.apply(&mut bytes));
        // Whatever is taken, is taken in full: it is written as it was read.
        if let Ok(read) = input::read(&bytes) {
            prop_assert_eq!(input::read(&input::write(&read)), Ok(read));
        }
    }

    #[test]
    fn releases_files(bytes in any_input(&[RELEASES])) {
        let read = || releases::read(&Place::file("releases.json"), &bytes);
        prop_assert_eq!(format!("{:?}", read()), format!("{:?}", read()));
        match read() {
            Err(findings) => check_refusal(&findings, &[("releases.json", &bytes)])?,
            Ok((releases, findings)) => {
                prop_assert!(!findings.iter().any(Finding::is_error));
                let (data, _) = data::read(&good_files("1.1.0")).unwrap();
                check_graph(&Graph::build(data, releases).0)?;
            }
        }
    }

    #[test]
    fn platforms_files(bytes in any_input(&[PLATFORMS])) {
        let read = || platforms::read(&Place::file("platforms.csv"), &bytes);
        prop_assert_eq!(read(), read());
        if let Err(findings) = read() {
            check_refusal(&findings, &[("platforms.csv", &bytes)])?;
        }
    }

    #[test]
    fn requests(bytes in any_input(&[QUERY, ACCEPT])) {
        let text = String::from_utf8_lossy(&bytes);
        prop_assert_eq!(request::read(&text), request::read(&text));
        match request::read(&text) {
            Ok(request) => prop_assert!(ChannelName::new(&request.channel).is_some() && !request.arch.is_empty()),
            Err(bad) => prop_assert!(!bad.kind().is_empty() && !bad.value().is_empty() && bad.value().len() < 1000),
        }
        prop_assert_eq!(ContentType::accepted(Some(&text)), ContentType::accepted(Some(&text)));
        prop_assert_eq!(accepts_gzip(Some(&text)), accepts_gzip(Some(&text)));
    }

    #[test]
    fn times_and_durations(bytes in any_input(&["2020-05-12T00:00:00.5+02:00", "P1Y2M3W4DT5H6M7S", "PT48H"])) {
        let text = String::from_utf8_lossy(&bytes);
        if let Err(problem) = data::parse_time(&text) {
            prop_assert!(!problem.is_empty());
        }
        match data::parse_duration(&text) {
            Err(problem) => prop_assert!(!problem.is_empty()),
            Ok(duration) => {
                let rule = RolloutRule { edges: EdgeMatch::Any, start: None, duration, ramp: Default::default(), rings: Default::default(), origin: Place::file("c") };
                let window = rule.window("2020-05-12T00:00Z".parse().unwrap());
                prop_assert!(window.start <= window.end);
                prop_assert!(window.end.duration_since(window.start).as_hours() <= 24 * (RolloutRule::MAX_DAYS + 2));
            }
        }
    }

    #[test]
    fn names_and_patterns(bytes in any_input(&["4.9.0-rc.1+amd64", "stable-4.9", "^4[.](8|9)[.]\\d{1,2}(?i:x)$"])) {
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(name) = ReleaseName::parse(&text) {
            prop_assert_eq!(ReleaseName::parse(&name.to_string()), Ok(name.clone()), "a name reads as it is written");
        }
        if let Ok(pattern) = Pattern::new(&text) {
            pattern.finds("4.9.0-rc.1+amd64");
            prop_assert_eq!(pattern.as_str(), text.as_ref());
        }
        prop_assert!(text.parse::<Version>().is_err() || ReleaseName::parse(&text).is_ok());
        prop_assert!(ChannelName::new(&text).is_none_or(|name| name.as_str() == text));
        prop_assert!(Platform::new(&text).is_none_or(|name| name.as_str() == text));
        let id = ClusterId::new(&text);
        prop_assert!(id.is_none_or(|id| id.as_str().eq_ignore_ascii_case(text.trim())));
    }
}

// What every answer keeps to

fn check_graph_data(files: &[SourceFile]) -> TestCaseResult {
    let fresh = format!("{:?}", data::read(files));
    let mut memory = data::Memory::default();
    for before in [good_files("2.0.0"), files.to_vec()] {
        let _ = memory.read(&before);
        prop_assert_eq!(
            &format!("{:?}", memory.read(files)),
            &fresh,
            "what was read before does not matter"
        );
    }
    match data::read(files) {
        Err(findings) => {
            let given: Vec<(&str, &[u8])> = files
                .iter()
                .map(|f| (f.path.as_str(), &f.bytes[..]))
                .collect();
            check_refusal(&findings, &given)
        }
        Ok((data, findings)) => {
            prop_assert!(!findings.iter().any(Finding::is_error));
            let is_block = |file: &&SourceFile| {
                let name = file.path.strip_prefix("blocked-edges/");
                name.is_some_and(|name| {
                    !name.starts_with('.') || name.ends_with(".yaml") || name.ends_with(".yml")
                })
            };
            prop_assert_eq!(
                data.blocks.len(),
                files.iter().filter(is_block).count(),
                "no block is lost"
            );
            let (releases, _) = releases::read(&Place::file("releases.json"), RELEASES.as_bytes())
                .expect("good releases");
            check_graph(&Graph::build(data, releases).0)
        }
    }
}

/// A file that is not read has an error; what is read and wrong is held back.
fn check_policy(files: &[SourceFile], read: &policy::PolicyRead) -> TestCaseResult {
    let given: Vec<(&str, &[u8])> = files
        .iter()
        .map(|f| (f.path.as_str(), &f.bytes[..]))
        .collect();
    if read.findings.iter().any(Finding::is_error) {
        check_refusal(&read.findings, &given)?;
    }
    for path in &read.unreadable {
        let is_about = |finding: &Finding| finding.is_error() && *finding.place.file == **path;
        prop_assert!(
            read.findings.iter().any(is_about),
            "{path} is not read, and nothing says why"
        );
    }
    check_held_back(read)
}

fn check_held_back(read: &policy::PolicyRead) -> TestCaseResult {
    for organisation in read.policy.organisations.values() {
        for entry in &organisation.clusters {
            let told = entry
                .problems
                .iter()
                .all(|problem| problem.is_error() && read.findings.contains(problem));
            prop_assert!(told, "{:?}", entry.problems);
            let is_whole = !entry.policy.workloads.is_empty() && entry.policy.schedule.is_some();
            prop_assert!(is_whole || !entry.problems.is_empty(), "{entry:?}");
        }
    }
    Ok(())
}

/// What was taken can be asked, and gives a JSON answer.
fn check_graph(graph: &Graph) -> TestCaseResult {
    let now = "2020-06-13T00:00Z".parse().expect("a time");
    for channel in graph.channels().keys() {
        let cluster = Cluster::anonymous(channel.clone(), Arch::default());
        let view = recommend(
            Policy::graph(),
            &Situation {
                graph,
                cluster: &cluster,
                now,
            },
        );
        let json: serde_json::Value =
            serde_json::from_str(&cincinnati::write(graph, &view, now)).expect("JSON");
        prop_assert_eq!(
            json["nodes"].as_array().map(Vec::len),
            Some(view.releases.len())
        );
    }
    Ok(())
}

fn check_refusal(findings: &[Finding], files: &[(&str, &[u8])]) -> TestCaseResult {
    prop_assert!(
        findings.iter().any(Finding::is_error),
        "a refusal has an error: {findings:?}"
    );
    for finding in findings {
        prop_assert!(
            !finding.problem.is_empty() && !finding.remedy.is_empty(),
            "{finding:?}"
        );
        let Place { file, line, column } = &finding.place;
        // What is missing, or too much as a whole, has no file of its own.
        if ["version", "channels", "blocked-edges", "."].contains(&file.as_ref()) && *line == 0 {
            continue;
        }
        let Some((_, bytes)) = files.iter().find(|(path, _)| **path == **file) else {
            return Err(TestCaseError::fail(format!(
                "{finding}: there is no such file"
            )));
        };
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text.split(['\n', '\r']).collect();
        prop_assert!(
            *line as usize <= lines.len() + 1,
            "{finding}: there are {} lines in {text:?}",
            lines.len()
        );
        let longest = lines.iter().map(|line| line.len()).max().unwrap_or(0);
        prop_assert!(
            *column as usize <= longest + 2,
            "{finding}: no line is that long in {text:?}"
        );
    }
    Ok(())
}

// Input

fn good_files(schema: &str) -> Vec<SourceFile> {
    let channels = if schema == "2.0.0" { CHANNELS } else { CHANNEL };
    let files = [
        ("version", schema),
        ("channels/c.yaml", channels),
        ("blocked-edges/b.yaml", BLOCK),
        ("raw/metadata.json", METADATA),
    ];
    files
        .map(|(path, text)| SourceFile {
            path: path.into(),
            bytes: text.as_bytes().into(),
        })
        .into()
}

/// Any bytes, any words, or a good file with edits.
fn any_input(good: &[&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let words =
        proptest::collection::vec(any_word(), 0..40).prop_map(|words| words.concat().into_bytes());
    prop_oneof![
        1 => proptest::collection::vec(any::<u8>(), 0..200),
        1 => any::<String>().prop_map(String::into_bytes),
        2 => words,
        4 => select(good.to_vec()).prop_flat_map(edited),
    ]
}

fn any_path() -> impl Strategy<Value = String> {
    let folder = select(vec![
        "blocked-edges/",
        "channels/",
        "raw/",
        "",
        "blocked-edges/sub/",
        "/",
        "channels//",
    ]);
    let name = prop_oneof!["[a-z.]{0,6}", any::<String>()];
    let ending = select(vec![".yaml", ".yml", ".json", "", "~", ".YAML"]);
    (folder, name, ending).prop_map(|(folder, name, ending)| format!("{folder}{name}{ending}"))
}

/// What the formats are made of, and what breaks them.
fn any_word() -> impl Strategy<Value = String> {
    #[rustfmt::skip]
    let words = [
        "to", "from", "name", "url", "message", "matchingRules", "type", "promql", "clusters", "platforms", "channels",
        "versions", "start", "locked", "replaces", "phasedRollouts", "duration", "fromVersion", "ramp", "nodes",
        "edges", "conditionalEdges", "risks", "payload", "metadata", "version", "channel", "arch", "id", "platform",
        ": ", "\n", "\n- ", "\n  ", "\n\t", "\r\n", "- ", "[", "]", "{", "}", ",", "\"", "'", "|\n", ">\n", "&a ",
        "*a ", "<<: ", "!!str ", "!t ", "---\n", "...\n", "# ", "? ", "%YAML 1.2\n", "~", "null", "true", "yes", "0",
        "-1", "1e999", ".nan", "0x1f", "4.9.1", "4.9.2+amd64", "99999999999999999999", "P2D", "PT", "2020-05-12T00:00Z",
        "T", "Z", "+", "&", "=", ";", "q=", "%41", "%", "%ff", "*/*", "gzip", "application/", "(", ")", "{1000}",
        "(?", "\\", "^", "\u{feff}", "\u{0}", "ä", "\u{1F6A2}", "\u{202e}", "\u{2028}",
    ];
    prop_oneof![8 => select(words.to_vec()).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)]
}

/// A good text after a few slips of the hand.
fn edited(good: &str) -> impl Strategy<Value = Vec<u8>> + use<> {
    let good = good.as_bytes().to_vec();
    proptest::collection::vec(any_edit(), 1..5).prop_map(move |edits| {
        let mut bytes = good.clone();
        edits.into_iter().for_each(|edit| edit.apply(&mut bytes));
        bytes
    })
}

#[derive(Debug, Clone)]
enum Edit {
    Flip { at: Index, bit: u8 },
    Insert { at: Index, word: String },
    Delete { at: Index, bytes: usize },
    DoubleLine { line: Index },
    DropLine { line: Index },
    SwapLines { one: Index, other: Index },
    CutOff { at: Index },
}

fn any_edit() -> impl Strategy<Value = Edit> {
    let at = || any::<Index>();
    prop_oneof![
        1 => (at(), 0u8..8).prop_map(|(at, bit)| Edit::Flip { at, bit }),
        3 => (at(), any_word()).prop_map(|(at, word)| Edit::Insert { at, word }),
        2 => (at(), 1usize..8).prop_map(|(at, bytes)| Edit::Delete { at, bytes }),
        1 => at().prop_map(|line| Edit::DoubleLine { line }),
        1 => at().prop_map(|line| Edit::DropLine { line }),
        1 => (at(), at()).prop_map(|(one, other)| Edit::SwapLines { one, other }),
        1 => at().prop_map(|at| Edit::CutOff { at }),
    ]
}

impl Edit {
    fn apply(self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        if length == 0 {
            return;
        }
        match self {
            Self::Flip { at, bit } => bytes[at.index(length)] ^= 1 << bit,
            Self::Insert { at, word } => {
                let at = at.index(length);
                drop(bytes.splice(at..at, word.into_bytes()));
            }
            Self::Delete { at, bytes: count } => {
                let from = at.index(length);
                bytes.drain(from..length.min(from + count));
            }
            Self::CutOff { at } => bytes.truncate(at.index(length)),
            Self::DoubleLine { line } => edit_lines(bytes, |lines, count| {
                let at = line.index(count);
                lines.insert(at, lines[at].clone());
            }),
            Self::DropLine { line } => {
                edit_lines(bytes, |lines, count| drop(lines.remove(line.index(count))))
            }
            Self::SwapLines { one, other } => edit_lines(bytes, |lines, count| {
                lines.swap(one.index(count), other.index(count))
            }),
        }
    }
}

fn edit_lines(bytes: &mut Vec<u8>, edit: impl Fn(&mut Vec<Vec<u8>>, usize)) {
    let mut lines: Vec<Vec<u8>> = bytes
        .split_inclusive(|b| *b == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let count = lines.len();
    edit(&mut lines, count);
    *bytes = lines.concat();
}

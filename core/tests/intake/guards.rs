//! Which copies are refused, and which never are.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::Platform;
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{
    Audience, Block, ChannelName, ChannelSpec, DeclaredEdge, GraphData, MatchingRule, Member,
    Pattern, Releases, Risk,
};
use towpath_core::intake::*;
use towpath_core::version::ReleaseName;

use crate::{edge, release, risky};

fn summary(releases: usize, blocks: usize) -> Summary {
    Summary {
        counts: [(Measure::Releases, releases), (Measure::Blocks, blocks)].into(),
        ..Summary::default()
    }
}

pub(crate) fn strict() -> Allowances {
    Allowances {
        max_shrink_percent: 10,
        allowed: Default::default(),
    }
}

fn codes_of(judgement: Judgement) -> Vec<&'static str> {
    match judgement {
        Judgement::Refused(findings) => findings.iter().map(|finding| finding.code).collect(),
        Judgement::Taken(_) => Vec::new(),
    }
}

/// Of copies of which nobody knows more than the numbers.
pub(crate) fn codes(before: &Summary, after: &Summary, allow: &Allowances) -> Vec<&'static str> {
    let largest = BTreeMap::new();
    codes_of(judge(
        "releases",
        &Comparison {
            before,
            largest: &largest,
            after,
            change: CopyChange::UNKNOWN,
            coverage: None,
            windows: &[],
        },
        allow,
    ))
}

#[test]
fn a_source_may_not_turn_empty_nor_shrink_by_more_than_its_share() {
    for (before, after, expected) in [
        ((100, 100), (100, 100), &[][..]),
        ((100, 100), (90, 90), &[]),
        ((100, 100), (89, 100), &["shrinks"]),
        ((100, 100), (100, 89), &["shrinks"]),
        ((100, 100), (89, 89), &["shrinks", "shrinks"]),
        ((100, 100), (0, 100), &["turned-empty"]),
        ((1, 0), (0, 0), &["turned-empty"]),
        // Small data changes by leaps.
        ((10, 0), (5, 0), &[]),
        ((10, 0), (4, 0), &["shrinks"]),
        // One block may go, be it the last; of more, no more than the share.
        ((10, 1), (10, 0), &[]),
        ((10, 3), (10, 2), &[]),
        ((10, 3), (10, 1), &["shrinks"]),
        ((10, 5), (5, 0), &["shrinks"]),
        ((10, 20), (10, 18), &[]),
        ((10, 20), (10, 17), &["shrinks"]),
        ((0, 0), (0, 0), &[]),
        ((5, 0), (500, 50), &[]),
    ] {
        assert_eq!(
            codes(
                &summary(before.0, before.1),
                &summary(after.0, after.1),
                &strict()
            ),
            expected,
            "{before:?} {after:?}"
        );
    }
}

#[test]
fn what_a_person_allows_is_taken() {
    let (before, after) = (summary(100, 100), summary(50, 0));
    let allow = |name: &str| Allowances {
        allowed: [CopyObjection::named(name).unwrap()].into(),
        ..strict()
    };
    assert_eq!(
        codes(&before, &after, &allow("empty")),
        ["shrinks", "shrinks"]
    );
    assert_eq!(codes(&before, &after, &allow("shrink")), [""; 0]);
    assert_eq!(
        codes(
            &before,
            &after,
            &Allowances {
                max_shrink_percent: 100,
                ..strict()
            }
        ),
        [""; 0]
    );
    assert_eq!(CopyObjection::named("everything"), None);
}

#[test]
fn a_changed_window_is_held_against_a_copy_until_a_person_allows_it() {
    let same = summary(100, 100);
    let problem = "the window of 4.20.4 was P2D and becomes P4D";
    let remedy = "mark it `locked: true`; if it is meant, pass --allow-window-change 4.20.4";
    let found = [Finding::error(
        "rollout-loses",
        Place::file("channels/c.yaml"),
        problem,
        remedy,
    )];
    let judged = |allow: &Allowances| {
        let copies = Comparison {
            before: &same,
            largest: &BTreeMap::new(),
            after: &same,
            change: CopyChange::UNKNOWN,
            coverage: None,
            windows: &found,
        };
        judge("graph-data", &copies, allow)
    };
    let Judgement::Refused(held) = judged(&strict()) else {
        panic!("it was taken");
    };
    assert_eq!(
        (held[0].code, &*held[0].problem),
        ("window-changed", problem)
    );
    assert_eq!(held[0].place, found[0].place);
    for part in [remedy, r#"{"source":"graph-data","allow":["window"]}"#] {
        assert!(held[0].remedy.contains(part), "{}", held[0].remedy);
    }
    let allowed = Allowances {
        allowed: [CopyObjection::Window].into(),
        ..strict()
    };
    assert_eq!(judged(&allowed), Judgement::Taken(Counting::GoesOn));
}

#[test]
fn a_source_may_not_go_back_in_time() {
    let made = |text: &str| Summary {
        made_at: Some(text.parse().unwrap()),
        ..Summary::default()
    };
    let newest = |text: &str| Summary {
        newest: Some(text.parse().unwrap()),
        ..Summary::default()
    };
    let (earlier, later) = (made("2026-01-01T00:00:00Z"), made("2026-01-01T06:00:01Z"));
    assert_eq!(codes(&later, &earlier, &strict()), ["back-in-time"]);
    let slow_clock = made("2026-01-01T05:00:00Z");
    assert_eq!(
        codes(&later, &slow_clock, &strict()),
        [""; 0],
        "clocks differ"
    );
    assert_eq!(codes(&earlier, &later, &strict()), [""; 0]);
    assert_eq!(codes(&later, &later, &strict()), [""; 0]);
    assert_eq!(
        codes(&newest("4.20.3"), &newest("4.20.2"), &strict()),
        ["back-in-time"]
    );
    assert_eq!(
        codes(&newest("4.9.3"), &newest("4.10.0"), &strict()),
        [""; 0]
    );
    assert_eq!(
        codes(&later, &Summary::default(), &strict()),
        [""; 0],
        "what does not tell its age cannot be held to it"
    );
}

#[test]
fn a_refusal_says_how_it_is_allowed() {
    let (before, after, largest) = (summary(100, 0), summary(1, 0), BTreeMap::new());
    let comparison = Comparison {
        before: &before,
        largest: &largest,
        after: &after,
        change: CopyChange::UNKNOWN,
        coverage: None,
        windows: &[],
    };
    let Judgement::Refused(findings) = judge("mirror", &comparison, &strict()) else {
        panic!("it shrinks")
    };
    let told = findings[0].to_string();
    let expected =
        "mirror: 99 of 100 releases are gone; at most 5 or 10 % may go within seven days; ";
    assert!(told.starts_with(expected), "{told}");
    assert!(told.ends_with("--allow shrink:mirror"), "{told}");
}

/// A source that is judged as a service would, day by day.
struct Days {
    before: Summary,
    highs: RecentMaxima,
    now: Timestamp,
}

impl Days {
    fn starting(copy: Summary) -> Self {
        let now = "2026-01-01T12:00:00Z".parse().unwrap();
        let mut highs = RecentMaxima::default();
        highs.note(&copy, now);
        Self {
            before: copy,
            highs,
            now,
        }
    }

    fn later(&mut self, days: i64, after: Summary, allow: &Allowances) -> Vec<&'static str> {
        self.now += SignedDuration::from_hours(24 * days);
        let largest = self.highs.largest(self.now);
        let comparison = Comparison {
            before: &self.before,
            largest: &largest,
            after: &after,
            change: CopyChange::UNKNOWN,
            coverage: None,
            windows: &[],
        };
        let judgement = judge("releases", &comparison, allow);
        if let Judgement::Taken(counting) = &judgement {
            if let Counting::StartsAnew(measures) = counting {
                self.highs.forget(measures);
            }
            self.highs.note(&after, self.now);
            self.before = after;
        }
        codes_of(judgement)
    }
}

#[test]
fn a_source_that_shrinks_step_by_step_is_stopped() {
    let mut days = Days::starting(summary(100, 20));
    assert_eq!(days.later(1, summary(95, 20), &strict()), [""; 0]);
    assert_eq!(days.later(1, summary(90, 19), &strict()), [""; 0]);
    assert_eq!(
        days.later(1, summary(89, 19), &strict()),
        ["shrinks"],
        "11 of 100 within seven days"
    );
    assert_eq!(
        days.later(0, summary(90, 17), &strict()),
        ["shrinks"],
        "3 of 20 blocks"
    );
    assert_eq!(
        days.later(3, summary(89, 19), &strict()),
        ["shrinks"],
        "the seventh day"
    );
    assert_eq!(
        days.later(1, summary(89, 19), &strict()),
        [""; 0],
        "a week later 95 is the most that there was"
    );
    assert_eq!(
        days.later(0, summary(85, 19), &strict()),
        ["shrinks"],
        "which is what it is measured by"
    );
}

#[test]
fn what_was_allowed_is_what_later_copies_are_measured_by() {
    let mut days = Days::starting(summary(100, 20));
    let allow = Allowances {
        allowed: [CopyObjection::Shrink].into(),
        ..strict()
    };
    assert_eq!(days.later(1, summary(50, 5), &allow), [""; 0]);
    assert_eq!(
        days.later(1, summary(51, 5), &strict()),
        [""; 0],
        "nobody has to allow it twice"
    );
    assert_eq!(days.later(1, summary(51, 3), &strict()), ["shrinks"]);
}

#[test]
fn verified_releases_may_not_go_one_by_one_and_nothing_is_lost_where_nobody_counts_them() {
    let mut days = Days::starting(Summary::of_verified(100));
    assert_eq!(days.later(1, Summary::of_verified(92), &strict()), [""; 0]);
    assert_eq!(
        days.later(1, Summary::of_verified(85), &strict()),
        ["shrinks"],
        "15 of 100 within seven days"
    );
    assert_eq!(
        days.later(0, Summary::of_verified(0), &strict()),
        ["turned-empty"]
    );
    assert_eq!(
        days.later(0, Summary::default(), &strict()),
        [""; 0],
        "signatures were turned off"
    );
}

#[test]
fn days_that_have_not_been_do_not_count() {
    let (mut highs, now) = (
        RecentMaxima::default(),
        "2026-01-01T12:00:00Z".parse().unwrap(),
    );
    let tomorrow = now + SignedDuration::from_hours(24);
    highs.note(&summary(100, 0), tomorrow);
    assert_eq!(highs.largest(now), BTreeMap::new());
    highs.note(&summary(50, 1), now);
    let expected = BTreeMap::from([(Measure::Releases, 50), (Measure::Blocks, 1)]);
    assert_eq!(
        (highs.largest(tomorrow), highs.clone()),
        (expected, RecentMaxima::of(highs.counts()))
    );
}

fn block(to: &str, from: &str, stops: Option<Audience>, line: u32) -> Block {
    let to = ReleaseName {
        version: to.parse().unwrap(),
        arch: None,
    };
    let risk = stops.is_none().then(|| Risk {
        name: "Risk".into(),
        url: format!("https://example.com/{line}"),
        message: "m".into(),
        matching_rules: vec![MatchingRule::Always],
    });
    Block {
        to,
        from: Pattern::new(from).unwrap(),
        stops,
        risk,
        halt: None,
        origin: Place::file(format!("{line}.yaml")),
    }
}

fn member(version: &str, line: u32) -> Member {
    let name = ReleaseName {
        version: version.parse().unwrap(),
        arch: None,
    };
    Member {
        name,
        start: None,
        locked: false,
        held: false,
        replaces: None,
        origin: Place::file(format!("{line}")),
    }
}

fn data(members: &[&str], blocks: Vec<Block>, line: u32) -> GraphData {
    let members = members
        .iter()
        .map(|version| member(version, line))
        .collect();
    let (name, origin) = (
        ChannelName::new("c").unwrap(),
        Place::file(format!("{line}")),
    );
    GraphData {
        channels: vec![ChannelSpec {
            name,
            rings: Vec::new(),
            rollouts: vec![],
            members,
            origin,
        }],
        blocks,
        metadata: vec![],
    }
}

fn made(summary: Summary, text: &str) -> Summary {
    summary.made_at(Some(text.parse().unwrap()))
}

/// The coverage of blocks on the edges from four releases of 4.8 to 4.9.1, and from 4.9.1 to 4.9.2.
fn coverage(before: &[Block], after: &[Block]) -> Coverage {
    let versions = ["4.8.1", "4.8.2", "4.8.3", "4.8.4", "4.9.1", "4.9.2"];
    let edges = releases(
        &versions,
        vec![edge(0, 4), edge(1, 4), edge(2, 4), edge(3, 4), edge(4, 5)],
    );
    let [before, after] = [before, after].map(|blocks| blocks.iter().collect::<Vec<_>>());
    Coverage::of(&before, &after, &[&edges])
}

/// Of graph data whose blocks change so.
fn codes_of_blocks(before: &[Block], after: &[Block]) -> Vec<&'static str> {
    let coverage = coverage(before, after);
    let largest = BTreeMap::new();
    let stay = coverage.edges_before - coverage.edges_loosened;
    let comparison = Comparison {
        before: &Summary::default().with_coverage(coverage.blocks_before, coverage.edges_before),
        largest: &largest,
        after: &Summary::default().with_coverage(coverage.blocks_after, stay),
        change: CopyChange::UNKNOWN,
        coverage: Some(coverage),
        windows: &[],
    };
    codes_of(judge("graph-data", &comparison, &strict()))
}

fn on(platform: &str) -> Option<Audience> {
    Some(Audience::Platforms(
        [Platform::new(platform).unwrap()].into(),
    ))
}

#[test]
fn what_blocks_do_is_counted_and_not_files() {
    let everybody = || Some(Audience::Everybody);
    let one = |patch: u32, stops| block("4.9.1", &format!("^4[.]8[.]{patch}[+]"), stops, patch);
    let each = |stops: fn() -> Option<Audience>| {
        (1..=4).map(|patch| one(patch, stops())).collect::<Vec<_>>()
    };
    let all = each(|| Some(Audience::Everybody));
    let counted = coverage(&all, &all);
    assert_eq!(
        (
            counted.blocks_before,
            counted.edges_before,
            counted.edges_of_largest_block
        ),
        (4, 8, 2)
    );
    assert_eq!(
        (counted.edges_loosened, counted.returns),
        (0, Return::Nothing)
    );
    for (after, expected, why) in [
        (all.clone(), &[][..], "nothing changes"),
        (all[1..].to_vec(), &[], "one block may go"),
        (all[2..].to_vec(), &["shrinks", "shrinks"], "two may not"),
        (
            vec![block("4.9.1", "^4[.]8[.]", everybody(), 9)],
            &[],
            "one block that does what four did",
        ),
        (vec![block("4.9.1", ".*", everybody(), 9)], &[], "or more"),
        (
            (1..=4).map(|patch| one(patch + 10, everybody())).collect(),
            &["shrinks", "shrinks"],
            "all match nothing",
        ),
        (
            (1..=4)
                .map(|patch| block("9.9.9", ".*", everybody(), patch))
                .collect(),
            &["shrinks"],
            "all are about a release that nobody has",
        ),
        (
            each(|| on("AWS")),
            &["shrinks"],
            "all are for one platform alone",
        ),
        (each(|| None), &["shrinks"], "all have become risks"),
    ] {
        assert_eq!(codes_of_blocks(&all, &after), expected, "{why}");
    }
    // About a release that no edge leads to yet: nobody can say what they do.
    let waiting: Vec<Block> = (1..=3)
        .map(|line| block(&format!("4.9.{}", line + 5), ".*", everybody(), line))
        .collect();
    assert_eq!(codes_of_blocks(&waiting, &waiting[..2]), [""; 0]);
    assert_eq!(codes_of_blocks(&waiting, &waiting[..1]), ["shrinks"]);
    assert_eq!(coverage(&waiting, &[]).returns, Return::Something);
    // Another query can be one that finds nobody.
    let with_query = |query: &str| {
        let mut block = block("4.9.1", ".*", None, 1);
        block.risk.as_mut().unwrap().matching_rules = vec![MatchingRule::PromQl(query.into())];
        vec![block]
    };
    assert_eq!(
        coverage(&with_query("a"), &with_query("b")).edges_loosened,
        8
    );
    assert_eq!(
        coverage(&with_query("a"), &all).edges_loosened,
        0,
        "who is stopped weighs nothing"
    );
}

#[test]
fn counts_follow_the_edges_that_there_are() {
    let now = "2026-01-01T12:00:00Z".parse().unwrap();
    let mut highs = RecentMaxima::default();
    highs.note(&Summary::default().with_coverage(4, 100), now);
    highs.rescale(Measure::Covered, 90, 45);
    assert_eq!(
        highs.largest(now),
        BTreeMap::from([(Measure::Blocks, 4), (Measure::Covered, 50)])
    );
    highs.rescale(Measure::Covered, 0, 45);
    assert_eq!(
        highs.largest(now)[&Measure::Covered],
        50,
        "of nothing, nothing follows"
    );
}

#[test]
fn what_is_not_in_force_yet_is_stricter() {
    let platforms = |names: &[&str]| {
        Some(Audience::Platforms(
            names
                .iter()
                .map(|name| Platform::new(name).unwrap())
                .collect(),
        ))
    };
    let of = |stops| block("4.9.1", "^4[.]8", stops, 1);
    let is_new = |in_force: &Block, refused: &Block| {
        !stricter_blocks(&[in_force], vec![(refused.clone(), ())]).is_empty()
    };
    let (two, one) = (of(platforms(&["AWS", "GCP"])), of(platforms(&["AWS"])));
    let (hard, soft) = (of(Some(Audience::Everybody)), of(None));
    for (in_force, refused, expected) in [
        (&two, &two, false),
        (&two, &one, false),
        (&one, &two, true),
        (&one, &hard, true),
        (&hard, &one, false),
        (&hard, &soft, false),
        (&soft, &hard, true),
        (&soft, &soft, false),
        (
            &hard,
            &block("4.9.1", ".*", Some(Audience::Everybody), 1),
            true,
        ),
        (
            &hard,
            &block("4.9.2", "^4[.]8", Some(Audience::Everybody), 1),
            true,
        ),
    ] {
        assert_eq!(
            is_new(in_force, refused),
            expected,
            "{in_force:?} {refused:?}"
        );
    }
}

#[test]
fn new_risks_and_edges_that_are_withdrawn_are_stricter() {
    let versions = ["4.9.0", "4.9.1", "4.9.2"];
    let in_use = releases(&versions, vec![edge(0, 1), edge(0, 2), edge(1, 2)]);
    let told = |refused: &Releases, elsewhere: &[&Releases]| -> Vec<String> {
        let blocks = stricter_edges(&in_use, refused, elsewhere, 10);
        let tell = |block: &Block| {
            let risk = block.risk.as_ref().map_or("stopped", |risk| &risk.name);
            format!("{} {} {risk}", block.from.as_str(), block.to)
        };
        blocks.iter().map(tell).collect()
    };
    let risk = releases(&versions, vec![risky(0, 1, "New"), edge(0, 2), edge(1, 2)]);
    assert_eq!(told(&risk, &[]), [r"^(4\.9\.0)[+]amd64$ 4.9.1+amd64 New"]);
    assert_eq!(told(&in_use, &[]), [""; 0]);
    let withdrawn = releases(&versions, vec![edge(0, 1)]);
    assert_eq!(
        told(&withdrawn, &[]),
        [r"^(4\.9\.0|4\.9\.1)[+]amd64$ 4.9.2+amd64 stopped"]
    );
    let elsewhere = releases(&versions, vec![edge(1, 2)]);
    assert_eq!(
        told(&withdrawn, &[&elsewhere]),
        [r"^(4\.9\.0)[+]amd64$ 4.9.2+amd64 stopped"]
    );
    assert_eq!(
        told(&releases(&["4.9.0", "4.9.1"], vec![edge(0, 1)]), &[]),
        [""; 0],
        "a release that is gone"
    );
    let mut another = withdrawn.clone();
    another.releases[2].payload = format!("p@sha256:{:064x}", 1);
    assert_eq!(
        told(&another, &[]),
        [""; 0],
        "what another image declares says nothing of this one"
    );
    let all = triangle(12, &[]);
    let blocks = |refused: &Releases| stricter_edges(&all, refused, &[], 10).len();
    assert_eq!(blocks(&triangle(12, &[11])), 1);
    assert_eq!(
        blocks(&triangle(12, &[6, 7, 8, 9, 10, 11])),
        0,
        "to many: an accident"
    );
}

/// The graph data of a clock that is far behind.
fn codes_of_data(before: &GraphData, after: &GraphData) -> Vec<&'static str> {
    let summaries = (
        made(Summary::of_graph_data(before), "2026-01-08T00:00:00Z"),
        made(Summary::of_graph_data(after), "2026-01-01T00:00:00Z"),
    );
    let (change, largest) = (
        CopyChange::of_graph_data(before, after),
        summaries.0.counts.clone(),
    );
    let comparison = Comparison {
        before: &summaries.0,
        largest: &largest,
        after: &summaries.1,
        change,
        coverage: None,
        windows: &[],
    };
    codes_of(judge("graph-data", &comparison, &strict()))
}

#[test]
fn a_copy_that_only_adds_blocks_is_never_refused() {
    let both = ["4.9.0", "4.9.1"];
    let hard = |line| block("4.9.1", ".*", Some(Audience::Everybody), line);
    let soft = |line| block("4.9.1", ".*", None, line);
    let (none, one) = (data(&both, vec![], 1), data(&both, vec![soft(1)], 1));
    assert_eq!(
        codes_of_data(&none, &data(&both, vec![hard(1)], 2)),
        [""; 0],
        "whatever its clock says"
    );
    assert_eq!(
        codes_of_data(&one, &data(&both, vec![soft(2), hard(3)], 2)),
        [""; 0],
        "lines and words may move"
    );
    assert_eq!(
        codes_of_data(&one, &data(&both, vec![hard(1)], 2)),
        [""; 0],
        "a stricter one takes its place"
    );
    assert_eq!(
        codes_of_data(&one, &data(&["4.9.0"], vec![soft(1), hard(2)], 2)),
        [""; 0],
        "a place may go with it"
    );
    let metadata = GraphData {
        metadata: vec![(
            ReleaseName {
                version: "4.9.1".parse().unwrap(),
                arch: None,
            },
            BTreeMap::new(),
        )],
        ..one.clone()
    };
    for (after, why) in [
        (&none, "the block is gone"),
        (
            &data(&both, vec![block("4.9.1", "^4[.]8", None, 1)], 1),
            "it is about less",
        ),
        (
            &data(&["4.9.0", "4.9.1", "4.9.2"], vec![soft(1), hard(2)], 1),
            "a place that may have been taken away",
        ),
        (&metadata, "metadata adds edges too"),
    ] {
        assert_eq!(codes_of_data(&one, after), ["back-in-time"], "{why}");
    }
}

fn releases(versions: &[&str], edges: Vec<DeclaredEdge>) -> Releases {
    let of = |version: &&str| release(version, version);
    Releases {
        releases: versions.iter().map(of).collect(),
        edges,
    }
}

fn codes_of_releases(before: &Releases, after: &Releases) -> Vec<&'static str> {
    let (change, largest) = (CopyChange::of_releases(before, after), BTreeMap::new());
    let (before, after) = (Summary::of_releases(before), Summary::of_releases(after));
    codes_of(judge(
        "releases",
        &Comparison {
            before: &before,
            largest: &largest,
            after: &after,
            change,
            coverage: None,
            windows: &[],
        },
        &strict(),
    ))
}

#[test]
fn a_newest_release_that_was_a_mistake_does_not_block_later_copies() {
    let typo = releases(&["4.9.0", "4.9.1", "4.99.0"], vec![edge(0, 1), edge(1, 2)]);
    for (after, why) in [
        (
            releases(&["4.9.0", "4.9.1"], vec![edge(0, 1)]),
            "it was withdrawn",
        ),
        (
            releases(&["4.9.0", "4.9.1"], vec![risky(0, 1, "New")]),
            "and something got a risk",
        ),
        (
            releases(&["4.9.0", "4.9.1", "4.9.2"], vec![edge(0, 1), edge(0, 2)]),
            "and another came",
        ),
    ] {
        assert_eq!(codes_of_releases(&typo, &after), [""; 0], "{why}");
    }
    let before = releases(
        &["4.9.0", "4.9.2", "4.9.3"],
        vec![risky(0, 1, "Risk"), edge(1, 2)],
    );
    for (after, why) in [
        (
            releases(&["4.9.0", "4.9.2"], vec![edge(0, 1)]),
            "a risk is gone",
        ),
        (
            releases(&["4.9.0", "4.9.2"], vec![risky(0, 1, "Risk"), edge(1, 0)]),
            "an edge is new between known ones",
        ),
        (
            releases(&["4.9.0", "4.9.1", "4.9.2"], vec![risky(0, 2, "Risk")]),
            "a release came back",
        ),
    ] {
        assert_eq!(
            codes_of_releases(&before, &after),
            ["back-in-time"],
            "{why}"
        );
    }
}

/// What a service answers: these releases, all of them in one channel but those.
fn service(versions: &[&str], not_in_channel: &[&str]) -> (Releases, Vec<ChannelSpec>) {
    let members: Vec<&str> = versions
        .iter()
        .copied()
        .filter(|version| !not_in_channel.contains(version))
        .collect();
    (
        releases(versions, vec![]),
        data(&members, vec![], 1).channels,
    )
}

#[test]
fn a_service_that_looks_older_may_not_bring_a_release_back_into_a_channel() {
    let before = service(&["4.9.0", "4.9.1", "4.9.9"], &["4.9.1"]);
    let codes = |after: (Releases, Vec<ChannelSpec>)| {
        let change = CopyChange::of_service((&before.0, &before.1), (&after.0, &after.1));
        let (before, after, largest) = (
            Summary::of_releases(&before.0),
            Summary::of_releases(&after.0),
            BTreeMap::new(),
        );
        codes_of(judge(
            "up",
            &Comparison {
                before: &before,
                largest: &largest,
                after: &after,
                change,
                coverage: None,
                windows: &[],
            },
            &strict(),
        ))
    };
    assert_eq!(
        codes(service(&["4.9.0", "4.9.1"], &["4.9.1"])),
        [""; 0],
        "4.9.9 was a mistake"
    );
    assert_eq!(
        codes(service(&["4.9.0", "4.9.1"], &["4.9.0", "4.9.1"])),
        [""; 0],
        "and something else went"
    );
    assert_eq!(
        codes(service(&["4.9.0", "4.9.1", "4.9.2"], &["4.9.1"])),
        [""; 0],
        "and another one came"
    );
    assert_eq!(
        codes(service(&["4.9.0", "4.9.1"], &[])),
        ["back-in-time"],
        "4.9.1 was taken out of the channel once"
    );
    assert_eq!(
        codes(service(&["4.9.0", "4.9.1", "4.9.9"], &[])),
        [""; 0],
        "it is promoted, and nothing looks older"
    );
    let another = ReleaseName::parse("4.9.1+arm64").unwrap();
    let mut other_arch = service(&["4.9.0", "4.9.1"], &["4.9.1"]);
    other_arch.1[0].members.push(Member {
        name: another,
        ..member("4.9.1", 1)
    });
    assert_eq!(codes(other_arch), [""; 0], "nobody had that one");
}

#[test]
fn a_block_gets_through_while_another_release_is_promoted() {
    let with_channel =
        |releases: Releases, members: &[&str]| (releases, data(members, vec![], 1).channels);
    let before = with_channel(triangle(12, &[]), &["4.9.0"]);
    let after = with_channel(triangle(12, &[11]), &["4.9.0", "4.9.1"]);
    let change = CopyChange::of_service((&before.0, &before.1), (&after.0, &after.1));
    let (before, after, largest) = (
        Summary::of_releases(&before.0),
        Summary::of_releases(&after.0),
        BTreeMap::new(),
    );
    let comparison = Comparison {
        before: &before,
        largest: &largest,
        after: &after,
        change,
        coverage: None,
        windows: &[],
    };
    assert_eq!(codes_of(judge("up", &comparison, &strict())), [""; 0]);
}

/// All updates between so many releases, but to those of these numbers.
fn triangle(count: u32, withdrawn: &[u32]) -> Releases {
    let versions: Vec<String> = (0..count).map(|patch| format!("4.9.{patch}")).collect();
    let to = (0..count).filter(|to| !withdrawn.contains(to));
    let edges = to
        .flat_map(|to| (0..to).map(move |from| edge(from, to)))
        .collect();
    releases(
        &versions.iter().map(String::as_str).collect::<Vec<_>>(),
        edges,
    )
}

#[test]
fn a_service_that_blocks_a_release_is_believed_and_one_that_loses_edges_is_not() {
    let all = triangle(12, &[]);
    assert_eq!(
        codes_of_releases(&all, &triangle(12, &[11])),
        [""; 0],
        "11 of 66 edges are gone, all to one release"
    );
    assert_eq!(
        codes_of_releases(&all, &triangle(12, &[6, 7, 8, 9, 10, 11])),
        ["shrinks"],
        "to many: an accident"
    );
    assert_eq!(
        codes_of_releases(&all, &triangle(12, &(0..12).collect::<Vec<_>>())),
        ["turned-empty"]
    );
    let with_risks = |names: &[u32]| {
        let edges = (0..11).map(|from| {
            if names.contains(&from) {
                risky(from, 11, "R")
            } else {
                edge(from, 11)
            }
        });
        let mut releases = triangle(12, &[11]);
        releases.edges.extend(edges);
        releases
    };
    let risky: Vec<u32> = (0..11).collect();
    assert_eq!(
        codes_of_releases(&with_risks(&risky), &triangle(12, &[11])),
        [""; 0],
        "from a risk to a block"
    );
    assert_eq!(
        codes_of_releases(&with_risks(&risky), &with_risks(&risky[1..])),
        [""; 0],
        "one risk may go"
    );
    assert_eq!(
        codes_of_releases(&with_risks(&risky), &with_risks(&risky[2..])),
        ["shrinks"],
        "risks are gone"
    );
}

#[test]
fn what_is_allowed_once_ends_and_is_for_the_copy_that_was_refused() {
    let (now, minute) = (
        "2026-01-01T12:00:00Z".parse().unwrap(),
        SignedDuration::from_mins(1),
    );
    let shrink = [CopyObjection::Shrink];
    let allowed = AllowedOnce::new(&shrink, Some("a"), minute, now);
    assert_eq!(
        (allowed.of("a", now).len(), allowed.of("b", now).len()),
        (1, 0)
    );
    let last = now + minute * 10 - SignedDuration::from_nanos(1);
    assert_eq!(
        (
            allowed.of("a", last).len(),
            allowed.of("a", now + minute * 10).len()
        ),
        (1, 0),
        "ten minutes"
    );
    let seldom = AllowedOnce::new(&shrink, None, minute * 60, now);
    assert_eq!(
        (
            seldom.of("b", now + minute * 59).len(),
            seldom.of("b", now + minute * 60).len()
        ),
        (1, 0)
    );
}

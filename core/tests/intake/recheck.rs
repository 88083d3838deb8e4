//! Which tags are asked again, whatever comes and goes.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use towpath_core::intake::*;

/// What is known of each tag: for how many rounds it was not asked.
type Known = BTreeMap<String, u32>;

fn asked(tags: &[&str], known: &Known, recheck: Recheck) -> Vec<String> {
    due(tags.iter().copied(), |tag| known.get(tag).copied(), recheck)
        .into_iter()
        .map(str::to_owned)
        .collect()
}

fn known(tags: &[(&str, u32)]) -> Known {
    tags.iter()
        .map(|(tag, rounds)| ((*tag).to_owned(), *rounds))
        .collect()
}

#[test]
fn what_is_new_and_what_names_no_version_is_always_asked() {
    let tags = [
        "4.1.0",
        "4.1.1-x86_64",
        "4.1.2-rc.1-multi",
        "4.1",
        "latest",
        "v4.1.0",
        "new",
        "4.1.3",
    ];
    let known = known(&[
        ("4.1.0", 0),
        ("4.1.1-x86_64", 1),
        ("4.1.2-rc.1-multi", 0),
        ("4.1", 0),
        ("latest", 0),
        ("v4.1.0", 0),
    ]);
    let expected = ["4.1", "4.1.1-x86_64", "4.1.3", "latest", "new", "v4.1.0"];
    assert_eq!(
        asked(&tags, &known, Recheck::InTurn),
        expected,
        "and of three that take turns, the one that waited"
    );
    assert_eq!(asked(&tags, &known, Recheck::All).len(), tags.len());
}

#[test]
fn of_versions_the_quarter_is_asked_that_was_longest_not_asked() {
    let tags: Vec<String> = (0..8).map(|patch| format!("4.1.{patch}")).collect();
    let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
    let mut known: Known = tags.iter().map(|tag| ((*tag).to_owned(), 0)).collect();
    let mut rounds = Vec::new();
    for _ in 0..5 {
        let asked = asked(&tags, &known, Recheck::InTurn);
        known
            .iter_mut()
            .for_each(|(tag, rounds)| *rounds = if asked.contains(tag) { 0 } else { *rounds + 1 });
        rounds.push(asked.join(" "));
    }
    assert_eq!(
        rounds,
        [
            "4.1.0 4.1.1",
            "4.1.2 4.1.3",
            "4.1.4 4.1.5",
            "4.1.6 4.1.7",
            "4.1.0 4.1.1"
        ]
    );
}

#[test]
fn nobody_waits_for_a_fifth_round() {
    let tags = ["4.1.0", "4.1.1", "4.1.2", "4.1.3"];
    let known = known(&[
        ("4.1.0", 3),
        ("4.1.1", 2),
        ("4.1.2", u32::MAX),
        ("4.1.3", 3),
    ]);
    assert_eq!(
        asked(&tags, &known, Recheck::InTurn),
        ["4.1.0", "4.1.2", "4.1.3"],
        "though that is more than a quarter"
    );
}

/// What becomes of a tag in a round, if it is there.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Away,
    Readable,
    Unreadable,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![1 => Just(Fate::Away), 6 => Just(Fate::Readable), 1 => Just(Fate::Unreadable)]
}

proptest! {
    #[test]
    fn no_tag_goes_unasked_for_more_than_four_rounds(rounds in prop::collection::vec(prop::collection::vec(fate(), 24), 1..30)) {
        let name = |at: usize| if at % 6 == 5 { format!("moving-{at}") } else { format!("4.{}.{at}", at % 3) };
        let (mut known, mut waited) = (Known::new(), BTreeMap::<String, u32>::new());
        for fates in rounds {
            let fates: BTreeMap<String, Fate> = fates.into_iter().enumerate().map(|(at, fate)| (name(at), fate)).collect();
            let tags: Vec<&str> =
                fates.iter().filter(|(_, fate)| !matches!(fate, Fate::Away)).map(|(tag, _)| tag.as_str()).collect();
            let asked: BTreeSet<String> = asked(&tags, &known, Recheck::InTurn).into_iter().collect();
            let new = tags.iter().filter(|tag| !known.contains_key(**tag));
            prop_assert!(new.chain(tags.iter().filter(|tag| tag.starts_with("moving"))).all(|tag| asked.contains(*tag)));
            let (mut next, mut waiting) = (Known::new(), BTreeMap::new());
            for tag in tags {
                let wait = if asked.contains(tag) { 0 } else { waited.get(tag).copied().unwrap_or(0) + 1 };
                prop_assert!(wait < RECHECK_ROUNDS, "{tag} was not asked for {wait} rounds");
                waiting.insert(tag.to_owned(), wait);
                let rounds = match (asked.contains(tag), fates[tag]) {
                    (true, Fate::Unreadable) => RECHECK_ROUNDS,
                    (true, _) => 0,
                    (false, _) => known[tag] + 1,
                };
                next.insert(tag.to_owned(), rounds);
            }
            (known, waited) = (next, waiting);
        }
    }
}

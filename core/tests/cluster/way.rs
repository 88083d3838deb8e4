//! What is a way, and what is none.

use towpath_core::cluster::way::{NotAWay, Step, Stop, Way};
use towpath_testing_graphs::minors;

fn way(from: &str, stops: &str) -> Result<Way, NotAWay> {
    let stops = stops
        .split_whitespace()
        .map(|stop| Stop::parse(stop).unwrap())
        .collect();
    Way::new(from.parse().unwrap(), stops, &minors())
}

#[test]
fn a_way_goes_forwards_one_minor_version_at_a_time() {
    for (from, stops, problem) in [
        ("4.6.8", "", "there is no stop; name at least one release"),
        (
            "4.6.8",
            "4.6.7",
            "from 4.6.8 to 4.6.7 it goes backwards; put the stops in ascending order",
        ),
        (
            "4.6.8",
            "4.7 4.6.9",
            "from 4.7 to 4.6.9 it goes backwards; put the stops in ascending order",
        ),
        (
            "4.23.1",
            "5.0.1",
            "no update leads from 4.23.1 to 5.0.1, nor several; choose another goal",
        ),
        (
            "4.20.1",
            "5.0.1",
            "from 4.20.1 to 5.0.1 it skips a minor version, which no cluster accepts; put a release of 4.21 between them: `towpath path` finds one",
        ),
        // The table has this skip, but nobody has verified it.
        (
            "5.0.1",
            "5.2.1",
            "from 5.0.1 to 5.2.1 it skips a minor version, which no cluster accepts; put a release of 5.1 between them: `towpath path` finds one",
        ),
        (
            "4.6.8",
            "4.8.1",
            "from 4.6.8 to 4.8.1 it skips a minor version, which no cluster accepts; put a release of 4.7 between them: `towpath path` finds one",
        ),
    ] {
        assert_eq!(way(from, stops).unwrap_err().to_string(), problem);
    }
    for (from, stops) in [
        ("4.22.1", "5.0.1 5.1"),
        ("4.22.1", "4.23.1 5.1"),
        ("4.22.1", "6.0"),
    ] {
        assert!(way(from, stops).is_ok(), "{stops}");
    }
    for stops in ["4.6.8", "4.6.9 4.7.0 4.7.3 4.8", "4.6 4.7"] {
        assert!(way("4.6.8", stops).is_ok(), "{stops}");
    }
    assert_eq!(
        way("4.6.8", &"4.6.9 ".repeat(65)),
        Err(NotAWay::TooLong(65))
    );
}

#[test]
fn every_minor_version_between_is_a_stop() {
    let stops = |to: &str| {
        let (from, to) = ("4.6.8".parse().unwrap(), Stop::parse(to).unwrap());
        let way = Way::through_every_minor(from, to, &minors()).unwrap();
        way.steps()
            .map(|step| step.to().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(stops("4.10.3"), ["4.7", "4.8", "4.9", "4.10.3"]);
    assert_eq!(stops("4.7"), ["4.7"]);
    assert_eq!(stops("4.6.9"), ["4.6.9"]);
}

#[test]
fn the_first_minor_update_may_come_after_patches() {
    let way = way("4.6.8", "4.6.9 4.7.0 4.7.3 4.8.0").unwrap();
    let firsts: Vec<bool> = way.steps().map(Step::is_first_minor).collect();
    assert_eq!(firsts, [false, true, false, false]);
    let minors: Vec<bool> = way.steps().map(Step::is_minor).collect();
    assert_eq!(minors, [false, true, false, true]);
}
#[test]
fn where_several_minor_versions_follow_a_person_chooses() {
    let next = |from: &str| {
        let way = Way::to_next_minor(from.parse().unwrap(), &minors());
        way.map(|way| way.goal().to_string())
            .map_err(|problem| problem.to_string())
    };
    assert_eq!(next("4.21.3"), Ok("4.22".into()));
    assert_eq!(next("4.23.0"), Ok("5.1".into()));
    let several = "4.22 is followed by 4.23 or 5.0; name one of them with --to";
    assert_eq!(next("4.22.9"), Err(several.into()));
    let unknown = "nobody has told towpath which minor version follows 7.1; name the goal with --to, or add 7.1 to a file for --minors";
    assert_eq!(next("7.1.0"), Err(unknown.into()));
    let to = Stop::parse("5.1").unwrap();
    let way = Way::through_every_minor("4.21.3".parse().unwrap(), to, &minors());
    assert_eq!(
        way.unwrap_err().to_string(),
        "several sequences of updates lead from 4.21.3 to 5.1: 4.22,4.23,5.1 or 4.22,5.0,5.1; name the stops of one with --path"
    );
}

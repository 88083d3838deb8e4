//! Updates with risks: who may accept them, for how long, and what the cluster is told.

use std::collections::BTreeSet;

use towpath_core::agent::{
    Advice, FleetOrders, Memory, OptIn, OrderedUpdate, UpdateOffer, UpdateOutcome, follow,
};
use towpath_core::cluster::objects::Progress;
use towpath_core::fleet::{AcceptedRisk, Name, RiskEnd};

use crate::check;
use crate::cluster::{Story, at, offer, version};

fn names(list: &[&str]) -> BTreeSet<Name> {
    list.iter().map(|name| Name::from(*name)).collect()
}

fn risky(to: &str, risks: &[&str]) -> UpdateOffer {
    let advice = Advice::NotRecommended {
        reason: "SlowStart".into(),
        message: "it applies".into(),
    };
    UpdateOffer {
        advice,
        risks: names(risks),
        ..offer(to)
    }
}

fn accepted(name: &str, until: RiskEnd) -> AcceptedRisk {
    AcceptedRisk {
        until,
        ..AcceptedRisk::named(name.into())
    }
}

/// Offered 4.20.3 with a risk that applies; changed in one point.
fn with_risk(change: impl FnOnce(&mut Story)) -> Story {
    Story::but(|story| {
        story.standing.offers = vec![risky("4.20.3", &["SlowStart"])];
        change(story);
    })
}

fn ordered(to: &str, accepted: Vec<AcceptedRisk>) -> FleetOrders {
    let to = version(to);
    FleetOrders {
        update: Some(OrderedUpdate {
            to,
            channel: None,
            accepted,
        }),
        preflight: None,
    }
}

#[test]
fn a_risk_is_accepted_on_the_cluster_in_its_policy_or_by_the_fleet() {
    check(&with_risk(|_| ()), "refuses: NotRecommended");
    let on_cluster = with_risk(|story| story.standing.accepted_risks = names(&["SlowStart"]));
    check(&on_cluster, "takes 4.20.3");
    let policy = |name: &str| {
        let risk = accepted(name, RiskEnd::Open);
        with_risk(|story| story.policy.accepted_risks = [risk].into())
    };
    check(&policy("SlowStart"), "takes 4.20.3");
    check(&policy("Other"), "refuses: NotRecommended");
    let fleet = |to: &str| {
        let orders = ordered(to, vec![accepted("SlowStart", RiskEnd::Open)]);
        with_risk(|story| story.orders = orders)
    };
    check(&fleet("4.20.3"), "takes 4.20.3");
    // The fleet accepts risks of the update that it started, and of no other.
    check(&fleet("4.20.2"), "refuses: NotRecommended");
}

#[test]
fn every_risk_must_be_accepted_and_one_without_a_name_cannot_be() {
    let offered = |risks: &[&str]| {
        let offer = risky("4.20.3", risks);
        with_risk(|story| {
            story.standing.offers = vec![offer];
            story.standing.accepted_risks = names(&["SlowStart", "Odd"]);
        })
    };
    check(&offered(&["SlowStart", "Odd"]), "takes 4.20.3");
    check(&offered(&["SlowStart", "Alert"]), "refuses: NotRecommended");
    check(&offered(&[]), "refuses: NotRecommended");
    let unknown = |accepted: &[&str]| {
        with_risk(|story| {
            story.standing.offers[0].advice = Advice::NotKnown {
                reason: "EvaluationFailed".into(),
                message: "no Prometheus".into(),
            };
            story.standing.accepted_risks = names(accepted);
        })
    };
    check(&unknown(&[]), "waits: AdviceUnknown");
    // Who accepts a risk accepts it whether or not it applies.
    check(&unknown(&["SlowStart"]), "takes 4.20.3");
}

/// It is noon.
#[test]
fn an_acceptance_ends_at_its_date_or_when_a_fixed_release_is_offered() {
    let until = |until: RiskEnd, more: Vec<UpdateOffer>| {
        with_risk(|story| {
            story.policy.accepted_risks = [accepted("SlowStart", until)].into();
            story.standing.offers.extend(more);
            // Nobody takes the others, so that the risky one is judged.
            story
                .evidence
                .retain(|image, _| *image == offer("4.20.3").image);
        })
    };
    let taken = |story: &Story| {
        let choice = story.choice();
        choice.takes().map(|offer| offer.version.to_string())
    };
    let ends = |end: &str| taken(&until(RiskEnd::At(at(end)), vec![]));
    assert_eq!(ends("2026-11-16T12:00:01Z").as_deref(), Some("4.20.3"));
    assert_eq!(ends("2026-11-16T12:00:00Z"), None);
    let fixed = |more: Vec<UpdateOffer>| taken(&until(RiskEnd::Fixed, more));
    assert_eq!(fixed(vec![]).as_deref(), Some("4.20.3"));
    assert_eq!(fixed(vec![offer("4.20.4")]), None, "4.20.4 has the fix");
    assert_eq!(fixed(vec![risky("4.20.4", &["Other"])]), None);
    for no_fix in [
        risky("4.20.4", &["SlowStart", "Other"]),
        risky("4.20.4", &[]),
        offer("4.20.2"),
        offer("4.21.0"),
    ] {
        let told = format!("{no_fix:?}");
        assert_eq!(fixed(vec![no_fix]).as_deref(), Some("4.20.3"), "{told}");
    }
    let by_fleet = |end: &str| {
        let orders = ordered("4.20.3", vec![accepted("SlowStart", RiskEnd::At(at(end)))]);
        with_risk(|story| story.orders = orders)
    };
    check(&by_fleet("2026-11-16T12:00:01Z"), "takes 4.20.3");
    check(&by_fleet("2026-11-16T12:00:00Z"), "refuses: NotRecommended");
}

#[test]
fn the_limit_of_the_cluster_is_kept() {
    let others = |count: usize| -> BTreeSet<Name> {
        (0..count)
            .map(|number| format!("Risk{number}").into())
            .collect()
    };
    let full = |there: usize| {
        with_risk(|story| {
            story.standing.accepted_risks = others(there);
            story.policy.accepted_risks = [accepted("SlowStart", RiskEnd::Open)].into();
        })
    };
    check(&full(999), "takes 4.20.3");
    check(&full(1_000), "refuses: TooManyRisks");
    let long = "x".repeat(8_193);
    let long = with_risk(|story| {
        story.standing.offers = vec![risky("4.20.3", &[&long])];
        story.policy.accepted_risks = [accepted(&long, RiskEnd::Open)].into();
    });
    check(&long, "refuses: TooManyRisks");
}

#[test]
fn what_we_accepted_for_one_update_is_nobodys_word_for_the_next() {
    let ours = with_risk(|story| {
        story.standing.accepted_risks = names(&["SlowStart"]);
        story.memory.accepted = names(&["SlowStart"]);
    });
    check(&ours, "refuses: NotRecommended");
    assert_eq!(ours.memory.left_over(), Some(&names(&["SlowStart"])));
    assert_eq!(Memory::default().left_over(), None);
}

#[test]
fn what_we_accepted_is_kept_until_the_update_is_over() {
    let running = Story::but(|story| {
        story.memory.accepted = names(&["SlowStart"]);
        story.standing.accepted_risks = names(&["Theirs", "SlowStart"]);
        story.memory.started = Some(towpath_core::agent::StartedUpdate {
            version: version("4.20.3"),
            at: at("2026-11-16T11:00Z"),
            course: towpath_core::agent::Course::Running,
        });
        story.standing.asked = Some(crate::cluster::asked("4.20.3"));
        story.standing.opt_in = OptIn::NotWanted;
    });
    let followed = |story: &Story| follow(&story.memory, &story.standing, &story.stamp, story.now);
    let (memory, _) = followed(&running);
    assert_eq!((memory.left_over(), memory.accepted.len()), (None, 1));
    let mut over = running.clone();
    over.standing.past[0].version = version("4.20.3");
    over.standing.past[0].progress = Progress::Completed;
    over.standing.past[0].ended = Some(at("2026-11-16T11:30Z"));
    let (memory, outcome) = followed(&over);
    assert!(matches!(outcome, Some(UpdateOutcome::Completed { .. })));
    assert_eq!(memory.left_over(), Some(&names(&["SlowStart"])));
    // A person has chosen something else, or takes the request back: what was accepted for ours goes, too.
    for asked in [Some(crate::cluster::asked("4.20.2")), None] {
        let mut given_up = running.clone();
        given_up.standing.asked = asked;
        let (memory, outcome) = followed(&given_up);
        assert!(matches!(outcome, Some(UpdateOutcome::GivenUp { .. })));
        assert_eq!(memory.left_over(), Some(&names(&["SlowStart"])));
        // Whoever died before it was taken back has a successor that knows.
        given_up.memory = memory;
        assert_eq!(
            followed(&given_up).0.left_over(),
            Some(&names(&["SlowStart"]))
        );
    }
}

/// Somebody cleared the list, and accepted the risk again: it is theirs now.
#[test]
fn what_somebody_removed_is_no_longer_ours() {
    let mut story = Story::but(|story| {
        story.memory.accepted = names(&["SlowStart", "Odd"]);
        story.standing.accepted_risks = names(&["Odd"]);
    });
    let (memory, _) = follow(&story.memory, &story.standing, &story.stamp, story.now);
    assert_eq!(memory.accepted, names(&["Odd"]));
    assert!(memory.is_worth_writing_over(&story.memory));
    story.memory = memory;
    story.standing.accepted_risks = names(&["SlowStart", "Odd"]);
    let (memory, _) = follow(&story.memory, &story.standing, &story.stamp, story.now);
    assert_eq!(memory.left_over(), Some(&names(&["Odd"])));
}

/// We started 4.20.3, and somebody has replaced that by a preflight of it.
#[test]
fn a_preflight_of_the_release_that_we_started_is_not_our_update() {
    let replaced = Story::but(|story| {
        story.memory.started = Some(towpath_core::agent::StartedUpdate {
            version: version("4.20.3"),
            at: at("2026-11-16T11:00Z"),
            course: towpath_core::agent::Course::Running,
        });
        story.standing.preflight = Some(crate::cluster::asked("4.20.3"));
    });
    let (_, outcome) = follow(
        &replaced.memory,
        &replaced.standing,
        &replaced.stamp,
        replaced.now,
    );
    assert_eq!(
        outcome,
        Some(UpdateOutcome::GivenUp {
            version: version("4.20.3")
        })
    );
}

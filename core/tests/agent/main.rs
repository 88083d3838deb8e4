//! What a cluster takes by itself, rule by rule, and what no upstream can make it take.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod channels;
mod cluster;
mod followed;
mod lives;
mod preflights;
mod properties;
mod risks;

use cluster::{Story, asked, at, condition, image, offer, version, witness};
use jiff::SignedDuration;
use towpath_core::agent::{
    Advice, Downgrades, Evidence, OptIn, Pin, RequiredProof, Stamp, Status, UpdateTarget, Witness,
};
use towpath_core::cluster::Fact;
use towpath_core::cluster::objects::{HistoryEntry, Progress};
use towpath_core::fleet::{MaintenanceWindow, Schedule};
use towpath_core::signatures::{Refusal, SignatureVerdict};
use towpath_core::version::{Arch, Minor};

#[track_caller]
fn check(story: &Story, expected: &str) {
    assert_eq!(story.told(), expected);
}

#[test]
fn the_highest_version_that_is_recommended_is_taken() {
    check(&Story::new(), "takes 4.20.3");
    let many = Story::but(|story| {
        story.standing.offers = ["4.20.2", "4.21.0", "4.20.3"].map(offer).to_vec()
    });
    check(&many, "takes 4.21.0");
    let risky = Story::but(|story| {
        let advice = Advice::NotRecommended {
            reason: "SlowStart".into(),
            message: "it applies".into(),
        };
        let top = towpath_core::agent::UpdateOffer {
            advice,
            ..offer("4.20.3")
        };
        story.standing.offers = vec![top, offer("4.20.2")];
    });
    check(&risky, "takes 4.20.2");
    check(
        &Story::but(|story| story.standing.offers.clear()),
        "nothing is offered",
    );
}

#[test]
fn nobody_is_opted_in_by_saying_nothing() {
    check(
        &Story::but(|story| story.standing.opt_in = OptIn::default()),
        "refuses: NotOptedIn",
    );
}

#[test]
fn a_cluster_that_is_not_at_rest_is_left_alone() {
    for (name, status, expected) in [
        ("Progressing", Status::True, "waits: NotAtRest"),
        ("Failing", Status::True, "waits: NotAtRest"),
        ("Failing", Status::Unknown, "waits: NotAtRest"),
        ("Invalid", Status::True, "waits: NotAtRest"),
        ("Invalid", Status::False, "takes 4.20.3"),
        ("Available", Status::False, "waits: NotAtRest"),
        ("ReleaseAccepted", Status::False, "waits: NotAtRest"),
        ("ReleaseAccepted", Status::True, "takes 4.20.3"),
        ("RetrievedUpdates", Status::False, "waits: NotAtRest"),
    ] {
        let story = Story::but(|story| {
            drop(
                story
                    .standing
                    .conditions
                    .insert(name.into(), condition(status)),
            )
        });
        check(&story, expected);
    }
    for name in ["Progressing", "Failing", "Available", "RetrievedUpdates"] {
        check(
            &Story::but(|story| drop(story.standing.conditions.remove(name))),
            "waits: RestUnknown",
        );
    }
}

#[test]
fn what_a_person_asked_for_comes_first() {
    let person = |choice: UpdateTarget| Story::but(|story| story.standing.asked = Some(choice));
    check(&person(asked("4.20.2")), "waits: UpdateRequested");
    check(
        &person(UpdateTarget {
            image: Some(image("4.20.9")),
            ..UpdateTarget::default()
        }),
        "waits: UpdateRequested",
    );
    check(
        &person(UpdateTarget {
            version: Some(version("4.20.2")),
            ..UpdateTarget::default()
        }),
        "waits: UpdateRequested",
    );
    check(
        &person(UpdateTarget {
            unread: Some("next".into()),
            ..UpdateTarget::default()
        }),
        "waits: UpdateRequested",
    );
    check(
        &person(UpdateTarget {
            arch: Some("Multi".into()),
            ..asked("4.20.1")
        }),
        "waits: UpdateRequested",
    );
    let is_multi = Story::but(|story| {
        let multi = UpdateTarget {
            arch: Some("Multi".into()),
            ..asked("4.20.1")
        };
        (story.standing.asked, story.standing.desired) = (Some(multi.clone()), Some(multi));
    });
    check(&is_multi, "takes 4.20.3");
    // A preflight asks for no update.
    let preflight = Story::but(|story| story.standing.preflight = Some(asked("4.20.2")));
    check(&preflight, "takes 4.20.3");
    // What the cluster runs already has been asked for at some time.
    check(&person(asked("4.20.1")), "takes 4.20.3");
    check(&person(UpdateTarget::default()), "takes 4.20.3");
}

#[test]
fn gates_stop_minor_updates_and_never_patches() {
    let old_nodes = |to: &str| {
        Story::but(|story| {
            story.standing.offers = vec![offer(to)];
            story.facts.nodes = Fact::Unknown;
        })
    };
    check(&old_nodes("4.21.0"), "refuses: ObjectsNotGiven");
    check(&old_nodes("4.20.3"), "takes 4.20.3");
}

#[test]
fn the_calendar_the_interval_the_pin_and_failures_hold_it_back() {
    let window = |begins: &str| MaintenanceWindow {
        begins: Schedule::read(begins).unwrap(),
        lasts: SignedDuration::from_hours(2),
        time_zone: "Europe/Berlin".parse().unwrap(),
    };
    // Noon in UTC on that Monday is 13:00 in Berlin.
    for (begins, expected) in [
        ("Mon..Fri *-*-* 12:00", "takes 4.20.3"),
        ("0 12 * * *", "takes 4.20.3"),
        (
            "Mon..Fri *-*-* 11:00",
            "waits until 2026-11-17T10:00:00Z: OutsideWindows",
        ),
        (
            "Mon..Fri *-2..10-* 10:00,14:00",
            "waits until 2027-02-01T09:00:00Z: OutsideWindows",
        ),
        ("2-30 10:00", "waits: OutsideWindows"),
    ] {
        check(
            &Story::but(|story| story.policy.windows = vec![window(begins)]),
            expected,
        );
    }
    let weeks = |weeks: i64| {
        Story::but(|story| story.policy.at_least_between = SignedDuration::from_hours(weeks * 168))
    };
    check(&weeks(1), "takes 4.20.3");
    check(&weeks(2), "waits until 2026-11-20T12:00:00Z: TooSoon");
    check(
        &Story::but(|story| story.standing.past[0].ended = None),
        "waits: LastUpdateUnknown",
    );
    for (pin, expected) in [
        ("4.20.3", "takes 4.20.3"),
        ("4.20.2", "refuses: BeyondPin"),
        ("4.20", "takes 4.20.3"),
        ("4.19", "refuses: BeyondPin"),
    ] {
        check(
            &Story::but(|story| story.policy.pin = Pin::parse(pin)),
            expected,
        );
    }
    check(
        &Story::but(|story| story.memory.failures = 2),
        "takes 4.20.3",
    );
    check(
        &Story::but(|story| story.memory.failures = 3),
        "refuses: TooManyFailures",
    );
}

/// The attacks of the TUF list that a writer of graphs could try, each with the proof that stops it.
#[test]
fn a_rogue_upstream_gets_nothing_installed() {
    let offered = |to: &str, target: Witness, source: Witness| {
        let to = to.to_owned();
        Story::but(move |story| {
            story.standing.offers = vec![offer(&to)];
            story.evidence = [(image(&to), Evidence { target, source })].into();
        })
    };
    let source = || witness("4.20.1", &[], &[]);
    // Arbitrary software: nobody signed it, another key did, or it was tampered with.
    for refused in [
        SignatureVerdict::Missing,
        SignatureVerdict::Refused(Refusal::UnknownKey {
            issuer: "CD".into(),
        }),
        SignatureVerdict::Refused(Refusal::BadSignature { key: "AB".into() }),
        SignatureVerdict::Refused(Refusal::OtherDigest {
            digest: "sha256:0".into(),
        }),
        SignatureVerdict::Refused(Refusal::KeyRevoked { key: "AB".into() }),
    ] {
        let target = Witness {
            signature: refused,
            ..witness("4.20.3", &["4.20.1"], &[])
        };
        check(&offered("4.20.3", target, source()), "refuses: NotSigned");
    }
    // What cannot be found out now is not taken now.
    let unknown = || SignatureVerdict::NotKnown("the store is away".into());
    let target = Witness {
        signature: unknown(),
        ..witness("4.20.3", &["4.20.1"], &[])
    };
    check(&offered("4.20.3", target, source()), "waits: NotSigned");
    let target = Witness {
        declared: Fact::Unknown,
        ..witness("4.20.3", &[], &[])
    };
    check(
        &offered("4.20.3", target, source()),
        "waits: MetadataUnknown",
    );
    check(
        &Story::but(|story| story.evidence.clear()),
        "waits: NotProved",
    );
    // A tag may mean another image tomorrow.
    check(
        &Story::but(|story| story.standing.offers[0].image = "quay.io/o/release:4.20.3".into()),
        "refuses: NoDigest",
    );
    // Mix and match: an old release, rightly signed, under a new name.
    check(
        &offered("4.20.9", witness("4.19.0", &["4.20.1"], &[]), source()),
        "refuses: OtherRelease",
    );
    // An edge that nobody but the graph knows; the word of an image that is not signed does not count, nor that of another release.
    check(
        &offered("4.20.3", witness("4.20.3", &["4.20.2"], &[]), source()),
        "refuses: OnlyClaimed",
    );
    let unsigned = Witness {
        signature: SignatureVerdict::Missing,
        ..witness("4.20.1", &[], &["4.20.3"])
    };
    check(
        &offered("4.20.3", witness("4.20.3", &[], &[]), unsigned),
        "refuses: OnlyClaimed",
    );
    check(
        &offered(
            "4.20.3",
            witness("4.20.3", &[], &[]),
            witness("4.20.0", &[], &["4.20.3"]),
        ),
        "refuses: OnlyClaimed",
    );
    check(
        &offered(
            "4.20.3",
            witness("4.20.3", &[], &[]),
            witness("4.20.1", &[], &["4.20.3"]),
        ),
        "takes 4.20.3",
    );
    // Rollback of the release.
    check(
        &offered("4.20.0", witness("4.20.0", &["4.20.1"], &[]), source()),
        "refuses: NotNewer",
    );
    check(
        &offered("4.20.1", witness("4.20.1", &["4.20.1"], &[]), source()),
        "refuses: NotNewer",
    );
    check(
        &offered("4.22.0", witness("4.22.0", &["4.20.1"], &[]), source()),
        "refuses: SkipsMinor",
    );
    check(
        &offered("5.1.0", witness("5.1.0", &["4.20.1"], &[]), source()),
        "refuses: SkipsMinor",
    );
    check(
        &offered("6.0.0", witness("6.0.0", &["4.20.1"], &[]), source()),
        "refuses: MinorUnknown",
    );
    // The same release for other machines; and where what the cluster runs cannot be read, nothing is guessed.
    let mut other = witness("4.20.3", &["4.20.1"], &[]);
    if let Fact::Known(declared) = &mut other.declared {
        declared.arch = Arch::new("arm64");
    }
    check(&offered("4.20.3", other, source()), "refuses: OtherArch");
    check(
        &offered(
            "4.20.3",
            witness("4.20.3", &["4.20.1"], &[]),
            Witness::absent("not asked"),
        ),
        "waits: ArchUnknown",
    );
}

/// 4.22 is followed by 4.23 and by 5.0, and 4.23 by 5.1. Nothing is taken past that.
#[test]
fn across_the_border_of_majors_the_table_says_what_follows() {
    let at_border = |from: &str, kubelet: u64, to: &str| {
        Story::but(|story| {
            let history = HistoryEntry {
                version: version(from),
                progress: Progress::Completed,
            };
            story.facts.history = Fact::Known(vec![history]);
            if let Fact::Known(nodes) = &mut story.facts.nodes {
                nodes[0].kubelet = Fact::Known(Minor::new(1, kubelet));
            }
            story.standing.past[0].version = version(from);
            story.standing.desired = Some(asked(from));
            story.standing.offers = vec![offer(to)];
            let proof = Evidence {
                target: witness(to, &[from], &[]),
                source: witness(from, &[], &[]),
            };
            story.evidence = [(image(to), proof)].into();
        })
    };
    for (from, kubelet, to, expected) in [
        ("4.22.1", 35, "4.23.1", "takes 4.23.1"),
        ("4.22.1", 35, "5.0.1", "takes 5.0.1"),
        ("4.22.1", 35, "5.1.1", "refuses: SkipsMinor"),
        ("4.23.1", 36, "5.1.1", "takes 5.1.1"),
        ("4.23.1", 36, "5.0.1", "refuses: SkipsMinor"),
        ("4.21.1", 34, "5.0.1", "refuses: SkipsMinor"),
        ("5.0.1", 36, "5.2.1", "refuses: SkipsMinor"),
        ("5.1.1", 37, "5.2.1", "refuses: MinorNextUnverified"),
        (
            "5.8.1",
            40,
            "5.9.1",
            "refuses: KubernetesUnknown MinorUnknown",
        ),
    ] {
        check(&at_border(from, kubelet, to), expected);
    }
}

#[test]
fn a_graph_neither_goes_back_nor_stands_still() {
    let stamped = |good: &str, made: &str| {
        Fact::Known(Stamp {
            good_at: at(good),
            stamped_at: at(made),
        })
    };
    for (stamp, expected) in [
        (
            stamped("2026-11-16T11:00Z", "2026-11-16T11:59Z"),
            "takes 4.20.3",
        ),
        // Frozen, and replayed.
        (
            stamped("2026-11-16T10:59:59Z", "2026-11-16T11:59Z"),
            "waits: GraphTooOld",
        ),
        (
            stamped("2026-11-16T11:50Z", "2026-11-16T10:59Z"),
            "waits: GraphTooOld",
        ),
        (Fact::Unknown, "waits: GraphAgeUnknown"),
        (
            stamped("2027-11-16T11:50Z", "2027-11-16T11:59Z"),
            "waits: GraphAgeUnknown",
        ),
    ] {
        check(&Story::but(|story| story.stamp = stamp), expected);
    }
    let seen = |seen: &str| Story::but(|story| story.memory.graph_good_at = Some(at(seen)));
    check(&seen("2026-11-16T12:00Z"), "takes 4.20.3");
    check(&seen("2026-11-16T12:00:01Z"), "refuses: GraphWentBack");
    let nobody_stamps =
        Story::but(|story| (story.stamp, story.policy.max_graph_age) = (Fact::Unknown, None));
    check(&nobody_stamps, "takes 4.20.3");
}

#[test]
fn for_the_loop_of_the_document_downgrades_can_be_allowed() {
    let back = |downgrades| {
        Story::but(|story| {
            (story.policy.downgrades, story.policy.proof) = (downgrades, RequiredProof::Nothing);
            story.standing.offers = vec![offer("4.20.0")];
        })
    };
    check(&back(Downgrades::Refuse), "refuses: NotNewer");
    check(&back(Downgrades::Allow), "takes 4.20.0");
    // With signed images: the newer one was made to follow the older one.
    let signed = |previous: &[&str], downgrades| {
        Story::but(|story| {
            story.policy.downgrades = downgrades;
            story.standing.offers = vec![offer("4.20.0")];
            let evidence = Evidence {
                target: witness("4.20.0", &[], &[]),
                source: witness("4.20.1", previous, &[]),
            };
            story.evidence = [(image("4.20.0"), evidence)].into();
        })
    };
    check(&signed(&["4.20.0"], Downgrades::Allow), "takes 4.20.0");
    check(
        &signed(&["4.20.0"], Downgrades::Refuse),
        "refuses: NotNewer",
    );
    check(
        &signed(&["4.19.9"], Downgrades::Allow),
        "refuses: OnlyClaimed",
    );
}

/// Right after an update, the cluster still lists the release that it runs now among its offers.
#[test]
fn the_running_release_among_the_offers_is_not_held_to_be_an_attack() {
    let story = Story::but(|story| {
        story.standing.offers = vec![offer("4.20.1")];
        let evidence = Evidence {
            target: witness("4.20.1", &["4.20.0"], &[]),
            source: witness("4.20.0", &[], &[]),
        };
        story.evidence = [(image("4.20.1"), evidence)].into();
    });
    check(&story, "refuses: NotNewer");
}

#[test]
fn only_what_would_be_taken_is_proved() {
    let wanted = |change: &dyn Fn(&mut Story)| {
        let story = Story::but(|story| {
            story.standing.offers = ["4.20.2", "4.20.3"].map(offer).to_vec();
            story.evidence.clear();
            change(story);
        });
        story
            .choice()
            .unproved()
            .map(|offer| offer.version.to_string())
    };
    assert_eq!(wanted(&|_| ()).as_deref(), Some("4.20.3"));
    assert_eq!(
        wanted(&|story| story.policy.pin = Pin::parse("4.20.2")).as_deref(),
        Some("4.20.2")
    );
    assert_eq!(
        wanted(&|story| story.standing.opt_in = OptIn::NotWanted),
        None
    );
    // Once the highest is proved to be bad, the next is looked at; once one is good, nothing more.
    let proof = |target| Evidence {
        target,
        source: witness("4.20.1", &[], &[]),
    };
    let bad = || {
        proof(Witness {
            signature: SignatureVerdict::Missing,
            ..witness("4.20.3", &["4.20.1"], &[])
        })
    };
    assert_eq!(
        wanted(&|story| drop(story.evidence.insert(image("4.20.3"), bad()))).as_deref(),
        Some("4.20.2")
    );
    let good = || proof(witness("4.20.3", &["4.20.1"], &[]));
    assert_eq!(
        wanted(&|story| drop(story.evidence.insert(image("4.20.3"), good()))),
        None
    );
}

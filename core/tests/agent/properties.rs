//! Properties: what is taken is offered and proved; forgetting a fact never makes a cluster take more; a second look starts nothing twice.

use proptest::prelude::*;
use towpath_core::agent::{Advice, OptIn, Status, UpdateOffer, Witness};
use towpath_core::cluster::Fact;
use towpath_core::signatures::SignatureVerdict;
use towpath_core::verdict::Answer;

use crate::cluster::{Story, asked, condition, image, offer};

const VERSIONS: [&str; 5] = ["4.19.9", "4.20.1", "4.20.2", "4.20.3", "4.21.0"];

/// A story, spoiled at random in many points at once.
fn story() -> impl Strategy<Value = Story> {
    let offers = proptest::collection::vec((0..VERSIONS.len(), 0..3u8, 0..4u8), 0..4);
    let spoilt = proptest::collection::vec(0..12u8, 0..3);
    (offers, spoilt).prop_map(|(offers, spoilt)| {
        Story::but(|story| {
            story.standing.offers = offers
                .iter()
                .map(|(to, advice, _)| advised(VERSIONS[*to], *advice))
                .collect();
            for (to, _, proof) in &offers {
                let evidence = story.evidence.get_mut(&image(VERSIONS[*to]));
                if let (Some(evidence), 1..) = (evidence, *proof) {
                    evidence.target = match proof {
                        1 => Witness {
                            signature: SignatureVerdict::Missing,
                            ..evidence.target.clone()
                        },
                        2 => Witness {
                            declared: Fact::Unknown,
                            ..evidence.target.clone()
                        },
                        _ => Witness::absent("nobody looked"),
                    };
                }
            }
            spoilt.iter().for_each(|how| spoil(story, *how));
        })
    })
}

fn advised(to: &str, advice: u8) -> UpdateOffer {
    let (reason, message) = ("Risk".into(), "it may apply".into());
    let advice = match advice {
        0 => Advice::Recommended,
        1 => Advice::NotRecommended { reason, message },
        _ => Advice::NotKnown { reason, message },
    };
    UpdateOffer {
        advice,
        ..offer(to)
    }
}

fn spoil(story: &mut Story, how: u8) {
    let facts = &mut story.facts;
    match how {
        0 => story.standing.opt_in = OptIn::NotWanted,
        1 => drop(
            story
                .standing
                .conditions
                .insert("Failing".into(), condition(Status::True)),
        ),
        2 => story.standing.asked = Some(asked("4.20.2")),
        3 => story.memory.failures = 9,
        4 => facts.nodes = Fact::Unknown,
        5 => facts.apis = Fact::Unknown,
        6 => facts.history = Fact::Unknown,
        7 => story.stamp = Fact::Unknown,
        8 => story.evidence.clear(),
        9 => story.standing.past.clear(),
        _ => {}
    }
}

proptest! {
    #[test]
    fn what_is_taken_is_offered_recommended_proved_and_newer(story in story()) {
        let choice = story.choice();
        if let Some(taken) = choice.takes() {
            prop_assert!(story.standing.offers.contains(taken));
            prop_assert_eq!(&taken.advice, &Advice::Recommended);
            prop_assert!(story.standing.current().is_some_and(|current| taken.version > *current));
            prop_assert!(story.evidence[&taken.image].target.signed().is_some());
            prop_assert!(story.standing.opt_in == OptIn::Wanted && story.standing.open_request().is_none());
            // Everything higher has something against it.
            let higher = choice.judged.iter().filter(|(offer, _)| offer.version > taken.version);
            higher.clone().for_each(|(_, verdict)| assert!(!verdict.reasons.is_empty()));
        }
    }

    #[test]
    fn a_second_look_before_the_cluster_has_begun_starts_nothing(mut story in story()) {
        let taken = story.choice().takes().cloned();
        if let Some(taken) = taken {
            story.standing.asked = Some(asked(&taken.version.to_string()));
            prop_assert!(story.choice().takes().is_none());
        }
    }

    #[test]
    fn forgetting_never_makes_it_take_more(mut story in story(), forgotten in 4..10u8) {
        let before = story.choice();
        spoil(&mut story, forgotten);
        for ((offer, was), (same, is)) in before.judged.iter().zip(&story.choice().judged) {
            prop_assert_eq!(offer, same);
            prop_assert!(is.answer != Answer::Recommend || was.answer == Answer::Recommend);
        }
    }
}

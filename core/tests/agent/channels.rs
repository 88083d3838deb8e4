//! Channels: the agent sets the one that the fleet's update needs, and starts the update when the cluster is offered it.

use jiff::SignedDuration;
use towpath_core::agent::{
    ChannelCourse, ChannelOrder, ChannelOutcome, Course, FleetOrders, OptIn, OrderedUpdate,
    SetChannel, StartedUpdate, channel_to_set, follow_channel,
};
use towpath_core::cluster::objects::Progress;
use towpath_core::graph::ChannelName;
use towpath_core::verdict::Answer;

use crate::check;
use crate::cluster::{Story, asked, at, offer, version};

fn channel(name: &str) -> Option<ChannelName> {
    ChannelName::new(name)
}

/// The fleet has started 4.21.0, which needs stable-4.21. The cluster is in stable-4.20.
fn ordered(change: impl FnOnce(&mut Story)) -> Story {
    Story::but(|story| {
        story.standing.offers = Vec::new();
        story.orders = FleetOrders {
            update: Some(OrderedUpdate {
                to: version("4.21.0"),
                channel: Some(ChannelOrder {
                    from: channel("stable-4.20"),
                    to: channel("stable-4.21").unwrap(),
                }),
                accepted: Vec::new(),
            }),
            preflight: None,
        };
        change(story);
    })
}

/// The channel was set at eleven. It is noon.
fn set(change: impl FnOnce(&mut Story)) -> Story {
    ordered(|story| {
        story.standing.channel = channel("stable-4.21");
        story.memory.set_channel = Some(SetChannel {
            channel: channel("stable-4.21").unwrap(),
            update: version("4.21.0"),
            at: at("2026-11-16T11:00Z"),
            course: ChannelCourse::Waiting,
        });
        change(story);
    })
}

/// What is done about the channel.
fn step(story: &Story) -> String {
    let Some(wanted) = channel_to_set(&story.moment()) else {
        return "nothing".to_owned();
    };
    let codes = wanted.verdict.objections().map(|one| one.code().name);
    let codes: Vec<&str> = codes.collect();
    match wanted.verdict.answer {
        Answer::Recommend => format!("sets {} for {}", wanted.channel, wanted.update),
        Answer::Wait { .. } => format!("waits: {}", codes.join(" ")),
        _ => format!("refuses: {}", codes.join(" ")),
    }
}

/// What is remembered and told.
fn followed(story: &Story) -> String {
    let (memory, outcome) = follow_channel(&story.memory, &story.standing, story.now);
    let kept = memory
        .set_channel
        .map(|set| format!("{} {:?}", set.channel, set.course));
    let unwanted = memory
        .unwanted_channel
        .map(|channel| format!("not again {channel}"));
    let told = outcome.map(|outcome| match outcome {
        ChannelOutcome::InVain(set) => format!("{} was in vain", set.channel),
        ChannelOutcome::Replaced(set) => format!("{} was replaced", set.channel),
    });
    let all: Vec<String> = kept.into_iter().chain(unwanted).chain(told).collect();
    all.join(", ")
}

#[test]
fn the_channel_is_set_when_the_update_could_start() {
    assert_eq!(step(&ordered(|_| ())), "sets stable-4.21 for 4.21.0");
    let step_of = |change: &dyn Fn(&mut Story)| step(&ordered(change));
    assert_eq!(
        step_of(&|story| story.orders = FleetOrders::default()),
        "nothing",
        "nobody can say what the fleet asks for"
    );
    assert_eq!(
        step_of(&|story| story.standing.channel = channel("stable-4.21")),
        "nothing"
    );
    assert_eq!(
        step_of(&|story| story.standing.opt_in = OptIn::NotWanted),
        "refuses: NotOptedIn"
    );
    assert_eq!(
        step_of(&|story| story.standing.asked = Some(asked("4.20.2"))),
        "waits: UpdateRequested"
    );
    assert_eq!(
        step_of(&|story| story.policy.pin = towpath_core::agent::Pin::parse("4.20")),
        "refuses: BeyondPin"
    );
    assert_eq!(
        step_of(&|story| story.memory.taken_back = Some(version("4.21.0"))),
        "refuses: TakenBack"
    );
    // 4.22 is not next, and nothing leads back.
    let to = |to: &'static str| {
        step_of(&|story: &mut Story| {
            story.orders.update.as_mut().unwrap().to = version(to);
        })
    };
    assert_eq!(to("4.22.0"), "refuses: SkipsMinor");
    assert_eq!(to("4.20.0"), "refuses: NotNewer");
}

#[test]
fn a_persons_own_choice_wins() {
    // Somebody has changed it, and the fleet does not know yet.
    let changed = ordered(|story| story.standing.channel = channel("fast-4.20"));
    assert_eq!(step(&changed), "waits: OtherChannel");
    // Somebody has replaced what we set: it is not set again, not for another update either.
    for theirs in [channel("stable-4.20"), channel("candidate-4.20"), None] {
        let replaced = set(|story| story.standing.channel = theirs.clone());
        assert_eq!(
            followed(&replaced),
            "not again stable-4.21, stable-4.21 was replaced"
        );
        let (memory, _) = follow_channel(&replaced.memory, &replaced.standing, replaced.now);
        let mut again = replaced.clone();
        again.memory = memory;
        let update = again.orders.update.as_mut().unwrap();
        update.to = version("4.21.3");
        update.channel.as_mut().unwrap().from = theirs;
        assert_eq!(step(&again), "refuses: ChannelUnwanted");
        assert_eq!(followed(&again), "not again stable-4.21", "told once");
        // Whoever sets it after all wants it.
        again.standing.channel = channel("stable-4.21");
        assert_eq!(followed(&again), "");
    }
}

#[test]
fn the_update_starts_once_the_cluster_is_offered_it_and_nothing_else_meanwhile() {
    let offered = |offers: &[&str]| {
        set(|story| story.standing.offers = offers.iter().map(|to| offer(to)).collect())
    };
    check(&offered(&[]), "nothing is offered");
    // What its channel of before had may still be told.
    check(&offered(&["4.20.3"]), "waits: WaitsForChannel");
    check(&offered(&["4.20.3", "4.21.0"]), "takes 4.21.0");
    // The highest release of the next minor version is not what the fleet's rules have judged.
    let mut higher = offered(&["4.21.0", "4.21.5"]);
    assert_eq!(
        higher.choice().takes().map(|offer| offer.version.clone()),
        Some(version("4.21.0"))
    );
    // Later patches go on as before, and the next minor version stays the fleet's to say.
    higher.memory.set_channel.as_mut().unwrap().course = ChannelCourse::Over;
    higher.orders = FleetOrders::default();
    higher.standing.offers = vec![offer("4.21.0")];
    check(&higher, "waits: NotOrdered");
    higher.standing.offers = vec![offer("4.20.3")];
    check(&higher, "takes 4.20.3");
    // In a channel of a person's own choice the agent is free.
    higher.standing.offers = vec![offer("4.21.0")];
    higher.standing.channel = channel("fast-4.21");
    check(&higher, "takes 4.21.0");
}

#[test]
fn a_channel_that_was_set_in_vain_is_told_once_and_stays() {
    assert_eq!(followed(&set(|_| ())), "stable-4.21 Waiting");
    let late = |by: SignedDuration| set(|story| story.now = at("2026-11-16T13:00Z") + by);
    assert_eq!(followed(&late(SignedDuration::ZERO)), "stable-4.21 Waiting");
    let mut over = late(SignedDuration::from_secs(1));
    assert_eq!(followed(&over), "stable-4.21 Over, stable-4.21 was in vain");
    (over.memory, _) = follow_channel(&over.memory, &over.standing, over.now);
    assert_eq!(followed(&over), "stable-4.21 Over", "told once");
    assert_eq!(step(&over), "nothing", "and nothing is set again");
}

#[test]
fn it_is_over_when_the_update_has_started_and_forgotten_at_the_channels_minor_version() {
    let started = set(|story| {
        story.memory.started = Some(StartedUpdate {
            version: version("4.21.0"),
            at: story.now,
            course: Course::Running,
        });
        story.now += SignedDuration::from_hours(9);
    });
    assert_eq!(followed(&started), "stable-4.21 Over");
    let complete = set(|story| {
        story.standing.past[0].version = version("4.21.0");
        story.standing.past[0].progress = Progress::Completed;
    });
    assert_eq!(followed(&complete), "");
    // On the way to 4.22 over 4.21 the channel leads further: the fleet starts the second update, too.
    let eus = set(|story| {
        story.standing.channel = channel("eus-4.22");
        story.memory.set_channel.as_mut().unwrap().channel = channel("eus-4.22").unwrap();
        story.standing.past[0].version = version("4.21.0");
    });
    assert_eq!(followed(&eus), "eus-4.22 Over");
}

#[test]
fn a_clock_that_was_ahead_does_not_make_it_wait_for_ever() {
    let mut story = set(|story| {
        story.memory.set_channel.as_mut().unwrap().at = at("2036-01-01T00:00Z");
    });
    (story.memory, _) = follow_channel(&story.memory, &story.standing, story.now);
    assert_eq!(story.memory.set_channel.as_ref().unwrap().at, story.now);
}

//! Lives of agents: they look at what is old by now, die before and after they write, and clocks jump. No update is started twice, and none is lost.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use towpath_core::agent::{
    Course, Memory, OptIn, Past, RequiredProof, StartedUpdate, Status, UpdateTarget, follow,
};
use towpath_core::cluster::objects::Progress;

use crate::cluster::{Story, asked, at, condition, offer, version};

const RELEASES: [&str; 4] = ["4.20.1", "4.20.2", "4.20.3", "4.20.4"];

/// A cluster, with all that was ever seen of it.
struct World {
    story: Story,
    /// How often it was written.
    writes: usize,
    /// What an agent may have seen: the newest last.
    seen: Vec<(usize, Story)>,
    /// By how much the clock is wrong.
    wrong_by: SignedDuration,
    real: Timestamp,
}

#[derive(Debug, Clone)]
enum Event {
    /// An agent looks at what was so some writes ago, and acts.
    Looks {
        behind: usize,
    },
    /// The version operator goes one step on.
    Steps,
    /// A person asks for a release, or takes back what was asked for.
    Person {
        choice: Option<usize>,
    },
    /// Somebody opts in or out.
    Opts {
        is_in: bool,
    },
    Jumps {
        hours: i64,
    },
    Passes {
        minutes: i64,
    },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..3usize).prop_map(|behind| Event::Looks { behind }),
        4 => Just(Event::Steps),
        1 => proptest::option::of(0..RELEASES.len()).prop_map(|choice| Event::Person { choice }),
        1 => any::<bool>().prop_map(|is_in| Event::Opts { is_in }),
        1 => prop_oneof![Just(0), Just(-26), Just(26), Just(87_600), Just(-87_600)].prop_map(|hours| Event::Jumps { hours }),
        2 => (1..2_000i64).prop_map(|minutes| Event::Passes { minutes }),
    ]
}

impl World {
    fn new() -> Self {
        let story = Story::but(|story| {
            (story.policy.proof, story.policy.max_graph_age) = (RequiredProof::Nothing, None);
            story.policy.at_least_between = SignedDuration::ZERO;
        });
        let real = story.now;
        let mut world = Self {
            story,
            writes: 0,
            seen: Vec::new(),
            wrong_by: SignedDuration::ZERO,
            real,
        };
        world.written();
        world
    }

    fn now(&self) -> Timestamp {
        self.real + self.wrong_by
    }

    /// Somebody has written: it has another resource version, and offers follow from what it runs.
    fn written(&mut self) {
        self.writes += 1;
        let current = self.story.standing.current().cloned();
        let is_newer = |release: &&&str| {
            current
                .as_ref()
                .is_some_and(|current| version(release) > *current)
        };
        self.story.standing.offers = RELEASES
            .iter()
            .filter(is_newer)
            .map(|release| offer(release))
            .collect();
        self.seen.push((self.writes, self.story.clone()));
    }

    fn happens(&mut self, event: &Event) {
        match event {
            Event::Looks { behind } => self.looks(*behind),
            Event::Steps => self.steps(),
            Event::Person { choice } => {
                self.story.standing.asked = choice.map(|release| asked(RELEASES[release]));
                self.written();
            }
            Event::Opts { is_in } => {
                self.story.standing.opt_in = if *is_in {
                    OptIn::Wanted
                } else {
                    OptIn::NotWanted
                };
                self.written();
            }
            Event::Jumps { hours } => self.wrong_by = SignedDuration::from_hours(*hours),
            Event::Passes { minutes } => self.real += SignedDuration::from_mins(*minutes),
        }
    }

    /// As the agent does: it follows, chooses, and writes over what it saw, if that is still so.
    fn looks(&mut self, behind: usize) {
        let (writes, mut seen) = self.seen[self.seen.len().saturating_sub(behind + 1)].clone();
        seen.now = self.now();
        let before = seen.memory.clone();
        (seen.memory, _) = follow(&seen.memory, &seen.standing, &seen.stamp, seen.now);
        let taken = seen.choice().takes().cloned();
        if writes != self.writes {
            return;
        }
        if let Some(taken) = taken {
            let standing = &self.story.standing;
            assert_eq!(standing.opt_in, OptIn::Wanted);
            assert_eq!(
                standing.open_request(),
                None,
                "what somebody asked for comes first"
            );
            assert_eq!(
                standing.past[0].progress,
                Progress::Completed,
                "one update at a time"
            );
            assert_ne!(
                self.story.memory.taken_back.as_ref(),
                Some(&taken.version),
                "somebody took it back"
            );
            assert!(
                self.story.memory.started.is_none() || seen.memory.started.is_none(),
                "one of ours at a time"
            );
            let started = StartedUpdate {
                version: taken.version.clone(),
                at: seen.now,
                course: Course::Running,
            };
            self.story.memory = Memory {
                started: Some(started),
                ..seen.memory
            };
            let (version, image) = (Some(taken.version.clone()), Some(taken.image));
            self.story.standing.asked = Some(UpdateTarget {
                version,
                image,
                ..UpdateTarget::default()
            });
            self.written();
        } else if seen.memory.is_worth_writing_over(&before) {
            self.story.memory = seen.memory;
            self.written();
        }
    }

    fn steps(&mut self) {
        let now = self.now();
        let standing = &mut self.story.standing;
        let is_under_way = standing.past[0].progress == Progress::Partial;
        match (is_under_way, standing.asked.clone()) {
            (true, _) => {
                (standing.past[0].progress, standing.past[0].ended) =
                    (Progress::Completed, Some(now));
                standing
                    .conditions
                    .insert("Progressing".into(), condition(Status::False));
            }
            (false, Some(asked)) if Some(&asked) != standing.desired.as_ref() => {
                let version = asked.version.clone().expect("a version");
                let past = Past {
                    version,
                    progress: Progress::Partial,
                    started: Some(now),
                    ended: None,
                };
                standing.past.insert(0, past);
                standing.desired = Some(asked);
                standing
                    .conditions
                    .insert("Progressing".into(), condition(Status::True));
            }
            _ => return,
        }
        self.written();
    }
}

/// Looks and steps, with half an hour between.
fn quiet(world: &mut World, rounds: usize) {
    for _ in 0..rounds {
        world.happens(&Event::Looks { behind: 0 });
        world.happens(&Event::Passes { minutes: 30 });
        world.happens(&Event::Steps);
    }
}

proptest! {
    #[test]
    fn nothing_is_started_twice_and_nothing_is_lost(events in proptest::collection::vec(event(), 0..60)) {
        let mut world = World::new();
        for event in &events {
            world.happens(event);
        }
        // Then it is quiet: people want nothing more, the clock is right, and later than anything that was written down.
        world.happens(&Event::Opts { is_in: true });
        world.happens(&Event::Person { choice: None });
        (world.wrong_by, world.real) = (SignedDuration::ZERO, world.real.max(at("2040-01-01T00:00Z")));
        quiet(&mut world, 4);
        // What somebody took back is theirs to start; let them have changed their mind.
        world.story.memory.taken_back = None;
        world.written();
        quiet(&mut world, 20);
        prop_assert_eq!(world.story.standing.current(), Some(&version("4.20.4")), "{:?}", world.story.memory);
        prop_assert_eq!(world.story.memory.failures, 0);
    }
}

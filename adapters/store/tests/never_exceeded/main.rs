//! Never exceeded: schedulers are killed, cut off, delayed and given wrong clocks at random, for thousands of steps, on a real
//! PostgreSQL. After every step a witness with a connection of its own looks at what is stored.
//!
//! A step is a few things at once: schedulers go on with their passes by a piece or more, clusters report, people pause and
//! resume, connections are cut. Each call may be dropped at any of its waits. `TOWPATH_SEED` repeats a choice of all these;
//! the server's timing remains its own.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says so"
)]

mod chance;
mod clusters;
mod fleet;
mod scheduler;
mod witness;

use std::cell::RefCell;
use std::pin::Pin;
use std::time::Duration;

use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use sqlx::AnyPool;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::Pause;
use towpath_store::{Backend, ClusterReport, Store};

use chance::{Chance, Life};
use clusters::Clusters;
use fleet::Fleet;
use scheduler::{Scheduler, Turn};
use towpath_testing_store::{Place, TWO_HOURS, at, on, pause};
use witness::Witness;

/// At least so many steps; and then on until enough has happened for the test to be one, but not for ever.
const STEPS: u64 = 2_000;
const MOST_STEPS: u64 = 5 * STEPS;
const SCHEDULERS: usize = 4;

#[test]
fn whatever_happens_nothing_is_exceeded_credited_twice_or_lost() {
    on(Backend::Postgres, async |place| {
        let mut story = Story::begin(place).await;
        let mut steps = 0;
        while steps < STEPS || (story.missing().is_some() && steps < MOST_STEPS) {
            story.step().await;
            steps += 1;
        }
        story.end().await;
    });
}

/// Everybody, and what has been seen of them.
struct Story<'a> {
    chance: Chance,
    place: &'a Place,
    now: Timestamp,
    fleet: Fleet,
    clusters: Clusters,
    schedulers: Vec<Scheduler>,
    /// Where clusters report and people speak.
    doors: Vec<Store>,
    lives: u64,
    witness: RefCell<Witness>,
    eyes: Store,
    axe: AnyPool,
}

impl<'a> Story<'a> {
    async fn begin(place: &'a Place) -> Self {
        let mut chance = Chance::of_environment();
        let (fleet, eyes) = (Fleet::new(), place.open().await);
        let mut story = Self {
            now: at(0),
            clusters: Clusters::new(&fleet, &mut chance),
            schedulers: Vec::new(),
            doors: Vec::new(),
            lives: 0,
            witness: RefCell::default(),
            axe: AnyPool::connect(&place.url).await.unwrap(),
            chance,
            place,
            fleet,
            eyes,
        };
        let reports = story.clusters.all(story.now);
        record(&story.eyes, &reports, &story.witness).await;
        for _ in 0..SCHEDULERS {
            let scheduler = story.new_scheduler().await;
            story.schedulers.push(scheduler);
        }
        for _ in 0..2 {
            let door = story.new_door().await;
            story.doors.push(door);
        }
        story
    }

    /// A few things at once, and then a look.
    async fn step(&mut self) {
        self.now += SignedDuration::from_mins(self.chance.between(0, 20));
        let Self {
            chance,
            fleet,
            witness,
            axe,
            now,
            ..
        } = self;
        let (now, witness, fleet, axe) = (*now, &*witness, &*fleet, &*axe);
        let mut events: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
        let mut lives: Vec<Life> = (0..SCHEDULERS + self.doors.len())
            .map(|_| chance.life())
            .collect();
        for (number, scheduler) in self.schedulers.iter_mut().enumerate() {
            if !chance.percent(35) {
                lives[number] = Life::Long;
                continue;
            }
            if chance.percent(4) {
                events.push(Box::pin(cut(axe, scheduler.name.clone())));
            }
            let (life, turn) = (lives[number], any_turn(chance));
            events.push(Box::pin(async move {
                let done = life.of(scheduler.go_on(turn, now, fleet, witness)).await;
                tell_lost(done, witness);
            }));
        }
        for (door, life) in self.doors.iter().zip(lives[SCHEDULERS..].to_vec()) {
            let batch = if chance.percent(50) {
                self.clusters.some(now, chance)
            } else {
                Vec::new()
            };
            let words = chance
                .percent(6)
                .then(|| (chance.percent(25), any_pause(chance)));
            // A resume that nobody waits for may still happen much later, and then no pause is certain.
            let life = if matches!(words, Some((false, _))) {
                Life::Long
            } else {
                life
            };
            events.push(Box::pin(async move {
                let done = life.of(async {
                    record(door, &batch, witness).await;
                    if let Some((begins, pause)) = words {
                        speak(door, begins, &pause, witness).await;
                    }
                });
                tell_lost(done.await, witness);
            }));
        }
        join_all(events).await;
        self.look().await;
        self.replace(&lives).await;
    }

    async fn look(&mut self) {
        let witness = self.witness.get_mut();
        let newest = witness.newest(&self.eyes).await;
        let active = witness.look(&self.fleet, newest);
        witness.look_at_clusters(&self.eyes).await;
        let ids: Vec<&ClusterId> = self.fleet.members.keys().collect();
        witness
            .look_at_soak(&self.eyes, self.chance.one_of::<&ClusterId>(&ids))
            .await;
        self.clusters.live(&active, &mut self.chance);
    }

    /// Who was killed is gone with all its connections; another comes in its place, with another name and another clock.
    async fn replace(&mut self, lives: &[Life]) {
        for (number, _) in lives
            .iter()
            .enumerate()
            .filter(|(_, life)| matches!(life, Life::Killed(_)))
        {
            match number.checked_sub(SCHEDULERS) {
                None => self.schedulers[number] = self.new_scheduler().await,
                Some(door) => self.doors[door] = self.new_door().await,
            }
        }
    }

    async fn new_scheduler(&mut self) -> Scheduler {
        self.lives += 1;
        let skew = *self.chance.one_of(&[0, 0, 3, -3, 45, -45, 180, -180]);
        Scheduler::begin(
            &self.place.url,
            format!("s{}", self.lives),
            SignedDuration::from_mins(skew),
        )
        .await
    }

    async fn new_door(&mut self) -> Store {
        self.lives += 1;
        Store::open(&format!(
            "{}&application_name=d{}",
            self.place.url, self.lives
        ))
        .await
        .unwrap()
    }

    /// What has hardly ever happened so far.
    fn missing(&mut self) -> Option<&'static str> {
        let tally = &self.witness.get_mut().tally;
        ENOUGH
            .iter()
            .find(|what| tally.get(**what).is_none_or(|times| *times < 3))
            .copied()
    }

    /// Everything is looked at once more; and enough has happened for that to mean something.
    async fn end(mut self) {
        let missing = self.missing();
        let witness = self.witness.get_mut();
        println!("{:#?}", witness.tally);
        witness.look_back(&self.eyes, &self.fleet).await;
        assert_eq!(missing, None, "hardly ever");
        self.axe.close().await;
    }
}

/// What must have happened now and then, so that the test is one.
const ENOUGH: &[&str] = &[
    "starts",
    "started",
    "finished",
    "failed",
    "cancelled",
    "fenced",
    "unavailable",
    "lost answers",
    "pauses",
    "refused: held",
    "refused: paused",
    "refused: under-way",
    "reports: Began",
    "reports: Extended",
    "reports: Nothing",
];

fn any_turn(chance: &mut Chance) -> Turn {
    Turn {
        pieces: 1 + chance.below(4),
        // The others may take it at once, or have to wait a little.
        ttl: Duration::from_millis(*chance.one_of(&[0, 10, 50, 50])),
        renews: chance.percent(70),
        known: if chance.percent(30) {
            chance.below(u64::MAX)
        } else {
            u64::MAX
        },
    }
}

fn tell_lost(done: Option<()>, witness: &RefCell<Witness>) {
    if done.is_none() {
        witness.borrow_mut().lost();
    }
}

async fn record(door: &Store, reports: &[ClusterReport], witness: &RefCell<Witness>) {
    witness.borrow_mut().will_record(reports);
    match door.record(reports, TWO_HOURS).await {
        Ok(recorded) => witness.borrow_mut().recorded(reports, &recorded),
        Err(error) => witness.borrow_mut().failed(&error),
    }
}

async fn speak(door: &Store, begins: bool, pause: &Pause, witness: &RefCell<Witness>) {
    let done = match begins {
        true => {
            let before = witness.borrow().resumes(pause);
            door.pause(pause, "token")
                .await
                .map(|()| witness.borrow_mut().paused(pause, before))
        }
        false => {
            witness.borrow_mut().will_resume(pause);
            let done = door
                .resume(
                    pause.organisation.as_deref(),
                    pause.sector.as_deref(),
                    &towpath_testing_store::said("bob", "", 0),
                )
                .await;
            done.map(|_| witness.borrow_mut().resumed(pause))
        }
    };
    if let Err(error) = done {
        witness.borrow_mut().failed(&error);
    }
}

fn any_pause(chance: &mut Chance) -> Pause {
    let places = [
        (Some("acme"), Some("stage")),
        (Some("acme"), Some("blue")),
        (Some("acme"), Some("green")),
        (None, Some("blue")),
        (Some("zen"), None),
        (None, None),
    ];
    let (organisation, sector) = *chance.one_of(&places);
    pause(organisation, sector)
}

/// Cuts all connections of that name, wherever they are.
async fn cut(axe: &AnyPool, name: String) {
    let text =
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1";
    sqlx::query(text).bind(name).execute(axe).await.unwrap();
}

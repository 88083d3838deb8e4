//! The language of these tests: facts as `testing/graphs` reads them, and a question.
//!
//! ```text
//! 4.6.1 -> 4.10 via eus                        (a version, a minor version, or newest)
//! 4.6.1 -> 4.10 via eus prefer safest risks accepted:Slow ways 3 on AWS id x
//! 4.22.1 -> 5.2 via eus confirmed              (all that is known about minor versions is verified)
//! ```

use std::fmt::Write;

use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::duration::{Ground, MaxUnavailable, Shape};
use towpath_core::graph::{ChannelName, Graph, ReleaseId, StaleCause, StaleSource};
use towpath_core::path::*;
use towpath_core::version::Arch;

use towpath_testing_graphs::{confirmed_minors, graph, minors};

fn now() -> jiff::Timestamp {
    "2026-01-05T00:00Z".parse().unwrap()
}

/// Answers a question about facts.
pub(crate) fn check(facts: &str, question: &str, expected: expect_test::Expect) {
    let graph = graph(facts);
    let request = request(question);
    let lasts = |_, _| jiff::SignedDuration::from_mins(90);
    let told = match paths(&graph, &request, &lasts) {
        Ok(found) => found
            .plans
            .iter()
            .map(|plan| told(&graph, &request, plan))
            .collect(),
        Err(no_path) => why_not(&graph, &no_path),
    };
    expected.assert_eq(&told);
}

/// Says when a cluster with so many worker nodes, one at a time, takes each hop of the best way, in minutes from now.
pub(crate) fn check_pace(facts: &str, question: &str, workers: u32, expected: expect_test::Expect) {
    let graph = graph(facts);
    let request = request(question);
    let shape = Shape::plain(workers, MaxUnavailable::Count(1), Ground::Cloud);
    let pace = Pace {
        shape,
        ..Pace::usual()
    };
    let found = paths(&graph, &request, &pace.lasts(&graph)).unwrap();
    let timed = found.plans[0].timed(&graph, &request, &pace);
    let minutes = |at: jiff::Timestamp| at.duration_since(request.now).as_secs() / 60;
    let mut text = String::new();
    for (hop, timed) in found.plans[0].hops.iter().zip(&timed.hops) {
        let [taken, arrives, settled] = [timed.taken, timed.arrives, timed.settled].map(minutes);
        let to = &graph.release(hop.to).version;
        writeln!(
            text,
            "{to}: taken at {taken}, there at {arrives}, workers too at {settled}"
        )
        .unwrap();
    }
    writeln!(
        text,
        "{} + {} min",
        timed.control_planes.likely / 60,
        (timed.total.likely - timed.control_planes.likely) / 60
    )
    .unwrap();
    expected.assert_eq(&text);
}

/// Why the first update is not taken while a source is too old.
pub(crate) fn stranded_by_a_stale_source(facts: &str, question: &str) -> Vec<&'static str> {
    let stale = StaleSource {
        source: "graph-data".into(),
        last_good: jiff::Timestamp::UNIX_EPOCH,
        cause: StaleCause::TooOld,
    };
    let graph = graph(facts).with_stale(vec![stale]);
    let lasts = |_, _| jiff::SignedDuration::from_mins(90);
    let Err(NoPath::Stranded(stranded)) = paths(&graph, &request(question), &lasts) else {
        panic!("there is a way");
    };
    assert_eq!((&stranded.nearest, &stranded.with_risks), (&None, &None));
    let codes = stranded
        .barriers
        .iter()
        .map(|barrier| match &barrier.obstacle {
            Obstacle::Rules { verdict, .. } => verdict
                .reasons
                .iter()
                .map(|reason| reason.code().name)
                .next()
                .unwrap(),
            Obstacle::NoChannelHoldsBoth(_) => "NoChannelHoldsBoth",
            Obstacle::LeavesOut(_) => "LeavesOut",
        });
    codes.collect()
}

fn request(question: &str) -> Request {
    let words: Vec<&str> = question.split_whitespace().collect();
    let after = |name: &str| {
        words
            .iter()
            .position(|word| *word == name)
            .map(|at| words[at + 1])
    };
    let prefer =
        after("prefer").map_or_else(Preference::default, |text| Preference::read(text).unwrap());
    Request {
        from: words[0].parse().unwrap(),
        goal: Goal::read(words[2]).unwrap(),
        via: after("via")
            .unwrap()
            .split(',')
            .filter_map(ChannelName::new)
            .collect(),
        risks: after("risks").map_or_else(
            || prefer.usual_risks(),
            |text| RiskPolicy::read(text).unwrap(),
        ),
        prefer,
        ways: after("ways").map_or(1, |text| text.parse().unwrap()),
        asker: Asker {
            id: Fact::from(after("id").and_then(ClusterId::new)),
            platform: Fact::from(after("on").and_then(Platform::new)),
            groups: Fact::Unknown,
            arch: Arch::default(),
        },
        minors: if words.contains(&"confirmed") {
            confirmed_minors()
        } else {
            minors()
        },
        now: now(),
    }
}

fn told(graph: &Graph, request: &Request, plan: &Plan) -> String {
    let version = |id: ReleaseId| &graph.release(id).version;
    let mut text = format!("from {}\n", version(plan.from));
    for (hop, pools) in plan.hops.iter().zip(pools(graph, plan, &request.minors)) {
        write!(text, "  {} in {}", version(hop.to), hop.channel).unwrap();
        hop.risks
            .iter()
            .for_each(|risk| write!(text, " unless {}", graph.risk(*risk).name).unwrap());
        if hop.opens > request.now {
            write!(text, " opens {}", hop.opens).unwrap();
        }
        match pools {
            Pools::GoAlong => {}
            Pools::MayStayPaused {
                on,
                catch_up: CatchUp::Later,
            } => {
                write!(text, ", pools stay on {}", version(on)).unwrap();
            }
            Pools::MayStayPaused {
                on,
                catch_up: CatchUp::AfterThisHop,
            } => {
                write!(text, ", pools stay on {}, then catch up", version(on)).unwrap();
            }
        }
        text.push('\n');
    }
    text
}

fn why_not(graph: &Graph, no_path: &NoPath) -> String {
    let version = |id: ReleaseId| graph.release(id).version.to_string();
    let way = |plan: &Plan| {
        let hops: String = plan
            .hops
            .iter()
            .map(|hop| format!(" -> {}", version(hop.to)))
            .collect();
        version(plan.from) + &hops
    };
    let NoPath::Stranded(stranded) = no_path else {
        return format!("{}\n", no_path.code());
    };
    let nearest = stranded.nearest.as_ref().map_or("nowhere".to_owned(), way);
    let mut text = format!("not to {}; {nearest}\n", version(stranded.goal));
    for barrier in &stranded.barriers {
        let why: Vec<String> = match &barrier.obstacle {
            Obstacle::Rules { verdict, .. } => {
                verdict.reasons.iter().map(ToString::to_string).collect()
            }
            Obstacle::LeavesOut(between) => {
                let between: Vec<String> = between.iter().map(ToString::to_string).collect();
                vec![format!("it leaves out {}", between.join(", "))]
            }
            Obstacle::NoChannelHoldsBoth(others) => {
                vec![format!(
                    "together only in {:?}",
                    others.iter().map(ChannelName::as_str).collect::<Vec<_>>()
                )]
            }
        };
        writeln!(
            text,
            "  {} -> {}: {}",
            version(barrier.from),
            version(barrier.to),
            why.join("; ")
        )
        .unwrap();
    }
    if stranded.more_barriers > 0 {
        writeln!(text, "  and {} more", stranded.more_barriers).unwrap();
    }
    if let Some(plan) = &stranded.with_risks {
        writeln!(text, "  with risks: {}", way(plan)).unwrap();
    }
    text
}

//! The language of these tests. One line is one fact:
//!
//! ```text
//! now 2021-08-30T18:00Z                                  (else that Monday)
//! org blocks ^4\.9\.9$ | org shares m1 | org in o2 blocks …
//! sector prod after stage,canary limit 50% failures 2 stragglers 3
//! soak web on 4.9.2 3.5                                  (days)
//! gate g1 before 4.10 label api.openshift.com/gate-ocp
//! pause sector prod
//! approve 4.9.2 for a | withdrawn 4.9.2 for a | withdrawn-gate g1 of a
//! cancelled 4.9.2 of a pool np0
//! cluster a at 4.9.1 offers 4.9.2,4.9.3 sector prod mutexes m1,m2 soak 2 workloads web schedule 0_19_*_*_*
//!     (also: blocks RE, pin V, sts, not-sts, wif, on aws, left-alone, approval, unhealthy, acks g1, pools np0=4.9.0, in o2, silent 3,
//!     since 5, risk NAME=4.9.3, window 0_22_*_*_*+2, excluded 2021-08-30..2021-09-02=freeze, problem CODE, unbound, channel stable-4.9, follows stable,
//!     may-have stable-4.9, offers 4.10.1@stable-4.10: in another channel; called NAME: it has that name and no policy entry of its own)
//! upgrade a to 4.9.2 planned|started|failed|refused      (also: by other, hours-ago N, began N hours ago, failures N)
//! minors: the table of `minors()`
//! release 4.9.3 at 2021-09-01T00:00Z
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{
    AcceptedRisk, Approval, Binding, CancelledUpgrade, ClusterPolicy, ClusterState, Decision,
    Exclusion, FleetInput, FleetPlanner, GraphObjection, Health, LeftAlone, MaintenanceWindow,
    Name, NodePool, Offer, Organisation, Owner, Parallel, Pause, Preflight, PreflightDemand,
    PreflightState, Product, RiskEnd, Sector, SoakSum, Upgrade, UpgradeId, UpgradePolicy,
    UpgradeState, VersionGate, WithdrawnAcknowledgement, WithdrawnApproval, dispatch,
};
use towpath_core::graph::rules::KNOWN_RISK;
use towpath_core::graph::{ChannelName, Pattern};
use towpath_core::simulate::{Assumptions, forecast};
use towpath_core::verdict::{Answer, Verdict};
use towpath_core::version::{Arch, Minor, MinorFact, MinorRow, Minors, Version};

pub(crate) struct Story {
    pub(crate) input: FleetInput,
    pub(crate) now: Timestamp,
    pub(crate) assumptions: Assumptions,
}

/// Decides now, and says for each cluster what it does, or why it waits.
pub(crate) fn check(text: &str, expected: expect_test::Expect) {
    let story = read(text);
    let (desk, decision) = dispatch(story.input, story.now);
    expected.assert_eq(&told(&desk, &decision));
}

/// What starts over so many days.
pub(crate) fn check_days(days: i64, text: &str, expected: expect_test::Expect) {
    let Story {
        input,
        now,
        assumptions,
    } = read(text);
    let starts = forecast(
        input,
        now,
        now + SignedDuration::from_hours(24 * days),
        &assumptions,
        &|_, _| None,
        &mut |_| {},
    );
    let lines = starts.starts.iter().map(|start| {
        format!(
            "{} {} -> {}\n",
            &start.at.to_string()[..16],
            start.cluster,
            start.to
        )
    });
    expected.assert_eq(&lines.collect::<String>());
}

pub(crate) fn told(desk: &FleetPlanner, decision: &Decision) -> String {
    let mut text = String::new();
    let names = desk
        .roster()
        .in_order()
        .iter()
        .map(|member| &desk.roster().cluster(*member).name);
    let width = names.map(|name| name.len()).max().unwrap_or(0);
    for member in desk.roster().in_order() {
        let state = desk.roster().cluster(*member);
        write!(text, "{:width$}  ", state.name).unwrap();
        if let Some(start) = decision
            .starts
            .iter()
            .find(|start| start.cluster == state.id)
        {
            let what = start
                .pool()
                .map_or_else(String::new, |pool| format!("{pool} "));
            let over = start.channel.as_ref();
            let over = over.map_or_else(String::new, |channel| format!(" over {channel}"));
            writeln!(
                text,
                "start {what}{}{over} at {}",
                start.to,
                &start.at.to_string()[11..16]
            )
            .unwrap();
            continue;
        }
        let why = desk.why(*member, decision.at);
        match why.cluster.reasons.is_empty() && why.candidates.is_empty() {
            true => writeln!(text, "nothing newer").unwrap(),
            false => writeln!(text, "{}", reasons(&why.cluster)).unwrap(),
        }
        for candidate in &why.candidates {
            writeln!(
                text,
                "{:width$}    {}: {}",
                "",
                candidate.to,
                reasons(&candidate.own)
            )
            .unwrap();
        }
    }
    for cancel in &decision.cancels {
        writeln!(
            text,
            "cancel {}: {}",
            cancel.upgrade.0,
            reasons(&cancel.verdict)
        )
        .unwrap();
    }
    for begin in &decision.begins {
        writeln!(text, "begin {}", begin.0).unwrap();
    }
    for ended in &decision.ended {
        writeln!(
            text,
            "{} {}: {}",
            ended.state.code(),
            ended.upgrade.0,
            ended.note.as_deref().unwrap_or("it is there")
        )
        .unwrap();
    }
    for overdue in &decision.overdue {
        writeln!(
            text,
            "overdue {} since {}",
            overdue.upgrade.0, overdue.since
        )
        .unwrap();
    }
    text
}

fn reasons(verdict: &Verdict) -> String {
    let answer = match &verdict.answer {
        Answer::Refuse => "no",
        Answer::Wait { .. } => "wait",
        _ => return "yes".to_owned(),
    };
    let until = match verdict.answer {
        Answer::Wait { until: Some(until) } => format!(" until {until}"),
        _ => String::new(),
    };
    let all: Vec<String> = verdict.reasons.iter().map(ToString::to_string).collect();
    format!("{answer}{until}: {}", all.join("; "))
}

pub(crate) fn read(text: &str) -> Story {
    let mut story = Story {
        input: FleetInput::default(),
        now: "2021-08-30T18:00:00Z".parse().unwrap(),
        assumptions: Assumptions::default(),
    };
    let lines: Vec<Words<'_>> = text
        .lines()
        .map(|line| Words(line.split_whitespace().collect()))
        .collect();
    for line in lines
        .iter()
        .filter(|line| !line.0.is_empty() && line.0[0] == "now")
    {
        story.now = line.0[1].parse().unwrap();
    }
    for line in lines.iter().filter(|line| !line.0.is_empty()) {
        let organisation = line.after("in").unwrap_or("org");
        match line.0[0] {
            "now" => {}
            "org" => {
                let org = org(&mut story.input, organisation);
                org.blocked_versions
                    .extend(line.after("blocks").map(|text| Pattern::new(text).unwrap()));
                org.shared_mutexes.extend(line.list("shares"));
                org.inherits_from.extend(line.list("inherits"));
                org.disabled |= line.has("disabled");
            }
            "sector" => {
                let sector = sector(line);
                org(&mut story.input, organisation)
                    .sectors
                    .insert(sector.name.clone(), sector);
            }
            "soak" => story.input.soak.push(SoakSum {
                organisation: organisation.into(),
                workload: line.0[1].into(),
                version: version(line.after("on").unwrap()),
                seconds: (line.0[4].parse::<f64>().unwrap() * 86_400.0) as i64,
            }),
            "gate" => story.input.gates.push(VersionGate {
                id: line.0[1].into(),
                version_prefix: line.after("before").unwrap().into(),
                label: line
                    .after("label")
                    .unwrap_or("api.openshift.com/gate-ocp")
                    .into(),
            }),
            "pause" => story.input.pauses.push(Pause {
                organisation: line.after("in").map(Into::into),
                sector: line.after("sector").map(Into::into),
                by: "ada".into(),
                at: story.now,
                why: "an incident".into(),
            }),
            "approve" => story.input.approvals.push(Approval {
                organisation: organisation.into(),
                cluster: line.after("for").map(Into::into),
                version: version(line.0[1]),
                by: "ada".into(),
                at: story.now,
            }),
            "withdrawn" => story.input.taken_back.approvals.push(WithdrawnApproval {
                organisation: organisation.into(),
                cluster: line.after("for").map(Into::into),
                version: version(line.0[1]),
                by: "bob".into(),
                at: story.now,
                why: "an incident".into(),
            }),
            "withdrawn-gate" => {
                let cluster = format!("id-{}", line.after("of").unwrap());
                let acknowledgements = &mut story.input.taken_back.acknowledgements;
                acknowledgements.push(WithdrawnAcknowledgement {
                    cluster: ClusterId::new(&cluster).unwrap(),
                    gate: line.0[1].into(),
                    by: "bob".into(),
                    at: story.now,
                    why: "an incident".into(),
                });
            }
            "cancelled" => {
                let cluster = format!("id-{}", line.after("of").unwrap());
                story.input.taken_back.upgrades.push(CancelledUpgrade {
                    cluster: ClusterId::new(&cluster).unwrap(),
                    pool: line.after("pool").map(Into::into),
                    version: version(line.0[1]),
                    by: "bob".into(),
                    at: story.now,
                    why: "an incident".into(),
                });
            }
            "preflight" => story.input.preflights.push(Preflight {
                cluster: ClusterId::new(&format!("id-{}", line.0[1])).unwrap(),
                version: version(line.after("of").unwrap()),
                from: version(line.after("from").unwrap_or("4.9.1")),
                id: "r".into(),
                by: "ada".into(),
                state: PreflightState::of_code(line.after("is").unwrap()).unwrap(),
                why: "".into(),
                risks: line.list("finds").collect(),
                at: line.hours_ago("ago", story.now, 1).unwrap_or(story.now),
            }),
            "minors" => story.input.minors = Some(minors()),
            "cluster" => cluster(&mut story, line, organisation),
            "upgrade" => upgrade(&mut story, line),
            "release" => story.assumptions.releases.push((
                line.after("at").unwrap().parse().unwrap(),
                version(line.0[1]),
            )),
            other => panic!("{other} is no fact"),
        }
    }
    story
}

/// 4.9 is followed by 4.10, 4.11 and 4.12, one after the other; 4.12 by 5.0, which nobody has verified. 4.9 may skip to 4.11.
fn minors() -> Minors {
    let at = |text: &str| Minor::parse(text).unwrap();
    let row = |next: &[&str]| MinorRow {
        next: next.iter().map(|text| at(text)).collect(),
        ..MinorRow::default()
    };
    let mut rows = BTreeMap::from([
        (at("4.9"), row(&["4.10"])),
        (at("4.10"), row(&["4.11"])),
        (at("4.11"), row(&["4.12"])),
        (at("4.12"), row(&["5.0"])),
        (at("5.0"), row(&[])),
    ]);
    rows.get_mut(&at("4.9")).unwrap().skips = [at("4.11")].into();
    rows.get_mut(&at("4.12")).unwrap().unverified = [MinorFact::Next].into();
    Minors::new(rows)
}

struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    fn after(&self, word: &str) -> Option<&'a str> {
        self.0
            .iter()
            .position(|found| *found == word)
            .and_then(|at| self.0.get(at + 1))
            .copied()
    }

    fn list(&self, word: &str) -> impl Iterator<Item = Name> + use<'a> {
        self.after(word)
            .into_iter()
            .flat_map(|list| list.split(','))
            .map(Into::into)
    }

    fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }

    fn hours_ago(&self, word: &str, now: Timestamp, unit: i64) -> Option<Timestamp> {
        self.after(word)
            .map(|number| now - SignedDuration::from_hours(unit * number.parse::<i64>().unwrap()))
    }
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn org<'a>(input: &'a mut FleetInput, id: &str) -> &'a mut Organisation {
    input
        .policy
        .organisations
        .entry(id.into())
        .or_insert_with(|| Organisation {
            id: id.into(),
            name: id.into(),
            environment: None,
            blocked_versions: Vec::new(),
            sectors: BTreeMap::new(),
            clusters: Vec::new(),
            defaults: Vec::new(),
            inherits_from: [].into(),
            shared_mutexes: [].into(),
            disabled: false,
            origin: Place::file("org.yaml"),
        })
}

fn sector(line: &Words<'_>) -> Sector {
    let parallel = |text: &str| match text.strip_suffix('%') {
        Some(percent) => Parallel::Percent(percent.parse().unwrap()),
        None => Parallel::Count(text.parse().unwrap()),
    };
    Sector {
        name: line.0[1].into(),
        depends_on: line.list("after").collect(),
        max_parallel: line.after("limit").map(parallel),
        max_failures: line.after("failures").map(|number| number.parse().unwrap()),
        straggler_days: line.after("stragglers").map(|days| days.parse().unwrap()),
        origin: Place::file("org.yaml"),
    }
}

/// A mistake in a cluster's entry.
fn problem(code: &str) -> Finding {
    let code = ["unknown-field", "unknown-workload", "bad-schedule"]
        .into_iter()
        .find(|known| *known == code)
        .unwrap();
    Finding::error(code, Place::file("org.yaml"), code, "correct it")
}

/// `0_22_*_*_1-5+4`: from ten in the evening on weekdays, for four hours.
fn window(text: &str) -> MaintenanceWindow {
    let (begins, hours) = text.split_once('+').unwrap();
    MaintenanceWindow {
        begins: begins.replace('_', " ").parse().unwrap(),
        lasts: SignedDuration::from_hours(hours.parse().unwrap()),
        time_zone: "UTC".parse().unwrap(),
    }
}

/// `2021-08-30..2021-09-02=freeze`: those days, and why.
fn exclusion(text: &str) -> Exclusion {
    let (days, why) = text.split_once('=').unwrap();
    let (from, until) = days.split_once("..").unwrap();
    Exclusion {
        from: from.parse().unwrap(),
        until: until.parse().unwrap(),
        time_zone: "UTC".parse().unwrap(),
        why: Some(why.into()),
    }
}

/// `Bad`, `Bad@fixed`, or `Bad@2021-09-01T00:00:00Z`: a risk that is accepted, and until when.
fn accepted(text: &str) -> AcceptedRisk {
    let (name, until) = text.split_once('@').unwrap_or((text, ""));
    let until = match until {
        "" => RiskEnd::Open,
        "fixed" => RiskEnd::Fixed,
        end => RiskEnd::At(end.parse().unwrap()),
    };
    AcceptedRisk {
        until,
        ..AcceptedRisk::named(name.into())
    }
}

fn cluster(story: &mut Story, line: &Words<'_>, organisation: &str) {
    let (name, now): (Name, Timestamp) = (line.0[1].into(), story.now);
    let policy = UpgradePolicy {
        workloads: line.after("workloads").map_or_else(
            || ["web".into()].into(),
            |_| line.list("workloads").collect(),
        ),
        schedule: Some(
            line.after("schedule")
                .unwrap_or("*_*_*_*_*")
                .replace('_', " ")
                .parse()
                .unwrap(),
        ),
        soak_days: match line.after("soak") {
            Some("none") => None,
            days => Some(days.unwrap_or("0").parse().unwrap()),
        },
        mutexes: line.list("mutexes").collect(),
        sector: line.after("sector").map(Into::into),
        blocked_versions: line
            .after("blocks")
            .map(|text| Pattern::new(text).unwrap())
            .into_iter()
            .collect(),
        gate_approvals: line.list("approves-gates").collect(),
        needs_approval: line.has("approval"),
        pin: line.after("pin").map(version),
        follows: line.after("follows").map(Into::into),
        accepted_risks: line.list("accepts").map(|text| accepted(&text)).collect(),
        preflight: line
            .after("preflight")
            .map(|text| PreflightDemand::of_code(text).unwrap())
            .unwrap_or_default(),
        windows: line.after("window").map(window).into_iter().collect(),
        exclusions: line.after("excluded").map(exclusion).into_iter().collect(),
    };
    let organisation_of = org(&mut story.input, organisation);
    if line.after("called").is_none() {
        organisation_of.clusters.push(ClusterPolicy {
            name: name.clone(),
            id: None,
            policy,
            left_alone: line.has("left-alone").then(|| LeftAlone {
                integration: "ocm-upgrade-scheduler".into(),
                origin: Place::file("cluster.yaml"),
            }),
            problems: line.after("problem").map(problem).into_iter().collect(),
            origin: Place::file("org.yaml"),
        });
    }
    let risk = line.after("risk").and_then(|risk| risk.split_once('='));
    let offer = |text: Name| {
        let facts = |risk: &str| [("risk", risk.into()), ("url", "https://example.com".into())];
        let objection = risk
            .filter(|(_, at)| **at == *text)
            .map(|(risk, _)| GraphObjection {
                verdict: Verdict::refuse(KNOWN_RISK.because(facts(risk))),
                risks: [risk.into()].into(),
            });
        // 4.21.3@stable-4.21 is in another channel than the cluster.
        let (text, channel) = match text.split_once('@') {
            Some((text, channel)) => (text, ChannelName::new(channel)),
            None => (&*text, None),
        };
        Offer {
            version: version(text),
            channel,
            objection: objection.map(Box::new),
        }
    };
    let pools = line.list("pools").map(|pool| {
        let (id, at) = pool.split_once('=').unwrap();
        NodePool {
            id: id.into(),
            version: version(at),
        }
    });
    story.input.clusters.push(ClusterState {
        id: ClusterId::new(&format!("id-{name}")).unwrap(),
        name: line.after("called").map_or(name, Into::into),
        organisation: organisation.into(),
        binding: if line.has("unbound") {
            Binding::Unbound
        } else {
            Binding::Bound
        },
        version: version(line.after("at").unwrap()),
        going_to: line.after("going-to").map(version),
        version_since: line.hours_ago("since", now, 24).unwrap_or(now),
        last_seen: line.hours_ago("silent", now, 24).unwrap_or(now),
        health: if line.has("unhealthy") {
            Health::Unhealthy { why: "etcd".into() }
        } else {
            Health::Healthy
        },
        channel: line.after("channel").and_then(ChannelName::new),
        available_channels: match line.after("may-have") {
            Some(_) => Fact::Known(
                line.list("may-have")
                    .filter_map(|name| ChannelName::new(&name))
                    .collect(),
            ),
            None => Fact::Unknown,
        },
        arch: Arch::default(),
        platform: line.after("on").and_then(Platform::new).into(),
        labels: BTreeMap::new(),
        product: match line.after("pools") {
            Some(_) => Product::HostedControlPlane {
                pools: pools.collect(),
            },
            None => Product::Standalone,
        },
        sts: known(line, "sts"),
        wif: known(line, "wif"),
        offers: line.list("offers").map(offer).collect(),
        acknowledged_gates: line.list("acks").collect(),
    });
}

/// A word, the same with `not-`, or neither.
fn known(line: &Words<'_>, word: &str) -> Fact<bool> {
    match (line.has(word), line.has(&format!("not-{word}"))) {
        (true, _) => Fact::Known(true),
        (false, true) => Fact::Known(false),
        (false, false) => Fact::Unknown,
    }
}

fn upgrade(story: &mut Story, line: &Words<'_>) {
    let id = format!("id-{}", line.0[1]);
    let of = story
        .input
        .clusters
        .iter()
        .find(|cluster| cluster.id.as_str() == id);
    let start_at = line
        .hours_ago("hours-ago", story.now, 1)
        .unwrap_or(story.now + SignedDuration::from_mins(30));
    story.input.upgrades.push(Upgrade {
        id: UpgradeId(story.input.upgrades.len() as i64 + 1),
        cluster: ClusterId::new(&id).unwrap(),
        pool: line.after("pool").map(Into::into),
        from: of.map_or_else(|| version("4.0.0"), |of| of.version.clone()),
        to: version(line.after("to").unwrap()),
        channel: None,
        state: UpgradeState::of_code(line.0[4]).unwrap(),
        owner: if line.has("other") {
            Owner::Other
        } else {
            Owner::Towpath
        },
        start_at,
        changed_at: line.hours_ago("began", story.now, 1).unwrap_or(start_at),
        failures: line
            .after("failures")
            .map_or(0, |number| number.parse().unwrap()),
        note: line
            .has("refused")
            .then(|| "missing version gate agreements".into()),
    });
}

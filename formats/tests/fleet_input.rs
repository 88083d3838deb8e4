//! What a decision depended on comes back from its JSON as it was, whole or in parts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::*;
use towpath_core::graph::{ChannelName, Pattern};
use towpath_core::verdict::{Answer, Verdict, code_named};
use towpath_core::version::{Arch, Minor, MinorFact, MinorRow, Minors, Version};
use towpath_formats::fleet::input;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_written_is_read_again(mut input in any_input()) {
        let bytes = input::write(&input);
        let parts = input::parts(&input);
        let given = parts.iter().rev().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        let joined = input::from_parts(given);
        input::sort(&mut input);
        prop_assert_eq!(input::write(&input), bytes.clone(), "order does not matter");
        prop_assert_eq!(input::read(&bytes).expect("good"), input.clone());
        prop_assert_eq!(joined.expect("good"), input);
    }

    #[test]
    fn a_change_in_one_organisation_changes_its_part_alone(mut input in any_input(), at in any_time()) {
        let before: BTreeMap<String, Vec<u8>> = input::parts(&input).into_iter().collect();
        let Some(cluster) = input.clusters.first_mut() else { return Ok(()) };
        cluster.last_seen = at;
        let changed = format!("organisation/{}", cluster.organisation);
        for (name, bytes) in input::parts(&input) {
            prop_assert!(name == changed || before.get(&name) == Some(&bytes), "{name}");
        }
    }
}

#[test]
fn parts_that_do_not_belong() {
    let parts = input::parts(&FleetInput::default());
    let rest = parts[0].1.as_slice();
    for (parts, expected) in [
        (vec![], "the part \"rest\" is missing"),
        (
            vec![("rest", rest), ("rest", rest)],
            "the part \"rest\" is there twice",
        ),
        (
            vec![("rest", rest), ("other", rest)],
            "there is no part \"other\"",
        ),
        (
            vec![("rest", &b"{"[..])],
            "rest: EOF while parsing an object at line 1 column 1",
        ),
    ] {
        assert_eq!(input::from_parts(parts), Err(expected.to_owned()));
    }
}

// Any input

fn any_input() -> impl Strategy<Value = FleetInput> {
    let lists = (
        vec(any_upgrade(), 0..4),
        vec(any_soak(), 0..4),
        vec(any_gate(), 0..3),
        (vec(any_approval(), 0..3), any_taken_back()),
    );
    let rest = (
        vec(any_pause(), 0..3),
        vec(any_preflight(), 0..3),
        btree_map(any_name(), any_minimum(), 0..3),
        of(any_minors()),
    );
    let organisations = vec(any_organisation(), 0..3);
    (organisations, vec(any_cluster(), 0..6), lists, rest).prop_map(
        |(
            organisations,
            clusters,
            (upgrades, soak, gates, (approvals, taken_back)),
            (pauses, preflights, inherited, minors),
        )| {
            let organisations = organisations
                .into_iter()
                .map(|o| (o.id.clone(), o))
                .collect();
            let unique: BTreeMap<ClusterId, ClusterState> =
                clusters.into_iter().map(|c| (c.id.clone(), c)).collect();
            let clusters = unique.into_values().rev().collect();
            let policy = FleetPolicy { organisations };
            FleetInput {
                policy,
                clusters,
                upgrades,
                soak,
                gates,
                approvals,
                taken_back,
                pauses,
                preflights,
                inherited,
                minors,
            }
        },
    )
}

fn any_minors() -> impl Strategy<Value = Minors> {
    let minor = || (4u64..6, 0u64..30).prop_map(|(major, minor)| Minor::new(major, minor));
    let facts = (
        of(minor()),
        (of(0u8..4), of(0u8..4)),
        any::<bool>(),
        btree_set(select(MinorFact::ALL.to_vec()), 0..3),
    );
    let row = (btree_set(minor(), 0..3), btree_set(minor(), 0..2), facts).prop_map(
        |(next, skips, (kubernetes, (kubelet_skew, hosted_kubelet_skew), is_eus, unverified))| {
            MinorRow {
                next,
                skips,
                kubernetes,
                kubelet_skew,
                hosted_kubelet_skew,
                is_eus,
                unverified,
            }
        },
    );
    btree_map(minor(), row, 0..4).prop_map(Minors::new)
}

fn any_name() -> impl Strategy<Value = Name> {
    prop_oneof![4 => "[a-d]", 1 => "\\PC{1,8}", 1 => Just("quote\" \\ \n".to_owned())]
        .prop_map(Name::from)
}

fn names() -> impl Strategy<Value = BTreeSet<Name>> {
    btree_set(any_name(), 0..3)
}

fn any_version() -> impl Strategy<Value = Version> {
    select(vec!["4.12.1", "4.12.19", "4.13.0-rc.1", "4.14.0"])
        .prop_map(|text| text.parse().expect("good"))
}

fn any_time() -> impl Strategy<Value = Timestamp> {
    prop_oneof![
        (0i64..2_000_000_000).prop_map(|second| Timestamp::from_second(second).expect("good")),
        (0i64..2_000_000_000, 0i32..1_000_000_000)
            .prop_map(|(second, nano)| Timestamp::new(second, nano).expect("good")),
    ]
}

fn any_patterns() -> impl Strategy<Value = Vec<Pattern>> {
    vec(
        select(vec!["", ".*", r"^4\.13\.1$", "x|y"])
            .prop_map(|text| Pattern::new(text).expect("good")),
        0..3,
    )
}

fn any_place() -> impl Strategy<Value = Place> {
    (any_name(), 0u32..99, 0u32..99).prop_map(|(file, line, column)| Place { file, line, column })
}

fn any_finding() -> impl Strategy<Value = Finding> {
    let code = select(vec![
        "bad-pattern",
        "duplicate-cluster",
        "sector-loop",
        "policy",
        "wrong-kind",
    ]);
    (code, any_place(), any_name(), any::<bool>()).prop_map(
        |(code, place, text, error)| match error {
            true => Finding::error(code, place, &*text, "r"),
            false => Finding::warning(code, place, &*text, "r"),
        },
    )
}

fn any_schedule() -> impl Strategy<Value = Schedule> {
    select(vec!["* * * * *", "0 22 * * 1-5", "0 0 31 2 *"])
        .prop_map(|text| text.parse().expect("good"))
}

fn any_zone() -> impl Strategy<Value = Zone> {
    select(vec!["UTC", "Europe/Berlin", "america/new_york"])
        .prop_map(|text| text.parse().expect("good"))
}

fn any_policy() -> impl Strategy<Value = UpgradePolicy> {
    let window = (
        any_schedule(),
        1i64..1_000_000,
        0i32..1_000_000_000,
        any_zone(),
    )
        .prop_map(|(begins, seconds, nanos, time_zone)| MaintenanceWindow {
            begins,
            lasts: SignedDuration::new(seconds, nanos),
            time_zone,
        });
    let exclusion = (
        select(vec!["2026-12-20T00:00", "2026-12-20T23:59:59.5"]),
        any_zone(),
        of(any_name()),
    )
        .prop_map(|(from, time_zone, why)| Exclusion {
            from: from.parse().expect("good"),
            until: "2027-01-03T00:00".parse().expect("good"),
            time_zone,
            why,
        });
    let conditions = (
        of(any_schedule()),
        of(0u32..9),
        names(),
        of(any_name()),
        any_patterns(),
    );
    let beyond = (
        vec(window, 0..2),
        vec(exclusion, 0..2),
        any::<bool>(),
        of(any_version()),
        (btree_set(any_accepted_risk(), 0..3), any_demand()),
        of(any_name()),
    );
    (names(), conditions, names(), beyond).prop_map(
        |(
            workloads,
            (schedule, soak_days, mutexes, sector, blocked_versions),
            gate_approvals,
            beyond,
        )| {
            let (windows, exclusions, needs_approval, pin, of_risks, follows) = beyond;
            let (accepted_risks, preflight) = of_risks;
            UpgradePolicy {
                workloads,
                schedule,
                soak_days,
                mutexes,
                sector,
                blocked_versions,
                gate_approvals,
                windows,
                exclusions,
                needs_approval,
                pin,
                accepted_risks,
                follows,
                preflight,
            }
        },
    )
}

fn any_accepted_risk() -> impl Strategy<Value = AcceptedRisk> {
    let until = prop_oneof![
        Just(RiskEnd::Open),
        Just(RiskEnd::Fixed),
        any_time().prop_map(RiskEnd::At)
    ];
    (any_name(), of(any_name()), of(any_name()), until).prop_map(|(name, reason, owner, until)| {
        AcceptedRisk {
            name,
            reason,
            owner,
            until,
        }
    })
}

fn any_demand() -> impl Strategy<Value = PreflightDemand> {
    select(vec![
        PreflightDemand::None,
        PreflightDemand::WhereSupported,
        PreflightDemand::Required,
    ])
}

fn any_preflight() -> impl Strategy<Value = Preflight> {
    let texts = (any_name(), any_name(), any_name(), names());
    let state = select(PreflightState::ALL.to_vec());
    let cluster = "[a-d]".prop_map(|id| ClusterId::new(&id).expect("good"));
    (
        cluster,
        any_version(),
        any_version(),
        texts,
        state,
        any_time(),
    )
        .prop_map(
            |(cluster, version, from, (id, by, why, risks), state, at)| Preflight {
                cluster,
                version,
                from,
                id,
                by,
                state,
                why,
                risks,
                at,
            },
        )
}

fn any_labels() -> impl Strategy<Value = Labels> {
    btree_map("[a-c]", "\\PC{0,4}", 0..3)
}

fn any_sector() -> impl Strategy<Value = Sector> {
    let parallel = prop_oneof![
        (0u32..5).prop_map(Parallel::Count),
        (1u32..101).prop_map(Parallel::Percent)
    ];
    (
        any_name(),
        vec(any_name(), 0..3),
        of(parallel),
        of(1u32..9),
        of(1u32..9),
        any_place(),
    )
        .prop_map(
            |(name, depends_on, max_parallel, max_failures, straggler_days, origin)| Sector {
                name,
                depends_on,
                max_parallel,
                max_failures,
                straggler_days,
                origin,
            },
        )
}

fn any_organisation() -> impl Strategy<Value = Organisation> {
    let id = of("[a-z]{1,4}".prop_map(|id| ClusterId::new(&id).expect("good")));
    let left_alone = of(
        (any_name(), any_place()).prop_map(|(integration, origin)| LeftAlone {
            integration,
            origin,
        }),
    );
    let cluster = (
        any_name(),
        id,
        any_policy(),
        left_alone,
        vec(any_finding(), 0..2),
        any_place(),
    )
        .prop_map(
            |(name, id, policy, left_alone, problems, origin)| ClusterPolicy {
                name,
                id,
                policy,
                left_alone,
                problems,
                origin,
            },
        );
    let default = (
        any_name(),
        any_labels(),
        any_policy(),
        vec(any_finding(), 0..2),
        any_place(),
    )
        .prop_map(
            |(name, match_labels, policy, problems, origin)| PolicyDefault {
                name,
                match_labels,
                policy,
                problems,
                origin,
            },
        );
    let head = (
        any_name(),
        any_name(),
        of(any_name()),
        any_patterns(),
        any::<bool>(),
        any_place(),
    );
    let entries = (
        vec(any_sector(), 0..3),
        vec(cluster, 0..4),
        vec(default, 0..2),
    );
    (head, entries, names(), names()).prop_map(
        |(
            (id, name, environment, blocked_versions, disabled, origin),
            entries,
            inherits_from,
            shared_mutexes,
        )| {
            let (sectors, clusters, defaults) = entries;
            Organisation {
                id,
                name,
                environment,
                blocked_versions,
                sectors: sectors
                    .into_iter()
                    .map(|sector| (sector.name.clone(), sector))
                    .collect(),
                clusters,
                defaults,
                inherits_from,
                shared_mutexes,
                disabled,
                origin,
            }
        },
    )
}

fn any_offers() -> impl Strategy<Value = Arc<[Offer]>> {
    let reason = (any_name(), of(any_time()), any_place()).prop_map(|(what, until, place)| {
        let facts = [("source", what.into()), ("lastGood", until.into())];
        let known = code_named("SourceStale").expect("a code").because(facts);
        known.at(&place).until(until)
    });
    let answer = prop_oneof![
        Just(Answer::Refuse),
        of(any_time()).prop_map(|until| Answer::Wait { until }),
    ];
    let objection =
        (answer, names(), btree_set(reason, 0..2)).prop_map(|(answer, risks, reasons)| {
            let verdict = Verdict { answer, reasons };
            Box::new(GraphObjection { verdict, risks })
        });
    vec(
        (any_version(), any_channel(), of(objection)).prop_map(|(version, channel, objection)| {
            Offer {
                version,
                channel,
                objection,
            }
        }),
        0..3,
    )
    .prop_map(Arc::from)
}

fn any_channel() -> impl Strategy<Value = Option<ChannelName>> {
    let channel = |name: &str| ChannelName::new(name).expect("good");
    of(select(vec![channel("stable-4.21"), channel("eus-4.22")]))
}

fn any_cluster() -> impl Strategy<Value = ClusterState> {
    let health = prop_oneof![
        Just(Health::Healthy),
        any_name().prop_map(|why| Health::Unhealthy { why })
    ];
    let pool = (any_name(), any_version()).prop_map(|(id, version)| NodePool { id, version });
    let product = prop_oneof![
        Just(Product::Standalone),
        vec(pool, 0..3).prop_map(|pools| Product::HostedControlPlane { pools })
    ];
    let who = ("[a-z]{1,3}", any_name(), any_name());
    let what = (
        any_version(),
        of(any_version()),
        any_time(),
        any_time(),
        health,
    );
    let about = (
        any::<bool>(),
        select(vec!["amd64", "arm64"]),
        of(select(vec!["AWS", "azure"])),
        any_labels(),
    );
    (
        who,
        what,
        about,
        product,
        (of(any::<bool>()), of(any::<bool>()), any_channel()),
        any_offers(),
        names(),
    )
        .prop_map(
            |(
                (id, name, organisation),
                what,
                about,
                product,
                (sts, wif, channels),
                offers,
                acknowledged_gates,
            )| {
                let (version, going_to, version_since, last_seen, health) = what;
                let (channel, arch, platform, labels) = about;
                ClusterState {
                    id: ClusterId::new(&id).expect("good"),
                    name,
                    organisation,
                    binding: Binding::Bound,
                    version,
                    going_to,
                    version_since,
                    last_seen,
                    health,
                    channel: channel.then(|| ChannelName::new("stable-4.12").expect("good")),
                    arch: Arch::new(arch),
                    platform: Fact::from(platform.and_then(Platform::new)),
                    labels,
                    product,
                    sts: sts.into(),
                    wif: wif.into(),
                    offers,
                    available_channels: channels.map(|channel| [channel].into()).into(),
                    acknowledged_gates,
                }
            },
        )
}

fn any_upgrade() -> impl Strategy<Value = Upgrade> {
    let state = select(vec![
        UpgradeState::Planned,
        UpgradeState::Started,
        UpgradeState::Failed,
    ]);
    let how = (
        state,
        select(vec![Owner::Towpath, Owner::Other]),
        any_time(),
        any_time(),
        0u32..9,
        of(any_name()),
        any_channel(),
    );
    (
        any::<i64>(),
        "[a-z]{1,3}",
        of(any_name()),
        any_version(),
        any_version(),
        how,
    )
        .prop_map(
            |(
                id,
                cluster,
                pool,
                from,
                to,
                (state, owner, start_at, changed_at, failures, note, channel),
            )| Upgrade {
                id: UpgradeId(id),
                cluster: ClusterId::new(&cluster).expect("good"),
                pool,
                from,
                to,
                channel,
                state,
                owner,
                start_at,
                changed_at,
                failures,
                note,
            },
        )
}

fn any_soak() -> impl Strategy<Value = SoakSum> {
    (any_name(), any_name(), any_version(), any::<i64>()).prop_map(
        |(organisation, workload, version, seconds)| SoakSum {
            organisation,
            workload,
            version,
            seconds,
        },
    )
}

fn any_gate() -> impl Strategy<Value = VersionGate> {
    (any_name(), any_name(), any_name()).prop_map(|(id, version_prefix, label)| VersionGate {
        id,
        version_prefix,
        label,
    })
}

fn any_taken_back() -> impl Strategy<Value = TakenBack> {
    let cluster = || "[a-d]".prop_map(|id| ClusterId::new(&id).expect("good"));
    let said = || (any_name(), any_time(), any_name());
    let approval = (any_name(), of(any_name()), any_version(), said()).prop_map(
        |(organisation, cluster, version, (by, at, why))| WithdrawnApproval {
            organisation,
            cluster,
            version,
            by,
            at,
            why,
        },
    );
    let acknowledgement =
        (cluster(), any_name(), said()).prop_map(|(cluster, gate, (by, at, why))| {
            WithdrawnAcknowledgement {
                cluster,
                gate,
                by,
                at,
                why,
            }
        });
    let upgrade = (cluster(), of(any_name()), any_version(), said()).prop_map(
        |(cluster, pool, version, (by, at, why))| CancelledUpgrade {
            cluster,
            pool,
            version,
            by,
            at,
            why,
        },
    );
    let lists = (
        vec(approval, 0..3),
        vec(acknowledgement, 0..3),
        vec(upgrade, 0..3),
    );
    lists.prop_map(|(approvals, acknowledgements, upgrades)| TakenBack {
        approvals,
        acknowledgements,
        upgrades,
    })
}

fn any_approval() -> impl Strategy<Value = Approval> {
    (
        any_name(),
        of(any_name()),
        any_version(),
        any_name(),
        any_time(),
    )
        .prop_map(|(organisation, cluster, version, by, at)| Approval {
            organisation,
            cluster,
            version,
            by,
            at,
        })
}

fn any_pause() -> impl Strategy<Value = Pause> {
    (
        of(any_name()),
        of(any_name()),
        any_name(),
        any_time(),
        any_name(),
    )
        .prop_map(|(organisation, sector, by, at, why)| Pause {
            organisation,
            sector,
            by,
            at,
            why,
        })
}

fn any_minimum() -> impl Strategy<Value = Minimum> {
    (
        of(any_version()),
        btree_map(any_name(), any_version(), 0..3),
    )
        .prop_map(|(version, of_workload)| Minimum {
            version,
            of_workload,
        })
}

//! Creating, cancelling, agreeing: once, and safe to repeat.

mod support;

use serde_json::json;
use towpath_core::fleet::UpgradeState;
use towpath_core::graph::ChannelName;
use towpath_core::version::Version;
use towpath_ocm::{
    AgreementOutcome, CancelOutcome, CreateOutcome, OcmError, PolicyRef, SwitchOutcome,
};

use support::{World, at, classic, hosted, impatient, world, world_with};
use towpath_testing_services::ocm::{Fault, cluster};

fn version(text: &str) -> Version {
    text.parse().expect("a version")
}

/// A world with a cluster `a` that may go from 4.12.1 to 4.12.2, 4.12.3 and 4.13.0.
fn with_a(world: World) -> World {
    world.double.add(
        "org",
        &[],
        cluster("a", "4.12.1", &["4.12.2", "4.12.3", "4.13.0"]),
    );
    world
}

async fn create(world: &World, to: &str, clock: &str) -> Result<CreateOutcome, OcmError> {
    world
        .ocm
        .create(&classic("a"), None, &version(to), at(clock))
        .await
}

fn policy(id: &str) -> PolicyRef {
    PolicyRef {
        cluster: classic("a"),
        pool: None,
        id: id.into(),
    }
}

#[tokio::test]
async fn a_policy_is_made_and_the_second_time_it_is_there() {
    let world = with_a(world());
    assert_eq!(
        create(&world, "4.12.2", "13:00:00.5").await.unwrap(),
        CreateOutcome::New(policy("policy-1"))
    );
    let again = create(&world, "4.12.2", "14:00:00").await.unwrap();
    assert_eq!(
        again,
        CreateOutcome::AlreadyThere {
            policy: policy("policy-1"),
            next_run: Some(at("13:00:01"))
        }
    );
    let made: Vec<_> = world
        .double
        .asked()
        .into_iter()
        .filter(|asked| asked.method == "POST")
        .collect();
    assert_eq!(made.len(), 1);
    assert_eq!(
        made[0].body,
        Some(
            json!({"version": "4.12.2", "schedule_type": "manual", "upgrade_type": "OSD",
                    "next_run": "2026-01-05T13:00:01Z", "cluster_id": "ocm-a"})
        )
    );
}

#[tokio::test]
async fn control_planes_and_node_pools_have_places_of_their_own() {
    let world = world();
    world
        .double
        .add("org", &[], cluster("h", "4.14.2", &["4.14.3"]));
    world.double.host("ocm-h", &[("workers", "4.14.1")]);
    let at = at("13:00:00");
    world
        .ocm
        .create(&hosted("h"), None, &version("4.14.3"), at)
        .await
        .unwrap();
    world
        .ocm
        .create(&hosted("h"), Some("workers"), &version("4.14.2"), at)
        .await
        .unwrap();
    let types: Vec<_> = world
        .double
        .asked()
        .into_iter()
        .filter_map(|a| Some(a.body?["upgrade_type"].clone()))
        .collect();
    assert_eq!(types, ["ControlPlane", "NodePool"]);
    let there: Vec<_> = world
        .double
        .policies()
        .into_iter()
        .map(|(_, pool, to, _)| (pool, to))
        .collect();
    assert_eq!(
        there,
        [
            (None, "4.14.3".to_owned()),
            (Some("workers".to_owned()), "4.14.2".to_owned())
        ]
    );
    let pool = PolicyRef {
        cluster: hosted("h"),
        pool: Some("workers".into()),
        id: "policy-2".into(),
    };
    assert_eq!(world.ocm.cancel(&pool).await.unwrap(), CancelOutcome::Now);
}

#[tokio::test]
async fn a_policy_to_another_version_is_a_conflict() {
    let world = with_a(world());
    create(&world, "4.12.2", "13:00:00").await.unwrap();
    let error = create(&world, "4.12.3", "13:00:00").await.unwrap_err();
    let OcmError::Conflict {
        policy,
        version: there,
        ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(
        (policy.as_deref(), there.clone()),
        (Some("policy-1"), Some(version("4.12.2")))
    );
    assert_eq!(
        error.to_string(),
        "upgrade of cluster ocm-a to 4.12.3: an upgrade to 4.12.2 (pending) is in its way; wait until it is done, or cancel it first"
    );
    assert_eq!(world.double.policies().len(), 1);
}

#[tokio::test]
async fn one_who_comes_first_between_our_look_and_our_post() {
    // Our look sees nothing; the API then says 409, and a second look tells why.
    let nothing = r#"{"page":1,"size":0,"total":0,"items":[]}"#;
    for (theirs, kind) in [("4.12.2", "there"), ("4.12.3", "conflict")] {
        let world = with_a(world());
        world.double.add_policy(
            "ocm-a",
            None,
            "pending",
            json!({"version": theirs, "next_run": "2026-01-05T15:00:00Z"}),
        );
        world
            .double
            .fail("GET", "upgrade_policies", 1, Fault::Instead(nothing));
        let got = create(&world, "4.12.2", "13:00:00").await;
        let got = got.map_or_else(
            |e| e.kind(),
            |made| {
                if matches!(made, CreateOutcome::New(_)) {
                    "new"
                } else {
                    "there"
                }
            },
        );
        assert_eq!(got, kind);
        assert_eq!(
            (
                world.double.count("POST", "upgrade_policies"),
                world.double.policies().len()
            ),
            (1, 1)
        );
    }
}

#[tokio::test]
async fn an_ended_policy_is_in_nobodys_way() {
    let world = with_a(world());
    let id = world
        .double
        .add_policy("ocm-a", None, "failed", json!({"version": "4.12.2"}));
    assert!(matches!(
        create(&world, "4.12.2", "13:00:00").await.unwrap(),
        CreateOutcome::New(_)
    ));
    assert_eq!(
        world.ocm.cancel(&policy(&id)).await.unwrap(),
        CancelOutcome::Ended(UpgradeState::Failed)
    );
}

#[tokio::test]
async fn what_the_api_refuses_is_said_in_its_words() {
    let world = with_a(world());
    world
        .double
        .add_gate("gate-13", "4.13", "api.openshift.com/gate-ocp");
    for (to, clock, reason) in [
        ("4.12.2", "12:04:59", "at least 5 minutes in the future"),
        (
            "4.12.9",
            "13:00:00",
            "Version '4.12.9' is not among the available upgrades",
        ),
        (
            "4.13.0",
            "13:00:00",
            "missing version gate agreements for this cluster: gate-13",
        ),
    ] {
        let error = create(&world, to, clock).await.unwrap_err();
        assert_eq!(error.kind(), "refused");
        assert!(error.to_string().contains(reason), "{error}");
    }
    assert!(
        matches!(
            create(&world, "4.12.2", "12:05:00").await.unwrap(),
            CreateOutcome::New(_)
        ),
        "the boundary"
    );
}

#[tokio::test]
async fn an_agreed_gate_opens() {
    let world = with_a(world());
    world
        .double
        .add_gate("gate-13", "4.13", "api.openshift.com/gate-ocp");
    assert_eq!(
        world.ocm.agree(&classic("a"), "gate-13").await.unwrap(),
        AgreementOutcome::Now
    );
    assert_eq!(
        world.ocm.agree(&classic("a"), "gate-13").await.unwrap(),
        AgreementOutcome::Before
    );
    assert_eq!(world.double.count("POST", "gate_agreements"), 1);
    assert!(matches!(
        create(&world, "4.13.0", "13:00:00").await.unwrap(),
        CreateOutcome::New(_)
    ));
    assert_eq!(
        world
            .ocm
            .agree(&classic("a"), "gate-99")
            .await
            .unwrap_err()
            .kind(),
        "refused"
    );
}

#[tokio::test]
async fn an_agreement_whose_answer_is_lost_is_looked_up() {
    let world = with_a(world());
    world
        .double
        .add_gate("gate-13", "4.13", "api.openshift.com/gate-ocp");
    world
        .double
        .fail("POST", "gate_agreements", 1, Fault::AnswerLost);
    assert_eq!(
        world.ocm.agree(&classic("a"), "gate-13").await.unwrap(),
        AgreementOutcome::Now
    );
    assert_eq!(world.double.count("POST", "gate_agreements"), 1);
}

#[tokio::test]
async fn a_post_that_took_effect_is_found_and_not_repeated() {
    for fault in [
        Fault::AnswerLost,
        Fault::CutShort,
        Fault::LongerThanTold,
        Fault::Stall { takes_effect: true },
    ] {
        let world = with_a(world_with(impatient));
        world
            .double
            .fail("POST", "upgrade_policies", 1, fault.clone());
        let made = create(&world, "4.12.2", "13:00:00").await.unwrap();
        assert_eq!(made, CreateOutcome::New(policy("policy-1")), "{fault:?}");
        assert_eq!(
            (
                world.double.count("POST", "upgrade_policies"),
                world.double.policies().len()
            ),
            (1, 1),
            "{fault:?}"
        );
    }
}

#[tokio::test]
async fn a_post_that_did_not_take_effect_is_said_and_not_repeated() {
    for (fault, kind) in [
        (
            Fault::Stall {
                takes_effect: false,
            },
            "unconfirmed",
        ),
        (Fault::Status(500), "unconfirmed"),
        (Fault::Busy(Some("1")), "busy"),
        (Fault::Status(403), "forbidden"),
    ] {
        let world = with_a(world_with(impatient));
        world
            .double
            .fail("POST", "upgrade_policies", 1, fault.clone());
        assert_eq!(
            create(&world, "4.12.2", "13:00:00")
                .await
                .unwrap_err()
                .kind(),
            kind,
            "{fault:?}"
        );
        assert_eq!(
            (
                world.double.count("POST", "upgrade_policies"),
                world.double.policies().len()
            ),
            (1, 0),
            "{fault:?}"
        );
        assert!(
            matches!(
                create(&world, "4.12.2", "13:00:00").await.unwrap(),
                CreateOutcome::New(_)
            ),
            "later it goes through"
        );
    }
}

#[tokio::test]
async fn cancelling_twice_is_fine() {
    let world = with_a(world());
    let made = create(&world, "4.12.2", "13:00:00").await.unwrap();
    assert_eq!(
        world.ocm.cancel(made.policy()).await.unwrap(),
        CancelOutcome::Now
    );
    assert_eq!(
        world.ocm.cancel(made.policy()).await.unwrap(),
        CancelOutcome::AlreadyGone
    );
    assert!(world.double.policies().is_empty());
}

#[tokio::test]
async fn one_who_cancels_between_our_look_and_our_delete() {
    let world = with_a(world());
    create(&world, "4.12.2", "13:00:00").await.unwrap();
    world
        .double
        .fail("DELETE", "upgrade_policies", 1, Fault::Status(404));
    assert_eq!(
        world.ocm.cancel(&policy("policy-1")).await.unwrap(),
        CancelOutcome::AlreadyGone
    );
}

#[tokio::test]
async fn what_runs_is_not_cancelled() {
    for state in ["started", "delayed"] {
        let world = with_a(world());
        create(&world, "4.12.2", "13:00:00").await.unwrap();
        world.double.advance("policy-1", state);
        let error = world.ocm.cancel(&policy("policy-1")).await.unwrap_err();
        assert_eq!(error.kind(), "already-started");
        assert_eq!(
            (
                world.double.count("DELETE", "policy-1"),
                world.double.policies().len()
            ),
            (0, 1)
        );
    }
}

#[tokio::test]
async fn a_delete_whose_answer_is_lost_is_looked_up() {
    let world = with_a(world_with(impatient));
    create(&world, "4.12.2", "13:00:00").await.unwrap();
    world.double.fail(
        "DELETE",
        "upgrade_policies",
        1,
        Fault::Stall {
            takes_effect: false,
        },
    );
    assert_eq!(
        world
            .ocm
            .cancel(&policy("policy-1"))
            .await
            .unwrap_err()
            .kind(),
        "unconfirmed"
    );
    world
        .double
        .fail("DELETE", "upgrade_policies", 1, Fault::AnswerLost);
    assert_eq!(
        world.ocm.cancel(&policy("policy-1")).await.unwrap(),
        CancelOutcome::Now
    );
    assert_eq!(world.double.count("DELETE", "policy-1"), 2);
}

#[tokio::test]
async fn what_is_not_there_and_what_is_no_id() {
    let world = with_a(world());
    let to = version("4.12.2");
    assert_eq!(
        world
            .ocm
            .create(&classic("b"), None, &to, at("13:00:00"))
            .await
            .unwrap_err()
            .kind(),
        "not-found"
    );
    assert_eq!(
        world
            .ocm
            .create(&classic("a"), Some("w"), &to, at("13:00:00"))
            .await
            .unwrap_err()
            .kind(),
        "not-found"
    );
    let before = world.double.asked().len();
    for id in ["..", "a/b", "", "a?b", "a%2fb"] {
        assert_eq!(
            world.ocm.cancel(&policy(id)).await.unwrap_err().kind(),
            "bad-id",
            "{id:?}"
        );
    }
    assert_eq!(world.double.asked().len(), before, "nothing was sent");
}

#[tokio::test]
async fn a_cluster_is_switched_to_a_channel_once_and_only_to_one_that_is_available() {
    let world = world();
    let mut told = cluster("a", "4.20.2", &[]);
    told["channel"] = "stable-4.20".into();
    told["version"]["available_channels"] = json!(["stable-4.20", "stable-4.21"]);
    told["in_channel"] = json!({"stable-4.21": ["4.21.3"]});
    world.double.add("org", &[], told);
    let switch = async |name: &str| {
        let channel = ChannelName::new(name).unwrap();
        world.ocm.switch_channel(&classic("a"), &channel).await
    };
    let (now, before) = (SwitchOutcome::Now, SwitchOutcome::Before);
    assert_eq!(switch("stable-4.20").await.unwrap(), before);
    assert_eq!(switch("stable-4.21").await.unwrap(), now);
    assert_eq!(switch("stable-4.21").await.unwrap(), before);
    let fleet = world.fleet().await.unwrap();
    let (channel, available) = (
        &fleet.clusters[0].channel,
        &fleet.clusters[0].available_channels,
    );
    assert_eq!(channel.as_ref().unwrap().as_str(), "stable-4.21");
    assert_eq!(available.known().unwrap().len(), 2);
    let refused = switch("eus-4.22").await.unwrap_err();
    assert!(refused.is_refusal(), "{refused}");
}

#[tokio::test]
async fn an_api_that_has_only_channel_groups_is_asked_for_the_group() {
    let world = with_a(world());
    let stable = ChannelName::new("stable-4.13").unwrap();
    let switched = world.ocm.switch_channel(&classic("a"), &stable).await;
    assert_eq!(switched.unwrap(), SwitchOutcome::Before);
    let fast = ChannelName::new("fast-4.13").unwrap();
    let asked = world.ocm.switch_channel(&classic("a"), &fast).await;
    assert_eq!(asked.unwrap(), SwitchOutcome::Now);
    let asked = world.double.asked().into_iter();
    let patches: Vec<_> = asked.filter(|asked| asked.method == "PATCH").collect();
    assert_eq!(patches.len(), 1);
    let group = json!({"version": {"channel_group": "fast"}});
    assert_eq!(patches[0].body, Some(group));
}

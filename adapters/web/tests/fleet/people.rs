//! People whom an authenticator knows: their roles come from the access policy, and what nobody grants is refused.

use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::access::{AccessPolicy, Grants, Identity, Reach, Role, RoleBinding, Source};
use towpath_web::{
    Authenticator, FleetAnswer, FleetRequest, NotRecognised, Person, Reads, Recognition,
};

use crate::door::{Door, KEY, bearer, cluster_token, person_token, told};

/// Knows tokens such as `fake:ada:sre,dev`.
struct Fake;

impl Authenticator for Fake {
    fn recognise<'a>(&'a self, token: &'a str, _: Timestamp) -> Recognition<'a> {
        let recognised = token.strip_prefix("fake:").map(|rest| match rest {
            "away" => Err(NotRecognised::Unavailable("the issuer is away".to_owned())),
            "ended" => Err(NotRecognised::Refused {
                kind: "ended_token",
                sentence: "the token ended".to_owned(),
            }),
            rest => {
                let (name, groups) = rest.split_once(':').unwrap_or((rest, ""));
                Ok(Person {
                    identity: Identity {
                        name: name.into(),
                        source: Source::Oidc {
                            issuer: "https://id.example".into(),
                            subject: name.into(),
                        },
                    },
                    groups: groups.split(',').map(Into::into).collect(),
                    grants: Grants::default(),
                    ends: None,
                })
            }
        });
        Box::pin(std::future::ready(recognised))
    }
}

fn door() -> Door {
    let door = Door::accepting();
    door.fleet(Some(KEY), Reads::WithToken, |_| {
        FleetAnswer::Json("{}".to_owned())
    });
    door.service.set_authenticators(vec![Arc::new(Fake)]);
    let binding = |role, groups: &str, reach| RoleBinding {
        role,
        reach,
        people: [].into(),
        groups: [groups.into()].into(),
        source: None,
    };
    door.service.set_access_policy(AccessPolicy {
        bindings: vec![
            binding(Role::Operator, "sre", Reach::Organisation("o".into())),
            binding(Role::Viewer, "staff", Reach::Everywhere),
        ],
    });
    door
}

#[test]
fn roles_come_from_names_and_groups_and_reach_their_organisation_alone() {
    let door = door();
    let pause = |token: &str, body: &str| door.post("/api/v1/fleet/pause", token, body);
    let (here, there, everywhere) = (
        r#"{"organisation": "o", "why": "etcd"}"#,
        r#"{"organisation": "p", "why": "etcd"}"#,
        r#"{"why": "etcd"}"#,
    );
    assert_eq!(pause("fake:ada:sre", here).status, 200);
    for (token, body, expected) in [
        ("fake:ada:sre", there, told(403, "other_organisation")),
        ("fake:ada:sre", everywhere, told(403, "other_organisation")),
        ("fake:ada:staff", here, told(403, "no_role")),
        ("fake:ada:dev", here, told(403, "no_role")),
        ("fake:sre", here, told(403, "no_role")),
        ("fake:", here, told(401, "unnamed_token")),
        ("fake:ended", here, told(401, "ended_token")),
        ("fake:away", here, told(503, "unavailable")),
        ("other:ada:sre", here, told(401, "malformed_token")),
    ] {
        assert_eq!(pause(token, body).told(), expected, "{token} {body}");
    }
    assert_eq!(door.asked().len(), 1, "nothing else was asked of the fleet");
}

#[test]
fn a_question_is_about_the_callers_own_organisation() {
    let door = door();
    let ask = |token: &str, target: &str| door.get_with(target, &bearer(token));
    let status = "/api/v1/fleet/status";
    assert_eq!(ask("fake:ada:sre", status).status, 200);
    let asked = door.asked();
    let [FleetRequest::Status(filter)] = &*asked else {
        panic!("{asked:?}")
    };
    assert_eq!(filter.organisation.as_deref(), Some("o"));
    for (target, expected) in [
        (
            "/api/v1/fleet/status?org=p",
            told(403, "other_organisation"),
        ),
        ("/api/v1/fleet/decisions", told(403, "other_organisation")),
        ("/api/v1/rollouts/halts", told(403, "other_organisation")),
    ] {
        assert_eq!(ask("fake:ada:sre", target).told(), expected, "{target}");
    }
    assert_eq!(ask("fake:ada:staff", "/api/v1/fleet/decisions").status, 200);
    let session = ask("fake:ada:sre", "/api/v1/session").json();
    assert_eq!(session["identity"]["source"], "oidc");
    assert_eq!(session["roles"][0]["organisation"], "o");
    assert_eq!(session["readOnly"], false);
}

#[test]
fn a_token_of_ours_gets_no_role_from_the_policy() {
    let door = door();
    let viewer = person_token("sre", &[Role::Viewer], None);
    let body = r#"{"organisation": "o", "why": "etcd"}"#;
    for token in [viewer, cluster_token("sre")] {
        let refused = door.post("/api/v1/fleet/pause", &token, body);
        assert_eq!(refused.told(), told(403, "no_role"));
    }
    assert_eq!(door.asked(), []);
}

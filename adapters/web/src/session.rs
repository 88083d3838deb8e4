//! `GET /api/v1/session`: who the caller is, what they may do here, and what there is. The page asks it first.

use http::request::Parts;
use http::{Response, StatusCode};
use serde_json::{Value, json};
use towpath_core::access::{Grants, Permission, Reach, Role};

use crate::Service;
use crate::access::{self, Caller};
use crate::body::{self, AnswerBody};
use crate::fleet::{Sight, query};
use crate::refusal::OrRefusal;

pub(crate) fn answer(service: &Service, head: &Parts, _: &str) -> OrRefusal<Response<AnswerBody>> {
    query::nothing(head)?;
    let caller = Caller::of(head);
    let none = Grants::default();
    let (grants, problem) = match &caller {
        Caller::Nobody => (&none, Value::Null),
        Caller::Refused(refusal) => (&none, refusal.told()),
        Caller::Known(known) => (&known.grants, Value::Null),
    };
    let has_fleet = service.fleet.load().is_some();
    let permissions = permissions(service, &caller, grants);
    let changes = permissions.iter().any(|one| *one != Permission::ReadFleet);
    let names: Vec<&str> = permissions.iter().map(|one| one.name()).collect();
    let (commit, example) = service.build.more.get().cloned().unwrap_or_default();
    let identity = caller
        .identity()
        .map(|identity| json!({"name": *identity.name, "source": identity.source.kind().name()}));
    let text = json!({
        "readOnly": !(changes && has_fleet),
        "identity": identity,
        "roles": grants.iter().map(told).collect::<Vec<Value>>(),
        "permissions": names,
        "tokenProblem": problem,
        "needsToken": access::sight(service, &Caller::Nobody) != Sight::Whole,
        "hasFleet": has_fleet,
        "example": example,
        "version": service.build.version,
        "commit": commit,
    });
    Ok(body::json(StatusCode::OK, format!("{text:#}\n")))
}

/// What the caller may do in some organisation at least.
fn permissions(service: &Service, caller: &Caller, grants: &Grants) -> Vec<Permission> {
    let may = |permission: &Permission| match permission {
        Permission::ReadFleet if access::sight(service, caller) == Sight::Whole => true,
        permission => !grants.scope(*permission).is_nowhere(),
    };
    Permission::ALL.into_iter().filter(may).collect()
}

fn told((role, reach): &(Role, Reach)) -> Value {
    let organisation = match reach {
        Reach::Everywhere => None,
        Reach::Organisation(name) => Some(&**name),
    };
    json!({"role": role.name(), "organisation": organisation})
}

//! The file of `--access`: the roles of people whom an OIDC issuer or a Kubernetes API knows.
//!
//! ```yaml
//! bindings:
//! - role: operator
//!   organisation: acme
//!   people: [ada@example.com]
//!   groups: [acme-sre]
//! - role: viewer
//!   everywhere: true
//!   groups: [everybody]
//!   from: oidc
//! ```
//!
//! One mistake and nothing of the file is used.

use std::collections::BTreeSet;

use towpath_core::access::{AccessPolicy, Reach, Role, RoleBinding, SourceKind};
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::Name;

use crate::read::{Node, Reader, Record, shown};

/// The largest file.
pub const MAX_BYTES: usize = 1 << 20;
const MAX_BINDINGS: usize = 1_000;
/// The most people, or groups, of one binding.
const MAX_NAMES: usize = 1_000;

/// Reads a file, or says everything that is wrong with it.
pub fn read(place: &Place, bytes: &[u8]) -> Result<AccessPolicy, Vec<Finding>> {
    let limit = ("file", MAX_BYTES, "bind groups instead of single people");
    Reader::whole(place, bytes, limit, policy)
}

fn policy(reader: &mut Reader, node: &Node) -> Option<AccessPolicy> {
    let record = reader.record(node, "an access file", &["bindings"])?;
    let remedy = "add the list `bindings`; an empty one gives nobody a role";
    let nodes = reader.required(record, "bindings", remedy)?;
    let mut bindings = Vec::new();
    for node in reader.list(nodes, "`bindings`", MAX_BINDINGS) {
        bindings.extend(binding(reader, node));
    }
    Some(AccessPolicy { bindings })
}

fn binding(reader: &mut Reader, node: &Node) -> Option<RoleBinding> {
    let known = [
        "role",
        "organisation",
        "everywhere",
        "people",
        "groups",
        "from",
    ];
    let record = reader.record(node, "a binding", &known)?;
    let role = role(reader, record);
    let reach = reach(reader, record, node);
    let (people, groups) = (
        names(reader, record, "people"),
        names(reader, record, "groups"),
    );
    if people.is_empty() && groups.is_empty() {
        let problem = "the binding is for nobody";
        reader.error("bad-value", node, problem, "add people or groups");
    }
    let source = record.get("from").map(|from| source(reader, from));
    Some(RoleBinding {
        role: role?,
        reach: reach?,
        people,
        groups,
        source: source.unwrap_or(Some(None))?,
    })
}

fn role(reader: &mut Reader, record: Record<'_>) -> Option<Role> {
    let there = format!("use one of {}", Role::OF_PEOPLE.map(Role::name).join(", "));
    let node = reader.required(record, "role", &there)?;
    let text = reader.text(node, "a role")?;
    let role = Role::of_people(text);
    if role.is_none() {
        let problem = format!("there is no role {:?} for people", shown(text));
        reader.error("bad-value", node, problem, &there);
    }
    role
}

/// A role counts in one organisation, or everywhere; the file says which.
fn reach(reader: &mut Reader, record: Record<'_>, node: &Node) -> Option<Reach> {
    let everywhere = record.get("everywhere");
    let everywhere = everywhere.map(|node| (node, reader.flag(node, "everywhere")));
    match (record.get("organisation"), everywhere) {
        (Some(named), None) => {
            let name = reader.name(named, "an organisation")?;
            Some(Reach::Organisation(name.into()))
        }
        (None, Some((_, Some(true)))) => Some(Reach::Everywhere),
        // What is wrong with it has been said.
        (None, Some((_, None))) => None,
        (None, Some((node, Some(false)))) => {
            let problem = "`everywhere: false` does not say where";
            reader.error("bad-value", node, problem, "add `organisation` instead");
            None
        }
        (None, None) => {
            let problem = "the binding does not say where the role counts";
            let remedy = "add `organisation: ID`, or `everywhere: true`";
            reader.error("missing-field", node, problem, remedy);
            None
        }
        (Some(_), Some((node, _))) => {
            let problem = "the role counts in one organisation or everywhere, not both";
            reader.error("bad-value", node, problem, "keep one of them");
            None
        }
    }
}

fn names(reader: &mut Reader, record: Record<'_>, field: &'static str) -> BTreeSet<Name> {
    let nodes = record
        .get(field)
        .map_or(&[][..], |node| reader.list(node, field, MAX_NAMES));
    let mut names = BTreeSet::new();
    for node in nodes {
        let Some(name) = reader.name(node, "a name") else {
            continue;
        };
        if !names.insert(Name::from(name)) {
            let problem = format!("{:?} is listed twice", shown(name));
            reader.error("duplicate-entry", node, problem, "keep one of them");
        }
    }
    names
}

/// None: there is something wrong with it.
fn source(reader: &mut Reader, node: &Node) -> Option<Option<SourceKind>> {
    let text = reader.text(node, "a source")?;
    let kinds = [SourceKind::Oidc, SourceKind::Kubernetes];
    let kind = kinds.into_iter().find(|kind| kind.name() == text);
    if kind.is_none() {
        let problem = format!("{:?} is no source of people", shown(text));
        reader.error(
            "bad-value",
            node,
            problem,
            "use oidc or kubernetes, or leave it out",
        );
        return None;
    }
    Some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<AccessPolicy, String> {
        let read = read(&Place::file("access.yaml"), text.as_bytes());
        read.map_err(|findings| {
            let lines = findings.iter().map(ToString::to_string);
            lines.collect::<Vec<_>>().join("\n")
        })
    }

    #[test]
    fn bindings_are_read() {
        let policy = parsed(
            "bindings:\n- role: operator\n  organisation: acme\n  people: [ada@example.com]\n  groups: [sre, \"system:admins\"]\n- {role: viewer, everywhere: true, groups: [all], from: oidc}\n",
        );
        let set = |names: &[&str]| names.iter().map(|name| Name::from(*name)).collect();
        let expected = vec![
            RoleBinding {
                role: Role::Operator,
                reach: Reach::Organisation("acme".into()),
                people: set(&["ada@example.com"]),
                groups: set(&["sre", "system:admins"]),
                source: None,
            },
            RoleBinding {
                role: Role::Viewer,
                reach: Reach::Everywhere,
                people: set(&[]),
                groups: set(&["all"]),
                source: Some(SourceKind::Oidc),
            },
        ];
        assert_eq!(policy.map(|policy| policy.bindings), Ok(expected));
        assert_eq!(parsed("bindings: []"), Ok(AccessPolicy::default()));
    }

    #[test]
    fn what_is_not_understood_is_an_error_and_never_nothing() {
        for (text, expected) in [
            ("", "access.yaml"),
            ("roles: []", "has no field \"roles\""),
            ("bindings: {}", "access.yaml:1"),
            (
                "bindings: [{role: operater, everywhere: true, people: [a]}]",
                "no role \"operater\" for people; use one of viewer, operator",
            ),
            (
                "bindings: [{role: pipeline, everywhere: true, people: [a]}]",
                "no role \"pipeline\"",
            ),
            ("bindings: [{everywhere: true, people: [a]}]", "role"),
            (
                "bindings: [{role: viewer, people: [a]}]",
                "does not say where",
            ),
            (
                "bindings: [{role: viewer, everywhere: false, people: [a]}]",
                "does not say where",
            ),
            (
                "bindings: [{role: viewer, everywhere: true, organisation: acme, people: [a]}]",
                "not both",
            ),
            (
                "bindings: [{role: viewer, organisation: \"\", people: [a]}]",
                "access.yaml:1",
            ),
            ("bindings: [{role: viewer, everywhere: true}]", "for nobody"),
            (
                "bindings: [{role: viewer, everywhere: true, people: [a, a]}]",
                "listed twice",
            ),
            (
                "bindings: [{role: viewer, everywhere: true, people: [a], organization: x}]",
                "has no field \"organization\"",
            ),
            (
                "bindings: [{role: viewer, everywhere: true, people: [a], from: token}]",
                "no source of people",
            ),
            (
                "bindings: [{role: viewer, role: operator, everywhere: true, people: [a]}]",
                "role",
            ),
        ] {
            let problem = parsed(text).expect_err(text);
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}

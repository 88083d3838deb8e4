//! Roles × endpoints, as text and JSON. The rows come from the service's own table of routes.

use serde_json::{Value, json};
use towpath_core::access::{Permission, Role};

use crate::tables;

/// One endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub method: &'static str,
    pub path: &'static str,
    pub label: &'static str,
    /// Who may use it, in a few words.
    pub words: String,
    /// What it takes; none: no role.
    pub permission: Option<Permission>,
    /// Whether somebody without a token may use it, where reads take one.
    pub nobody: Cell,
    /// Whether the cluster with its own token may.
    pub cluster: Cell,
    /// Whether it changes something.
    pub changes: bool,
}

/// Whether somebody may use an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    Yes,
    /// Gets an answer without what only readers see.
    InPart,
    No,
}

impl Cell {
    fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::InPart => "part",
            Self::No => "-",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::InPart => "part",
            Self::No => "no",
        }
    }
}

impl Row {
    /// Whether somebody with this role may.
    pub fn role(&self, role: Role) -> Cell {
        match self.permission {
            Some(permission) if role.permits(permission) => Cell::Yes,
            Some(_) => Cell::No,
            None if self.nobody == Cell::InPart && role.permits(Permission::ReadFleet) => Cell::Yes,
            None => self.nobody,
        }
    }
}

/// For people: a line for each endpoint, a column for each role.
pub fn text(rows: &[Row]) -> String {
    let roles = Role::ALL.map(|role| role.name().to_uppercase());
    let columns = ["METHOD", "PATH", "NOBODY", "CLUSTER"].into_iter();
    let mut table = tables::table(columns.chain(roles.iter().map(String::as_str)));
    for row in rows {
        let cells = Role::ALL.map(|role| row.role(role).word());
        let first = [row.method, row.path, row.nobody.word(), row.cluster.word()];
        table.add_row(first.into_iter().chain(cells));
    }
    format!(
        "{}\nA role in one organisation counts for that organisation alone. What concerns every organisation takes the role everywhere.\npart: without the names of the fleet. Where nobody needs a token to read, nobody has the column of a viewer.\n",
        tables::shown(&table)
    )
}

/// For machines.
pub fn json(rows: &[Row]) -> Value {
    let row = |row: &Row| {
        let roles = Role::ALL.map(|role| (role.name().to_owned(), row.role(role).name().into()));
        let roles: serde_json::Map<String, Value> = roles.into_iter().collect();
        json!({
            "method": row.method,
            "path": row.path,
            "operation": row.label,
            "permission": row.permission.map(Permission::name),
            "who": row.words,
            "changes": row.changes,
            "nobody": row.nobody.name(),
            "cluster": row.cluster.name(),
            "roles": roles,
        })
    };
    json!({ "endpoints": rows.iter().map(row).collect::<Vec<Value>>() })
}

//! The manual's table of paths comes from the route table. `UPDATE_EXPECT=1 cargo test -p towpath-web --test routes` writes it.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::fmt::Write;
use std::path::Path;

use towpath_core::access::Role;
use towpath_web::{ROUTES, access_rows};

const BEGIN: &str = "<!-- Made from adapters/web/src/routes/table.rs by `UPDATE_EXPECT=1 cargo test -p towpath-web --test routes`. -->\n";
const END: &str = "<!-- The end of what is made. -->\n";

#[test]
fn the_manual_has_the_table_of_routes() {
    holds("serve.md", &table());
}

#[test]
fn the_manual_has_the_table_of_roles() {
    holds("access.md", &roles());
}

/// Compares a page's table with what is made, or writes it.
fn holds(page: &str, made: &str) {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manual = manual.join("../../docs").join(page);
    let text = std::fs::read_to_string(&manual).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (listed, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&manual, [before, BEGIN, made, END, after].concat()).unwrap();
    } else {
        assert!(
            listed == made,
            "docs/{page} lists other routes; `UPDATE_EXPECT=1 cargo test -p towpath-web --test routes` writes it:\n{made}"
        );
    }
}

/// Whom each endpoint answers: a column for each role.
fn roles() -> String {
    let names = Role::ALL.map(Role::name).join(" | ");
    let mut text = format!(
        "| endpoint | nobody | cluster | {names} |\n|---|---|---|{}\n",
        "---|".repeat(Role::ALL.len())
    );
    for row in access_rows() {
        let cells = Role::ALL.map(|role| row.role(role).word()).join(" | ");
        let (nobody, cluster) = (row.nobody.word(), row.cluster.word());
        writeln!(
            text,
            "| `{} {}` | {nobody} | {cluster} | {cells} |",
            row.method, row.path
        )
        .unwrap();
    }
    text
}

fn table() -> String {
    let mut text = "| path | methods | who | cost | what |\n|---|---|---|---|---|\n".to_owned();
    for route in ROUTES {
        let (path, methods, summary) = (route.path, route.verb.allow(), route.summary);
        let (who, cost) = (route.who.words(), route.cost().words());
        writeln!(
            text,
            "| `{path}` | {methods} | {who} | {cost} | {summary} |"
        )
        .unwrap();
    }
    text
}

//! Names: no public type name twice within a crate. Sources in, violations out.
//!
//! It reads lines, not syntax: rustfmt puts the start of each definition on its own line. Test modules do not count.

use std::collections::BTreeMap;

use super::rules::Violation;

/// A file of a crate: its path from the root of the workspace, and its text.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) text: String,
}

/// Crates whose names are not clean yet. This list only becomes shorter.
pub(super) const NOT_YET_CLEAN: [&str; 2] = ["towpath", "towpath-formats"];

/// Every public type of one crate that has the name of an earlier one.
pub(super) fn violations(sources: &[Source]) -> Vec<Violation> {
    let mut first: BTreeMap<&str, String> = BTreeMap::new();
    let mut violations = Vec::new();
    for source in sources.iter().filter(|source| !is_of_tests(&source.path)) {
        for (line, name) in public_types(&source.text) {
            let place = format!("{}:{line}", source.path);
            match first.get(name) {
                None => drop(first.insert(name, place)),
                Some(other) => violations.push(Violation {
                    place,
                    problem: format!("{name} is also the name of a type at {other}"),
                    remedy: "say in one of the two names what it is of, such as PathBarrier".into(),
                }),
            }
        }
    }
    violations
}

fn is_of_tests(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// The line and the name of each public type, down to the module of tests that ends a file.
fn public_types(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().take_while(|line| *line != "mod tests {");
    lines.zip(1..).filter_map(|(line, number)| {
        let rest = line.trim_start().strip_prefix("pub")?;
        let rest = match rest.strip_prefix('(') {
            Some(scoped) => scoped.split_once(')')?.1,
            None => rest,
        };
        let mut words = rest.strip_prefix(' ')?.split(' ');
        let is_type = matches!(words.next()?, "struct" | "enum" | "trait" | "type");
        let name = words.next().filter(|_| is_type)?;
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
        Some((number, &name[..end.unwrap_or(name.len())]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        let (path, text) = (path.to_owned(), text.to_owned());
        Source { path, text }
    }

    fn check(sources: &[Source]) -> Vec<String> {
        violations(sources)
            .iter()
            .map(Violation::to_string)
            .collect()
    }

    #[test]
    fn a_public_type_name_is_there_once() {
        let a = source(
            "core/src/a.rs",
            "//! A.\n\npub struct Step<'a>(&'a str);\nstruct Told;\n",
        );
        let b = source(
            "core/src/b.rs",
            "mod inner {\n    pub(crate) enum Step {\n    }\n}\nstruct Told;\npub fn step() {}\n",
        );
        assert_eq!(
            check(&[a, b]),
            [
                "core/src/b.rs:2: Step is also the name of a type at core/src/a.rs:3; say in one of the two names what it is of, such as PathBarrier"
            ]
        );
    }

    #[test]
    fn what_tests_define_does_not_count() {
        let of_type = "pub type Steps = Vec<u32>;\n";
        let own = format!("{of_type}\n#[cfg(test)]\nmod tests {{\n    pub struct Steps;\n}}\n");
        let sources = [
            source("core/src/a.rs", &own),
            source("core/src/a/tests.rs", of_type),
            source("core/src/b/tests/dsl.rs", of_type),
        ];
        assert_eq!(check(&sources), [""; 0]);
    }
}

//! The rules of the layers: who may depend on whom. Manifests in, violations out.
//!
//! Dependencies point one way: app to adapters to formats to core. This also holds for tests: a test that needs a higher
//! layer belongs there. A crate for tests counts as high as the highest crate that it uses.
//! Third-party crates are checked only where they would ship.

use std::fmt;

/// A layer, by the crate's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    Core,
    Formats,
    /// The HTTP client of all adapters.
    Http,
    Adapter,
    App,
    /// What only tests use.
    Testing,
    Fuzz,
    Xtask,
    /// An unknown folder.
    Elsewhere,
}

/// A member of the workspace.
#[derive(Debug, Clone)]
pub(super) struct Crate {
    pub(super) name: String,
    /// Its manifest, from the root of the workspace.
    pub(super) manifest: String,
    pub(super) room: Room,
    pub(super) inherits_lints: bool,
    pub(super) dependencies: Vec<Dependency>,
}

#[derive(Debug, Clone)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A normal dependency.
    Normal,
    /// For tests alone.
    Dev,
}

/// A violation of the layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) place: String,
    pub(super) problem: String,
    pub(super) remedy: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.problem, self.remedy)
    }
}

/// The dependencies that core may have. None does IO, reads a clock, or knows a wire format.
const CORE_MAY_USE: [&str; 6] = ["croner", "jiff", "regex", "semver", "sha2", "thiserror"];
/// Crates with IO, which formats must not use. Each stands for its family: `tokio` also for `tokio-util`.
const FORMATS_MAY_NOT_USE: [&str; 7] = [
    "tokio", "hyper", "notify", "tracing", "reqwest", "sqlx", "kube",
];

/// Crates that only the HTTP client may use. kube's own client is an exception.
const HTTP_ALONE_USES: [&str; 1] = ["reqwest"];

/// All violations in these crates.
pub(super) fn violations(crates: &[Crate]) -> Vec<Violation> {
    crates
        .iter()
        .flat_map(|one| violations_of(one, crates))
        .collect()
}

fn violations_of(one: &Crate, all: &[Crate]) -> Vec<Violation> {
    let judged = one.dependencies.iter().filter_map(|dependency| {
        let member = all.iter().find(|other| other.name == dependency.name);
        match (member, dependency.kind) {
            (Some(other), kind) => judge_member(one, other, kind, all),
            (None, Kind::Normal) => judge_third_party(one, &dependency.name),
            (None, Kind::Dev) => None,
        }
    });
    judged
        .chain(judge_room(one))
        .chain(judge_lints(one))
        .collect()
}

fn judge_member(one: &Crate, other: &Crate, kind: Kind, all: &[Crate]) -> Option<Violation> {
    let (allowed, remedy) = one.room.may_use();
    let crosses = match (one.room, other.room, kind) {
        (Room::Testing, Room::Testing, _) => false,
        (Room::Xtask, Room::Testing, _) => !other.dependencies.is_empty(),
        (_, Room::Testing, Kind::Dev) => !may_test_with(one, other, all),
        _ => !allowed.contains(&other.room),
    };
    crosses.then(|| one.violation(format!("{} depends on {}", one.name, other.name), remedy))
}

/// Whether tests of a crate may use this: it adds nothing that the crate itself may not use.
fn may_test_with(one: &Crate, tool: &Crate, all: &[Crate]) -> bool {
    let is_pure = matches!(one.room, Room::Core | Room::Formats);
    tool.dependencies.iter().all(|dependency| {
        match all.iter().find(|other| other.name == dependency.name) {
            Some(other) if other.room == Room::Testing => may_test_with(one, other, all),
            Some(other) => other.name == one.name || one.room.may_use().0.contains(&other.room),
            None => !is_pure || !opens_a_door(&dependency.name),
        }
    })
}

fn judge_third_party(one: &Crate, name: &str) -> Option<Violation> {
    let remedy = match one.room {
        Room::Core if !CORE_MAY_USE.contains(&name) => {
            "core is pure: move what needs it to formats or to an adapter, or argue for it in xtask/src/layers/rules.rs"
        }
        Room::Formats if opens_a_door(name) => "formats is pure: move what needs it to an adapter",
        Room::Adapter | Room::App if HTTP_ALONE_USES.iter().any(|head| is_family(head, name)) => {
            "there is one HTTP client: use towpath-http"
        }
        _ => return None,
    };
    Some(one.violation(format!("{} depends on {name}", one.name), remedy))
}

fn opens_a_door(name: &str) -> bool {
    FORMATS_MAY_NOT_USE.iter().any(|head| is_family(head, name))
}

fn is_family(head: &str, name: &str) -> bool {
    let rest = name.strip_prefix(head);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn judge_room(one: &Crate) -> Option<Violation> {
    let known = one.room != Room::Elsewhere;
    let remedy = "move it to core/, formats/, adapters/<name>/, app/, testing/<name>/, fuzz/ or xtask/, or give the room a rule here";
    (!known).then(|| one.violation(format!("{} is in no room of the house", one.name), remedy))
}

fn judge_lints(one: &Crate) -> Option<Violation> {
    let problem = || format!("{} does not inherit the workspace's lints", one.name);
    (!one.inherits_lints).then(|| one.violation(problem(), "add `[lints]` with `workspace = true`"))
}

impl Crate {
    fn violation(&self, problem: String, remedy: &str) -> Violation {
        Violation {
            place: self.manifest.clone(),
            problem,
            remedy: remedy.to_owned(),
        }
    }
}

impl Room {
    /// The layer of a manifest, by its path from the root of the workspace.
    pub(super) fn of(manifest: &str) -> Self {
        match manifest.split('/').collect::<Vec<_>>().as_slice() {
            ["core", "Cargo.toml"] => Self::Core,
            ["formats", "Cargo.toml"] => Self::Formats,
            ["adapters", "http", "Cargo.toml"] => Self::Http,
            ["adapters", _, "Cargo.toml"] => Self::Adapter,
            ["app", "Cargo.toml"] => Self::App,
            ["testing", _, "Cargo.toml"] => Self::Testing,
            ["fuzz", "Cargo.toml"] => Self::Fuzz,
            ["xtask", "Cargo.toml"] => Self::Xtask,
            _ => Self::Elsewhere,
        }
    }

    /// The layers that this layer may use, and the remedy for others.
    fn may_use(self) -> (&'static [Self], &'static str) {
        use Room::{Adapter, App, Core, Formats, Http};
        match self {
            Self::Core => (
                &[],
                "core knows nobody: move what needs it to the layer above",
            ),
            Self::Formats => (
                &[Core],
                "formats knows core alone: move what needs it to an adapter or to the app",
            ),
            Self::Http => (&[Core, Formats], "http knows no other adapter: they use it"),
            Self::Adapter => (
                &[Core, Formats, Http],
                "adapters know core, formats and http alone: let the app bring them together",
            ),
            Self::App => (
                &[Core, Formats, Http, Adapter],
                "the app knows core, formats and adapters alone",
            ),
            Self::Testing => (
                &[Core, Formats, Http, Adapter],
                "what is for tests does not know the app: run the binary instead",
            ),
            Self::Fuzz => (&[Core, Formats], "what is fuzzed is pure"),
            Self::Xtask => (
                &[],
                "xtask looks at the crates from outside: run the binary instead",
            ),
            // One complaint about it is enough, and that is about the place.
            Self::Elsewhere => (&[Core, Formats, Http, Adapter, App], ""),
        }
    }
}

/// Whether a manifest has `lints.workspace = true`, in either spelling.
pub(super) fn inherits_lints(manifest: &str) -> bool {
    let mut table = "";
    manifest
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .any(|line| {
            if line.starts_with('[') {
                table = line;
            }
            let compact: String = line.split_whitespace().collect();
            matches!(
                (table, compact.as_str()),
                ("[lints]", "workspace=true") | ("", "lints.workspace=true")
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workspace with one forbidden dependency: `one -> other`, with `dev` before it for tests.
    fn judged(line: &str) -> Vec<String> {
        let rooms = [
            ("towpath-core", "core/Cargo.toml"),
            ("towpath-formats", "formats/Cargo.toml"),
            ("towpath-http", "adapters/http/Cargo.toml"),
            ("towpath-web", "adapters/web/Cargo.toml"),
            ("towpath-sources", "adapters/sources/Cargo.toml"),
            ("towpath", "app/Cargo.toml"),
            ("towpath-testing-graphs", "testing/graphs/Cargo.toml"),
            ("towpath-testing-kube", "testing/kube/Cargo.toml"),
            ("towpath-testing-postgres", "testing/postgres/Cargo.toml"),
            ("towpath-testing-web", "testing/web/Cargo.toml"),
            ("towpath-fuzz", "fuzz/Cargo.toml"),
            ("xtask", "xtask/Cargo.toml"),
        ];
        let standing = [
            ("towpath-testing-graphs", "towpath-core"),
            ("towpath-testing-graphs", "proptest"),
            ("towpath-testing-kube", "kube"),
            ("towpath-testing-web", "towpath-web"),
        ];
        let (kind, line) = line
            .strip_prefix("dev ")
            .map_or((Kind::Normal, line), |rest| (Kind::Dev, rest));
        let (one, other) = line.split_once(" -> ").unwrap();
        let crates = rooms.map(|(name, manifest)| Crate {
            name: name.into(),
            manifest: manifest.into(),
            room: Room::of(manifest),
            inherits_lints: true,
            dependencies: standing
                .iter()
                .map(|(from, to)| (*from, *to, Kind::Normal))
                .chain([(one, other, kind)])
                .filter(|(from, _, _)| *from == name)
                .map(|(_, to, kind)| Dependency {
                    name: to.into(),
                    kind,
                })
                .collect(),
        });
        assert!(
            crates.iter().any(|known| known.name == one),
            "{one} is in the house"
        );
        violations(&crates)
            .iter()
            .map(Violation::to_string)
            .collect()
    }

    #[test]
    fn what_is_allowed() {
        for line in [
            "towpath-core -> jiff",
            "towpath-core -> thiserror",
            "dev towpath-core -> proptest",
            "dev towpath-core -> serde_json",
            "towpath-formats -> towpath-core",
            "towpath-formats -> serde",
            "towpath-formats -> bytes",
            "dev towpath-formats -> tokio",
            "towpath-web -> towpath-core",
            "towpath-web -> towpath-formats",
            "towpath-web -> tokio",
            "towpath-web -> towpath-http",
            "towpath-http -> towpath-core",
            "towpath-http -> towpath-formats",
            "towpath-http -> reqwest",
            "dev towpath-web -> reqwest",
            "towpath-testing-kube -> reqwest",
            "towpath -> towpath-http",
            "towpath -> towpath-core",
            "towpath -> towpath-web",
            "dev towpath -> towpath-sources",
            "dev towpath -> towpath-testing-kube",
            "dev towpath-web -> towpath-testing-kube",
            "towpath-testing-kube -> kube",
            "dev towpath-core -> towpath-testing-graphs",
            "dev towpath-formats -> towpath-testing-graphs",
            "dev towpath -> towpath-testing-web",
            "dev towpath-web -> towpath-testing-web",
            "towpath-testing-web -> towpath-testing-postgres",
            "towpath-testing-kube -> towpath-core",
            "towpath-fuzz -> towpath-formats",
            "xtask -> anyhow",
            "xtask -> towpath-testing-postgres",
        ] {
            assert_eq!(judged(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn what_is_forbidden() {
        for line in [
            "towpath-core -> towpath-formats",
            "towpath-core -> towpath",
            "dev towpath-core -> towpath-formats",
            "towpath-formats -> towpath-web",
            "towpath-formats -> towpath",
            "dev towpath-formats -> towpath-sources",
            "towpath-web -> towpath-sources",
            "towpath-web -> towpath",
            "towpath-http -> towpath-web",
            "dev towpath-http -> towpath-sources",
            "towpath-http -> towpath",
            "towpath-formats -> towpath-http",
            "towpath-web -> reqwest",
            "towpath -> reqwest",
            "dev towpath-web -> towpath-sources",
            "towpath -> xtask",
            "towpath -> towpath-testing-kube",
            "towpath-web -> towpath-testing-kube",
            "dev towpath-core -> towpath-testing-kube",
            "towpath-core -> towpath-testing-graphs",
            "dev towpath-formats -> towpath-testing-web",
            "dev towpath-sources -> towpath-testing-web",
            "dev towpath-testing-kube -> towpath",
            "towpath-fuzz -> towpath-web",
            "towpath -> towpath-fuzz",
            "xtask -> towpath-testing-graphs",
            "xtask -> towpath-core",
            "dev xtask -> towpath",
            "towpath-formats -> tokio",
            "towpath-formats -> hyper-util",
            "towpath-formats -> tracing-subscriber",
        ] {
            let (one, _) = line.trim_start_matches("dev ").split_once(" -> ").unwrap();
            let found = judged(line);
            assert_eq!(found.len(), 1, "{line}: {found:?}");
            assert!(
                found[0].contains(&format!("/Cargo.toml: {one} depends on ")),
                "{line}: {found:?}"
            );
        }
    }

    #[test]
    fn core_takes_from_its_list_alone() {
        for name in
            "serde serde_json serde-saphyr tokio hyper http axum reqwest sqlx notify kube tracing bytes".split(' ')
        {
            assert_eq!(judged(&format!("towpath-core -> {name}")).len(), 1, "{name}");
        }
    }

    #[test]
    fn a_family_is_not_a_prefix() {
        assert!(judged("towpath-formats -> notifying").is_empty());
    }

    #[test]
    fn a_crate_has_a_room_and_the_lints() {
        let crates = [Crate {
            name: "towpath-attic".into(),
            manifest: "attic/Cargo.toml".into(),
            room: Room::of("attic/Cargo.toml"),
            inherits_lints: false,
            dependencies: Vec::new(),
        }];
        let found: Vec<String> = violations(&crates)
            .iter()
            .map(Violation::to_string)
            .collect();
        assert_eq!(found.len(), 2);
        assert!(
            found[0]
                .starts_with("attic/Cargo.toml: towpath-attic is in no room of the house; move it")
        );
        assert!(found[1].ends_with("; add `[lints]` with `workspace = true`"));
    }

    #[test]
    fn lints_are_inherited_in_either_spelling() {
        for (manifest, expected) in [
            (
                "[package]\nname = \"x\"\n\n[lints]\nworkspace = true\n",
                true,
            ),
            ("lints.workspace = true\n[package]", true),
            ("[lints]\nworkspace=true # all of them", true),
            ("[lints]\n# workspace = true", false),
            ("[package]\nworkspace = true", false),
            ("[lints.rust]\nunsafe_code = \"allow\"", false),
            ("", false),
        ] {
            assert_eq!(inherits_lints(manifest), expected, "{manifest}");
        }
    }
}

//! Variables of the environment: one whose name begins with `TOWPATH_` and that nobody reads is told, in every command.
//!
//! A name that had a meaning once ends a command that would read the new one. What a platform sets by itself is left alone:
//! Kubernetes names each Service of a namespace in the environment of its pods, and a Service may be called `towpath`.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::Command;

const PREFIX: &str = "TOWPATH_";
/// Names that clap does not know, because they are read by hand or by our tests.
const OTHERS: [&str; 8] = [
    "TOWPATH_PASS_EVERY",
    "TOWPATH_CONFIG",
    "TOWPATH_REAL_DATA",
    "TOWPATH_SEED",
    "TOWPATH_KUBE_APISERVER",
    "TOWPATH_KUBE_CONTROLLER_MANAGER",
    "TOWPATH_KUBE_SCHEDULER",
    "TOWPATH_TEST_CACHE",
];
/// The agent's variables that have another name now.
const RENAMED: [(&str, &str); 4] = [
    ("TOWPATH_SERVICE", "TOWPATH_SERVER"),
    ("TOWPATH_TOKEN_FILE", "TOWPATH_SERVER_TOKEN_FILE"),
    ("TOWPATH_ORGANISATION", "TOWPATH_ORG"),
    ("TOWPATH_SERVICE_CA_FILE", "TOWPATH_SERVER_CA_FILE"),
];
/// The most variables that are named at once.
const MAX_NAMED: usize = 10;

/// What there is to say about these variables. An error ends the command: it would do something else than it was told.
pub(crate) fn check(
    command: &Command,
    subcommand: Option<&str>,
    names: impl IntoIterator<Item = OsString>,
) -> anyhow::Result<Vec<String>> {
    let known = known(command);
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    let unknown: BTreeSet<String> = names
        .filter(|name| name.starts_with(PREFIX) && !known.contains(name) && !is_of_platform(name))
        .collect();
    let new_name = |old: &str| RENAMED.iter().find(|(name, _)| *name == old);
    if let (Some("agent"), Some((old, new))) =
        (subcommand, unknown.iter().find_map(|name| new_name(name)))
    {
        anyhow::bail!("the variable {old} is called {new} now; set {new} instead");
    }
    let told = |name: &String| match new_name(name) {
        Some((_, new)) => format!("the variable {name} is ignored: it is called {new} now"),
        None => format!(
            "the variable {name} is ignored: towpath has none of that name; --help shows the variable of each flag"
        ),
    };
    Ok(unknown.iter().take(MAX_NAMED).map(told).collect())
}

/// The variables of all flags of all commands.
fn known(command: &Command) -> BTreeSet<String> {
    let mut known: BTreeSet<String> = OTHERS.map(str::to_owned).into();
    let mut commands = vec![command];
    while let Some(next) = commands.pop() {
        let variables = next.get_arguments().filter_map(|arg| arg.get_env());
        known.extend(variables.map(|name| name.to_string_lossy().into_owned()));
        commands.extend(next.get_subcommands());
    }
    known
}

/// Whether Kubernetes sets it for a Service: `X_SERVICE_HOST`, `X_SERVICE_PORT`, `X_SERVICE_PORT_HTTP`, `X_PORT`, `X_PORT_8080_TCP_ADDR`, ….
fn is_of_platform(name: &str) -> bool {
    let is_port = |rest: &str| {
        let number = rest.split('_').next().unwrap_or_default();
        rest.is_empty() || (!number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
    };
    let after_port = name.rsplit_once("_PORT").map(|(_, rest)| rest);
    let is_address = name
        .split_once("_PORT_")
        .is_some_and(|(_, rest)| is_port(rest));
    name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || after_port.is_some_and(str::is_empty)
        || is_address
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    fn checked(subcommand: &str, names: &[&str]) -> anyhow::Result<Vec<String>> {
        let agent = Command::new("agent").arg(Arg::new("server").env("TOWPATH_SERVER"));
        let command = Command::new("towpath").subcommand(agent);
        check(&command, Some(subcommand), names.iter().map(OsString::from))
    }

    #[test]
    fn a_variable_that_nobody_reads_is_told() {
        let told = checked("explain", &["PATH", "TOWPATH_SERVER", "TOWPATH_SEVRER"]).unwrap();
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("TOWPATH_SEVRER is ignored"), "{told:?}");
    }

    #[test]
    fn an_old_name_ends_the_agent_and_is_told_elsewhere() {
        for (old, new) in RENAMED {
            let problem = checked("agent", &[old]).unwrap_err().to_string();
            assert!(problem.contains(old) && problem.contains(new), "{problem}");
            assert!(checked("explain", &[old]).unwrap()[0].contains(new));
        }
    }

    #[test]
    fn what_kubernetes_sets_for_a_service_is_left_alone() {
        let of_kubernetes = [
            "TOWPATH_SERVICE_HOST",
            "TOWPATH_SERVICE_PORT",
            "TOWPATH_SERVICE_PORT_HTTP",
            "TOWPATH_PORT",
            "TOWPATH_PORT_8080_TCP",
            "TOWPATH_PORT_8080_TCP_ADDR",
            "TOWPATH_AGENT_SERVICE_HOST",
        ];
        assert!(checked("agent", &of_kubernetes).unwrap().is_empty());
    }
}

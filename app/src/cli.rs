//! The command line. Exit 0: yes. 1: no, or findings. 2: could not run.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use towpath_core::finding::Finding;
use towpath_formats::room::Tone;

use crate::access::{self, AccessArgs};
use crate::agent::{self, AgentArgs};
use crate::clock::NowArgs;
use crate::config::{self, ServeOptions, Settings};
use crate::daemon_sets::{self, DaemonSetsArgs};
use crate::duration::{self, DurationCommand};
use crate::explain::{self, ExplainArgs};
use crate::fleet::{self, FleetCommand};
use crate::graph::{self, GraphCommand};
use crate::input::names_stdin_twice;
use crate::manual::{self, CompletionsArgs};
use crate::mirror::{self, MirrorArgs};
use crate::nodes::{self, NodesCommand};
use crate::path::{self, PathArgs};
use crate::ready::{self, ReadyArgs};
use crate::reason::{self, ReasonArgs};
use crate::releases::{self, ReleasesCommand};
use crate::rollouts::{self, RolloutsCommand};
use crate::terminal::{aside, room};
use crate::{environment, example, log, serve, server};

/// The version, and the commit and its day if they are known.
pub(crate) const VERSION: &str = env!("BUILT_VERSION");

/// The commit and its day, as far as they are known.
pub(crate) fn commit() -> (Option<&'static str>, Option<&'static str>) {
    let known = |text: &'static str| (!text.is_empty()).then_some(text);
    (known(env!("BUILT_COMMIT")), known(env!("BUILT_DAY")))
}

/// Typical commands. Without files of your own they use the built-in example.
const EXAMPLES: &str = "Examples:
  towpath serve --listen localhost:8080
  towpath explain --channel stable-4.20 --from 4.20.1 --platform AWS
  towpath path 4.19.16 4.20.3 --platform GCP
  towpath ready --to 4.10
  towpath fleet plan
  towpath graph lint ./graph-data --releases releases.json";

/// How many errors are told at once.
const MAX_ERRORS: usize = 20;

/// Upgrades fleets of OpenShift clusters safely, and can always say why.
#[derive(Debug, Parser)]
#[command(
    name = "towpath",
    version = VERSION,
    propagate_version = true,
    after_help = EXAMPLES
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve each cluster its own update graph (the Cincinnati protocol).
    ///
    /// Without options it serves example data that shows a rollout in progress, a targeted block, a known risk and a
    /// hard block. Towpath reads the files again when they change, and on SIGHUP. If they are wrong, it keeps the last good graph.
    #[command(
        after_help = "Example:\n  towpath serve --listen 127.0.0.1:8080 --graph-data graph-data --releases releases.json"
    )]
    Serve(ConfigAndOptions),
    /// Plan and run the upgrades of a fleet: soak, sectors, mutexes, schedules, and why a cluster waits.
    #[command(subcommand, after_help = "Example:\n  towpath fleet plan")]
    Fleet(FleetCommand),
    /// Print who may do what at a service: roles and endpoints. Revoke tokens.
    #[command(after_help = "Example:\n  towpath access")]
    Access(Box<AccessArgs>),
    /// Estimate how long updates take, and learn the estimates from past updates.
    #[command(
        subcommand,
        after_help = "Example:\n  towpath duration estimate 4.14.30 4.15.20 --nodes 40"
    )]
    Duration(DurationCommand),
    /// Say which DaemonSets slow updates down, and roll out those that opt in: in waves, and back at the first bad pod.
    #[command(
        name = "daemonsets",
        after_help = "Examples:\n  towpath daemonsets ./objects\n  towpath daemonsets run --once --dry-run --kubeconfig ~/.kube/config"
    )]
    DaemonSets(Box<DaemonSetsArgs>),
    /// Explain why an update is, or is not, offered to a cluster, and when it will be.
    #[command(
        after_help = "Example:\n  towpath explain --channel stable-4.20 --from 4.20.1 --platform AWS"
    )]
    Explain(ExplainArgs),
    /// Check whether a cluster is ready: what blocks each update, and what to do before it.
    ///
    /// It checks removed APIs in use, kubelets that would be too old, operators, an update in progress, acknowledgements, the cluster's own
    /// conditions, pools, room for one node less, disruption budgets, etcd, the network, InstallPlans and alerts. None of these stops a patch
    /// update. Exit 0: ready, or everything else is accepted. 1: something stands in the way, or could not be judged. 2: could not run.
    #[command(
        after_help = "Examples:\n  towpath ready ./objects --path 4.7.60,4.8.57,4.9.59,4.10.67\n  towpath ready --kubeconfig ~/.kube/config --alerts alerts.json --accept InstallPlanWaits"
    )]
    Ready(Box<ReadyArgs>),
    /// Plan reboots of nodes that move pods once: the order, the waves, and what stands in the way.
    #[command(
        subcommand,
        after_help = "Example:\n  towpath nodes plan ./objects --pool worker"
    )]
    Nodes(NodesCommand),
    /// Find the update path from one release to another, hop by hop; or say how far it goes, and why it ends there.
    #[command(after_help = "Example:\n  towpath path 4.19.16 4.20.3 --via stable --platform GCP")]
    Path(Box<PathArgs>),
    /// List everything that a disconnected site must mirror so that its clusters can reach a release.
    ///
    /// For one cluster, or the smallest set for many. If a cluster has no update path, it says which and why, and lists nothing.
    #[command(
        after_help = "Example:\n  towpath mirror 4.19.16 4.20.3 --platform GCP --output oc-mirror-v2 --into imagesets"
    )]
    Mirror(Box<MirrorArgs>),
    /// Run in a cluster: start recommended updates automatically, block updates that would break the cluster, and report what happened.
    ///
    /// Automatic updates are off until the ClusterVersion has `spec.automaticUpdates: true`, or the annotation `towpath.dev/automatic-updates: "true"`.
    #[command(
        after_help = "Example:\n  towpath agent --once --dry-run --kubeconfig ~/.kube/config"
    )]
    Agent(Box<AgentArgs>),
    /// Explain what a reason code means, and what helps.
    #[command(after_help = "Example:\n  towpath reason NotSoaked")]
    Reason(ReasonArgs),
    /// Check graph data, and see what a change to it will do. For release administrators.
    #[command(subcommand, after_help = "Example:\n  towpath graph lint")]
    Graph(GraphCommand),
    /// Show rollouts, and make the change of graph data that halts, resumes, slows down or speeds up one.
    #[command(subcommand, after_help = "Example:\n  towpath rollouts list")]
    Rollouts(RolloutsCommand),
    /// Read the releases of a registry into a file, print a release, and verify signatures.
    #[command(subcommand, after_help = "Example:\n  towpath releases show 4.20.3")]
    Releases(ReleasesCommand),
    /// Write the example data to a directory, as a start for your own. Its rollout began yesterday, or the day before --now.
    #[command(after_help = "Example:\n  towpath example ./demo")]
    Example {
        /// The directory. It must be empty or not exist yet.
        directory: PathBuf,
        #[command(flatten)]
        now: NowArgs,
    },
    /// Print the configuration in force. Flags override the environment, which overrides the file, which overrides the defaults.
    #[command(after_help = "Example:\n  towpath config --listen 0.0.0.0:8080")]
    Config {
        /// Print the commented default file instead.
        #[arg(long)]
        default: bool,
        #[command(flatten)]
        options: ConfigAndOptions,
    },
    /// Print what completes commands and flags in a shell.
    #[command(after_help = "Example:\n  towpath completions bash")]
    Completions(CompletionsArgs),
    /// Write manual pages, for packagers.
    #[command(hide = true, after_help = "Example:\n  towpath man ./man1")]
    Man {
        /// The directory. It must be empty or not exist yet.
        directory: PathBuf,
    },
}

#[derive(Debug, Args)]
struct ConfigAndOptions {
    /// Read options from this file. `towpath config --default` prints one to start from.
    #[arg(long, env = "TOWPATH_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: ServeOptions,
}

impl ConfigAndOptions {
    fn settings(self) -> anyhow::Result<Settings> {
        config::settings(self.options, self.config.as_deref())
    }
}

/// Runs the command that was asked for.
pub(crate) fn run() -> ExitCode {
    let mut command = Cli::command();
    command.build();
    let matches = command.clone().get_matches();
    let typed = server::check(&command, &matches).and_then(|()| Cli::from_arg_matches(&matches));
    let names = std::env::vars_os().map(|(name, _)| name);
    let told = environment::check(&command, matches.subcommand_name(), names);
    let command = typed.unwrap_or_else(|error| error.exit()).command;
    let executed = match (told, names_stdin_twice(std::env::args_os())) {
        (Err(problem), _) => Err(problem),
        (Ok(_), true) => Err(anyhow::anyhow!(
            "only one file can be -, which is standard input; name the other files"
        )),
        (Ok(told), false) => {
            told.iter()
                .for_each(|line| aside(Some(Tone::Careful), line));
            execute(command)
        }
    };
    match executed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            aside(Some(Tone::Bad), &format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

/// Runs a command, and says whether its answer is yes.
fn execute(command: Command) -> anyhow::Result<bool> {
    match command {
        Command::Serve(options) => {
            let settings = options.settings()?;
            log::start(&settings.log, settings.log_format)?;
            serve::run(settings)?;
        }
        Command::Fleet(command) => return fleet::execute(command),
        Command::Access(args) => return access::execute(*args),
        Command::Duration(command) => return duration::execute(command),
        Command::DaemonSets(args) => return daemon_sets::execute(*args),
        Command::Explain(args) => return explain::explain(args),
        Command::Ready(args) => return ready::ready(&args),
        Command::Nodes(command) => return nodes::execute(command),
        Command::Reason(args) => return reason::reason(&args),
        Command::Path(args) => return path::path(&args),
        Command::Mirror(args) => return mirror::run(&args),
        Command::Agent(args) => return agent::run(&args),
        Command::Graph(command) => return graph::execute(command),
        Command::Rollouts(command) => return rollouts::execute(command),
        Command::Releases(command) => return releases::execute(command),
        Command::Example { directory, now } => example::write(&directory, now.at())?,
        Command::Completions(args) => manual::completions(Cli::command(), &args)?,
        Command::Man { directory } => manual::man(Cli::command(), &directory)?,
        Command::Config { default: true, .. } => print(config::DEFAULT_FILE)?,
        Command::Config {
            default: false,
            options,
        } => print(&options.settings()?.to_string())?,
    }
    Ok(true)
}

/// The columns of the terminal that answers go to; none if they go elsewhere.
pub(crate) fn terminal_width() -> Option<u16> {
    room().width
}

/// Prints a text for people: it fits the terminal, if there is one.
pub(crate) fn say(text: &str) -> anyhow::Result<()> {
    print(&room().fit(text))
}

/// Prints what the user asked for, as it is.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever reads has seen enough: `towpath explain … | head -1`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// What is wrong, as one error: place, problem and remedy of each finding.
pub(crate) fn failure(findings: &[Finding]) -> anyhow::Error {
    let errors = findings.iter().filter(|finding| finding.is_error());
    let lines: Vec<String> = errors.take(MAX_ERRORS).map(ToString::to_string).collect();
    anyhow::anyhow!("{}", lines.join("\n"))
}

/// Tells people on the side what they should know besides the answer.
pub(crate) fn warn(findings: &[Finding]) {
    for finding in findings {
        aside(Some(Tone::Careful), &finding.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn what_a_service_has_of_its_own_is_not_told_to_it() {
        let mut command = Cli::command();
        command.build();
        let refused = |line: &str| {
            let matches = command
                .clone()
                .try_get_matches_from(line.split(' '))
                .unwrap();
            let checked = server::check(&command, &matches);
            checked
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        let service = "--server http://localhost:8080";
        for (line, flag) in [
            ("fleet plan --fleet f", "--fleet"),
            ("fleet status --clusters c", "--clusters"),
            ("fleet why c --store sqlite:x", "--store"),
            ("fleet history --ocm https://x", "--ocm"),
            ("fleet forecast --now +1d", "--now"),
            ("fleet upgrades --store sqlite:x", "--store"),
            ("fleet clusters --graph-data d", "--graph-data"),
            ("fleet pause --fleet f", "--fleet"),
            ("fleet resume --store sqlite:x", "--store"),
            ("fleet approve 4.20.5 --org a --releases r", "--releases"),
            (
                "fleet acknowledge g --cluster c --store sqlite:x",
                "--store",
            ),
            ("fleet forget c --store sqlite:x", "--store"),
            ("fleet import l --fleet f", "--fleet"),
            ("mirror 4.20.1 4.20.3 --have f", "--have"),
            ("mirror --clusters c --to 4.20.3", "--clusters"),
            ("graph rollouts --graph-data d", "--graph-data"),
            (
                "explain --channel c --from 4.20.1 --graph-data d",
                "--graph-data",
            ),
            ("path 4.20.1 4.20.3 --releases r", "--releases"),
        ] {
            let told = refused(&format!("towpath {line} {service}"));
            let expected = format!("'{flag} ");
            assert!(
                told.contains(&expected) && told.contains("'--server'"),
                "{line}: {told}"
            );
            assert_eq!(refused(&format!("towpath {line}")), "", "{line}");
        }
        let then = "towpath explain --channel c --from 4.20.1 --now +1d";
        assert_eq!(refused(&format!("{then} {service}")), "");
    }

    #[test]
    fn the_first_help_has_six_examples_that_parse() {
        let examples = EXAMPLES.lines().skip(1).map(str::trim);
        assert_eq!(examples.clone().count(), 6);
        for example in examples {
            Cli::try_parse_from(example.split_whitespace())
                .unwrap_or_else(|error| panic!("{example}: {error}"));
        }
    }

    #[test]
    fn every_help_ends_with_an_example_that_parses() {
        let cli = Cli::command();
        let groups = [
            "daemonsets",
            "duration",
            "fleet",
            "graph",
            "nodes",
            "releases",
        ]
        .map(|name| cli.find_subcommand(name).unwrap());
        for command in cli
            .get_subcommands()
            .chain(groups.iter().flat_map(|group| group.get_subcommands()))
        {
            let help = command
                .get_after_help()
                .unwrap_or_else(|| panic!("{} has no example", command.get_name()))
                .to_string();
            let example = help.lines().last().unwrap().trim();
            Cli::try_parse_from(example.split_whitespace())
                .unwrap_or_else(|error| panic!("{example}: {error}"));
        }
    }
}

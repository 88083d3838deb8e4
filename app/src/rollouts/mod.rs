//! `towpath rollouts`: what is rolled out, and the change of graph data that halts, resumes, slows down or speeds up a rollout.
//!
//! A change is printed as a diff. Only --write puts it into a directory. Who commits it decides.

mod enforced;
mod power;
mod write;

use std::io::IsTerminal;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::Value;
use towpath_core::graph::ChannelName;
use towpath_core::version::Version;
use towpath_formats::change::steering::{self, HaltNote, Steer, SteerRequest};
use towpath_formats::graph::data;
use towpath_formats::graph::rollouts::{self as told, Bars, OutcomeDetail};
use towpath_formats::timespan::TimeSpan;

use crate::cli::{failure, print, say};
use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::fleet::OutcomeArgs;
use crate::graph::rollouts::{self, RolloutsArgs};
use crate::output::{Output, OutputArgs};
use crate::server::{Question, Server, ServerArgs};
use crate::sources::{Needs, Sources};
use crate::terminal::room;

#[derive(Debug, Subcommand)]
pub(crate) enum RolloutsCommand {
    /// Show every rollout window that is running or planned.
    #[command(after_help = "Example:\n  towpath rollouts list")]
    List(RolloutsArgs),
    /// Show the windows of one release and what became of it; with --server what the watch says of it, too.
    #[command(after_help = "Example:\n  towpath rollouts show 4.20.4 --fleet-size 10000")]
    Show(RolloutShowArgs),
    /// Stop offering a release: one new file in blocked-edges, or with --server in every replica at once.
    #[command(
        after_help = "Example:\n  towpath rollouts halt 4.20.4 --message 'Nodes stay NotReady.' --server https://towpath.example.com --token-file ada.token\n  towpath rollouts halt 4.20.4 --message 'Nodes stay NotReady.' --url https://issues.example.com/1 --graph-data ./graph-data --releases releases.json --write"
    )]
    Halt(HaltArgs),
    /// Undo a halt: remove exactly the file that it made, or with --server be one of the two who undo it.
    #[command(
        after_help = "Example:\n  towpath rollouts resume 4.20.4 --server https://towpath.example.com --token-file bob.token\n  towpath rollouts resume 4.20.4 --graph-data ./graph-data --releases releases.json --write"
    )]
    Resume(RolloutResumeArgs),
    /// Make a running rollout slower. Everybody keeps what they have been shown.
    #[command(
        after_help = "Example:\n  towpath rollouts slow 4.20.4 --factor 2 --within 1h --graph-data ./graph-data --releases releases.json"
    )]
    Slow(PaceArgs),
    /// Make a running rollout faster. Everybody keeps what they have been shown.
    #[command(
        after_help = "Example:\n  towpath rollouts speed-up 4.20.4 --factor 2 --graph-data ./graph-data --releases releases.json"
    )]
    SpeedUp(PaceArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RolloutShowArgs {
    /// The release that is rolled out.
    #[arg(value_name = "RELEASE")]
    release: Version,
    #[command(flatten)]
    power: power::PowerArgs,
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    outcomes: OutcomeArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SteerArgs {
    /// The release that is rolled out.
    #[arg(value_name = "RELEASE")]
    release: Version,
    /// Write the change into the directory of --graph-data. If presubmit refuses it, nothing is written.
    #[arg(long)]
    write: bool,
    /// Write it even if presubmit refuses it.
    #[arg(long, requires = "write")]
    even_if_refused: bool,
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HaltArgs {
    #[command(flatten)]
    steer: SteerArgs,
    /// The name of the block.
    #[arg(long, value_name = "NAME", conflicts_with = "server")]
    name: Option<String>,
    /// Why it is halted.
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Where the problem is discussed.
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    url: Option<String>,
    /// Halt it only for clusters that come from this minor version.
    #[arg(long, value_name = "MINOR", requires = "server")]
    from: Option<String>,
    /// Halt it only for clusters on this platform, and those whose platform is unknown.
    #[arg(long, value_name = "NAME", requires = "server")]
    platform: Option<String>,
    /// Halt it only for clusters of this architecture.
    #[arg(long, value_name = "NAME", requires = "server")]
    arch: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RolloutResumeArgs {
    #[command(flatten)]
    steer: SteerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PaceArgs {
    #[command(flatten)]
    steer: SteerArgs,
    /// A channel that lists the release, if several files do.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// How much slower or faster: above 1, up to 100.
    #[arg(long, value_name = "NUMBER", default_value = "2", value_parser = steering::factor)]
    factor: u32,
    /// In which time the change is merged and served.
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    within: TimeSpan,
}

/// Runs a command about rollouts.
pub(crate) fn execute(command: RolloutsCommand) -> anyhow::Result<bool> {
    match command {
        RolloutsCommand::List(args) => rollouts::rollouts(args),
        RolloutsCommand::Show(args) => show(&args),
        RolloutsCommand::Halt(args) => {
            if let Some(server) = args.server.given() {
                return enforced::halt(&server, &args);
            }
            let note = HaltNote::new(args.name, args.message, args.url).map_err(|e| anyhow!(e))?;
            steer(&args.steer, None, Steer::Halt(note))
        }
        RolloutsCommand::Resume(args) => match args.server.given() {
            Some(server) => enforced::resume(&server, &args.steer),
            None => steer(&args.steer, None, Steer::Resume),
        },
        RolloutsCommand::Slow(args) => {
            let pace = Steer::Slow(args.factor, args.within.signed());
            steer(&args.steer, args.channel.as_deref(), pace)
        }
        RolloutsCommand::SpeedUp(args) => {
            let pace = Steer::SpeedUp(args.factor, args.within.signed());
            steer(&args.steer, args.channel.as_deref(), pace)
        }
    }
}

fn show(args: &RolloutShowArgs) -> anyhow::Result<bool> {
    if let Some(server) = args.server.given() {
        return show_of_service(&server, args);
    }
    let now = args.now.at();
    let settings = args.sources.settings(Needs::GraphDataAndReleases, None)?;
    let sources = Sources::read(settings, now)?;
    let graph = sources.graph()?;
    let mut rows = towpath_core::graph::rollouts(&graph, now);
    rows.retain(|row| row.to == args.release);
    let outcomes = args.outcomes.read(&graph, now)?;
    let cards = args.power.cards()?;
    let text = || {
        let by_class = OutcomeDetail::Classes;
        let outcomes = told::outcomes_text(&rows, outcomes.as_ref(), by_class, room());
        told::text(&rows, now, bars(), room())
            + &outcomes
            + &cards
                .as_ref()
                .map_or_else(String::new, |cards| cards.text(&rows))
    };
    let json = || {
        let mut told = told::json(&rows, outcomes.as_ref(), now);
        if let Some(cards) = &cards {
            told["power"] = cards.json(&rows);
        }
        told
    };
    args.output.print(sources.origin(), text, json)?;
    Ok(true)
}

/// The windows and outcomes, and what the watch says of the release where there is one. It says that of now alone.
fn show_of_service(server: &Server<'_>, args: &RolloutShowArgs) -> anyhow::Result<bool> {
    let now = args.now.given().map(|now| now.to_string());
    let release = Some(args.release.to_string());
    let is_of_now = now.is_none();
    let words = [
        ("now", now),
        ("to", release.clone()),
        ("fleet-size", args.power.asked()),
    ];
    let windows = Question::new("/api/v1/rollouts", words);
    let watch = Question::new("/api/v1/fleet/watch", [("version", release)]);
    let session = server.facts(&Question::new("/api/v1/session", []))?;
    let is_watched = match is_of_now && session["hasFleet"] == true {
        true => {
            let all = server.facts(&Question::new("/api/v1/fleet/watch", []))?;
            let releases = all["releases"].as_array().into_iter().flatten();
            let name = args.release.to_string();
            releases.into_iter().any(|one| one["release"] == name)
        }
        false => false,
    };
    match args.output.form {
        Output::Text => {
            let mut text = server.text(&windows, "text", None)?;
            if is_watched {
                text += "\n";
                text += &server.text(&watch, "text", None)?;
            }
            say(&text)?;
        }
        Output::Json => {
            let mut told = server.facts(&windows)?;
            told["watch"] = match is_watched {
                true => server.facts(&watch)?,
                false => Value::Null,
            };
            print(&format!("{told:#}\n"))?;
        }
    }
    Ok(true)
}

/// Whether presubmit lets the change through, or somebody wanted it all the same.
fn steer(args: &SteerArgs, channel: Option<&str>, steer: Steer) -> anyhow::Result<bool> {
    let now = args.now.at();
    let settings = args.sources.settings(Needs::GraphDataAndReleases, None)?;
    let sources = Sources::read(settings, now)?;
    let contents = sources.contents()?;
    if !contents.unread.is_empty() {
        return Err(failure(&contents.unread));
    }
    let channel = channel.map(|name| {
        ChannelName::new(name).ok_or_else(|| anyhow!("{name:?} is not the name of a channel"))
    });
    let request = SteerRequest {
        channel: channel.transpose()?,
        to: args.release.clone(),
        steer,
    };
    let plan =
        steering::plan(&contents.files, &request, now).map_err(|problem| anyhow!(problem))?;
    let graph = |files: &[_]| {
        let (data, _) = data::read(files).map_err(|findings| failure(&findings))?;
        sources.graph_of(&data)
    };
    let (before, after) = (
        graph(&contents.files)?,
        graph(&plan.applied(&contents.files))?,
    );
    let effect = plan.effect(&before, &after);
    let is_let_through = effect.is_let_through();
    let is_written = args.write && (is_let_through || args.even_if_refused);
    if is_written {
        write::write(&plan.change, sources.directory())?;
    }
    let text = || {
        let written = match (args.write, is_written) {
            (true, true) => format!("\nWritten: {}\n", plan.change.path),
            (true, false) => "\nNothing was written: presubmit refuses it.\n".to_owned(),
            (false, _) => String::new(),
        };
        steering::text(&plan, &effect, bars(), room()) + &written
    };
    let json = || {
        let mut told = steering::json(&plan, &effect);
        told["written"] = is_written.into();
        told
    };
    args.output.print(sources.origin(), text, json)?;
    Ok(is_let_through || is_written)
}

fn bars() -> Bars {
    match std::io::stdout().is_terminal() {
        true => Bars::Blocks,
        false => Bars::Ascii,
    }
}

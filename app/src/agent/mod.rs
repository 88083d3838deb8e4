//! `towpath agent`: runs in a cluster. It starts recommended updates automatically where that is wanted, blocks updates that would break the
//! cluster, and reports what happened.
//!
//! `observation` reads the cluster, `pass` judges with the rules of the core, `act` carries out, `agent_loop` says when. `reboots` is opted in, and
//! has nothing to do with the others.

mod act;
mod agent_loop;
mod args;
mod event_reporter;
mod metrics;
mod observation;
mod pass;
mod policy;
mod proof;
mod reboots;
mod service;

use anyhow::Context;
use towpath_core::agent::OrdersUse;
use towpath_formats::agent::{json, text};

pub(crate) use args::AgentArgs;

use crate::cli::{failure, print, say};
use crate::output::Output;
use crate::terminal::room;
use act::Action;
use pass::{Judge, Judgement};
use policy::PolicyFile;
use service::Service;

/// Runs, or looks once.
pub(crate) fn run(args: &AgentArgs) -> anyhow::Result<bool> {
    let level = if args.once && args.log == "info" {
        "warn"
    } else {
        &args.log
    };
    // What cannot be reached is told by us, once, with its place and a remedy.
    crate::log::start(&format!("{level},kube_client=off"), args.log_format)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the runtime cannot be started")?;
    runtime.block_on(async {
        crate::serve::outlive_file_size_limit()?;
        let policy = PolicyFile::open(args.policy.as_deref(), args.unproven_updates()).map_err(|findings| failure(&findings))?;
        crate::secrets::warn_of_open_files(args.secret_files());
        let (prover, warnings) = args.prover()?;
        warnings.iter().for_each(|finding| tracing::warn!("{finding}"));
        let needs_stamps = policy.in_force().automatic.max_graph_age.is_some();
        let judge = Judge::new(policy, args.minors.read()?, prover);
        let purpose = match args.dry_run {
            true => OrdersUse::Look,
            false => OrdersUse::Act,
        };
        let service = Service::start(&args.service, args.state_folder("reports")?, purpose)?;
        if needs_stamps && service.is_none() {
            tracing::warn!(
                "the policy has maxGraphAge, but only a Towpath service says how old its graph is: no update will start; add --server"
            );
        }
        if args.once {
            let (judgement, done) = agent_loop::once(args, judge, service).await?;
            tell(args, &judgement, &done)?;
            return Ok(judgement.choice.takes().is_some() && (args.dry_run || done.started().is_some()));
        }
        agent_loop::run(args, judge, service).await?;
        Ok(true)
    })
}

fn tell(args: &AgentArgs, judgement: &Judgement, done: &Action) -> anyhow::Result<()> {
    let done = match done {
        Action::Nothing => None,
        Action::Remembered => Some("The outcome of the last update has been recorded.".to_owned()),
        Action::Started(version) => Some(format!("The update to {version} has been started.")),
        Action::StartedWithoutRisks(version) => Some(format!(
            "The update to {version} has been started. The API dropped the risks that were to be accepted: it does not have that field."
        )),
        Action::ChannelSet(channel, update) => Some(format!(
            "The channel has been set to {channel}, for the fleet's update to {update}. Nothing is updated yet."
        )),
        Action::ChannelRefused { channel, why } => {
            Some(format!("The API refuses the channel {channel}: {why}"))
        }
        Action::Asked(version) => Some(format!(
            "The cluster was asked for a preflight of {version}. Nothing is updated."
        )),
        Action::NoPreflight(result) => Some(format!(
            "There is no preflight of {}: {}",
            result.version, result.why
        )),
        Action::Conflict => Some(
            "The ClusterVersion has changed in the meantime, so nothing was done. Try again."
                .to_owned(),
        ),
        Action::Refused { version, why } => {
            Some(format!("The API refuses the update to {version}: {why}"))
        }
    };
    match args.output.form {
        Output::Text => {
            let done = done.map_or_else(String::new, |done| format!("\n{done}\n"));
            say(&(text(&judgement.report(), room()) + &done))
        }
        Output::Json => {
            let mut told = json(&judgement.report());
            told["done"] = done.into();
            print(&format!("{told:#}\n"))
        }
    }
}

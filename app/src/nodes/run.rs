//! `towpath nodes run`: the options, and one pass after the other.

use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use towpath_formats::nodes::run::{RebootPass, pass_json, pass_text};
use towpath_kube::{Reboots, Settings};

use super::runner::Runner;
use crate::example::Origin;
use crate::output::OutputArgs;
use crate::passes::{WorkedOn, repeat};
use crate::ready::inputs::runtime;
use crate::terminal::aside;

#[derive(Debug, Args)]
pub(crate) struct RebootArgs {
    #[command(flatten)]
    cluster: WorkedOn,
    /// Only this pool. [default: all that have opted in]
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// Make one pass, and say what came of it.
    #[arg(long)]
    once: bool,
    /// Say what would be done, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Opt the pool out, put everything back, and end.
    #[arg(long, conflicts_with = "resume")]
    undo: bool,
    /// Go on after a run has stopped at a bad sign.
    #[arg(long, conflicts_with = "dry_run")]
    resume: bool,
    /// Seconds from one pass to the next.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, conflicts_with = "once", value_parser = clap::value_parser!(u64).range(1..=3_600))]
    interval: u64,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &RebootArgs) -> anyhow::Result<bool> {
    let access = args.cluster.access();
    runtime()?.block_on(async {
        let runner = Runner {
            reboots: Reboots::connect(&access, Settings::default()).await?,
            pool: args.pool.clone(),
            is_dry_run: args.dry_run,
            is_undo: args.undo,
        };
        if args.resume && runner.resume(Timestamp::now()).await? == 0 {
            aside(None, "no run has stopped, so there is nothing to resume");
        }
        let is_undone = |pass: &RebootPass| args.undo && pass.all_are("RebootsUndone");
        if args.once {
            let pass = runner.pass().await?;
            args.print(&pass)?;
            return Ok(match args.undo {
                true => is_undone(&pass),
                false => pass.is_well(),
            });
        }
        let interval = Duration::from_secs(args.interval);
        let pass = async || runner.pass().await;
        repeat(
            interval,
            pass,
            pass_text,
            |pass| args.print(pass),
            is_undone,
        )
        .await?;
        Ok(true)
    })
}

impl RebootArgs {
    fn print(&self, pass: &RebootPass) -> anyhow::Result<()> {
        self.output
            .print(Origin::Named, || pass_text(pass), || pass_json(pass))
    }
}

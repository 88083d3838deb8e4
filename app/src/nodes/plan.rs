//! `towpath nodes plan`: from a live cluster or its objects to the order and waves of its nodes.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use towpath_core::duration::{Ground, Machines};
use towpath_core::nodes::{MAX_SURGE, Model, PlanRequest, blockers, plan as planned};
use towpath_core::verdict::Answer;
use towpath_formats::cluster::objects::ApiAdditions;
use towpath_formats::findings::{self, Shown};
use towpath_formats::nodes::plan::{PlanReport, drawing, json, text};

use crate::cli::{print, say, warn};
use crate::clock::NowArgs;
use crate::duration::{ground, read_or_usual};
use crate::output::OutputArgs;
use crate::ready::inputs::Objects;
use crate::ready::understood;
use crate::terminal::room;

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    objects: Objects,
    /// Plan only this pool. [default: all that are not paused, one after the other]
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// Add so many nodes to each pool of workers first, and remove as many at the end.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=i64::from(MAX_SURGE)))]
    surge: u32,
    /// What the scheduler leaves to chance follows from this number.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// What nodes run on: cloud, or metal, which takes longer to reboot. [default: cloud]
    #[arg(long, value_name = "GROUND", value_parser = ground)]
    on: Option<Ground>,
    /// How long nodes take, as `towpath duration fit` writes it. [default: built in]
    #[arg(long, value_name = "FILE")]
    parameters: Option<PathBuf>,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    output: OutputArgs<PlanOutput>,
}

/// The forms of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PlanOutput {
    /// For people.
    #[default]
    Text,
    /// For machines, with every move; its fields are stable.
    Json,
    /// A drawing that stands alone.
    Svg,
}

/// Plans, and says whether nothing stands in the way.
pub(super) fn plan(args: &PlanArgs) -> anyhow::Result<bool> {
    let now = args.now.at();
    let given = args.objects.read_nodes()?;
    given
        .origin
        .tell_how("name a directory of your cluster's objects, or --kubeconfig");
    let (cluster, warnings) = understood(&given.files, now, &ApiAdditions::default())?;
    let health = &cluster.facts.health;
    let model = Model::of(health).map_err(|problem| anyhow!(problem))?;
    let request = PlanRequest {
        pool: args.pool.as_deref().map(Into::into),
        surge: args.surge,
        seed: args.seed,
    };
    let machines = Machines::on(args.on.unwrap_or(Ground::Cloud));
    let parameters = read_or_usual(args.parameters.as_deref())?;
    let plan = planned(model, &request, &machines, &parameters)
        .map_err(|problem| anyhow!("--pool: {problem}"))?;
    let verdict = blockers(&plan, health);
    let told = PlanReport {
        cluster: &cluster,
        plan: &plan,
        verdict: &verdict,
        node_takes: machines.node_time(&parameters),
        seed: args.seed,
        now,
        unread: &given.unread,
    };
    match args.output.form {
        PlanOutput::Text => {
            say(&(findings::text(&warnings, Shown::All) + &text(&told, room())))?;
        }
        PlanOutput::Json => {
            warn(&warnings);
            print(&given.origin.mark(json(&told)))?;
        }
        PlanOutput::Svg => {
            warn(&warnings);
            print(&drawing(&told))?;
        }
    }
    Ok(verdict.answer == Answer::Recommend)
}

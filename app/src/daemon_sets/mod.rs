//! `towpath daemonsets`: which of them slow updates down, and waves for those that opt in.

mod run;

use anyhow::Context;
use clap::{Args, Subcommand};
use towpath_core::cluster::Fact;
use towpath_core::nodes::advise;
use towpath_formats::daemon_sets::{AdviceReport, advice_json, advice_text};

use crate::cli::warn;
use crate::clock::NowArgs;
use crate::duration::ParametersArg;
use crate::output::OutputArgs;
use crate::ready::inputs::Objects;
use crate::ready::understood;
use run::RunArgs;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DaemonSetsArgs {
    #[command(subcommand)]
    command: Option<DaemonSetsCommand>,
    #[command(flatten)]
    advise: AdviseArgs,
}

#[derive(Debug, Subcommand)]
enum DaemonSetsCommand {
    /// Say which DaemonSets slow updates down, what their settings cost, and what helps. It only reads.
    ///
    /// Exit 0: nothing to settle. 1: something that people can settle. 2: could not run.
    #[command(after_help = "Example:\n  towpath daemonsets advise --kubeconfig ~/.kube/config")]
    Advise(AdviseArgs),
    /// Replace the pods of DaemonSets that have opted in: canaries first, then in waves, and back at the first bad pod.
    ///
    /// A DaemonSet opts in with `updateStrategy: OnDelete` and the annotation `towpath.dev/waves: "true"`. Nothing else is touched.
    /// Exit 0 with --once: all is well. 1: somebody has to look. 2: could not run.
    #[command(
        after_help = "Example:\n  towpath daemonsets run --once --dry-run --kubeconfig ~/.kube/config"
    )]
    Run(RunArgs),
}

#[derive(Debug, Args)]
struct AdviseArgs {
    #[command(flatten)]
    objects: Objects,
    #[command(flatten)]
    parameters: ParametersArg,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn execute(args: DaemonSetsArgs) -> anyhow::Result<bool> {
    match args.command {
        None => advice(&args.advise),
        Some(DaemonSetsCommand::Advise(args)) => advice(&args),
        Some(DaemonSetsCommand::Run(args)) => run::run(&args),
    }
}

fn advice(args: &AdviseArgs) -> anyhow::Result<bool> {
    let given = args.objects.read_daemon_sets()?;
    given
        .origin
        .tell_how("name a directory of your cluster's objects, or --kubeconfig");
    let (cluster, warnings) = understood(&given.files, args.now.at(), &Default::default())?;
    warn(&warnings);
    let Fact::Known(sets) = &cluster.daemon_sets else {
        return Err(anyhow::anyhow!(
            "there are no DaemonSets among these objects; add them: `oc get daemonsets --all-namespaces -o yaml`"
        ))
        .with_context(|| given.why_not("DaemonSets"));
    };
    // The oldest kubelet is the least that the cluster can do.
    let nodes = cluster.facts.nodes.known().map_or(&[][..], Vec::as_slice);
    let kubelets = nodes.iter().map(|node| node.kubelet.known().copied());
    let oldest = kubelets.min().flatten();
    let parameters = args.parameters.read()?;
    let advice = advise(sets, oldest, &parameters);
    let report = AdviceReport {
        advice: &advice,
        unread: &given.unread,
    };
    args.output.print(
        given.origin,
        || advice_text(&report),
        || advice_json(&report),
    )?;
    Ok(!advice.objects())
}

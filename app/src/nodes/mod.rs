//! `towpath nodes`: reboots of a cluster's nodes that move pods once.

mod plan;
mod run;
mod runner;

use clap::Subcommand;

use plan::PlanArgs;
use run::RebootArgs;
pub(crate) use runner::Runner;

#[derive(Debug, Subcommand)]
pub(crate) enum NodesCommand {
    /// Plan in which order and waves nodes reboot, where their pods go, and what stands in the way. Nothing is changed.
    ///
    /// Exit 0: nothing stands in the way. 1: something does, or could not be judged. 2: could not run.
    #[command(
        after_help = "Examples:\n  towpath nodes plan ./objects --pool worker --output svg\n  towpath nodes plan --kubeconfig ~/.kube/config --surge 1"
    )]
    Plan(Box<PlanArgs>),
    /// Reboot the nodes of a pool calmly: drained first, a few at a time, and stopped at the first bad sign.
    ///
    /// A pool opts in with the annotation `towpath.dev/reboots: "true"`. Nothing else is touched. The machine-config operator still updates and
    /// reboots each node; this says which, and when. Exit 0 with --once: all is well. 1: somebody has to look. 2: could not run.
    #[command(
        after_help = "Examples:\n  towpath nodes run --once --dry-run --kubeconfig ~/.kube/config\n  towpath nodes run --undo --kubeconfig ~/.kube/config"
    )]
    Run(RebootArgs),
}

/// Runs a command about nodes, and says whether its answer is yes.
pub(crate) fn execute(command: NodesCommand) -> anyhow::Result<bool> {
    match command {
        NodesCommand::Plan(args) => plan::plan(&args),
        NodesCommand::Run(args) => run::run(&args),
    }
}

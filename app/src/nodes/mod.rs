//! `towpath nodes`: reboots of a cluster's nodes that move pods once.

mod plan;

use clap::Subcommand;

use plan::PlanArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum NodesCommand {
    /// Plan in which order and waves nodes reboot, where their pods go, and what stands in the way. Nothing is changed.
    ///
    /// Exit 0: nothing stands in the way. 1: something does, or could not be judged. 2: could not run.
    #[command(
        after_help = "Examples:\n  towpath nodes plan ./objects --pool worker --output svg\n  towpath nodes plan --kubeconfig ~/.kube/config --surge 1"
    )]
    Plan(Box<PlanArgs>),
}

/// Runs a command about nodes, and says whether its answer is yes.
pub(crate) fn execute(command: NodesCommand) -> anyhow::Result<bool> {
    match command {
        NodesCommand::Plan(args) => plan::plan(&args),
    }
}

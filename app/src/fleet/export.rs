//! `towpath fleet export`: the fleet of an OCM-style API as a list of clusters.

use std::path::PathBuf;

use clap::Args;
use towpath_formats::findings::one_a_line;
use towpath_formats::fleet::cluster_list::{self, ClusterList};

use super::ocm::OcmScheduler;
use crate::cli::print;
use crate::clock::NowArgs;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Read the fleet from the OCM-style API at this address.
    #[arg(long, env = "TOWPATH_OCM", value_name = "URL")]
    ocm: String,
    /// The file with the token for the API of --ocm.
    #[arg(long, env = "TOWPATH_OCM_TOKEN", value_name = "FILE")]
    ocm_token: PathBuf,
    #[command(flatten)]
    now: NowArgs,
}

/// What could not be read is told beside the list; then it is not the whole fleet, and the exit is 1.
pub(super) async fn export(args: ExportArgs) -> anyhow::Result<bool> {
    let mut list = ClusterList::default();
    let mut ocm = OcmScheduler::new(&args.ocm, &args.ocm_token)?;
    let findings = ocm.read(args.now.at(), &mut list).await?;
    eprint!("{}", one_a_line(&findings));
    print(&format!("{:#}\n", cluster_list::json(&list)))?;
    Ok(findings.is_empty())
}

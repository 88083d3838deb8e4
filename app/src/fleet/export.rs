//! `towpath fleet export`: the fleet of an OCM-style API or an ACM hub as a list of clusters.

use anyhow::bail;
use clap::Args;
use towpath_formats::findings::one_a_line;
use towpath_formats::fleet::cluster_list::{self, ClusterList};

use super::hands::{hands_of, read_into};
use super::hands_args::HandsArgs;
use crate::cli::print;
use crate::clock::NowArgs;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    hands: HandsArgs,
    #[command(flatten)]
    now: NowArgs,
}

/// What could not be read is told beside the list; then it is not the whole fleet, and the exit is 1.
pub(super) async fn export(args: ExportArgs) -> anyhow::Result<bool> {
    let Some(mut hands) = hands_of(args.hands.settings()?.as_ref())? else {
        bail!("there is no fleet to export; add --ocm URL or --acm KUBECONFIG");
    };
    let mut list = ClusterList::default();
    let findings = read_into(&mut *hands, args.now.at(), &mut list).await?;
    eprint!("{}", one_a_line(&findings));
    print(&format!("{:#}\n", cluster_list::json(&list)))?;
    Ok(findings.is_empty())
}

//! `towpath releases`: reads releases from a registry into a file, prints them, and verifies their signatures.

mod scrape;
mod show;
mod verify;

use clap::Subcommand;

use scrape::ScrapeArgs;
use show::ShowArgs;
use verify::VerifyArgs;

/// Commands about releases.
#[derive(Debug, Subcommand)]
pub(crate) enum ReleasesCommand {
    /// Read all releases of a repository in an OCI registry, and write them to a release file.
    ///
    /// Broken images are left out with a warning. If an image cannot be read now, nothing is written, because its release would be missing;
    /// --partial writes the file anyway. Exit 0: written. 1: not all could be read.
    #[command(
        after_help = "Example:\n  towpath releases scrape quay.io/openshift-release-dev/ocp-release --out releases.json --cache ~/.cache/towpath"
    )]
    Scrape(Box<ScrapeArgs>),
    /// Print one release: its payload, its metadata, and the releases before and after it.
    ///
    /// Exit 0: it exists. 1: it does not.
    #[command(after_help = "Example:\n  towpath releases show 4.20.3 --arch amd64")]
    Show(ShowArgs),
    /// Verify the signatures of releases: who signed each, or why its signature does not count.
    ///
    /// Exit 0: all are verified. 1: some are not.
    #[command(
        after_help = "Example:\n  towpath releases verify --releases releases.json --signatures https://mirror.example.org/signatures --keyring keys.asc"
    )]
    Verify(VerifyArgs),
}

/// Runs a command about releases.
pub(crate) fn execute(command: ReleasesCommand) -> anyhow::Result<bool> {
    match command {
        ReleasesCommand::Scrape(args) => scrape::scrape(&args),
        ReleasesCommand::Show(args) => show::show(&args),
        ReleasesCommand::Verify(args) => verify::verify(&args),
    }
}

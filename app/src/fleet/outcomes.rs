//! What became of updates, for commands about rollouts: read from a store.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use towpath_core::feedback::FleetOutcomes;
use towpath_core::fleet::OfferBook;
use towpath_core::graph::Graph;
use towpath_store::StoreAddress;

use super::{kept_attempts::KeptAttempts, open};

#[derive(Debug, Args)]
pub(crate) struct OutcomeArgs {
    /// Show what became of updates, from the fleet's store: sqlite:PATH or postgres://USER@HOST/DATABASE.
    #[arg(
        long,
        env = "TOWPATH_STORE",
        value_name = "URL",
        help_heading = "Fleet"
    )]
    store: Option<String>,
    /// Read the password of the PostgreSQL store from this file.
    #[arg(
        long,
        env = "TOWPATH_STORE_PASSWORD_FILE",
        value_name = "FILE",
        requires = "store",
        help_heading = "Fleet"
    )]
    store_password_file: Option<PathBuf>,
}

impl OutcomeArgs {
    /// The outcomes in the store, if one was named.
    pub(crate) fn read(
        &self,
        graph: &Graph,
        now: Timestamp,
    ) -> anyhow::Result<Option<FleetOutcomes>> {
        let Some(url) = &self.store else {
            return Ok(None);
        };
        let address = StoreAddress {
            url: url.clone(),
            password_file: self.store_password_file.clone(),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let store = open(address).await?;
            let mut attempts = KeptAttempts::default();
            attempts.follow(&store).await?;
            let mut book = OfferBook::new(graph, now);
            let mut clusters: Vec<_> = store.clusters().await?;
            for stored in &mut clusters {
                if book.knows(&stored.state) {
                    stored.state.offers = book.offers(&stored.state);
                }
            }
            let states = clusters.iter().map(|stored| &stored.state);
            Ok(Some(FleetOutcomes::of(states, attempts.attempts(now), now)))
        })
    }
}

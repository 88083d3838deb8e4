//! Reboots of pools that have opted in, beside the agent's own loop: what `towpath nodes run` does, by whoever holds the Lease.
//!
//! Off unless `--reboots` is given. It needs rights on nodes, which the agent's usual role lacks. How far a run is stands on its pool.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use towpath_formats::nodes::run::{RebootPass, pass_text};
use towpath_kube::{Access, KubeError, Reboots, Settings};

use super::agent_loop::MARGIN;
use crate::nodes::Runner;

/// From one pass to the next, as `towpath nodes run` has it.
const EVERY: Duration = Duration::from_secs(10);
/// The same after a pass that did something.
const SOON: Duration = Duration::from_secs(1);

/// Until when this agent is the one that acts, if it is.
#[derive(Clone, Default)]
pub(super) struct Leads(Arc<Mutex<Option<Instant>>>);

impl Leads {
    pub(super) fn until(&self, until: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    fn now(&self) -> bool {
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() + MARGIN < until)
    }
}

/// Runs until it is dropped, at whatever step: the next pass goes on from there.
pub(super) async fn run(access: Access, leads: Leads) {
    let (mut runner, mut told) = (None, String::new());
    loop {
        let mut wait = EVERY;
        if leads.now() {
            let (text, is_well) = match pass(&access, &mut runner).await {
                Ok(pass) => {
                    if pass.has_acted() {
                        wait = SOON;
                    }
                    (pass_text(&pass), pass.is_well())
                }
                Err(problem) => (problem.to_string(), false),
            };
            // What is the same as before was told before.
            if text != told {
                match is_well {
                    true => tracing::info!("reboots: {}", text.trim_end()),
                    false => tracing::warn!("reboots: {}", text.trim_end()),
                }
                told = text;
            }
        }
        tokio::time::sleep(wait).await;
    }
}

async fn pass(access: &Access, runner: &mut Option<Runner>) -> Result<RebootPass, KubeError> {
    let runner = match runner {
        Some(runner) => runner,
        none => none.insert(Runner {
            reboots: Reboots::connect(access, Settings::default()).await?,
            pool: None,
            is_dry_run: false,
            is_undo: false,
        }),
    };
    runner.pass().await
}

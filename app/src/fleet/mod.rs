//! `towpath fleet`: each command gathers facts, makes one pure call, and prints or carries out the result. With `--server` a
//! service does so.

mod acts;
mod answers;
mod args;
mod audit_log;
mod aus_metrics;
mod cluster_answer;
mod complaint;
mod export;
mod facts;
pub(crate) mod fleet_backend;
mod halts;
mod hands;
mod hands_args;
mod import;
mod kept_attempts;
mod kept_outlook;
pub(crate) mod lease;
pub(crate) mod local_user;
mod log_answers;
mod log_proof;
pub(crate) mod log_signing;
mod look;
mod operator_acts;
mod orders;
mod outcomes;
mod outcomes_file;
mod outcomes_query;
mod preflight;
mod progress;
pub(crate) mod published_fleet;
mod reach;
mod remote;
mod replay;
mod report_queue;
pub(crate) mod revocations;
pub(crate) mod run;
pub(crate) mod scheduler;
mod token;
mod views;

use std::ops::Deref;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use towpath_store::{Store, StoreAddress};

pub(crate) use self::args::FleetCommand;
pub(crate) use self::operator_acts::StoreArgs;
pub(crate) use self::outcomes::OutcomeArgs;
use crate::config::{self, ServeOptions, Settings};

/// Where state is kept when nobody says otherwise.
pub(crate) const DEFAULT_STORE: &str = "sqlite:towpath.db";

/// How long a command waits for its store to close.
const CLOSING: Duration = Duration::from_secs(10);

/// Runs a command of the fleet, here or at a service.
pub(crate) fn execute(command: FleetCommand) -> anyhow::Result<bool> {
    if let Some(answer) = remote::answer(&command) {
        return answer;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        crate::serve::outlive_file_size_limit()?;
        answer(command).await
    })
}

/// Works on an existing store.
pub(crate) fn on_store<T>(
    args: &StoreArgs,
    work: impl AsyncFnOnce(&Store) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        crate::serve::outlive_file_size_limit()?;
        let store = open(args).await?;
        work(&store).await
    })
}

async fn answer(command: FleetCommand) -> anyhow::Result<bool> {
    match command {
        FleetCommand::Lint(look) => look::lint(look).await,
        FleetCommand::Plan { days, part } => look::plan(days, part).await,
        FleetCommand::Status(part) => look::status(part).await,
        FleetCommand::Clusters(args) => look::clusters(args).await,
        FleetCommand::Sectors(part) => views::sectors(part).await,
        FleetCommand::Matrix { by, part } => views::matrix(by, part).await,
        FleetCommand::Calendar { from, until, part } => views::calendar(from, until, part).await,
        FleetCommand::Acts(args) => views::acts(args).await,
        FleetCommand::Show { cluster, look, .. } => views::show(&cluster, look).await,
        FleetCommand::Why {
            cluster, to, look, ..
        } => look::why(&cluster, to.as_ref(), look).await,
        FleetCommand::History(part) => look::history(part).await,
        FleetCommand::Forecast { days, part } => look::forecast(days, part).await,
        FleetCommand::Run {
            rehearse,
            once,
            pass_every,
            keep_for,
            log_key,
            log_sign_every,
            outcomes,
            log,
            log_format,
            look,
        } => {
            let settings = look.settings_with(ServeOptions {
                pass_every: match pass_every {
                    Some(_) => pass_every,
                    None => config::from_environment("TOWPATH_PASS_EVERY")?,
                },
                keep_for,
                log_key,
                log_sign_every,
                outcomes,
                log,
                log_format,
                ..ServeOptions::default()
            })?;
            ensure!(
                rehearse == settings.now.is_some(),
                "`fleet run` acts for real, at the clock's time: leave out --now (and TOWPATH_NOW); `fleet plan --now TIME` only looks. \
                 To rehearse on a store of your own, give both --now TIME and --rehearse"
            );
            crate::log::start(&settings.log, settings.log_format)?;
            crate::secrets::warn_of_open_files(settings.secret_files());
            run::run(settings, once).await
        }
        FleetCommand::Pause(args) => operator_acts::pause(args).await,
        FleetCommand::Resume(args) => operator_acts::resume(args).await,
        FleetCommand::Approve(args) => operator_acts::approve(args).await,
        FleetCommand::Acknowledge(args) => operator_acts::acknowledge(args).await,
        FleetCommand::Withdraw(args) => operator_acts::withdraw(args).await,
        FleetCommand::Cancel(args) => operator_acts::cancel(args).await,
        FleetCommand::Preflight(args) => preflight::preflight(args).await,
        FleetCommand::Export(args) => export::export(args).await,
        FleetCommand::Import(args) => import::import(args).await,
        FleetCommand::Forget(args) => operator_acts::forget(args).await,
        FleetCommand::Upgrades(args) => operator_acts::upgrades(args).await,
        FleetCommand::AuditLog(args) => audit_log::audit_log(args).await,
        FleetCommand::Replay(args) => replay::replay(args).await,
        FleetCommand::Check(args) => operator_acts::check(args).await,
        FleetCommand::Backup(args) => operator_acts::backup(args).await,
        FleetCommand::Restore(args) => operator_acts::restore(args).await,
        FleetCommand::Token(args) => token::token(&args).await,
    }
}

/// A store that is closed when the command is done, so that SQLite leaves everything in its one file.
struct OpenStore(Store);

impl Deref for OpenStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.0
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        let close = async { tokio::time::timeout(CLOSING, self.0.close()).await };
        // What is not closed in time is closed by the process's end; nothing that was acknowledged is lost.
        let _ = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(close));
    }
}

/// Opens a store that exists already.
async fn open(address: impl Into<StoreAddress>) -> anyhow::Result<OpenStore> {
    let store = Store::open_existing(address).await;
    let store = store.map(|store| store.acting_for(local_user::local_doer()));
    store.map(OpenStore).context("the store cannot be opened")
}

/// Opens a store, and makes it if there is none.
async fn open_or_make(address: impl Into<StoreAddress>) -> anyhow::Result<OpenStore> {
    let store = Store::open(address).await;
    let store = store.map(|store| store.acting_for(local_user::local_doer()));
    store.map(OpenStore).context("the store cannot be opened")
}

/// The settings of a fleet that commands which need one cannot do without.
fn needed(settings: &Settings) -> anyhow::Result<config::FleetSettings> {
    match settings.fleet.clone() {
        Some(fleet) => Ok(fleet),
        None => bail!(
            "no fleet policy; add --fleet DIR (`towpath example DIR` writes one to start from)"
        ),
    }
}

//! `towpath serve`: one loop that loads, one server that answers.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};
use towpath_core::finding::{Finding, Place};
use towpath_sources::Watch;
use towpath_web::{Clock, Server, Service};

use crate::config::{Data, Settings};
use crate::load::{self, Loader};
use crate::{cli, example};

/// How many findings of one attempt are logged; `/readyz` has more.
const MAX_LOGGED: usize = 20;

/// Serves until told to stop.
pub(crate) fn run(settings: Settings) -> anyhow::Result<()> {
    raise_file_limit();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the runtime cannot be started")?;
    runtime.block_on(serve(settings))
}

async fn serve(settings: Settings) -> anyhow::Result<()> {
    let service = Service::new(clock(&settings), env!("CARGO_PKG_VERSION"));
    let server = Server::bind(settings.listen, service.clone(), settings.limits);
    let server =
        server.await.with_context(|| format!("cannot listen on {}; choose another with --listen", settings.listen))?;
    let address = server.address()?;
    tracing::info!(%address, version = env!("CARGO_PKG_VERSION"), "listening");

    let watch = Watch::new(&load::paths(&settings), settings.poll_every);
    let wake = watch.waker();
    let mut hangups = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            wake();
        }
    });
    let beside = |fleet| crate::fleet::run::beside(service.clone(), fleet, clock(&settings));
    let fleet = settings.fleet.clone().map(beside).transpose()?;
    let is_example = matches!(settings.data, Data::Example);
    let (loader, loaded) = (service.clone(), Arc::new(tokio::sync::Notify::new()));
    let first_load = loaded.clone();
    std::thread::Builder::new()
        .name("reload".into())
        .spawn(move || reload_loop(&settings, &loader, watch, &first_load))?;
    tokio::spawn(prepare_loop(service.clone()));
    if is_example {
        loaded.notified().await;
        cli::print(&example::welcome(address, &service))?;
    }
    server.serve(stop_signal()?).await.context("the server's threads cannot be started")?;
    if let Some(fleet) = fleet {
        fleet.stop().await;
    }
    tracing::info!("stopped");
    Ok(())
}

/// The system's clock, or one that stands still.
fn clock(settings: &Settings) -> Clock {
    match settings.now {
        Some(now) => Arc::new(move || now),
        None => Arc::new(Timestamp::now),
    }
}

pub(crate) fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: no new connections, open requests may end");
    })
}

/// Loads now, and again whenever something may have changed.
fn reload_loop(settings: &Settings, service: &Service, mut watch: Watch, first_load: &tokio::sync::Notify) {
    let mut loader = Loader::new(settings);
    reload_or_report(&mut loader, settings, service);
    first_load.notify_one();
    yield_to_requests();
    loop {
        watch.wait();
        reload_or_report(&mut loader, settings, service);
    }
}

/// A mistake of ours must not end the loop: it is reported as a load that failed, and the next one starts afresh.
fn reload_or_report(loader: &mut Loader, settings: &Settings, service: &Service) {
    let attempt = std::panic::catch_unwind(AssertUnwindSafe(|| reload(loader, service)));
    if attempt.is_err() {
        *loader = Loader::new(settings);
        let problem = "loading the graph ended in a mistake of towpath's own";
        let remedy = "the log has the details; please report them with the graph data";
        service.failed(vec![Finding::error("internal", Place::file("."), problem, remedy)]);
        tracing::error!("{problem}; {remedy}");
    }
}

/// One attempt: read, one pure call, swap, report.
fn reload(loader: &mut Loader, service: &Service) {
    let now = service.now();
    let served = service.snapshot().map(|snapshot| snapshot.digest.clone());
    let outcome = loader.read(now).and_then(|inputs| match served == Some(inputs.digest()) {
        true => Ok(None),
        false => loader.snapshot(inputs, now).map(Some),
    });
    match outcome {
        Ok(None) => {
            tracing::debug!("the inputs are what they were");
            service.unchanged();
        }
        Ok(Some((snapshot, warnings))) => {
            let graph = snapshot.graph();
            let (releases, edges, channels) = (graph.releases().len(), graph.edges().len(), graph.channels().len());
            tracing::info!(
                releases,
                edges,
                channels,
                digest = snapshot.digest,
                warnings = warnings.len(),
                "a graph was loaded"
            );
            log_findings(&warnings);
            service.replace(snapshot, warnings);
        }
        Err(findings) => {
            let kept = if served.is_some() { "the last good graph stays" } else { "there is no graph to serve" };
            service.failed(findings.clone());
            tracing::error!(findings = findings.len(), "the graph could not be loaded; {kept}");
            log_findings(&findings);
        }
    }
}

fn log_findings(findings: &[Finding]) {
    for finding in findings.iter().take(MAX_LOGGED) {
        let (place, code, remedy) = (finding.place.to_string(), finding.code, &finding.remedy);
        match finding.is_error() {
            true => tracing::error!(place, code, remedy, "{}", finding.problem),
            false => tracing::warn!(place, code, remedy, "{}", finding.problem),
        }
    }
}

async fn prepare_loop(service: Arc<Service>) {
    let mut second = tokio::time::interval(Duration::from_secs(1));
    loop {
        second.tick().await;
        let service = service.clone();
        // If it panics, requests compile what they need; the next second tries again.
        let _ = tokio::task::spawn_blocking(move || service.prepare()).await;
    }
}

/// Loading anew must not take the processor from requests, nor wait for ever while they take all of it: of a busy core
/// this thread gets about a seventh.
fn yield_to_requests() {
    if let Err(error) = rustix::process::setpriority_process(None, 5) {
        tracing::debug!(%error, "the loading thread's priority could not be lowered");
    }
}

/// Connections need descriptors; shells often allow a thousand.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit of open files could not be raised");
    }
}

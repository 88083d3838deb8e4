//! `towpath serve`: threads that read and load, one server that answers.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use towpath_web::{Clock, ReloadDoor, ReloadRequest, Server, Service};

use crate::config::Settings;
use crate::{cli, example, fleet, sources};

/// How long work that nobody waits for may still take once the service has stopped.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serves until told to stop.
pub(crate) fn run(settings: Settings) -> anyhow::Result<()> {
    raise_file_limit();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the runtime cannot be started")?;
    run_on(runtime, serve(settings))
}

/// Runs it to its end. Nobody waits any more for what is still being worked on then, a forecast or a page: it ends with the process.
fn run_on<T>(runtime: Runtime, service: impl Future<Output = T>) -> T {
    let served = runtime.block_on(service);
    runtime.shutdown_timeout(FAREWELL);
    served
}

async fn serve(settings: Settings) -> anyhow::Result<()> {
    let service = Service::new(clock(&settings), env!("CARGO_PKG_VERSION"));
    let server = Server::bind(settings.listen, service.clone(), settings.limits);
    let server =
        server.await.with_context(|| format!("cannot listen on {}; choose another with --listen", settings.listen))?;
    let address = server.address()?;
    tracing::info!(%address, version = env!("CARGO_PKG_VERSION"), "listening");

    let beside = |fleet| crate::fleet::run::beside(service.clone(), fleet, clock(&settings));
    let fleet = settings.fleet.clone().map(beside).transpose()?;
    let loaded = Arc::new(tokio::sync::Notify::new());
    let wakers = Arc::new(sources::start(&settings.sources, service.clone(), loaded.clone())?);
    let keys = settings.token_keys.as_deref().map(fleet::run::token_keys).transpose()?;
    let woken_by_request = wakers.clone();
    let wake = Box::new(move |wanted: &ReloadRequest| woken_by_request.wake(wanted));
    service.reload_door(ReloadDoor { keys, wake });
    let mut hangups = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            wakers.wake_all();
        }
    });
    tokio::spawn(prepare_loop(service.clone()));
    if settings.sources.is_example() {
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

async fn prepare_loop(service: Arc<Service>) {
    let mut second = tokio::time::interval(Duration::from_secs(1));
    loop {
        second.tick().await;
        let service = service.clone();
        // If it panics, requests compile what they need; the next second tries again.
        let _ = tokio::task::spawn_blocking(move || service.prepare()).await;
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn stopping_does_not_wait_for_work_that_does_not_end() {
        let (never, end) = channel::<()>();
        let (stopped, has_stopped) = channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
            let service = async move {
                let (begun, has_begun) = tokio::sync::oneshot::channel();
                drop(tokio::task::spawn_blocking(move || begun.send(()).is_ok() && end.recv().is_ok()));
                has_begun.await.expect("the work has begun");
            };
            run_on(runtime, service);
            stopped.send(()).expect("somebody waits for that");
        });
        assert_eq!(has_stopped.recv_timeout(Duration::from_secs(60)), Ok(()), "it waits for the work");
        drop(never);
    }
}

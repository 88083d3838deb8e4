//! `towpath serve`: threads that read and load, one server that answers.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use towpath_core::moment::ShownTime;
use towpath_web::{Clock, ReloadDoor, ReloadRequest, Server, Service};

use crate::access_files::AccessFiles;
use crate::config::Settings;
use crate::listen::ListenAddress;
use crate::sources::address::SourceSpec;
use crate::systemd::Systemd;
use crate::tls::TlsFiles;
use crate::token_keys::KeyFiles;
use crate::{cli, descriptors, example, minors, secrets, sources};

/// How long work that nobody waits for may still take once the service has stopped.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serves until told to stop.
pub(crate) fn run(mut settings: Settings) -> anyhow::Result<()> {
    settings.check_paths()?;
    settings.check_transport()?;
    let lowered = fit_into_descriptors(&mut settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the runtime cannot be started")?;
    run_on(runtime, async {
        outlive_file_size_limit()?;
        serve(settings, lowered).await
    })
}

/// Runs it to its end. Nobody waits any more for what is still being worked on then, a forecast or a page: it ends with the process.
fn run_on<T>(runtime: Runtime, service: impl Future<Output = T>) -> T {
    let served = runtime.block_on(service);
    runtime.shutdown_timeout(FAREWELL);
    served
}

async fn serve(mut settings: Settings, lowered: Option<String>) -> anyhow::Result<()> {
    if let (Some(now), Some(fleet)) = (settings.now, &settings.fleet) {
        let hands = fleet.hands.as_ref().map(crate::config::HandsSettings::flag);
        if let Some(flag) = hands {
            anyhow::bail!(
                "{flag} starts upgrades for real, at the clock's time: leave out --now (and TOWPATH_NOW); `towpath fleet plan --now TIME` only looks"
            );
        }
        let now = ShownTime(now);
        tracing::warn!("the fleet is run as if it were {now}: use a store that no real fleet has");
    }
    let service = Service::new(clock(&settings), env!("CARGO_PKG_VERSION"));
    service.contract(settings.contract()?);
    service.limit_reports(settings.reports_per_minute);
    service.limit_requests(settings.requests_per_minute);
    let (commit, day) = cli::commit();
    service.describe(commit, day, settings.sources.is_example());
    if let Some(path) = &settings.minors {
        service.set_minors(minors::read(path)?);
    }
    secrets::warn_of_open_files(settings.secret_files());
    if let Some(files) = settings.tls.as_ref().map(TlsFiles::read).transpose()? {
        service.secure(files.tls());
        tokio::spawn(files.follow());
    }
    let keys = KeyFiles {
        machines: settings.token_keys.clone(),
        people: settings.people_keys.clone(),
        unbound_until: settings.unbound_until,
    };
    let access = AccessFiles {
        keys,
        policy: settings.access.clone(),
        revoked: settings.revoked_tokens.clone(),
    };
    // Before the first request.
    let access_parts = access.start(&service)?;
    let server = Server::bind(settings.listen, service.clone(), settings.limits);
    let server = server.await.with_context(|| {
        format!(
            "cannot listen on {}; choose another with --listen",
            settings.listen
        )
    })?;
    let server = server.admitting(settings.admission()?);
    let address = server.address()?;
    tracing::info!(%address, version = crate::cli::VERSION, "listening");
    if let Some(note) = ListenAddress(address).note() {
        tracing::info!("{note}");
    }

    let setup = settings.unsafe_setup();
    setup.iter().for_each(|finding| tracing::warn!("{finding}"));
    service.set_up(setup);

    // What is halted in the store is one more source of what is served.
    if let Some(fleet) = &settings.fleet {
        let store = towpath_sources::without_credentials(&fleet.store_address().url);
        settings.sources.specs.push(SourceSpec::halts(&store));
    }
    lowered
        .iter()
        .for_each(|lowered| tracing::warn!("{lowered}"));
    let in_background = |fleet| {
        let access = settings.sources.access.clone();
        crate::fleet::run::in_background(service.clone(), fleet, access, clock(&settings))
    };
    let fleet = settings.fleet.clone().map(in_background).transpose()?;
    let loaded = Arc::new(tokio::sync::Notify::new());
    let mut wakers = sources::start(&settings.sources, service.clone(), loaded.clone())?;
    if let (Some(fleet), Some(halts)) = (&fleet, wakers.take_halts()) {
        fleet.feed(halts);
    }
    let wakers = Arc::new(wakers);
    let woken_by_request = wakers.clone();
    let wake = Arc::new(move |wanted: &ReloadRequest| woken_by_request.wake(wanted));
    service.reload_door(ReloadDoor { wake });
    for part in access_parts {
        tokio::spawn(part.follow());
    }
    let mut hangups = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            wakers.wake_all();
        }
    });
    tokio::spawn(prepare_loop(service.clone()));
    let systemd = Systemd::of_environment();
    tokio::spawn(systemd.clone().tell_when_ready(service.clone()));
    if settings.sources.is_example() {
        loaded.notified().await;
        cli::say(&example::welcome(address, &service))?;
        lowered.map_or(Ok(()), |lowered| cli::say(&format!("{lowered}\n\n")))?;
    }
    let (stop, at_once) = (signals(1)?, signals(2)?);
    let stop = async move {
        stop.await;
        systemd.tell_stopping();
    };
    server
        .serve_until(stop, at_once)
        .await
        .context("the server's threads cannot be started")?;
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

/// Waits for a signal to stop, and logs what that means here.
pub(crate) fn stop_signal(meaning: &'static str) -> anyhow::Result<impl Future<Output = ()>> {
    let stop = signals(1)?;
    Ok(async move {
        stop.await;
        tracing::info!("stopping: {meaning}");
    })
}

/// Waits for so many signals to stop.
fn signals(count: usize) -> anyhow::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    Ok(async move {
        for _ in 0..count {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
    })
}

/// A write past the largest size that a file may have (`ulimit -f`) becomes an error like any other, instead of the end of the process.
pub(crate) fn outlive_file_size_limit() -> anyhow::Result<()> {
    // The handler stays for as long as the process runs; whoever writes gets the error.
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))
        .context("SIGXFSZ cannot be caught")?;
    Ok(())
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

/// Takes no more connections than there are descriptors for, and says so if that is less than was wanted.
fn fit_into_descriptors(settings: &mut Settings) -> anyhow::Result<Option<String>> {
    let limit = descriptors::raised_limit();
    let cores = std::thread::available_parallelism()?.get();
    let wanted = settings.limits.connections;
    let budget = descriptors::budget(wanted, limit, cores)?;
    settings.limits.connections = budget.connections;
    settings.limits.connections_per_address = settings.for_one_address.of(budget.connections);
    settings.limits.mirrored_pieces = budget.mirrored_pieces;
    let lowered = (budget.connections < wanted).then(|| {
        format!(
            "At most {} connections at once instead of {wanted}: the limit of open files is {} (ulimit -n).",
            budget.connections,
            limit.unwrap_or_default(),
        )
    });
    Ok(lowered)
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
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .build()
                .expect("a runtime");
            let service = async move {
                let (begun, has_begun) = tokio::sync::oneshot::channel();
                drop(tokio::task::spawn_blocking(move || {
                    begun.send(()).is_ok() && end.recv().is_ok()
                }));
                has_begun.await.expect("the work has begun");
            };
            run_on(runtime, service);
            stopped.send(()).expect("somebody waits for that");
        });
        assert_eq!(
            has_stopped.recv_timeout(Duration::from_secs(60)),
            Ok(()),
            "it waits for the work"
        );
        drop(never);
    }
}

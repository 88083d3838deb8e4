//! Watches one subject forever: checks that the kind exists, lists it, follows it, and recovers from errors.
//!
//! The API's rules: a list has a resource version, and a watch continues from one. Bookmarks advance it while nothing
//! happens. 410 means that it is too old, so everything is listed again. A watch that ends normally is opened again from
//! its last resource version.

use std::time::Duration;

use futures_util::TryStreamExt;
use kube::api::{ListParams, WatchEvent, WatchParams};
use towpath_core::retry::Jitter;
use towpath_http::random_seed;

use crate::answer::within;
use crate::connect::Settings;
use crate::count::Verb;
use crate::error::KubeError;
use crate::resource::Call;
use crate::store::{Listing, SizeLimitReached, Store};
use crate::subject::{Selection, Subject};

/// The most pages of a list, in case an API never ends one.
const MAX_PAGES: usize = 2_000;
/// A watch that ends earlier was cut short.
const SHORTEST: Duration = Duration::from_millis(900);
/// How long after its planned end a watch is given up.
const SLACK: Duration = Duration::from_secs(10);

/// Watches a subject until the task is dropped.
pub(crate) async fn watch(
    client: kube::Client,
    settings: Settings,
    subject: Subject,
    store: Store,
) {
    let watcher = Watcher {
        client,
        settings,
        subject,
        selection: subject.selection(),
        store,
    };
    let (backoff, jitter) = (watcher.settings.backoff, Jitter::new(random_seed()));
    let (mut from, mut failures) = (None, 0);
    // Agents that lost the same API server do not come back together.
    let pause = |failures: &mut u32| {
        *failures = failures.saturating_add(1);
        jitter.of(backoff.wait(*failures))
    };
    loop {
        let wait = match watcher.step(from.take()).await {
            NextStep::Follow(moment) => {
                failures = 0;
                from = Some(moment);
                continue;
            }
            NextStep::EndedSoon(moment) => {
                from = Some(moment);
                pause(&mut failures)
            }
            NextStep::ListAgain => pause(&mut failures),
            NextStep::Absent => {
                watcher.store.absent(subject);
                watcher.settings.absent
            }
            NextStep::Failed(problem, moment) => {
                watcher.store.failed(subject, problem);
                from = moment;
                pause(&mut failures)
            }
        };
        tokio::time::sleep(wait).await;
    }
}

struct Watcher {
    client: kube::Client,
    settings: Settings,
    subject: Subject,
    selection: Selection,
    store: Store,
}

/// What a watcher does next.
enum NextStep {
    /// Watch from this resource version.
    Follow(String),
    /// The same, after a pause: something cuts every watch short, and retrying at once would flood the API.
    EndedSoon(String),
    ListAgain,
    /// Check later whether the kind exists.
    Absent,
    /// Wait, and continue from this resource version if there is one.
    Failed(KubeError, Option<String>),
}

impl Watcher {
    async fn step(&self, from: Option<String>) -> NextStep {
        match from {
            Some(moment) => self.follow(moment).await,
            None => match self.is_there().await {
                Ok(true) => self.list().await,
                Ok(false) => NextStep::Absent,
                Err(problem) => NextStep::Failed(problem, None),
            },
        }
    }

    /// Whether the API has the kind. For Kubernetes' own kinds it sends no request.
    async fn is_there(&self) -> Result<bool, KubeError> {
        let resource = self.selection.resource;
        if resource.group.is_empty() {
            return Ok(true);
        }
        let (call, version) = (self.call(Verb::Discover), resource.api_version());
        let found = within(
            self.settings.request,
            &call,
            self.client.list_api_group_resources(&version),
        )
        .await;
        match found {
            Ok(list) => Ok(list.resources.iter().any(|one| one.name == resource.plural)),
            Err(KubeError::NotFound { .. }) => Ok(false),
            Err(problem) => Err(problem),
        }
    }

    /// Lists all objects, page by page.
    async fn list(&self) -> NextStep {
        let (api, call) = (
            self.selection
                .resource
                .api(&self.client, self.selection.namespace),
            self.call(Verb::List),
        );
        let mut parameters = ListParams {
            limit: Some(self.selection.page),
            ..ListParams::default()
        };
        parameters.field_selector = self.field_selector();
        parameters.label_selector = self.selection.labels.map(str::to_owned);
        let mut listing = Listing::default();
        for _ in 0..MAX_PAGES {
            let page = match within(self.settings.request, &call, api.list(&parameters)).await {
                Ok(page) => page,
                Err(KubeError::NotFound { .. }) => return NextStep::Absent,
                Err(problem) => return NextStep::Failed(problem, None),
            };
            for object in page.items {
                if let Err(full) = listing.add(self.subject, object) {
                    return NextStep::Failed(too_large(&call, full), None);
                }
            }
            parameters.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if parameters.continue_token.is_none() {
                self.store.replace(self.subject, listing);
                return NextStep::Follow(page.metadata.resource_version.unwrap_or_default());
            }
        }
        NextStep::Failed(
            too_large(
                &call,
                SizeLimitReached(format!("the list has more than {MAX_PAGES} pages")),
            ),
            None,
        )
    }

    /// Follows changes until the watch ends or breaks.
    async fn follow(&self, mut moment: String) -> NextStep {
        let call = self.call(Verb::Watch);
        let api = self
            .selection
            .resource
            .api(&self.client, self.selection.namespace);
        let parameters = WatchParams {
            timeout: Some(u32::try_from(self.settings.watch.as_secs()).unwrap_or(u32::MAX)),
            field_selector: self.field_selector(),
            label_selector: self.selection.labels.map(str::to_owned),
            bookmarks: true,
            send_initial_events: false,
        };
        let stream = match within(
            self.settings.request,
            &call,
            api.watch(&parameters, &moment),
        )
        .await
        {
            Ok(stream) => stream,
            Err(problem) => return broken(problem, moment),
        };
        self.store.resumed(self.subject);
        let mut stream = std::pin::pin!(stream);
        let began = tokio::time::Instant::now();
        let end = began + self.settings.watch + SLACK;
        loop {
            let event = match tokio::time::timeout_at(end, stream.try_next()).await {
                Ok(Ok(Some(event))) => event,
                Ok(Ok(None)) if began.elapsed() < SHORTEST => return NextStep::EndedSoon(moment),
                Ok(Ok(None)) => return NextStep::Follow(moment),
                Ok(Err(error)) => return broken(KubeError::of(&call, error), moment),
                Err(_) => {
                    return NextStep::Failed(
                        KubeError::too_slow(&call, self.settings.watch.as_secs()),
                        Some(moment),
                    );
                }
            };
            let put = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    moment = object.metadata.resource_version.clone().unwrap_or(moment);
                    self.store.put(self.subject, object)
                }
                WatchEvent::Deleted(object) => {
                    moment = object.metadata.resource_version.clone().unwrap_or(moment);
                    self.store.remove(self.subject, object);
                    Ok(())
                }
                WatchEvent::Bookmark(bookmark) => {
                    moment = bookmark.metadata.resource_version;
                    Ok(())
                }
                WatchEvent::Error(status) => {
                    return broken(
                        KubeError::answered(&call, status.code, &status.message),
                        moment,
                    );
                }
            };
            if let Err(full) = put {
                return NextStep::Failed(too_large(&call, full), None);
            }
        }
    }

    fn field_selector(&self) -> Option<String> {
        self.selection
            .name
            .map(|name| format!("metadata.name={name}"))
    }

    fn call(&self, verb: Verb) -> Call<'_> {
        Call {
            name: self.selection.name,
            ..Call::new(verb, self.selection.resource).within(self.selection.namespace)
        }
    }
}

/// How to continue after a broken watch.
fn broken(problem: KubeError, moment: String) -> NextStep {
    match problem {
        KubeError::Answer { code: 410, .. } => NextStep::ListAgain,
        // The kind was taken away: begin at the beginning.
        KubeError::NotFound { .. } => NextStep::Failed(problem, None),
        problem => NextStep::Failed(problem, Some(moment)),
    }
}

fn too_large(call: &Call<'_>, full: SizeLimitReached) -> KubeError {
    KubeError::TooLarge {
        call: call.to_string(),
        problem: full.0,
    }
}

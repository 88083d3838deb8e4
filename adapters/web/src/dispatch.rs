//! Answers a route: at once, or on another thread if it would delay other requests.

use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;
use http::{Method, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::json;

use crate::access::{self, Caller};
use crate::body::{self, AnswerBody};
use crate::connection::LOOK_EVERY;
use crate::events::EventKind;
use crate::fleet::receive;
use crate::places::Place;
use crate::questions::{Queue, Work};
use crate::refusal::OrRefusal;
use crate::routes::{self, Cost, Handler, RouteMatch};
use crate::workers::Surroundings;
use crate::{Service, events, fleet, graph, login, reload, tls};

impl Service {
    pub(crate) async fn answer(
        self: &Arc<Self>,
        head: &Parts,
        found: Option<RouteMatch<'_>>,
        incoming: Incoming,
        around: &Surroundings,
        place: &Place,
    ) -> Response<AnswerBody> {
        let began = Instant::now();
        let taken = routes::taken(head, found);
        match &taken {
            // A body is none of its business; hyper does away with it.
            Ok(found) if matches!(found.route.handler, Handler::Graph) => {
                if head.method == Method::OPTIONS {
                    let response = graph::preflight(head);
                    self.metrics
                        .answered(Some(*found), response.status(), began.elapsed());
                    return response;
                }
                match graph::answer(self, head, None, began) {
                    Ok(response) => response,
                    Err(missing) => self.compile(head, missing, began).await,
                }
            }
            // In a box, so that graph requests do not carry its state along.
            _ => {
                let response =
                    Box::pin(self.answer_beside(head, taken, incoming, around, place)).await;
                self.metrics
                    .answered(found, response.status(), began.elapsed());
                response
            }
        }
    }

    async fn answer_beside(
        self: &Arc<Self>,
        head: &Parts,
        taken: OrRefusal<RouteMatch<'_>>,
        mut incoming: Incoming,
        around: &Surroundings,
        place: &Place,
    ) -> Response<AnswerBody> {
        let cost = taken.as_ref().ok().map(|found| found.route.cost());
        let label = taken.as_ref().map_or("", |found| found.route.label);
        let counted = self.count_request(cost, &head.headers, place.client());
        let answered = match counted.and(taken) {
            Ok(found) => {
                let head = &*self.introduce(head).await;
                self.answer_route(head, found, &mut incoming, around, place)
                    .await
            }
            Err(refusal) => Err(refusal),
        };
        match answered {
            Ok(response) => response,
            Err(refusal) => {
                self.count_refused(label, &refusal, place);
                let has_time = refusal.status != StatusCode::REQUEST_TIMEOUT;
                if has_time && !matches!(head.method, Method::GET | Method::HEAD) {
                    receive::discard(&head.headers, &mut incoming).await;
                }
                refusal.response()
            }
        }
    }

    async fn answer_route(
        self: &Arc<Self>,
        head: &Parts,
        found: RouteMatch<'_>,
        incoming: &mut Incoming,
        around: &Surroundings,
        place: &Place,
    ) -> OrRefusal<Response<AnswerBody>> {
        tls::check(self, found, &head.headers, around.certificate.as_deref())?;
        let cost = found.route.cost();
        self.count_person(cost, &Caller::of(head))?;
        if matches!(cost, Cost::Fleet | Cost::Report) && self.fleet.load().is_none() {
            return Err(fleet::no_fleet());
        }
        // Nobody gets past this without what the table asks for.
        let admitted = access::admit(self, found.route, &Caller::of(head))?;
        let admitted = admitted.map(|admitted| admitted.coming_from(place.origin()));
        match found.route.handler {
            Handler::Graph => unreachable!("graphs are not answered beside graphs"),
            Handler::Probe(answer) | Handler::Light(answer) | Handler::Page(answer) => {
                answer(self, head, found.named())
            }
            Handler::Scrape(question) => {
                in_turn(question(self, head)?, &around.scrapes, around).await
            }
            Handler::Question(question) => {
                in_turn(question(self, head)?, &around.questions, around).await
            }
            Handler::Events => events::answer(self, head, around, place.address()),
            Handler::Renew => {
                access::renew::answer(self, head, found.named(), incoming, around).await
            }
            Handler::Reload => reload::answer(self, head, admitted, incoming, around).await,
            Handler::Login => login::answer(self, head, incoming, around, place).await,
            Handler::Change(_) => {
                let who = admitted
                    .as_ref()
                    .and_then(|admitted| admitted.identity.clone());
                let changed = fleet::answer(self, head, found, admitted, incoming, around).await?;
                if changed.status().is_success() {
                    if let Some(who) = who {
                        let (endpoint, known_by) = (found.route.label, &who.source);
                        tracing::info!(endpoint, name = %who.name, %known_by, "a person changed something");
                    }
                    let at = self.now().to_string();
                    self.publish(EventKind::Act, &json!({ "at": at }));
                }
                Ok(changed)
            }
            Handler::Read(_) | Handler::Report | Handler::Orders => {
                fleet::answer(self, head, found, admitted, incoming, around).await
            }
        }
    }

    async fn compile(
        self: &Arc<Self>,
        head: &Parts,
        missing: graph::CompileJob,
        began: Instant,
    ) -> Response<AnswerBody> {
        let response = match tokio::task::spawn_blocking(move || missing.compile()).await {
            Ok(compiled) => graph::answer(self, head, Some(&compiled), began).ok(),
            Err(error) => {
                tracing::error!(%error, "an answer could not be prepared");
                None
            }
        };
        let failed = || {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            self.metrics.graph_answered(None, status, began.elapsed());
            body::error(status, "failed_compile", "the answer could not be prepared")
        };
        response.unwrap_or_else(failed)
    }
}

/// Queues the work, as long as the client waits.
async fn in_turn(
    work: Work,
    queue: &Queue,
    around: &Surroundings,
) -> OrRefusal<Response<AnswerBody>> {
    tokio::select! {
        answer = queue.ask(work) => Ok(answer?),
        // Nobody reads this.
        () = around.peer.left(LOOK_EVERY) => Ok(body::error(StatusCode::SERVICE_UNAVAILABLE, "abandoned", "nobody waits any more")),
    }
}

//! `GET /api/v1/path`: the path from one release to another, hop by hop, or why there is none.
//!
//! Answers are text (`Accept: text/plain`, or `format=text`) or JSON. The path ignores the fleet's policies: it shows what
//! the graph offers. A search has a limit of steps, and ends when its client has gone.

use std::sync::Arc;

use http::request::Parts;
use http::{Response, StatusCode};
use towpath_core::cluster::Fact;
use towpath_core::path::{Budget, Pace, Unfinished, paths_within};
use towpath_formats::graph::explain::Form;
use towpath_formats::minors::with_releases_of;
use towpath_formats::path::{self as format, PathReport, PathRequest, ShapeIs};
use towpath_formats::room::Room;

use crate::body::{self, AnswerBody};
use crate::enrolment::View;
use crate::managed::platform_of;
use crate::questions::Work;
use crate::refusal::OrRefusal;
use crate::{Service, Snapshot, explain, fleet};

/// A question with everything that another thread needs to answer it.
struct PathQuestion {
    snapshot: Arc<Snapshot>,
    managed: Option<Arc<View>>,
    asked: PathRequest,
    /// Whether the caller may see what we know of the cluster.
    sight: fleet::Sight,
    form: Form,
}

/// Reads the question, or refuses it.
pub(crate) fn question(service: &Arc<Service>, request: &Parts) -> OrRefusal<Work> {
    let query = request.uri.query().unwrap_or_default();
    let asked = format::read(query, &service.minors(), service.now())?;
    let snapshot = service.snapshot().ok_or_else(explain::not_ready)?;
    let form = asked.form.unwrap_or_else(|| explain::accepted(request));
    let sight = match &asked.request.asker.id {
        Fact::Known(id) => fleet::sight_of(service, &request.headers, id),
        Fact::Unknown => fleet::Sight::Whole,
    };
    let question = PathQuestion {
        snapshot,
        managed: service.enrolment.load_full(),
        asked,
        sight,
        form,
    };
    Ok(Box::new(move |is_gone| question.answer(is_gone)))
}

impl PathQuestion {
    fn answer(self, is_gone: &dyn Fn() -> bool) -> Response<AnswerBody> {
        let Self {
            snapshot,
            managed,
            asked: PathRequest {
                mut request, shape, ..
            },
            sight,
            form,
        } = self;
        if request.asker.platform == Fact::Unknown && sight == fleet::Sight::Whole {
            let id = request.asker.id.known();
            let allowed = managed
                .as_ref()
                .zip(id)
                .and_then(|(managed, id)| managed.allowed(id));
            request.asker.platform = Fact::from(platform_of(&snapshot, allowed, id).cloned());
        }
        let graph = snapshot.graph();
        request.minors = with_releases_of(&request.minors, graph);
        let (pace, shape) = match shape {
            Some(shape) => (
                Pace {
                    shape,
                    ..Pace::usual()
                },
                ShapeIs::Given,
            ),
            None => (Pace::usual(), ShapeIs::Assumed),
        };
        let budget = Budget::new(Budget::OF_A_QUESTION, is_gone);
        let answer = match paths_within(graph, &*snapshot, &request, &pace.lasts(graph), &budget) {
            Ok(answer) => answer,
            Err(unfinished) => return gave_up(unfinished),
        };
        let told = PathReport {
            graph,
            request: &request,
            answer: &answer,
            pace: &pace,
            shape,
            cluster: None,
        };
        match form {
            Form::Json => body::json(StatusCode::OK, format!("{:#}\n", format::json(&told))),
            Form::Text => explain::plain(format::text(&told, Room::default())),
        }
    }
}

/// The answer to a search that reached its limit.
fn gave_up(unfinished: Unfinished) -> Response<AnswerBody> {
    match unfinished {
        Unfinished::NoStepsLeft { most } => {
            let remedy = "ask for fewer alternatives, through fewer channels (via), or prefer fewest; `towpath path` has no such limit";
            let sentence = format!("this question takes more than {most} steps; {remedy}");
            body::error(
                StatusCode::UNPROCESSABLE_ENTITY,
                "too_many_steps",
                &sentence,
            )
        }
        // Nobody reads this.
        Unfinished::CalledOff => body::error(
            StatusCode::SERVICE_UNAVAILABLE,
            "abandoned",
            "nobody waits any more",
        ),
    }
}

//! `GET /api/v1/path`: the path from one release to another, hop by hop, or why there is none.
//!
//! Answers are text (`Accept: text/plain`, or `format=text`), JSON or a drawing (`format=svg`). The path shows what the graph offers. For a cluster of a fleet, it also
//! says whether the fleet lets the cluster take the first hop now. A search has a limit of steps, and ends when its client has gone.

use std::sync::Arc;

use http::request::Parts;
use http::{Response, StatusCode};
use towpath_core::cluster::{Cluster, Fact};
use towpath_core::graph::Situation;
use towpath_core::path::{Budget, FoundPaths, Pace, Unfinished, paths_within};
use towpath_formats::graph::explain::Form;
use towpath_formats::minors::with_releases_of;
use towpath_formats::path::{self as format, PathReport, PathRequest, ShapeIs};
use towpath_formats::picture::PictureForm;
use towpath_formats::room::Room;

use crate::body::{self, AnswerBody};
use crate::enrolment::View;
use crate::questions::Work;
use crate::refusal::OrRefusal;
use crate::{Service, Snapshot, access, explain, fleet};

/// A question with everything that another thread needs to answer it.
struct PathQuestion {
    snapshot: Arc<Snapshot>,
    managed: Option<Arc<View>>,
    asked: PathRequest,
    /// Whether the caller may see what we know of the cluster.
    sight: fleet::Sight,
    form: PictureForm,
}

/// Reads the question, or refuses it.
pub(crate) fn question(service: &Arc<Service>, request: &Parts) -> OrRefusal<Work> {
    let query = request.uri.query().unwrap_or_default();
    let asked = format::read(query, &service.minors(), service.now())?;
    let snapshot = service.snapshot().ok_or_else(explain::not_ready)?;
    let form = asked.form;
    let form = form.unwrap_or_else(|| PictureForm::Told(explain::accepted(request)));
    let sight = match &asked.request.asker.id {
        Fact::Known(id) => access::sight_of(service, request, id),
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
        let (said, id) = (request.asker.platform, request.asker.id.known());
        request.asker.groups = explain::known_groups(&snapshot, managed.as_deref(), id, sight);
        request.asker.platform =
            explain::known_platform(said, &snapshot, managed.as_deref(), id, sight);
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
        let rule = match sight {
            fleet::Sight::Whole => {
                explain::fleet_rule(managed.as_deref(), request.asker.id.known())
            }
            fleet::Sight::Nameless => None,
        };
        let first = answer.as_ref().ok().and_then(FoundPaths::first_hop);
        let fleet = rule.zip(first).and_then(|(rule, hop)| {
            let mut edges = graph.edges_from(hop.from).iter();
            let edge = edges.find(|edge| edge.to == hop.to)?;
            let cluster = Cluster {
                id: request.asker.id.clone(),
                platform: request.asker.platform.clone(),
                ..Cluster::anonymous(hop.channel.clone(), request.asker.arch.clone())
            };
            let at = Situation {
                graph,
                cluster: &cluster,
                now: request.now,
            };
            Some(rule.judge(&at.about(*edge)))
        });
        let told = PathReport {
            graph,
            request: &request,
            answer: &answer,
            pace: &pace,
            shape,
            cluster: None,
            fleet: fleet.as_ref(),
        };
        match form {
            PictureForm::Told(Form::Json) => {
                body::json(StatusCode::OK, format!("{:#}\n", format::json(&told)))
            }
            PictureForm::Told(Form::Text) => explain::plain(format::text(&told, Room::default())),
            PictureForm::Drawn(pen) => body::drawing(pen.of_path(&told), pen.content_type()),
        }
    }
}

/// The answer to a search that reached its limit.
pub(crate) fn gave_up(unfinished: Unfinished) -> Response<AnswerBody> {
    match unfinished {
        Unfinished::NoStepsLeft { most } => {
            let remedy = "ask for fewer alternatives, through fewer channels (via), or prefer fewest; without --server there is no such limit";
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

//! `GET /api/v1/mirror`: everything to mirror so that a cluster can reach a release.
//!
//! Answers are text (`Accept: text/plain`, or `format=text`), JSON, or the files for oc-mirror as JSON. Like a path, a search has a limit of
//! steps, and ends when its client has gone. The fleet is not asked: a mirror is for what the graph offers.

use std::sync::Arc;

use http::request::Parts;
use http::{Response, StatusCode};
use jiff::Timestamp;
use serde_json::json;
use towpath_core::mirror::mirror_within;
use towpath_core::path::Budget;
use towpath_core::version::Minors;
use towpath_formats::graph::explain::Form;
use towpath_formats::mirror::image_set::{self, ImageSetFile};
use towpath_formats::mirror::request::{self, MirrorForm, MirrorRequest};
use towpath_formats::mirror::{self as format, MirrorReport};

use crate::body::{self, AnswerBody};
use crate::path::gave_up;
use crate::questions::Work;
use crate::refusal::OrRefusal;
use crate::{Service, Snapshot, explain};

/// A question with everything that another thread needs to answer it.
struct MirrorQuestion {
    snapshot: Arc<Snapshot>,
    asked: MirrorRequest,
    form: MirrorForm,
    minors: Minors,
    now: Timestamp,
}

/// Reads the question, or refuses it.
pub(crate) fn question(service: &Arc<Service>, request: &Parts) -> OrRefusal<Work> {
    let asked = request::read(request.uri.query().unwrap_or_default())?;
    let snapshot = service.snapshot().ok_or_else(explain::not_ready)?;
    let form = asked
        .form
        .unwrap_or_else(|| match explain::accepted(request) {
            Form::Text => MirrorForm::Text,
            Form::Json => MirrorForm::Json,
        });
    let question = MirrorQuestion {
        snapshot,
        form,
        minors: service.minors(),
        now: asked.now.unwrap_or_else(|| service.now()),
        asked,
    };
    Ok(Box::new(move |is_gone| {
        question.answer(is_gone).unwrap_or_else(|refusal| *refusal)
    }))
}

impl MirrorQuestion {
    fn answer(
        self,
        is_gone: &dyn Fn() -> bool,
    ) -> Result<Response<AnswerBody>, Box<Response<AnswerBody>>> {
        let Self {
            snapshot,
            asked,
            form,
            minors,
            now,
        } = self;
        let graph = snapshot.graph();
        let wish = asked.wish(graph, minors, now).map_err(refused)?;
        let budget = Budget::new(Budget::OF_A_QUESTION, is_gone);
        let mirror = mirror_within(graph, &*snapshot, &wish, now, &budget)
            .map_err(|unfinished| Box::new(gave_up(unfinished)))?;
        let mirror = mirror.map_err(|problem| refused(problem.to_string()))?;
        let told = MirrorReport {
            graph,
            wish: &wish,
            mirror: &mirror,
            graph_data: asked.graph_data.as_deref(),
            completeness: asked.completeness,
            now,
        };
        let no_digest = |problem: format::NoDigest| refused(problem.to_string());
        let json = |value: serde_json::Value| body::json(StatusCode::OK, format!("{value:#}\n"));
        Ok(match form {
            MirrorForm::Json => json(format::json(&told).map_err(no_digest)?),
            MirrorForm::Text => explain::plain(format::list(&told).map_err(no_digest)?),
            MirrorForm::ImageSet(version) => {
                let files = image_set::write(&told, version);
                let files = files.map_err(|problem| refused(problem.to_string()))?;
                let file = |file: &ImageSetFile| json!({"name": file.name, "text": file.text});
                json(json!({
                    "files": files.iter().map(file).collect::<Vec<_>>(),
                    "comments": format::comments(&told),
                    "isWhole": mirror.stuck.is_empty(),
                }))
            }
        })
    }
}

/// The answer to a question that the graph has no answer to.
fn refused(sentence: String) -> Box<Response<AnswerBody>> {
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    Box::new(body::error(status, "no_mirror", &sentence))
}

//! `GET /api/v1/graph`: a picture of channels for one client: where releases stand, and what each update is.
//! `GET /api/v1/channels`: the channels there are.
//!
//! Answers are JSON, text or drawings, compressed for whoever takes gzip. For a cluster of a fleet, the answer includes the fleet's verdict.
//! Clients that tell no id and no time get equal answers, which are kept for a second.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use towpath_core::graph::rules::Edges;
use towpath_core::picture::{PictureRequest, Undrawn, picture};
use towpath_core::rules::Rule;
use towpath_core::version::Minors;
use towpath_formats::graph::explain::Form;
use towpath_formats::graph::request::accepts_gzip;
use towpath_formats::gzip;
use towpath_formats::picture::{
    self as format, ChannelsReport, ChannelsRequest, Drawing, PictureForm, PictureQuery,
    PictureReport,
};
use towpath_formats::room::Room;

use crate::body::{self, AnswerBody};
use crate::enrolment::View;
use crate::questions::Work;
use crate::refusal::{OrRefusal, Refusal};
use crate::{Service, Snapshot, explain, fleet, locked};

/// How long an answer that is the same for many is kept.
const KEPT_FOR: SignedDuration = SignedDuration::from_secs(1);
/// The most answers that are kept, and the most memory of all of them.
const MAX_KEPT: usize = 16;
const MAX_KEPT_BYTES: usize = 8 << 20;
/// A shorter text is not compressed.
const MIN_PACKED_BYTES: usize = 1_000;

/// A question with everything that another thread needs to answer it.
struct PictureQuestion {
    service: Arc<Service>,
    snapshot: Arc<Snapshot>,
    managed: Option<Arc<View>>,
    asked: PictureQuery,
    sight: fleet::Sight,
    form: PictureForm,
    packing: Packing,
    /// Which minor version follows which.
    minors: Minors,
    now: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
}

/// Answers that were given lately, the newest last.
#[derive(Default)]
pub(crate) struct Pictures(Mutex<VecDeque<KeptPicture>>);

struct KeptPicture {
    digest: String,
    asked: PictureQuery,
    form: PictureForm,
    packing: Packing,
    at: Timestamp,
    made: MadePicture,
}

/// An answer's body, and what it is.
#[derive(Clone)]
struct MadePicture {
    content_type: &'static str,
    packing: Packing,
    bytes: Bytes,
}

/// Reads the question, or refuses it.
pub(crate) fn question(service: &Arc<Service>, request: &Parts) -> OrRefusal<Work> {
    let asked = format::read(request.uri.query().unwrap_or_default())?;
    let snapshot = service.snapshot().ok_or_else(explain::not_ready)?;
    let managed = service.enrolment.load_full();
    let id = asked.asker.id.known();
    let question = PictureQuestion {
        sight: explain::sight(service, request, id, managed.is_some())?,
        form: asked
            .form
            .unwrap_or_else(|| PictureForm::Told(explain::accepted(request))),
        packing: Packing::accepted(request),
        minors: service.minors(),
        now: asked.at.unwrap_or_else(|| service.now()),
        service: service.clone(),
        snapshot,
        managed,
        asked,
    };
    Ok(Box::new(move |_| question.answer()))
}

/// Asks for the channels there are.
pub(crate) fn channels_question(service: &Arc<Service>, request: &Parts) -> OrRefusal<Work> {
    let asked = ChannelsRequest::read(request.uri.query().unwrap_or_default())?;
    let snapshot = service.snapshot().ok_or_else(explain::not_ready)?;
    let form = asked.form.unwrap_or_else(|| explain::accepted(request));
    let now = asked.at.unwrap_or_else(|| service.now());
    let packing = Packing::accepted(request);
    Ok(Box::new(move |_| {
        let arch = asked.arch.as_ref();
        let Some(report) = ChannelsReport::of(snapshot.graph(), arch, now) else {
            let why = arch.cloned().map(Undrawn::NoArch);
            return why.map_or_else(
                || explain::not_ready().response(),
                |why| refusal(&why).response(),
            );
        };
        let made = match form {
            Form::Json => MadePicture::json(report.json().to_string(), packing),
            Form::Text => MadePicture::text(report.text(Room::default()), packing),
        };
        made.response()
    }))
}

fn refusal(why: &Undrawn) -> Refusal {
    let (status, kind) = match why {
        Undrawn::NoChannel(_) | Undrawn::NoArch(_) => (StatusCode::NOT_FOUND, "does_not_exist"),
        Undrawn::TooManyChannels | Undrawn::TooManyEdges => {
            (StatusCode::UNPROCESSABLE_ENTITY, "too_large")
        }
    };
    Refusal::new(status, kind, format::undrawn(why))
}

impl PictureQuestion {
    fn answer(self) -> Response<AnswerBody> {
        let service = self.service.clone();
        match service.pictures.get(&self) {
            Some(made) => made.response(),
            None => match self.draw() {
                Ok(made) => {
                    let response = made.clone().response();
                    service.pictures.keep(self, made);
                    response
                }
                Err(why) => refusal(&why).response(),
            },
        }
    }

    fn draw(&self) -> Result<MadePicture, Undrawn> {
        let (graph, managed) = (self.snapshot.graph(), self.managed.as_deref());
        let mut asker = self.asked.asker.clone();
        let id = asker.id.known();
        asker.groups = explain::known_groups(&self.snapshot, managed, id, self.sight);
        asker.platform =
            explain::known_platform(asker.platform, &self.snapshot, managed, id, self.sight);
        let rule = explain::fleet_rule(managed, id);
        let more: Vec<&dyn Rule<Edges>> = rule.as_deref().into_iter().collect();
        let request = PictureRequest {
            channels: self.asked.channels(),
            asker: &asker,
            minors: &self.minors,
            more: &more,
            now: self.now,
        };
        let picture = picture(graph, &request)?;
        let told = PictureReport {
            graph,
            asker: &asker,
            now: self.now,
            picture: &picture,
        };
        Ok(match self.form {
            PictureForm::Told(Form::Json) => {
                MadePicture::json(format::json(&told).to_string(), self.packing)
            }
            PictureForm::Told(Form::Text) => {
                MadePicture::text(format::text(&told, Room::default()), self.packing)
            }
            PictureForm::Drawn(pen) => {
                MadePicture::new(pen.of_picture(&told), pen.content_type(), self.packing)
            }
        })
    }

    /// Whether others who ask this get the same answer.
    fn is_for_many(&self) -> bool {
        self.asked.asker.id.known().is_none() && self.asked.at.is_none()
    }
}

impl Packing {
    fn accepted(request: &Parts) -> Self {
        let lists = request.headers.get_all(header::ACCEPT_ENCODING).iter();
        let lists: Vec<&str> = lists.filter_map(|list| list.to_str().ok()).collect();
        match accepts_gzip(Some(lists.join(",").as_str())) {
            true => Self::Gzip,
            false => Self::Plain,
        }
    }
}

impl MadePicture {
    fn json(text: String, packing: Packing) -> Self {
        Self::new(text + "\n", "application/json", packing)
    }

    fn text(text: String, packing: Packing) -> Self {
        Self::new(text, "text/plain; charset=utf-8", packing)
    }

    fn new(text: String, content_type: &'static str, packing: Packing) -> Self {
        let packing = match text.len() < MIN_PACKED_BYTES {
            true => Packing::Plain,
            false => packing,
        };
        let bytes = match packing {
            Packing::Plain => Bytes::from(text),
            Packing::Gzip => Bytes::from(gzip(text.as_bytes())),
        };
        Self {
            content_type,
            packing,
            bytes,
        }
    }

    fn response(self) -> Response<AnswerBody> {
        let bytes = self.bytes.len();
        let mut response = Response::new(AnswerBody::new(Arc::new([self.bytes]), bytes));
        let headers = response.headers_mut();
        let fixed = HeaderValue::from_static;
        headers.insert(header::CONTENT_TYPE, fixed(self.content_type));
        headers.insert(header::CACHE_CONTROL, fixed("no-store"));
        if self.content_type == Drawing::Svg.content_type() {
            headers.insert(header::CONTENT_SECURITY_POLICY, body::DRAWN_POLICY);
        }
        if self.content_type == Drawing::Svg.content_type() {
            headers.insert(header::CONTENT_SECURITY_POLICY, body::DRAWN_POLICY);
        }
        if self.packing == Packing::Gzip {
            headers.insert(header::CONTENT_ENCODING, fixed("gzip"));
        }
        response
    }
}

impl Pictures {
    fn get(&self, question: &PictureQuestion) -> Option<MadePicture> {
        let kept = locked(&self.0);
        let same = |kept: &&KeptPicture| kept.is_fresh(question.now) && kept.answers(question);
        let found = kept.iter().find(same).filter(|_| question.is_for_many());
        found.map(|kept| kept.made.clone())
    }

    fn keep(&self, question: PictureQuestion, made: MadePicture) {
        if !question.is_for_many() {
            return;
        }
        let mut kept = locked(&self.0);
        kept.retain(|one| one.is_fresh(question.now) && !one.answers(&question));
        kept.push_back(KeptPicture {
            digest: question.snapshot.digest.clone(),
            asked: question.asked,
            form: question.form,
            packing: question.packing,
            at: question.now,
            made,
        });
        let bytes = |kept: &VecDeque<KeptPicture>| -> usize {
            kept.iter().map(|one| one.made.bytes.len()).sum()
        };
        while kept.len() > MAX_KEPT || bytes(&kept) > MAX_KEPT_BYTES {
            kept.pop_front();
        }
    }
}

impl KeptPicture {
    fn is_fresh(&self, now: Timestamp) -> bool {
        let age = self.at.duration_until(now);
        !age.is_negative() && age < KEPT_FOR
    }

    fn answers(&self, question: &PictureQuestion) -> bool {
        self.digest == question.snapshot.digest
            && self.asked == question.asked
            && (self.form, self.packing) == (question.form, question.packing)
    }
}

//! A picture as JSON. Field names are stable. Edges name their releases and their answer by index, because there are thousands of them.

use serde_json::{Value, json};
use towpath_core::graph::{EdgeStatus, ReleaseId};
use towpath_core::picture::{EdgeAnswer, PictureRelease};
use towpath_core::version::Minor;

use super::PictureReport;
use crate::verdict::share;
use crate::words::platform_warning;

/// Everything there is to say.
pub fn json(told: &PictureReport<'_>) -> Value {
    let (picture, asker) = (told.picture, told.asker);
    let layout = &picture.layout;
    let lane = |(y, minor): (usize, &Minor)| json!({"minor": minor.to_string(), "y": y});
    json!({
        "at": told.now.to_string(),
        "arch": asker.arch.as_str(),
        "id": asker.id.known().map(|id| id.as_str()),
        "platform": asker.platform.known().map(|platform| platform.as_str()),
        "warnings": platform_warning(&asker.platform).into_iter().collect::<Vec<_>>(),
        "channels": picture.channels.iter().map(|channel| channel.name.as_str()).collect::<Vec<_>>(),
        "width": layout.width,
        "lanes": layout.lanes.iter().enumerate().map(lane).collect::<Vec<_>>(),
        "releases": picture.releases.iter().map(|one| release(told, one)).collect::<Vec<_>>(),
        "kinds": EdgeStatus::ALL.map(|kind| json!({"kind": kind.name(), "text": kind.text()})),
        "answers": picture.answers.iter().map(|one| answer(told, one)).collect::<Vec<_>>(),
        "edges": picture.edges.iter().map(|edge| [edge.from, edge.to, edge.answer]).collect::<Vec<_>>(),
    })
}

fn release(told: &PictureReport<'_>, one: &PictureRelease) -> Value {
    let release = told.graph.release(one.id);
    json!({
        "version": release.version.to_string(),
        "lane": one.place.lane,
        "x": one.place.x,
        "y": one.place.lane,
        "channels": channels(told, one.id),
        "entersAt": one.enters.map(|enters| enters.to_string()),
        "url": release.metadata.get("url").map(|url| &**url),
    })
}

fn channels<'a>(told: &PictureReport<'a>, id: ReleaseId) -> Vec<&'a str> {
    let channels = told.graph.release(id).channels.iter();
    channels.map(|(name, _)| name.as_str()).collect()
}

fn answer(told: &PictureReport<'_>, one: &EdgeAnswer) -> Value {
    let channel = told.picture.channels[one.channel as usize];
    json!({
        "kind": one.kind.name(),
        "answer": one.answer.word(),
        "channel": channel.name.as_str(),
        "share": one.share.map(share),
        "offeredFrom": one.offered_from(told.now).map(|from| from.to_string()),
        "risks": one.risks().map(|id| told.graph.risk(id).name.as_str()).collect::<Vec<_>>(),
        "codes": one.codes,
    })
}

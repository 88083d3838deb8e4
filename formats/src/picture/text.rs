//! A picture as text: how many updates are of which kind, and then each release, the newest first, with the updates to it.

use std::collections::BTreeMap;

use towpath_core::cluster::Fact;
use towpath_core::graph::EdgeStatus;
use towpath_core::picture::{EdgeAnswer, PictureEdge};

use super::PictureReport;
use crate::room::Room;
use crate::tables::{align_right, fitted, shown};
use crate::words::{
    beyond, counted, first_names, minute, on_platform, plain_lines, platform_warning, second,
    wrapped,
};

/// The most channels that are named. The others are counted.
const MAX_NAMES: usize = 6;

/// Everything there is to say.
pub fn text(told: &PictureReport<'_>, room: Room) -> String {
    let text = format!("{}{}\n{}", head(told), counts(told), releases(told, room));
    room.fit(&plain_lines(&text))
}

/// Who asks about what, and when.
fn head(told: &PictureReport<'_>) -> String {
    let asker = told.asker;
    let channels = told.picture.channels.iter().map(|channel| &channel.name);
    let id = match &asker.id {
        Fact::Known(id) => format!("cluster {id}"),
        Fact::Unknown => "a cluster that does not tell its id".to_owned(),
    };
    let warning = platform_warning(&asker.platform)
        .map_or_else(String::new, |warning| wrapped("warning: ", &warning));
    format!(
        "{} ({}), {id}, {}, at {}\n{warning}",
        first_names(channels, MAX_NAMES),
        asker.arch,
        on_platform(&asker.platform),
        second(told.now)
    )
}

/// How many updates are of which kind.
fn counts(told: &PictureReport<'_>) -> String {
    let picture = told.picture;
    let mut kinds: BTreeMap<EdgeStatus, usize> = BTreeMap::new();
    for edge in &picture.edges {
        *kinds.entry(answer(told, edge).kind).or_default() += 1;
    }
    let (releases, updates) = (picture.releases.len(), picture.edges.len());
    let mut text = format!(
        "{}, {}\n",
        counted(releases, "release"),
        counted(updates, "update")
    );
    let width = kinds.values().map(|count| count.to_string().len()).max();
    for (kind, count) in &kinds {
        let start = format!("  {count:>width$}  ", width = width.unwrap_or(0));
        text.push_str(&wrapped(&start, kind.text()));
    }
    text
}

/// Each release, with the updates to it by kind.
fn releases(told: &PictureReport<'_>, room: Room) -> String {
    let picture = told.picture;
    let mut into: BTreeMap<u32, Incoming> = BTreeMap::new();
    for edge in &picture.edges {
        into.entry(edge.to).or_default().add(answer(told, edge));
    }
    let head = [
        "RELEASE",
        "OFFERED FROM",
        "NOT OFFERED FROM",
        "WHY",
        "NEXT OPENS",
    ];
    let mut table = fitted(head, room.width);
    align_right(&mut table, [1, 2]);
    let most = room.rows.unwrap_or(usize::MAX);
    let rows = picture.releases.iter().enumerate().rev();
    for (number, release) in rows.take(most) {
        let version = &told.graph.release(release.id).version;
        let incoming = into.remove(&(number as u32)).unwrap_or_default();
        let enters = release
            .enters
            .map(|enters| format!(" (enters {})", minute(enters)));
        table.add_row([
            format!("{version}{}", enters.unwrap_or_default()),
            incoming.offered.to_string(),
            incoming.others.values().sum::<usize>().to_string(),
            incoming.why(),
            incoming.opens.map_or_else(|| "-".to_owned(), minute),
        ]);
    }
    let more = beyond(picture.releases.len(), most, |more| {
        format!("{} more\n", counted(more, "release"))
    });
    format!("{}{more}", shown(&table))
}

/// The updates to a release.
#[derive(Default)]
struct Incoming {
    /// With or without risks.
    offered: usize,
    others: BTreeMap<EdgeStatus, usize>,
    /// When the next of them opens.
    opens: Option<jiff::Timestamp>,
}

impl Incoming {
    fn add(&mut self, answer: &EdgeAnswer) {
        match answer.kind {
            EdgeStatus::Offered | EdgeStatus::Conditional => self.offered += 1,
            kind => *self.others.entry(kind).or_default() += 1,
        }
        let opens = answer.answer.until();
        self.opens = self.opens.into_iter().chain(opens).min();
    }

    /// `blocked 2, phasing 1`.
    fn why(&self) -> String {
        let kinds = self.others.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, count)| format!("{} {count}", kind.name()))
            .collect();
        match kinds.is_empty() {
            true => "-".to_owned(),
            false => kinds.join(", "),
        }
    }
}

fn answer<'a>(told: &PictureReport<'a>, edge: &PictureEdge) -> &'a EdgeAnswer {
    &told.picture.answers[edge.answer as usize]
}

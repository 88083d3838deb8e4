//! Halts of a store, as text and as JSON: who made them, who wants them undone, and what clusters see.

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::graph::RolloutWindow;
use towpath_core::version::Version;

use crate::graph::rollouts::{self, Bars};
use crate::room::Room;
use crate::words::second;

/// What is said to the first of two people.
pub const SECOND_NEEDED: &str = "somebody with another name must undo it too; until then it stands";

/// A halt, standing or undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedHalt {
    pub id: i64,
    pub release: Version,
    /// The file that every replica adds to its graph data.
    pub path: String,
    pub by: String,
    pub at: Timestamp,
    pub why: String,
    pub first_undo: Option<(String, Timestamp)>,
    pub undone: Option<(String, Timestamp)>,
}

/// What became of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HaltAct {
    Halted,
    /// It was halted before.
    HaltedBefore,
    /// One of two people wants it undone.
    UndoNoted,
    Undone,
    UndoneBefore,
}

impl HaltAct {
    fn code(self) -> &'static str {
        match self {
            Self::Halted => "halted",
            Self::HaltedBefore => "halted-before",
            Self::UndoNoted => "undo-noted",
            Self::Undone => "undone",
            Self::UndoneBefore => "undone-before",
        }
    }

    /// What happened, in a sentence.
    pub fn sentence(self, halt: &ListedHalt) -> String {
        let (id, release) = (halt.id, &halt.release);
        let (by, at) = (&halt.by, second(halt.at));
        match self {
            Self::Halted => format!(
                "{release} is halted (halt {id}). Every replica stops offering it within a second."
            ),
            Self::HaltedBefore => format!(
                "{release} is halted already (halt {id}, by {by} at {at}). Nothing changed."
            ),
            Self::UndoNoted => {
                let first = halt.first_undo.as_ref().map_or("somebody", |(by, _)| by);
                format!(
                    "{release} stays halted (halt {id}). {first} is the first who wants it undone: {SECOND_NEEDED}."
                )
            }
            Self::Undone => format!(
                "{release} is halted no more (halt {id}): two people have undone it. Whoever its windows have reached is offered it at once."
            ),
            Self::UndoneBefore => {
                format!("Halt {id} of {release} was undone before. Nothing changed.")
            }
        }
    }
}

pub fn halt(one: &ListedHalt) -> Value {
    let undo = |undo: &Option<(String, Timestamp)>| {
        undo.as_ref()
            .map(|(by, at)| json!({"by": by, "at": at.to_string()}))
    };
    json!({
        "id": one.id,
        "release": one.release.to_string(),
        "path": one.path,
        "by": one.by,
        "at": one.at.to_string(),
        "why": one.why,
        "standing": one.undone.is_none(),
        "firstUndo": undo(&one.first_undo),
        "undone": undo(&one.undone),
    })
}

/// What somebody did, and what clusters see before and after, as far as that is known.
pub fn act_json(
    act: HaltAct,
    one: &ListedHalt,
    effect: Option<[&[RolloutWindow]; 2]>,
    now: Timestamp,
) -> Value {
    let mut told = json!({
        "act": act.code(),
        "text": act.sentence(one),
        "halt": halt(one),
    });
    if let Some([before, after]) = effect {
        told["before"] = rollouts::json(before, None, now)["rollouts"].take();
        told["after"] = rollouts::json(after, None, now)["rollouts"].take();
    }
    told
}

/// The same for people.
pub fn act_text(
    act: HaltAct,
    one: &ListedHalt,
    effect: Option<[&[RolloutWindow]; 2]>,
    now: Timestamp,
    room: Room,
) -> String {
    let sentence = act.sentence(one);
    let Some([before, after]) = effect else {
        return format!("{sentence}\n");
    };
    let table = |rows| rollouts::text(rows, now, Bars::Ascii, room);
    format!(
        "{sentence}\n\nBefore: {}\nAfter: {}",
        table(before),
        table(after)
    )
}

pub fn json(halts: &[ListedHalt]) -> Value {
    json!({"halts": halts.iter().map(halt).collect::<Vec<_>>()})
}

pub fn text(halts: &[ListedHalt]) -> String {
    if halts.is_empty() {
        return "Nothing is halted in the store.\n".to_owned();
    }
    let line = |one: &ListedHalt| {
        let ListedHalt {
            id,
            release,
            path,
            by,
            why,
            ..
        } = one;
        let at = second(one.at);
        let state = match (&one.first_undo, &one.undone) {
            (_, Some((by, at))) => format!("undone by {by} at {}", second(*at)),
            (Some((first, _)), None) => format!("stands; {first} wants it undone"),
            (None, None) => "stands".to_owned(),
        };
        format!("{id}  {release}  {state}; halted by {by} at {at}: {why}  ({path})\n")
    };
    halts.iter().map(line).collect()
}

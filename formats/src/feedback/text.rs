//! What a watch says, in plain words.

use jiff::Timestamp;
use towpath_core::feedback::{
    Assessment, Halt, HaltScope, HaltWay, HeldBack, Mode, ScopeEvidence, WatchAct, WatchAnswer,
    WatchDecision,
};

use crate::room::Room;
use crate::tables::{fitted, shown};
use crate::words::{counted, joined, plain, second};

/// What was said about releases, one after the other.
pub fn all_text(decisions: &[&WatchDecision], at: Option<Timestamp>, room: Room) -> String {
    let Some(at) = at else {
        return "The watch has not looked at the attempts yet.\n".to_owned();
    };
    let head = format!(
        "{} watched, as of {}.\n",
        counted(decisions.len(), "release"),
        second(at)
    );
    let told = decisions
        .iter()
        .map(|decision| format!("\n{}", text(decision, room)));
    head + &told.collect::<String>()
}

/// The answer of a decision with its evidence, scope by scope.
pub fn text(decision: &WatchDecision, room: Room) -> String {
    let told = &decision.judgement.assessment;
    let channels = joined(&decision.watched.channels, "no channel");
    let mut text = format!(
        "{}: {}\nAs of {}. In {channels}; watched as {} says: mode {}, false halts at most {}.\n",
        told.release,
        sentence(told),
        second(told.at),
        decision.watched.by,
        decision.watched.settings.mode.code(),
        decision.watched.settings.alpha,
    );
    for halt in &told.halts {
        text += &format!("{}.\n", halt_words(halt));
    }
    if !told.halts.is_empty() {
        text += &format!("{}\n", what_follows(decision));
    }
    let mut rows = fitted(
        [
            "SCOPE",
            "ANSWER",
            "ATTEMPTS",
            "KNOWN",
            "FAILED",
            "DEGRADED",
            "USUAL",
            "SEEN BY NOW",
            "EVIDENCE",
            "NEEDED",
        ],
        room.width,
    );
    for scope in told
        .scopes
        .iter()
        .filter(|scope| scope.attempts > 0 || scope.scope.is_all())
    {
        rows.add_row([
            scope_words(&scope.scope),
            scope.answer.code().to_owned(),
            scope.attempts.to_string(),
            scope.known.to_string(),
            scope.failed.to_string(),
            scope.degraded.to_string(),
            scope.base_rate.to_string(),
            scope
                .visible_by_now
                .map_or("nothing".to_owned(), |rate| format!("{rate} or more")),
            scope.against_history.max(scope.against_others).to_string(),
            scope.needed.to_string(),
        ]);
    }
    text + "\n" + &shown(&rows)
}

/// One sentence: the answer and why.
pub fn sentence(told: &Assessment) -> String {
    let all = told.scopes.first();
    let counts = all.map_or_else(String::new, counts);
    let later = all.map_or_else(String::new, |all| seen_later(told, all));
    let held_back = told.held_back.as_ref().map(held_back_words);
    let held_back = held_back.map_or_else(String::new, |why| format!(" {why}"));
    match told.answer {
        WatchAnswer::Halt => {
            let scopes = joined(
                told.halts.iter().map(|halt| scope_words(&halt.scope)),
                "all clusters",
            );
            format!("halt, for {scopes}. {counts}")
        }
        WatchAnswer::GoOn => format!(
            "go on. {counts} A failure rate of {} is ruled out.{}{held_back}",
            told.tolerated_rate,
            open_scopes(told)
        ),
        WatchAnswer::Inconclusive => format!("inconclusive. {counts}{later}{held_back}"),
    }
}

/// The answer is for all clusters together. A part of them may be too small to tell.
fn open_scopes(told: &Assessment) -> String {
    let is_open = |one: &&ScopeEvidence| {
        one.attempts > 0 && one.answer == WatchAnswer::Inconclusive && !one.scope.is_all()
    };
    let open = told.scopes.iter().filter(is_open);
    let open: Vec<String> = open.map(|one| scope_words(&one.scope)).collect();
    match open.is_empty() {
        true => String::new(),
        false => format!(" Too few outcomes are known for {}.", joined(open, "none")),
    }
}

fn counted_are(count: u64) -> String {
    match count {
        1 => "1 update is".to_owned(),
        more => format!("{more} updates are"),
    }
}

/// `3 of 120 failed, 1 was degraded within a day.`
fn counts(scope: &ScopeEvidence) -> String {
    let degraded = match scope.degraded {
        0 => String::new(),
        1 => ", 1 was degraded within a day".to_owned(),
        more => format!(", {more} were degraded within a day"),
    };
    if scope.known == 0 {
        return match scope.attempts {
            0 => "No update has begun.".to_owned(),
            more => format!("No outcome is known yet; {} under way.", counted_are(more)),
        };
    }
    let under_way = match scope.attempts.saturating_sub(scope.known) {
        0 => String::new(),
        more => format!("; {more} more have no outcome yet"),
    };
    format!(
        "{} of {} failed{degraded}{under_way}.",
        scope.failed, scope.known
    )
}

fn seen_later(told: &Assessment, scope: &ScopeEvidence) -> String {
    let tolerated = told.tolerated_rate;
    match (scope.tolerated_seen_after, scope.visible_by_now) {
        (Some(after), _) if after > scope.known => {
            format!(" A failure rate of {tolerated} would be seen after about {after}.")
        }
        (Some(_), Some(seen)) => {
            format!(" A failure rate of {seen} or more would have been seen by now.")
        }
        (Some(_), None) => String::new(),
        (None, _) => format!(
            " A failure rate of {tolerated} is never seen: too many good updates fail ({}).",
            scope.base_rate
        ),
    }
}

pub(super) fn held_back_words(why: &HeldBack) -> String {
    match why {
        HeldBack::OnlyWith(name) => format!(
            "It is not halted: without organisation {} the evidence is not enough.",
            plain(name)
        ),
        HeldBack::OthersFailToo => {
            "It is not halted: updates to other releases fail at the same time as well.".to_owned()
        }
    }
}

/// For whom a halt is.
pub fn scope_words(scope: &HaltScope) -> String {
    let from = scope.from.map(|minor| format!("updates from {minor}"));
    let platform = scope.platform.as_ref();
    let platform = platform.map(|platform| format!("platform {}", plain(platform.as_str())));
    let arch = scope
        .arch
        .as_ref()
        .map(|arch| format!("architecture {}", plain(arch.as_str())));
    joined([from, platform, arch].into_iter().flatten(), "all clusters")
}

pub(super) fn halt_words(halt: &Halt) -> String {
    let way = match halt.way {
        HaltWay::AgainstHistory => {
            "it fails more often than updates did before, and others do not fail as much now"
        }
        HaltWay::AgainstOthers => "it fails more often than other updates at the same time",
    };
    format!(
        "Halt for {} since {}: {way} (evidence {}, needed {})",
        scope_words(&halt.scope),
        second(halt.since),
        halt.evidence,
        halt.needed
    )
}

/// What was done with a halt, and what undoes it.
fn what_follows(decision: &WatchDecision) -> &'static str {
    match (decision.watched.settings.mode, &decision.judgement.act) {
        (Mode::Observe, _) => {
            "The mode is observe, so the watch does nothing about it. `towpath rollouts halt` stops the release; `towpath rollouts list` shows whether somebody has."
        }
        (Mode::Propose, WatchAct::Nothing) => {
            "The halt was proposed as graph data, unless somebody had halted the release before. A proposal holds once people commit it; deleting the file undoes it."
        }
        (Mode::Propose, _) => "The halt is being proposed as graph data, for people to commit.",
        (Mode::Enforce, WatchAct::Nothing) => {
            "The halt was made. It stands until two people undo it with `towpath rollouts resume`; then the watch does not make it again. `towpath rollouts list` shows which halts stand."
        }
        (Mode::Enforce, _) => "The service is about to stop offering it.",
    }
}

/// The message of a halt, as graph data carries it: one line.
pub fn halt_message(told: &Assessment, halt: &Halt) -> String {
    let scope = told.scopes.iter().find(|scope| scope.scope == halt.scope);
    let counts = scope.map_or_else(String::new, counts);
    format!(
        "The watch halted {} for {}. {counts} {}.",
        told.release,
        scope_words(&halt.scope),
        halt_words(halt)
    )
}

/// What a decision of the log did, in a few words.
pub(crate) fn logged_words(release: &str, answer: &str, act: &str, halts: usize) -> String {
    match act {
        "nothing" => format!("watch: {release} is {answer}"),
        act => format!(
            "watch: {release} is {answer}, {act} {}",
            counted(halts, "halt")
        ),
    }
}

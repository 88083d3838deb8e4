//! Halts that people make and undo over HTTP: into the store, from which every replica has them within a second.

use jiff::Timestamp;
use towpath_core::feedback::HaltScope;
use towpath_core::graph::{DeclaredHalt, Graph, RolloutWindow, rollouts};
use towpath_core::version::Version;
use towpath_formats::SourceFile;
use towpath_formats::fleet::halts::{self as told, HaltAct, ListedHalt};
use towpath_formats::graph::data;
use towpath_formats::room::Room;
use towpath_store::{HaltOutcome, NewHalt, Store, StoredHalt, Undo, UndoOutcome};
use towpath_web::{FleetAnswer, FleetForm, Snapshot};

use super::acts::NotDone;

/// What somebody wants halted.
pub(super) struct WantedHalt {
    pub(super) release: Version,
    pub(super) scope: HaltScope,
    pub(super) why: String,
    /// The name in their token.
    pub(super) by: String,
}

pub(super) async fn list(store: &Store, form: FleetForm) -> Result<FleetAnswer, FleetAnswer> {
    let halts = store.halts().await.map_err(NotDone::Store)?;
    let halts: Vec<ListedHalt> = halts.into_iter().map(listed).collect();
    Ok(match form {
        FleetForm::Json => FleetAnswer::Json(told::json(&halts).to_string()),
        FleetForm::Text { .. } | FleetForm::Markdown => FleetAnswer::Text(told::text(&halts)),
    })
}

/// Halts at once. It also works where no graph is served yet: nobody waits to stop something.
pub(super) async fn halt(
    store: &Store,
    snapshot: Option<&Snapshot>,
    wanted: WantedHalt,
    form: FleetForm,
    now: Timestamp,
) -> Result<FleetAnswer, FleetAnswer> {
    let WantedHalt {
        release,
        scope,
        why,
        by,
    } = wanted;
    let is_known = |graph: &Graph| graph.releases().iter().any(|one| one.version == release);
    if snapshot.is_some_and(|snapshot| !is_known(snapshot.graph())) {
        let sentence = format!("nothing was halted: there is no release {release} in this graph");
        return Err(FleetAnswer::NotFound(sentence));
    }
    let declared = DeclaredHalt {
        by: by.clone(),
        at: Timestamp::from_second(now.as_second()).unwrap_or(now),
        scope,
        why: Some(why.clone()),
        evidence: None,
    };
    let new = NewHalt {
        path: data::halt_path(&release, &declared.scope),
        body: data::write_halt(&release, &declared, None, None),
        release,
        by,
        why,
        at: now,
        evidence: String::new(),
    };
    let (act, stored) = match store.halt(&new).await.map_err(NotDone::Store)? {
        HaltOutcome::Made(made) => (HaltAct::Halted, made),
        HaltOutcome::Stands(stands) => (HaltAct::HaltedBefore, stands),
    };
    let (release, by, id) = (stored.halt.release.to_string(), &*stored.halt.by, stored.id);
    tracing::warn!(release, by, id, act = ?act, "a release was halted over HTTP");
    let effect = snapshot.and_then(|snapshot| effect(snapshot, &stored.halt, now));
    let effect = effect.as_ref().map(|rows| [&*rows[0], &*rows[1]]);
    let stored = listed(stored);
    Ok(match form {
        FleetForm::Json => FleetAnswer::Json(told::act_json(act, &stored, effect, now).to_string()),
        FleetForm::Text { width } => {
            let room = Room {
                width,
                ..Room::default()
            };
            FleetAnswer::Text(told::act_text(act, &stored, effect, now, room))
        }
        FleetForm::Markdown => {
            let room = Room::default();
            FleetAnswer::Text(told::act_text(act, &stored, effect, now, room))
        }
    })
}

/// Notes that somebody wants a halt undone. The second person undoes it.
pub(super) async fn undo(
    store: &Store,
    id: i64,
    by: &str,
    form: FleetForm,
    now: Timestamp,
) -> Result<FleetAnswer, FleetAnswer> {
    let outcome = store.undo_halt(id, by, now).await.map_err(NotDone::Store)?;
    let (act, stored) = match outcome {
        UndoOutcome::Unknown => {
            let sentence = format!(
                "there is no halt {id}; `towpath rollouts list` and /api/v1/rollouts/halts have all"
            );
            return Err(FleetAnswer::NotFound(sentence));
        }
        UndoOutcome::First(halt) | UndoOutcome::Again(halt) => (HaltAct::UndoNoted, halt),
        UndoOutcome::Undone(halt) => (HaltAct::Undone, halt),
        UndoOutcome::Already(halt) => (HaltAct::UndoneBefore, halt),
    };
    let release = stored.halt.release.to_string();
    tracing::warn!(release, by, id, act = ?act, "an undo of a halt came over HTTP");
    let stored = listed(stored);
    let text = match form {
        FleetForm::Json => told::act_json(act, &stored, None, now).to_string(),
        FleetForm::Text { .. } | FleetForm::Markdown => format!("{}\n", act.sentence(&stored)),
    };
    Ok(match (act, form) {
        (HaltAct::UndoNoted, FleetForm::Json) => FleetAnswer::Accepted(text),
        (_, FleetForm::Json) => FleetAnswer::Json(text),
        (_, FleetForm::Text { .. } | FleetForm::Markdown) => FleetAnswer::Text(text),
    })
}

/// What clusters see of the release before and after; nothing where this service has no graph data of its own.
fn effect(snapshot: &Snapshot, halt: &NewHalt, now: Timestamp) -> Option<[Vec<RolloutWindow>; 2]> {
    let file = SourceFile::new(halt.path.clone(), halt.body.as_bytes());
    let after = snapshot.graph_with(file)?;
    let rows = |graph: &Graph| {
        let mut rows = rollouts(graph, now);
        rows.retain(|row| row.to == halt.release);
        rows
    };
    Some([rows(snapshot.graph()), rows(&after)])
}

fn listed(stored: StoredHalt) -> ListedHalt {
    let undo = |undo: Option<Undo>| undo.map(|undo| (undo.by, undo.at));
    ListedHalt {
        id: stored.id,
        release: stored.halt.release,
        path: stored.halt.path,
        by: stored.halt.by,
        at: stored.halt.at,
        why: stored.halt.why,
        first_undo: undo(stored.first_undo),
        undone: undo(stored.undone),
    }
}

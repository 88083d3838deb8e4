//! A halt of the watch as a file of graph data: the same that `towpath rollouts halt` makes, for the clusters of its scope.

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::feedback::{Assessment, Halt, HaltScope};
use towpath_core::graph::{DeclaredHalt, ObservedFailures};
use towpath_core::version::Version;

use super::text::{halt_message, halt_words, scope_words};
use crate::SourceFile;
use crate::graph::data;

/// Who halts.
pub const BY: &str = "watch";

/// The file of one halt. It is as old as its evidence, so it is the same whenever it is written.
pub fn file(told: &Assessment, halt: &Halt) -> SourceFile {
    let scope = told.scopes.iter().find(|scope| scope.scope == halt.scope);
    let evidence = scope.map(|scope| ObservedFailures {
        attempts: scope.attempts,
        known: scope.known,
        failed: scope.failed,
        degraded: scope.degraded,
        sentence: format!("{}.", halt_words(halt)),
    });
    let declared = DeclaredHalt {
        by: BY.to_owned(),
        at: Timestamp::from_second(halt.since.as_second()).unwrap_or(halt.since),
        scope: halt.scope.clone(),
        why: Some(halt_message(told, halt)),
        evidence,
    };
    let text = data::write_halt(&told.release, &declared, None, None);
    SourceFile::new(path(&told.release, &halt.scope), text.into_bytes())
}

/// Where the file of a halt belongs.
pub fn path(release: &Version, scope: &HaltScope) -> String {
    data::halt_path(release, scope)
}

/// The scope of a halt's file.
pub fn scope_of(path: &str, body: &str) -> Option<HaltScope> {
    let file = SourceFile::new(path, body.as_bytes());
    let blocks = data::Memory::default().read_blocks(&[file]);
    let mut halts = blocks.iter().filter_map(|block| block.halt.as_ref());
    halts.next().map(|halt| halt.scope.clone())
}

/// What a proposal is known by, through restarts and in every replica.
pub fn id(told: &Assessment, halt: &Halt, decision: i64) -> String {
    format!("{decision}/{}", path(&told.release, &halt.scope))
}

/// The message of a commit that has the file: what, on what evidence, and where it comes from.
pub fn commit_message(told: &Assessment, halt: &Halt, decision: i64) -> String {
    let scope = scope_words(&halt.scope);
    let release = &told.release;
    let evidence = halt_message(told, halt);
    let id = id(told, halt, decision);
    format!(
        "Halt {release} for {scope}\n\n{evidence}\n\n\
         Merging this stops offering {release} there. Removing the file later undoes it.\n\n\
         Towpath-Decision: {decision}\nTowpath-Halt: {id}\n"
    )
}

/// The name of a branch for the file.
pub fn branch_name(release: &Version, scope: &HaltScope) -> String {
    let path = path(release, scope);
    let name = path.rsplit('/').next().unwrap_or(&path);
    name.trim_end_matches(".yaml").to_owned()
}

/// What a webhook is sent: what is proposed, why, and the file to commit. Who gets it twice tells by its `id`.
pub fn message(told: &Assessment, halt: &Halt, decision: i64) -> Value {
    let file = file(told, halt);
    json!({
        "id": id(told, halt, decision),
        "release": told.release.to_string(),
        "decision": decision,
        "message": halt_message(told, halt),
        "halt": super::json::halt(halt),
        "assessment": super::json::of_assessment(told),
        "file": {"path": file.path, "text": String::from_utf8_lossy(&file.bytes)},
    })
}

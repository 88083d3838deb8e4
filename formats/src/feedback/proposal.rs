//! A proposed halt as a file of graph data: the same that `towpath rollouts halt` makes, for the clusters of its scope.

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::cluster::Platform;
use towpath_core::feedback::{Assessment, Halt, HaltScope};
use towpath_core::version::Version;

use super::text::halt_message;
use crate::SourceFile;
use crate::change::steering::MARK;
use crate::words::second;

/// The name of a block that the watch proposes.
const NAME: &str = "RolloutHalted";

/// The file of one halt.
pub fn file(told: &Assessment, halt: &Halt, now: Timestamp) -> SourceFile {
    // A text in quotes is the same in JSON and YAML.
    let quoted = |text: &str| Value::from(text).to_string();
    let mut text = format!(
        "{MARK}, proposed by the watch, {}. Deleting this file resumes the rollout.\nto: {}\nfrom: {}\nname: {NAME}\nmessage: {}\n",
        second(now),
        told.release,
        quoted(&from(&halt.scope)),
        quoted(&halt_message(told, halt)),
    );
    if let Some(platform) = &halt.scope.platform {
        text += &format!("clusters: {}\n", json!({"platforms": [platform.as_str()]}));
    }
    SourceFile::new(path(&told.release, &halt.scope), text.into_bytes())
}

/// What a webhook is sent: what is proposed, why, and the file to commit. Who gets it twice tells by its `id`.
pub fn message(told: &Assessment, halt: &Halt, decision: i64, now: Timestamp) -> Value {
    let file = file(told, halt, now);
    json!({
        "id": format!("{}/{}", told.release, file.path),
        "release": told.release.to_string(),
        "decision": decision,
        "message": halt_message(told, halt),
        "halt": super::json::halt(halt),
        "assessment": super::json::of_assessment(told),
        "file": {"path": file.path, "text": String::from_utf8_lossy(&file.bytes)},
    })
}

/// Whether a file that is there proposes the same halt: all but the first line, which has the time.
pub fn is_same(one: &[u8], other: &[u8]) -> bool {
    let rest = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        end.map(|end| bytes[end..].to_vec())
    };
    rest(one).is_some() && rest(one) == rest(other)
}

fn path(to: &Version, scope: &HaltScope) -> String {
    let plain = |name: &str| name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let from = scope.from.map(|from| format!("-from-{from}"));
    let platform = scope.platform.as_ref().map(Platform::as_str);
    let platform = platform.map(|platform| format!("-on-{}", plain(platform)));
    let arch = scope
        .arch
        .as_ref()
        .map(|arch| format!("-with-{}", plain(arch.as_str())));
    let parts: String = [from, platform, arch].into_iter().flatten().collect();
    format!("blocked-edges/{to}-halted{parts}.yaml")
}

/// The releases whose edges it stops, as a block says it.
fn from(scope: &HaltScope) -> String {
    let from = scope
        .from
        .map(|from| format!("^{}[.]{}[.]", from.major, from.minor));
    let arch = scope
        .arch
        .as_ref()
        .map(|arch| format!("[+]{}$", arch.as_str()));
    match (from, arch) {
        (None, None) => ".*".to_owned(),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(from), Some(arch)) => format!("{from}.*{arch}"),
    }
}

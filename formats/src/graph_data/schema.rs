//! The schema version of graph data, and which ones we read.

use towpath_core::domain::Version;
use towpath_core::finding::{Finding, Place};

use crate::SourceFile;

/// The schemas that differ for a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Schema {
    /// 1.0.0 and 1.1.0: a channel per file.
    V1,
    /// 2.0.0: channels that share releases and phase them in.
    V2,
}

/// For each major version, the newest minor that we read.
const READ: [(u64, u64, Schema); 2] = [(1, 1, Schema::V1), (2, 0, Schema::V2)];
const REMEDY: &str = "this towpath reads schema 1.0.0, 1.1.0 and 2.0.0";

/// Reads the file `version`. We read the same major with a minor up to the one we know, and nothing else.
pub(super) fn find(files: &[SourceFile]) -> Result<Schema, Finding> {
    let place = Place::file("version");
    let refuse = |problem: String| Err(Finding::error("unknown-schema", place.clone(), problem, REMEDY));
    let Some(file) = files.iter().find(|file| file.path == "version") else {
        return refuse("there is no schema version: the file `version` is missing".into());
    };
    let text = String::from_utf8_lossy(&file.bytes);
    let Ok(version) = text.trim().parse::<Version>() else {
        return refuse(format!("{:?} is not a schema version", text.trim().chars().take(40).collect::<String>()));
    };
    let known = READ.iter().find(|(major, minor, _)| version.major() == *major && version.minor() <= *minor);
    match known {
        Some((_, _, schema)) if version.pre_release().is_empty() => Ok(*schema),
        _ => refuse(format!("the schema version is {version}, which this towpath does not understand")),
    }
}

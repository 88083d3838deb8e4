//! The schema version of graph data, and which ones we read.

use towpath_core::finding::{Finding, Place};
use towpath_core::version::Version;

use crate::SourceFile;

/// The schemas that differ for a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Schema {
    /// 1.0.0: a channel per file. Blocks have no `clusters`.
    V1_0,
    /// 1.1.0: the same, and blocks may have `clusters`.
    V1,
    /// 2.0.0: channels that share releases and phase them in.
    V2,
    /// 2.1.0: the same, and rules for single releases and edges, starts of single channels, and `held`.
    V2_1,
}

impl Schema {
    pub(super) fn shown(self) -> &'static str {
        match self {
            Self::V1_0 | Self::V1 => "1.x",
            Self::V2 => "2.0.0",
            Self::V2_1 => "2.1.0",
        }
    }

    pub(super) fn other(self) -> &'static str {
        match self {
            Self::V1_0 | Self::V1 => Self::V2.shown(),
            Self::V2 | Self::V2_1 => Self::V1.shown(),
        }
    }

    /// Whether a file of channels has the other schema's field at its top, and not this one's.
    pub(super) fn is_other(self, bytes: &[u8]) -> bool {
        let has = |field: &[u8]| {
            without_mark(bytes)
                .split(|b| *b == b'\n')
                .any(|line| line.starts_with(field))
        };
        match (self, has(b"name:"), has(b"channels:")) {
            (Self::V1_0 | Self::V1, name, channels) => channels && !name,
            (Self::V2 | Self::V2_1, name, channels) => name && !channels,
        }
    }
}

/// The schemas that we read: major, minor.
const READ: [(u64, u64, Schema); 4] = [
    (1, 0, Schema::V1_0),
    (1, 1, Schema::V1),
    (2, 0, Schema::V2),
    (2, 1, Schema::V2_1),
];
const REMEDY: &str = "this towpath reads schema 1.0.0, 1.1.0, 2.0.0 and 2.1.0";

/// Reads the file `version`, with a byte order mark or without.
pub(super) fn find(files: &[SourceFile]) -> Result<Schema, Finding> {
    let place = Place::file("version");
    let refuse = |problem: String| {
        Err(Finding::error(
            "unknown-schema",
            place.clone(),
            problem,
            REMEDY,
        ))
    };
    let Some(file) = files.iter().find(|file| file.path == "version") else {
        let problem = "the file `version` is missing, so this is no graph data";
        let remedy = "name the directory that holds version, channels/ and blocked-edges/; or write the schema into `version`, as in 2.0.0";
        return Err(Finding::error(
            "unknown-schema",
            place.clone(),
            problem,
            remedy,
        ));
    };
    let text = String::from_utf8_lossy(without_mark(&file.bytes));
    let Ok(version) = text.trim().parse::<Version>() else {
        // What is no number at all may be anything, also somebody's secret: it is not quoted.
        let is_number =
            text.trim().chars().all(|c| c.is_ascii_digit() || c == '.') && text.trim().len() <= 40;
        return refuse(match is_number {
            true => format!("{:?} is not a schema version", text.trim()),
            false => "what the file says is not a schema version".into(),
        });
    };
    let known = READ
        .iter()
        .find(|(major, minor, _)| version.major() == *major && version.minor() == *minor);
    match known {
        Some((_, _, schema)) if version.pre_release().is_empty() => Ok(*schema),
        _ => refuse(format!(
            "the schema version is {version}, which this towpath does not understand"
        )),
    }
}

/// A text without the byte order mark that some editors begin files with. YAML may begin with one, too.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

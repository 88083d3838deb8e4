//! Files that are named on the command line. `-` is standard input, wherever a file is read.
//!
//! There is one standard input, so one `-` in a command. What it held is kept, because some commands read a file more than once.

use std::ffi::OsStr;
use std::io::{Read, stdin};
use std::path::Path;
use std::sync::OnceLock;

use towpath_core::finding::{Finding, Place};
use towpath_sources::read_file;

/// Stands for standard input.
pub(crate) const STDIN: &str = "-";

static CONTENTS: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();

/// Reads a file, or standard input.
pub(crate) fn read_input(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Finding> {
    if path != STDIN {
        return read_file(path, max_bytes);
    }
    let wrong = |problem: String| {
        let remedy = "pipe a file into it, or name the file";
        Finding::error("unreadable", Place::file("standard input"), problem, remedy)
    };
    let contents = CONTENTS.get_or_init(|| {
        let mut bytes = Vec::new();
        let read = stdin().lock().take(max_bytes + 1).read_to_end(&mut bytes);
        read.map(|_| bytes)
            .map_err(|error| format!("it cannot be read: {error}"))
    });
    match contents {
        Ok(bytes) if bytes.len() as u64 > max_bytes => {
            Err(wrong(format!("it is larger than {max_bytes} bytes")))
        }
        Ok(bytes) => Ok(bytes.clone()),
        Err(problem) => Err(wrong(problem.clone())),
    }
}

/// Whether a command names standard input more than once; one of them would find it empty.
pub(crate) fn names_stdin_twice(arguments: impl Iterator<Item = impl AsRef<OsStr>>) -> bool {
    let is_stdin = |argument: &OsStr| {
        let text = argument.to_string_lossy();
        text == STDIN || (text.starts_with("--") && text.ends_with("=-"))
    };
    let named = arguments.filter(|argument| is_stdin(argument.as_ref()));
    named.count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_input_is_named_once() {
        let twice = |line: &str| names_stdin_twice(line.split(' '));
        assert!(!twice("towpath ready -"));
        assert!(!twice("towpath fleet plan --clusters=- --limit 3"));
        assert!(twice("towpath mirror --clusters - --have -"));
        assert!(twice("towpath mirror --clusters=- --have -"));
    }
}

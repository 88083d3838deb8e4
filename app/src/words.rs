//! Words that every command prints in the same way: times, numbers with their nouns, tables without trailing spaces.

use comfy_table::Table;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A time to the minute, as people read it.
pub(crate) fn minute(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC)
        .strftime("%Y-%m-%d %H:%MZ")
        .to_string()
}

/// A number with its noun.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        more => format!("{more} {noun}s"),
    }
}

/// The table as text, with nothing at the ends of lines.
pub(crate) fn shown(table: &Table) -> String {
    table
        .to_string()
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

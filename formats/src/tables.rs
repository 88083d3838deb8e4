//! Tables without lines: columns that a person can read and `awk` can cut.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

/// How much room a table has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    /// The most rows.
    pub rows: Option<usize>,
    /// The columns of the terminal; none if nobody is looking.
    pub width: Option<u16>,
}

/// A table as wide as its cells.
pub(crate) fn table<'a>(head: impl IntoIterator<Item = &'a str>) -> Table {
    fitted(head, None)
}

/// A table whose cells are broken so that it fits the terminal.
pub(crate) fn fitted<'a>(head: impl IntoIterator<Item = &'a str>, width: Option<u16>) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(head);
    match width {
        Some(width) => table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    table
}

/// Numbers stand at the right of these columns.
pub(crate) fn align_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for at in columns {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
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

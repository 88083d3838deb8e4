//! Tables without lines: columns that a person can read and `awk` can cut.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, Width};

use crate::room::{Colour, Room};

/// The columns around a cell.
const PADDING: usize = 2;

/// A table as wide as its cells.
pub(crate) fn table<'a>(head: impl IntoIterator<Item = &'a str>) -> Table {
    fitted(head, None)
}

/// A table whose cells are broken between words so that it fits the terminal.
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

/// The table as text, with nothing at the ends of lines. Where not even its words fit side by side, it is one field a line.
pub(crate) fn shown(table: &Table) -> String {
    let Some(width) = table.width() else {
        return lines(table);
    };
    let least = least_widths(table);
    if least.iter().sum::<usize>() > usize::from(width) {
        return Room::on_terminal(width, Colour::Never).fit(&records(table));
    }
    let mut table = table.clone();
    for (column, least) in table.column_iter_mut().zip(least) {
        let least = Width::Fixed(u16::try_from(least).unwrap_or(u16::MAX));
        column.set_constraint(ColumnConstraint::LowerBoundary(least));
    }
    lines(&table)
}

fn lines(table: &Table) -> String {
    table
        .to_string()
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// The width that each column needs for its longest word.
fn least_widths(table: &Table) -> Vec<usize> {
    let mut widths: Vec<usize> = Vec::new();
    for row in table.header().into_iter().chain(table.row_iter()) {
        for (at, cell) in cells(row).into_iter().enumerate() {
            let word = cell.split_whitespace().map(|word| word.chars().count());
            let least = word.max().unwrap_or(0) + PADDING;
            match widths.get_mut(at) {
                Some(width) => *width = least.max(*width),
                None => widths.push(least),
            }
        }
    }
    widths
}

/// Each row as lines of its own, a field a line; what is empty is left out.
fn records(table: &Table) -> String {
    let head = table.header().map(cells).unwrap_or_default();
    let width = head.iter().map(|name| name.chars().count()).max();
    let width = width.unwrap_or(0);
    let record = |row: &Row| {
        let fields = head.iter().zip(cells(row));
        let fields = fields.filter(|(_, cell)| !matches!(cell.trim(), "" | "-"));
        fields
            .map(|(name, cell)| format!(" {name:width$}  {cell}\n"))
            .collect::<String>()
    };
    let records: Vec<String> = table.row_iter().map(record).collect();
    records.join("\n")
}

fn cells(row: &Row) -> Vec<String> {
    row.cell_iter().map(|cell| cell.content()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(width: Option<u16>) -> String {
        let mut table = fitted(["ORGANISATION", "NEXT", "HELD BY"], width);
        table.add_row(["acme", "shop-eu → 4.20.5 2026-11-20 10:00Z", "schedule 12"]);
        table.add_row(["-", "-", "soak 1"]);
        shown(&table)
    }

    #[test]
    fn cells_are_broken_between_words() {
        for width in 40..80 {
            let text = status(Some(width));
            assert!(
                text.lines()
                    .all(|line| line.chars().count() <= usize::from(width)),
                "{width}\n{text}"
            );
            for word in ["ORGANISATION", "shop-eu", "2026-11-20", "schedule"] {
                assert!(text.contains(word), "{width}: {word}\n{text}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_side_by_side_is_one_field_a_line() {
        assert_eq!(
            status(Some(20)),
            " ORGANISATION  acme\n NEXT          shop-eu → 4.20.5\n               2026-11-20 10:00Z\n HELD BY       schedule 12\n\n HELD BY       soak 1\n"
        );
    }

    #[test]
    fn where_nobody_looks_a_row_is_a_line() {
        assert_eq!(status(None).lines().count(), 3);
    }
}

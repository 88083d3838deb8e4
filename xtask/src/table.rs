//! A table for people: a head, rows, columns as wide as they need.

use std::fmt;

/// A table. The first column is set to the left, figures to the right.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with a head and no rows.
    pub(crate) fn new<const N: usize>(head: [&str; N]) -> Self {
        Self {
            rows: vec![head.map(str::to_owned).to_vec()],
        }
    }

    /// Adds a row, as long as the head.
    pub(crate) fn row<const N: usize>(&mut self, row: [String; N]) {
        assert_eq!(N, self.rows[0].len(), "a row is as long as the head");
        self.rows.push(row.to_vec());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        for (number, row) in self.rows.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            write!(f, "{:<width$}", row[0], width = widths[0])?;
            for (cell, width) in row.iter().zip(&widths).skip(1) {
                write!(f, "  {cell:>width$}")?;
            }
        }
        Ok(())
    }
}

/// A time in microseconds, as people read it.
pub(crate) fn shown_micros(micros: f64) -> String {
    match micros {
        small if small < 1e3 => format!("{small:.0} us"),
        medium if medium < 1e6 => format!("{:.2} ms", medium / 1e3),
        large => format!("{:.2} s", large / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_need() {
        let mut table = Table::new(["name", "req/s"]);
        table.row(["stable-4.9".into(), "7".into()]);
        table.row(["x".into(), "123456".into()]);
        assert_eq!(
            table.to_string(),
            "name         req/s\nstable-4.9       7\nx           123456"
        );
    }

    #[test]
    fn times_have_units() {
        assert_eq!(
            [12.0, 1_500.0, 2e6].map(shown_micros),
            ["12 us", "1.50 ms", "2.00 s"]
        );
    }
}

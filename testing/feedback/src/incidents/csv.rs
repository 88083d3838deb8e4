//! Just enough CSV for the files of the real data: a head, fields that may be quoted, no line breaks within fields.

use std::collections::BTreeMap;

/// The rows of a file, each with its fields by the names of the head.
pub(super) fn rows(text: &str) -> Result<Vec<BTreeMap<&str, String>>, String> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let row = |(number, line): (usize, &str)| {
        let fields = fields(line);
        match fields.len() == head.len() {
            true => Ok(head.iter().copied().zip(fields).collect()),
            false => Err(format!(
                "line {}: {} fields, and the head has {}",
                number + 2,
                fields.len(),
                head.len()
            )),
        }
    };
    lines.enumerate().map(row).collect()
}

fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut is_quoted) = (vec![String::new()], false);
    for sign in line.chars() {
        match sign {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            other => fields.last_mut().unwrap().push(other),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_within_quotes_are_part_of_a_field() {
        let rows = rows("to,kind,withdrawn\n4.1.1,\"Always,PromQL\",\n").unwrap();
        assert_eq!(rows[0]["kind"], "Always,PromQL");
        assert_eq!(rows[0]["withdrawn"], "");
    }

    #[test]
    fn a_row_that_is_too_short_is_told() {
        let error = rows("a,b\n1,2\n3\n").unwrap_err();
        assert_eq!(error, "line 3: 1 fields, and the head has 2");
    }
}

//! Words for people: lines that end before the margin, counts with their nouns.

/// Lines are broken before this column, commands never.
const WIDTH: usize = 110;

/// A text in lines, the first after `start` and the others below it.
pub(crate) fn wrapped(start: &str, text: &str) -> String {
    let indent = " ".repeat(start.chars().count());
    let (mut lines, mut line) = (String::new(), start.to_owned());
    let mut is_first = true;
    for word in text.split_whitespace() {
        let length = line.chars().count() + 1 + word.chars().count();
        if !is_first && length > WIDTH {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = indent.clone();
            is_first = true;
        }
        if !is_first {
            line.push(' ');
        }
        line.push_str(word);
        is_first = false;
    }
    lines + line.trim_end() + "\n"
}

/// `1 node`, `3 nodes`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_go_on_below_and_long_words_stay_whole() {
        let word = "x".repeat(60);
        assert_eq!(wrapped("- ", &format!("{word} {word}")), format!("- {word}\n  {word}\n"));
        let long = "y".repeat(200);
        assert_eq!(wrapped("- ", &long), format!("- {long}\n"));
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "node")), ["0 nodes", "1 node", "2 nodes"]);
    }
}

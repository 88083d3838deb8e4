//! The room that a text has: how wide, how many rows, in colour or not. One rule for all texts.
//!
//! - Where nobody looks (a pipe, a file, an HTTP answer) sentences are broken before column 110, and tables are as wide as their cells.
//! - On a terminal nothing is wider than the terminal: sentences go on below where they began. Words, addresses and commands stay whole.
//! - A terminal that tells no width, or next to none, counts as one of [`Room::NARROWEST`] columns at least.
//! - Colour repeats what a word says. It is never the only sign, and never there unless somebody looks.

use std::borrow::Cow;

/// How much room there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    /// The most rows of a table.
    pub rows: Option<usize>,
    /// The columns of the terminal; none if nobody is looking.
    pub width: Option<u16>,
    pub colour: Colour,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Colour {
    #[default]
    Never,
    /// As terminals have it: the escape sequences of ECMA-48.
    Ansi,
}

/// What a colour stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Careful,
    Bad,
}

/// Sentences are broken before this column, however wide the terminal is: longer lines are hard to read.
const WIDTH: usize = 110;

// Marks in a draft. They are characters that Unicode keeps for such private use, and no terminal ever sees them.
/// Lines that follow begin below this place.
pub(crate) const BELOW: char = '\u{fdd0}';
const GOOD: char = '\u{fdd1}';
const CAREFUL: char = '\u{fdd2}';
const BAD: char = '\u{fdd3}';
const PLAIN: char = '\u{fdd4}';

impl Room {
    /// A narrower terminal is treated as one of this width.
    pub const NARROWEST: u16 = 40;

    /// On a terminal of so many columns; one of none does not know its own width.
    pub fn on_terminal(columns: u16, colour: Colour) -> Self {
        let width = (columns > 0).then(|| columns.max(Self::NARROWEST));
        Self {
            rows: None,
            width,
            colour,
        }
    }

    /// The text as it is shown: broken into lines, and coloured. What fits stays as it is.
    pub fn fit(&self, draft: &str) -> String {
        let terminal = self.width.map(usize::from);
        let mut text = String::with_capacity(draft.len());
        for line in draft.split_inclusive('\n') {
            let (line, end) = match line.strip_suffix('\n') {
                Some(line) => (line, "\n"),
                None => (line, ""),
            };
            let broken = match (line.split_once(BELOW), terminal) {
                (Some((start, rest)), _) => {
                    let most = terminal.map_or(WIDTH, |columns| columns.min(WIDTH));
                    broken(start, rest, most)
                }
                (None, Some(columns)) if columns_of(line) > columns && !is_command(line) => {
                    let (start, rest) = line.split_at(hangs_at(line, columns));
                    broken(start, rest, columns)
                }
                (None, _) => line.to_owned(),
            };
            text.push_str(&broken);
            text.push_str(end);
        }
        self.coloured(&text)
    }

    fn coloured(self, text: &str) -> String {
        let shown = |c: char| match (c, self.colour) {
            (GOOD, Colour::Ansi) => "\x1b[32m".to_owned(),
            (CAREFUL, Colour::Ansi) => "\x1b[33m".to_owned(),
            (BAD, Colour::Ansi) => "\x1b[31m".to_owned(),
            (PLAIN, Colour::Ansi) => "\x1b[0m".to_owned(),
            (c, _) if is_mark(c) => String::new(),
            (c, _) => c.to_string(),
        };
        match text.contains(is_mark) {
            true => text.chars().map(shown).collect(),
            false => text.to_owned(),
        }
    }
}

/// A text of a draft in this tone.
pub fn toned(tone: Tone, text: &str) -> String {
    let mark = match tone {
        Tone::Good => GOOD,
        Tone::Careful => CAREFUL,
        Tone::Bad => BAD,
    };
    format!("{mark}{text}{PLAIN}")
}

fn is_mark(c: char) -> bool {
    (BELOW..=PLAIN).contains(&c)
}

/// A text in lines, the first after `start` and the others below it.
fn broken(start: &str, text: &str, most: usize) -> String {
    let hang = columns_of(start);
    // Where there is hardly any room behind the start, lines go on nearer to the margin.
    let indent = if hang + 20 > most { 4.min(hang) } else { hang };
    let (mut lines, mut line, mut length) = (String::new(), start.to_owned(), hang);
    let mut is_first = true;
    for word in whole_words(text) {
        let word_length = columns_of(&word);
        if !is_first && length + 1 + word_length > most {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = " ".repeat(indent);
            length = indent;
            is_first = true;
        }
        if !is_first {
            line.push(' ');
            length += 1;
        }
        line.push_str(&word);
        length += word_length;
        is_first = false;
    }
    lines + line.trim_end()
}

/// The words of a text. A day and its time are one: `2026-11-18 12:00Z`.
fn whole_words(text: &str) -> Vec<Cow<'_, str>> {
    let mut words: Vec<Cow<'_, str>> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(day) if ends_with_day(day) && begins_with_time(word) => {
                *day = Cow::Owned(format!("{day} {word}"));
            }
            _ => words.push(Cow::Borrowed(word)),
        }
    }
    words
}

fn ends_with_day(word: &str) -> bool {
    let at = word.len().saturating_sub("2026-11-18".len());
    word.get(at..).is_some_and(|end| is_like(end, "0000-00-00"))
}

fn begins_with_time(word: &str) -> bool {
    word.get(..5).is_some_and(|start| is_like(start, "00:00"))
}

/// Whether a text has digits where the form has zeros, and else what the form has.
fn is_like(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(c, form)| match form {
            b'0' => c.is_ascii_digit(),
            _ => c == form,
        })
}

/// The columns that a text takes: neither marks nor escape sequences take any.
fn columns_of(text: &str) -> usize {
    let (mut columns, mut in_escape) = (0, false);
    for c in text.chars() {
        match (in_escape, c) {
            (true, 'm') => in_escape = false,
            (true, _) => {}
            (false, '\x1b') => in_escape = true,
            (false, c) if is_mark(c) => {}
            (false, _) => columns += 1,
        }
    }
    columns
}

/// A line to copy into a shell.
fn is_command(line: &str) -> bool {
    line.trim_start().starts_with("$ ")
}

/// Where the sentence of a line begins: behind its indent, the mark of a point, or the columns before it. As an index of bytes.
fn hangs_at(line: &str, columns: usize) -> usize {
    let indent = line.len() - line.trim_start().len();
    let rest = &line[indent..];
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let point = match rest {
        _ if rest.starts_with("- ") => "- ".len(),
        _ if rest.starts_with("→ ") => "→ ".len(),
        _ if digits > 0 && rest[digits..].starts_with(". ") => digits + 2,
        _ => 0,
    };
    let begin = indent + point;
    let mut hang = begin;
    for (at, _) in line[begin..].match_indices("  ") {
        let gap = begin + at;
        let next = gap + (line[gap..].len() - line[gap..].trim_start().len());
        if columns_of(&line[..next]) <= columns / 2 {
            hang = hang.max(next);
        }
    }
    hang
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(columns: u16) -> Room {
        Room::on_terminal(columns, Colour::Never)
    }

    #[test]
    fn a_terminal_without_columns_is_none_and_a_tiny_one_is_wider() {
        assert_eq!(at(0), Room::default());
        assert_eq!(at(1).width, Some(40));
        assert_eq!(at(39).width, Some(40));
        assert_eq!(at(41).width, Some(41));
    }

    #[test]
    fn sentences_go_on_below_where_they_began() {
        let sentence = "one two three four five six seven eight nine ten eleven twelve";
        assert_eq!(
            at(40).fit(&format!("- {BELOW}{sentence}\n")),
            "- one two three four five six seven\n  eight nine ten eleven twelve\n"
        );
        assert_eq!(
            at(40).fit(&format!("  4.20.3  no  {sentence}\n")),
            "  4.20.3  no  one two three four five\n              six seven eight nine ten\n              eleven twelve\n"
        );
        assert_eq!(
            at(40).fit(&format!("  12. {sentence}\n")),
            "  12. one two three four five six seven\n      eight nine ten eleven twelve\n"
        );
    }

    #[test]
    fn a_day_and_its_time_are_one_word() {
        let draft =
            format!("- {BELOW}its schedule is closed until 2026-11-18 12:00Z, (2026-11-19 x) é\n");
        assert_eq!(
            at(42).fit(&draft),
            "- its schedule is closed until\n  2026-11-18 12:00Z, (2026-11-19 x) é\n"
        );
    }

    #[test]
    fn where_nobody_looks_only_sentences_are_broken() {
        let word = "x".repeat(60);
        let none = Room::default();
        assert_eq!(
            none.fit(&format!("- {BELOW}{word} {word}\n")),
            format!("- {word}\n  {word}\n")
        );
        let row = format!("{word}  {word}\n");
        assert_eq!(none.fit(&row), row, "a row of a table");
    }

    #[test]
    fn a_wide_terminal_does_not_make_long_lines() {
        let sentence = "word ".repeat(60);
        let text = at(200).fit(&format!("{BELOW}{sentence}\n"));
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }

    #[test]
    fn words_and_commands_stay_whole() {
        let long = format!("  see https://example.com/{}\n", "y".repeat(80));
        assert_eq!(
            at(40).fit(&long),
            long.replace("see ", "see\n  "),
            "the address"
        );
        let command = format!("    $ towpath {}\n", "--flag value ".repeat(10).trim_end());
        assert_eq!(at(40).fit(&command), command);
    }

    #[test]
    fn colour_repeats_a_word_and_takes_no_room() {
        let draft = format!("4.20.3  {}\n", toned(Tone::Bad, "no"));
        assert_eq!(at(80).fit(&draft), "4.20.3  no\n");
        let coloured = Room::on_terminal(80, Colour::Ansi).fit(&draft);
        assert_eq!(coloured, "4.20.3  \u{1b}[31mno\u{1b}[0m\n");
        let words = format!("{} {}", toned(Tone::Good, &"a".repeat(19)), "b".repeat(20));
        assert_eq!(at(40).fit(&words).lines().count(), 1, "it just fits");
    }
}

//! A page with commands in it: `console` blocks, in which `$ ` begins a command and `> ` goes on with it. What follows is
//! what it printed.

use std::path::Path;

use crate::Shell;

/// A part of a page.
#[derive(Debug, PartialEq, Eq)]
pub enum PagePart<'a> {
    /// A line of text, or the fence of a block.
    Line(&'a str),
    Command(TypedCommand<'a>),
}

/// A command, and what the page says that it prints.
#[derive(Debug, PartialEq, Eq)]
pub struct TypedCommand<'a> {
    /// The line of the page on which it begins, from 1.
    pub line: usize,
    /// As it stands on the page, with its prompts.
    pub typed: Vec<&'a str>,
    pub printed: Vec<&'a str>,
}

impl TypedCommand<'_> {
    /// What a shell reads.
    pub fn text(&self) -> String {
        let lines = self.typed.iter().map(|line| line.get(2..).unwrap_or(""));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Whether that is what the page says. There `…` stands for any text, and a line of it for any lines.
    pub fn prints(&self, printed: &str) -> bool {
        fit(&self.printed, &printed.lines().collect::<Vec<_>>())
    }

    /// What the page should say: what is printed, unless the page leaves something open and is right.
    pub fn told_again(&self, printed: &str) -> String {
        let is_open = self.printed.iter().any(|line| line.contains('…'));
        match is_open && self.prints(printed) {
            true => self
                .printed
                .iter()
                .map(|line| format!("{line}\n"))
                .collect(),
            false => printed.to_owned(),
        }
    }
}

fn fit(told: &[&str], lines: &[&str]) -> bool {
    match (told, lines) {
        ([], []) => true,
        (["…", rest @ ..], _) => (0..=lines.len()).any(|skip| fit(rest, &lines[skip..])),
        ([first, told @ ..], [line, lines @ ..]) => fits(first, line) && fit(told, lines),
        _ => false,
    }
}

fn fits(told: &str, line: &str) -> bool {
    let parts: Vec<&str> = told.split('…').collect();
    let (Some((first, parts)), Some((last, _))) = (parts.split_first(), parts.split_last()) else {
        return false;
    };
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let Some((_, between)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in between {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Runs the commands of a story one after the other. It must print what the story says; with `UPDATE_EXPECT`, the story becomes what
/// is printed.
pub fn tell_story(path: &Path, shell: &mut Shell) -> Result<(), String> {
    let written = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut told = String::new();
    for part in page_parts(&written) {
        match part {
            PagePart::Line(line) => told += &format!("{line}\n"),
            PagePart::Command(command) => {
                told.extend(command.typed.iter().map(|line| format!("{line}\n")));
                told += &command.told_again(&shell.run(&command.text()));
            }
        }
    }
    if told == written {
        return Ok(());
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return std::fs::write(path, told).map_err(|error| error.to_string());
    }
    let mut lines = written.lines().zip(told.lines());
    let different = lines.find(|(then, now)| then != now);
    Err(format!(
        "{} comes out differently, first at {different:?}:\n{told}",
        path.display()
    ))
}

/// The parts of a page, in order.
pub fn page_parts(page: &str) -> Vec<PagePart<'_>> {
    let (mut parts, mut in_console) = (Vec::new(), false);
    for (number, line) in (1..).zip(page.lines()) {
        let is_fence = line.starts_with("```");
        if !in_console || is_fence {
            in_console = line == "```console";
            parts.push(PagePart::Line(line));
        } else if line.starts_with("$ ") {
            parts.push(PagePart::Command(TypedCommand {
                line: number,
                typed: vec![line],
                printed: Vec::new(),
            }));
        } else if let Some(PagePart::Command(command)) = parts.last_mut() {
            match line.starts_with("> ") && command.printed.is_empty() {
                true => command.typed.push(line),
                false => command.printed.push(line),
            }
        } else {
            parts.push(PagePart::Line(line));
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_prompts_and_what_they_print() {
        let page = "# A page\n```console\n$ for n in 1 2; do\n>   echo $n\n> done\n1\n2\n$ true\n```\n$ no command\n```json\n$ nor this\n```\n";
        let commands: Vec<_> = page_parts(page)
            .into_iter()
            .filter_map(|part| match part {
                PagePart::Command(command) => {
                    Some((command.line, command.text(), command.printed.join(" ")))
                }
                PagePart::Line(_) => None,
            })
            .collect();
        let expected = [
            (3, "for n in 1 2; do\n  echo $n\ndone", "1 2"),
            (8, "true", ""),
        ];
        let expected =
            expected.map(|(line, text, printed)| (line, text.to_owned(), printed.to_owned()));
        assert_eq!(commands, expected);
    }

    #[test]
    fn dots_stand_for_what_differs() {
        let command = |printed: &'static str| TypedCommand {
            line: 1,
            typed: vec!["$ x"],
            printed: printed.lines().collect(),
        };
        for (told, printed, is_so) in [
            ("at … it starts", "at 12:00 it starts\n", true),
            ("at … it starts", "at 12:00 it ends\n", false),
            ("a\n…\nz", "a\nb\nc\nz\n", true),
            ("a\n…\nz", "a\nb\n", false),
            ("a", "a\n", true),
            ("a", "ab\n", false),
            ("a…b…c", "a1b2c\n", true),
        ] {
            assert_eq!(command(told).prints(printed), is_so, "{told:?} {printed:?}");
        }
        assert_eq!(command("a…").told_again("ab\n"), "a…\n");
        assert_eq!(command("a").told_again("b\n"), "b\n");
    }
}

//! The text of a 1.x channel file: its sections in order, each with its comments.
//!
//! This works on lines, because no YAML parser keeps comments. It knows the few ways in which such
//! files are written and refuses any other. The result is compared with what the real reader
//! finds.

use towpath_core::finding::{Finding, Place};
use towpath_core::version::ReleaseName;

#[derive(Debug, Default)]
pub(super) struct ChannelText {
    /// It begins with `---`.
    pub(super) marker: Option<String>,
    pub(super) sections: Vec<Section>,
    /// Comments and empty lines at its end.
    pub(super) end: Vec<String>,
}

/// A key at the top, and what is below it.
#[derive(Debug)]
pub(super) struct Section {
    /// Comments and empty lines above it, as they are.
    pub(super) above: Vec<String>,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    Name(Scalar),
    Versions {
        /// The comment beside the key.
        beside: Option<String>,
        entries: Vec<Entry>,
    },
    /// Anything that is kept to the letter: its key, and all of its lines.
    Verbatim {
        key: String,
        lines: Vec<String>,
    },
}

/// A value as it is written, with its quotes, and the comment beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scalar {
    pub(super) written: String,
    pub(super) beside: Option<String>,
}

/// A release of the list.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Comments and empty lines above it, without indentation.
    pub(super) above: Vec<String>,
    pub(super) scalar: Scalar,
    pub(super) line: u32,
    /// What the real reader says that it is.
    pub(super) name: Option<ReleaseName>,
}

impl Entry {
    pub(super) fn words_above(&self) -> impl Iterator<Item = &String> {
        self.above.iter().filter(|line| !line.is_empty())
    }
}

impl ChannelText {
    /// Takes a file apart, or names the first line that could not be kept.
    pub(super) fn read(place: &Place, text: &str) -> Result<Self, Finding> {
        let lines = text.lines().collect();
        Parser {
            place,
            lines,
            next: 0,
            pending: Vec::new(),
            text: Self::default(),
        }
        .read()
    }

    /// The releases, in their order.
    pub(super) fn entries(&self) -> &[Entry] {
        let list = self
            .sections
            .iter()
            .find_map(|section| match &section.content {
                Content::Versions { entries, .. } => Some(entries.as_slice()),
                _ => None,
            });
        list.unwrap_or_default()
    }

    /// The releases, to be changed.
    pub(super) fn entries_mut(&mut self) -> Option<&mut Vec<Entry>> {
        self.sections
            .iter_mut()
            .find_map(|section| match &mut section.content {
                Content::Versions { entries, .. } => Some(entries),
                _ => None,
            })
    }

    pub(super) fn name(&self) -> Option<&Scalar> {
        self.sections
            .iter()
            .find_map(|section| match &section.content {
                Content::Name(name) => Some(name),
                _ => None,
            })
    }

    /// The lines of what is kept to the letter.
    pub(super) fn verbatim(&self, wanted: &str) -> Option<&[String]> {
        self.sections
            .iter()
            .find_map(|section| match &section.content {
                Content::Verbatim { key, lines } if key == wanted => Some(lines.as_slice()),
                _ => None,
            })
    }
}

struct Parser<'a> {
    place: &'a Place,
    lines: Vec<&'a str>,
    next: usize,
    /// Comments and empty lines that belong to whatever comes next.
    pending: Vec<String>,
    text: ChannelText,
}

impl Parser<'_> {
    fn read(mut self) -> Result<ChannelText, Finding> {
        while let Some(line) = self.take() {
            let begin = line.trim_start();
            let indented = begin.len() < line.len();
            if begin.is_empty() || begin.starts_with('#') {
                self.pending.push(line.trim_end().to_owned());
            } else if indented || begin == "-" || begin.starts_with("- ") {
                self.continued(&line)?;
            } else if begin.trim_end() == "---"
                && self.text.sections.is_empty()
                && self.text.marker.is_none()
            {
                // What stands above the marker stays above it.
                self.pending.push("---".to_owned());
                self.text.marker = Some(self.pending.drain(..).collect::<Vec<_>>().join("\n"));
            } else {
                self.section(&line)?;
            }
        }
        self.text.end = std::mem::take(&mut self.pending);
        Ok(self.text)
    }

    fn take(&mut self) -> Option<String> {
        let line = self.lines.get(self.next)?;
        self.next += 1;
        Some((*line).to_owned())
    }

    /// A key at the top.
    fn section(&mut self, line: &str) -> Result<(), Finding> {
        let (key, rest) = line.split_once(':').ok_or_else(|| self.odd(line))?;
        if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
            return Err(self.odd(line));
        }
        let above = std::mem::take(&mut self.pending);
        let rest = rest.trim();
        let content = match key {
            "name" if !rest.is_empty() => Content::Name(self.scalar(rest)?),
            "versions" => self.versions(rest)?,
            "feeder" | "tombstones" => Content::Verbatim {
                key: key.to_owned(),
                lines: vec![line.trim_end().to_owned()],
            },
            key if !key.is_empty()
                && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && key != "name" =>
            {
                let problem = format!("schema 2.0.0 has no field {key:?} in a file of channels");
                let remedy = "remove it, or make it a comment";
                return Err(Finding::error(
                    "unknown-field",
                    self.here(),
                    problem,
                    remedy,
                ));
            }
            _ => return Err(self.odd(line)),
        };
        self.text.sections.push(Section { above, content });
        Ok(())
    }

    /// A further line of the last section.
    fn continued(&mut self, line: &str) -> Result<(), Finding> {
        let item = line
            .trim()
            .strip_prefix('-')
            .filter(|item| item.starts_with([' ', '\t']))
            .map(str::trim);
        let pending = std::mem::take(&mut self.pending);
        let entry = match item {
            Some(item) if !item.is_empty() => Some((self.scalar(item), self.line())),
            _ => None,
        };
        match (
            self.text
                .sections
                .last_mut()
                .map(|section| &mut section.content),
            entry,
        ) {
            (Some(Content::Versions { entries, .. }), Some((scalar, line))) => {
                entries.push(Entry {
                    above: without_indentation(pending),
                    scalar: scalar?,
                    line,
                    name: None,
                });
                Ok(())
            }
            (Some(Content::Verbatim { lines, .. }), _) => {
                lines.extend(pending);
                lines.push(line.trim_end().to_owned());
                Ok(())
            }
            _ => Err(self.odd(line)),
        }
    }

    fn versions(&mut self, rest: &str) -> Result<Content, Finding> {
        match rest.strip_prefix('[') {
            Some(first) => self.flow_list(first.to_owned()),
            None if rest.is_empty() => Ok(Content::Versions {
                beside: None,
                entries: Vec::new(),
            }),
            None if rest.starts_with('#') => Ok(Content::Versions {
                beside: Some(rest.to_owned()),
                entries: Vec::new(),
            }),
            None => Err(self.odd(rest)),
        }
    }

    /// `[4.9.1, 4.9.2]`, on one line or several.
    fn flow_list(&mut self, first: String) -> Result<Content, Finding> {
        let (mut entries, mut rest) = (Vec::<Entry>::new(), first);
        loop {
            let text = rest.trim_start();
            if text.is_empty() || text.starts_with('#') {
                if let (true, line) = (text.starts_with('#'), self.line()) {
                    match entries.last_mut().filter(|entry| entry.line == line) {
                        Some(entry) => entry.scalar.beside = Some(text.trim_end().to_owned()),
                        None => self.pending.push(text.trim_end().to_owned()),
                    }
                }
                rest = self.take().ok_or_else(|| self.odd("["))?;
            } else if let Some(after) = text.strip_prefix(']') {
                let after = after.trim();
                return match after.is_empty() || after.starts_with('#') {
                    true => {
                        let beside = (!after.is_empty()).then(|| after.to_owned());
                        Ok(Content::Versions { beside, entries })
                    }
                    false => Err(self.odd(after)),
                };
            } else {
                let (written, after) = flow_item(text).ok_or_else(|| self.odd(text))?;
                let above = without_indentation(std::mem::take(&mut self.pending));
                let scalar = Scalar {
                    written: written.to_owned(),
                    beside: None,
                };
                entries.push(Entry {
                    above,
                    scalar,
                    line: self.line(),
                    name: None,
                });
                rest = after.to_owned();
            }
        }
    }

    /// A value, and the comment beside it.
    fn scalar(&self, text: &str) -> Result<Scalar, Finding> {
        let end = match quoted_bytes(text) {
            Some(bytes) => Some(bytes),
            None if text.starts_with([
                '"', '\'', '[', '{', '|', '>', '&', '*', '#', '!', '%', '@', '`',
            ]) =>
            {
                None
            }
            None => Some(
                text.find(" #")
                    .or_else(|| text.find("\t#"))
                    .unwrap_or(text.len()),
            ),
        };
        let (written, after) = end
            .and_then(|end| text.split_at_checked(end))
            .ok_or_else(|| self.odd(text))?;
        let beside = after.trim();
        let is_comment =
            beside.is_empty() || (beside.starts_with('#') && after.starts_with([' ', '\t']));
        // `- a: b` and `- - a` are no texts.
        let nested =
            [": ", ":\t"].iter().any(|mark| written.contains(mark)) || written.starts_with("- ");
        match is_comment && !nested {
            true => Ok(Scalar {
                written: written.trim_end().to_owned(),
                beside: (!beside.is_empty()).then(|| beside.to_owned()),
            }),
            false => Err(self.odd(text)),
        }
    }

    fn line(&self) -> u32 {
        u32::try_from(self.next).unwrap_or(0)
    }

    fn here(&self) -> Place {
        self.place.at(self.line(), 0)
    }

    fn odd(&self, text: &str) -> Finding {
        odd(self.here(), text)
    }
}

/// What is said of a line that could not be kept.
pub(super) fn odd(place: Place, text: &str) -> Finding {
    let shown: String = text.trim().chars().take(40).collect();
    let problem = format!("{shown:?} is written in a way that the migration cannot keep");
    let remedy = "write `name: …` and `versions:` at the beginning of a line, and each release as `- 4.9.7`; it means the same";
    Finding::error("cannot-keep", place, problem, remedy)
}

/// How long the quoted text is that this begins with.
fn quoted_bytes(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|c| *c == '"' || *c == '\'')?;
    let mut escaped = false;
    let end = text
        .char_indices()
        .skip(1)
        .find(|(_, c)| match (escaped, *c) {
            (true, _) => {
                escaped = false;
                false
            }
            (false, '\\') if quote == '"' => {
                escaped = true;
                false
            }
            (false, c) => c == quote,
        });
    // A doubled quote within single quotes is no end; no release or channel has one, so it is not taken.
    end.map(|(at, _)| at + 1)
        .filter(|end| !text[*end..].starts_with(quote))
}

/// An item of a flow list, and what comes after its comma. A `]` stays.
fn flow_item(text: &str) -> Option<(&str, &str)> {
    let end = match quoted_bytes(text) {
        Some(bytes) => bytes,
        None if text.starts_with([
            '"', '\'', '[', '{', '&', '*', '!', ',', '|', '>', '%', '@', '`',
        ]) =>
        {
            return None;
        }
        None => text.find([',', ']', '#', ' ', '\t']).unwrap_or(text.len()),
    };
    let (item, after) = text.split_at_checked(end)?;
    let after = after.trim_start();
    match after.strip_prefix(',') {
        Some(rest) => Some((item, rest)),
        None => (after.is_empty() || after.starts_with([']', '#'])).then_some((item, after)),
    }
}

fn without_indentation(lines: Vec<String>) -> Vec<String> {
    lines
        .iter()
        .map(|line| line.trim_start().to_owned())
        .collect()
}

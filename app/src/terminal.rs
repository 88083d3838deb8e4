//! Who looks at an answer: a terminal with its columns and colours, or nobody.
//!
//! Colours are for terminals alone, and off with `NO_COLOR` (<https://no-color.org>) or `TERM=dumb`.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};

use towpath_formats::room::{Colour, Room, Tone, toned};

/// The room that answers have on standard output.
pub(crate) fn room() -> Room {
    room_of(&io::stdout())
}

/// Tells people on the side what they should know besides the answer.
pub(crate) fn aside(tone: Option<Tone>, text: &str) {
    let name = match tone {
        Some(tone) => toned(tone, "towpath:"),
        None => "towpath:".to_owned(),
    };
    let text = room_of(&io::stderr()).fit(&format!("{name} {}\n", text.trim_end()));
    // Nothing is left to be done if even that cannot be said.
    let _ = io::stderr().write_all(text.as_bytes());
}

fn room_of(stream: &(impl IsTerminal + rustix::fd::AsFd)) -> Room {
    if !stream.is_terminal() {
        return Room::default();
    }
    let columns = rustix::termios::tcgetwinsize(stream).map_or(0, |size| size.ws_col);
    let variable = |name| std::env::var_os(name);
    Room::on_terminal(
        columns,
        colour(variable("NO_COLOR").as_deref(), variable("TERM").as_deref()),
    )
}

/// The colours of a terminal.
fn colour(no_color: Option<&OsStr>, term: Option<&OsStr>) -> Colour {
    match (no_color, term) {
        (Some(no), _) if !no.is_empty() => Colour::Never,
        (_, Some(term)) if term == "dumb" => Colour::Never,
        _ => Colour::Ansi,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_can_be_turned_off() {
        let of =
            |no: Option<&str>, term: Option<&str>| colour(no.map(OsStr::new), term.map(OsStr::new));
        assert_eq!(of(None, Some("xterm")), Colour::Ansi);
        assert_eq!(of(Some(""), Some("xterm")), Colour::Ansi);
        assert_eq!(of(Some("1"), Some("xterm")), Colour::Never);
        assert_eq!(of(None, Some("dumb")), Colour::Never);
    }
}

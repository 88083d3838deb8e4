//! Whatever a text says, it stays a text: a drawing with hostile names has the same structure as one with harmless names.

use proptest::prelude::*;
use towpath_core::graph::EdgeStatus;
use towpath_core::picture::GridPlace;

use super::Drawing;
use super::sketch::{Sketch, SketchLink, SketchRelease};

/// A drawing with one update of each kind, and this text wherever there is one.
fn sketch(text: &str) -> Sketch {
    let release = |x| SketchRelease {
        version: text.to_owned(),
        place: GridPlace { lane: x % 2, x },
        note: Some(text.to_owned()),
    };
    let link = |(to, kind)| SketchLink {
        from: 0,
        to,
        kind,
        note: Some(text.to_owned()),
    };
    Sketch {
        title: text.to_owned(),
        description: text.to_owned(),
        width: 12,
        lanes: vec![text.to_owned(); 2],
        releases: (0..12).map(release).collect(),
        links: (1..).zip(EdgeStatus::ALL).map(link).collect(),
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let hostile = [
        "</title><script>alert(1)</script>",
        "\" onload=\"alert(1)",
        "' onload='alert(1)",
        "]]><!--",
        "&amp;&#60;",
        "\\",
        "\\\"",
        "\"]; evil -> r0; x [label=\"",
        "\n  evil --> r0",
        "%%{init: {\"securityLevel\": \"loose\"}}%%",
        "\"]:::evil; click r0 call alert()",
        "`markdown`",
        "#quot;",
        "#34;",
        "<b>&nbsp;</b>",
        "end",
        "\u{0}\u{1b}[31m\u{202e}\u{fffe}\u{2028}",
        "javascript:alert(1)",
        "url(https://example.com)",
    ];
    let part = prop_oneof![
        2 => proptest::sample::select(hostile.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,8}",
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(part, 1..4).prop_map(|parts| parts.concat())
}

/// The tags and the names of their attributes. Texts and values are left out, once they are seen to be well formed.
fn structure_of_xml(svg: &str) -> String {
    let (mut structure, mut rest) = (String::new(), svg);
    while let Some((text, tail)) = rest.split_once('<') {
        check_xml_text(text);
        let (mut tag, after) = tail.split_once('>').expect("a tag ends");
        rest = after;
        structure.push('<');
        while let Some((before, value)) = tag.split_once('"') {
            let (value, after) = value.split_once('"').expect("a value ends");
            check_xml_text(value);
            structure.push_str(before);
            tag = after;
        }
        assert!(
            !tag.contains('\''),
            "all values are in double quotes: {tag}"
        );
        structure.push_str(tag);
        structure.push('>');
    }
    structure
}

fn check_xml_text(text: &str) {
    let is_allowed = |c: char| c >= ' ' && !matches!(c, '>' | '\u{fffe}' | '\u{ffff}') || c == '\n';
    assert!(text.chars().all(is_allowed), "{text:?}");
    for reference in text.split('&').skip(1) {
        let name = reference.split(';').next().unwrap_or_default();
        assert!(
            ["amp", "lt", "gt", "quot", "#39"].contains(&name),
            "{text:?}"
        );
    }
}

/// The text without its strings in double quotes, in which a backslash makes the next character a part of the string.
fn structure_of_dot(dot: &str) -> String {
    let (mut structure, mut characters) = (String::new(), dot.chars());
    while let Some(c) = characters.next() {
        structure.push(c);
        if c == '"' {
            loop {
                match characters.next().expect("a string ends") {
                    '\\' => drop(characters.next()),
                    '"' => break,
                    c => assert!(!c.is_control(), "{c:?}"),
                }
            }
        }
    }
    structure
}

/// The text without its strings in double quotes, in which nothing is special but numbers of characters.
fn structure_of_mermaid(mermaid: &str) -> String {
    assert!(
        !mermaid.contains("%%") && !mermaid.contains('`'),
        "{mermaid}"
    );
    let line = |line: &str| match line.split_once(": ") {
        Some((name, text)) if name.starts_with("  acc") => {
            assert!(!text.contains(['"', '{', '<', '%']), "{text}");
            name.to_owned()
        }
        _ => line.split('"').step_by(2).collect::<Vec<_>>().join("\""),
    };
    mermaid.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn structure(drawing: Drawing, text: &str) -> String {
    let drawn = drawing.write(&sketch(text));
    match drawing {
        Drawing::Svg => structure_of_xml(&drawn),
        Drawing::Dot => structure_of_dot(&drawn),
        Drawing::Mermaid => structure_of_mermaid(&drawn),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_breaks_out_of_a_drawing(text in any_text()) {
        for drawing in [Drawing::Svg, Drawing::Dot, Drawing::Mermaid] {
            prop_assert_eq!(structure(drawing, &text), structure(drawing, "4.20.1"), "{:?}", drawing);
        }
    }
}

#[test]
fn a_text_is_shown_as_it_is() {
    let text = "a < b & \"c\" \\ 100 %";
    let line = |drawing: Drawing, start: &str| {
        let drawn = drawing.write(&sketch(text));
        let mut lines = drawn.lines().map(str::trim);
        lines
            .find(|line| line.starts_with(start))
            .map(str::to_owned)
            .unwrap_or_default()
    };
    assert_eq!(
        line(Drawing::Svg, "<title"),
        "<title id=\"title\">a &lt; b &amp; &quot;c&quot; \\ 100 %</title>"
    );
    assert!(line(Drawing::Dot, "r0").starts_with("r0 [label=\"a < b & \\\"c\\\" \\\\ 100 %\", "));
    assert_eq!(
        line(Drawing::Mermaid, "r0"),
        "r0[\"a #60; b #38; #34;c#34; #92; 100 #37;\"]"
    );
}

//! A start, a duration and a release name, a line each, and the window that they make.

use towpath_core::finding::Place;
use towpath_core::graph::{EdgeMatch, Pattern, Position, Ramp, RolloutRule, RuleRings, position};
use towpath_core::version::ReleaseName;
use towpath_formats::graph::data::{parse_duration, parse_time};

pub fn fuzz(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.splitn(3, '\n').chain(["", ""]);
    let (start, duration) = (
        parse_time(lines.next().unwrap()),
        parse_duration(lines.next().unwrap()),
    );
    let name = lines.next().unwrap();
    let at = ReleaseName::parse(name).map_or(u64::MAX, |name| position::rotation(&name.version));
    let _ = Pattern::new(name).map(|pattern| pattern.finds("4.9.0-rc.1+amd64"));
    if let (Ok(start), Ok(duration)) = (start, duration) {
        for ramp in [Ramp::Linear, Ramp::Exponential] {
            let window = RolloutRule {
                edges: EdgeMatch::Any,
                start: None,
                duration,
                ramp,
                rings: RuleRings::default(),
                origin: Place::file("c"),
            }
            .window(start);
            let due = window.due(Position(at));
            assert!(
                window.start <= due && due <= window.end,
                "everybody has it by start + duration"
            );
            assert!(
                window.share(due).holds(Position(at)),
                "due is when the cluster sees the edge"
            );
        }
    }
}

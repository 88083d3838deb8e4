//! Pictures of channels: the HTTP query, and the answer as text, as JSON and as a drawing. Paths are drawn with the same pens.
//!
//! The command line and the service answer with the same functions.

mod channels;
mod dot;
mod json;
mod mermaid;
mod request;
mod sketch;
mod svg;
#[cfg(test)]
mod tests;
mod text;

pub use channels::{ChannelsReport, ChannelsRequest};
pub use json::json;
pub use request::{PictureQuery, read};
pub(crate) use svg::escaped;
pub use text::text;

use jiff::Timestamp;
use towpath_core::graph::Graph;
use towpath_core::path::Asker;
use towpath_core::picture::{MAX_CHANNELS, MAX_EDGES, Picture, Undrawn};

use crate::graph::explain::Form;
use crate::path::PathReport;
use sketch::Sketch;

/// What was asked, and what there is to draw.
pub struct PictureReport<'a> {
    pub graph: &'a Graph,
    pub asker: &'a Asker,
    pub now: Timestamp,
    pub picture: &'a Picture<'a>,
}

/// A language of drawings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawing {
    Svg,
    Dot,
    Mermaid,
}

/// What is answered with: words, facts or a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureForm {
    Told(Form),
    Drawn(Drawing),
}

impl Drawing {
    pub fn of_picture(self, told: &PictureReport<'_>) -> String {
        self.write(&Sketch::of_picture(told))
    }

    /// All ways that were found; or the way as far as one gets.
    pub fn of_path(self, told: &PathReport<'_>) -> String {
        self.write(&Sketch::of_path(told))
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Svg => "image/svg+xml",
            Self::Dot => "text/vnd.graphviz; charset=utf-8",
            Self::Mermaid => "text/vnd.mermaid; charset=utf-8",
        }
    }

    fn write(self, sketch: &Sketch) -> String {
        match self {
            Self::Svg => svg::svg(sketch),
            Self::Dot => dot::dot(sketch),
            Self::Mermaid => mermaid::mermaid(sketch),
        }
    }
}

impl PictureForm {
    /// What is written where a form is to be named.
    pub(crate) const NAMES: &'static str = "json, text, svg, dot or mermaid";

    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "svg" => Some(Self::Drawn(Drawing::Svg)),
            "dot" => Some(Self::Drawn(Drawing::Dot)),
            "mermaid" => Some(Self::Drawn(Drawing::Mermaid)),
            told => Form::named(told).map(Self::Told),
        }
    }
}

/// Why there is no picture, as a sentence with a remedy.
pub fn undrawn(why: &Undrawn) -> String {
    match why {
        Undrawn::NoChannel(name) => {
            format!(
                "there is no channel {name}; `towpath graph show` and /api/v1/channels list those that there are"
            )
        }
        Undrawn::NoArch(arch) => {
            format!(
                "there is no release for {arch}; /api/v1/channels lists the architectures that there are"
            )
        }
        Undrawn::TooManyChannels => {
            format!("a picture has at most {MAX_CHANNELS} channels; name fewer")
        }
        Undrawn::TooManyEdges => {
            format!("a picture has at most {MAX_EDGES} updates; name fewer channels")
        }
    }
}

//! Feedback: its policy's file, what a watch says in words and as JSON, and its decisions as the log keeps them.

mod json;
pub mod kept;
pub mod policy;
pub mod proposal;
pub mod record;
mod text;

pub use json::{assessment, json};
pub use text::{all_text, halt_message, scope_words, sentence, text};

//! DaemonSets: what the adviser says, and those that have opted in to waves.
//!
//! `waves` reads a DaemonSet as the API has it; `annotations` what people and we have written on it; `told` says how far it is.

mod advice;
mod annotations;
mod told;
mod waves;

pub use advice::{AdviceReport, advice_json, advice_text};
pub use annotations::{
    AT_MOST_AWAY, Going, PATIENCE, RECORD, SOAK, STATUS, WAVES, WaveRecord, WaveStatus,
};
pub use told::{WavePass, Waved, pass_json, pass_text};
pub use waves::{WaveObjects, WaveSet, has_asked, read_waves};

//! A request: its query, its `Accept` and its `Accept-Encoding`, a line each.

use towpath_core::graph::ChannelName;
use towpath_formats::graph::request::{self, ContentType, accepts_gzip};

pub fn fuzz(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.splitn(3, '\n');
    match request::read(lines.next().unwrap_or_default()) {
        Err(bad) => assert!(!bad.kind().is_empty() && bad.value().len() < 1000),
        Ok(request) => {
            assert!(ChannelName::new(&request.channel).is_some() && !request.arch.is_empty())
        }
    }
    ContentType::accepted(lines.next());
    accepts_gzip(lines.next());
}

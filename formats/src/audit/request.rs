//! The query of `/api/v1/audit`: `channel`, several with commas, `arch` and `now`.

use jiff::Timestamp;
use towpath_core::audit::Scope;
use towpath_core::graph::{ChannelName, Graph};

use crate::graph::data::parse_time;
use crate::graph::explain::request::{arch as read_arch, given, parsed};
use crate::graph::request::BadRequest;

/// Reads a query about this graph. A name that does not exist is a mistake.
pub fn read(query: &str, graph: &Graph) -> Result<(Scope, Option<Timestamp>), BadRequest> {
    let [channels, arch, now] = given(query, ["channel", "arch", "now"])?;
    let channel = |name: &str| -> Result<ChannelName, BadRequest> {
        let known = graph.channel(name).map(|channel| channel.name.clone());
        known.ok_or_else(|| BadRequest::NotThere("there is no such channel".to_owned()))
    };
    let channels = channels.as_deref().map(|names| names.split(','));
    let arch = parsed("arch", arch, read_arch)?;
    if let Some(unknown) = &arch
        && !graph.arches().any(|known| known == unknown)
    {
        let sentence = "there are no releases for this arch".to_owned();
        return Err(BadRequest::NotThere(sentence));
    }
    let scope = Scope {
        channels: channels
            .into_iter()
            .flatten()
            .map(channel)
            .collect::<Result<_, _>>()?,
        arch,
    };
    Ok((scope, parsed("now", now, |text| parse_time(text).ok())?))
}

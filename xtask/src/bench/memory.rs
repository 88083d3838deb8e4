//! Memory: what the server holds when every channel of five architectures has been asked for, and after a reload.

use std::path::Path;

use super::bars::Bars;
use super::http::Encoding;
use super::real_data::RealData;
use super::reloads::some_block;
use super::scratch::{self, Scratch};
use super::table::Table;
use super::towpath::{Inputs, Towpath};
use crate::say::say;

/// What the server may ever hold.
const PEAK_MIB: f64 = 150.0;
const ARCHES: [&str; 5] = ["amd64", "arm64", "ppc64le", "s390x", "multi"];

/// Measures the graph data as it was published, and as it was converted.
pub(super) fn measure(
    binary: &Path,
    data: &RealData,
    scratch: &Scratch,
    bars: &mut Bars,
) -> anyhow::Result<()> {
    let mut table = Table::new([
        "graph data",
        "RSS when ready",
        "after requests",
        "after a reload",
        "peak (VmHWM)",
        "bar",
    ]);
    for (name, graph_data) in [
        ("1.1.0, original", &data.original),
        ("2.0.0, phased", &data.phased),
    ] {
        let inputs = Inputs::new(graph_data, &data.releases_of_five_archs);
        let towpath = Towpath::start(binary, &inputs, scratch)?;
        let ready = towpath.memory()?;
        ask_for_everything(&towpath, data)?;
        let asked = towpath.memory()?;
        reload(&towpath, graph_data)?;
        let reloaded = towpath.memory()?;
        let [ready, asked, after, peak] = [
            ready.now_mib,
            asked.now_mib,
            reloaded.now_mib,
            reloaded.peak_mib,
        ];
        let shown = |mib: f64| format!("{mib:.0} MiB");
        let verdict = bars.at_most(&format!("peak memory in MiB, {name}"), peak, PEAK_MIB);
        table.row([
            name.to_owned(),
            shown(ready),
            shown(asked),
            shown(after),
            shown(peak),
            verdict,
        ]);
    }
    say(format!(
        "\nmemory: five architectures, every channel of each in both encodings, one reload\n{table}"
    ))
}

fn ask_for_everything(towpath: &Towpath, data: &RealData) -> anyhow::Result<()> {
    for channel in &data.channels {
        for arch in ARCHES {
            for encoding in [Encoding::Gzip, Encoding::Identity] {
                towpath.graph(&format!("channel={channel}&arch={arch}"), encoding)?;
            }
        }
    }
    Ok(())
}

/// One reload, with a change, so that there is something to load.
fn reload(towpath: &Towpath, graph_data: &Path) -> anyhow::Result<()> {
    let before = towpath.reloads()?;
    let (file, text) = some_block(graph_data)?;
    scratch::replace(&file, format!("{text}\n# changed\n"))?;
    towpath.reload(before)
}

//! What the fuzz targets do with their input, one module for each.
//!
//! The targets in `fuzz_targets/` only hand over what the fuzzer makes up. They need a nightly toolchain and the feature
//! `libfuzzer`; this does not, so it is linted, compiled and run on the seeds with everything else.

// What fails here must be seen.
#![allow(clippy::unwrap_used)]

pub mod cluster_list;
pub mod cluster_objects;
pub mod durations;
pub mod fleet_policy;
pub mod graph_data;
pub mod graph_request;
pub mod path_request;
pub mod platforms;
pub mod releases;
pub mod report;
pub mod sheet;
pub mod signature;
pub mod times_and_durations;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    type Target = (&'static str, fn(&[u8]));

    const TARGETS: [Target; 11] = [
        ("cluster_list", crate::cluster_list::fuzz),
        ("cluster_objects", crate::cluster_objects::fuzz),
        ("durations", crate::durations::fuzz),
        ("fleet_policy", crate::fleet_policy::fuzz),
        ("graph_data", crate::graph_data::fuzz),
        ("graph_request", crate::graph_request::fuzz),
        ("path_request", crate::path_request::fuzz),
        ("platforms", crate::platforms::fuzz),
        ("releases", crate::releases::fuzz),
        ("report", crate::report::fuzz),
        ("times_and_durations", crate::times_and_durations::fuzz),
    ];

    #[test]
    fn seeds_hold() {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
        for (name, fuzz) in TARGETS {
            fuzz(b"");
            // Not every target has seeds.
            let files = fs::read_dir(seeds.join(name)).into_iter().flatten();
            files.for_each(|seed| fuzz(&fs::read(seed.unwrap().path()).unwrap()));
        }
        crate::signature::fuzz((b"", b""));
    }
}

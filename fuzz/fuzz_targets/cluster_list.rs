#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towpath_fuzz::cluster_list::fuzz(data));

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towpath_fuzz::fleet_policy::fuzz(data));

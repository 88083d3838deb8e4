#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towpath_fuzz::times_and_durations::fuzz(data));

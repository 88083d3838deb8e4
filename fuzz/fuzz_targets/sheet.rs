#![no_main]

libfuzzer_sys::fuzz_target!(|input: towpath_fuzz::sheet::Input| towpath_fuzz::sheet::fuzz(input));

#![no_main]

libfuzzer_sys::fuzz_target!(|data: (&[u8], &[u8])| towpath_fuzz::signature::fuzz(data));

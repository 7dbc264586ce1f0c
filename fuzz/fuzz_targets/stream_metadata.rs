//! Any bytes as metadata of a CoreOS stream: no panic, and what is found can be verified.
#![no_main]

use dayone::fuzzing::live_iso;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|json: &[u8]| {
    for trusted in [false, true] {
        match live_iso(json, "x86_64", trusted) {
            Ok((_, url, is_signed)) => {
                assert!(url.starts_with("http://") || url.starts_with("https://"), "{url}");
                assert!(trusted || is_signed, "nothing shows that the bytes are right");
                assert!(live_iso(json, "x86_64", true).is_ok());
            }
            Err(error) => assert!(error.len() <= 8 * json.len() + 512, "an error of {} bytes", error.len()),
        }
    }
});

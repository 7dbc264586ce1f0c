//! Any bytes as an EFI program: an answer in good time, and no good signature that covers other bytes.
#![no_main]

use imagelib::secure_boot::{SignatureState, examine};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let examined = examine(&bytes);
    let good = examined.signatures.iter().any(|signature| signature.state == SignatureState::Good);
    assert!(!good || examined.digest.is_some());
    assert_eq!(examine(&bytes).digest, examined.digest);
});

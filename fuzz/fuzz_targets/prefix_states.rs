//! Any bytes as the stored hash states of a base: no panic, and what is read is written as it was. States that dayone has written
//! give the digests of the base.
#![no_main]

use imagelib::digest::Digest;
use imagelib::overlay::PrefixStates;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let base = Digest::of(b"base");
    assert!(PrefixStates::from_bytes(data, &base).is_err(), "nobody guesses a SHA-256");
    // The sum at the end would keep a fuzzer from everything before it.
    let empty = PrefixStates::new().to_bytes(&base);
    let content = [&empty[..empty.len() - 32], data].concat();
    let content = [&content[..], Digest::of(&content).as_bytes()].concat();
    if let Ok(states) = PrefixStates::from_bytes(&content, &base) {
        let written = states.to_bytes(&base);
        assert!(written.len() <= content.len(), "more than was read");
        let again = PrefixStates::from_bytes(&written, &base).expect("what was written can be read");
        assert_eq!(again.to_bytes(&base), written);
        assert!(PrefixStates::from_bytes(&content, &Digest::of(b"other")).is_err());
    }
    // As the base itself.
    let digest = Digest::of(data);
    let states = PrefixStates::new();
    assert_eq!(states.digest(&data).expect("memory can be read"), digest);
    let read = PrefixStates::from_bytes(&states.to_bytes(&digest), &digest).expect("what was written can be read");
    assert_eq!(read.digest(&data).expect("memory can be read"), digest);
});

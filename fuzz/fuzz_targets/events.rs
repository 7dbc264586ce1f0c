//! Any bytes as a stream of server-sent events: no panic, and the same events however the network cuts the bytes.
#![no_main]

use dayone::fuzzing::events;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((size, stream)) = data.split_first() else { return };
    let whole = events([stream]);
    let size = usize::from(*size).max(1);
    assert_eq!(events(stream.chunks(size)), whole);
    let length: usize = whole.iter().map(|(id, data)| id.len() + data.len()).sum();
    // An id holds until the next one. Bytes that are not UTF-8 become three.
    assert!(length <= 3 * stream.len() * (1 + whole.len()));
});

//! Any text as a Range header: no panic, and only ranges that the file has, in order, without overlap.
#![no_main]

use libfuzzer_sys::fuzz_target;
use media::range::{Requested, requested};

fuzz_target!(|input: (u64, &str)| {
    let (size, header) = input;
    let ranges = match requested(header, size) {
        Requested::Whole | Requested::Unsatisfiable => return,
        Requested::One(range) => vec![range],
        Requested::Several(ranges) => {
            assert!(ranges.len() > 1);
            ranges
        }
    };
    let mut end = None;
    for range in ranges {
        assert!(range.start < range.end && range.end <= size);
        assert!(end.is_none_or(|end| range.start > end));
        end = Some(range.end);
    }
});

use super::*;

/// The size of what an asynchronous method without further arguments returns.
fn size<'a, 'b: 'a, F: Future>(_: fn(&'a mut Steps<'b>) -> F) -> usize {
    size_of::<F>()
}

#[test]
fn a_step_needs_little_memory_while_it_waits_for_the_bmc() {
    for (step, size, limit) in [
        (Step::Insert, size(Steps::insert), 8 << 10),
        (Step::BootOverride, size(Steps::boot_override), 12 << 10),
        (Step::Power, size(Steps::power), 8 << 10),
    ] {
        assert!(size <= limit, "{step}: {size} bytes");
    }
}

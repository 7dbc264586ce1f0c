use super::*;

/// The size of what an asynchronous method without further arguments returns.
fn size<'a, 'b: 'a, F: Future>(_: fn(&'a mut Steps<'b>) -> F) -> usize {
    size_of::<F>()
}

#[test]
fn a_step_needs_little_memory_while_it_waits_for_the_bmc() {
    for (step, size) in [
        (Step::Insert, size(Steps::insert)),
        (Step::BootOverride, size(Steps::boot_override)),
        (Step::Power, size(Steps::power)),
    ] {
        assert!(size <= 8192, "{step}: {size} bytes");
    }
}

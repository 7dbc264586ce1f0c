//! Any bytes as a user's Ignition config: no panic, and one that is taken can be merged and read again.
#![no_main]

use imagelib::ignition::{Additions, UserConfig, config};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(user) = UserConfig::parse(bytes) else { return };
    let additions = Additions { no_auto_default: true, hostname: "a".parse().ok(), ..Additions::default() };
    if let Ok(merged) = config(&additions, Some(&user)) {
        UserConfig::parse(&merged).expect("what was merged is a config");
    }
});

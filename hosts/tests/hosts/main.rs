//! Documents of hosts: what is read of them, what is found wrong, and the networks that they become.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::format_collect,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic is how a test fails"
)]

mod checks;
#[expect(unreachable_pub, reason = "the acceptance crate has it as well, and there it is public")]
mod documents;
mod each_host;
mod fleet;
mod fleet_files;
mod fleet_rules;
mod given_keyfiles;
mod input;
mod input_joins;
mod network;
mod network_config;
mod network_data;
mod network_properties;
mod network_settings;
mod networkd;
mod networkd_limits;
mod nics;
mod pictures;
mod racks;
mod spoiled_documents;
mod talos;
mod topology;
mod workbooks;

//! The server and the command line of dayone.

pub mod api;
pub mod arguments;
pub mod audit;
pub mod bases;
mod boot_mode;
pub mod boots;
pub mod commands;
mod compose;
mod error_chain;
mod expected_value;
mod findings;
mod forward_proxy;
#[doc(hidden)]
pub mod fuzzing;
mod held_lock;
pub mod host_images;
pub mod ironic_agent;
pub mod kubernetes;
mod live;
pub mod logging;
pub mod metrics;
pub mod monitoring;
mod natural_order;
mod open_files;
mod page;
mod process_metrics;
mod secret_file;
pub mod services;
pub mod settings;
pub mod site_key;
pub mod store;
mod units;
mod version;

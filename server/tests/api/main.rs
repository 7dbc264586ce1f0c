//! The whole server over real sockets: the API, and what BMCs then get.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod access;
mod add_command;
mod added_bases;
mod arriving_bases;
mod audit;
mod audited_images;
mod bases;
mod boot_events;
mod boots;
mod boots_audited;
mod boots_calls;
mod boots_listed;
mod boots_media;
mod boots_restarted;
mod boots_retried;
mod boots_undone;
mod check;
mod client_certificates;
mod command;
mod damaged_bases;
mod data;
mod emulated_bmc;
mod encryption;
mod fixtures;
mod fleets;
mod followed;
mod http_source;
mod image_access;
mod images;
mod key_rotation;
mod keyfiles;
mod limits;
mod list;
#[expect(unreachable_pub, reason = "the acceptance crate has it as well, and there it is public")]
mod one_host;
mod openapi;
mod orders;
mod page;
mod page_access;
mod rate_limits;
mod reading;
mod roles;
mod rolling_bases;
mod service;
mod support;
mod topology;

//! The tests of `tests/media` over a base to which nobody else writes: without TLS, the kernel sends its pages by itself.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic is how a test fails, in what its tests share too"
)]

#[path = "../media/answers.rs"]
mod answers;
#[path = "../media/bases.rs"]
mod bases;
#[path = "../media/call_home.rs"]
mod call_home;
#[path = "../media/client.rs"]
mod client;
#[path = "../media/connections.rs"]
mod connections;
#[path = "../media/reading.rs"]
mod reading;
#[path = "../media/server.rs"]
mod server;
#[path = "../media/tls.rs"]
mod tls;

/// Whether nobody but the server writes to the base.
const PRIVATE: bool = true;

//! Runs the tests of `tests/media` again over a private copy of the base, which plain HTTP serves with `sendfile(2)`.

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
#[path = "../media/direct.rs"]
mod direct;
#[path = "../media/limits.rs"]
mod limits;
#[path = "../media/reading.rs"]
mod reading;
#[path = "../media/server.rs"]
mod server;
#[path = "../media/tls.rs"]
mod tls;

/// Whether the base is a private copy of the server.
const PRIVATE: bool = true;

//! The media plane over real sockets, with a client that shows every byte.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic is how a test fails, in what its tests share too"
)]

mod answers;
mod bases;
mod call_home;
mod client;
mod connections;
mod direct;
mod limits;
mod reading;
mod server;
mod tls;

/// Whether the base is a private copy of the server.
const PRIVATE: bool = false;

//! The client, against a simulated BMC on loopback whose answers each test defines.

// Test code: a panic is how a test fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod bmc;
mod boots;
mod hidden_slots;
mod logins;
mod managers;
mod redirects;
mod requests;
mod sessions;
mod tasks;
mod verification;

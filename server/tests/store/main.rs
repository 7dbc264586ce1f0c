//! The store: what it promises must hold after restarts, crashes, and whatever happens to bases and records.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod added;
mod base_model;
mod bases;
mod call_home;
mod concurrency;
mod crash;
mod encryption;
mod groups;
mod in_memory;
mod key_file;
mod limits;
mod named;
mod owners;
mod plans;
mod records;
mod restart;
mod revocation;
mod rotation;
mod served;
mod support;

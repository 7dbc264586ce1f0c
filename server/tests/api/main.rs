//! The whole server over real sockets: the API, and what BMCs then get.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod access;
mod bases;
mod boots;
mod check;
mod command;
mod data;
mod fixtures;
mod fleets;
mod images;
mod keyfiles;
mod limits;
mod list;
mod orders;
mod reading;
mod service;
mod support;
mod topology;

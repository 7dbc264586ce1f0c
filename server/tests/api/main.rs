//! The whole server over real sockets: the API, and what BMCs then get.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod access;
mod added_bases;
mod arriving_bases;
mod bases;
mod boots;
mod check;
mod command;
mod data;
mod fixtures;
mod fleets;
mod http_source;
mod images;
mod keyfiles;
mod limits;
mod list;
mod orders;
mod page;
mod page_access;
mod reading;
mod rolling_bases;
mod service;
mod support;
mod topology;

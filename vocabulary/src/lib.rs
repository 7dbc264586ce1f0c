//! The words that dayone's crates share: what a host is, what is said of its documents, and how bytes are named.
//!
//! Nothing is done here. `hosts` makes files of documents, `imagelib` makes images of files, and both say what they found
//! as a [`report::Report`].

pub mod digest;
pub mod host;
pub mod network_files;
pub mod report;
pub mod source;
mod text;

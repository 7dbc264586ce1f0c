//! The types that dayone's crates share: hosts, network files, findings, digests, and files of bases.
//!
//! This crate only defines types. `hosts` turns documents into network files, `imagelib` turns files into images, and both
//! return their findings as a [`report::Report`].

pub mod answers;
pub mod digest;
pub mod host;
pub mod network_files;
pub mod report;
pub mod source;
pub mod text;
pub mod url_credentials;
pub mod url_host;

//! Bases and what is published over them.

pub mod base_file;
pub mod served;

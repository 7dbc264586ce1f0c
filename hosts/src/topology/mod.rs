//! The model of a host's network ([`crate::model`]) for people and for programs: tables, JSON, pictures.

mod json;
pub mod svg;
mod table;
mod words;

pub use table::Table;

//! The model of a host's network ([`crate::model`]) for people and for programs: tables, JSON, pictures.

mod describe;
mod json;
pub mod svg;
mod table;

pub use table::Table;

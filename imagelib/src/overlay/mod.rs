//! An image as an immutable base with a few bytes changed.

mod patch;

pub use patch::{Content, Patch};

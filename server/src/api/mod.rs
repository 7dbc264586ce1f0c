//! The operators' plane: `/v1/…`. One file per resource; what all of them share is beside them.

pub mod problem;
pub mod tokens;

//! The parts of a view that change while it is open.

use askama::Template;

use crate::live::{Content, Piece};

/// An element of a view that changes. Writing to memory does not fail.
pub(super) fn piece(id: &str, element: &impl Template) -> Piece {
    (id.into(), element.render().unwrap_or_default().into())
}

/// A view with a single element that changes.
pub(super) fn single(id: &str, element: &impl Template) -> Content {
    Content { elements: vec![piece(id, element)], rows: None }
}

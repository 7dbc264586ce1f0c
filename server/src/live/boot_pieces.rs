//! What was rendered of boots.

use std::collections::HashMap;

use super::update::Piece;
use crate::boots::{BootId, Group, Listed};

/// What was rendered of boots, to be used again: by all subjects of an update, and by the next update.
#[derive(Debug, Default)]
pub(crate) struct BootPieces(HashMap<BootId, (u64, Group, Piece)>);

impl BootPieces {
    /// The piece of a boot: as it was rendered for another subject, or in the `last` update, or anew. What is read of an image
    /// changes although the boot does not.
    pub(crate) fn of(&mut self, last: &Self, listed: &Listed, render: impl FnOnce() -> Piece) -> Piece {
        let (id, revision) = (listed.boot.view.record.id, listed.boot.view.revision);
        if let Some((_, _, piece)) = self.0.get(&id) {
            return piece.clone();
        }
        let same = last.0.get(&id).filter(|(then, group, _)| *then == revision && *group == listed.group);
        let piece = match same {
            Some((_, _, piece)) if !listed.group.is_watched() => piece.clone(),
            _ => render(),
        };
        self.0.insert(id, (revision, listed.group, piece.clone()));
        piece
    }
}

//! The lines of the members of a document.

use super::stream;
use super::tree::{Tree, Trees};
use crate::input::yaml::{self, Limits};
use vocabulary::report::{DocumentPath, Step};

/// The members of the only document in a text, for sentences that name their lines.
pub(in crate::input) struct Members<'t> {
    /// The document, and how many lines are before it.
    document: Option<(Tree<'t>, usize)>,
}

impl<'t> Members<'t> {
    /// Reads the text.
    pub(in crate::input) fn of(text: &'t [u8], limits: Limits) -> Self {
        let part = yaml::readable(text).ok().and_then(|text| stream::parts(text, 1).pop());
        Self {
            document: part.and_then(|part| Some((Trees::of(part.text, limits.values).read(part.index)?, part.line))),
        }
    }

    /// Returns the line of a member that the document has.
    pub(in crate::input) fn line(&mut self, key: &str) -> Option<usize> {
        let (tree, before) = self.document.as_mut()?;
        let member = DocumentPath::root().key(key);
        let steps: Vec<Step> = member.steps_from(&DocumentPath::root())?.into_iter().cloned().collect();
        Some(tree.find(&steps, None)?.at.line + *before)
    }
}

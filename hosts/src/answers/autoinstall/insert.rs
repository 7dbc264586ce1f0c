//! Adds a member to the text of a mapping, whose lines stay as they are.

use crate::input;

/// Returns the places for lines of another member of the mapping in a text, each as the whole text: at the end, where people look for
/// what was added, and before the first member. At the end, a block scalar (`|`) may take the lines, or the document may have ended
/// (`...`). Whether the text means the same with them, the caller must check.
pub(super) fn places(text: &str, lines: &str) -> impl Iterator<Item = String> + use<> {
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    let at_end = format!("{text}{line_end}\n{lines}");
    let before_first = input::first_member(text).and_then(|(start, indentation)| {
        let (before, after) = text.split_at_checked(start)?;
        let indented = lines.split_inclusive('\n').map(|line| format!("{}{line}", " ".repeat(indentation)));
        Some(format!("{before}{}{after}", indented.collect::<String>()))
    });
    std::iter::once(at_end).chain(before_first)
}

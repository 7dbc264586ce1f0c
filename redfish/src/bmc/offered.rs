//! The words that a BMC offers. BMCs do not all write them in the letters of the specification: `CD`, `powercycle`.

/// Returns a word as the BMC writes it, if the BMC offers the word.
pub(super) fn find<'a>(offered: &'a [String], word: &str) -> Option<&'a str> {
    offered.iter().map(String::as_str).find(|each| each.eq_ignore_ascii_case(word))
}

//! Colours of text.

/// Text to read.
pub(super) const INK: &str = "#1f2933";
/// Text to look up.
pub(super) const QUIET: &str = "#52606d";
/// What is hardly meant.
pub(super) const WARNING: &str = "#b3261e";

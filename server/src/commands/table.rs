//! Names on the left, what they are on the right.

use std::fmt::Display;
use std::fmt::Write as _;

use super::terminal::{HEADING, plain};

/// A heading, and rows below it. Foreign text is shown without control characters.
pub(super) struct Table(String);

impl Table {
    pub(super) fn new(heading: &str) -> Self {
        Self(format!("{HEADING}{}{HEADING:#}\n", plain(heading)))
    }

    pub(super) fn row(&mut self, name: &str, value: impl Display) {
        // Writing to a String does not fail.
        let _ = writeln!(self.0, "{name:<18} {}", plain(&value.to_string()));
    }

    /// A list with its name before the first line only.
    pub(super) fn rows<T: Display>(&mut self, name: &str, values: impl IntoIterator<Item = T>) {
        let mut name = name;
        for value in values {
            self.row(name, value);
            name = "";
        }
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}

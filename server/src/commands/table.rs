//! Text in columns.

use std::fmt::Display;
use std::fmt::Write as _;

use super::terminal::{HEADING, plain};

/// A heading with rows below it. It escapes control characters in foreign text.
pub(super) struct Table(String);

impl Table {
    pub(super) fn new(heading: &str) -> Self {
        Self(format!("{HEADING}{}{HEADING:#}\n", plain(heading)))
    }

    pub(super) fn row(&mut self, name: &str, value: impl Display) {
        // Writing to a String does not fail.
        let _ = writeln!(self.0, "{name:<18} {}", plain(&value.to_string()));
    }

    /// Adds a list, with the name on the first line only.
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

/// Formats rows below headings, with columns of the necessary width. It escapes control characters in foreign text.
pub(super) fn columns(headings: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| plain(cell)).collect()).collect();
    let width = |column: usize, heading: &str| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(String::as_str);
        cells.chain([heading]).map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = headings.iter().enumerate().map(|(column, heading)| width(column, heading)).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    let mut text = format!("{HEADING}{}{HEADING:#}\n", line(&mut headings.iter().copied()));
    for row in &rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let rows = [["eth0", "ethernet", ""], ["bond0\u{1b}", "bond", "192.0.2.10/24"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let text = anstream::adapter::strip_str(&columns(&["NAME", "WHAT", "ADDRESSES"], &rows)).to_string();
        assert_eq!(
            text,
            "NAME         WHAT      ADDRESSES\neth0         ethernet\nbond0\\u{1b}  bond      192.0.2.10/24\n"
        );
    }
}

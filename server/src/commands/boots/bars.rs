//! Bars for the files that a boot reads.

use serde::Deserialize;

use crate::commands::terminal::plain;

/// How much of a file of the image was read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ReadFile {
    /// `kernel`, `initrd` or `rootfs`, or the file's name.
    pub(super) label: String,
    pub(super) read: u64,
    pub(super) size: u64,
    pub(super) percent: u8,
}

impl ReadFile {
    /// A bar of so many columns, of which as much is filled as was read.
    pub(super) fn bar(&self, columns: usize) -> String {
        let filled = usize::from(self.percent.min(100)) * columns / 100;
        "█".repeat(filled) + &"░".repeat(columns.saturating_sub(filled))
    }

    /// Label, bar and percentage. Without columns for the bar, label and percentage.
    pub(super) fn line(&self, columns: usize) -> String {
        let label = plain(&self.label);
        match columns {
            0 => format!("{label} {} %", self.percent),
            columns => format!("{label} {} {:>3} %", self.bar(columns), self.percent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_filled_as_far_as_the_file_was_read() {
        let file = |percent| ReadFile { label: "initrd".to_owned(), read: 0, size: 0, percent };
        assert_eq!(file(43).line(10), "initrd ████░░░░░░  43 %");
        assert_eq!(file(0).bar(4), "░░░░");
        assert_eq!(file(99).bar(4), "███░", "only what is complete looks complete");
        assert_eq!(file(100).line(4), "initrd ████ 100 %");
        assert_eq!(file(7).line(0), "initrd 7 %");
    }
}

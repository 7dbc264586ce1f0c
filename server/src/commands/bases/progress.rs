//! Shows how far a base is: as a bar on a terminal, otherwise as lines.

use std::io;
use std::time::{Duration, Instant};

use indicatif::{BinaryBytes, ProgressBar, ProgressStyle};

use crate::commands::terminal;

/// How often a line is printed.
const INTERVAL: Duration = Duration::from_secs(10);

/// Shows progress on standard error.
pub(super) struct Display {
    bar: Option<ProgressBar>,
    quiet: bool,
    printed: Option<(String, Instant)>,
}

impl Display {
    pub(super) fn new(quiet: bool) -> Self {
        let style = ProgressStyle::with_template(
            "{msg:10} {bar:40} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec}",
        );
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = (!quiet && terminal::can_draw(&io::stderr())).then(|| ProgressBar::new(0).with_style(style));
        Self { bar, quiet, printed: None }
    }

    /// Shows the present state. `trouble` is what goes wrong while dayone tries again.
    pub(super) fn show(&mut self, state: &str, bytes: u64, total: Option<u64>, trouble: Option<&str>) {
        if self.quiet {
            return;
        }
        let key = if self.bar.is_some() { "" } else { state };
        let due = self.is_due(&format!("{key} {}", trouble.unwrap_or_default()));
        let Some(bar) = &self.bar else {
            if due {
                terminal::remark(&format!("{}\n", terminal::plain(&line(state, bytes, total, trouble))));
            }
            return;
        };
        bar.set_message(state.to_owned());
        bar.set_length(total.unwrap_or(bytes));
        bar.set_position(bytes);
        if let Some(trouble) = trouble.filter(|_| due) {
            bar.suspend(|| terminal::remark(&format!("{}\n", terminal::plain(trouble))));
        }
    }

    /// Whether something else than before is to be said, or it is time to say the same again.
    fn is_due(&mut self, key: &str) -> bool {
        let due = self.printed.as_ref().is_none_or(|(before, when)| before != key || when.elapsed() >= INTERVAL);
        if due {
            self.printed = Some((key.to_owned(), Instant::now()));
        }
        due
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn line(state: &str, bytes: u64, total: Option<u64>, trouble: Option<&str>) -> String {
    let arrived = match total {
        Some(total) => format!("{state} {} of {}", BinaryBytes(bytes), BinaryBytes(total)),
        None => format!("{state} {}", BinaryBytes(bytes)),
    };
    match trouble {
        Some(trouble) => format!("{arrived} ({trouble}; trying again)"),
        None => arrived,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_has_arrived_and_what_goes_wrong() {
        assert_eq!(line("fetching", 512 << 20, Some(1 << 30), None), "fetching 512.00 MiB of 1.00 GiB");
        let trouble = line("fetching", 0, None, Some("connection refused"));
        assert_eq!(trouble, "fetching 0 B (connection refused; trying again)");
    }
}

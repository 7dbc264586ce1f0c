//! The mistakes in the lines of a table. One mistake, such as a column without a name or a wrong encoding, may be in every line.

use super::super::table::MAX_ROWS;
use vocabulary::report::{DocumentPath, LineColumn, Report};

/// After how many different mistakes the reader stops.
const MAX_MISTAKES: usize = 20;
/// How many further lines with a mistake its finding names.
const MAX_LINES: usize = 5;

/// The messages of mistakes, in the order of the lines that have them first.
#[derive(Default)]
pub(super) struct Mistakes(Vec<Mistake>);

struct Mistake {
    message: String,
    first_line: usize,
    /// Some of the other lines that have it.
    others: Vec<usize>,
    /// How many other lines have it.
    count: usize,
}

impl Mistakes {
    pub(super) fn add(&mut self, message: String, line: usize) {
        let Some(known) = self.0.iter_mut().find(|known| known.message == message) else {
            self.0.push(Mistake { message, first_line: line, others: Vec::new(), count: 0 });
            return;
        };
        known.count += 1;
        if known.others.len() < MAX_LINES {
            known.others.push(line);
        }
    }

    /// Whether there are enough different ones, or as many lines with mistakes as a table may have.
    pub(super) fn are_enough(&self) -> bool {
        self.0.len() >= MAX_MISTAKES || self.0.iter().map(|mistake| mistake.count + 1).sum::<usize>() >= MAX_ROWS
    }

    /// Reports the mistakes of the table, which is at `path`. Returns whether there are any.
    pub(super) fn report(&self, path: &DocumentPath, report: &mut Report) -> bool {
        for mistake in &self.0 {
            let Mistake { message, first_line: line, .. } = mistake;
            let at = LineColumn { line: *line, column: 1 };
            let message = format!("{message} (line {line}{})", mistake.further_lines());
            report.error_in_text("fleet-table-line", path, message, Some(at));
        }
        !self.0.is_empty()
    }
}

impl Mistake {
    fn further_lines(&self) -> String {
        let lines: Vec<String> = self.others.iter().map(ToString::to_string).collect();
        match self.count {
            0 => String::new(),
            1 => format!("; the same in line {}", lines.join(", ")),
            count if count <= MAX_LINES => format!("; the same in lines {}", lines.join(", ")),
            count => format!("; the same in {count} more lines: {}, …", lines.join(", ")),
        }
    }
}

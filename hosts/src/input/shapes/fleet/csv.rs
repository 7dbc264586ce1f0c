//! Tables as text (RFC 4180): a line of names, then a line for each host. As spreadsheets and people differ, commas, semicolons or
//! tabs separate the values, and the reader accepts blanks around values, blank lines, lines that begin with `#`, a byte order mark
//! and all kinds of line ends.

mod lines;
mod separator;

use std::collections::{BTreeMap, BTreeSet};

use csv::{ByteRecord, ReaderBuilder};

use self::lines::{Lines, without_comments};
use self::separator::Separator;
use super::table::{Cell, MAX_ROWS, Row, Table};
use crate::input::listing::quoted;
use vocabulary::report::{DocumentPath, LineColumn, Report, Reported};

/// How many columns a table may have.
const MAX_COLUMNS: usize = 1000;
/// After how many errors the reader stops.
const MAX_ERRORS: usize = 20;

/// Reads the table in `text`, which is at `path` and has the name `name`.
pub(super) fn read(text: &[u8], name: &str, path: &DocumentPath, report: &mut Report) -> Result<Table, Reported> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let separator = Separator::of(text).map_err(|(message, line)| {
        let at = LineColumn { line, column: 1 };
        report.error_in_text("fleet-table-line", path, format!("{message} (line {line})"), Some(at));
        Reported
    })?;
    let text = without_comments(text, separator.byte);
    let mut lines = Lines::of(&text);
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator.byte).from_reader(text.as_ref());
    let mut table = Table::default();
    let mut errors = 0;
    let mut record = ByteRecord::new();
    loop {
        // Reading from memory cannot fail, and any bytes are a record.
        if !reader.read_byte_record(&mut record).unwrap_or_default() {
            break;
        }
        let start = record.position().map_or(0, csv::Position::byte);
        let line = lines.line_at(usize::try_from(start).unwrap_or(usize::MAX));
        let mut wrong = |message: String| {
            errors += 1;
            let at = LineColumn { line, column: 1 };
            report.error_in_text("fleet-table-line", path, format!("{message} (line {line})"), Some(at));
        };
        if table.columns.is_empty() && Separator::is_announcement(&record) {
            continue;
        }
        match cells(&record) {
            Err(message) => wrong(message),
            Ok(cells) if cells.iter().all(|cell| cell.is_empty()) => {}
            Ok(cells) if table.columns.is_empty() => match columns(&cells) {
                Ok(columns) => table.columns = columns,
                // Without names, the later lines have no meaning.
                Err(message) => {
                    wrong(message);
                    return Err(Reported);
                }
            },
            Ok(cells) if cells.len() != table.columns.len() => {
                wrong(miscounted(cells.len(), table.columns.len(), separator.name));
            }
            Ok(cells) => {
                if table.rows.len() == MAX_ROWS {
                    report.error("fleet-too-large", path, format!("has more than {MAX_ROWS} hosts; split it"));
                    return Err(Reported);
                }
                let named = table.columns.iter().zip(&cells);
                let cells: BTreeMap<String, Cell> =
                    named.filter_map(|(name, cell)| Some((name.clone(), Cell::of_text(cell)?))).collect();
                table.rows.push(Row { cells, place: format!("{name} line {line}") });
            }
        }
        if errors == MAX_ERRORS {
            break;
        }
    }
    if errors > 0 {
        return Err(Reported);
    }
    if table.columns.is_empty() {
        report.error("fleet-table-empty", path, "is empty; write the column names into the first line");
        return Err(Reported);
    }
    Ok(table)
}

/// What is wrong with a row that has more or fewer values than the table has columns.
fn miscounted(found: usize, wanted: usize, separator: &str) -> String {
    let counted = |count, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let fix = if found < wanted {
        format!("add the missing values (an empty value still needs its {separator})")
    } else {
        format!("put a value with a {separator} in quotes")
    };
    format!("has {}, and the table has {}; {fix}", counted(found, "value"), counted(wanted, "column"))
}

/// Returns the values of a line without the blanks around them.
fn cells(record: &ByteRecord) -> Result<Vec<&str>, String> {
    let mut cells = Vec::with_capacity(record.len());
    for cell in record {
        let Ok(cell) = str::from_utf8(cell) else {
            return Err("is not UTF-8 text; save the table as UTF-8".to_owned());
        };
        let cell = cell.trim();
        if let Some(c) = cell.chars().find(|c| c.is_control()) {
            let message = format!("has a value with the control character U+{:04X}", u32::from(c));
            return Err(message + "; an unclosed quotation mark turns many lines into one value");
        }
        // RFC 4180 does not treat a quotation mark behind a blank as one.
        if cell.starts_with('"') {
            return Err("has a blank before a quotation mark, which then does not quote; remove the blank".to_owned());
        }
        cells.push(cell);
    }
    Ok(cells)
}

fn columns(cells: &[&str]) -> Result<Vec<String>, String> {
    if cells.len() > MAX_COLUMNS {
        return Err(format!("has more than {MAX_COLUMNS} columns"));
    }
    let mut seen = BTreeSet::new();
    for cell in cells {
        if cell.is_empty() {
            return Err("has a column without a name".to_owned());
        }
        if !seen.insert(*cell) {
            return Err(format!("has the column {} twice", quoted(cell)));
        }
    }
    Ok(cells.iter().map(|cell| (*cell).to_owned()).collect())
}

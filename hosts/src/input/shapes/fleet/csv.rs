//! Tables as text (RFC 4180): a line of names, then a line for each host. As spreadsheets and people differ, commas, semicolons or
//! tabs separate the values, and the reader accepts blanks around values, blank lines, lines that begin with `#`, a byte order mark
//! and all kinds of line ends.

mod lines;
mod mistakes;
mod separator;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use csv::{ByteRecord, ReaderBuilder};

use self::lines::{Fault, Lines, hides_row, unclosed, without_comments};
use self::mistakes::Mistakes;
use self::separator::Separator;
use super::table::{Cell, MAX_ROWS, Row, Table};
use crate::input::listing::quoted;
use vocabulary::report::{DocumentPath, LineColumn, Report, Reported};

/// How many columns a table may have.
const MAX_COLUMNS: usize = 1000;

/// Reads the table in `text`, which is at `path` and has the name `name`.
pub(super) fn read(text: &[u8], name: &str, path: &DocumentPath, report: &mut Report) -> Result<Table, Reported> {
    let mut refuse = |message: String, line: usize| {
        let at = LineColumn { line, column: 1 };
        report.error_in_text("fleet-table-line", path, format!("{message} (line {line})"), Some(at));
        Reported
    };
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let separator = Separator::of(text).map_err(|(message, line)| refuse(message, line))?;
    let text = without_comments(text, separator.byte);
    if let Some((offset, fault)) = unclosed(&text, separator.byte) {
        let message = match fault {
            Fault::Unclosed => {
                "has a quotation mark that nothing closes, so it would turn many lines into one value; close it, or double it \
                 inside a value in quotation marks"
            }
            Fault::BlankBehind => {
                "has a blank behind the quotation mark that closes a value of several lines; remove the blank"
            }
        };
        return Err(refuse(message.to_owned(), Lines::of(&text).line_at(offset)));
    }
    let mut lines = Lines::of(&text);
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator.byte).from_reader(text.as_ref());
    let mut table = Table::default();
    let mut names: Vec<Arc<str>> = Vec::new();
    let mut mistakes = Mistakes::default();
    let mut record = ByteRecord::new();
    while !mistakes.are_enough() {
        // Reading from memory cannot fail, and any bytes are a record.
        if !reader.read_byte_record(&mut record).unwrap_or_default() {
            break;
        }
        let start = record.position().map_or(0, csv::Position::byte);
        let line = lines.line_at(usize::try_from(start).unwrap_or(usize::MAX));
        let mut wrong = |message: String| mistakes.add(message, line);
        if names.is_empty() && Separator::is_announcement(&record) {
            continue;
        }
        match cells(&record) {
            Err(message) => wrong(message),
            Ok(cells) if cells.iter().all(|cell| cell.is_empty()) => {}
            Ok(cells) if names.is_empty() => match columns(&cells) {
                Ok(found) => names = found,
                // Without names, the later lines have no meaning.
                Err(message) => {
                    wrong(message);
                    break;
                }
            },
            Ok(cells) if names.len() == 1 && used(&cells) > 1 => {
                wrong(format!(
                    "has {} values, and the first line has the name of one column only; write the names of all columns into the \
                     first line, and a # before a title",
                    used(&cells)
                ));
                break;
            }
            Ok(_) if hides_row(&record, names.len(), separator.byte) => wrong(
                "has a value of several lines, which may hide a host behind a missing quotation mark; close the first line's \
                 quotation mark, or write the value on one line"
                    .to_owned(),
            ),
            Ok(cells) => match values(&cells, &names, separator.name) {
                Err(message) => wrong(message),
                Ok(_) if table.rows.len() == MAX_ROWS => {
                    mistakes.report(path, report);
                    report.error("fleet-too-large", path, format!("has more than {MAX_ROWS} hosts; split it"));
                    return Err(Reported);
                }
                Ok(cells) => table.rows.push(Row { cells, place: format!("{name} line {line}") }),
            },
        }
    }
    if mistakes.report(path, report) {
        return Err(Reported);
    }
    if names.is_empty() {
        report.error("fleet-table-empty", path, "is empty; write the column names into the first line");
        return Err(Reported);
    }
    table.columns = names.into_iter().filter(|name| !name.is_empty()).collect();
    Ok(table)
}

/// Returns the values of a row by the names of their columns. Spreadsheets write separators for columns that only look used, so columns
/// without a name may have empty values.
fn values(cells: &[&str], names: &[Arc<str>], separator: &str) -> Result<BTreeMap<Arc<str>, Cell>, String> {
    let count = if cells.len() < names.len() { cells.len() } else { used(cells).max(names.len()) };
    if count != names.len() {
        return Err(miscounted(count, names.len(), separator));
    }
    let mut row = BTreeMap::new();
    for (name, cell) in names.iter().zip(cells) {
        let Some(cell) = Cell::of_text(cell) else { continue };
        if name.is_empty() {
            return Err("has a value in a column without a name; write the name into the first line".to_owned());
        }
        row.insert(Arc::clone(name), cell);
    }
    Ok(row)
}

/// How many values a row has, up to the last one that is not empty.
fn used(cells: &[&str]) -> usize {
    cells.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1)
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
        let trimmed = cell.trim();
        // RFC 4180 does not treat a quotation mark behind a blank as one.
        if trimmed.starts_with('"') && !cell.starts_with('"') {
            return Err("has a blank before a quotation mark, which then does not quote; remove the blank".to_owned());
        }
        cells.push(trimmed);
    }
    Ok(cells)
}

/// Returns the names of the columns up to the last one that has a name. Other columns without a name have an empty one.
fn columns(cells: &[&str]) -> Result<Vec<Arc<str>>, String> {
    if cells.len() > MAX_COLUMNS {
        return Err(format!("has more than {MAX_COLUMNS} columns"));
    }
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        match Cell::of_text(cell) {
            None => {}
            Some(Cell::Unusable(why)) => return Err(format!("has in column {} a name that {why}", index + 1)),
            Some(Cell::Text(name)) => {
                if !seen.insert(*cell) {
                    return Err(format!("has the column {} twice", quoted(cell)));
                }
                names.resize(index, "".into());
                names.push(name);
            }
        }
    }
    Ok(names)
}

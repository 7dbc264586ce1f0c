//! Tables as Excel workbooks (ISO/IEC 29500-1, SpreadsheetML): a sheet has a row of names, then a row for each host.
//!
//! A value is what the user sees in the cell. dayone refuses numbers that a cell shows in another form than they are stored, such as
//! dates. A workbook may also contain the document of its fleet, in a sheet of its own.

mod cell;
mod package;
mod place;
mod problem;
mod sheet;
mod strings;
mod styles;
mod workbook;
mod xml;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::cell::Value;
use self::place::Place;
use self::problem::Problem;
use self::workbook::Workbook;
use super::table::{Cell, MAX_ROWS, Row, Table};
use crate::input::listing::quoted;
use crate::input::yaml::Budget;
use vocabulary::report::{DocumentPath, Report, Reported};

/// After how many errors the reader stops.
const MAX_ERRORS: usize = 20;

/// Reads the table in a sheet of the workbook `bytes`, which is at `path` and has the name `name`. Without the name of a sheet, it is the
/// first one.
pub(super) fn read(
    bytes: &[u8],
    sheet: Option<&str>,
    (name, path): (&str, &DocumentPath),
    budget: &mut Budget,
    report: &mut Report,
) -> Result<Table, Reported> {
    let mut refuse = |message: Problem| report.refuse("fleet-workbook", path, message);
    let mut workbook = Workbook::open(bytes, budget).map_err(&mut refuse)?;
    let sheet = workbook.table(sheet).map_err(&mut refuse)?;
    let rows = workbook.rows(&sheet).map_err(&mut refuse)?;
    let cell = |row: usize, column: usize| Place { row, column }.in_sheet(&sheet.name);
    let mut rows = rows.into_iter().filter(|row| !row.is_comment);
    let Some(first) = rows.next() else {
        let message = format!(
            "is empty: its sheet {} has no values; write the column names into the first row",
            quoted(&sheet.name)
        );
        return Err(report.refuse("fleet-table-empty", path, message));
    };
    let names = columns(first.values, &|column| cell(first.number, column)).map_err(&mut refuse)?;
    let columns = names.values().cloned().collect();
    let mut table = Table { rows: Vec::new(), columns, sheet: Some(sheet.name.clone()) };
    // A column without a name is one mistake, in how many rows it may have values: the first cell, and how many there are.
    let mut nameless: BTreeMap<usize, (String, usize)> = BTreeMap::new();
    for sheet::Row { number, values, .. } in rows {
        if table.rows.len() == MAX_ROWS {
            report.error("fleet-too-large", path, format!("has more than {MAX_ROWS} hosts; split it"));
            return Err(Reported);
        }
        let mut row = Row::default();
        let mut place = None;
        for (column, value) in values {
            let Some(found) = value_of(value, &cell(number, column)) else { continue };
            let Some(column_name) = names.get(&column) else {
                nameless.entry(column).or_insert_with(|| (cell(number, column), 0)).1 += 1;
                continue;
            };
            if place.is_none() || &**column_name == "name" {
                place = Some(cell(number, column));
            }
            row.cells.insert(Arc::clone(column_name), found);
        }
        if nameless.len() >= MAX_ERRORS {
            break;
        }
        if let Some(place) = place {
            row.place = format!("{name} {place}");
            table.rows.push(row);
        }
    }
    if nameless.is_empty() {
        return Ok(table);
    }
    if let ([only], Some((_, (beside, _)))) = (table.columns.as_slice(), nameless.first_key_value()) {
        let message = format!(
            "has one column name only, {}, and a value in another column, in {beside}; write the names of all columns into the first \
             row, and a # before a title",
            quoted(only)
        );
        return Err(report.refuse("fleet-workbook", path, message));
    }
    for (first, count) in nameless.into_values().take(MAX_ERRORS) {
        let others = match count - 1 {
            0 => String::new(),
            1 => ", and in one more row".to_owned(),
            more => format!(", and in {more} more rows"),
        };
        let message = format!("has a value in a column without a name, in {first}{others}");
        report.error("fleet-workbook", path, message);
    }
    Err(Reported)
}

/// Returns the value in the cell with the name `place`, without the blanks around it.
fn value_of(value: Value, place: &str) -> Option<Cell> {
    let why = match value.map(|text| Cell::of_text(text.trim())) {
        Ok(Some(Cell::Unusable(why))) => why,
        Ok(cell) => return cell,
        Err(why) => why.into(),
    };
    Some(Cell::Unusable(format!("in {place} {why}").into()))
}

/// Returns the names of the columns.
fn columns(
    values: BTreeMap<usize, Value>,
    place: &dyn Fn(usize) -> String,
) -> Result<BTreeMap<usize, Arc<str>>, Problem> {
    let mut names: BTreeMap<usize, Arc<str>> = BTreeMap::new();
    let mut places: BTreeMap<Arc<str>, usize> = BTreeMap::new();
    for (column, value) in values {
        match value_of(value, &place(column)) {
            None => {}
            Some(Cell::Unusable(why)) => return Err(format!("has a column whose name {why}")),
            Some(Cell::Text(name)) => {
                if let Some(first) = places.insert(Arc::clone(&name), column) {
                    let (first, second) = (place(first), place(column));
                    // Merged cells have their text in each column.
                    let fix = if names.len() == 1 { "; write a # before a title" } else { "" };
                    return Err(format!("has the column {} twice, in {first} and {second}{fix}", quoted(&name)));
                }
                names.insert(column, name);
            }
        }
    }
    Ok(names)
}

/// Returns the text of the fleet's own document in the workbook `bytes`, if it has one, so that line N of the text is row N of the
/// sheet: column A contains the lines, in one cell each, or all of them in the first one.
pub(in crate::input) fn document(bytes: &[u8], budget: &mut Budget) -> Result<Option<String>, Problem> {
    let mut workbook = Workbook::open(bytes, budget)?;
    let Some(sheet) = workbook.document() else { return Ok(None) };
    let mut text = String::new();
    let mut lines = 1;
    for row in workbook.rows(&sheet)? {
        for (column, value) in row.values {
            let cell = Place { row: row.number, column }.in_sheet(&sheet.name);
            match value {
                Ok(value) if column == 0 => {
                    while lines < row.number {
                        text.push('\n');
                        lines += 1;
                    }
                    text.push_str(&value);
                }
                Ok(_) => return Err(format!("has a value in {cell}; the document of the fleet belongs into column A")),
                Err(why) => return Err(format!("has a line of the fleet's document, in {cell}, that {why}")),
            }
        }
    }
    Ok(Some(text))
}

/// The name of the sheet with the document.
pub(in crate::input) const DOCUMENT: &str = workbook::DOCUMENT;

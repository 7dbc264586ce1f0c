//! The rows of a sheet.

use std::collections::BTreeMap;

use super::cell::{self, Context, Value};
use super::package::Package;
use super::place::{MAX_COLUMNS, Place, Range};
use super::problem::Problem;
use super::xml::Events;

/// A row that has values.
pub(super) struct Row {
    /// Its number, from 1.
    pub(super) number: usize,
    /// The values by their columns, from 0.
    pub(super) values: BTreeMap<usize, Value>,
    /// Whether its only value begins with `#`. The value may be in merged cells.
    pub(super) is_comment: bool,
}

impl Row {
    fn of(number: usize) -> Self {
        Self { number, values: BTreeMap::new(), is_comment: false }
    }
}

/// Whether the only value of a row begins with `#`.
fn is_comment(values: &BTreeMap<usize, Value>) -> bool {
    let mut values = values.values();
    values.next().is_some_and(|value| matches!(value, Ok(text) if text.trim_start().starts_with('#')))
        && values.next().is_none()
}

/// Returns the rows of the sheet in `text` that have values. `name` is its name, and `part` that of its part.
pub(super) fn rows(
    text: &str,
    (name, part): (&str, &str),
    context: &Context,
    package: &mut Package<'_, '_>,
) -> Result<Vec<Row>, Problem> {
    let mut rows: Vec<Row> = Vec::new();
    let mut merged = Vec::new();
    let mut events = Events::of(text, part);
    let mut place = Place { row: 0, column: 0 };
    let mut row = Row::of(0);
    while let Some(event) = events.next()? {
        if let Some(element) = event.opens("row") {
            let number = element.attribute("r").map_or(Some(place.row + 1), |number| number.parse().ok());
            // Excel refuses such a workbook, too.
            let number = number.filter(|number| *number > place.row && *number <= 1 << 20);
            place =
                Place { row: number.ok_or_else(|| format!("has rows in disorder, in its part {part}"))?, column: 0 };
            row = Row::of(place.row);
        } else if event.closes("row") {
            let number = row.number;
            let mut done = std::mem::replace(&mut row, Row::of(number));
            if !done.values.is_empty() {
                // Merged cells have the value once, until it is spread.
                done.is_comment = is_comment(&done.values);
                rows.push(done);
            }
        } else if let Some(element) = event.opens("c") {
            let reference = element.attribute("r");
            let column =
                reference.as_deref().map_or(Some(place.column), |reference| Some(Place::parse(reference)?.column));
            place.column = column.ok_or_else(|| format!("has a cell without a place, in its part {part}"))?;
            if let Some(value) = cell::read(element, &mut events, context)? {
                if place.column >= MAX_COLUMNS {
                    let cell = place.in_sheet(name);
                    return Err(format!("has a value right of the first {MAX_COLUMNS} columns, in {cell}"));
                }
                package.take(value.as_ref().map_or(0, String::len))?;
                row.values.insert(place.column, value);
            }
            place.column += 1;
        } else if let Some(element) = event.opens("mergeCell") {
            package.take(0)?;
            merged.extend(element.attribute("ref").as_deref().and_then(Range::parse));
        }
    }
    spread(&mut rows, merged, package)?;
    // The values of a row may all have been hidden in merged cells.
    rows.retain(|row| !row.values.is_empty());
    Ok(rows)
}

/// Gives each cell of a merged area the value of the first one, which spreadsheets show there. The other cells may have values of their own,
/// which spreadsheets hide.
fn spread(rows: &mut [Row], mut merged: Vec<Range>, package: &mut Package<'_, '_>) -> Result<(), Problem> {
    merged.sort_unstable();
    let mut next = merged.into_iter().peekable();
    let mut open: Vec<(Range, Option<Value>)> = Vec::new();
    for row in rows {
        open.retain(|(range, _)| range.last.row >= row.number);
        while let Some(range) = next.next_if(|range| range.first.row <= row.number) {
            // Without the row of its first cell, the merged cell is empty. A comment is a value of no other cell.
            let is_first = range.first.row == row.number && !row.is_comment;
            open.push((range, row.values.get(&range.first.column).filter(|_| is_first).cloned()));
        }
        if open.iter().map(|(range, _)| range.columns().len()).sum::<usize>() > MAX_COLUMNS {
            return Err("has merged cells that overlap".to_owned());
        }
        for (range, value) in &open {
            let Some(value) = value else {
                package.take(0)?;
                let is_seen = |column| row.is_comment && row.number == range.first.row && column == range.first.column;
                let hidden = row.values.range(range.columns()).map(|(column, _)| *column);
                let hidden: Vec<usize> = hidden.filter(|column| !is_seen(*column)).collect();
                for column in hidden {
                    row.values.remove(&column);
                }
                continue;
            };
            for column in range.columns() {
                package.take(value.as_ref().map_or(0, String::len))?;
                row.values.insert(column, value.clone());
            }
        }
    }
    Ok(())
}

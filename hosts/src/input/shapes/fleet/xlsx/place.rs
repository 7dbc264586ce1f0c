//! The names of cells: `Sheet1!B7`.

/// How many columns a table may have.
pub(super) const MAX_COLUMNS: usize = 1000;

/// A cell of a sheet. Columns count from 0, rows from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) row: usize,
    pub(super) column: usize,
}

impl Place {
    /// Reads a reference such as `AB12`. No sheet has more than four letters or seven digits.
    pub(super) fn parse(reference: &str) -> Option<Self> {
        let digits = reference.find(|c: char| c.is_ascii_digit())?;
        let (letters, digits) = reference.split_at(digits);
        if letters.is_empty() || letters.len() > 4 || digits.len() > 7 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let mut column = 0;
        for letter in letters.bytes() {
            column = column * 26 + usize::from(letter.is_ascii_uppercase().then(|| letter - b'A')?) + 1;
        }
        let row = digits.parse().ok().filter(|row| *row > 0)?;
        Some(Self { row, column: column - 1 })
    }

    /// Returns the name of the cell, with that of its sheet, which has quotes as in formulas.
    pub(super) fn in_sheet(self, sheet: &str) -> String {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let letter = |c: char| if c.is_control() { '?' } else { c };
        // No program has longer names.
        let name: String = sheet.chars().take(64).map(letter).collect();
        let is_plain = name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit());
        let name = if is_plain { name } else { format!("'{}'", name.replace('\'', "''")) };
        format!("{name}!{}{}", letters(self.column), self.row)
    }
}

fn letters(column: usize) -> String {
    let mut letters = Vec::new();
    let mut left = column + 1;
    while left > 0 {
        letters.push(char::from(b'A' + u8::try_from((left - 1) % 26).unwrap_or_default()));
        left = (left - 1) / 26;
    }
    letters.iter().rev().collect()
}

/// Merged cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Range {
    pub(super) first: Place,
    pub(super) last: Place,
}

impl Range {
    /// Reads a reference such as `A1:B2`.
    pub(super) fn parse(reference: &str) -> Option<Self> {
        let (first, last) = reference.split_once(':').unwrap_or((reference, reference));
        let (first, last) = (Place::parse(first)?, Place::parse(last)?);
        (first.row <= last.row && first.column <= last.column).then_some(Self { first, last })
    }

    pub(super) fn columns(&self) -> std::ops::Range<usize> {
        self.first.column..(self.last.column + 1).min(MAX_COLUMNS).max(self.first.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_letters() {
        for (reference, row, column) in
            [("A1", 1, 0), ("Z9", 9, 25), ("AA1", 1, 26), ("ALL1", 1, 999), ("XFD1048576", 1_048_576, 16_383)]
        {
            let place = Place::parse(reference).unwrap();
            assert_eq!(place, Place { row, column });
            assert_eq!(place.in_sheet("S"), format!("S!{reference}"));
        }
        for wrong in ["", "1", "A", "A0", "a1", "A-1", "ABCDE1", "A12345678", "Ä1", "A1 "] {
            assert_eq!(Place::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_sheet_has_quotes_where_a_formula_needs_them() {
        let place = Place { row: 7, column: 1 };
        for (sheet, expected) in [
            ("Sheet1", "Sheet1!B7"),
            ("Rack 1", "'Rack 1'!B7"),
            ("Bob's", "'Bob''s'!B7"),
            ("2026", "'2026'!B7"),
            ("Gerät", "Gerät!B7"),
            ("a\nb", "'a?b'!B7"),
        ] {
            assert_eq!(place.in_sheet(sheet), expected);
        }
    }

    #[test]
    fn ranges_are_in_order() {
        assert_eq!(Range::parse("B2:C5").map(|range| range.columns()), Some(1..3));
        assert_eq!(Range::parse("B2").map(|range| range.columns()), Some(1..2));
        assert_eq!(Range::parse("A1:XFD9").map(|range| range.columns()), Some(0..1000));
        assert_eq!(Range::parse("XFC1:XFD9").map(|range| range.columns().len()), Some(0));
        assert_eq!(Range::parse("C5:B2"), None);
    }
}

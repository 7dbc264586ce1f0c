//! The lines of a table: which of them are comments, and which number each has. A line ends in LF, CR LF or CR, and one file may have
//! all three.

use std::borrow::Cow;

use csv::ByteRecord;

/// Counts lines, from 1.
pub(super) struct Lines<'t> {
    text: &'t [u8],
    /// How far the lines are counted.
    at: usize,
    line: usize,
}

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t [u8]) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// Returns the line of the byte at `offset`, or that of the next byte that does not end a line. Offsets must not decrease.
    pub(super) fn line_at(&mut self, offset: usize) -> usize {
        let behind = self.text.get(offset..).unwrap_or_default();
        let skipped = behind.iter().take_while(|byte| is_end(**byte)).count();
        let offset = offset.saturating_add(skipped).min(self.text.len());
        while self.at < offset {
            let ends = match self.text.get(self.at..) {
                // In CR LF, the line ends behind the second byte.
                Some([b'\r', next, ..]) => *next != b'\n',
                Some([byte, ..]) => is_end(*byte),
                _ => false,
            };
            self.line += usize::from(ends);
            self.at += 1;
        }
        self.line
    }
}

fn is_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Where a reader of tables is in a line.
#[derive(Clone, Copy)]
enum State {
    LineStart,
    FieldStart,
    Field,
    Quoted,
    /// Behind a quotation mark in a quoted value: the end of the value, or the first of two that stand for one.
    QuoteInQuoted,
    Comment,
}

impl State {
    fn after(self, byte: u8, separator: u8) -> Self {
        match (self, byte) {
            (Self::LineStart, b'#') => Self::Comment,
            (Self::Comment, byte) if !is_end(byte) => Self::Comment,
            (Self::Quoted, b'"') => Self::QuoteInQuoted,
            (Self::LineStart | Self::FieldStart | Self::QuoteInQuoted, b'"') | (Self::Quoted, _) => Self::Quoted,
            (_, byte) if is_end(byte) => Self::LineStart,
            (_, byte) if byte == separator => Self::FieldStart,
            _ => Self::Field,
        }
    }
}

/// What is wrong with the quotation marks of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing closes the first one.
    Unclosed,
    /// A blank is behind the second one, before the end of the value.
    BlankBehind,
}

/// Returns where a value begins whose first quotation mark nothing closes: the text ends inside it, or it has several lines and goes
/// on behind the next quotation mark, which was meant to open another value. Such a value hides lines, and so hosts.
pub(super) fn unclosed(text: &[u8], separator: u8) -> Option<(usize, Fault)> {
    let mut state = State::LineStart;
    let (mut start, mut has_lines) = (0, false);
    for (index, byte) in text.iter().enumerate() {
        let next = state.after(*byte, separator);
        match (state, next) {
            (State::LineStart | State::FieldStart, State::Quoted) => (start, has_lines) = (index, false),
            (State::Quoted, State::Quoted) => has_lines |= is_end(*byte),
            (State::QuoteInQuoted, State::Field) if has_lines => {
                let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t') && **byte != separator;
                let behind = text.iter().skip(index).find(|byte| !is_blank(byte));
                let ends = behind.is_none_or(|byte| is_end(*byte) || *byte == separator);
                return Some((start, if ends { Fault::BlankBehind } else { Fault::Unclosed }));
            }
            _ => {}
        }
        state = next;
    }
    matches!(state, State::Quoted).then_some((start, Fault::Unclosed))
}

/// Whether a value of several lines may hide a row, because a quotation mark at the end of a later row closes one that nothing was
/// meant to close. Such a row has as many values as the others: inside the value, or up to the end of its line if it began in a
/// line that is whole, too. A note of several lines has that only by accident.
pub(super) fn hides_row(record: &ByteRecord, columns: usize, separator: u8) -> bool {
    let is_row = |values: usize| values == columns || values == record.len();
    let count = |line: &[u8]| line.split(|byte| *byte == separator).count();
    record.iter().enumerate().any(|(index, value)| {
        let mut lines = value.split(|byte| is_end(*byte));
        let first = lines.next().map_or(1, count);
        let later: Vec<&[u8]> = lines.filter(|line| !line.trim_ascii().is_empty()).collect();
        let Some(last) = later.last().copied() else { return false };
        let begins_whole = is_row(index + first) && is_row(count(last) + record.len() - 1 - index);
        begins_whole || later.iter().any(|&line| is_row(count(line)))
    })
}

/// Returns the text with blanks in place of its comments, which are the lines that begin with `#`. All other bytes stay where they are. The
/// csv crate reads a comment up to the next LF, and so would skip rows that end in CR.
pub(super) fn without_comments(text: &[u8], separator: u8) -> Cow<'_, [u8]> {
    let mut result = Cow::Borrowed(text);
    let mut state = State::LineStart;
    for (index, byte) in text.iter().enumerate() {
        state = state.after(*byte, separator);
        if matches!(state, State::Comment)
            && let Some(byte) = result.to_mut().get_mut(index)
        {
            *byte = b' ';
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_end_counts_once() {
        let text = b"a\nb\rc\r\nd\n\re";
        let mut lines = Lines::of(text);
        let found = [0, 2, 4, 7, 8, 10].map(|offset| lines.line_at(offset));
        assert_eq!(found, [1, 2, 3, 4, 6, 6]);
        assert_eq!(Lines::of(text).line_at(usize::MAX), 6);
        assert_eq!(Lines::of(b"").line_at(0), 1);
    }

    #[test]
    fn a_quotation_mark_that_nothing_closes_is_found() {
        for (text, expected) in [
            ("a,\"b\nc\"\nd,\"e\"", None),
            ("a,\"b \"\"c\n\"\"\",\"d\"\r\n", None),
            ("\"a\"b,c\n", None),
            ("a,24\" rack\n", None),
            ("a,\"b\" ,c\n", None),
            ("a,\"b\nc,d\n", Some((2, Fault::Unclosed))),
            ("a,\"b", Some((2, Fault::Unclosed))),
            ("a,\"b\"\nc,\"d\ne,\"f\"\n", Some((8, Fault::Unclosed))),
            ("a,\"b\nc\" ,d\n", Some((2, Fault::BlankBehind))),
            ("a,\"b\nc\"  \r\n", Some((2, Fault::BlankBehind))),
            ("a,\"b\nc\" ", Some((2, Fault::BlankBehind))),
            ("a,\"b\nc\" d\n", Some((2, Fault::Unclosed))),
        ] {
            assert_eq!(unclosed(text.as_bytes(), b','), expected, "{text:?}");
        }
    }

    #[test]
    fn a_value_that_may_hide_a_row_is_found() {
        for (values, columns, expected) in [
            (vec!["w0", "m0", "spare disks\nw1,m1,rack 19"], 3, true),
            (vec!["w0", "m0", "spare\r\nw1,m1,a\r\nw2,m2,rack 19"], 3, true),
            (vec!["w0", "m0", "spare\nw1,m1,a\n19"], 3, true),
            // The mark is in the second of three columns, and so is the one that closes it.
            (vec!["w0", "spare,m0\nw1,rack 19", "m1"], 3, true),
            // The lines have separators for columns without a name, too.
            (vec!["w0", "spare,m0,,\nw1,19", "m1", "", ""], 3, true),
            (vec!["w0", "m0", "called, no answer\ncall again"], 3, false),
            (vec!["w0", "called\n\ncall again, then close", "m0"], 3, false),
            (vec!["w0", "one line, with, commas", "m0"], 3, false),
            (vec!["w0", "a\n"], 2, false),
            (vec!["w0"], 1, false),
        ] {
            let record = ByteRecord::from(values.clone());
            assert_eq!(hides_row(&record, columns, b','), expected, "{values:?}");
        }
    }

    #[test]
    fn comments_become_blanks_and_nothing_else_moves() {
        for (text, expected) in [
            ("#a,\"\nb\n", "    \nb\n"),
            ("#a\rb\r#\r\n#c", "  \rb\r \r\n  "),
            ("a,#b\n", "a,#b\n"),
            ("\"a\n#b\"\"\r#c\",d\r#e", "\"a\n#b\"\"\r#c\",d\r  "),
            ("\"a\"x\n#b", "\"a\"x\n  "),
            ("a\"b\n#c\"", "a\"b\n   "),
            ("a,\"#b\n#c", "a,\"#b\n#c"),
            ("#\u{e9}\n", "   \n"),
        ] {
            let found = without_comments(text.as_bytes(), b',');
            assert_eq!(str::from_utf8(&found), Ok(expected), "{text:?}");
            assert_eq!(found.len(), text.len());
        }
        assert!(matches!(without_comments(b"a\nb\n", b','), Cow::Borrowed(_)));
    }
}

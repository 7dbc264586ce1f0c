//! Lines and words of a text, as byte ranges.

use std::ops::Range;

/// A line without its end.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) span: Range<usize>,
}

/// A line that sets something: its keyword and what follows it.
pub(super) struct Directive {
    pub(super) line: Line,
    pub(super) key: Range<usize>,
    pub(super) value: Range<usize>,
}

pub(super) fn slice<'a>(text: &'a [u8], range: &Range<usize>) -> &'a [u8] {
    text.get(range.clone()).unwrap_or_default()
}

pub(super) fn lossy(text: &[u8], range: &Range<usize>) -> String {
    String::from_utf8_lossy(slice(text, range)).into_owned()
}

pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = Line> {
    let mut start = 0;
    text.split_inclusive(|byte| *byte == b'\n').enumerate().map(move |(index, line)| {
        let span =
            start..start + line.strip_suffix(b"\n").map_or(line, |line| line.strip_suffix(b"\r").unwrap_or(line)).len();
        start += line.len();
        Line { number: index + 1, span }
    })
}

/// How the line that ends at `at` is ended; the last one as the first, if it is not.
pub(super) fn line_end(text: &[u8], at: usize) -> &'static str {
    let end = |rest: &[u8]| match rest {
        [b'\r', b'\n', ..] => Some("\r\n"),
        [b'\n', ..] => Some("\n"),
        _ => None,
    };
    end(text.get(at..).unwrap_or_default())
        .or_else(|| lines(text).next().and_then(|first| end(text.get(first.span.end..)?)))
        .unwrap_or("\n")
}

/// A range without white space and control characters at its ends.
pub(super) fn trimmed(text: &[u8], range: Range<usize>) -> Range<usize> {
    let bytes = slice(text, &range);
    let printing = |byte: &u8| *byte > b' ';
    match (bytes.iter().position(printing), bytes.iter().rposition(printing)) {
        (Some(first), Some(last)) => range.start + first..range.start + last + 1,
        _ => range.start..range.start,
    }
}

/// The first word of a range, and what follows it, both trimmed.
pub(super) fn first_word(text: &[u8], range: Range<usize>) -> (Range<usize>, Range<usize>) {
    let range = trimmed(text, range);
    let length = slice(text, &range).iter().position(|byte| *byte <= b' ').unwrap_or(range.len());
    let end = range.start + length;
    (range.start..end, trimmed(text, end..range.end))
}

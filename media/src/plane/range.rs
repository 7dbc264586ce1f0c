//! The `Range` header (RFC 9110 §14).

use std::ops::Range;

/// Maximum number of ranges. A request with more gets the whole file, which §14.2 allows against abuse.
const MAX_RANGES: usize = 16;

/// What a `Range` header requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requested {
    /// The whole file: the header is malformed, has another unit, or has too many ranges, and is ignored.
    Whole,
    /// One range, never empty, within the file.
    One(Range<u64>),
    /// Two or more ranges in ascending order, with gaps between them. None is empty, and all are within the file.
    Several(Vec<Range<u64>>),
    /// All ranges are outside the file (416).
    Unsatisfiable,
}

/// Parses a `Range` header for a file of `size` bytes. Sorts the ranges and merges those that overlap or touch, so that
/// an answer is never larger than the file.
pub fn requested(header: &str, size: u64) -> Requested {
    let Some(set) = header.split_once('=').filter(|(unit, _)| unit.eq_ignore_ascii_case("bytes")) else {
        return Requested::Whole;
    };
    // What firmware sends needs no list.
    if let Some(range) = parse(set.1, size).filter(|range| !range.is_empty()) {
        return Requested::One(range);
    }
    let mut ranges = vec![];
    let mut count = 0;
    // Recipients must accept empty elements and white space around the commas (§5.6.1.2).
    for spec in set.1.split(',').map(|spec| spec.trim_matches([' ', '\t'])).filter(|spec| !spec.is_empty()) {
        count += 1;
        match parse(spec, size) {
            Some(range) if count <= MAX_RANGES => ranges.push(range),
            _ => return Requested::Whole,
        }
    }
    ranges.retain(|range| !range.is_empty());
    if count == 0 {
        return Requested::Whole;
    }
    let mut merged = merge(ranges);
    match (merged.len(), merged.pop()) {
        (1, Some(range)) => Requested::One(range),
        (_, Some(last)) => {
            merged.push(last);
            Requested::Several(merged)
        }
        (_, None) => Requested::Unsatisfiable,
    }
}

/// Parses one `range-spec`. The range is empty if it is outside the file. Returns `None` if it is malformed.
fn parse(spec: &str, size: u64) -> Option<Range<u64>> {
    match spec.split_once('-')? {
        ("", suffix) => Some(size.saturating_sub(number(suffix)?)..size),
        (first, "") => Some(number(first)?..size),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then(|| first..last.saturating_add(1).min(size))
        }
    }
}

/// Parses `1*DIGIT`. A number that is too large for 64 bits becomes the largest one, which is past the end of any file,
/// too.
fn number(digits: &str) -> Option<u64> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let append = |number: u64, byte| Some(number.saturating_mul(10).saturating_add(digit(byte)?));
    if digits.is_empty() { None } else { digits.bytes().try_fold(0, append) }
}

fn merge(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests;

//! The `Range` header (RFC 9110 §14).

use std::ops::Range;

/// More ranges than any client needs are answered with the whole, as §14.2 lets a server do against abuse.
const MAX_RANGES: usize = 16;

/// What a `Range` header asks for, of a file whose size is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requested {
    /// Everything: the header is malformed, of another unit, or abusive, and is ignored.
    Whole,
    /// One range, never empty, within the file.
    One(Range<u64>),
    /// Two ranges or more, ascending, with gaps in between; each as for `One`.
    Several(Vec<Range<u64>>),
    /// Ranges none of which the file has (416).
    Unsatisfiable,
}

/// What `header` asks for of `size` bytes. Ranges that overlap or touch are merged and all are put in order, so that
/// what is sent is never more than the file.
pub fn requested(header: &str, size: u64) -> Requested {
    let Some(set) = header.split_once('=').filter(|(unit, _)| unit.eq_ignore_ascii_case("bytes")) else {
        return Requested::Whole;
    };
    let mut ranges = vec![];
    let mut count = 0;
    // Empty elements and white space around the commas are to be accepted (§5.6.1.2).
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

/// One `range-spec`: what it means for `size` bytes, empty if they do not have it; none if it is malformed.
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

/// `1*DIGIT`. What 64 bits cannot hold lies past the end of any file, as their greatest value does.
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

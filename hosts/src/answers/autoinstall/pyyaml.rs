//! What `PyYAML`, the installer's reader, refuses in a file that dayone's reader takes (`yaml.safe_load` of `PyYAML` 6). dayone finds what is
//! certain and simple to tell.

use std::collections::HashSet;

use granit_parser::{Event, ScalarStyle, StructureStyle, Tag};

use crate::input;

/// How the tags of YAML's own types begin.
const CORE: &str = "tag:yaml.org,2002:";
/// The types that the safe loader knows.
const TYPES: [&str; 12] =
    ["binary", "bool", "float", "int", "map", "null", "omap", "pairs", "seq", "set", "str", "timestamp"];
/// The tags of sequences, and the tags of mappings.
const SEQUENCES: [&str; 3] = ["omap", "pairs", "seq"];
const MAPPINGS: [&str; 2] = ["map", "set"];
const BOOLEANS: [&str; 6] = ["yes", "no", "true", "false", "on", "off"];

/// Why `PyYAML` refuses a line. Nothing of it is shown, because it may be secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("has a tab outside quotes and comments, which the installer's reader refuses; write spaces")]
    Tab,
    #[error("has a YAML tag that the installer's reader does not know; remove it")]
    Tag,
    #[error("has a value that does not fit its YAML tag")]
    TagMismatch,
    #[error("has a list or a mapping as a key, which the installer's reader refuses; put text in braces into quotes")]
    Key,
    #[error("has the value = or << without quotes, which the installer's reader refuses; put it into quotes")]
    Equals,
    #[error("has a merge key (<<) with a value that is no mapping")]
    Merge,
    #[error("has a date or a time that does not exist; put it into quotes if it is text")]
    Date,
    #[error("has a number without digits; put it into quotes if it is text")]
    Number,
    #[error("has an anchor (&) of the same name as an earlier one, which the installer's reader refuses; rename one")]
    SecondAnchor,
    #[error("has an anchor (&) whose name the installer's reader refuses; use only letters of ASCII, digits, - and _")]
    AnchorName,
    #[error(
        "has text in brackets or braces with ?, or with : in front, which the installer's reader takes for signs; put it into quotes"
    )]
    Sign,
    #[error("begins another document, and the installer's reader takes only one; remove the line")]
    Document,
}

/// What a collection expects next.
enum Open {
    Item,
    Key,
    /// With whether the key is a merge key.
    Value(bool),
}

/// Returns the first thing that `PyYAML` refuses in a text that dayone can read, and its line, from 1.
pub(super) fn first_refusal(text: &str) -> Option<(usize, Refusal)> {
    let tab = first_tab(text).map(|line| (line, Refusal::Tab));
    refused_node(text).into_iter().chain(tab).chain(refused_anchor(text)).min_by_key(|(line, _)| *line)
}

/// `PyYAML` accepts fewer names of anchors than YAML 1.2 (`scan_anchor`), and each name only once in a document (`compose_node`).
fn refused_anchor(text: &str) -> Option<(usize, Refusal)> {
    let is_known = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    let mut names = HashSet::new();
    input::anchors(text).find_map(|(name, line)| {
        if !name.chars().all(is_known) {
            return Some((line, Refusal::AnchorName));
        }
        (!names.insert(name)).then_some((line, Refusal::SecondAnchor))
    })
}

fn refused_node(text: &str) -> Option<(usize, Refusal)> {
    let mut open: Vec<Open> = Vec::new();
    // How many of them are in brackets or braces.
    let mut flow = 0_usize;
    let mut has_document = false;
    for (event, span) in input::events(text) {
        let (collection, tag) = match &event {
            Event::Scalar(_, _, _, tag) => (None, tag.as_deref()),
            Event::SequenceStart(_, _, tag) => (Some(Open::Item), tag.as_deref()),
            Event::MappingStart(_, _, tag) => (Some(Open::Key), tag.as_deref()),
            Event::Alias(_) => (None, None),
            // dayone's reader leaves empty documents out.
            Event::DocumentStart(is_explicit, _) => {
                if *is_explicit && has_document {
                    return Some((span.start.line(), Refusal::Document));
                }
                has_document = true;
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
                flow = flow.saturating_sub(1);
                continue;
            }
            _ => continue,
        };
        let is_merge_key = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
        let next = match open.last() {
            Some(Open::Key) => Open::Value(is_merge_key),
            Some(Open::Value(_)) => Open::Key,
            Some(Open::Item) | None => Open::Item,
        };
        let place = open.last_mut().map(|last| std::mem::replace(last, next));
        let is_key = matches!(place, Some(Open::Key));
        let refusal = match &event {
            Event::Scalar(..) if matches!(place, Some(Open::Value(true))) => Some(Refusal::Merge),
            // Within brackets, `PyYAML` ends text before a question mark, and takes each colon in front for a sign (`scan_plain`).
            Event::Scalar(text, ScalarStyle::Plain, ..)
                if flow > 0 && (text.contains('?') || text.starts_with(':')) =>
            {
                Some(Refusal::Sign)
            }
            Event::Scalar(text, style, ..) => of_scalar(text, *style, tag, is_key),
            _ if is_key && collection.is_some() => Some(Refusal::Key),
            _ => tag.and_then(|tag| of_collection(tag, matches!(collection, Some(Open::Item)))),
        };
        if let Some(refusal) = refusal {
            // The text of a block scalar begins below its tag.
            return Some((span.tag_span().unwrap_or(span).start.line(), refusal));
        }
        let is_flow = matches!(
            &event,
            Event::SequenceStart(StructureStyle::Flow, ..) | Event::MappingStart(StructureStyle::Flow, ..)
        );
        flow += usize::from(collection.is_some() && (flow > 0 || is_flow));
        open.extend(collection);
    }
    None
}

fn of_scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, is_key: bool) -> Option<Refusal> {
    let Some(tag) = tag else {
        return match text {
            _ if style != ScalarStyle::Plain => None,
            "=" | "<<" if !is_key => Some(Refusal::Equals),
            _ if is_empty_number(text) => Some(Refusal::Number),
            _ => is_wrong_date(text).then_some(Refusal::Date),
        };
    };
    let fits = match tag.suffix_in_namespace(CORE).as_deref() {
        Some("int") => text.contains(char::is_numeric),
        Some("bool") => BOOLEANS.contains(&&*text.to_lowercase()),
        Some("binary") => is_base64(text),
        Some("timestamp") => !is_wrong_date(text),
        Some(name) if SEQUENCES.contains(&name) || MAPPINGS.contains(&name) => false,
        _ => return (!is_known(tag)).then_some(Refusal::Tag),
    };
    (!fits).then_some(Refusal::TagMismatch)
}

fn of_collection(tag: &Tag, is_sequence: bool) -> Option<Refusal> {
    if !is_known(tag) {
        return Some(Refusal::Tag);
    }
    let name = tag.suffix_in_namespace(CORE)?;
    let fits = if is_sequence { SEQUENCES.contains(&&*name) } else { MAPPINGS.contains(&&*name) };
    (!fits).then_some(Refusal::TagMismatch)
}

/// Whether Python decodes a text as base64 (`binascii.a2b_base64`). Python skips other ASCII characters, and stops after the padding.
fn is_base64(text: &str) -> bool {
    // The number of characters in the last group of four, and the number of padding characters after them.
    let (mut in_group, mut padding) = (0_u8, 0_u8);
    for byte in text.bytes() {
        match byte {
            b'=' if in_group >= 2 => {
                padding += 1;
                if in_group + padding == 4 {
                    return text.is_ascii();
                }
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => {
                in_group = (in_group + 1) % 4;
                padding = 0;
            }
            _ => {}
        }
    }
    in_group == 0 && text.is_ascii()
}

/// Whether the safe loader knows a tag. It treats `!` alone like no tag.
fn is_known(tag: &Tag) -> bool {
    let core = tag.suffix_in_namespace(CORE);
    core.is_some_and(|name| TYPES.contains(&&*name)) || tag.suffix_in_namespace("!").is_some_and(|name| name.is_empty())
}

/// Whether `PyYAML` takes a text for a binary or hexadecimal number (`yaml/resolver.py`), although it has only underscores and no digits.
fn is_empty_number(text: &str) -> bool {
    let number = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = number.strip_prefix("0b").or_else(|| number.strip_prefix("0x"));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte == b'_'))
}

/// A date, and the time of day and the distance from UTC that may follow it.
struct Timestamp {
    date: [u32; 3],
    time: [u32; 3],
    /// In minutes.
    offset: u32,
}

impl Timestamp {
    /// Reads a text in the form of a date or of a date with a time (`yaml/resolver.py`), even if no such date or time exists.
    fn read(text: &str) -> Option<Self> {
        let (year, rest) = digits(text, 4, 4)?;
        let (month, rest) = digits(rest.strip_prefix('-')?, 1, 2)?;
        let (day, rest) = digits(rest.strip_prefix('-')?, 1, 2)?;
        let date = [year, month, day];
        if rest.is_empty() {
            // Without a time, all parts have all their digits.
            return (text.len() == "2001-01-01".len()).then_some(Self { date, time: [0; 3], offset: 0 });
        }
        let blanks = || rest.strip_prefix(' ').map(|rest| rest.trim_start_matches(' '));
        let rest = rest.strip_prefix(['T', 't']).or_else(blanks)?;
        let (hour, rest) = digits(rest, 1, 2)?;
        let (minute, rest) = digits(rest.strip_prefix(':')?, 2, 2)?;
        let (second, rest) = digits(rest.strip_prefix(':')?, 2, 2)?;
        let fraction = rest.strip_prefix('.');
        let rest = fraction.map_or(rest, |rest| rest.trim_start_matches(|digit: char| digit.is_ascii_digit()));
        let zone = rest.trim_start_matches(' ');
        let offset = match zone.strip_prefix(['+', '-']) {
            Some(zone) => minutes_from_utc(zone)?,
            None if matches!(zone, "" | "Z") => 0,
            None => return None,
        };
        Some(Self { date, time: [hour, minute, second], offset })
    }
}

/// The minutes of a distance from UTC, such as `1` or `01:30`.
fn minutes_from_utc(zone: &str) -> Option<u32> {
    let (hours, rest) = digits(zone, 1, 2)?;
    let (minutes, rest) = if rest.is_empty() { (0, rest) } else { digits(rest.strip_prefix(':')?, 2, 2)? };
    rest.is_empty().then_some(hours * 60 + minutes)
}

/// The number at the beginning of a text, which has this many digits, and the rest of the text.
fn digits(text: &str, least: usize, most: usize) -> Option<(u32, &str)> {
    let length = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(length).filter(|_| length >= least)?;
    Some((number.parse().ok()?, rest))
}

/// Whether a text has the form of a date or of a date with a time that does not exist in Python.
fn is_wrong_date(text: &str) -> bool {
    let Some(found) = Timestamp::read(text) else { return false };
    let Timestamp { date: [year, month, day], time: [hour, minute, second], offset } = found;
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 0,
    };
    let has_date = year > 0 && (1..=days).contains(&day);
    // Python's time zones are less than a day from UTC.
    !has_date || hour > 23 || minute > 59 || second > 59 || offset >= 24 * 60
}

/// Returns the line of the first tab outside quotes, block scalars and comments.
fn first_tab(text: &str) -> Option<usize> {
    let events: Vec<_> = input::events(text).collect();
    // Where the reader stops early, quotes are not known.
    events.last().filter(|(event, _)| matches!(event, Event::StreamEnd))?;
    let scalars = events.iter().filter_map(|(event, span)| match event {
        Event::Scalar(_, style, ..) if *style != ScalarStyle::Plain => span.byte_range(),
        _ => None,
    });
    let mut outside = 0;
    for scalar in scalars.chain(std::iter::once(text.len()..text.len())) {
        if let Some(tab) = tab_between(text, outside, scalar.start) {
            return text.get(..tab).map(|before| before.matches('\n').count() + 1);
        }
        outside = outside.max(scalar.end);
    }
    None
}

/// The offset of the first tab outside comments, between two offsets with no quotes and block scalars.
fn tab_between(text: &str, start: usize, end: usize) -> Option<usize> {
    let mut before = text.get(..start)?.chars().next_back();
    let mut in_comment = false;
    for (offset, character) in text.get(start..end)?.char_indices() {
        match character {
            '\n' | '\r' => in_comment = false,
            '#' if before.is_none_or(char::is_whitespace) => in_comment = true,
            '\t' if !in_comment => return Some(start + offset),
            _ => {}
        }
        before = Some(character);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The acceptance tests compare this with `PyYAML`.
    #[test]
    fn what_the_installers_reader_refuses_is_found_with_its_line() {
        for (text, line, refusal) in [
            ("a: 1\nb:\t1\n", 2, Refusal::Tab),
            ("a: 1 \t\n", 1, Refusal::Tab),
            ("a:\n- b\n\t\n", 3, Refusal::Tab),
            ("a: |\n  b\n\t# c\nd: 1\n", 3, Refusal::Tab),
            ("a: |\n     b\n\n  \t\n", 4, Refusal::Tab),
            ("a: |\n  1\n \t\nd: 1\n", 3, Refusal::Tab),
            ("a: |\t\n  b\n", 1, Refusal::Tab),
            ("a: 'b''\tc'\t# d\n", 1, Refusal::Tab),
            ("a: \"\\\"\" \t\n", 1, Refusal::Tab),
            ("a: !vault |\n  b\n", 1, Refusal::Tag),
            ("a: !x {b: c}\n", 1, Refusal::Tag),
            ("a:\n- !!int b\n", 2, Refusal::TagMismatch),
            ("a: !!bool 2\n", 1, Refusal::TagMismatch),
            ("a: {{ b }}\n", 1, Refusal::Key),
            ("a: =\n", 1, Refusal::Equals),
            ("a: 1\n<<: 5\n", 2, Refusal::Merge),
            ("a: 2023-02-29\n", 1, Refusal::Date),
            ("a: 2001-12-14 25:59:43\n", 1, Refusal::Date),
            ("a: 2001-13-1t1:00:00.5Z\n", 1, Refusal::Date),
            ("a: 2001-12-14   21:60:43\n", 1, Refusal::Date),
            ("a: 2001-12-14 21:59:60\n", 1, Refusal::Date),
            ("a: 2001-12-14 21:59:43 +23:60\n", 1, Refusal::Date),
            ("a: -0x__\n", 1, Refusal::Number),
            ("0b_: a\n", 1, Refusal::Number),
            ("a: &b 1\nc: &b 1\nd: *b\n", 2, Refusal::SecondAnchor),
            ("a:\n- &b.c 1\n- *b.c\n", 2, Refusal::AnchorName),
            ("a: !!binary aGk\n", 1, Refusal::TagMismatch),
            ("a: !!str [b]\n", 1, Refusal::TagMismatch),
            ("a: !!seq {b: c}\n", 1, Refusal::TagMismatch),
            ("a: !!map b\n", 1, Refusal::TagMismatch),
            ("a: {to: ::/0}\n", 1, Refusal::Sign),
            ("a:\n- [b, http://c/?d]\n", 2, Refusal::Sign),
            ("a: 1\n...\n---\n", 3, Refusal::Document),
        ] {
            assert_eq!(first_refusal(text), Some((line, refusal)), "{text:?}");
        }
    }

    #[test]
    fn what_the_installers_reader_takes_is_not_refused() {
        for text in [
            "a: \"b\tc\" # d\te\n# f\tg\n",
            "a: 'it''s\tb'\nc: \"\\\"\t\\\\\"\n",
            "a: |\n  b\tc\n    \td\n\n  e\nf: >2\n     g\n   \th\n",
            "a: |\n\n  b\n  \t\n  ",
            "a: >+ # \t\n  \tb\n   \n\n# \t\nb: 1\n",
            "a: &b {c: 1}\nd: {<<: *b}\ne: {<<: [*b]}\n",
            "a: !!int '1'\nb: !!set {c}\nd: ! e\nf: !!bool Off\n",
            "a: 2024-02-29\nb: '2024-99-99'\nc: 2024-99\n=: '='\n",
            "a: 2001-12-14t21:59:43.10-05:00\nb: 2001-12-14 9:59:43 Z\nc: 2001-13-1 1:1:1\nd: 2001-13-1\ne: 2001-13-145:00:00\n",
            "a: 0b_1\nb: 0x_f\nc: 0_\nd: '0x_'\ne: 0b\n",
            "a: &b 1\nc: &B-_1 1\nd: *b\n",
            "a: !!binary aGk=\nb: !!seq [c]\nd: !!map {e: f}\ng: !!omap [h: i]\n",
            "{\"a\": [1]}\n",
            "---\na: ['?', \"::1\", fe80::1, ? b]\nc: ?d\n...\n# e\n",
        ] {
            assert_eq!(first_refusal(text), None, "{text:?}");
        }
    }
}

//! The texts of a workbook, which cells refer to by their numbers.

use super::package::Package;
use super::problem::Problem;
use super::xml::{Event, Events};

/// Reads the texts that cells share.
pub(super) fn shared(package: &mut Package<'_, '_>, part: Option<&str>) -> Result<Vec<String>, Problem> {
    let mut texts = Vec::new();
    let Some(part) = part else { return Ok(texts) };
    let Some(text) = package.part(part)? else { return Ok(texts) };
    let mut events = Events::of(&text, part);
    while let Some(event) = events.next()? {
        if event.opens("si").is_some() {
            let text = rich_text(&mut events, "si")?;
            package.take(text.len())?;
            texts.push(text);
        }
    }
    Ok(texts)
}

/// Reads a text whose parts may have their own fonts, up to the end of the element `end`. The pronunciation of Japanese words is
/// not part of it.
pub(super) fn rich_text(events: &mut Events<'_>, end: &str) -> Result<String, Problem> {
    let (mut text, mut is_text, mut is_spoken) = (String::new(), false, false);
    while let Some(event) = events.next()? {
        if event.closes(end) {
            break;
        }
        is_spoken = (is_spoken || event.opens("rPh").is_some()) && !event.closes("rPh");
        is_text = (is_text || event.opens("t").is_some()) && !event.closes("t");
        if let Event::Text(piece) = event
            && is_text
            && !is_spoken
        {
            text.push_str(&piece);
        }
    }
    Ok(unescaped(text))
}

/// Replaces `_x000D_` by the character of this number: workbooks have these where XML cannot have the character (ISO/IEC 29500-1,
/// 22.9.2.19).
pub(super) fn unescaped(text: String) -> String {
    if !text.contains("_x") {
        return text;
    }
    let mut found = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, behind)) = rest.split_once("_x") {
        found.push_str(before);
        let escaped = behind.get(..5).and_then(|escaped| escaped.strip_suffix('_'));
        let escaped = escaped.filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let letter = escaped.and_then(|digits| char::from_u32(u32::from_str_radix(digits, 16).ok()?));
        if let Some(letter) = letter {
            found.push(letter);
            rest = behind.get(5..).unwrap_or_default();
        } else {
            found.push_str("_x");
            rest = behind;
        }
    }
    found + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_characters_are_replaced_once() {
        for (text, expected) in [
            ("a_x000D_b", "a\rb"),
            ("_x0041__x0042_", "AB"),
            ("_x005F_x0041_", "_x0041_"),
            ("_x", "_x"),
            ("node_x1", "node_x1"),
            ("_x00e4_", "ä"),
            ("_xD800_", "_xD800_"),
            ("_x+041_", "_x+041_"),
            ("_xä€_", "_xä€_"),
        ] {
            assert_eq!(unescaped(text.to_owned()), expected, "{text}");
        }
    }
}

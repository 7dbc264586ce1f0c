//! Checks that bytes are text that a document can consist of.

use vocabulary::report::LineColumn;

use super::Problem;

/// How many bytes are checked at once, so that the compiler can use vector instructions.
const AT_ONCE: usize = 256;

/// Returns the text without its byte order mark. It must be UTF-8 without control characters, and without the line ends of YAML 1.1
/// that YAML 1.2 does not have: nmstate reads 1.1, and would take another document from the same text.
pub(in crate::input) fn readable(text: &[u8]) -> Result<&str, Problem> {
    let text = str::from_utf8(text).map_err(|error| {
        let before = text.get(..error.valid_up_to()).unwrap_or_default();
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let column = before.get(start..).map_or(0, |line| String::from_utf8_lossy(line).chars().count()) + 1;
        let message = format!("is not UTF-8 text: byte {}", error.valid_up_to());
        Problem { position: Some(LineColumn { line, column }), ..Problem::new("not-utf-8", message) }
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Most texts are printable ASCII, and this check is fast.
    let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    if text.as_bytes().chunks(AT_ONCE).all(|bytes| bytes.iter().fold(true, |all, byte| all & is_plain(byte))) {
        return Ok(text);
    }
    let ends_line = |c: char| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}');
    let is_control = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    let bad = |c: char| is_control(c) || ends_line(c) || matches!(c, '\u{fffe}'..='\u{ffff}');
    for (number, line) in text.split('\n').enumerate() {
        if let Some((column, c)) = line.chars().enumerate().find(|(_, c)| bad(*c)) {
            let code = u32::from(c);
            let message = if ends_line(c) {
                format!(
                    "contains the character U+{code:04X}, which some readers of YAML take for the end of a line and others do not: \
                     delete it, or write it as \"\\u{code:04X}\" in double quotes"
                )
            } else {
                format!("contains the control character U+{code:04X}")
            };
            let position = Some(LineColumn { line: number + 1, column: column + 1 });
            return Err(Problem { position, ..Problem::new("invalid-yaml", message) });
        }
    }
    Ok(text)
}
